/* The rows of the table as they are sent (`stage_table_json`): each value once, and in the rows its index. */

export const readRows = ({ values, extras, rows }) =>
  rows.map((indices) => {
    const found = indices.slice(0, -1).map((index) => values[index]);
    const [block, part] = found.splice(-2);
    return { cells: found, block, part, ...extras[indices.at(-1)] };
  });
