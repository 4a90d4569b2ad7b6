/* Messages of bytes: a header, and arrays behind it (`with_header` of viz_core/figures/panels.py). */

/* Return the header, the buffer, and the offset in it at which the arrays begin. */
export function unpack(bytes) {
  const buffer = bytes.slice().buffer; // a copy, which is aligned to 4 bytes
  const start = 4 + new DataView(buffer).getUint32(0, true);
  return [JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, start - 4))), buffer, start];
}

/* Return the objects of a table: the names of their fields, and a row of values for each. */
export const records = ({ fields, rows }) =>
  rows.map((row) => Object.fromEntries(fields.map((field, i) => [field, row[i]])));

/* Return the message of a header and arrays. */
export function withHeader(header, ...arrays) {
  const text = new TextEncoder().encode(JSON.stringify(header));
  const start = Math.ceil((4 + text.length) / 8) * 8;
  const bytes = new Uint8Array(arrays.reduce((size, array) => size + array.byteLength, start)).fill(32, 0, start);
  new DataView(bytes.buffer).setUint32(0, start - 4, true);
  bytes.set(text, 4);
  let at = start;
  for (const array of arrays) {
    bytes.set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), at);
    at += array.byteLength;
  }
  return bytes;
}
