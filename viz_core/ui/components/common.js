/* What several components use; put in front of each script by viz_core/figures/assets.py, behind THEME. */

/* An element of HTML, not yet anywhere. */
const make = (tag, className = "", text = "") => Object.assign(document.createElement(tag), { className, textContent: text });

/* An element of SVG, the last child of its parent. */
function draw(parent, tag, attributes = {}, text = "") {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  if (text) node.textContent = text;
  return parent.appendChild(set(node, attributes));
}

function set(node, attributes) {
  for (const name in attributes) node.setAttribute(name, attributes[name]);
  return node;
}

const clamp = (x, low, high) => Math.max(low, Math.min(high, x));
const channels = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)); // "#rrggbb" → red, green, blue
const minus = (number) => number.replaceAll("-", "−");

/* What Python packed: a header, and the buffer in which numbers begin at `start`. */
function unpack(bytes) {
  const buffer = bytes.slice().buffer; // a copy of its own begins at a multiple of 4
  const start = 4 + new DataView(buffer).getUint32(0, true);
  return [JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, start - 4))), buffer, start];
}
