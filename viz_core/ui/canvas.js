/* Draws the panels that `pack` in viz_core/figures/panels.py wrote. Each panel is one <figure> with one <canvas>.
 * What people typed reaches the page by textContent and fillText only. THEME is put in front by canvas.py. */

const MIN_CELL = 2, MAX_CELL = 34, WRITTEN = 48, MAX_HEIGHT = 480; // pixels of the page
const LABEL_FONT = 14, LABEL_STEP = 17, GAP = 24, ARROW = 72, MIN_FIGURE = 190, SHADES = 511;
const KEYS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const views = new WeakMap(); // the View that lives in an element, kept across reruns

export default function ({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".lab");
  if (!views.has(root)) views.set(root, new View(root));
  const view = views.get(root);
  view.report = (pick) => setStateValue("pick", pick);
  view.start();
  view.show(data);
  return () => view.stop(); // a rerun may stop and start the same elements
}

/* ---- small helpers ---- */

const make = (tag, className = "", text = "") =>
  Object.assign(document.createElement(tag), { className, textContent: text });
const clamp = (x, low, high) => Math.max(low, Math.min(high, x));
const channels = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
const brightness = ([r, g, b]) => (0.299 * r + 0.587 * g + 0.114 * b) / 255;
const graphemes = (text) => [...new Intl.Segmenter().segment(text)].map((part) => part.segment);

function special(x) {
  return Number.isNaN(x) ? "NaN" : x === Infinity ? "+∞" : x === -Infinity ? "−∞" : "";
}

function precise(x, digits = 6) {
  return special(x) || String(Number(x.toPrecision(digits)));
}

/* At most four digits, for a cell: "0", "0.125", "12.5", "1235", "4e-4". */
function brief(x) {
  const size = Math.abs(x);
  if (size !== 0 && (size < 1e-3 || size >= 1e4)) return x.toExponential(0);
  return Number.isInteger(x) ? String(x) : x.toFixed(clamp(2 - Math.floor(Math.log10(size)), 0, 3));
}

const typeset = (number) => number.replaceAll("-", "−");

function chip(letter) {
  const mark = make("span", "letter", letter);
  mark.style.background = THEME.axis[letter] ?? THEME.axis["1"];
  return mark;
}

function decode(bytes) {
  const buffer = bytes.slice().buffer; // a copy of its own begins at a multiple of 4
  const start = 4 + new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, start - 4)));
  for (const panel of header.panels) {
    const count = panel.shape[0] * panel.shape[1];
    const part = (Type, offset, n) => (offset === null ? null : new Type(buffer, start + offset, n));
    panel.masked = part(Uint8Array, panel.masked, count);
    panel.kept = part(Uint16Array, panel.kept, count);
    panel.values = part(Float32Array, panel.values, count);
  }
  return header;
}

/* ---- the whole component ---- */

class View {
  constructor(root) {
    this.root = root;
    this.figures = [];
    this.number = 0; // counts the reader's picks, so that an answer to an older one is not mistaken for news
    this.inputs = root.appendChild(make("div", "side"));
    this.arrow = root.appendChild(make("div", "arrow"));
    this.outputs = root.appendChild(make("div", "side"));
    this.arrow.setAttribute("aria-hidden", "true");
    this.ruler = make("canvas").getContext("2d");
    this.widths = new Map(); // a label, bold or not → its width
    this.redraw = () => { this.drawn = ""; this.widths.clear(); this.layout(); };
    this.resize = new ResizeObserver(() => { // here the width is known; to ask for it while a page is built costs a layout
      if (root.clientWidth === this.width) return;
      this.width = root.clientWidth;
      this.layout();
    });
  }

  start() {
    this.resize.observe(this.root);
    document.fonts.addEventListener("loadingdone", this.redraw); // labels are measured in the page's font
  }

  stop() {
    this.resize.disconnect();
    document.fonts.removeEventListener("loadingdone", this.redraw);
  }

  show(data) {
    const { panels, pick, echo } = decode(data);
    this.panels = panels;
    while (this.figures.length > panels.length) this.figures.pop().node.remove();
    while (this.figures.length < panels.length) this.figures.push(new Figure(this, this.figures.length));
    panels.forEach((panel, i) => {
      const side = panel.role === "input" ? this.inputs : this.outputs;
      if (this.figures[i].node.parentNode !== side) side.append(this.figures[i].node);
      this.figures[i].take(panel);
    });
    for (const side of [this.inputs, this.outputs]) // the order of the panels, whatever moved between the sides
      this.figures.filter((f) => f.node.parentNode === side).forEach((f, i) =>
        side.children[i] !== f.node && side.insertBefore(f.node, side.children[i]));
    if (echo >= this.number) [this.number, this.pick] = [echo, pick];
    this.layout();
  }

  /* Side by side where every panel keeps legible cells, otherwise inputs above outputs. */
  layout() {
    this.width ||= this.root.clientWidth;
    if (!this.width || !this.panels) return void (this.drawn = ""); // in a closed tab: drawn when it opens
    this.readTheme();
    const picture = [this.width, devicePixelRatio, this.theme, ...this.panels.map((panel) => panel.digest)].join();
    if (picture === this.drawn) return this.figures.forEach((f) => f.paint());
    this.drawn = picture;
    const inputs = this.figures.filter((f) => f.panel.role === "input");
    const outputs = this.figures.filter((f) => f.panel.role !== "input");
    const split = inputs.length > 0 && outputs.length > 0;
    const together = this.fit(this.figures, this.width - (split ? ARROW - GAP : 0));
    this.root.classList.toggle("stacked", !together);
    this.arrow.hidden = !split;
    this.arrow.textContent = together ? "→" : "↓";
    for (const side of together ? [] : [inputs, outputs])
      if (!this.fit(side, this.width)) side.forEach((f) => f.arrange(this.width, MAX_CELL));
    this.figures.forEach((f) => f.draw());
  }

  /* Arrange figures in one row with the largest common cell; false where cells would get too small. */
  fit(figures, width) {
    const room = width - GAP * (figures.length - 1);
    for (let cell = MAX_CELL; cell >= 4; cell--) {
      figures.forEach((f) => f.arrange(width, Math.max(cell, f.panel.cols ? LABEL_STEP : 4)));
      const used = figures.reduce((sum, f) => sum + f.width, 0);
      if (used <= room && figures.every((f) => f.group === 1)) return true;
    }
    return figures.length === 0;
  }

  /* Streamlit writes its theme into classes around the component: while they stay, the style need not be asked for, which
   * would cost the whole page's style once more while it is being built. */
  readTheme() {
    const { host } = this.root.getRootNode(), classes = `${host?.className} ${host?.parentNode?.className}`;
    if (classes === this.classes) return;
    this.classes = classes;
    const style = getComputedStyle(this.root);
    const read = (name) => style.getPropertyValue(`--st-${name}`).trim();
    const ink = style.color.match(/[\d.]+/g).map(Number);
    this.dark = brightness(ink) > 0.5; // light text means a dark page
    this.ink = style.color;
    this.paper = read("background-color");
    this.accent = read("primary-color");
    this.border = read("border-color");
    this.theme = [this.ink, this.paper, this.accent, this.border, style.fontFamily].join();
    this.font = `${LABEL_FONT}px ${style.fontFamily}`;
    this.widths.clear();
    this.colours = this.dark ? THEME.dark : THEME.light;
  }

  /* The width of a label in pixels; walking from stage to stage the same ones come again and again. */
  widthOf(text, bold) {
    const key = `${bold} ${text}`;
    let wide = this.widths.get(key);
    if (wide === undefined) {
      this.ruler.font = bold ? `bold ${this.font}` : this.font;
      wide = this.ruler.measureText(text).width;
      if (this.widths.size > 5000) this.widths.clear();
      this.widths.set(key, wide);
    }
    return wide;
  }

  /* Draw a pick at once and tell Python: while a key is held down, only once it pauses. */
  choose(pick, wait) {
    this.pick = pick;
    this.number += 1;
    this.figures.forEach((f) => f.paint());
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.report({ number: this.number, cell: pick }), wait ? 120 : 0);
  }
}

/* ---- one panel ----
 * Three kinds of index: a cell of the panel's own values (`full`, what Python calls a pick); a sent cell (`shape`),
 * which is a block of those where Python pooled; a drawn cell, which is `group` sent columns where the page is
 * too narrow to give each two pixels. A block shows its value of largest size, and says where that came from. */

class Figure {
  constructor(view, index) {
    Object.assign(this, { view, index, hover: null }); // hover: the flat index of a sent cell
    this.node = make("figure");
    [this.title, this.axes, this.canvas, this.legend, this.readout] = [
      make("figcaption"), make("div", "axes"), make("canvas"), make("div", "legend"), make("div", "readout")];
    this.foot = make("div", "foot");
    this.foot.append(this.legend, this.readout);
    this.node.append(this.title, this.axes, this.canvas, this.foot);
    this.readout.setAttribute("aria-live", "polite");
    this.canvas.setAttribute("role", "img");
    this.canvas.tabIndex = 0;
    this.front = this.canvas.getContext("2d");
    this.base = make("canvas"); // the cells alone, so that moving the pointer costs little
    this.sheet = make("canvas"); // all of it: text on a canvas of the page would cost the page's layout while it is built
    this.pen = this.sheet.getContext("2d");
    this.canvas.onpointermove = (event) => this.point(this.cellAt(event));
    this.canvas.onpointerleave = () => this.point(null);
    this.canvas.onclick = (event) => {
      const cell = this.cellAt(event);
      if (cell !== null) view.choose([index, ...this.origin(cell)], false);
    };
    this.canvas.onkeydown = (event) => this.press(event);
  }

  take(panel) {
    if (this.panel?.digest !== panel.digest) this.hover = null;
    this.panel = panel;
    this.title.textContent = panel.title;
    this.canvas.dataset.title = panel.title;
    [this.canvas.dataset.rows, this.canvas.dataset.cols] = panel.full;
  }

  rowName(row) { return this.panel.rows?.[row] ?? String(row); }
  colName(col) { return this.panel.cols?.[col] ?? String(col); }
  masked(cell) { return Boolean(this.panel.masked?.[cell]); }

  /* A sent cell → the row and column of its value in the panel's own values. */
  origin(cell) {
    const { kept, shape, block: [high, wide] } = this.panel, row = Math.floor(cell / shape[1]), col = cell % shape[1];
    return kept ? [row * high + Math.floor(kept[cell] / wide), col * wide + (kept[cell] % wide)] : [row, col];
  }

  /* The sent cell that holds a row and column of the panel's own values. */
  sent(row, col) {
    const { block, shape } = this.panel;
    return Math.floor(row / block[0]) * shape[1] + Math.floor(col / block[1]);
  }

  /* The sent cell of the view's pick, or null where it lies in another panel. */
  picked() {
    const [panel, row, col] = this.view.pick ?? [];
    return panel === this.index ? this.sent(row, col) : null;
  }

  /* Choose room for labels and the cell size, in a figure of at most `width` pixels and cells of at most `cap`. */
  arrange(width, cap) {
    const { panel, view } = this, [rows, cols] = panel.shape, key = view.drawn + width;
    if (this.measured !== key) { // once, not for every cell size that is tried
      this.measured = key;
      const widest = (names, room) => { // no name gets more room than that, so the rest need not be measured
        let most = 0;
        for (const name of names) if ((most = Math.max(most, view.widthOf(name, true))) >= room) return room;
        return Math.ceil(most);
      };
      const named = (names, n) => names ?? [String(panel.full[n] - 1)];
      this.rowText = Math.ceil(widest(named(panel.rows, 0), clamp(width * 0.22, 56, 110)));
      this.colText = widest(named(panel.cols, 1), 84);
      this.valueText = panel.kind === "ids" ? widest([String(panel.high)], Infinity) + 12 : WRITTEN;
    }
    const spill = panel.cols ? 1 : Math.ceil(this.colText / 2); // half of the last number
    this.left = this.rowText + 8;
    const room = width - this.left - spill - 1;
    const most = cap >= MAX_CELL && cols * this.valueText <= room ? this.valueText : Math.min(cap, MAX_CELL);
    this.group = Math.max(1, Math.ceil((cols * MIN_CELL) / room));
    this.cols = Math.ceil(cols / this.group);
    this.w = clamp(Math.floor(room / this.cols), MIN_CELL, most);
    const upright = panel.kind === "ids" && this.w < this.valueText && this.w >= LABEL_FONT; // ids turned to fit
    const tall = upright ? this.valueText : clamp(this.w, LABEL_STEP, MAX_CELL);
    this.upright = upright;
    this.h = clamp(Math.floor(MAX_HEIGHT / rows), MIN_CELL, tall);
    this.turned = panel.cols !== null && this.colText + 8 > this.w;
    this.top = (this.turned ? this.colText : LABEL_FONT) + 8;
    this.wide = this.left + this.cols * this.w + spill + 1;
    this.high = this.top + rows * this.h + 2;
    this.width = Math.min(width, Math.max(this.wide, MIN_FIGURE));
  }

  /* Draw the cells into `base`, then show them. */
  draw() {
    const { canvas, base, sheet, view } = this;
    this.scale = window.devicePixelRatio || 1;
    for (const each of [canvas, base, sheet])
      Object.assign(each, { width: Math.round(this.wide * this.scale), height: Math.round(this.high * this.scale) });
    Object.assign(canvas.style, { width: `${this.wide}px`, height: `${this.high}px` });
    this.node.style.width = `${this.width}px`;
    const pen = base.getContext("2d");
    pen.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    this.drawCells(pen);
    this.writeValues(pen);
    this.describe();
    this.paint();
    canvas.dataset.theme = view.dark ? "dark" : "light";
    canvas.dataset.grid = [this.left, this.top, this.w, this.h]; // where the cells lie, in pixels of the page
    canvas.dataset.drawn = this.panel.digest;
  }

  /* One pixel a cell, scaled up without smoothing. Masked cells stay transparent, over a hatched ground. */
  drawCells(pen) {
    const { panel, view, group, cols, w, h, left, top } = this, [rows, sent] = panel.shape;
    const table = this.table(), scale = (SHADES - 1) / (panel.high - panel.low);
    this.shown = new Int32Array(rows * cols); // drawn cell → the sent cell whose value it shows
    this.found = new Set(); // the looks that the legend has to explain
    if (!this.shown.length) return;
    const pixels = (this.pixels = new ImageData(cols, rows)), words = new Uint32Array(pixels.data.buffer);
    for (let i = 0; i < words.length; i++) {
      const row = Math.floor(i / cols), end = (row + 1) * sent;
      let cell = row * sent + (i % cols) * group;
      for (let other = cell + 1, stop = Math.min(cell + group, end); other < stop; other++)
        if (this.rank(other) > this.rank(cell)) cell = other;
      this.shown[i] = cell;
      const x = panel.values[cell], look = panel.masked?.[cell] ? "masked" : special(x);
      if (look) this.found.add(look);
      else if (panel.kind === "classes") this.found.add(panel.names[x]);
      words[i] = look ? table[look] : table[clamp(Math.round((x - panel.low) * scale), 0, SHADES - 1)];
    }
    const picture = new OffscreenCanvas(cols, rows);
    picture.getContext("2d").putImageData(pixels, 0, 0);
    if (this.found.has("masked")) {
      pen.fillStyle = this.pattern(pen, { ...view.colours.masked, mark: "lines" });
      pen.fillRect(left, top, cols * w, rows * h);
    }
    pen.imageSmoothingEnabled = false;
    pen.drawImage(picture, left, top, cols * w, rows * h);
    if (panel.kind === "classes") this.drawMarks(pen);
    if (w >= 8 && h >= 8) { // thin lines of the page's colour keep cells apart
      pen.fillStyle = view.paper;
      for (let c = 1; c < cols; c++) pen.fillRect(left + c * w - 0.5, top, 1, rows * h);
      for (let r = 1; r < rows; r++) pen.fillRect(left, top + r * h - 0.5, cols * w, 1);
    }
    Object.assign(pen, { strokeStyle: view.border, lineWidth: 1 });
    pen.strokeRect(left - 0.5, top - 0.5, cols * w + 1, rows * h + 1);
  }

  /* The colour of each shade from low to high, and of each special look, as a pixel's 32-bit word. */
  table() {
    const { sequential, diverging, mask, ground, classes } = this.view.colours, fills = classes.map((look) => look.fill);
    const palette = { probability: sequential, signed: diverging, mask, ids: [ground, ground], classes: fills }[this.panel.kind];
    const stops = palette.map(channels), word = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
    const table = Array.from({ length: SHADES }, (_, shade) => {
      const place = (shade / (SHADES - 1)) * (stops.length - 1), below = Math.min(Math.floor(place), stops.length - 2);
      return word(stops[below].map((from, c) => Math.round(from + (place - below) * (stops[below + 1][c] - from))));
    });
    for (const look in THEME.special) table[look] = word(channels(THEME.special[look]));
    return Object.assign(table, { masked: 0 }); // transparent
  }

  /* As `pool` in panels.py: NaN, then infinities, then numbers by size, then masked cells. */
  rank(cell) {
    const x = this.panel.values[cell];
    return this.masked(cell) ? -1 : Number.isNaN(x) ? Infinity : Math.min(Math.abs(x), Number.MAX_VALUE);
  }

  /* What tells classes apart without their colours. */
  drawMarks(pen) {
    const { panel, view, cols, w, h, left, top } = this;
    const marks = view.colours.classes.map((look) => look.mark && this.pattern(pen, look));
    this.shown.forEach((cell, i) => {
      if (!marks[panel.values[cell]] || this.masked(cell)) return;
      pen.fillStyle = marks[panel.values[cell]];
      pen.fillRect(left + (i % cols) * w, top + Math.floor(i / cols) * h, w, h);
    });
  }

  /* Six pixels of a pattern: lines at 45 degrees, crossed lines, or dots. */
  tile({ fill, line, mark }) {
    const tile = make("canvas"), size = Math.round(6 * this.scale);
    Object.assign(tile, { width: size, height: size });
    const ink = tile.getContext("2d");
    ink.fillStyle = fill;
    ink.fillRect(0, 0, size, size);
    Object.assign(ink, { strokeStyle: line, fillStyle: line, lineWidth: this.scale });
    for (const shift of mark === "dots" ? [] : [-size, 0, size]) {
      ink.moveTo(shift - 2, size + 2); ink.lineTo(shift + size + 2, -2);
      if (mark === "cross") { ink.moveTo(shift - 2, -2); ink.lineTo(shift + size + 2, size + 2); }
    }
    ink.stroke();
    if (mark === "dots") { ink.arc(size / 2, size / 2, 1.2 * this.scale, 0, 7); ink.fill(); }
    return tile;
  }

  pattern(pen, look) {
    const pattern = pen.createPattern(this.tile(look), "repeat");
    pattern.setTransform(new DOMMatrix().scale(1 / this.scale));
    return pattern;
  }

  writeValues(pen) {
    const { panel, cols, w, h, left, top, upright } = this;
    const all = panel.kind === "ids" || (w >= 40 && panel.kind !== "classes"); // a class has its look and its name
    if (h < LABEL_FONT || w < LABEL_FONT || !(all || this.found.size)) return;
    Object.assign(pen, { font: this.view.font.replace(/^\d+/, 13), textAlign: "center", textBaseline: "middle" });
    this.shown.forEach((cell, i) => {
      const x = panel.values[cell], look = special(x);
      if (this.masked(cell) || !(all || look)) return;
      const text = look || (panel.kind === "ids" ? String(x) : brief(x));
      pen.fillStyle = brightness(this.pixels.data.slice(4 * i, 4 * i + 3)) > 0.55 ? "#10131a" : "#ffffff";
      pen.save();
      pen.translate(left + ((i % cols) + 0.5) * w, top + (Math.floor(i / cols) + 0.5) * h + 1);
      if (upright) pen.rotate(-Math.PI / 2);
      pen.fillText(typeset(text), 0, 0, (upright ? h : w) - 4);
      pen.restore();
    });
  }

  /* Labels that do not fit beside each other are left out at even steps; a pick's own push others aside. */
  drawLabels(pen, pickedRow, pickedCol) {
    const { panel, cols, w, h, group } = this, { block, shape } = panel;
    const step = (space, size) =>
      [1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100, 128, 200].find((n) => n * size >= space) ?? Math.ceil(space / size);
    const tall = LABEL_STEP - 1, wide = this.turned ? tall : this.colText + (panel.cols ? 0 : 10);
    const free = (at, picked, size, space) => picked === undefined || Math.abs(at - picked) * size >= space;
    for (let r = 0, by = step(panel.rows ? tall : 2 * tall, h); r < shape[0]; r += by)
      if (free(r, pickedRow, h, tall)) this.rowLabel(pen, r, this.rowName(r * block[0]));
    for (let k = 0, by = step(wide, w); k < cols; k += by)
      if (free(k, pickedCol, w, wide)) this.colLabel(pen, k, this.colName(k * group * block[1]));
  }

  rowLabel(pen, r, name, back) {
    this.label(pen, name, this.rowText, this.left - 5, this.top + (r + 0.5) * this.h, "right", back);
  }

  colLabel(pen, k, name, back) {
    pen.save();
    pen.translate(this.left + (k + 0.5) * this.w, this.top - 5);
    if (this.turned) pen.rotate(-Math.PI / 2);
    this.label(pen, name, this.colText, 0, this.turned ? 1 : -LABEL_FONT / 2, this.turned ? "left" : "center", back);
    pen.restore();
  }

  /* A label cut to `room` pixels; with a colour behind it, it is a picked one. */
  label(pen, name, room, x, y, align, back) {
    if (!name) return; // a single row, such as a sentence's ids, has no name
    const { view } = this, { font, ink, paper } = view, bold = Boolean(back);
    Object.assign(pen, { font: bold ? `bold ${font}` : font, textAlign: align, textBaseline: "middle" });
    const fits = (text) => view.widthOf(text, bold) <= room + 1;
    let text = name;
    if (!fits(name)) {
      const parts = graphemes(name.slice(0, 200));
      while (parts.length > 1 && !fits(parts.join("") + "…")) parts.pop();
      text = parts.join("") + "…";
    }
    if (back) {
      const wide = view.widthOf(text, bold) + 6;
      pen.fillStyle = back;
      pen.fillRect({ right: x - wide + 3, left: x - 3, center: x - wide / 2 }[align], y - 9, wide, 17);
    }
    pen.fillStyle = back ? paper : ink;
    pen.fillText(text, x, y);
  }

  /* ---- hover and pick ---- */

  cellAt(event) {
    const box = this.canvas.getBoundingClientRect(), [rows] = this.panel.shape;
    const k = Math.floor((event.clientX - box.left - this.left) / this.w);
    const r = Math.floor((event.clientY - box.top - this.top) / this.h);
    return k >= 0 && r >= 0 && k < this.cols && r < rows ? this.shown[r * this.cols + k] : null;
  }

  point(cell) {
    if (cell === this.hover) return;
    this.hover = cell;
    this.paint();
  }

  press(event) {
    const { full, block } = this.panel, step = KEYS[event.key], end = { Home: 0, End: full[1] - 1 }[event.key];
    const known = step || end !== undefined || event.key === "Escape";
    if (!known || event.ctrlKey || event.metaKey || event.altKey || !this.shown.length) return;
    event.preventDefault();
    event.stopPropagation(); // the page has shortcuts of its own
    if (event.key === "Escape") return this.view.choose(null, false);
    let cell = this.hover ?? 0; // the first key picks what the pointer is on
    if (this.picked() !== null) {
      const [, row, col] = this.view.pick, [down, right] = step ?? [0, 0];
      const move = (from, by, count) => clamp(from + by, 0, count - 1);
      cell = this.sent(move(row, down * block[0], full[0]), end ?? move(col, right * block[1], full[1]));
    }
    this.view.choose([this.index, ...this.origin(cell)], event.repeat);
  }

  /* Copy `base`, then draw what the reader points at and has picked. */
  paint() {
    const { canvas, pen, view, panel, hover, w, h, left, top } = this, picked = this.picked();
    if (!this.shown) return;
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(this.base, 0, 0);
    pen.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    const place = (cell) => [Math.floor(cell / panel.shape[1]), Math.floor((cell % panel.shape[1]) / this.group)];
    const box = ([r, k], out, colour, line) => {
      Object.assign(pen, { strokeStyle: colour, lineWidth: line });
      pen.strokeRect(left + k * w - out, top + r * h - out, w + 2 * out, h + 2 * out);
    };
    if (hover !== null) {
      const [r, k] = place(hover);
      Object.assign(pen, { fillStyle: view.ink, globalAlpha: 0.55 });
      pen.fillRect(left + (k + 0.5) * w - 0.5, top, 1, r * h);
      pen.fillRect(left, top + (r + 0.5) * h - 0.5, k * w, 1);
      pen.globalAlpha = 1;
      box([r, k], 1.5, view.paper, 1);
      box([r, k], 0.5, view.ink, 1);
    }
    this.drawLabels(pen, ...(picked === null ? [] : place(picked)));
    if (picked !== null) {
      const [r, k] = place(picked), [, row, col] = view.pick;
      box([r, k], 2.5, view.paper, 2); // a halo, so that the outline stands out from cells of its own colour
      box([r, k], 0.5, view.accent, 3);
      this.rowLabel(pen, r, this.rowName(row), view.accent);
      this.colLabel(pen, k, this.colName(col), view.accent);
    }
    this.front.globalCompositeOperation = "copy";
    this.front.drawImage(this.sheet, 0, 0);
    this.say();
  }

  /* The readout, the accessible name and the data-* attributes: what is pointed at, else what is picked. */
  say() {
    const { panel, canvas, hover, readout } = this, picked = this.picked(), cell = hover ?? picked;
    const read = (x) => (panel.kind === "classes" ? panel.names[x] : typeset(precise(x)));
    const value = (of) => read(panel.values[of]) + (this.masked(of) ? " (masked)" : "");
    const named = (letter, axis, name, number, labels) => {
      const part = make("span");
      const text = make("bdi", "", labels ? `“${name}”` : name);
      part.append(letter ? chip(letter) : `${axis} `, text, labels ? ` (${number})` : "");
      return part;
    };
    readout.replaceChildren();
    if (cell !== null) {
      const [row, col] = this.origin(cell);
      if (this.rowName(row)) readout.append(named(panel.rowLetter, "row", this.rowName(row), row, panel.rows), " ");
      readout.append(
        named(panel.colLetter, "column", this.colName(col), col, panel.cols), " ", make("b", "", value(cell)));
    }
    canvas.dataset.hover = hover === null ? "" : `${this.origin(hover)},${precise(panel.values[hover])}`;
    canvas.dataset.pick = picked === null ? "" : this.view.pick.slice(1).join();
    let told = "nothing picked";
    if (picked !== null) {
      const [row, col] = this.origin(picked);
      told = `picked row ${this.rowName(row) || row}, column ${this.colName(col)}: ${value(picked)}`;
    }
    canvas.setAttribute("aria-label", `${panel.title}, ${panel.full[0]} rows by ${panel.full[1]} columns, ${told}`);
  }

  /* The axis titles above the canvas and the legend below it. */
  describe() {
    const { panel, view, found } = this, [rows, cols] = panel.block, pooled = [rows, cols * this.group];
    const axis = (arrow, letter, title) => {
      const part = make("span", "", title || letter ? `${arrow} ` : "");
      const rest = letter && title.startsWith(letter) ? title.slice(letter.length).replace(/^\s*·\s*/, "") : title;
      part.append(letter ? chip(letter) : "", rest);
      return part;
    };
    const axes = [axis("↓", panel.rowLetter, panel.rowAxis), axis("→", panel.colLetter, panel.colAxis)];
    this.axes.replaceChildren(...axes.filter((part) => part.textContent));

    const entry = (className, background, before, after) => {
      const part = make("span"), mark = make("span", className);
      mark.style.background = background;
      part.append(before, mark, after);
      this.legend.append(part);
    };
    const { fill, line } = view.colours.masked, number = (x) => typeset(precise(x, Math.abs(x) < 1000 ? 3 : 6));
    this.legend.replaceChildren(this.shown.length ? "" : make("span", "note", "no values"));
    if (!this.shown.length) return;
    if (panel.kind === "mask") view.colours.mask.forEach((colour, i) => entry("swatch", colour, "", String(i)));
    else if (panel.kind === "classes") panel.names.forEach((name, i) => {
      const look = view.colours.classes[i];
      if (found.has(name)) entry("swatch", look.mark ? `url(${this.tile(look).toDataURL()}) 0 0 / 6px` : look.fill, "", name);
    });
    else if (panel.kind !== "ids") {
      const colours = panel.kind === "signed" ? view.colours.diverging : view.colours.sequential;
      entry("bar", `linear-gradient(90deg, ${colours.join(", ")})`, number(panel.low), number(panel.high));
    }
    const looks = { masked: `repeating-linear-gradient(135deg, ${line} 0 1px, ${fill} 1px 4px)`, ...THEME.special };
    for (const [look, colour] of Object.entries(looks)) if (found.has(look)) entry("swatch", colour, "", look);
    if (pooled[0] * pooled[1] > 1)
      this.legend.append(make("span", "note", `pooled ${pooled.join("×")}: ` +
        (panel.kind === "classes" ? "blocked before open" : "largest size, sign kept")));
  }
}
