/* Sorting of the table of head statistics. */

/* Return the order of rows by the values of a column, texts or numbers; rows without a value are last. */
export function sortedRows(values, down) {
  const way = down ? -1 : 1;
  const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b) : a - b) * way;
  const isMissing = (row) => Number(values[row] === null);
  return [...values.keys()].sort(
    (i, j) => isMissing(i) - isMissing(j) || (isMissing(i) ? 0 : compare(values[i], values[j])),
  );
}
