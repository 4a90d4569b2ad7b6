/* Zooming of a chart: by dragging a rectangle, a toolbar, and the keys + − 0. The wheel scrolls the page. */

import { draw, make, set } from "../common/dom.js";
import { _ } from "../common/messages.js";
import { clamp } from "../common/numbers.js";
import { clampedRange, isFullRange, pannedRange, sameReach, scaledRange } from "../common/ranges.js";

const CLICK = 6; // maximum movement of a click in pixels
const SPAN = 14; // a rectangle with fewer pixels in one direction zooms the other axis only
const LEAST_X = 2; // smallest visible range on x, whose values are integers
const LEAST_Y = 1e-4; // the same on y, as a share of the full range
const TOOLS = [
  ["png", _("Download as PNG"), "M2 5h3l1-2h4l1 2h3v8H2zM8 7a2 2 0 1 0 0 4a2 2 0 1 0 0-4"],
  ["in", _("Zoom in"), "M2 2h12v12H2zM8 5v6M5 8h6"],
  ["out", _("Zoom out"), "M2 2h12v12H2zM5 8h6"],
  ["reset", _("Show everything"), "M2 8l6-5 6 5M4 7v6h8V7"],
];

export class Zoom {
  /* view: has `root`, `svg`, the last `plot` { left, right, top, bottom }, and the current point `at`. */
  constructor(view) {
    Object.assign(this, { view, seen: null, whole: null, from: null, box: null });
    const tools = make("div", "tools no-save"); // not part of an exported picture
    tools.setAttribute("role", "toolbar");
    for (const [what, said, path] of TOOLS) {
      // a standalone page has no Save menu
      if (what === "png" && !(view.root.getRootNode() instanceof ShadowRoot)) continue;
      const button = tools.appendChild(Object.assign(make("button"), { type: "button", name: what, title: said }));
      button.setAttribute("aria-label", said);
      draw(draw(button, "svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }), "path", {
        d: path,
      });
      button.onclick = () => this.press(what);
    }
    view.root.prepend(tools);
    view.svg.onpointerdown = (event) => this.begin(event);
    view.svg.onpointermove = (event) => {
      if (!this.draws(event)) view.setCurrent(view.nearest(event));
    };
    view.svg.onpointerup = () => this.end(true);
    view.svg.onpointercancel = () => this.end(false);
    view.svg.ondblclick = () => this.press("reset");
  }

  /* Return the visible range of both axes, [[x, x], [y, y]]. whole: the full range. */
  ends(whole) {
    this.whole = whole;
    if (this.seen) this.seen = this.clamped(this.seen);
    return this.seen ?? whole;
  }

  /* Called for a new chart: keep the zoom if it has the same subject and a similar range. */
  follow(about, whole) {
    if (about !== this.about || !this.whole?.every((ends, i) => sameReach(ends, whole[i]))) this.seen = null;
    this.about = about;
  }

  press(what) {
    if (what === "png")
      return void this.view.root.dispatchEvent(
        new CustomEvent("lab-save", { bubbles: true, composed: true, detail: { what } }),
      );
    this.show(what === "reset" ? null : this.scaled(what === "in" ? 0.5 : 2));
  }

  /* Handle a key; returns whether it zooms. */
  key(event) {
    const what = { "+": "in", "=": "in", "-": "out", "−": "out", 0: "reset" }[event.key];
    if (!what || event.ctrlKey || event.metaKey || event.altKey) return false;
    event.preventDefault();
    event.stopPropagation();
    this.press(what);
    return true;
  }

  show(seen) {
    this.seen = seen && this.clamped(seen);
    this.view.draw();
  }

  /* Return the range scaled around the current point when zooming in, or around the middle. */
  scaled(by) {
    const at = this.view.place();
    return (this.seen ?? this.whole).map((range, i) => scaledRange(range, by, by < 1 && at ? at[i] : undefined));
  }

  /* Return the range clamped to the full range and the minimum size; null if it is the full range. */
  clamped(seen) {
    const { whole } = this;
    const least = (i) => (i ? LEAST_Y * (whole[i][1] - whole[i][0]) : LEAST_X);
    const held = seen.map((range, i) => clampedRange(range, whole[i], least(i)));
    return held.every((range, i) => isFullRange(range, whole[i])) ? null : held;
  }

  /* Pan just far enough that a point [x, y] is visible. */
  reveal(place) {
    if (!this.seen || !place) return;
    const moved = this.seen.map((range, i) => pannedRange(range, place[i]));
    if (moved.some(([low], i) => low !== this.seen[i][0])) this.show(moved);
  }

  /* ---- the rectangle; from and to are in pixels of the SVG ---- */

  begin(event) {
    const { view } = this;
    const [x, y] = view.pixel(event);
    const { left, right, top, bottom } = view.plot ?? {};
    view.setCurrent(view.nearest(event));
    this.from = event.button === 0 && x >= left && x <= right && y >= top && y <= bottom ? [x, y] : null;
  }

  draws(event) {
    if (!event.buttons) this.from = null;
    if (!this.from) return false;
    const { svg, plot } = this.view;
    const to = this.view.pixel(event);
    if (!this.box?.isConnected) {
      if (Math.hypot(to[0] - this.from[0], to[1] - this.from[1]) < CLICK) return false;
      svg.setPointerCapture(event.pointerId); // also outside of the chart
      this.view.setCurrent(null);
      this.box = draw(svg, "rect", { class: "chosen" });
    }
    const sides = [
      [plot.left, plot.right],
      [plot.top, plot.bottom],
    ];
    this.chosen = sides.map(([first, last], i) => {
      const ends = [this.from[i], clamp(to[i], first, last)].sort((a, b) => a - b);
      const finger = i === 1 && event.pointerType === "touch"; // vertical touch moves scroll the page
      return finger || ends[1] - ends[0] < SPAN ? [first, last] : ends;
    });
    const [[x, right], [y, bottom]] = this.chosen;
    set(this.box, { x, y, width: right - x, height: bottom - y });
    return true;
  }

  end(done) {
    const drawn = Boolean(this.box);
    const { left, right, top, bottom } = this.view.plot ?? {};
    this.box?.remove();
    this.from = this.box = null;
    if (!done || !drawn) return;
    const [[x0, x1], [y0, y1]] = this.seen ?? this.whole;
    const [[a, b], [up, down]] = this.chosen;
    const x = (at) => x0 + ((at - left) / (right - left)) * (x1 - x0);
    const y = (at) => y0 + ((bottom - at) / (bottom - top)) * (y1 - y0);
    this.show([
      [x(a), x(b)],
      [y(down), y(up)],
    ]);
  }
}
