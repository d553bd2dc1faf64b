// Ticks and names along the edges of a panel; the three axes of a space that can be turned; the line of a selection.

const LONGEST_TICK = 14;

function drawAxes(panel, view) {
  const { context } = panel;
  const style = getComputedStyle(panel.canvas);
  context.save();
  context.scale(panel.ratio(), panel.ratio());
  context.font = `12px ${style.fontFamily}`;
  context.fillStyle = context.strokeStyle = style.color;
  context.lineWidth = 1;
  if (panel.isDeep) drawTriad(panel, view);
  else drawTicks(panel, view);
  if (panel.lasso) drawLasso(context, panel.lasso, style);
  context.restore();
}

// CSS pixels along the edges that belong to names and numbers: no point is fitted below them.
function edges(panel) {
  if (panel.isDeep) return { left: 0, right: 0, top: 0, bottom: 0 };
  const { kind, labels } = panel.app.shown;
  const longest = panel.isLine && kind === "categorical" ? Math.max(...labels.map((text) => text.length)) : 4;
  const left = Math.min(14 + 6.5 * Math.min(longest, LONGEST_TICK), 0.3 * panel.canvas.clientWidth);
  return { left, right: 12, top: 26, bottom: 42 };
}

function niceStep(span, most) {
  const rough = span / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((k) => k * power).find((step) => step >= rough);
}

// Ticks of a visible range: round numbers, or the labels of categories.
function ticksOf(low, high, most, labels) {
  if (labels) {
    const step = Math.max(1, Math.ceil((high - low) / most));
    const shown = labels.map((text, place) => [place, text]);
    return shown.filter(([place]) => place % step === 0 && place >= low && place <= high);
  }
  const step = niceStep(high - low, most);
  const ticks = [];
  for (let k = Math.ceil(low / step); k <= high / step; k += 1) ticks.push([k * step, shortNumber(k * step)]);
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

function shortened(text, longest) {
  return text.length <= longest ? text : `${text.slice(0, longest - 1)}…`;
}

function drawTicks(panel, view) {
  const { context, canvas } = panel;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const [sx, sy] = view.scale.map((scale) => scale / panel.ratio());
  const [cx, cy] = view.center;
  const middle = panel.base + cy;
  const variable = panel.app.shown;
  const labels = panel.isLine && variable.kind === "categorical" ? variable.labels : null;
  context.textAlign = "center";
  context.textBaseline = "bottom";
  for (const [value, text] of ticksOf(cx - width / 2 / sx, cx + width / 2 / sx, width / 64, null)) {
    const x = width / 2 + (value - cx) * sx;
    if (x < 40 || x > width - 20) continue;
    context.fillRect(x, height - 5, 1, 5);
    write(panel, text, x, height - 6);
  }
  context.textAlign = "left";
  context.textBaseline = "middle";
  const isStrip = panel.isLine && variable.kind === "none";
  for (const [value, text] of isStrip ? [] : ticksOf(middle - height / 2 / sy, middle + height / 2 / sy, height / 50, labels)) {
    const y = height / 2 - (value - middle) * sy;
    if (y < 24 || y > height - 24) continue;
    context.fillRect(0, y, 5, 1);
    write(panel, shortened(text, LONGEST_TICK), 8, y);
  }
  context.textBaseline = "top";
  const up = panel.isLine ? variable.label : panel.space.axes[panel.axes[1]].name;
  write(panel, isStrip ? "" : `↑ ${shortened(up, 44)}`, 8, 6);
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
