// The page as a whole: one choice of color and one selection for all spaces.

class App {
  constructor() {
    this.painter = makePainter();
    this.isFlat = this.painter instanceof FlatPoints;
    this.raw = this.shown = nothing;
    this.drag = "move";
    this.pointSize = Number(element("point-size").value);
    this.opacity = Math.min(1, Math.max(0.35, 60 / Math.sqrt(N_ROWS)));
    this.chosen = new Uint8Array(N_ROWS);
    this.isBrushed = false;
    this.waiting = new Set();
    this.panels = [];
    this.painter.setChosen(this.chosen);
    const boxes = [...document.querySelectorAll(".space")];
    this.panels = boxes.map((box) => new Panel(this, page.spaces[Number(box.dataset.space)], box));
    this.listen();
    this.offerNames();
    this.colorByChoice();
    new ResizeObserver(() => this.panels.forEach((panel) => this.request(panel))).observe(element("spaces"));
  }

  // Draws each panel at most once per frame of the screen.
  request(panel) {
    if (!this.waiting.size) requestAnimationFrame(() => this.flush());
    this.waiting.add(panel);
  }

  flush() {
    const panels = [...this.waiting];
    this.waiting.clear();
    for (const panel of panels) panel.draw();
  }

  color(variable) {
    this.raw = variable;
    this.offerReadings();
    this.shown = readAs(variable, element("read-as").value);
    this.painted = paint(this.shown);
    this.painter.setColors(this.painted);
    drawLegend(this);
    if (this.maps) this.maps.mark();
    for (const panel of this.panels) {
      if (panel.isLine) panel.place();
      else this.request(panel);
    }
    element("spaces").dataset.color = this.shown.label;
  }

  // A choice that would change nothing cannot be made.
  offerReadings() {
    const choice = element("read-as");
    for (const option of choice.options) option.disabled = !canRead(this.raw, option.value);
    if (choice.selectedOptions[0].disabled) choice.value = "auto";
    const isWords = this.raw.labels && !canRead(this.raw, "continuous");
    choice.title = isWords ? "words cannot be read as numbers or angles" : "";
  }

  colorByChoice() {
    const [kind, first, second] = element("color-by").value.split(":");
    element("feature-choice").hidden = kind !== "feature";
    if (kind === "covariate") this.color(covariateVariable(page.covariates[Number(first)]));
    else if (kind === "coordinate") this.color(coordinateVariable(page.spaces[Number(first)], Number(second)));
    else if (kind === "feature") this.colorByTypedFeature();
    else this.color(nothing);
  }

  colorByTypedFeature() {
    const view = page.features[Number(element("feature-view").value)];
    const feature = findFeature(view, element("feature-name").value);
    const problem = `${view.view} has no feature "${element("feature-name").value}": type 0 to ${view.n_features - 1}`;
    element("feature-problem").textContent = feature < 0 ? `${problem}${view.names ? ", or a name" : ""}.` : "";
    if (feature >= 0) this.color(featureVariable(view, feature));
  }

  // What the field for a feature completes: the names of the chosen view, if it has any.
  offerNames() {
    const names = page.features[Number(element("feature-view").value)]?.names || [];
    element("feature-names").replaceChildren(...names.map((name) => new Option(name)));
  }

  colorByFeature(view, feature) {
    if (element("color-by").value !== "feature") element("read-as").value = "auto";
    element("color-by").value = "feature";
    element("feature-view").value = String(page.features.indexOf(view));
    this.offerNames();
    element("feature-name").value = featureName(view, feature);
    this.colorByChoice();
  }

  stepFeature(step) {
    const view = page.features[Number(element("feature-view").value)];
    const feature = Math.max(0, findFeature(view, element("feature-name").value));
    this.colorByFeature(view, (feature + step + view.n_features) % view.n_features);
  }

  // Selects rows in all spaces; nothing, or no row, ends the selection.
  select(chosen, how = "") {
    const rows = [];
    if (chosen) chosen.forEach((is, i) => is && rows.push(rowNumber(i)));
    this.isBrushed = rows.length > 0;
    this.chosen = this.isBrushed ? chosen : new Uint8Array(N_ROWS);
    this.painter.setChosen(this.chosen);
    const said = `${counted(rows.length)} of ${counted(N_ROWS)} rows selected, ${how}.`;
    element("selection").textContent = this.isBrushed ? said : "No rows selected.";
    element("selected-rows").value = rows.join(", ");
    element("selected-box").hidden = element("clear").hidden = !this.isBrushed;
    for (const panel of this.panels) this.request(panel);
  }

  hover(panel, x, y, reach) {
    const row = panel.pick(x, y, reach);
    if (row < 0) {
      this.hideHint();
      return;
    }
    const hint = element("hint");
    hint.replaceChildren(...this.facts(row));
    hint.hidden = false;
    const box = panel.canvas.getBoundingClientRect();
    hint.style.left = `${Math.max(4, Math.min(window.innerWidth - hint.offsetWidth - 8, box.left + x + 14))}px`;
    hint.style.top = `${Math.max(4, Math.min(window.innerHeight - hint.offsetHeight - 8, box.top + y + 14))}px`;
    for (const other of this.panels) {
      const at = other.view().project(other.places, row);
      const mark = other.element.querySelector(".mark");
      mark.hidden = false;
      mark.style.transform = `translate(${at[0] / other.ratio()}px, ${at[1] / other.ratio()}px)`;
    }
  }

  // Row, color, group and covariates, as terms and their descriptions: the last ones may find no room.
  facts(row) {
    const { shown } = this;
    const told = [["row", String(rowNumber(row))]];
    if (shown.kind !== "none") told.push([shown.label, toldValue(shown, shown.values[row])]);
    for (const covariate of page.covariates) {
      if (covariate !== shown.covariate) told.push([covariate.name, toldCovariate(covariate, row)]);
    }
    return told.flatMap(([term, value]) => [textElement("dt", clipped(term)), textElement("dd", clipped(value))]);
  }

  hideHint() {
    element("hint").hidden = true;
    for (const panel of this.panels) panel.element.querySelector(".mark").hidden = true;
  }

  listen() {
    element("color-by").addEventListener("change", () => {
      // How the last variable was read says nothing about this one.
      element("read-as").value = "auto";
      this.colorByChoice();
    });
    element("read-as").addEventListener("change", () => this.color(this.raw));
    element("feature-view").addEventListener("change", () => this.offerNames());
    for (const id of ["feature-view", "feature-name"]) {
      element(id).addEventListener("change", () => this.colorByTypedFeature());
    }
    element("feature-before").addEventListener("click", () => this.stepFeature(-1));
    element("feature-next").addEventListener("click", () => this.stepFeature(1));
    element("point-size").addEventListener("input", (event) => {
      this.pointSize = Number(event.target.value);
      for (const panel of this.panels) this.request(panel);
    });
    for (const radio of document.querySelectorAll("input[name=drag]")) {
      radio.addEventListener("change", () => {
        this.drag = radio.value;
        element("spaces").dataset.drag = radio.value;
      });
    }
    element("clear").addEventListener("click", () => this.select(null));
    prefersDark.addEventListener("change", () => this.repaint());
    // Paper is white, whatever the screen.
    window.addEventListener("beforeprint", () => this.print(true));
    window.addEventListener("afterprint", () => this.print(false));
    if (!this.isFlat) {
      this.painter.canvas.addEventListener("webglcontextlost", () => this.goFlat());
    }
  }

  // Paper shows what is folded, too.
  print(is) {
    isPrinted = is;
    if (is) this.folded = [...document.querySelectorAll("details:not([open])")];
    for (const one of this.folded || []) one.open = is;
    this.repaint();
    this.flush();
  }

  repaint() {
    this.color(this.raw);
    if (this.maps) this.maps.restart();
  }

  // Without WebGL half-way (a driver that restarts), the points go on by hand.
  goFlat() {
    this.painter = new FlatPoints();
    this.isFlat = true;
    this.painter.setChosen(this.chosen);
    for (const panel of this.panels) panel.place();
    this.color(this.raw);
  }
}

const LONGEST_FACT = 60;

function clipped(text) {
  const signs = [...text];
  return signs.length <= LONGEST_FACT ? text : `${signs.slice(0, LONGEST_FACT - 1).join("")}…`;
}

function element(id) {
  return document.getElementById(id);
}

const app = new App();
if (page.features.length && element("maps")) app.maps = new Maps(app);
document.documentElement.dataset.ready = "true";
