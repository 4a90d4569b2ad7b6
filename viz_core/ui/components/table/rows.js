/* The rows of the table as they are sent (`stage_table_json`): each value once, and in the rows its index. */

export const readRows = ({ values, extras, rows }) =>
  rows.map((indices) => {
    const [path, local, ...others] = indices.slice(0, -1).map((index) => values[index]);
    const [block, part] = others.splice(-2);
    return { cells: [path + local, ...others], block, part, ...extras[indices.at(-1)] };
  });
