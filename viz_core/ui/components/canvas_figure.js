/* One panel of the canvas.
 *
 * Three kinds of index: a cell of the panel's own values (`full`, what Python calls a pick); a sent cell (`shape`),
 * which is a block of those where Python pooled; a drawn cell, which is `group` sent columns where the page is
 * too narrow to give each two pixels. A block shows its value of largest size, and says where that came from. */

class Figure {
  constructor(view, index) {
    Object.assign(this, { view, index, hover: null, labels: new Labels(view), sign: new Sign(view) }); // hover: the flat index of a sent cell
    this.node = make("figure");
    [this.title, this.axes, this.canvas, this.legend, this.readout] = [
      make("figcaption"), make("div", "axes"), make("canvas"), make("div", "legend"), make("div", "readout")];
    this.foot = make("div", "foot");
    this.foot.append(this.legend, this.readout);
    this.head = make("div", "head");
    this.head.append(this.title, this.axes);
    this.node.append(this.head, this.canvas, this.foot);
    this.asTable = new ValuesTable(this.foot, this.node, () => panelTable(this));
    this.readout.setAttribute("aria-live", "polite");
    set(this.canvas, { role: "application", "aria-keyshortcuts": [...Object.keys(KEYS), "Home", "End", "Escape"].join(" ") });
    Object.assign(this.canvas, { tabIndex: 0, replay: (pen) => this.replay(pen) });
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
    Object.assign(this, { panel, gaps: panel.masked?.some((code) => code > 1) });
    this.sign.take(panel);
    this.title.textContent = this.title.title = panel.title;
    this.canvas.dataset.title = panel.title;
    [this.canvas.dataset.rows, this.canvas.dataset.cols] = panel.full;
  }

  /* The number of a row (0) or a column (1) in the run, which counts also what the picture leaves out. */
  place(axis, at) { return this.panel.places?.[axis][at] ?? at; }
  rowName(row) { return this.panel.rows?.[row] ?? String(row); }
  colName(col) { return this.panel.cols?.[col] ?? String(col); }
  /* The names of a row and a column with their dictionary words. */
  rowSaid(row) { return glossed(this.panel.glosses, this.rowName(row)); }
  colSaid(col) { return glossed(this.panel.glosses, this.colName(col)); }

  masked(cell) { return Boolean(this.panel.masked?.[cell]); }
  get maskedName() { return this.panel.maskedName || _("masked"); }
  /* Why a sent cell has no colour: as the legend says it, as a cell does, and its look. */
  reason(code) { return code > 1 ? this.panel.absentNames[code - 2] : { legend: this.maskedName, look: "masked" }; }

  /* The value of a sent cell in words. */
  valueOf(cell) {
    const { kind, names, values, masked, words } = this.panel;
    if (masked?.[cell] > 1) return this.reason(masked[cell]).cell; // there is no number
    if (kind === "classes" && this.masked(cell)) return this.maskedName;
    const said = kind === "classes" ? names[values[cell]] : minus(precise(values[cell]));
    if (this.masked(cell)) return `${said} (${this.maskedName})`;
    const kept = this.panel.share?.[Math.floor(cell / this.panel.shape[1])];
    if (kept !== undefined) return _("{value} of the kept {share}", { value: minus(precise(values[cell], 4)), share: percent(kept) });
    return words?.[cell] ? `${said} → ${glossed(this.panel.glosses, words[cell])}` : said;
  }

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

  /* Where on the screen the picked cell is. */
  placeOfPick() {
    const { left, top } = this.canvas.getBoundingClientRect(), cell = this.picked(), { w, h, group, panel: { shape } } = this;
    const [r, k] = [Math.floor(cell / shape[1]), Math.floor((cell % shape[1]) / group)];
    return new DOMRect(left + this.left + k * w, top + this.top + r * h, w, h);
  }

  /* Pixels that a value written into a cell takes. */
  get valueRoom() {
    const { panel, view } = this;
    return panel.kind === "ids" ? view.widthOf(String(panel.high), true) + 12 : (WRITTEN * view.type) / 14;
  }

  /* Choose the cell size in a figure of at most `width` pixels and cells of at most `cap`. */
  arrange(width, cap) { this.withGlosses(() => this.sizes(width, cap)); }
  fillIn(width, height, cap, rows, cols) { this.withGlosses(() => this.sizesIn(width, height, cap), rows, cols); }

  /* Leave room for the rows' dictionary words; without them, where the rows are then too low for two lines. */
  withGlosses(arrange, rows = true, cols = true) {
    Object.assign(this.labels, { spare: rows, spareCols: cols });
    arrange();
    if (!this.labels.rowGlosses || this.labels.twoLines(this.h)) return;
    this.labels.spare = false;
    arrange();
  }

  sizes(width, cap) {
    const { panel, labels } = this, [rows, cols] = panel.shape;
    labels.height = Infinity;
    labels.measure(panel, width, this.view.drawn + width);
    const room = width - labels.left - labels.stand(cap).beyond - 1, written = this.valueRoom;
    const most = cap >= MAX_CELL && cols * written <= room ? written : Math.min(cap, MAX_CELL);
    this.group = Math.max(1, Math.ceil((cols * MIN_CELL) / room));
    this.cols = Math.ceil(cols / this.group);
    this.w = clamp(Math.floor(room / this.cols), MIN_CELL, most);
    this.upright = panel.kind === "ids" && this.w < written && this.w >= LABEL_FONT; // ids turned to fit
    const tall = this.upright ? written : clamp(this.w, labels.step + 1, MAX_CELL);
    this.h = clamp(Math.floor(MAX_HEIGHT / rows), MIN_CELL, tall);
    this.measureWhole(width);
  }

  /* Choose cells as large as `width` × `height` pixels allow, at most `cap` wide. Cells between tokens are at most twice as
   * wide as high, or twice as high as wide; with many tokens they keep a size that can be told apart, and the view pans. */
  sizesIn(width, height, cap) {
    const { panel, labels } = this, [rows, cols] = panel.shape, tokens = (names, letter) => names && !panel.overview && "TS".includes(letter);
    const floor = (names, letter) => (tokens(names, letter) && !this.view.equation ? LEAST_NAMED : MIN_CELL);
    labels.height = height;
    labels.measure(panel, width, this.view.drawn + width);
    const guess = Math.min(cap, (width - labels.left) / cols), room = width - labels.left - labels.stand(guess).beyond - 1;
    this.group = tokens(panel.cols, panel.colLetter) && !this.view.equation ? 1 : Math.max(1, Math.ceil((cols * MIN_CELL) / room));
    this.cols = Math.ceil(cols / this.group);
    const wide = clamp(whole(room / this.cols), floor(panel.cols, panel.colLetter), whole(cap));
    const named = panel.rows && panel.cols && panel.colLetter, square = named && rows > 1 && cols > 1 && wide >= LEAST_NAMED;
    const free = square ? 0 : labels.step * 3;
    const thick = cols === 1 ? Math.max(wide, 2 * labels.step) : wide, ids = panel.kind === "ids"; // a column by itself is no line
    const tall = ids && rows === 1 ? IDS_HIGH : this.view.equation ? 3 : 2; // times its width: a sentence's ids are one row
    this.upright = ids && wide < this.valueRoom && wide >= LABEL_FONT;
    // Above and below the cells: one line each; below, two where it is narrow, or in an equation or with gaps three; above, as
    // many as the titles of an equation take.
    for (const lines of this.view.shared ? [2] : [2, this.view.equation ? 3 + this.view.headLines : this.gaps ? 4 : 3]) {
      const room = height - (this.view.type + 7) * lines - 6 - labels.stand(wide).top - 2;
      const high = Math.max(floor(panel.rows, panel.rowLetter), whole(room / rows));
      this.w = Math.min(thick, Math.max(2 * high, free, ids ? this.valueRoom : 0));
      this.h = Math.min(high, Math.max(tall * wide, free, this.upright ? this.valueRoom : 0));
      this.measureWhole(width);
      if (this.oneFoot(this.width)) return;
    }
  }

  /* Whether a figure of this width has its title and axes on one line, and its legend and readout on another. */
  oneFoot(width) { return width >= (ONE_FOOT * this.view.type) / 14 + this.classesRoom(); }

  /* Pixels of the legend's entries where it is long: where cells are of several classes, or in an overview. */
  classesRoom() {
    if (this.panel.overview) return OVERVIEW_FOOT; // a long legend, and a readout of two long names
    const { kind, names, values } = this.panel, found = kind === "classes" ? names.filter((_name, i) => values.includes(i)) : [];
    return found.length < 3 ? 0 : found.reduce((sum, name) => sum + this.view.widthOf(name) + CLASS_MARK, 0);
  }

  measureWhole(width) {
    const { top, beyond } = this.labels.stand(this.w);
    [this.left, this.top] = [this.labels.left, top];
    this.wide = this.left + this.cols * this.w + beyond + 1;
    this.high = this.top + this.panel.shape[0] * this.h + 2;
    const least = this.view.fill ? Math.min(MIN_FIGURE, this.view.widthOf(this.panel.title, true) + 8) : MIN_FIGURE;
    this.width = Math.min(width, Math.max(this.wide, least));
  }

  /* Whether the title and the axes, in short, are wider together than the figure. */
  get crowded() {
    const { panel, view } = this, { wide, inShort } = this.sides();
    return view.widthOf(panel.title, true) + GAP + (panel.role === "input" ? wide(() => "") : wide(inShort)) > this.width;
  }

  /* Draw the cells into `base`, then show them. */
  draw() {
    const { canvas, base, sheet, view } = this;
    this.scale = window.devicePixelRatio || 1;
    const [width, height] = [this.wide, this.high].map((side) => Math.round(side * this.scale));
    for (const each of [canvas, base, sheet]) // a canvas that is given its size anew is emptied and made anew, which takes time
      if (each.width !== width || each.height !== height) Object.assign(each, { width, height });
    Object.assign(canvas.style, { width: `${this.wide}px`, height: `${this.high}px` });
    this.node.style.width = `${this.view.fill ? Math.max(this.width, this.wide) : this.width}px`;
    this.node.classList.toggle("narrow", !this.oneFoot(this.width));
    const pen = base.getContext("2d");
    pen.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    this.drawCells(pen);
    this.writeValues(pen);
    this.describe();
    this.paint();
    canvas.dataset.theme = view.dark ? "dark" : "light";
    canvas.dataset.grid = [this.left, this.top, this.w, this.h]; // where the cells lie, in pixels of the page
    canvas.dataset.drawn = this.panel.digest;
    canvas.dataset.type = Math.min(view.type - 1, this.labels.below || this.labels.dense ? view.small : Infinity); // the smallest type written into it
    canvas.dataset.glosses = this.labels.below; // the axes whose labels have dictionary words
  }

  /* One pixel for each cell, scaled up without smoothing. Masked cells stay transparent, over hatching. */
  drawCells(pen) {
    const { panel, view, group, cols, w, h, left, top } = this, [rows, sent] = panel.shape;
    const table = this.table(), [low, high] = panel.log ? [Math.log(panel.low), Math.log(panel.high)] : [panel.low, panel.high];
    const shade = (x) => clamp(Math.round((((panel.log ? Math.log(x) : x) - low) * (SHADES - 1)) / (high - low)), 0, SHADES - 1);
    this.shown = new Int32Array(rows * cols); // drawn cell → the sent cell whose value it shows
    [this.found, this.hatched] = [new Set(), new Set()]; // the looks that the legend has to explain; what hatching means
    if (!this.shown.length) return;
    const paper = panel.share && rgbOf(view.paper), faded = (word, row) => (paper && word ? mixed(word, Math.sqrt(panel.share[row]), paper) : word);
    const pixels = (this.pixels = new ImageData(cols, rows)), words = new Uint32Array(pixels.data.buffer);
    for (let i = 0; i < words.length; i++) {
      const row = Math.floor(i / cols), end = (row + 1) * sent;
      let cell = row * sent + (i % cols) * group;
      for (let other = cell + 1, stop = Math.min(cell + group, end); other < stop; other++)
        if (this.rank(other) > this.rank(cell)) cell = other;
      this.shown[i] = cell;
      const x = panel.values[cell], code = panel.masked?.[cell], look = code ? this.reason(code).look : special(x);
      if (look) this.found.add(look);
      else if (panel.kind === "classes") this.found.add(panel.names[x]);
      if (code) this.hatched.add(code);
      words[i] = faded(table[look || shade(x)], row);
    }
    const picture = new OffscreenCanvas(cols, rows);
    picture.getContext("2d").putImageData(pixels, 0, 0);
    if (this.found.has("masked")) {
      pen.fillStyle = pattern(pen, this.scale, { ...view.colours.masked, mark: "lines" });
      pen.fillRect(left, top, cols * w, rows * h);
    }
    pen.imageSmoothingEnabled = false;
    pen.drawImage(picture, left, top, cols * w, rows * h);
    if (panel.kind === "classes" || this.found.has("missing")) this.drawMarks(pen);
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
    return Object.assign(table, { masked: 0, missing: 0 }); // transparent
  }

  /* As `pool` in panels.py: NaN, then infinities, then numbers by size, then masked cells. */
  rank(cell) {
    const x = this.panel.values[cell];
    return this.masked(cell) ? -1 : Number.isNaN(x) ? Infinity : Math.min(Math.abs(x), Number.MAX_VALUE);
  }

  /* Patterns that distinguish classes without colour, and cells that are missing. */
  drawMarks(pen) {
    const { panel, view, cols, w, h, left, top } = this, missing = pattern(pen, this.scale, view.colours.missing);
    const marks = panel.kind === "classes" ? view.colours.classes.map((look) => look.mark && pattern(pen, this.scale, look)) : [];
    this.shown.forEach((cell, i) => {
      const code = panel.masked?.[cell], mark = !code ? marks[panel.values[cell]] : this.reason(code).look === "missing" && missing;
      if (!mark) return;
      pen.fillStyle = mark;
      pen.fillRect(left + (i % cols) * w, top + Math.floor(i / cols) * h, w, h);
    });
  }

  writeValues(pen) {
    const { panel, cols, w, h, left, top, upright } = this;
    const all = panel.kind === "ids" || (w >= ((panel.written ? 26 : 40) * this.view.type) / 14 && panel.kind !== "classes"); // a class has its look and its name
    if (h < LABEL_FONT || w < LABEL_FONT || !(all || this.found.size)) return;
    const size = panel.kind === "ids" ? clamp(Math.floor(Math.min(w / 2.6, h / 3)), this.view.type - 1, 2 * this.view.type) : this.view.type - 1;
    Object.assign(pen, { font: this.view.font.replace(/^\d+/, size), textAlign: "center", textBaseline: "middle" });
    this.shown.forEach((cell, i) => {
      const x = panel.values[cell], look = special(x);
      if (this.masked(cell) || !(all || look)) return;
      const text = look || (panel.written ? this.wordIn(cell, w - 4) : panel.kind === "ids" ? String(x) : minus(brief(x)));
      pen.fillStyle = brightness(this.pixels.data.slice(4 * i, 4 * i + 3)) > 0.55 ? "#10131a" : "#ffffff";
      pen.save();
      pen.translate(left + ((i % cols) + 0.5) * w, top + (Math.floor(i / cols) + 0.5) * h + 1);
      if (upright) pen.rotate(-Math.PI / 2);
      pen.fillText(text, 0, 0, (upright ? h : w) - 4);
      pen.restore();
    });
  }

  /* The word of a sent cell, shortened to so many pixels; the readout says the whole. */
  wordIn(cell, room) {
    const letters = graphemes(this.panel.words[cell]), all = letters.length, said = () => letters.join("") + (letters.length < all ? "…" : "");
    while (letters.length && this.view.widthOf(said()) > room) letters.pop();
    return letters.length ? said() : "";
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
    const known = step || end !== undefined || event.key === "Escape" || (this.view.opens && event.key === "Enter");
    if (!known || event.ctrlKey || event.metaKey || event.altKey || !this.shown.length) return;
    event.preventDefault();
    event.stopPropagation(); // the page has shortcuts of its own
    if (this.view.opens) return this.travel(event.key, step, end);
    if (event.key === "Escape") return this.view.choose(null, false);
    let cell = this.hover ?? 0; // the first key picks the hovered cell
    if (this.picked() !== null) {
      const [, row, col] = this.view.pick, [down, right] = step ?? [0, 0];
      const move = (from, by, count) => clamp(from + by, 0, count - 1);
      cell = this.sent(move(row, down * block[0], full[0]), end ?? move(col, right * block[1], full[1]));
    }
    this.view.choose([this.index, ...this.origin(cell)], event.repeat);
  }

  /* Where a pick leads elsewhere: keys move from cell to cell, and Enter picks. */
  travel(key, step, end) {
    const { full, block } = this.panel, move = (from, by, count) => clamp(from + by, 0, count - 1);
    if (key === "Escape") return this.point(null);
    if (this.hover === null) return this.point(0);
    const [row, col] = this.origin(this.hover), [down, right] = step ?? [0, 0];
    if (key === "Enter") return this.view.choose([this.index, row, col], false);
    this.point(this.sent(move(row, down * block[0], full[0]), end ?? move(col, right * block[1], full[1])));
  }

  /* Copy `base`, then draw the hovered cell and the picked cell. */
  paint() {
    const { canvas, pen } = this;
    if (!this.shown) return;
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(this.base, 0, 0);
    pen.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    this.drawAround(pen, this.hover);
    this.front.globalCompositeOperation = "copy";
    this.front.drawImage(this.sheet, 0, 0);
    this.say();
  }

  /* The labels, the hovered cell and the picked cell. */
  drawAround(pen, hover) {
    const { view, panel, w, h, left, top } = this, picked = this.picked();
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
    this.labels.draw(pen, this, ...(picked === null ? [] : place(picked)));
    if (picked !== null) {
      const [r, k] = place(picked), [, row, col] = view.pick;
      box([r, k], 2.5, view.paper, 2); // a halo, so that the outline stands out from cells of its own colour
      box([r, k], 0.5, view.accent, view.type > 14 ? 6 : 3); // in presenter's mode it is seen from the back
      this.labels.row(pen, this, r, this.rowName(row), view.accent);
      this.labels.column(pen, this, k, this.colName(col), view.accent);
    }
  }

  /* What `replay` in common.js asks for. */
  replay(pen) {
    if (!this.shown) return;
    this.drawCells(pen);
    this.writeValues(pen);
    this.drawAround(pen, null);
  }

  /* Row and column as the readout says them: with their dictionary words, or where its line is too short for that, without those
   * that stand at the labels. */
  namesFor(row, col, value) {
    const { view, labels } = this, names = [this.rowSaid(row), this.colSaid(col)];
    if (!view.fill || view.widthOf(`${names} (${this.place(0, row)}) (${this.place(1, col)}) ${value}`, true) + READOUT < this.width) return names;
    return [labels.rowGlosses ? this.rowName(row) : names[0], labels.colGlosses ? this.colName(col) : names[1]];
  }

  /* The readout, the accessible name and the data-* attributes: for the hovered cell, or else for the picked one. */
  say() {
    const { panel, canvas, hover, readout } = this, picked = this.picked(), cell = hover ?? picked;
    const value = (of) => this.valueOf(of);
    const named = (letter, axis, title, name, number, labels) => {
      const part = Object.assign(make("span"), { title });
      const text = labels ? labelNode(name, "“", "”") : make("bdi", "", name);
      part.append(letter ? chip(letter) : `${axis} `, text, labels ? ` (${number})` : "");
      return part;
    };
    readout.replaceChildren();
    if (cell !== null) {
      const [row, col] = this.origin(cell);
      const [rowName, colName] = this.namesFor(row, col, value(cell));
      if (rowName) readout.append(named(panel.rowLetter, _("row"), panel.rowAxis, rowName, this.place(0, row), panel.rows), " ");
      readout.classList.toggle("said", colName !== this.colName(col)); // where the line is short, what is not at a label is kept
      readout.append(
        named(panel.colLetter, _("column"), panel.colAxis, colName, this.place(1, col), panel.cols), " ", make("b", "", value(cell)));
    }
    canvas.dataset.hover = hover === null ? "" : `${this.origin(hover)},${precise(panel.values[hover])}`;
    canvas.dataset.pick = picked === null ? "" : this.view.pick.slice(1).join();
    const about = { title: panel.title, rows: panel.full[0], columns: panel.full[1] };
    let said = _("{title}, {rows} rows by {columns} columns, no cell is picked", about);
    if (picked !== null) {
      const [row, col] = this.origin(picked);
      Object.assign(about, { row: this.rowSaid(row) || row, column: this.colSaid(col), value: value(picked) });
      said = _("{title}, {rows} rows by {columns} columns, picked row {row}, column {column}: {value}", about);
    }
    canvas.setAttribute("aria-label", said);
    this.asTable.show(`${panel.digest} ${picked}`);
  }

  /* The axes, and how their titles are said: whole, or in short. */
  sides() {
    const { panel, view } = this;
    const words = (letter, title) => (letter && title.startsWith(letter) ? title.slice(letter.length).replace(/^\s*·\s*/, "") : title);
    const sides = [["↓", panel.rowLetter, panel.rowAxis, 0], ["→", panel.colLetter, panel.colAxis, 1]].filter(([, letter, title]) => letter || title);
    const inShort = (letter, title, n) => (title.includes(":") ? words(letter, title).split(":")[0] : String(panel.full[n])); // "query", or 12
    const wide = (say) => sides.reduce((sum, [, ...side]) => sum + view.widthOf(say(...side)) + AXIS_MARK, 0);
    return { sides, words, inShort, wide };
  }

  /* The axis titles above the canvas and the legend below it. */
  describe() {
    const { panel, view } = this, { sides, words, inShort, wide } = this.sides();
    const room = view.equation && view.headLines > 1 ? this.width : this.width - view.widthOf(panel.title, true) - GAP;
    const short = view.fill && wide(words) > room, bare = short && panel.role === "input" && wide(inShort) > room; // the words on hover
    this.axes.replaceChildren(...sides.map(([arrow, letter, title, n]) => {
      const part = Object.assign(make("span", "", `${arrow} `), { title });
      part.append(letter ? chip(letter) : "", letter && bare ? "" : letter && short ? inShort(letter, title, n) : words(letter, title));
      return part;
    }));
    drawLegend(this);
  }
}
