// What the page carries: words as JSON, numbers as base64, decoded when first needed.

const page = JSON.parse(document.getElementById("page-data").textContent);
const N_ROWS = page.n_rows;
const TYPES = { f4: Float32Array, f8: Float64Array, i1: Int8Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array };
const decoded = new Map();

function numbers(block) {
  if (!decoded.has(block.id)) {
    const text = atob(document.getElementById(block.id).textContent);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
    decoded.set(block.id, new TYPES[block.type](bytes.buffer));
  }
  return decoded.get(block.id);
}

function rowNumber(i) {
  return page.rows ? numbers(page.rows)[i] : i;
}

// One coordinate of a latent space: 16 bits between its ends.
function coordinate(space, axis) {
  const { low, high } = space.axes[axis];
  const steps = numbers(space.block);
  const values = new Float32Array(N_ROWS);
  const unit = (high - low) / 65535;
  for (let i = 0; i < N_ROWS; i += 1) values[i] = low + unit * steps[axis * N_ROWS + i];
  return values;
}

// One feature of a view: a sum over components, or 8 bits between its ends for the rows that are kept.
function featureValues(view, feature) {
  const values = new Float32Array(N_ROWS);
  if (view.encoding === "components") {
    const scores = numbers(view.scores);
    const loadings = numbers(view.loadings);
    const scales = numbers(view.scales);
    values.fill(numbers(view.means)[feature]);
    for (let k = 0; k < view.n_components; k += 1) {
      const weight = scales[k] * loadings[k * view.n_features + feature];
      if (weight === 0) continue;
      const start = k * N_ROWS;
      for (let i = 0; i < N_ROWS; i += 1) values[i] += weight * scores[start + i];
    }
    return values;
  }
  const steps = numbers(view.values);
  const low = numbers(view.lows)[feature];
  const unit = (numbers(view.highs)[feature] - low) / 255;
  const rows = view.kept ? numbers(view.kept) : null;
  const start = feature * view.n_kept;
  values.fill(NaN);
  for (let j = 0; j < view.n_kept; j += 1) values[rows ? rows[j] : j] = low + unit * steps[start + j];
  return values;
}

function featureName(view, feature) {
  return view.names ? view.names[feature] : String(feature);
}

// The number of the feature that a text names, or -1.
function findFeature(view, text) {
  const wanted = text.trim();
  const named = view.names ? view.names.indexOf(wanted) : -1;
  if (named >= 0) return named;
  return /^\d+$/.test(wanted) && Number(wanted) < view.n_features ? Number(wanted) : -1;
}

function ends(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : [0, 1];
}

// Fewer rows than these have no tails that could be left out.
const LEAST_WITH_TAILS = 20;
// Tails are left out of a picture where it would be twice as large with them, and of a scale of colors sooner: a row beyond
// its ends is still seen.
const LONG_TAILS = 2;
const LONG_TAILS_OF_COLORS = 1.25;

// Ends that a few rows far out do not move: a share of them on either side, one at least.
function usualEnds(values, share) {
  const sorted = Float64Array.from(values.filter(Number.isFinite)).sort();
  if (!sorted.length) return [0, 1];
  const n = sorted.length;
  const left = n < LEAST_WITH_TAILS ? 0 : Math.max(1, Math.floor(share * n));
  const found = [sorted[left], sorted[n - 1 - left]];
  return found[0] < found[1] ? found : [sorted[0], sorted[n - 1]];
}

// Ends that show every row, unless a few far out would leave the others in a corner.
function shownEnds(values, share = 0.002, longest = LONG_TAILS) {
  const [all, usual] = [ends(values), usualEnds(values, share)];
  return all[1] - all[0] <= longest * (usual[1] - usual[0]) ? all : usual;
}

// Ends with room between them: ticks around a single value would all have its name.
function withRoom([low, high]) {
  return low < high ? [low, high] : [low - 0.5, high + 0.5];
}

// The ends of a scale of colors, and what to say where values lie beyond them.
function colorEnds(values, isTime = false) {
  const range = shownEnds(values, 0.01, LONG_TAILS_OF_COLORS);
  const isBeyond = (value) => value < range[0] || value > range[1];
  const n = values.filter(isBeyond).length;
  const where = values.length < 100 ? "short of the lowest and the highest row" : "at 1 % and 99 % of the rows";
  const all = ends(values);
  const span = all[1] - all[0];
  const [low, high] = all.map((value) => toldValue({ isTime, span }, value));
  const said = `Colors end ${where}: ${counted(n)} ${n === 1 ? "value lies" : "values lie"} beyond, all are from ${low} to ${high}.`;
  return { range, cut: n ? said : "", isTime, span };
}

// What rows without a value are called, as in the labels that come with the page.
const MISSING = "missing";

// Four digits, or as many as tell apart numbers within a span; whole numbers as they are: trial 12345 is not trial 12350.
function shortNumber(value, span = 0) {
  if (!Number.isFinite(value)) return MISSING;
  if (Number.isInteger(value)) return String(value);
  const more = span > 0 ? Math.round(Math.log10(Math.abs(value) / span)) : 0;
  return String(Number(value.toPrecision(4 + Math.min(11, Math.max(0, more)))));
}

const LAST_SECOND = 8.64e12;

// Seconds since 1970 as a date and, but for midnight, a time.
function moment(seconds) {
  if (!(Math.abs(seconds) <= LAST_SECOND)) return shortNumber(seconds);
  return new Date(1000 * seconds).toISOString().replace("T", " ").replace(/Z$/, "").replace(/( 00:00:00)?\.000$/, "");
}

// A value of a variable in words.
function toldValue(variable, value) {
  if (variable.labels) return variable.labels[value];
  return variable.isTime ? moment(value) : shortNumber(value, variable.span);
}

function counted(number) {
  return number.toLocaleString("en-US");
}

// What points can be colored by: each has a label, a kind, and one value or place among its labels per row.
const nothing = { label: "", kind: "none", values: null, labels: null };

function covariateVariable(covariate) {
  const values = numbers(covariate.block);
  return {
    covariate,
    label: covariate.name,
    kind: covariate.kind,
    turn: covariate.turn,
    labels: covariate.labels,
    values,
    note: "",
    ...(covariate.kind === "continuous" ? colorEnds(values, covariate.is_time) : { range: null, cut: "" }),
  };
}

// The value of a row in words; the span of all is kept, since the pointer asks at every move.
function toldCovariate(covariate, row) {
  const values = numbers(covariate.block);
  if (covariate.span === undefined) covariate.span = covariate.labels ? 0 : ends(values)[1] - ends(values)[0];
  return toldValue({ labels: covariate.labels, isTime: covariate.is_time, span: covariate.span }, values[row]);
}

function featureVariable(view, feature) {
  const values = featureValues(view, feature);
  return {
    label: `${view.view}, feature ${featureName(view, feature)}`,
    kind: "continuous",
    view,
    feature,
    turn: null,
    labels: null,
    values,
    note: featureNote(view, feature),
    ...colorEnds(values),
  };
}

// Shares of a feature's variance by what accounts for it, of spaces that have dimensions; NaN for a feature that does not vary.
// Rows that the fit has not seen may give less than nothing: that is nothing, for which no other part makes up.
function featureShares(view, feature) {
  const shares = Object.fromEntries(view.parts.map((part) => [part, Math.max(0, numbers(view[part])[feature])]));
  const neither = numbers(view.neither)[feature];
  if (view.parts.length > 1) shares["only together"] = 1 - shares.shared - shares.private - neither;
  return { ...shares, neither };
}

// The same as pairs of a name and whole percents; where two spaces explain the same part, it counts in both.
function toldShares(shares) {
  return Object.entries(shares).map(([part, share]) => {
    const isTwice = part === "only together" && share < -0.005;
    return isTwice ? ["in both of these", percent(-share)] : [part, percent(share)];
  });
}

function percent(share) {
  return Number.isNaN(share) ? "? %" : `${Math.max(0, Math.round(100 * share))} %`;
}

// How well the model explains a feature, and how well the page has kept it: two numbers that are easily confused.
function featureNote(view, feature) {
  const shares = toldShares(featureShares(view, feature)).map(([part, share]) => `${share} ${part}`);
  const said = shares[0].startsWith("?") ? "This feature does not vary in the rows that judge the fit." : `Variance of this feature: ${shares.join(", ")}.`;
  return `${said} ${view.note} Of this one the page keeps R² ${numbers(view.r2)[feature].toFixed(3)}.`;
}

function coordinateVariable(space, axis) {
  const values = coordinate(space, axis);
  const label = `${space.label}, ${space.axes[axis].name}`;
  return { label, kind: "continuous", turn: null, labels: null, values, note: "", ...colorEnds(values) };
}
