/* Draws the clocks of viz_core/figures/clock.py: a slider, and a circle for each plane whose hands follow the slider.
 * Python receives only the position at which the slider stops. */

import { draw, make, set } from "../common/dom.js";
import { _ } from "../common/messages.js";
import { clamp, withDecimals } from "../common/numbers.js";
import { ending, later } from "../common/reports.js";

const REPORT_DELAY = 400; // ms without a move before the position is sent
const SPEED = 3; // positions per second while playing
const LONGEST = 40; // maximum seconds for all positions
const HANDS = [THEME.heads[0], THEME.heads[4]]; // the colours of the first hand and of the second
const views = new WeakMap(); // element → View, kept across reruns

export default function ({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".clocks");
  if (!views.has(root)) views.set(root, new View(root));
  const view = views.get(root);
  view.resize.observe(root);
  view.report = (rest) => setStateValue("rest", rest);
  view.show(data);
  return ending(view, () => view.stop()); // a rerun may stop and start the same elements
}

/* ---- the whole component ---- */

class View {
  constructor(root) {
    // time: the position, an integer at rest
    Object.assign(this, { root, faces: [], number: 0, playing: false, time: 0 });
    const bar = root.appendChild(make("div", "bar"));
    this.play = bar.appendChild(make("button", "play", _("Play")));
    this.label = bar.appendChild(make("label"));
    this.slider = bar.appendChild(make("input"));
    Object.assign(this.play, { type: "button" });
    Object.assign(this.slider, { type: "range", step: 1, id: "position" });
    this.label.htmlFor = "position";
    this.legend = root.appendChild(make("div", "legend"));
    this.grid = root.appendChild(make("div", "faces"));
    this.foot = root.appendChild(make("div", "foot"));
    this.play.onclick = () => (this.playing ? this.pause() : this.begin());
    this.slider.oninput = () => {
      // during a drag and at each arrow key
      this.running(false);
      this.time = Number(this.slider.value);
      this.rest(REPORT_DELAY);
      this.wake();
    };
    // The page handles these keys, too.
    this.slider.onkeydown = (event) => {
      // no return value: false would disable all other keys
      if (/^(Arrow|Page|Home|End)/.test(event.key)) event.stopPropagation();
    };
    this.frame = (now) => this.step(now);
    this.resize = new ResizeObserver(() => this.fit());
  }

  show(data) {
    const same = JSON.stringify([data.kind, data.faces, data.names, data.first, data.last, data.leftOut]);
    this.data = data;
    this.root.classList.toggle("fill", data.fill);
    Object.assign(this.slider, { min: data.first, max: data.last });
    this.play.disabled = data.last <= data.first;
    if (same !== this.drawn) {
      this.drawn = same;
      this.build();
    }
    if (data.echo >= this.number && !this.timer && !this.playing) {
      // else the user has moved the slider since
      this.number = data.echo;
      this.time = data.position;
    }
    this.time = clamp(this.time, data.first, data.last);
    this.wake();
  }

  stop() {
    this.resize.disconnect();
    cancelAnimationFrame(this.request);
    this.request = null;
  }

  /* Choose the number of columns that gives the largest clocks. */
  fit() {
    const { grid, faces, root } = this;
    const n = faces.length;
    if (!this.data?.fill || !n || !grid.clientHeight) return;
    const texts = Math.max(...faces.map(({ node }) => node.offsetHeight - node.querySelector("svg").clientHeight));
    const size = (columns) =>
      Math.min(grid.clientWidth / columns - 10, grid.clientHeight / Math.ceil(n / columns) - texts - 8);
    const columns = faces.map((_, i) => i + 1).reduce((best, c) => (size(c) > size(best) ? c : best), 1);
    root.style.setProperty("--columns", columns);
    root.style.setProperty("--face", `${Math.max(64, Math.floor(size(columns)))}px`);
  }

  /* Create circles, legend and hands; `paint` turns the hands. */
  build() {
    const { faces, kind, names, leftOut } = this.data;
    this.faces = faces.map((face) => new Face(face, kind));
    this.grid.replaceChildren(...this.faces.map((face) => face.node));
    this.names = names.map((_name, i) => {
      const entry = make("span");
      const mark = make("span", i ? "mark dashed" : "mark");
      mark.style.borderColor = HANDS[i];
      entry.append(mark, make("span"));
      return entry;
    });
    this.legend.replaceChildren(...this.names);
    if (kind === "wave")
      this.legend.append(make("span", "", _("height of the tip: sin")), make("span", "", _("horizontal: cos")));
    this.legend.append(make("span", "", _("λ: positions per turn")));
    this.total = make("b");
    this.foot.replaceChildren(kind === "plane" && !leftOut ? this.total : "", leftOut);
    this.shown = null;
    this.fit();
  }

  /* ---- moving ---- */

  begin() {
    if (this.time >= this.data.last) this.time = this.data.first;
    this.running(true);
    this.last = null;
    this.wake();
  }

  running(playing) {
    this.playing = playing;
    this.play.textContent = playing ? _("Pause") : _("Play");
  }

  pause() {
    this.running(false);
    this.time = Math.round(this.time);
    this.rest(0);
    this.wake();
  }

  wake() {
    this.request ??= requestAnimationFrame(this.frame);
  }

  /* Draw one frame. While playing, the hands move continuously, with reduced motion in steps. */
  step(now) {
    this.request = null;
    if (this.playing) {
      const { first, last } = this.data;
      const speed = Math.max(SPEED, (last - first) / LONGEST);
      this.last ??= now;
      const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)").matches;
      const wait = reducedMotion ? 1000 : 0;
      const passed = now - this.last;
      if (passed >= wait) {
        this.time = Math.min(
          last,
          reducedMotion ? Math.round(this.time) + Math.ceil(speed / SPEED) : this.time + (speed * passed) / 1000,
        );
        this.last = now;
      }
      if (this.time >= last) this.pause();
      else this.wake();
    }
    this.paint();
  }

  /* Report the position after a pause. */
  rest(wait) {
    later(this, wait, () => {
      this.number += 1;
      this.report({ number: this.number, position: Math.round(this.time) });
    });
  }

  paint() {
    const at = Math.round(this.time);
    for (const face of this.faces) face.turn(this.time);
    if (at === this.shown) return;
    this.shown = at; // numbers are shown for integer positions
    this.slider.value = at;
    this.label.textContent = _("position {at}", { at });
    this.slider.setAttribute("aria-valuetext", this.label.textContent);
    const shift = this.data.faces[0]?.hands[1]?.[2] ?? 0;
    this.names.forEach((entry, i) => {
      entry.lastChild.textContent = this.data.names[i].replace("{p}", at).replace("{s}", at + shift);
    });
    const sum = this.faces.reduce((total, face) => total + face.write(at), 0);
    this.total.textContent = _("Sum over the planes: {sum}", { sum: withDecimals(sum, 4) });
    this.root.dataset.position = at;
  }
}

/* ---- one circle ---- */

class Face {
  constructor(face, kind) {
    Object.assign(this, { face, kind, node: make("figure"), value: make("div", "value") });
    this.node.append(make("figcaption", "", _("dims {dimensions}", { dimensions: face.title })));
    const svg = draw(this.node, "svg", { viewBox: "-1.12 -1.12 2.24 2.24", "aria-hidden": "true" });
    this.node.append(this.value, make("div", "note", face.note));
    draw(svg, "circle", { r: 1, class: "rim" });
    draw(svg, "path", { d: "M-1 0H1M0 -1V1", class: "cross" });
    if (kind === "wave") this.drop = draw(svg, "path", { class: "drop" });
    this.hands = face.hands.map(() => null);
    for (
      let i = this.hands.length - 1;
      i >= 0;
      i-- // the first hand is on top
    )
      this.hands[i] = {
        hand: draw(svg, "line", { class: i ? "hand dashed" : "hand", stroke: HANDS[i] }),
        tip: draw(svg, "circle", { r: 0.075, fill: HANDS[i] }),
      };
  }

  angle(i, time) {
    const [phase, , shift] = this.face.hands[i];
    return phase + this.face.speed * (time + shift);
  }

  turn(time) {
    this.hands.forEach(({ hand, tip }, i) => {
      const angle = this.angle(i, time);
      const length = this.face.hands[i][1];
      const x = length * Math.cos(angle);
      const y = -length * Math.sin(angle); // y grows downwards
      set(hand, { x2: x, y2: y });
      set(tip, { cx: x, cy: y });
      if (i === 0 && this.drop) this.drop.setAttribute("d", `M${x} ${y}V0M${x} ${y}H0`);
    });
  }

  /* Write the numbers of an integer position; returns the contribution of the plane to the score. */
  write(at) {
    const first = this.angle(0, at);
    if (this.kind === "wave") {
      const [sin, cos] = [Math.sin(first), Math.cos(first)];
      Object.assign(this.node.dataset, { sin, cos });
      this.value.textContent = `sin ${withDecimals(sin, 4)}\ncos ${withDecimals(cos, 4)}`;
      return 0;
    }
    const [[, a], [, b]] = this.face.hands;
    const product = this.face.scale * a * b * Math.cos(first - this.angle(1, at));
    this.node.dataset.product = product;
    this.value.textContent = `q · k ${withDecimals(product, 4)}`;
    return product;
  }
}
