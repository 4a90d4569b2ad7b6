/* The legend of a panel of the canvas: its colour range, the cell styles that occur in it, and remarks. */

import { make } from "../common/dom.js";
import { swatchOf } from "../common/hatching.js";
import { _ } from "../common/messages.js";
import { rounded } from "../common/numbers.js";

export function drawLegend(figure) {
  const { panel, view, found } = figure;
  const [rows, cols] = panel.block;
  const pooled = [rows, cols * figure.group];
  const entry = (className, background, before, after) => {
    const part = make("span");
    const mark = make("span", className);
    mark.style.background = background;
    part.append(before, mark, after);
    figure.legend.append(part);
  };
  const { fill, line } = view.colours.masked;
  const number = (x) => rounded(x, Math.abs(x) < 1000 ? 3 : 6);
  figure.legend.replaceChildren(figure.shown.length ? "" : make("span", "note", _("no values")));
  if (!figure.shown.length) return;
  if (panel.kind === "mask")
    view.colours.mask.forEach((colour, i) => {
      entry("swatch", colour, "", String(i));
    });
  else if (panel.kind === "classes")
    panel.names.forEach((name, i) => {
      const look = view.colours.classes[i];
      if (found.has(name)) entry("swatch", look.mark ? swatchOf(figure.scale, look) : look.fill, "", name);
    });
  else if (panel.kind !== "ids") {
    const colours = panel.kind === "signed" ? view.colours.diverging : view.colours.sequential;
    entry("bar", `linear-gradient(90deg, ${colours.join(", ")})`, number(panel.low), number(panel.high));
  }
  const looks = {
    masked: `repeating-linear-gradient(135deg, ${line} 0 1px, ${fill} 1px 4px)`,
    missing: swatchOf(figure.scale, view.colours.missing),
    ...THEME.special,
  };
  const reasons = [...figure.hatched].sort().map((code) => figure.reason(code));
  const named = (name) =>
    reasons
      .filter(({ look }) => look === name)
      .map(({ legend }) => legend)
      .join(", ");
  for (const [look, colour] of Object.entries(looks))
    if (found.has(look)) entry("swatch", colour, "", named(look) || look);
  if (panel.remark) figure.legend.append(make("span", "note", panel.remark));
  if (pooled[0] * pooled[1] > 1)
    figure.legend.append(
      make(
        "span",
        "note",
        panel.kind === "classes"
          ? _("each cell stands for {n} pairs, blocked ones first", { n: pooled[0] * pooled[1] })
          : _("each cell: the largest in size of {n} values", { n: pooled[0] * pooled[1] }),
      ),
    );
}
