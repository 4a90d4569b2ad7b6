/* Return the content of the values table of a panel of the canvas; its cells are sent cells, which are blocks if Python
 * pooled. */

import { glossed } from "../common/labels.js";
import { _ } from "../common/messages.js";

export function panelTable(figure) {
  const { panel } = figure;
  const [high, wide] = panel.block;
  const picked = figure.picked();
  const [rows, cols] = panel.shape;
  const name = (axis, labels, at) => {
    const number = figure.place(axis, at);
    return labels?.[at] ? `${glossed(panel.glosses, labels[at])} (${number})` : String(number);
  };
  const size = panel.block.join("×");
  const pooled =
    panel.kind === "classes"
      ? _("pooled {size}: blocked before allowed", { size })
      : _("pooled {size}: largest absolute value, sign kept", { size });
  return {
    title: panel.title,
    rows,
    cols,
    note: high * wide > 1 ? pooled : "",
    at: picked === null ? null : [Math.floor(picked / cols), picked % cols],
    rowName: (row) => name(0, panel.rows, row * high),
    colName: (col) => name(1, panel.cols, col * wide),
    value: (row, col) => figure.valueOf(row * cols + col),
  };
}
