/* The visible range of a zoomed axis, [low, high]. */

import { clamp } from "./numbers.js";

/* Whether two full ranges of an axis are similar enough to keep a zoom. */
export const sameReach = ([a, b], [c, d]) => Math.max(Math.abs(a - c), Math.abs(b - d)) <= 0.25 * Math.abs(b - a);

/* Scale a range by a factor around a value, or around its middle. */
export function scaledRange([low, high], by, around = (low + high) / 2) {
  const half = ((high - low) / 2) * by;
  return [around - half, around + half];
}

/* Return the range of at least `least` that lies in the full one, moved as little as possible. */
export function clampedRange([low, high], [first, last], least) {
  const most = last - first;
  const wide = clamp(high - low, Math.min(most, least), most);
  const start = clamp((low + high - wide) / 2, first, last - wide);
  return [start, start + wide];
}

/* Move a range just far enough that a value is visible, with a margin of a twentieth. */
export function pannedRange([low, high], value) {
  const margin = 0.05 * (high - low);
  const by = Math.min(0, value - margin - low) || Math.max(0, value + margin - high);
  return [low + by, high + by];
}

/* Whether a range is nearly the full one. */
export const isFullRange = ([low, high], [first, last]) => high - low > 0.999 * (last - first);
