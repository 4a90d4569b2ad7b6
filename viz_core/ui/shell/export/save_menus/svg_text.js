/* SVG elements as text, and what they take from style sheets. */

// lone surrogates, and most control characters
const NOT_XML = /\p{Cs}|(?![\t\n\r\u0080-\u009f])\p{Cc}|[\ufffe\uffff]/gu;

/* Escape text for XML. Characters that XML does not allow (most control characters, lone surrogates) become "�". */
export const asXml = (text) =>
  String(text)
    .replace(NOT_XML, "\ufffd")
    .replace(/[&<>"\t\n\r]/g, (c) => `&#${c.charCodeAt(0)};`);
export const px = (x) => String(Math.round(x * 100) / 100);

export function element(name, attributes, inner = "") {
  const own = Object.entries(attributes).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const said = own.map(([key, value]) => ` ${key}="${asXml(typeof value === "number" ? px(value) : value)}"`).join("");
  return inner ? `<${name}${said}>${inner}</${name}>` : `<${name}${said}/>`;
}

/* Parse a CSS font such as "bold 14px Source Sans, sans-serif". */
export function fontOf(font) {
  const [, look, size, family] = font.match(/^(.*?)([\d.]+)px(?:\/\S+)? (.*)$/);
  const weight = look.match(/bold|\b\d00\b/)?.[0] ?? "400";
  return { size: Number(size), family, weight, style: look.includes("italic") ? "italic" : "normal" };
}

/* Split at top-level commas, not those inside brackets. */
export function splitCommas(text) {
  const parts = [""];
  let depth = 0;
  for (const c of text) {
    depth += (c === "(") - (c === ")");
    if (c === "," && !depth) parts.push("");
    else parts[parts.length - 1] += c;
  }
  return parts.map((part) => part.trim());
}

/* Return the lines of a text that is wrapped between words. A longer word is wrapped, too. widthOf: of a text. */
export function wrapped(text, width, widthOf) {
  const lines = [""];
  for (const word of text.split(/(?<= )/)) {
    const parts = widthOf(word) > width ? [...word] : [word];
    for (const part of parts)
      if (widthOf(lines.at(-1) + part) <= width) lines[lines.length - 1] += part;
      else lines.push(part.trimStart());
  }
  return lines.map((line) => line.trimEnd());
}

export const localUrls = (value) => value.replace(/url\(["']?[^#)]*#([^"')]+)["']?\)/g, "url(#$1)");

/* Return the part of a box that a background image covers, if it has a size and is not repeated. */
export function partOf(at, size, position, repeat) {
  const of = (text, whole) => (text.endsWith("%") ? (parseFloat(text) / 100) * whole : parseFloat(text));
  const [wide, high] = size.split(" ");
  const [right, down] = position.split(" ");
  if (repeat !== "no-repeat" || !high || size.includes("auto")) return at;
  const width = of(wide, at.width);
  const height = of(high, at.height);
  return { x: at.x + of(right, at.width - width), y: at.y + of(down, at.height - height), width, height };
}

/* Return the colour and the place (a share of the length, or null) of each stop of a CSS gradient.
 * parts: "red 0 1px", "#fff 50%", or "blue". length: that of the gradient in pixels. */
export function gradientStops(parts, length) {
  return parts.flatMap((part) => {
    const places = part.match(/(-?[\d.]+)(px|%)(?=$|\s)/g) ?? [];
    const colour = part.replace(/(\s+-?[\d.]+(px|%))+$/, "");
    const share = (place) => parseFloat(place) / (place.endsWith("%") ? 100 : length);
    return places.length ? places.map((place) => [colour, share(place)]) : [[colour, null]];
  });
}
