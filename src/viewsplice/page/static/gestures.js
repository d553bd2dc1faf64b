// What pointer and keyboard do to a panel.

const LEAST_CORNERS = 3;

function listenTo(panel) {
  const { canvas, app } = panel;
  let last = null;

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    last = [event.offsetX, event.offsetY];
    if (app.drag === "select" || event.shiftKey) panel.lasso = [last];
    app.hideHint();
  });

  canvas.addEventListener("pointermove", (event) => {
    const here = [event.offsetX, event.offsetY];
    if (!last) {
      app.hover(panel, ...here);
      return;
    }
    if (panel.lasso) {
      panel.lasso.push(here);
      app.request(panel);
    } else {
      panel.move(here[0] - last[0], here[1] - last[1]);
      last = here;
    }
  });

  const release = () => {
    const line = panel.lasso;
    panel.lasso = null;
    last = null;
    if (!line) return;
    if (line.length >= LEAST_CORNERS) panel.selectInside(line);
    else app.select(null);
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => app.hideHint());

  // A wheel over a panel that was not chosen scrolls the page, as readers expect.
  canvas.addEventListener(
    "wheel",
    (event) => {
      if (document.activeElement !== canvas && !event.ctrlKey) return;
      event.preventDefault();
      panel.magnify(Math.exp(-0.0015 * event.deltaY), event.offsetX, event.offsetY);
    },
    { passive: false },
  );

  canvas.addEventListener("keydown", (event) => {
    const action = KEYS[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action(panel);
    // The row in the middle is told as if the pointer were there.
    if (event.key === "Escape") app.hideHint();
    else app.hover(panel, canvas.clientWidth / 2, canvas.clientHeight / 2, Infinity);
  });

  for (const button of panel.element.querySelectorAll("button[data-action]")) {
    button.addEventListener("click", () => ACTIONS[button.dataset.action](panel));
  }
  for (const select of panel.element.querySelectorAll("select[data-axis]")) {
    select.addEventListener("change", () => {
      panel.axes[Number(select.dataset.axis)] = Number(select.value);
      panel.place();
    });
  }
}

const ACTIONS = {
  closer: (panel) => panel.magnify(1.4),
  farther: (panel) => panel.magnify(1 / 1.4),
  reset: (panel) => panel.fit(),
  deep: (panel) => {
    panel.isDeep = !panel.isDeep;
    const button = panel.element.querySelector("button[data-action=deep]");
    button.setAttribute("aria-pressed", String(panel.isDeep));
    panel.element.querySelector("label.third").hidden = !panel.isDeep;
    panel.place();
  },
};

const KEYS = {
  ArrowLeft: (panel) => panel.move(24, 0),
  ArrowRight: (panel) => panel.move(-24, 0),
  ArrowUp: (panel) => panel.move(0, 24),
  ArrowDown: (panel) => panel.move(0, -24),
  "+": ACTIONS.closer,
  "=": ACTIONS.closer,
  "-": ACTIONS.farther,
  0: ACTIONS.reset,
  Escape: (panel) => panel.app.select(null),
};
