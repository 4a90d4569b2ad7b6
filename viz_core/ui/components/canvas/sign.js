/* The operator before a panel in an equation of matrices, and the split of features into heads. */

import { make } from "../common/dom.js";

const SIGN_WIDE = 86; // pixels before words wrap
const SHORT_SIGN = 3; // characters of an operator in large type

export class Sign {
  constructor(view) {
    this.view = view;
    this.node = make("div", "sign");
    [this.text, this.split] = [make("div"), make("div", "split")];
    this.node.append(this.text, this.split);
  }

  get shown() {
    return Boolean(this.operator);
  }

  update({ sign, heads }) {
    const key = JSON.stringify([sign, heads]);
    if (key === this.key) return;
    Object.assign(this, { key, operator: sign, heads });
    this.text.replaceChildren(...sign.split(/\^(\S+)/).map((part, i) => (i % 2 ? make("sup", "", part) : part)));
    this.split.hidden = !heads;
    this.split.replaceChildren(...(heads ? this.pieces(heads) : []));
  }

  /* Return a bar, and the same bar split into heads with the shown head highlighted; reversed if heads are joined. */
  pieces({ n, shown, sizes }) {
    const whole = make("div", "features");
    const cut = make("div", "features");
    const joined = sizes.indexOf("×") < sizes.indexOf("→");
    whole.append(make("i"));
    for (let h = 0; h < n; h++) {
      const piece = cut.appendChild(make("i", h === shown ? "shown" : ""));
      piece.style.background = THEME.heads[h % THEME.heads.length];
    }
    return [make("small", "", sizes), ...(joined ? [cut, whole] : [whole, cut])];
  }

  /* Set the size of the text and return its width in pixels. */
  measure() {
    const { view, operator, heads } = this;
    const plain = operator.replaceAll("^", "").trim();
    const large = plain.length <= SHORT_SIGN;
    const size = Math.round(view.type * (large ? 1.8 : 1.05));
    const wide = (text) => Math.ceil((view.widthOf(text, true) * size) / view.type) + 6;
    const most = (SIGN_WIDE * view.type) / 14;
    const words = plain.split(/\s+/).map(wide);
    this.width = large ? wide(plain) : Math.max(...words, Math.min(wide(plain), most), heads ? most : 0);
    Object.assign(this.node.style, { fontSize: `${size}px`, width: `${this.width}px` });
    return this.width;
  }
}
