// Feature maps: the mean of each feature in every part of a space, ordered by how much the space explains.

const TILE = 112;
const BINS = 28;
const BINS_ON_LINE = 48;
const TILES_AT_ONCE = 24;

class Maps {
  constructor(app) {
    this.app = app;
    this.grid = document.getElementById("maps");
    this.spaces = page.spaces.filter((space) => page.features.some((view) => view.view === space.decoded));
    this.spaceChoice = document.getElementById("maps-space");
    this.orderChoice = document.getElementById("maps-order");
    this.more = document.getElementById("maps-more");
    for (const choice of [this.spaceChoice, this.orderChoice]) choice.addEventListener("change", () => this.restart());
    this.more.addEventListener("click", () => this.extend());
    this.restart();
  }

  restart() {
    this.space = this.spaces[Number(this.spaceChoice.value)];
    this.view = page.features.find((view) => view.view === this.space.decoded);
    this.places = binPlaces(this.space);
    this.order = this.ordered();
    this.grid.replaceChildren();
    this.extend();
  }

  ordered() {
    const order = Array.from({ length: this.view.n_features }, (_, feature) => feature);
    if (this.orderChoice.value === "number") return order;
    const share = numbers(this.view[this.orderChoice.value === "neither" ? "neither" : this.space.kind]);
    // Features without variance have no share and go last.
    const rank = (feature) => (Number.isNaN(share[feature]) ? -Infinity : share[feature]);
    return order.sort((a, b) => rank(b) - rank(a) || a - b);
  }

  extend() {
    const start = this.grid.children.length;
    for (const feature of this.order.slice(start, start + TILES_AT_ONCE)) this.grid.append(this.tile(feature));
    const shown = this.grid.children.length;
    this.more.hidden = shown >= this.order.length;
    document.getElementById("maps-count").textContent = `${shown} of ${this.order.length} features of ${this.view.view}`;
  }

  tile(feature) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "tile";
    button.title = "color all spaces by this feature";
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [TILE, TILE];
    const name = featureName(this.view, feature);
    const shares = ["shared", "private", "neither"].map((part) => [part, numbers(this.view[part])[feature]]);
    const percent = (share) => (Number.isNaN(share) ? "?" : Math.round(100 * share));
    const said = shares.map(([part, share]) => `${percent(share)} % ${part}`).join(", ");
    button.setAttribute("aria-label", `Feature ${name} of ${this.view.view}: variance ${said}. Color all spaces by it.`);
    drawMap(canvas, this.places, featureValues(this.view, feature));
    button.append(canvas, textElement("span", name, "name"), shareBar(shares), textElement("span", shares.slice(0, 2).map(([part, share]) => `${part[0]} ${percent(share)}`).join("  "), "quiet"));
    button.addEventListener("click", () => this.app.colorByFeature(this.view, feature));
    return button;
  }
}

function shareBar(shares) {
  const box = textElement("span", "", "sharebar");
  for (const [part, share] of shares) {
    if (part === "neither") continue;
    const piece = textElement("span", "", part);
    piece.style.width = `${Math.min(100, Math.max(0, 100 * share || 0))}%`;
    box.append(piece);
  }
  return box;
}

// The bin of every row: along a line, or in the plane of the first two axes.
function binPlaces(space) {
  const n = space.axes.length > 1 ? BINS : BINS_ON_LINE;
  const steps = (axis) => {
    const values = coordinate(space, axis);
    const [low, high] = usualEnds(values, 0.002);
    return values.map((value) => Math.min(n - 1, Math.max(0, Math.floor((n * (value - low)) / (high - low || 1)))));
  };
  const x = steps(0);
  const y = space.axes.length > 1 ? steps(1) : null;
  return { n, isLine: !y, bins: Uint16Array.from(x, (column, i) => (y ? (n - 1 - y[i]) * n + column : column)) };
}

function drawMap(canvas, { n, isLine, bins }, values) {
  const sums = new Float64Array(isLine ? n : n * n);
  const counts = new Uint32Array(sums.length);
  for (let i = 0; i < bins.length; i += 1) {
    if (Number.isNaN(values[i])) continue;
    sums[bins[i]] += values[i];
    counts[bins[i]] += 1;
  }
  const means = sums.map((sum, bin) => (counts[bin] ? sum / counts[bin] : NaN));
  const [low, high] = ends(means);
  const context = canvas.getContext("2d");
  const side = canvas.width / n;
  const table = numbers(theme().continuous);
  means.forEach((mean, bin) => {
    if (Number.isNaN(mean)) return;
    const part = high > low ? (mean - low) / (high - low) : 0.5;
    const place = 3 * Math.round(255 * part);
    context.fillStyle = cssColor(table.subarray(place, place + 3));
    if (isLine) context.fillRect(bin * side, canvas.height * (1 - 0.06 - 0.9 * part), side + 0.5, canvas.height * (0.06 + 0.9 * part));
    else context.fillRect((bin % n) * side, Math.floor(bin / n) * side, side + 0.5, side + 0.5);
  });
}
