/* Draws a chart of viz_core/figures/curves.py as an SVG at the width of its column. The pointer reads the nearest
 * point; the arrow keys move between points (up and down: between series). zoom.js adds zooming. */

import { draw, make, typeSize } from "../common/dom.js";
import { _ } from "../common/messages.js";
import { rounded } from "../common/numbers.js";
import { unpack } from "../common/packing.js";
import { ending } from "../common/reports.js";
import { ValuesTable } from "../common/values_table.js";
import { curvesTable } from "./table.js";
import { powersOfTen, ticks } from "./ticks.js";
import { Zoom } from "./zoom.js";

const HEIGHT = 310; // pixels of the chart
const TOP = 10; // pixels above the plot
const RIGHT = 14; // pixels at its right
const MAX_DISTANCE = 60; // maximum distance in pixels from the pointer to the point that it reads
const views = new WeakMap(); // element → View, kept across reruns

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".curves");
  if (!views.has(root)) views.set(root, new View(root));
  const view = views.get(root);
  view.resize.observe(root);
  view.show(data);
  return ending(view, () => view.resize.disconnect());
}

/* ---- small helpers ---- */

function decode(bytes) {
  const [chart, buffer, start] = unpack(bytes);
  let at = start;
  const take = (n) => {
    at += 8 * n;
    return new Float64Array(buffer, at - 8 * n, n);
  };
  for (const s of chart.series) [s.x, s.y] = [take(s.n), take(s.n)];
  return chart;
}

/* The outline of each marker around (0, 0), its radius, and whether it is filled. */
const MARKS = {
  circle: [(r) => `m${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`, 4.5, false],
  square: [(r) => `m${-r} ${-r}h${2 * r}v${2 * r}h${-2 * r}z`, 3.5, false],
  cross: [(r) => `m${-r} ${-r}l${2 * r} ${2 * r}m0 ${-2 * r}l${-2 * r} ${2 * r}`, 3.5, false],
  disc: [(r) => `m${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`, 4, true],
  diamond: [(r) => `m0 ${-r}l${r} ${r}l${-r} ${r}l${-r} ${-r}z`, 5, true],
};

function drawSeries(parent, { mark, colour }, points) {
  if (mark === "line" || mark === "band")
    return draw(parent, "polyline", {
      points: points.map((p) => p.join()).join(" "),
      fill: "none",
      stroke: colour,
      "stroke-width": mark === "band" ? 6 : 2,
      "stroke-linejoin": "round",
    });
  const [outline, radius, filled] = MARKS[mark];
  const shape = outline(radius);
  return draw(parent, "path", {
    d: points.map(([x, y]) => `M${x} ${y}${shape}`).join(""),
    fill: filled ? colour : "none",
    stroke: filled ? "none" : colour,
    "stroke-width": 1.5,
  });
}

/* ---- the chart ---- */

class View {
  constructor(root) {
    Object.assign(this, { root, at: null });
    const part = (name) => root.appendChild(make("div", name));
    this.title = part("title");
    this.svg = draw(root, "svg", { height: HEIGHT, class: "plot", role: "application", tabindex: 0 });
    this.legend = part("legend");
    this.readout = part("readout");
    this.readout.setAttribute("aria-live", "polite");
    this.foot = part("foot");
    this.asTable = new ValuesTable(this.foot, root, () => curvesTable(this));
    this.resize = new ResizeObserver(() => {
      const changed = root.clientWidth !== this.wide || (this.chart?.fill && root.clientHeight !== this.tall);
      if (changed && this.chart) this.draw();
    });
    this.zoom = new Zoom(this);
    this.svg.onpointerleave = () => this.setCurrent(null);
    this.svg.onblur = () => this.setCurrent(null);
    this.svg.onkeydown = (event) => this.zoom.key(event) || this.moveCurrent(event);
  }

  show(bytes) {
    const chart = decode(bytes);
    if (chart.drawn === this.chart?.drawn && this.wide === this.root.clientWidth) return;
    this.chart = chart;
    this.zoom.follow(chart.about, this.fullRange());
    this.title.textContent = chart.title;
    this.root.classList.toggle("fill", chart.fill);
    this.legend.replaceChildren(
      ...chart.series
        .filter((s) => s.n)
        .map((s) => {
          const entry = make("span");
          const key = draw(entry, "svg", { width: 24, height: 14, viewBox: "-12 -7 24 14", "aria-hidden": "true" });
          drawSeries(
            key,
            s,
            s.mark === "line" || s.mark === "band"
              ? [
                  [-12, 0],
                  [12, 0],
                ]
              : [[0, 0]],
          );
          entry.append(s.name);
          return entry;
        }),
    );
    const said = _(
      "{title}: {y} over {x}. Use the arrow keys to read its points, + and − to zoom, and 0 to show everything.",
      { title: chart.title, y: chart.yTitle, x: chart.xTitle },
    );
    this.svg.setAttribute("aria-label", said);
    this.at = null;
    this.draw();
    this.asTable.show(chart.drawn);
    Object.assign(this.root.dataset, {
      title: chart.title,
      drawn: chart.drawn,
      series: JSON.stringify(chart.series.map((s) => [s.name, s.n])),
    });
  }

  /* Return the full range of both axes, [[x, x], [y, y]]; of a logarithmic axis that of the logarithm. */
  fullRange() {
    const { chart } = this;
    const [first, last] = this.xRange();
    const room = 0.02 * (last - first) || 1;
    return [[first - room, last + room], chart.reach.map((y) => (chart.log ? Math.log10(y) : y))];
  }

  xRange() {
    const every =
      this.chart.span ?? this.chart.series.flatMap((s) => (s.n ? [Math.min(...s.x), Math.max(...s.x)] : []));
    return [Math.min(...every), Math.max(...every)];
  }

  draw() {
    const { chart, svg } = this;
    const type = typeSize();
    [this.wide, this.tall] = [this.root.clientWidth, this.root.clientHeight];
    if (!this.wide || (chart.fill && !this.tall)) return; // hidden: drawn when it has a size
    const height = chart.fill
      ? Math.max(
          160,
          this.tall -
            this.title.offsetHeight -
            this.legend.offsetHeight -
            this.readout.offsetHeight -
            this.foot.offsetHeight -
            18,
        )
      : HEIGHT;
    Object.assign(svg.style, { height: `${height}px` });
    svg.setAttribute("width", this.wide);
    svg.replaceChildren();
    const bottom = height - 3 * type - 10;
    const [first, last] = this.xRange();
    const [[start, end], [low, high]] = this.zoom.ends(this.fullRange());
    const zoomed = Boolean(this.zoom.seen);
    const rows = (chart.log ? powersOfTen : ticks)(low, high, (bottom - TOP) / 44);
    const left = 20 + type + 0.59 * type * Math.max(0, ...rows.map(([, label]) => label.length));
    // half of the last label
    const right = this.wide - Math.max(RIGHT, 0.3 * type * Math.round(last).toLocaleString("en").length);
    this.plot = { left, right, top: TOP, bottom };
    this.across = (x) => left + ((x - start) / (end - start)) * (right - left);
    this.up = (y) => bottom - (((chart.log ? Math.log10(y) : y) - low) / (high - low)) * (bottom - TOP);

    // positions, dimensions and distances are whole numbers
    const columns = ticks(Math.max(first, start), Math.min(last, end), (right - left) / 90, 1);
    const lines = rows.map(([y]) => `M${left} ${this.up(chart.log ? 10 ** y : y)}H${right}`);
    draw(svg, "path", {
      class: "grid",
      d: lines.join("") + columns.map(([x]) => `M${this.across(x)} ${TOP}V${bottom}`).join(""),
    });
    for (const [y, label] of rows)
      draw(svg, "text", { x: left - 8, y: this.up(chart.log ? 10 ** y : y) + 5, "text-anchor": "end" }, label);
    for (const [x, label] of columns)
      draw(svg, "text", { x: this.across(x), y: bottom + type + 6, "text-anchor": "middle" }, label);
    const middle = { "text-anchor": "middle", class: "axis" };
    draw(svg, "text", { ...middle, x: (left + right) / 2, y: height - 8 }, chart.xTitle);
    draw(svg, "text", { ...middle, transform: `translate(${type} ${(TOP + bottom) / 2}) rotate(-90)` }, chart.yTitle);

    const body = zoomed ? draw(svg, "g", { "clip-path": "url(#seen)" }) : svg;
    if (zoomed)
      draw(draw(svg, "clipPath", { id: "seen" }), "rect", {
        x: left,
        y: TOP,
        width: right - left,
        height: bottom - TOP,
      });
    const levels = chart.levels.filter(({ y }) => this.isVisible(this.up(y)));
    for (const { y, colour, dotted } of levels)
      draw(svg, "path", {
        d: `M${left} ${this.up(y)}H${right}`,
        stroke: colour,
        "stroke-width": 1.5,
        "stroke-dasharray": dotted ? "2 4" : "none",
      });
    if (chart.here !== null) draw(body, "path", { class: "here", d: `M${this.across(chart.here)} ${TOP}V${bottom}` });
    this.points = chart.series.map((s) => Array.from(s.x, (x, i) => [this.across(x), this.up(s.y[i])]));
    chart.series.forEach((s, i) => {
      if (s.n) drawSeries(body, s, this.points[i]);
    });
    for (const { y, label, end: side, above } of levels)
      draw(
        svg,
        "text",
        {
          class: "halo",
          x: side === "left" ? left + 4 : right - 4,
          y: this.up(y) + (above ? -6 : 17),
          "text-anchor": side === "left" ? "start" : "end",
        },
        label,
      );
    this.ring = draw(svg, "circle", { r: 8, class: "ring", visibility: "hidden" });
    this.root.dataset.seen = zoomed ? JSON.stringify(this.zoom.seen) : "";
    this.setCurrent(this.at);
  }

  /* Whether a y, or a point, is within the zoomed part; always true without a zoom. */
  isVisible(y, x = this.plot.left) {
    const { left, right, top, bottom } = this.plot;
    return !this.zoom.seen || (x > left - 1 && x < right + 1 && y > top - 1 && y < bottom + 1);
  }

  /* ---- reading points; each is [series, index] ---- */

  pixel(event) {
    const box = this.svg.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  nearest(event) {
    const [x, y] = this.pixel(event);
    let found = null;
    let least = MAX_DISTANCE;
    this.points?.forEach((points, i) => {
      if (!this.chart.series[i].said) return;
      points.forEach((p, j) => {
        const far = Math.hypot(p[0] - x, p[1] - y);
        if (far < least && this.isVisible(p[1], p[0])) [found, least] = [[i, j], far];
      });
    });
    return found;
  }

  moveCurrent(event) {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation(); // the page has the same shortcuts
    const { series } = this.chart;
    const read = [...series.keys()].filter((i) => series[i].said && series[i].n);
    if (!read.length) return;
    if (!this.at)
      return this.go(
        read.map((i) => [i, this.points[i].findIndex(([x, y]) => this.isVisible(y, x))]).find(([, j]) => j >= 0) ?? [
          read[0],
          0,
        ],
      );
    const [i, j] = this.at;
    const to = read[read.indexOf(i) + step[0]] ?? i;
    if (to === i) return this.go([i, Math.max(0, Math.min(series[i].n - 1, j + step[1]))]);
    const far = Array.from(series[to].x, (x) => Math.abs(x - series[i].x[j])); // the nearest point of the other series
    this.go([to, far.indexOf(Math.min(...far))]);
  }

  go(at) {
    this.at = at;
    this.zoom.reveal(this.place());
    this.setCurrent(at);
  }

  /* Return the axis coordinates of the current point; null if there is none. */
  place() {
    const { chart, at } = this;
    const y = at && chart.series[at[0]].y[at[1]];
    return at && [chart.series[at[0]].x[at[1]], chart.log ? Math.log10(y) : y];
  }

  setCurrent(at) {
    this.at = at;
    const series = at && this.chart.series[at[0]];
    this.ring?.setAttribute("visibility", at ? "visible" : "hidden");
    if (!at)
      return this.readout.replaceChildren(
        make(
          "span",
          "hint",
          this.zoom.seen
            ? _("A part is shown; a double click or the key 0 shows everything.")
            : _("Point at a mark to read its values."),
        ),
      );
    const [x, y] = this.points[at[0]][at[1]];
    this.ring.setAttribute("cx", x);
    this.ring.setAttribute("cy", y);
    const fields = { x: rounded(series.x[at[1]], 7), y: rounded(series.y[at[1]], 7) };
    this.readout.textContent = series.said.replace(/\{(x|y)\}/g, (_field, name) => fields[name]);
  }
}
