/* The chunks of a PNG file that say its resolution and hold texts. */

const DOTS_PER_METRE = 11811; // 300 an inch

const CRC = Uint32Array.from({ length: 256 }, (_, n) => {
  let rest = n;
  for (let bit = 0; bit < 8; bit++) rest = rest & 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1;
  return rest;
});

/* Return a chunk of a PNG file: length, type, data, and the CRC of type and data. */
function chunk(kind, data) {
  const bytes = new Uint8Array(12 + data.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, data.length);
  bytes.set(
    [...kind].map((letter) => letter.charCodeAt(0)),
    4,
  );
  bytes.set(data, 8);
  let sum = 0xffffffff;
  for (let i = 4; i < 8 + data.length; i++) sum = CRC[(sum ^ bytes[i]) & 255] ^ (sum >>> 8);
  view.setUint32(8 + data.length, ~sum >>> 0);
  return bytes;
}

/* Return an uncompressed iTXt chunk with a keyword and a text, without a language. */
export const textChunk = (keyword, text) =>
  chunk("iTXt", new TextEncoder().encode(`${keyword}\0\0\0\0\0${text.replaceAll("\0", "")}`));

export function resolutionChunk() {
  const data = new Uint8Array(9);
  const view = new DataView(data.buffer);
  for (const at of [0, 4]) view.setUint32(at, DOTS_PER_METRE);
  data[8] = 1; // the unit is the metre
  return chunk("pHYs", data);
}
