// What the colors mean: a bar, a wheel, or a list of labels that select their rows.

function drawLegend(app) {
  const box = document.getElementById("legend");
  box.replaceChildren();
  const { shown, painted } = app;
  if (shown.kind === "none") {
    const said = shown.label ? `All rows in one color: none has a value of ${shown.label}.` : "All rows in one color.";
    box.append(textElement("span", said, "quiet"));
    return;
  }
  box.append(textElement("strong", shown.label));
  if (shown.kind === "categorical") box.append(labelList(app, painted.entries));
  else if (shown.kind === "circular") box.append(wheel(shown));
  else if (shown.range[0] < shown.range[1]) box.append(bar(shown));
  else box.append(textElement("span", `all values are ${toldValue(shown, shown.range[0])}`));
  const isLeftOut = app.panels.some((panel) => panel.isLine) ? ", left out where the height is the color variable" : "";
  if (!shown.labels && shown.values.some(Number.isNaN)) box.append(textElement("span", `gray: no value${isLeftOut}`, "quiet"));
  for (const note of [shown.note, shown.cut]) if (note) box.append(textElement("span", note, "quiet"));
}

function textElement(tag, text, className = "") {
  const element = document.createElement(tag);
  element.textContent = text;
  if (className) element.className = className;
  return element;
}

function bar(variable) {
  const box = textElement("span", "", "bar");
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [256, 1];
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `colors from ${variable.range.map((value) => toldValue(variable, value)).join(" to ")}`);
  const context = canvas.getContext("2d");
  const table = numbers(theme().continuous);
  for (let i = 0; i < 256; i += 1) {
    context.fillStyle = cssColor(table.subarray(3 * i, 3 * i + 3));
    context.fillRect(i, 0, 1, 1);
  }
  const [low, high] = variable.range.map((value) => toldValue(variable, value));
  box.append(textElement("span", low), canvas, textElement("span", high));
  return box;
}

function wheel(variable) {
  const box = textElement("span", "", "bar");
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [88, 88];
  canvas.className = "wheel";
  canvas.setAttribute("role", "img");
  const turn = turnName(variable);
  canvas.setAttribute("aria-label", `a wheel of colors, one turn is ${turn}`);
  const context = canvas.getContext("2d");
  const table = numbers(theme().circular);
  for (let i = 0; i < 256; i += 1) {
    const start = (-2 * Math.PI * i) / 256;
    context.beginPath();
    context.arc(44, 44, 34, start, start - (2.2 * Math.PI) / 256, true);
    context.lineWidth = 18;
    context.strokeStyle = cssColor(table.subarray(3 * i, 3 * i + 3));
    context.stroke();
  }
  const start = variable.isTime ? "midnight" : "0";
  box.append(canvas, textElement("span", `${start} at the right, counterclockwise; one turn is ${turn}`, "quiet"));
  return box;
}

function turnName({ turn, isTime }) {
  if (isTime) return "a day";
  return turn === 360 || turn === 180 ? `${turn}°` : "2π";
}

const MARKS = ["●", "▲", "■"];

function labelList(app, entries) {
  const list = textElement("span", "", "labels");
  for (const entry of entries) {
    const button = textElement("button", "");
    button.type = "button";
    button.title = "select the rows with this label";
    const mark = textElement("span", MARKS[entry.shape], "mark-sign");
    mark.style.color = cssColor(entry.color);
    mark.setAttribute("aria-hidden", "true");
    button.append(mark, entry.label);
    button.addEventListener("click", () => {
      const wanted = new Set(entry.places);
      app.select(Uint8Array.from(app.shown.values, (place) => (wanted.has(place) ? 1 : 0)), `${app.shown.label}: ${entry.label}`);
    });
    list.append(button);
  }
  return list;
}
