/* Keeping the zoom of a Plotly chart across reruns: Streamlit replaces a changed chart by a new one, which starts with
 * its full range. The zoom is kept if the new chart has the same `uirevision` (set by `chart` in Python) and similar
 * full ranges. Nothing is observed until a chart is zoomed. */

import { sameReach } from "../../../components/common/ranges.js";

const RESET = '.modebar-btn[data-val="reset"]';

export class Zooms {
  constructor() {
    // the key of a zoomed chart → its element, its uirevision, and its zoomed axes: name → { whole: full range, range }
    this.zooms = new Map();
    this.wholeRanges = new WeakMap(); // charts with a listener → the full range of each axis
    this.onTouch = ({ target }) => this.listen(target.closest?.(".js-plotly-plot"));
    this.observer = new MutationObserver(() => this.restore());
  }

  start() {
    for (const type of ["pointerdown", "focusin"]) document.addEventListener(type, this.onTouch, true);
    this.observeIfZoomed();
  }

  stop() {
    for (const type of ["pointerdown", "focusin"]) document.removeEventListener(type, this.onTouch, true);
    this.observer.disconnect();
  }

  observeIfZoomed() {
    this.observer.disconnect();
    if (this.zooms.size) this.observer.observe(document.body, { childList: true, subtree: true });
  }

  listen(chart) {
    if (!chart?._fullLayout || this.wholeRanges.has(chart)) return;
    this.wholeRanges.set(chart, new Map(axesOf(chart).map((axis) => [axis._name, wholeOf(axis)])));
    chart.on("plotly_relayout", () => this.record(chart));
  }

  /* Record the zoom of a chart, or drop it if the chart shows its full ranges again. */
  record(chart) {
    const key = chart.closest('[class*="st-key-"]')?.className.match(/st-key-(\S+)/)[1];
    const whole = this.wholeRanges.get(chart);
    const zoomed = axesOf(chart).filter((axis) => axis.range.some((end, i) => end !== whole.get(axis._name)?.[i]));
    const axes = new Map(zoomed.map((axis) => [axis._name, { whole: whole.get(axis._name), range: [...axis.range] }]));
    this.zooms.delete(key);
    if (key && zoomed.length) this.zooms.set(key, { chart, about: chart._fullLayout.uirevision, axes });
    this.observeIfZoomed();
  }

  /* After a change of the page, restore the zoom of charts that were drawn again, and drop that of removed charts. */
  restore() {
    for (const [key, zoom] of this.zooms) {
      const place = document.querySelector(`.st-key-${CSS.escape(key)}`);
      const chart = place?.querySelector(".js-plotly-plot");
      // the same element, or not drawn yet
      if (chart === zoom.chart || (place && !chart?.querySelector(RESET))) continue;
      this.zooms.delete(key);
      if (chart) this.apply(chart, zoom);
    }
    if (!this.zooms.size) this.observeIfZoomed();
  }

  apply(chart, { about, axes }) {
    const now = new Map(axesOf(chart).map((axis) => [axis._name, axis]));
    const isSame = ([name, { whole }]) => now.has(name) && sameReach(whole, wholeOf(now.get(name)));
    if (chart._fullLayout.uirevision !== about || ![...axes].every(isSame)) return;
    this.listen(chart);
    // Plotly's API is not accessible here, but its reset button is. It restores the initial ranges, so these are set to
    // the zoom before the click and restored after it.
    const initial = [...axes].map(([name]) => [
      now.get(name),
      now.get(name)._rangeInitial0,
      now.get(name)._rangeInitial1,
    ]);
    for (const [axis] of initial) [axis._rangeInitial0, axis._rangeInitial1] = axes.get(axis._name).range;
    chart.querySelector(RESET).click();
    for (const [{ _name }, low, high] of initial)
      Object.assign(chart._fullLayout[_name], { _rangeInitial0: low, _rangeInitial1: high });
  }
}

const axesOf = ({ _fullLayout: layout }) =>
  Object.keys(layout)
    .filter((name) => /^[xy]axis\d*$/.test(name))
    .map((name) => layout[name]);

/* Return the full range of an axis. One that Plotly chooses is read before any zoom. */
const wholeOf = (axis) =>
  axis._rangeInitial0 === undefined ? [...axis.range] : [axis._rangeInitial0, axis._rangeInitial1];
