// Ticks and names along the edges of a panel; the three axes of a space that can be turned; the line of a selection.

const WIDEST_TICK = 95;

function drawAxes(panel, view) {
  const { context } = panel;
  const style = getComputedStyle(panel.canvas);
  context.save();
  context.scale(panel.ratio(), panel.ratio());
  context.font = fontOf(style);
  context.fillStyle = context.strokeStyle = style.color;
  context.lineWidth = 1;
  if (panel.isDeep) drawTriad(panel, view);
  else drawTicks(panel, view);
  if (panel.lasso) drawLasso(context, panel.lasso, style);
  context.restore();
}

function fontOf({ fontFamily }) {
  return `12px ${fontFamily}`;
}

// CSS pixels along the edges that belong to names and numbers: no point is fitted below them.
function edges(panel) {
  if (panel.isDeep) return { left: 0, right: 0, top: 0, bottom: 0 };
  const widest = panel.isLine ? widestTick(panel) : 26;
  const left = Math.min(14 + Math.min(widest, WIDEST_TICK), 0.3 * panel.canvas.clientWidth);
  return { left, right: 12, top: 26, bottom: 42 };
}

// The width of the longest tick along the height of a line; it is kept, since the pointer asks at every move.
function widestTick(panel) {
  const variable = panel.app.shown;
  if (panel.measured?.variable !== variable) {
    const isRange = variable.kind === "continuous";
    const told = isRange ? ticksOf(...withRoom(variable.range), 6, variable).map(([, text]) => text) : variable.labels || [];
    const longest = told.reduce((long, text) => (text.length > long.length ? text : long), "");
    panel.context.save();
    panel.context.font = fontOf(getComputedStyle(panel.canvas));
    panel.measured = { variable, width: Math.max(26, panel.context.measureText(longest).width) };
    panel.context.restore();
  }
  return panel.measured.width;
}

const MINUTE = 60;
const DAY = 24 * 60 * MINUTE;
const TIME_STEPS = [1, 5, 15, 30, MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, DAY / 24, DAY / 8, DAY / 4, DAY / 2];

// Steps between times that people count in.
function niceTime(span, most) {
  const rough = span / Math.max(1, most);
  return TIME_STEPS.find((step) => step >= rough) || DAY * Math.ceil(niceStep(span / DAY, most));
}

// Only what differs from tick to tick: dates, times on days, or times.
function tickTime(seconds, step) {
  const [start, end] = step >= DAY ? [0, 10] : step >= MINUTE ? [5, 16] : [11, 19];
  return Math.abs(seconds) <= LAST_SECOND ? new Date(1000 * seconds).toISOString().slice(start, end).replace("T", " ") : "";
}

function niceStep(span, most) {
  const rough = span / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((k) => k * power).find((step) => step >= rough);
}

// Ticks of a visible range: round numbers or times, or the labels of categories.
function ticksOf(low, high, most, { kind, labels, isTime }) {
  if (kind === "categorical") {
    const step = Math.max(1, Math.ceil((high - low) / most));
    const shown = labels.map((text, place) => [place, text]);
    return shown.filter(([place]) => place % step === 0 && place >= low && place <= high);
  }
  const areTimes = isTime && kind === "continuous" && high - low > 1;
  const step = areTimes ? niceTime(high - low, most) : niceStep(high - low, most);
  const told = (value) => (areTimes ? tickTime(value, step) : shortNumber(value, high - low));
  const ticks = [];
  for (let k = Math.ceil(low / step); k <= high / step; k += 1) ticks.push([k * step, told(k * step)]);
  return ticks;
}

// Text with a rim in the color of the ground, so that it can be read over points.
function write(panel, text, x, y) {
  const { context } = panel;
  context.save();
  context.strokeStyle = getComputedStyle(panel.element).getPropertyValue("--paper");
  context.lineWidth = 3;
  context.lineJoin = "round";
  context.strokeText(text, x, y);
  context.restore();
  context.fillText(text, x, y);
}

// Text that fits into so many CSS pixels, without its end if need be.
function fitted({ context }, text, width) {
  const signs = [...text].slice(0, width);
  let shown = signs.length < text.length ? `${signs.join("")}…` : text;
  while (signs.pop() && context.measureText(shown).width > width) shown = `${signs.join("")}…`;
  return shown;
}

function drawTicks(panel, view) {
  const { context, canvas } = panel;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const [sx, sy] = view.scale.map((scale) => scale / panel.ratio());
  const [cx, cy] = view.center;
  const middle = panel.base + cy;
  const variable = panel.app.shown;
  const { left } = edges(panel);
  context.textAlign = "center";
  context.textBaseline = "bottom";
  for (const [value, text] of ticksOf(cx - width / 2 / sx, cx + width / 2 / sx, width / 64, nothing)) {
    const x = width / 2 + (value - cx) * sx;
    if (x < 40 || x > width - 20) continue;
    context.fillRect(x, height - 5, 1, 5);
    write(panel, text, x, height - 6);
  }
  context.textAlign = "left";
  context.textBaseline = "middle";
  const isStrip = panel.isLine && variable.kind === "none";
  const upward = panel.isLine ? variable : nothing;
  for (const [value, text] of isStrip ? [] : ticksOf(middle - height / 2 / sy, middle + height / 2 / sy, height / 50, upward)) {
    const y = height / 2 - (value - middle) * sy;
    if (y < 24 || y > height - 24) continue;
    context.fillRect(0, y, 5, 1);
    write(panel, fitted(panel, text, left - 10), 8, y);
  }
  context.textBaseline = "top";
  const up = panel.isLine ? variable.label : panel.space.axes[panel.axes[1]].name;
  write(panel, isStrip ? "" : fitted(panel, `↑ ${up}`, width - 16), 8, 6);
  context.textAlign = "right";
  context.textBaseline = "bottom";
  write(panel, `${panel.space.axes[panel.axes[0]].name} →`, width - 6, height - 22);
}

function drawTriad(panel, view) {
  const { context, canvas } = panel;
  const origin = [46, canvas.clientHeight - 46];
  for (let axis = 0; axis < 3; axis += 1) {
    const [x, y] = [view.turn[3 * axis], -view.turn[3 * axis + 1]].map((part) => 32 * part);
    context.beginPath();
    context.moveTo(...origin);
    context.lineTo(origin[0] + x, origin[1] + y);
    context.stroke();
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText(String(panel.axes[axis] + 1), origin[0] + 1.3 * x, origin[1] + 1.3 * y);
  }
}

function drawLasso(context, line, style) {
  context.beginPath();
  line.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.closePath();
  context.setLineDash([4, 3]);
  context.lineWidth = 1.5;
  context.stroke();
  context.globalAlpha = 0.08;
  context.fillStyle = style.color;
  context.fill();
}
