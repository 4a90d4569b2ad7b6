/* "Show as a table": the numbers of a picture as a table with headings, made only when it is asked for. */

const MOST_LINES = 40; // rows of a table, and columns

/* At most MOST_LINES of n lines, around one of them: [first, end]. */
function around(n, at) {
  const first = clamp((at ?? 0) - MOST_LINES / 2, 0, Math.max(0, n - MOST_LINES));
  return [first, Math.min(n, first + MOST_LINES)];
}

class ValuesTable {
  /* read() tells what the picture shows now: its title; the numbers of its rows and columns; the row and column `at` which the
   * reader is, or null; functions that name a row and a column and write a cell; and a note below the table, or "".
   * The button goes to the end of `foot`, the table to the end of `parent`. */
  constructor(foot, parent, read) {
    this.read = read;
    this.button = foot.appendChild(make("button", "as-table"));
    this.button.type = "button";
    this.button.onclick = () => this.turn(this.box.hidden);
    this.box = parent.appendChild(make("div", "numbers"));
    Object.assign(this.box, { hidden: true, tabIndex: 0 });
    this.box.setAttribute("role", "region");
    this.box.onkeydown = (event) => event.stopPropagation(); // they scroll the table, and are no shortcuts of the page
  }

  /* With a shorter name, where many small pictures have a button each. */
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

  /* The picture has changed, or the reader has moved in it; `now` says to what: the table is written anew where it differs. */
  show(now) {
    this.now = now;
    const open = !this.box.hidden, named = `${open} ${now}`;
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
    const table = make("table"), [top, bottom] = around(rows, at?.[0]), [left, right] = around(cols, at?.[1]);
    const about = { title, first: top, last: bottom - 1, rows, left, right: right - 1, columns: cols };
    const whole = bottom - top === rows && right - left === cols;
    const said = whole ? title : _("{title}: rows {first} to {last} of {rows}, columns {left} to {right} of {columns}", about);
    table.append(make("caption", "", note ? `${said} (${note})` : said));
    const line = (parent, first) => {
      const row = parent.appendChild(make("tr"));
      row.append(first);
      return row;
    };
    const heading = (name, scope) => Object.assign(make("th", "", name), { scope });
    const head = line(table.createTHead(), make("td")), body = table.createTBody();
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
