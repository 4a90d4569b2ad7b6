/* Return the content of the values table of a chart: a row per x value, a column per series. */

import { _ } from "../common/messages.js";
import { rounded } from "../common/numbers.js";
import { MOST_LINES } from "../common/values_table.js";

export function curvesTable({ chart }) {
  const read = chart.series.filter((s) => s.n);
  const every = [...new Set(read.flatMap((s) => [...s.x]))].sort((a, b) => a - b);
  const apart = Math.max(1, Math.ceil(every.length / MOST_LINES));
  const places = every.filter((_x, i) => i % apart === 0);
  const values = read.map((s) => new Map(Array.from(s.x, (x, i) => [x, s.y[i]])));
  return {
    title: `${chart.title}: ${chart.yTitle}`,
    rows: places.length,
    cols: read.length,
    at: null,
    note: apart > 1 ? _("one of every {n} points", { n: apart }) : "",
    rowName: (row) => `${chart.xTitle} ${rounded(places[row], 7)}`,
    colName: (col) => read[col].name,
    value: (row, col) => (values[col].has(places[row]) ? rounded(values[col].get(places[row]), 7) : "–"),
  };
}
