// One latent space: its picture, and what the reader does with it by pointer and keyboard.

const PIXELS_TO_PICK = 12;
// Where rows without a height go: beyond any picture.
const FAR = 1e9;
const IDENTITY = new Float32Array([1, 0, 0, 0, 1, 0, 0, 0, 1]);

class Panel {
  constructor(app, space, element) {
    this.app = app;
    this.space = space;
    this.element = element;
    this.canvas = element.querySelector("canvas");
    this.context = this.canvas.getContext("2d", { willReadFrequently: app.isFlat });
    this.axes = [0, Math.min(1, space.axes.length - 1), Math.min(2, space.axes.length - 1)];
    this.isDeep = space.axes.length >= 3;
    this.turn = [-0.5, 0.5];
    this.frames = 0;
    this.lasso = null;
    this.place();
    listenTo(this);
  }

  get isLine() {
    return this.space.axes.length === 1;
  }

  // Coordinates of all rows as they are drawn; the height of a line is the color variable, or a strip.
  place() {
    const x = coordinate(this.space, this.axes[0]);
    const y = this.isLine ? this.heights() : coordinate(this.space, this.axes[1]);
    const z = this.isDeep ? coordinate(this.space, this.axes[2]) : null;
    this.places = new Float32Array(3 * N_ROWS);
    for (let i = 0; i < N_ROWS; i += 1) {
      this.places[3 * i] = x[i];
      this.places[3 * i + 1] = Number.isNaN(y[i]) ? FAR : y[i];
      this.places[3 * i + 2] = z ? z[i] : 0;
    }
    this.limits = [x, y, z].map((values) => (values ? shownEnds(values) : [0, 0]));
    // Covariates have more values far out than spaces have rows.
    if (this.isLine) this.limits[1] = withRoom(shownEnds(y, 0.01));
    this.app.painter.setPlaces(this.space.name, this.places);
    this.fit();
  }

  get base() {
    return this.isLine && this.app.shown.kind === "continuous" ? this.app.shown.range[0] : 0;
  }

  heights() {
    const variable = this.app.shown;
    const spread = (i) => ((i * 0.618034) % 1) - 0.5;
    if (variable.kind === "none") return Float32Array.from({ length: N_ROWS }, (_, i) => spread(i));
    if (variable.kind === "categorical") return Float32Array.from(variable.values, (place, i) => place + 0.7 * spread(i));
    if (variable.kind === "circular") return variable.values.map((v) => position(variable, v) * variable.turn);
    // Points have 32 bits, too few for a time in seconds since 1970: heights start at the lowest value.
    return Float32Array.from(variable.values, (v) => v - this.base);
  }

  // Brings all rows, but for a few far out, into view.
  fit() {
    this.center = this.limits.map(([low, high]) => (low + high) / 2);
    this.zoom = 1;
    this.turn = [-0.5, 0.5];
    this.app.request(this);
  }

  // Device pixels per unit along x and y: equal unless the height is another variable.
  scale() {
    const { left, right, top, bottom } = edges(this);
    const width = Math.max(1, this.canvas.width - (left + right) * this.ratio());
    const height = Math.max(1, this.canvas.height - (top + bottom) * this.ratio());
    const spans = this.limits.map(([low, high]) => Math.max(high - low, 1e-9));
    if (this.isLine) return [(this.zoom * width) / spans[0], (this.zoom * height) / spans[1]];
    const span = this.isDeep ? Math.hypot(...spans) * 0.8 : 0;
    const both = this.isDeep
      ? (0.9 * Math.min(width, height)) / span
      : Math.min(width / spans[0], height / spans[1]);
    return [both * this.zoom, both * this.zoom];
  }

  // How far the middle of the room for points lies from the middle of the canvas, in CSS pixels to the right and up.
  shift() {
    const { left, right, top, bottom } = edges(this);
    return [(left - right) / 2, (bottom - top) / 2];
  }

  matrix() {
    if (!this.isDeep) return IDENTITY;
    const [a, b] = this.turn;
    const [ca, sa, cb, sb] = [Math.cos(a), Math.sin(a), Math.cos(b), Math.sin(b)];
    return new Float32Array([ca, sa * sb, -sa * cb, 0, cb, sb, sa, -ca * sb, ca * cb]); // columns
  }

  // What the painter needs to know; project gives device pixels of a row.
  view() {
    const [sx, sy] = this.scale();
    const turn = this.matrix();
    const { width, height } = this.canvas;
    const [right, up] = this.shift().map((pixels) => pixels * this.ratio());
    const center = [this.center[0] - right / sx, this.center[1] - up / sy, this.center[2]];
    const [cx, cy, cz] = center;
    // One array for all rows: fifty thousand new ones at every move of the pointer would make it stutter.
    const at = [0, 0];
    const project = (places, i) => {
      const x = places[3 * i] - cx;
      const y = places[3 * i + 1] - cy;
      const z = places[3 * i + 2] - cz;
      at[0] = width / 2 + sx * (turn[0] * x + turn[3] * y + turn[6] * z);
      at[1] = height / 2 - sy * (turn[1] * x + turn[4] * y + turn[7] * z);
      return at;
    };
    const reach = Math.hypot(...this.limits.map(([low, high]) => high - low)) / 2;
    return {
      center,
      turn,
      scale: [sx, sy],
      depth: this.isDeep && reach > 0 ? 1 / reach : 0,
      size: this.app.pointSize * this.ratio(),
      opacity: this.app.opacity,
      isBrushed: this.app.isBrushed,
      project,
    };
  }

  ratio() {
    return this.canvas.width / Math.max(1, this.canvas.clientWidth);
  }

  draw() {
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight].map((side) => Math.round(side * ratio));
    if (!width || !height) return;
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    const view = this.view();
    this.context.clearRect(0, 0, width, height);
    this.app.painter.draw(this.context, this.space.name, view);
    drawAxes(this, view);
    this.frames += 1;
    this.canvas.dataset.frames = this.frames;
  }

  move(dx, dy) {
    if (this.isDeep) {
      this.turn = [this.turn[0] + 0.008 * dx, Math.max(-1.57, Math.min(1.57, this.turn[1] + 0.008 * dy))];
    } else {
      const [sx, sy] = this.scale();
      this.center = [this.center[0] - (dx * this.ratio()) / sx, this.center[1] + (dy * this.ratio()) / sy, 0];
    }
    this.app.request(this);
  }

  // Magnifies around a point of the canvas, given in CSS pixels; without one around the middle.
  magnify(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const zoom = Math.min(200, Math.max(0.2, this.zoom * factor));
    if (!this.isDeep) {
      const [sx, sy] = this.scale().map((scale) => scale / this.ratio());
      const kept = 1 - this.zoom / zoom;
      const [right, up] = this.shift();
      this.center[0] += ((x - this.canvas.clientWidth / 2 - right) / sx) * kept;
      this.center[1] -= ((y - this.canvas.clientHeight / 2 + up) / sy) * kept;
    }
    this.zoom = zoom;
    this.app.request(this);
  }

  // The row nearest to a point of the canvas in CSS pixels, or -1 if none is near.
  pick(x, y, reach = PIXELS_TO_PICK) {
    const ratio = this.ratio();
    const { project } = this.view();
    let best = -1;
    let least = (reach * ratio) ** 2;
    for (let i = 0; i < N_ROWS; i += 1) {
      const at = project(this.places, i);
      const away = (at[0] - x * ratio) ** 2 + (at[1] - y * ratio) ** 2;
      if (away < least) [best, least] = [i, away];
    }
    return best;
  }

  // Selects the rows inside the line that the pointer has drawn.
  selectInside(line) {
    const ratio = this.ratio();
    const { project } = this.view();
    const corners = line.map(([x, y]) => [x * ratio, y * ratio]);
    const [left, right] = ends(corners.map(([x]) => x));
    const [top, bottom] = ends(corners.map(([, y]) => y));
    const chosen = new Uint8Array(N_ROWS);
    for (let i = 0; i < N_ROWS; i += 1) {
      const at = project(this.places, i);
      const x = at[0];
      const y = at[1];
      if (x >= left && x <= right && y >= top && y <= bottom && isInside(corners, x, y)) chosen[i] = 1;
    }
    this.app.select(chosen, `drawn in ${this.space.label}`);
  }
}

function isInside(corners, x, y) {
  let inside = false;
  for (let i = 0, j = corners.length - 1; i < corners.length; j = i, i += 1) {
    const [xi, yi] = corners[i];
    const [xj, yj] = corners[j];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) inside = !inside;
  }
  return inside;
}
