/* Zooming into the Curves: a rectangle that the pointer draws, a toolbar, and the keys + − 0. A wheel scrolls the page. */

const CLICK = 6, SPAN = 14; // pixels that a pointer moves in a click; a lower or narrower rectangle is a span of one axis alone
const LEAST_X = 2, LEAST_Y = 1e-4; // what is shown at least: whole numbers along x, and a part of the whole along y
const TOOLS = [
  ["png", _("Download as PNG"), "M2 5h3l1-2h4l1 2h3v8H2zM8 7a2 2 0 1 0 0 4a2 2 0 1 0 0-4"],
  ["in", _("Zoom in"), "M2 2h12v12H2zM8 5v6M5 8h6"], ["out", _("Zoom out"), "M2 2h12v12H2zM5 8h6"],
  ["reset", _("Show everything"), "M2 8l6-5 6 5M4 7v6h8V7"],
];

class Zoom {
  /* view: has its `root`, its `svg`, where it last drew its `plot` { left, right, top, bottom }, and the point `at` that is read. */
  constructor(view) {
    Object.assign(this, { view, seen: null, whole: null, from: null, box: null });
    const tools = make("div", "tools no-save"); // it is no part of a saved picture
    tools.setAttribute("role", "toolbar");
    for (const [what, said, path] of TOOLS) {
      if (what === "png" && !(view.root.getRootNode() instanceof ShadowRoot)) continue; // a file has no Save menu that makes it
      const button = tools.appendChild(Object.assign(make("button"), { type: "button", name: what, title: said }));
      button.setAttribute("aria-label", said);
      draw(draw(button, "svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }), "path", { d: path });
      button.onclick = () => this.press(what);
    }
    view.root.prepend(tools);
    view.svg.onpointerdown = (event) => this.begin(event);
    view.svg.onpointermove = (event) => { if (!this.draws(event)) view.point(view.nearest(event)); };
    view.svg.onpointerup = () => this.end(true);
    view.svg.onpointercancel = () => this.end(false);
    view.svg.ondblclick = () => this.press("reset");
  }

  /* The ends of both axes, [[x, x], [y, y]], as they are shown; whole: those that show everything. */
  ends(whole) {
    this.whole = whole;
    return (this.seen &&= this.within(this.seen)) ?? whole;
  }

  /* Another chart: its zoom stays where it is about the same thing, and shows about as much. */
  follow(about, whole) {
    if (about !== this.about || !this.whole?.every((ends, i) => sameReach(ends, whole[i]))) this.seen = null;
    this.about = about;
  }

  press(what) {
    if (what === "png")
      return void this.view.root.dispatchEvent(new CustomEvent("lab-save", { bubbles: true, composed: true, detail: { what } }));
    this.show(what === "reset" ? null : this.scaled(what === "in" ? 0.5 : 2));
  }

  /* Whether a key zooms; it then does. */
  key(event) {
    const what = { "+": "in", "=": "in", "-": "out", "−": "out", 0: "reset" }[event.key];
    if (!what || event.ctrlKey || event.metaKey || event.altKey) return false;
    event.preventDefault();
    event.stopPropagation();
    this.press(what);
    return true;
  }

  show(seen) {
    this.seen = seen && this.within(seen);
    this.view.draw();
  }

  /* Nearer to the middle, or to the point that is being read, or farther away. */
  scaled(by) {
    const at = this.view.place();
    return (this.seen ?? this.whole).map(([low, high], i) => {
      const middle = by < 1 && at ? at[i] : (low + high) / 2, half = ((high - low) / 2) * by;
      return [middle - half, middle + half];
    });
  }

  /* The same inside the whole, and not too small; null where that is everything. */
  within(seen) {
    const held = seen.map(([low, high], i) => {
      const [first, last] = this.whole[i], most = last - first;
      const wide = clamp(high - low, Math.min(most, i ? LEAST_Y * most : LEAST_X), most);
      const start = clamp((low + high - wide) / 2, first, last - wide);
      return [start, start + wide];
    });
    return held.every(([low, high], i) => high - low > 0.999 * (this.whole[i][1] - this.whole[i][0])) ? null : held;
  }

  /* Move just far enough that a place [x, y] is seen, as one does who walks to it with the arrow keys. */
  reveal(place) {
    if (!this.seen || !place) return;
    const moved = this.seen.map(([low, high], i) => {
      const room = 0.05 * (high - low), by = Math.min(0, place[i] - room - low) || Math.max(0, place[i] + room - high);
      return [low + by, high + by];
    });
    if (moved.some(([low], i) => low !== this.seen[i][0])) this.show(moved);
  }

  /* ---- the rectangle; from and to: pixels in the drawing ---- */

  begin(event) {
    const { view } = this, [x, y] = view.pixel(event), { left, right, top, bottom } = view.plot ?? {};
    view.point(view.nearest(event));
    this.from = event.button === 0 && x >= left && x <= right && y >= top && y <= bottom ? [x, y] : null;
  }

  draws(event) {
    if (!this.from || !event.buttons) return Boolean((this.from = null));
    const { svg, plot } = this.view, to = this.view.pixel(event);
    if (!this.box?.isConnected) {
      if (Math.hypot(to[0] - this.from[0], to[1] - this.from[1]) < CLICK) return false;
      svg.setPointerCapture(event.pointerId); // the rectangle may be drawn beyond the chart
      this.view.point(null);
      this.box = draw(svg, "rect", { class: "chosen" });
    }
    const sides = [[plot.left, plot.right], [plot.top, plot.bottom]];
    this.chosen = sides.map(([first, last], i) => {
      const ends = [this.from[i], clamp(to[i], first, last)].sort((a, b) => a - b);
      const finger = i === 1 && event.pointerType === "touch"; // one that moves up or down scrolls the page
      return finger || ends[1] - ends[0] < SPAN ? [first, last] : ends;
    });
    const [[x, right], [y, bottom]] = this.chosen;
    set(this.box, { x, y, width: right - x, height: bottom - y });
    return true;
  }

  end(done) {
    const drawn = Boolean(this.box), { left, right, top, bottom } = this.view.plot ?? {};
    this.box?.remove();
    this.from = this.box = null;
    if (!done || !drawn) return;
    const [[x0, x1], [y0, y1]] = this.seen ?? this.whole, [[a, b], [up, down]] = this.chosen;
    const x = (at) => x0 + ((at - left) / (right - left)) * (x1 - x0), y = (at) => y0 + ((bottom - at) / (bottom - top)) * (y1 - y0);
    this.show([[x(a), x(b)], [y(down), y(up)]]);
  }
}
