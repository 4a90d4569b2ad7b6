/* The labels of a panel of the canvas: rows on the left, columns above the cells.
 *
 * Column labels are horizontal if they fit. Otherwise Chinese, Japanese and Korean labels are stacked, one character
 * per line, and others are slanted by 45°, or rotated by 90° if a slanted one would cross a stacked one. Labels that
 * would overlap are rotated and smaller. Labels that are still too long are shortened; the readout has the whole label.
 *
 * Glosses are below the labels of an axis in a smaller font if all fit, or after slanted labels. */

import { glossOf, isolateParts, shortGloss, shorten } from "../common/labels.js";
import { clamp } from "../common/numbers.js";

const SLANT = Math.SQRT1_2; // 45 degrees: the sine, and the cosine
const STACKED =
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー\u3001-\u303f\uff01-\uff1f]{1,6}$/u;
// number of stacked characters, 0 for other labels
const stacked = (name) => (STACKED.test(name) ? [...name].length : 0);
const GLOSS_OPACITY = 0.8;
const GLOSS_GAP = 6; // pixels between a slanted label and its gloss
const LINES = 25; // minimum height of a figure with glosses at its columns, in lines
const MAX_GLOSSED = 200; // labels of an axis with glosses at most: more would not be legible
const ROW_LABEL_WIDTH = 110; // pixels of a label at the default font size
const COL_LABEL_WIDTH = 84; // the same above a column

export class Labels {
  constructor(view) {
    Object.assign(this, { view, showRowGlosses: true, showColGlosses: true });
  }

  /* Measure the labels of a panel for a figure of this width; cached, because several cell sizes are tried. */
  measure(panel, width, key) {
    key += `${this.bare} ${this.showRowGlosses}`;
    if (this.key === key) return;
    Object.assign(this, { key, panel });
    const { view } = this;
    const grow = view.type / 14;
    const lengths = (names, room) => names.map((name) => Math.min(view.widthOf(name, true), room));
    const number = (n) => [String(panel.full[n] - 1)];
    this.rowRoom = clamp(width * (view.fill ? 0.3 : 0.22), 56, ROW_LABEL_WIDTH * grow);
    this.colRoom = COL_LABEL_WIDTH * grow;
    this.rowText = this.bare ? 0 : Math.ceil(Math.max(0, ...lengths(panel.rows ?? number(0), this.rowRoom)));
    this.rowGlosses =
      this.bare || !this.showRowGlosses
        ? null
        : this.fitting(panel.rows, (say) => view.widthOfSmall(say) <= this.rowRoom);
    for (const said of this.rowGlosses?.values() ?? [])
      this.rowText = Math.max(this.rowText, Math.ceil(view.widthOfSmall(said)));
    this.cols = lengths(panel.cols ?? number(1), this.colRoom);
    this.colText = Math.ceil(Math.max(0, ...this.cols));
    this.stacks = panel.cols?.map(stacked);
    this.turned = Boolean(this.stacks?.some((high, k) => high && k && !this.stacks[k - 1]));
  }

  /* Return label → gloss (all meanings, or only the first) if the glosses of all labels fit, else null; null if there
   * are none. */
  fitting(names, fits, ways = this.view.equation ? [shortGloss] : [glossOf, shortGloss]) {
    if (!names || names.length > MAX_GLOSSED) return null;
    const { glosses } = this.panel;
    const own = names.filter((name) => glossOf(glosses, name));
    if (!own.length) return null;
    const say = ways.find((each) => own.every((name) => fits(each(glosses, name), name)));
    return say ? new Map(own.map((name) => [name, say(glosses, name)])) : null;
  }

  /* Whether a row of this height has space for a label and its gloss. */
  twoLines(h) {
    return h >= this.step + this.view.small + 3;
  }

  /* The axes with glosses: "rows", "cols", "rows cols" or "". */
  get below() {
    return [this.rowGlosses && "rows", this.colGlosses && "cols"].filter(Boolean).join(" ");
  }

  get left() {
    return this.rowText + 8;
  }
  get step() {
    return this.view.type + 2;
  } // pixels from one line of text to the next

  /* Choose the style of column labels for cells `w` pixels wide; returns the pixels above the cells and beyond the last
   * one. */
  placeColumns(w) {
    const { panel, view, cols, stacks, colText } = this;
    this.upright = !panel.cols || colText + 6 <= w;
    const low = this.height < LINES * (view.small + 3); // a low figure has no space for glosses
    const names = low || !this.showColGlosses ? null : panel.cols;
    this.colGlosses = this.upright ? this.fitting(names, (said) => view.widthOfSmall(said) + 4 <= w) : null;
    if (this.colGlosses) return { top: view.type + view.small + 11, beyond: 1 };
    this.colGlosses =
      w >= this.slant
        ? this.fitting(names, (said, name) => this.whole(name, said) <= 1.2 * this.colRoom, [shortGloss])
        : null;
    if (this.colGlosses) return this.slanted(w);
    this.dense = !this.upright && w < this.columnDistance;
    if (this.upright) return { top: view.type + 8, beyond: panel.cols ? 1 : Math.ceil(colText / 2) };
    let top = 0;
    let beyond = 1;
    if (this.dense) {
      cols.forEach((length, k) => {
        top = Math.max(top, stacks[k] ? stacks[k] * (view.small + 2) : (length * view.small) / view.type + 4);
      });
      return { top: Math.ceil(top) + 8, beyond };
    }
    cols.forEach((length, k) => {
      const alone = this.turned ? length + 4 : (length + view.type / 2) * SLANT + view.type / 3;
      top = Math.max(top, stacks[k] ? stacks[k] * this.step : alone);
      if (!stacks[k] && !this.turned)
        beyond = Math.max(beyond, (length + view.type / 2) * SLANT - (cols.length - k - 0.5) * w);
    });
    return { top: Math.ceil(top) + 8, beyond: Math.ceil(beyond) };
  }

  /* The same for slanted labels with their glosses after them. */
  slanted(w) {
    const { panel, view, colGlosses, cols } = this;
    this.upright = this.dense = false;
    let long = 0;
    let beyond = 1;
    cols.forEach((_length, k) => {
      const length = (this.whole(panel.cols[k], colGlosses.get(panel.cols[k]) ?? "") + view.type / 2) * SLANT;
      [long, beyond] = [Math.max(long, length), Math.max(beyond, length - (cols.length - k - 0.5) * w)];
    });
    return { top: Math.ceil(long + view.type / 3) + 8, beyond: Math.ceil(beyond) };
  }

  /* Return the width of a label followed by its gloss. */
  whole(name, said) {
    return (
      Math.min(this.view.widthOf(name, true), this.colRoom) + (said ? this.view.widthOfSmall(said) + GLOSS_GAP : 0)
    );
  }

  /* The distance in pixels at which column labels do not overlap. */
  get columnDistance() {
    if (this.upright) return this.colText + (this.panel.cols ? 0 : 10);
    return !this.colGlosses && (this.turned || this.stacks?.every(Boolean)) ? this.step - 2 : this.slant;
  }

  get slant() {
    return this.step / SLANT - 2;
  } // distance of slanted labels in pixels

  /* Draw every n-th label if not all fit; the labels of a pick replace their neighbours. */
  draw(pen, figure, pickedRow, pickedCol) {
    const { panel, cols, w, h, group } = figure;
    const { block, shape } = panel;
    const every = (space, size) =>
      [1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100, 128, 200].find((n) => n * size >= space) ?? Math.ceil(space / size);
    const tall = this.step;
    const wide = this.columnDistance;
    const free = (at, picked, size, space) => picked === undefined || Math.abs(at - picked) * size >= space;
    for (let r = 0, by = every(panel.rows ? tall : 2 * tall, h); r < shape[0]; r += by)
      if (free(r, pickedRow, h, tall)) this.row(pen, figure, r, figure.rowName(r * block[0]));
    for (let k = 0, by = every(this.dense ? this.view.small + 1 : wide, w); k < cols; k += by)
      if (free(k, pickedCol, w, wide)) this.column(pen, figure, k, figure.colName(k * group * block[1]));
  }

  row(pen, { left, top, h }, r, name, back) {
    if (this.bare) return; // the rows have the labels of the previous panel
    const said = this.rowGlosses?.get(name);
    const middle = top + (r + 0.5) * h;
    const apart = said ? this.view.small / 2 + 1 : 0;
    this.write(pen, name, this.rowText, left - 5, middle - apart, "right", back);
    if (said) this.small(pen, said, left - 5, middle - apart + this.step / 2 + this.view.small / 2 + 1, "right");
  }

  column(pen, { left, top, w }, k, name, back) {
    const x = left + (k + 0.5) * w;
    const said = this.colGlosses?.get(name);
    const under = this.colGlosses ? this.view.small + 3 : 0;
    if (said && this.upright) this.small(pen, said, x, top - 4 - this.view.small / 2, "center");
    if (this.upright)
      return this.write(pen, name, this.colText, x, top - 5 - under - this.view.type / 2, "center", back);
    const size = this.dense && !back ? this.view.small : this.view.type;
    if (stacked(name) && !this.colGlosses) return this.stack(pen, name, x, top - 5, back, size);
    pen.save();
    pen.translate(x, top - 5);
    pen.rotate(-Math.PI / ((this.turned || this.dense) && !this.colGlosses ? 2 : 4));
    this.write(pen, name, this.colText, 0, 0, "left", back, size);
    if (said) this.small(pen, said, this.whole(name, "") + GLOSS_GAP, 1, "left");
    pen.restore();
  }

  /* Draw a gloss in the smaller font. */
  small(pen, said, x, y, align) {
    const { view } = this;
    Object.assign(pen, {
      font: view.font.replace(/^\d+/, view.small),
      textAlign: align,
      textBaseline: "middle",
      fillStyle: view.ink,
      globalAlpha: GLOSS_OPACITY,
    });
    pen.fillText(said, x, y);
    pen.globalAlpha = 1;
  }

  /* Draw a stacked label whose last character ends at `bottom`. */
  stack(pen, name, x, bottom, back, size) {
    const { view } = this;
    const step = size + 2;
    const parts = [...name];
    const font = view.font.replace(/^\d+/, size);
    Object.assign(pen, { font: back ? `bold ${font}` : font, textAlign: "center", textBaseline: "middle" });
    if (back) {
      pen.fillStyle = back;
      pen.fillRect(x - step / 2 - 1, bottom - parts.length * step, step + 2, parts.length * step);
    }
    pen.fillStyle = back ? view.paper : view.ink;
    parts.forEach((part, i) => {
      pen.fillText(part, x, bottom - (parts.length - i - 0.5) * step);
    });
  }

  /* Draw a label shortened to `room` pixels; with a background colour if it is picked. */
  write(pen, name, room, x, y, align, back, size = this.view.type) {
    if (!name) return; // a single row, such as ids, has no label
    const { view } = this;
    const { ink, paper } = view;
    const bold = Boolean(back);
    const font = view.font.replace(/^\d+/, size);
    Object.assign(pen, { font: bold ? `bold ${font}` : font, textAlign: align, textBaseline: "middle" });
    const fits = (text) => view.widthOf(text, bold) <= room + 1;
    const text = shorten(name, fits);
    if (back) {
      const wide = view.widthOf(text, bold) + 6;
      const high = view.type + 3;
      pen.fillStyle = back;
      pen.fillRect({ right: x - wide + 3, left: x - 3, center: x - wide / 2 }[align], y - high / 2 - 0.5, wide, high);
    }
    pen.fillStyle = back ? paper : ink;
    pen.fillText(isolateParts(text), x, y);
  }
}
