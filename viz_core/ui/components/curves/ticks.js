/* The ticks of an axis, as [value, label]. */

import { minus } from "../common/numbers.js";

const power = (n) => `10${[...String(n)].map((d) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[d] ?? "⁻").join("")}`;

/* Return about `count` round ticks from low to high, at least `least` apart. */
export function ticks(low, high, count, least = 0) {
  const raw = (high - low) / Math.max(1, count);
  const size = 10 ** Math.floor(Math.log10(raw));
  const step = Math.max(least, size * [1, 2, 5, 10].find((m) => m * size >= raw * 0.999));
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const format = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++)
    found.push([i * step, minus((i * step || 0).toLocaleString("en-US", format))]);
  return found;
}

/* Return ticks of a logarithmic axis as [log10, label]: powers of ten; also 2 and 5 times these if there are few; round
 * numbers if the axis shows less than that. low, high: the logarithms of the ends. */
export function powersOfTen(low, high, count) {
  const powers = ticks(Math.ceil(low), Math.floor(high), 6, 1).map(([n]) => [n, power(n)]);
  if (powers.length > 2) return powers;
  const fine = [];
  const plain = (x) => x.toLocaleString("en-US", { maximumFractionDigits: 4 });
  for (let n = Math.floor(low); n <= high; n++)
    for (const m of [1, 2, 5])
      fine.push([n + Math.log10(m), Math.abs(n) < 5 ? plain(m * 10 ** n) : `${m}·${power(n)}`]);
  const seen = fine.filter(([at]) => at >= low && at <= high);
  if (seen.length > 2) return seen;
  return ticks(10 ** low, 10 ** high, count).map(([value, label]) => [Math.log10(value), label]);
}
