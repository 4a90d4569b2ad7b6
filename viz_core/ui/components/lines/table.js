/* Return the content of the values table of the lines: a row per query, a column per shown head, in each cell the
 * strongest key. */

import { glossed } from "../common/labels.js";
import { _ } from "../common/messages.js";
import { cellNumber } from "../common/numbers.js";

export function linesTable(view) {
  const { data } = view;
  const heads = [...view.shown].sort((a, b) => a - b);
  const { queries, keys, count, values, places } = data;
  const number = (axis, at) => data.numbers?.[axis][at] ?? at; // the original position
  const strongest = (query, head) => {
    const from = (head * queries.length + query) * count;
    let best = from;
    for (let i = from; i < from + count; i++) if (values[i] > values[best]) best = i;
    return count
      ? `${glossed(data.glosses, keys[places[best]])} (${number(1, places[best])}) ${cellNumber(values[best], 1)}`
      : "–";
  };
  return {
    title: data.title,
    rows: queries.length,
    cols: heads.length,
    note: _("the strongest key of each query, and its weight"),
    at: view.lock?.[0] === "query" ? [view.lock[1], 0] : null,
    rowName: (query) => `${glossed(data.glosses, queries[query])} (${number(0, query)})`,
    colName: (col) => _("head {head}", { head: heads[col] }),
    value: (query, col) => strongest(query, heads[col]),
  };
}
