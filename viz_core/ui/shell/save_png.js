/* A picture as PNG: its SVG drawn at twice the size, with 300 dots an inch, its title and its link written into the file. */

const TWICE = 2, MOST_SIDE = 16000, MOST_PIXELS = 100e6; // pixels of a file that browsers can make
const DOTS_PER_METRE = 11811; // 300 an inch

const CRC = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let bit = 0; bit < 8; bit++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
  return n;
});

/* A chunk of a PNG file: its length, its kind and its data, and the checksum of both. */
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

/* A text with its keyword, not compressed, in no particular language. */
const international = (keyword, text) => chunk("iTXt", new TextEncoder().encode(`${keyword}\0\0\0\0\0${text.replaceAll("\0", "")}`));

function resolution() {
  const data = new Uint8Array(9), view = new DataView(data.buffer);
  [0, 4].forEach((at) => view.setUint32(at, DOTS_PER_METRE));
  data[8] = 1; // the unit is the metre
  return chunk("pHYs", data);
}

/* The PNG of what `asSvg` made, as a Blob. */
async function asPng({ svg, width, height }, { title, link }) {
  if (TWICE * Math.max(width, height) > MOST_SIDE || TWICE ** 2 * width * height > MOST_PIXELS)
    throw new Error(_("This picture of {width} × {height} pixels is too large for a PNG; save it as SVG.", { width, height }));
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" })), image = new Image();
  try {
    image.src = address;
    await image.decode();
    const sheet = Object.assign(make("canvas"), { width: TWICE * width, height: TWICE * height });
    sheet.getContext("2d").drawImage(image, 0, 0, sheet.width, sheet.height);
    const drawn = new Uint8Array(await (await new Promise((done) => sheet.toBlob(done, "image/png"))).arrayBuffer());
    const head = 33; // the signature, and the first chunk, which is the header
    const written = [resolution(), international("Title", title), international("Source", link), international("Software", SOFTWARE)];
    return new Blob([drawn.subarray(0, head), ...written, drawn.subarray(head)], { type: "image/png" });
  } finally {
    URL.revokeObjectURL(address);
  }
}
