/* Patterns that are distinguishable without colour: lines, crossed lines, or dots. See `replay` in dom.js for
 * `pen.hatch`. */

import { make } from "./dom.js";

const TILE = 6; // CSS pixels

/* Return one tile of a pattern: lines at 45 degrees, crossed lines, or dots. */
function tile(scale, { fill, line, mark }) {
  const tile = make("canvas");
  const size = Math.round(TILE * scale);
  Object.assign(tile, { width: size, height: size });
  const ink = tile.getContext("2d");
  ink.fillStyle = fill;
  ink.fillRect(0, 0, size, size);
  Object.assign(ink, { strokeStyle: line, fillStyle: line, lineWidth: scale });
  for (const shift of mark === "dots" ? [] : [-size, 0, size]) {
    ink.moveTo(shift - 2, size + 2);
    ink.lineTo(shift + size + 2, -2);
    if (mark === "cross") {
      ink.moveTo(shift - 2, -2);
      ink.lineTo(shift + size + 2, size + 2);
    }
  }
  ink.stroke();
  if (mark === "dots") {
    ink.arc(size / 2, size / 2, 1.2 * scale, 0, 7);
    ink.fill();
  }
  return tile;
}

/* Return the fill style of a pattern. scale: device pixels per CSS pixel. */
export function pattern(pen, scale, look) {
  if (pen.hatch) return pen.hatch(look);
  const pattern = pen.createPattern(tile(scale, look), "repeat");
  pattern.setTransform(new DOMMatrix().scale(1 / scale));
  return pattern;
}

/* Return the pattern as the CSS background of a legend swatch. */
export const swatchOf = (scale, look) => `url(${tile(scale, look).toDataURL()}) 0 0 / ${TILE}px`;
