/* Ids as what they are: each word of a sentence is joined to its row of the vocabulary, whose number is the id. Where one row of ids
 * is another one shifted, both stand beside each other, and arrows say where each word went. `viz_core/figures/lookup.py` says
 * what is drawn. A column that is longer than its box scrolls by itself. */

const SPACE = 8, TALLEST = 4, GAP_SPACE = 2, LARGER = 1.4, TIP = 6; // pixels around a line of type; a row at most, times its type; around "⋮"; type where there is room; an arrow's tip
const TURNS = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1 };

class Lookup {
  constructor(view) {
    this.view = view;
    this.node = view.root.appendChild(make("div", "lookup"));
    this.lanes = this.node.appendChild(make("div", "lanes"));
    this.canvas = make("canvas");
    const foot = this.node.appendChild(make("div", "foot"));
    this.readout = foot.appendChild(make("div", "readout"));
    this.asTable = new ValuesTable(foot, this.node, () => this.table());
    this.readout.setAttribute("aria-live", "polite");
    this.canvas.setAttribute("aria-hidden", "true"); // each button says where it leads
    this.node.setAttribute("role", "group");
    this.hover = null;
    new ResizeObserver(() => this.later()).observe(this.lanes); // its table takes room from it, too
  }

  take(panels, lookup) {
    const digest = JSON.stringify([panels.map((panel) => panel.digest), lookup]);
    if (digest === this.digest) return;
    Object.assign(this, { digest, panels, hover: null, ...lookup, last: panels.length - 1 });
    this.place = new Map(this.rows.map((row, i) => [row.id, i]));
    this.words = panels.map((panel, p) => this.column(`words ${p ? "second" : "first"}`, this.ids[p].map((id, t) =>
      this.button(`${t}: ${this.word(p, t)} → ${id}`, [make("bdi", "", this.word(p, t)), make("b", "", id)], [p, t]))));
    const entries = this.rows.flatMap((row, i) => [
      ...this.gap(this.rows[i - 1]?.id ?? -1, row.id),
      this.button(`${row.id}: ${row.words.join(", ")}`, [make("b", "", row.id), make("bdi", "", row.words.join(", "))], [this.last + 1, i]),
    ]);
    this.entries = this.column("entries", [...entries, ...this.gap(this.rows.at(-1)?.id ?? -1, this.size)]);
    const heads = panels.map((panel) => this.head(panel.title, panel.colAxis, panel.colLetter ? [chip(panel.colLetter)] : []));
    const between = this.last ? [heads[0], make("div", "sign", panels[1].sign), heads[1]] : heads;
    const size = this.head(plural("vocabulary, {n} row", "vocabulary, {n} rows", this.size), _("The embedding table has the same rows."));
    this.lanes.classList.toggle("shifted", this.last > 0);
    this.lanes.replaceChildren(this.canvas, ...between, make("div"), size, ...this.words, this.entries);
    for (const column of this.words) column.onscroll = () => { // both rows of ids scroll together
      for (const other of this.words) if (other !== column) other.scrollTop = column.scrollTop;
      this.later();
    };
    this.entries.onscroll = () => this.later();
  }

  word(p, t) { return this.panels[p].cols?.[t] ?? String(t); }

  head(text, title, more = []) {
    const head = make("div", "title", text);
    head.append(...more);
    return Object.assign(head, { title: `${text} · ${title}` });
  }

  button(title, parts, at) {
    const button = Object.assign(make("button"), { title, tabIndex: -1, ariaPressed: "false" });
    button.append(...parts);
    button.dataset.at = at;
    return button;
  }

  /* The rows that this sentence does not use, between two ids. */
  gap(after, before) {
    const n = before - after - 1;
    if (!n) return [];
    const gap = make("div", "gap");
    gap.title = plural("row {first}: not a word of this sentence", "rows {first} to {last}: not words of this sentence", n,
                       { first: after + 1, last: before - 1 });
    gap.setAttribute("aria-hidden", "true");
    return [gap];
  }

  /* One column of buttons; one of them is reached with Tab, the others with the arrow keys. */
  column(name, children) {
    const column = make("div", name), at = (event) => event.target.closest?.("button")?.dataset.at.split(",").map(Number) ?? null;
    column.append(...children);
    column.buttons = [...column.querySelectorAll("button")];
    column.onpointerover = column.onfocusin = (event) => this.point(at(event));
    column.onpointerleave = column.onfocusout = () => this.point(null);
    column.onclick = (event) => at(event) && this.choose(at(event), false);
    column.onkeydown = (event) => this.press(event, column, at(event));
    return column;
  }

  press(event, column, [side, here]) {
    const step = TURNS[event.key], n = column.buttons.length, end = { Home: 0, End: n - 1 }[event.key];
    const known = step || end !== undefined || event.key === "Escape";
    if (!known || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation(); // the page has shortcuts of its own
    if (event.key === "Escape") return this.view.choose(null, false);
    const picked = this.marks(this.view.pick)[side]; // the first key picks the word in focus
    const next = end ?? (picked === undefined ? here : clamp(picked + step, 0, n - 1));
    column.buttons[next].focus();
    this.choose([side, next], event.repeat);
  }

  /* A word is picked; of a row of the vocabulary its first word, or the one after the word that is picked. */
  choose([side, at], wait) {
    const { id } = this.rows[at] ?? {}, [panel, , now] = this.view.pick ?? [], own = this.ids[this.last];
    const next = panel === this.last && own[now] === id ? own.indexOf(id, now + 1) : -1;
    this.view.choose(side <= this.last ? [side, 0, at] : [this.last, 0, next < 0 ? own.indexOf(id) : next], wait);
    this.reveal();
  }

  /* Whatever belongs to a word: the places in each column, the vocabulary last; undefined where there is none. */
  marks(pick) {
    if (!pick) return [];
    const [panel, , at] = pick, [from, to] = this.moved.find((pair) => pair[panel] === at) ?? [];
    const words = this.last ? (panel ? [from, at] : [at, to]) : [at];
    return [...words, this.place.get(this.ids[this.last][words[this.last]])];
  }

  point(at) {
    this.hover = at;
    this.later();
  }

  later() { this.frame ??= requestAnimationFrame(() => { this.frame = null; if (this.node.isConnected) this.draw(); }); }

  /* Rows fill the height of the box, and scroll where they would be smaller than their type. */
  measure() {
    const { node, entries, words, view, rows } = this, room = entries.clientHeight, least = view.type + SPACE;
    const gaps = entries.children.length - rows.length, gap = view.type + GAP_SPACE, most = Math.floor(view.type * TALLEST);
    const fit = (height, n) => clamp(Math.floor(height / Math.max(n, 1)), least, most);
    this.row = fit(room, words[0].buttons.length);
    this.entry = fit(room - gaps * gap, rows.length);
    this.gapHigh = clamp(Math.floor((room - rows.length * this.entry) / Math.max(gaps, 1)), gap, 1.5 * gap);
    const larger = view.width < NARROW ? 1 : LARGER;
    const type = clamp(Math.floor(Math.min(this.row, this.entry) / 1.9), view.type, Math.round(view.type * larger));
    node.style.setProperty("--digits", Math.max(2, String(this.size - 1).length));
    for (const [name, high] of Object.entries({ row: this.row, entry: this.entry, gap: this.gapHigh, type }))
      node.style.setProperty(`--${name}`, `${high}px`);
    let top = 0;
    this.middles = [...entries.children].flatMap((child) => {
      const high = child.className === "gap" ? this.gapHigh : this.entry;
      top += high;
      return child.className === "gap" ? [] : [top - high / 2];
    });
  }

  draw() {
    const { canvas, view, words, entries, last } = this;
    this.measure();
    const { width, height } = canvas.getBoundingClientRect(), scale = window.devicePixelRatio || 1, pen = canvas.getContext("2d");
    Object.assign(canvas, { width: Math.round(width * scale), height: Math.round(height * scale) });
    pen.scale(scale, scale);
    const held = this.marks(view.pick), over = this.hover, shown = over && over[0] <= last ? this.marks([over[0], 0, over[1]]) : held;
    const row = over?.[0] === last + 1 ? over[1] : null, any = row !== null || shown.length > 0;
    const middle = (t) => (t + 0.5) * this.row - words[0].scrollTop, { left } = canvas.getBoundingClientRect();
    const edge = (column, side) => column.getBoundingClientRect()[side] - left;
    const line = (x, y, to, v, strong) => {
      if (y < 0 || y > height) return; // its word is out of sight
      Object.assign(pen, { strokeStyle: view.accent, fillStyle: view.accent, globalAlpha: strong ? 1 : any ? 0.25 : 0.6, lineWidth: (strong ? 3 : 1.5) * (view.type > 14 ? 1.5 : 1) });
      pen.beginPath();
      pen.moveTo(x, y);
      pen.bezierCurveTo(x + (to - x) * 0.45, y, x + (to - x) * 0.55, v, to - TIP, v);
      pen.stroke();
      pen.beginPath();
      for (const [back, side] of [[0, 0], [TIP * 1.5, TIP * 0.7], [TIP * 1.5, -TIP * 0.7]]) pen.lineTo(to - back, v + side);
      pen.fill();
    };
    const [from, to] = [edge(words[last], "right"), edge(entries, "left")];
    this.ids[last].forEach((id, t) => {
      const at = this.place.get(id);
      line(from, middle(t), to, this.middles[at] - entries.scrollTop, row === null ? shown[last] === t : row === at);
    });
    for (const [a, b] of this.moved) line(edge(words[0], "right"), middle(a), edge(words[1], "left"), middle(b), row === null && shown[0] === a);
    this.mark(held, row === null ? shown : [...Array(last + 1), row]);
    Object.assign(canvas.dataset, { title: this.panels[last].title, drawn: "lookup" });
  }

  /* The picked word, and what is pointed at; which button Tab reaches; and the words about them. */
  mark(held, shown) {
    const { pick } = this.view;
    for (const button of this.marked ?? []) {
      Object.assign(button, { className: "", ariaPressed: "false", tabIndex: -1 });
      delete button.dataset.pick;
    }
    this.marked = new Set();
    [...this.words, this.entries].forEach(({ buttons }, side) => {
      for (const at of [held[side], shown[side]]) if (buttons[at]) this.marked.add(Object.assign(buttons[at], { className: "shown" }));
      const stop = buttons[held[side] ?? 0], picked = pick?.[0] === side;
      if (!stop) return;
      stop.tabIndex = 0;
      if (pick) stop.dataset.pick = pick; // so that presenter's mode leaves Esc to it
      if (picked) Object.assign(stop, { className: "picked", ariaPressed: "true" });
      this.marked.add(stop);
    });
    const at = shown.at(-1) ?? null, t = shown[this.last], row = this.rows[at], bdi = (text) => make("bdi", "", `“${text}”`);
    const said = t === undefined ? _("Row {id} of the vocabulary: {words}") : _("{word} has the id {id}: row {id} of the vocabulary.");
    const about = { word: t === undefined ? "" : bdi(this.word(this.last, t)), id: String(row?.id), words: bdi(row?.words.join(", ")) };
    this.readout.replaceChildren(...(row ? nodes(said, about) : [_("Each word leads to its row of the vocabulary. The number of that row is the word’s id.")]));
    const title = this.panels[this.last].title, n = this.ids[this.last].length;
    this.node.setAttribute("aria-label", plural("{title}: {n} word and its row of the vocabulary", "{title}: {n} words and their rows of the vocabulary", n, { title }));
    this.asTable.show(`${this.digest} ${this.view.pick}`);
  }

  /* Bring the picked word and its row into sight; returns where on the screen the word is. */
  reveal() {
    const held = this.marks(this.view.pick);
    [...this.words, this.entries].forEach((column, side) => {
      const box = column.getBoundingClientRect(), cell = column.buttons[held[side]]?.getBoundingClientRect();
      if (cell && (cell.top < box.top || cell.bottom > box.bottom)) column.scrollTop += cell.top - box.top - box.height / 2;
    });
    return this.words[this.view.pick?.[0]]?.buttons[this.view.pick[2]]?.getBoundingClientRect();
  }

  table() {
    const { panels, ids, rows, last, place } = this, [panel, , at] = this.view.pick ?? [];
    return {
      title: panels[last].title, rows: ids[last].length, cols: last + 2, note: "", at: at === undefined ? null : [at, panel],
      rowName: String, colName: (col) => panels[col]?.title ?? _("row of the vocabulary"),
      value: (t, col) => (col <= last ? `${this.word(col, t)} · ${ids[col][t]}` : rows[place.get(ids[last][t])].words.join(", ")),
    };
  }
}
