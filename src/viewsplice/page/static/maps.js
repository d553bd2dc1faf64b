// Feature maps: the mean of each feature in every part of a space, ordered by how much the space explains.

const TILE = 112;
const MOST_BINS = 28;
const MOST_BINS_ON_LINE = 48;
const TILES_AT_ONCE = window.innerWidth < 640 ? 12 : 24;

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
    this.mark();
    const shown = this.grid.children.length;
    this.more.hidden = shown >= this.order.length;
    document.getElementById("maps-count").textContent = `${shown < this.order.length ? `${shown} of` : "all"} ${this.order.length} features of ${this.view.view}`;
  }

  // Marks the picture of the feature that colors the spaces.
  mark() {
    const { view, feature } = this.app.raw;
    for (const tile of this.grid.children) {
      if (view === this.view && tile.dataset.feature === String(feature)) tile.setAttribute("aria-current", "true");
      else tile.removeAttribute("aria-current");
    }
  }

  tile(feature) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "tile";
    button.dataset.feature = String(feature);
    button.title = "color all spaces by this feature";
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [TILE, TILE];
    const name = featureName(this.view, feature);
    const shares = featureShares(this.view, feature);
    const said = toldShares(shares).map(([part, share]) => `${part} ${share}`);
    button.setAttribute("aria-label", `Feature ${name} of ${this.view.view}: variance ${said.join(", ")}. Color all spaces by it.`);
    drawMap(canvas, this.places, featureValues(this.view, feature));
    button.append(canvas, textElement("span", name, "name"), shareBar(shares));
    button.append(...said.slice(0, 2).map((text) => textElement("span", text, "quiet")));
    button.addEventListener("click", () => {
      this.app.colorByFeature(this.view, feature);
      // The spaces are far above, and a choice must be seen to do something.
      document.getElementById("scatter").scrollIntoView({ block: "start" });
    });
    return button;
  }
}

function shareBar(shares) {
  const box = textElement("span", "", "sharebar");
  for (const [part, share] of Object.entries(sharePieces(shares))) {
    if (!share) continue;
    const piece = textElement("span", "", part);
    piece.style.width = `${100 * share}%`;
    box.append(piece);
  }
  return box;
}

// Lengths that leave room for what is explained by neither; what shared and private both explain is drawn once.
function sharePieces({ shared = 0, private: own = 0, "only together": joint = 0, neither }) {
  const room = 1 - within(neither, 1);
  const [one, other] = [within(shared, room), within(own, room)];
  const both = Math.max(0, one + other - room);
  return { shared: one - both, both, private: other - both, together: within(joint, Math.max(0, room - one - other)) };
}

// A share between nothing and the most there can be; features that do not vary have none.
function within(share, most) {
  return Math.min(most, Math.max(0, share || 0));
}

// The bin of every row: along a line, or in the plane of the first two axes; fewer bins where there are few rows.
function binPlaces(space) {
  const wanted = space.axes.length > 1 ? Math.sqrt(N_ROWS / 6) : N_ROWS / 12;
  const n = Math.round(Math.min(space.axes.length > 1 ? MOST_BINS : MOST_BINS_ON_LINE, Math.max(8, wanted)));
  const steps = (axis) => {
    const values = coordinate(space, axis);
    const [low, high] = usualEnds(values, 0.002);
    return values.map((value) => Math.min(n - 1, Math.max(0, Math.floor((n * (value - low)) / (high - low || 1)))));
  };
  const x = steps(0);
  const y = space.axes.length > 1 ? steps(1) : null;
  return { n, isLine: !y, bins: Uint16Array.from(x, (column, i) => (y ? (n - 1 - y[i]) * n + column : column)) };
}

// The mean of the values in every bin and, with less weight, its neighbors, as if each held one average row more: a bin of
// one row has the color of noise else, and as the highest or lowest of all it would take the colors from the others. NaN
// where there are no rows.
function binMeans({ n, isLine, bins }, values) {
  const sums = new Float64Array(isLine ? n : n * n);
  const counts = new Float64Array(sums.length);
  for (let i = 0; i < bins.length; i += 1) {
    if (Number.isNaN(values[i])) continue;
    sums[bins[i]] += values[i];
    counts[bins[i]] += 1;
  }
  const smooth = (cells) => (isLine ? blurred(cells, n, 1) : blurred(blurred(cells, n, 1), n, n));
  const [near, weights] = [smooth(sums), smooth(counts)];
  const total = (cells) => cells.reduce((sum, cell) => sum + cell, 0);
  const [mean, one] = [total(sums) / total(counts), isLine ? 4 : 16];
  return near.map((sum, bin) => (counts[bin] ? (sum + one * mean) / (weights[bin] + one) : NaN));
}

// Weights 1, 2, 1 along one direction of a grid that is n cells wide.
function blurred(cells, n, step) {
  const at = (other, isSame) => (isSame && other >= 0 && other < cells.length ? cells[other] : 0);
  return cells.map((cell, bin) => {
    const row = Math.floor(bin / n);
    const before = at(bin - step, step > 1 || Math.floor((bin - step) / n) === row);
    const after = at(bin + step, step > 1 || Math.floor((bin + step) / n) === row);
    return 2 * cell + before + after;
  });
}

function drawMap(canvas, places, values) {
  const { n, isLine } = places;
  const means = binMeans(places, values);
  const [low, high] = ends(means);
  const context = canvas.getContext("2d");
  const side = canvas.width / n;
  const table = numbers(theme().continuous);
  means.forEach((mean, bin) => {
    if (Number.isNaN(mean)) return;
    const part = high > low ? (mean - low) / (high - low) : 0.5;
    const place = 3 * Math.round(255 * part);
    const tall = canvas.height * (0.06 + 0.9 * part);
    context.fillStyle = cssColor(table.subarray(place, place + 3));
    if (isLine) context.fillRect(bin * side, canvas.height - tall, side + 0.5, tall);
    else context.fillRect((bin % n) * side, Math.floor(bin / n) * side, side + 0.5, side + 0.5);
  });
}
