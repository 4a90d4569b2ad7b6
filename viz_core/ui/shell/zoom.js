/* A zoom into a chart by Plotly outlasts the next drawing of the chart: Streamlit puts a changed chart in the place of the old one,
 * which begins with its whole view. What a chart is about is its `uirevision`, which `chart` of viz_core/ui/controls.py decides;
 * besides, its whole view must be about what it was. Nothing is watched until somebody zooms. */

const RESET = '.modebar-btn[data-val="reset"]';

class Zooms {
  constructor() {
    this.held = new Map(); // the key of a chart → its element, what it is about, and its axes: name → { whole, range }
    this.known = new WeakMap(); // charts that are listened to → the whole view of each axis
    this.touched = ({ target }) => this.listen(target.closest?.(".js-plotly-plot"));
    this.watch = new MutationObserver(() => this.follow());
  }

  start() {
    for (const hand of ["pointerdown", "focusin"]) document.addEventListener(hand, this.touched, true);
    this.attend();
  }

  stop() {
    for (const hand of ["pointerdown", "focusin"]) document.removeEventListener(hand, this.touched, true);
    this.watch.disconnect();
  }

  attend() {
    this.watch.disconnect();
    if (this.held.size) this.watch.observe(document.body, { childList: true, subtree: true });
  }

  listen(chart) {
    if (!chart?._fullLayout || this.known.has(chart)) return;
    this.known.set(chart, new Map(axesOf(chart).map((axis) => [axis._name, wholeOf(axis)])));
    chart.on("plotly_relayout", () => this.note(chart));
  }

  /* Somebody has zoomed, or has gone back to the whole view. */
  note(chart) {
    const key = chart.closest('[class*="st-key-"]')?.className.match(/st-key-(\S+)/)[1], whole = this.known.get(chart);
    const near = axesOf(chart).filter((axis) => axis.range.some((end, i) => end !== whole.get(axis._name)?.[i]));
    const axes = new Map(near.map((axis) => [axis._name, { whole: whole.get(axis._name), range: [...axis.range] }]));
    this.held.delete(key);
    if (key && near.length) this.held.set(key, { chart, about: chart._fullLayout.uirevision, axes });
    this.attend();
  }

  /* The page has changed: charts that have gone are forgotten, and those that were drawn anew take their zoom over. */
  follow() {
    for (const [key, zoom] of this.held) {
      const place = document.querySelector(`.st-key-${CSS.escape(key)}`), chart = place?.querySelector(".js-plotly-plot");
      if (chart === zoom.chart || (place && !chart?.querySelector(RESET))) continue; // the same one, or not yet drawn
      this.held.delete(key);
      if (chart) this.take(chart, zoom);
    }
    if (!this.held.size) this.attend();
  }

  take(chart, { about, axes }) {
    const now = new Map(axesOf(chart).map((axis) => [axis._name, axis]));
    const same = ([name, { whole }]) => now.has(name) && sameReach(whole, wholeOf(now.get(name)));
    if (chart._fullLayout.uirevision !== about || ![...axes].every(same)) return;
    this.listen(chart);
    // Plotly itself is out of reach, but not its button that goes to the ranges with which a chart began.
    const began = [...axes].map(([name]) => [now.get(name), now.get(name)._rangeInitial0, now.get(name)._rangeInitial1]);
    for (const [axis] of began) [axis._rangeInitial0, axis._rangeInitial1] = axes.get(axis._name).range;
    chart.querySelector(RESET).click();
    for (const [{ _name }, low, high] of began) Object.assign(chart._fullLayout[_name], { _rangeInitial0: low, _rangeInitial1: high });
  }
}

const axesOf = ({ _fullLayout: layout }) => Object.keys(layout).filter((name) => /^[xy]axis\d*$/.test(name)).map((name) => layout[name]);

/* The ends of an axis that shows everything; one that Plotly chooses is asked before anybody zooms. */
const wholeOf = (axis) => (axis._rangeInitial0 === undefined ? [...axis.range] : [axis._rangeInitial0, axis._rangeInitial1]);
