// From a variable to the color and the marker of every point, and to the legend that explains them.

const MAX_LABELS = 20;
const N_COLORS = 7;
const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
let isPrinted = false;

function theme() {
  return prefersDark.matches && !isPrinted ? page.themes.dark : page.themes.light;
}

// Whether a variable can be read like this: words are no numbers.
function canRead(variable, wanted) {
  if (wanted === "auto") return true;
  if (variable.kind === "none") return false;
  return wanted === "categorical" || !variable.labels || labelNumbers(variable) !== null;
}

// How a variable is read: as it says, or as the reader wants it.
function readAs(variable, wanted) {
  if (wanted === "auto" || wanted === variable.kind) return variable;
  if (wanted === "categorical") return asCategories(variable);
  const values = variable.labels ? labelNumbers(variable) : variable.values;
  const { cut, ...found } = colorEnds(values, variable.isTime);
  const [low, high] = ends(values);
  const isRadians = Math.max(Math.abs(low), Math.abs(high)) <= 2 * Math.PI * 1.000001;
  // A covariate knows its turn by its name, too: orientations are the same after half of one.
  const turn = variable.turn || (isRadians ? 2 * Math.PI : 360);
  return { ...variable, ...found, kind: wanted, labels: null, values, turn, cut: wanted === "circular" ? "" : cut };
}

// Labels as numbers, where all but a missing one are; else null.
function labelNumbers(variable) {
  const isNumber = (label) => label.trim() !== "" && Number.isFinite(Number(label));
  const told = variable.labels.filter((label) => label !== MISSING);
  if (!told.length || !told.every(isNumber)) return null;
  // Not a number is what a missing one becomes.
  return Float64Array.from(variable.values, (place) => Number(variable.labels[place]));
}

function asCategories(variable) {
  // Rows without a value come last; a difference to NaN would leave the others out of order.
  const distinct = [...new Set(variable.values)].sort((a, b) => Number.isNaN(a) - Number.isNaN(b) || a - b);
  const places = new Map(distinct.map((value, place) => [value, place]));
  const values = Uint32Array.from(variable.values, (value) => places.get(value));
  return { ...variable, kind: "categorical", labels: distinct.map((value) => toldValue(variable, value)), values, cut: "" };
}

// The labels that have a color of their own: all, or the most frequent of more than twenty.
function frequentLabels(variable) {
  const places = variable.labels.map((_, place) => place);
  if (places.length <= MAX_LABELS) return places;
  const counts = new Uint32Array(places.length);
  for (const place of variable.values) counts[place] += 1;
  return places
    .sort((a, b) => counts[b] - counts[a] || a - b)
    .slice(0, MAX_LABELS - 1)
    .sort((a, b) => a - b);
}

// Returns { rgba, shape, entries }: colors (4 bytes per row), markers, and the labels with their places.
function paint(variable) {
  const rgba = new Uint8Array(4 * N_ROWS);
  const shape = new Uint8Array(N_ROWS);
  if (variable.kind === "categorical") return paintLabels(variable, rgba, shape);
  const { palette, gray, circular, continuous } = theme();
  const table = variable.kind === "none" ? null : numbers(variable.kind === "circular" ? circular : continuous);
  for (let i = 0; i < N_ROWS; i += 1) {
    const value = table ? variable.values[i] : 0;
    if (Number.isNaN(value)) rgba.set([...gray, 90], 4 * i);
    else if (!table) rgba.set([...palette[0], 255], 4 * i);
    else {
      const place = 3 * Math.round(255 * position(variable, value));
      rgba[4 * i] = table[place];
      rgba[4 * i + 1] = table[place + 1];
      rgba[4 * i + 2] = table[place + 2];
      rgba[4 * i + 3] = 255;
    }
  }
  return { rgba, shape, entries: [] };
}

// Where a value lies between the ends of its scale, from 0 to 1.
function position(variable, value) {
  if (variable.kind === "circular") return (((value / variable.turn) % 1) + 1) % 1;
  const [low, high] = variable.range;
  return high > low ? Math.min(1, Math.max(0, (value - low) / (high - low))) : 0.5;
}

function paintLabels(variable, rgba, shape) {
  const own = frequentLabels(variable);
  const style = new Map(own.map((place, k) => [place, k]));
  const entries = own.map((place, k) => ({ label: variable.labels[place], places: [place], ...labelStyle(k, variable.labels[place]) }));
  const rest = variable.labels.length - own.length;
  if (rest) {
    const others = variable.labels.map((_, place) => place).filter((place) => !style.has(place));
    entries.push({ label: `other (${rest} labels)`, places: others, color: theme().gray, shape: 0 });
  }
  for (let i = 0; i < N_ROWS; i += 1) {
    const k = style.get(variable.values[i]);
    const entry = entries[k === undefined ? entries.length - 1 : k];
    rgba.set(entry.color, 4 * i);
    rgba[4 * i + 3] = k === undefined ? 120 : 255;
    shape[i] = entry.shape;
  }
  return { rgba, shape, entries };
}

// Colors repeat after seven, with another marker; rows without a value are gray.
function labelStyle(k, label) {
  if (label === MISSING) return { color: theme().gray, shape: 0 };
  return { color: theme().palette[k % N_COLORS], shape: Math.floor(k / N_COLORS) % 3 };
}

function cssColor(rgb) {
  return `rgb(${rgb[0]} ${rgb[1]} ${rgb[2]})`;
}
