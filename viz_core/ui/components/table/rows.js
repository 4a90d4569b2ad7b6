/* The rows of the table as they are sent (table.py): each value once, and in the rows its index. */

export const readRows = ({ values, rows }) =>
  rows.map(([indices, further = {}]) => {
    const found = indices.map((index) => values[index]);
    const [block, part] = found.splice(-2);
    return { cells: found, block, part, mark: "", was: {}, note: "", split: null, ...further };
  });
