/* "Show as a table": the numbers of a picture as a table with headings, built when it is opened. */

import { copyNumbers } from "./copying.js";
import { make } from "./dom.js";
import { _ } from "./messages.js";
import { clamp } from "./numbers.js";

export const MOST_LINES = 40; // rows of a table, and columns

/* Return [first, end] of at most MOST_LINES of n lines around one of them. */
function around(n, at) {
  const first = clamp((at ?? 0) - MOST_LINES / 2, 0, Math.max(0, n - MOST_LINES));
  return [first, Math.min(n, first + MOST_LINES)];
}

export class ValuesTable {
  /* foot, parent: the elements to which the button and the table are appended. read: returns the current content: the
   * title, the numbers of rows and columns, the current [row, column] `at` or null, the functions rowName, colName and
   * value, and a note or "". */
  constructor(foot, parent, read) {
    this.read = read;
    this.button = foot.appendChild(make("button", "as-table"));
    this.button.type = "button";
    this.button.onclick = () => this.turn(this.box.hidden);
    this.box = parent.appendChild(make("div", "numbers"));
    Object.assign(this.box, { hidden: true, tabIndex: 0 });
    this.box.setAttribute("role", "region");
    this.box.oncopy = copyNumbers; // also where no Save menus are, as in a notebook
    this.box.onkeydown = (event) => event.stopPropagation(); // keys scroll the table and are not shortcuts of the page
  }

  /* Use a shorter button text if many small pictures have a button each. */
  shorten(brief) {
    this.brief = brief;
    this.made = null;
    if (this.now !== undefined) this.show(this.now);
  }

  turn(open) {
    this.box.hidden = !open;
    this.box.replaceChildren();
    this.made = null;
    this.show(this.now);
  }

  /* Update the table after a change of the picture or the current cell; `now` identifies the state, and equal states
   * are skipped. */
  show(now) {
    this.now = now;
    const open = !this.box.hidden;
    const named = `${open} ${now}`;
    if (this.made === named) return;
    this.made = named;
    const shown = this.read();
    this.button.hidden = !shown.rows || !shown.cols;
    const said = open ? _("Hide the table") : _("Show as a table");
    this.button.textContent = this.brief && !open ? _("Table") : said;
    this.button.setAttribute("aria-expanded", open);
    this.button.setAttribute("aria-label", `${said}: ${shown.title}`);
    this.box.setAttribute("aria-label", shown.title);
    if (!open) return;
    const { scrollTop, scrollLeft } = this.box;
    this.box.replaceChildren(this.table(shown));
    Object.assign(this.box, { scrollTop, scrollLeft });
  }

  table({ title, rows, cols, at, rowName, colName, value, note }) {
    const table = make("table");
    const [top, bottom] = around(rows, at?.[0]);
    const [left, right] = around(cols, at?.[1]);
    const about = { title, first: top, last: bottom - 1, rows, left, right: right - 1, columns: cols };
    const whole = bottom - top === rows && right - left === cols;
    const said = whole
      ? title
      : _("{title}: rows {first} to {last} of {rows}, columns {left} to {right} of {columns}", about);
    table.append(make("caption", "", note ? `${said} (${note})` : said));
    const line = (parent, first) => {
      const row = parent.appendChild(make("tr"));
      row.append(first);
      return row;
    };
    const heading = (name, scope) => Object.assign(make("th", "", name), { scope });
    const head = line(table.createTHead(), make("td"));
    const body = table.createTBody();
    for (let c = left; c < right; c++) head.append(heading(colName(c), "col"));
    for (let r = top; r < bottom; r++) {
      const row = line(body, heading(rowName(r), "row"));
      for (let c = left; c < right; c++) {
        const cell = row.appendChild(make("td", "", value(r, c)));
        if (at && at[0] === r && at[1] === c) cell.setAttribute("aria-current", "true");
      }
    }
    return table;
  }
}
