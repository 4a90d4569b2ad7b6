/* Return the content of the values table of a chart: a row per x value, a column per series. */

function curvesTable({ chart }) {
  const read = chart.series.filter((s) => s.n), every = [...new Set(read.flatMap((s) => [...s.x]))].sort((a, b) => a - b);
  const apart = Math.max(1, Math.ceil(every.length / MOST_LINES)), places = every.filter((x, i) => i % apart === 0);
  const values = read.map((s) => new Map(Array.from(s.x, (x, i) => [x, s.y[i]])));
  return {
    title: `${chart.title}: ${chart.yTitle}`, rows: places.length, cols: read.length, at: null,
    note: apart > 1 ? _("one of every {n} points", { n: apart }) : "",
    rowName: (row) => `${chart.xTitle} ${exact(places[row])}`,
    colName: (col) => read[col].name,
    value: (row, col) => (values[col].has(places[row]) ? exact(values[col].get(places[row])) : "–"),
  };
}
