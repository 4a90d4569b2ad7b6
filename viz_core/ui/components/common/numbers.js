/* Numbers as text. */

export const clamp = (x, low, high) => Math.max(low, Math.min(high, x));

export const minus = (number) => number.replaceAll("-", "−");

/* Return the name of a number that is not finite, "" for others. */
export function special(x) {
  if (Number.isNaN(x)) return "NaN";
  return x === Infinity ? "+∞" : x === -Infinity ? "−∞" : "";
}

/* Format with a number of significant digits, and hyphens as signs: "0.1235", "-1e-7". */
export function precise(x, digits = 6) {
  return special(x) || String(Number(x.toPrecision(digits)));
}

/* Format with a number of significant digits, and minus signs: "0.1235", "−1e−7". */
export const rounded = (x, digits) => minus(precise(x, digits));

/* Format with a number of decimals; a zero has no sign. */
export const withDecimals = (x, digits) => minus(x.toFixed(digits)).replace(/^−(0\.?0*)$/, "$1");

/* Format a share like `percent` of viz_core/messages/number_format.py: two decimals, "< 0.01%" and "> 99.99%" at the
 * ends. */
export function percent(x) {
  if (x > 0 && x < 5e-5) return "< 0.01%";
  return x >= 0.99995 && x < 1 ? "> 99.99%" : `${(100 * x).toFixed(2)}%`;
}

/* Format a number with at most four digits for a cell of a matrix: "0", "0.125", "12.5", "1235", "4e-4". */
export function cellNumber(x) {
  const size = Math.abs(x);
  if (size !== 0 && (size < 1e-3 || size >= 1e4)) return x.toExponential(0);
  return Number.isInteger(x) ? String(x) : x.toFixed(clamp(2 - Math.floor(Math.log10(size)), 0, 3));
}

/* Format an attention weight with three decimals: "0.125", "3e−5", "> 0.999" where it would round to 1. */
export function weightNumber(x) {
  if (Number.isNaN(x)) return "NaN";
  if (x >= 0.9995 && x < 1) return ">\u00a00.999";
  return x >= 0.0005 || x === 0 ? x.toFixed(3) : minus(x.toExponential(0));
}
