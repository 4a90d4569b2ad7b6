/* Pooled matrices of attention weights, as `pool` of viz_core/figures/panels.py makes them. */

/* Pool a matrix by the largest value of each block, NaN first; kept: the index of the value in its block, row by
 * row. */
export function pooled(values, [rows, cols], [high, wide]) {
  const shape = [Math.ceil(rows / high), Math.ceil(cols / wide)];
  const best = new Float32Array(shape[0] * shape[1]).fill(-Infinity);
  const kept = new Uint16Array(best.length);
  for (let t = 0; t < rows; t++) {
    for (let s = 0; s < cols; s++) {
      const cell = Math.floor(t / high) * shape[1] + Math.floor(s / wide);
      const x = values[t * cols + s];
      if (Number.isNaN(best[cell]) || !(x > best[cell] || Number.isNaN(x))) continue;
      [best[cell], kept[cell]] = [x, (t % high) * wide + (s % wide)];
    }
  }
  return { shape, best, kept };
}

/* Return the bytes of an array, padded to a multiple of 4. */
export function padded(array) {
  const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  const found = new Uint8Array(Math.ceil(bytes.length / 4) * 4);
  found.set(bytes);
  return found;
}

export const largestOf = (values) => values.reduce((most, x) => (x > most && x < Infinity ? x : most), 0) || 1;

/* Return the indices of the `count` largest values, NaN first. */
export function largestPlaces(values, count) {
  const rank = (x) => (Number.isNaN(x) ? Infinity : x);
  return [...values.keys()].sort((a, b) => rank(values[b]) - rank(values[a])).slice(0, count);
}
