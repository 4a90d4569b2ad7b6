/* Saving a picture as PNG: its SVG is drawn at twice the size, and the file holds the resolution (300 dpi), title and link. */

const SCALE = 2, MAX_SIDE = 16000, MAX_PIXELS = 100e6; // scale, and limits in pixels of what browsers can make
const DOTS_PER_METRE = 11811; // 300 an inch

const CRC = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let bit = 0; bit < 8; bit++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
  return n;
});

/* Return a chunk of a PNG file: length, type, data, and the CRC of type and data. */
function chunk(kind, data) {
  const bytes = new Uint8Array(12 + data.length), view = new DataView(bytes.buffer);
  view.setUint32(0, data.length);
  bytes.set([...kind].map((letter) => letter.charCodeAt(0)), 4);
  bytes.set(data, 8);
  let sum = 0xffffffff;
  for (let i = 4; i < 8 + data.length; i++) sum = CRC[(sum ^ bytes[i]) & 255] ^ (sum >>> 8);
  view.setUint32(8 + data.length, ~sum >>> 0);
  return bytes;
}

/* Return an uncompressed iTXt chunk with a keyword and a text, without a language. */
const textChunk = (keyword, text) => chunk("iTXt", new TextEncoder().encode(`${keyword}\0\0\0\0\0${text.replaceAll("\0", "")}`));

function resolutionChunk() {
  const data = new Uint8Array(9), view = new DataView(data.buffer);
  [0, 4].forEach((at) => view.setUint32(at, DOTS_PER_METRE));
  data[8] = 1; // the unit is the metre
  return chunk("pHYs", data);
}

/* Return the PNG of the result of `asSvg`, as a Blob. */
async function asPng({ svg, width, height }, { title, link }) {
  if (SCALE * Math.max(width, height) > MAX_SIDE || SCALE ** 2 * width * height > MAX_PIXELS)
    throw new Error(_("This picture of {width} × {height} pixels is too large for a PNG; save it as SVG.", { width, height }));
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" })), image = new Image();
  try {
    image.src = address;
    await image.decode();
    const sheet = Object.assign(make("canvas"), { width: SCALE * width, height: SCALE * height });
    sheet.getContext("2d").drawImage(image, 0, 0, sheet.width, sheet.height);
    const drawn = new Uint8Array(await (await new Promise((done) => sheet.toBlob(done, "image/png"))).arrayBuffer());
    const head = 33; // bytes: the signature and the IHDR chunk
    const written = [resolutionChunk(), textChunk("Title", title), textChunk("Source", link), textChunk("Software", SOFTWARE)];
    return new Blob([drawn.subarray(0, head), ...written, drawn.subarray(head)], { type: "image/png" });
  } finally {
    URL.revokeObjectURL(address);
  }
}
