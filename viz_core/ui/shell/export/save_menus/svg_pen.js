/* Writing SVG: a document that collects the elements of a file, and a 2D context that writes to it. `replay`
 * (components/common/dom.js) draws a canvas on that context as rectangles, paths and texts. Lengths are CSS pixels
 * of the page. */

import { make } from "../../../components/common/dom.js";
import { clamp } from "../../../components/common/numbers.js";
import { asXml, element, fontOf, px } from "./svg_text.js";

const MAX_RECTS = 20000; // heatmaps with more cells become one embedded image, drawn without smoothing
export const probe = { colours: new Map(), pen: null, fonts: new Map() };
probe.context = () =>
  (probe.pen ??= Object.assign(make("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true }));

/* Return any CSS colour as ["#rrggbb", opacity]. */
export function colourOf(colour) {
  let found = probe.colours.get(colour);
  if (!found) {
    const plain = colour.match(/^rgba?\(([\d.]+),? ([\d.]+),? ([\d.]+)(?:(?:,| \/) ([\d.]+))?\)$/);
    const srgb = colour.match(/^color\(srgb ([-\d.e]+) ([-\d.e]+) ([-\d.e]+)(?: \/ ([\d.e-]+))?\)$/);
    let parts = plain ? plain.slice(1, 4).map(Number) : srgb ? srgb.slice(1, 4).map((c) => 255 * c) : null;
    let alpha = Number((plain ?? srgb)?.[4] ?? 1);
    if (!parts) {
      const pen = probe.context();
      pen.clearRect(0, 0, 1, 1);
      pen.fillStyle = colour;
      pen.fillRect(0, 0, 1, 1);
      [...parts] = pen.getImageData(0, 0, 1, 1).data;
      alpha = parts.pop() / 255;
    }
    const hex = parts.map((c) => clamp(Math.round(c), 0, 255).toString(16).padStart(2, "0")).join("");
    found = [`#${hex}`, alpha];
    probe.colours.set(colour, found);
  }
  return found;
}

/* Return a colour as SVG attributes. name: "fill", "stroke" or another one with an opacity. */
export function paintAttributes(name, colour, strength = 1) {
  if (colour === "none" || colour.startsWith("url("))
    return { [name]: colour, [`${name}-opacity`]: strength < 1 ? px(strength) : null };
  const [hex, alpha] = colourOf(colour);
  const opacity = alpha * strength;
  return { [name]: hex, [`${name}-opacity`]: opacity < 1 ? String(Math.round(opacity * 1000) / 1000) : null };
}

export function stopAttributes(colour, strength = 1) {
  const [hex, alpha] = colourOf(colour);
  const opacity = alpha * strength;
  return { "stop-color": hex, "stop-opacity": opacity < 1 ? px(opacity) : null };
}

export class SvgDocument {
  /* left, top: the page position of the origin. family, size, colour: the defaults of text, omitted from text elements
   * that have them. */
  constructor(left, top, { family, size, colour }) {
    Object.assign(this, {
      left,
      top,
      family,
      size,
      colour,
      out: [],
      defs: [],
      fonts: new Set(),
      known: new Map(),
      parts: [],
    });
    this.box = [Infinity, Infinity, -Infinity, -Infinity]; // the bounding box of what is drawn so far
  }

  add(name, attributes, inner) {
    this.out.push(element(name, attributes, inner));
  }

  /* Add a group with everything that `inside` adds; no group if it adds nothing. */
  group(attributes, inside) {
    const at = this.out.push("") - 1;
    inside();
    if (this.out.length === at + 1) return void this.out.pop();
    this.out[at] = element("g", attributes, "\n").replace(/\n<\/g>$/, "");
    this.out.push("</g>");
  }

  /* Extend the bounding box by a rectangle of the page, clipped to `clip`. */
  extend({ left, top, right, bottom }, clip) {
    const [l, t, r, b] = clip
      ? [Math.max(left, clip.left), Math.max(top, clip.top), Math.min(right, clip.right), Math.min(bottom, clip.bottom)]
      : [left, top, right, bottom];
    if (r <= l || b <= t) return;
    const { box } = this;
    this.box = [
      Math.min(box[0], l - this.left),
      Math.min(box[1], t - this.top),
      Math.max(box[2], r - this.left),
      Math.max(box[3], b - this.top),
    ];
  }

  /* Add a definition, once for equal ones, and return the url(#…) that refers to it. */
  define(kind, attributes, inner) {
    const key = element(kind, attributes, inner);
    const id = this.known.get(key) ?? `lab-${this.known.size + 1}`;
    if (!this.known.has(key)) {
      this.known.set(key, id);
      this.defs.push(element(kind, { id, ...attributes }, inner));
    }
    return `url(#${id})`;
  }

  clip({ left, top, right, bottom }) {
    const at = {
      x: left - this.left,
      y: top - this.top,
      width: Math.max(0, right - left),
      height: Math.max(0, bottom - top),
    };
    return this.define("clipPath", {}, element("rect", at));
  }

  /* Return a fill pattern as in components/common/hatching.js: lines at 45 degrees, crossed lines, or dots. */
  hatch({ fill, line, mark }, more = {}) {
    const crossed = mark === "cross" ? "M-7 -1L1 7M-1 -1L7 7M5 -1L13 7" : "";
    const lines = element("path", {
      d: `M-7 7L1 -1M-1 7L7 -1M5 7L13 -1${crossed}`,
      ...paintAttributes("stroke", line),
    });
    const ink = mark === "dots" ? element("circle", { cx: 3, cy: 3, r: 1.2, ...paintAttributes("fill", line) }) : lines;
    const ground = element("rect", { width: 6, height: 6, ...paintAttributes("fill", fill) });
    return this.define("pattern", { width: 6, height: 6, patternUnits: "userSpaceOnUse", ...more }, ground + ink);
  }

  /* Add a text with its baseline at x, y; `anchor` says whether its start, middle or end is there. length: its width in
   * the page's font, which it keeps in any other font. */
  text(said, { x, y, anchor = "start", length, font, colour, strength, ...more }) {
    this.fonts.add(`${font.style}\n${font.family}`);
    this.add(
      "text",
      {
        x,
        y,
        "text-anchor": anchor === "start" ? null : anchor,
        ...(colour === this.colour && !(strength < 1) ? {} : paintAttributes("fill", colour, strength)),
        "font-size": font.size === this.size ? null : px(font.size),
        "font-family": font.family === this.family ? null : font.family,
        "font-weight": ["400", "normal"].includes(font.weight) ? null : font.weight,
        "font-style": font.style === "normal" ? null : font.style,
        textLength: length > 0 ? px(length) : null,
        lengthAdjust: length > 0 ? "spacingAndGlyphs" : null,
        ...more,
      },
      asXml(said),
    );
  }
}

/* A 2D context that writes to an `SvgDocument`, with the methods that the pictures use. */
export class SvgContext {
  constructor(sheet) {
    Object.assign(this, {
      sheet,
      matrix: new DOMMatrix(),
      saved: [],
      path: [],
      fillStyle: "#000000",
      strokeStyle: "#000000",
      lineWidth: 1,
      globalAlpha: 1,
      font: "10px sans-serif",
      textAlign: "start",
      textBaseline: "alphabetic",
      imageSmoothingEnabled: true,
    });
  }

  save() {
    const { fillStyle, strokeStyle, lineWidth, globalAlpha, font, textAlign, textBaseline } = this;
    this.saved.push({
      matrix: DOMMatrix.fromMatrix(this.matrix),
      fillStyle,
      strokeStyle,
      lineWidth,
      globalAlpha,
      font,
      textAlign,
      textBaseline,
    });
  }

  restore() {
    Object.assign(this, this.saved.pop());
  }
  translate(x, y) {
    this.matrix.translateSelf(x, y);
  }
  rotate(angle) {
    this.matrix.rotateSelf((angle * 180) / Math.PI);
  }
  scale(x, y) {
    this.matrix.scaleSelf(x, y);
  }
  hatch(look) {
    return this.sheet.hatch(look);
  }

  /* Return the attributes of a position: with a translation alone, no transform is needed. */
  at(x, y) {
    const { a, b, c, d, e, f } = this.matrix;
    if (a === 1 && b === 0 && c === 0 && d === 1) return { x: x + e, y: y + f };
    return {
      x,
      y,
      transform: `matrix(${[a, b, c, d].map((n) => Math.round(n * 1e6) / 1e6).join(" ")} ${px(e)} ${px(f)})`,
    };
  }

  get turned() {
    return this.at(0, 0).transform;
  }
  get filling() {
    return paintAttributes("fill", this.fillStyle, this.globalAlpha);
  }
  get stroking() {
    return {
      fill: "none",
      ...paintAttributes("stroke", this.strokeStyle, this.globalAlpha),
      "stroke-width": this.lineWidth === 1 ? null : px(this.lineWidth),
    };
  }

  fillRect(x, y, width, height) {
    if (width > 0 && height > 0) this.sheet.add("rect", { ...this.at(x, y), width, height, ...this.filling });
  }

  strokeRect(x, y, width, height) {
    this.sheet.add("rect", { ...this.at(x, y), width, height, ...this.stroking });
  }

  /* ---- paths; the pictures draw them without a transform ---- */

  beginPath() {
    this.path = [];
  }
  moveTo(x, y) {
    this.path.push(`M${px(x)} ${px(y)}`);
  }
  lineTo(x, y) {
    this.path.push(`${this.path.length ? "L" : "M"}${px(x)} ${px(y)}`);
  }
  bezierCurveTo(...places) {
    this.path.push(`C${places.map(px).join(" ")}`);
  }
  stroke() {
    this.sheet.add("path", { d: this.path.join(""), ...this.stroking, transform: this.turned });
  }
  fill() {
    this.sheet.add("path", { d: this.path.join(""), ...this.filling, transform: this.turned });
  }

  /* ---- texts ---- */

  fillText(said, x, y, most = Infinity) {
    if (!String(said).trim()) return;
    const pen = probe.context();
    const font = fontOf(this.font);
    const align = { left: "start", center: "middle", right: "end" }[this.textAlign] ?? this.textAlign;
    pen.font = this.font;
    const length = Math.min(pen.measureText(said).width, most);
    const { x: left, y: base, transform } = this.at(x, y + this.drop(pen));
    this.sheet.text(said, {
      x: left,
      y: base,
      transform,
      anchor: align,
      length,
      font,
      colour: this.fillStyle,
      strength: this.globalAlpha,
      "xml:space": /^\s|\s$|\s\s/.test(said) ? "preserve" : null,
    });
  }

  /* Return the pixels from the `textBaseline` down to the alphabetic baseline, the only one that all SVG viewers place
   * alike. */
  drop(pen) {
    const key = `${this.textBaseline} ${this.font}`;
    if (!probe.fonts.has(key)) {
      const [own, letters] = ["alphabetic", this.textBaseline].map((line) => {
        pen.textBaseline = line;
        return pen.measureText("x").actualBoundingBoxAscent;
      });
      pen.textBaseline = "alphabetic";
      probe.fonts.set(key, own - letters);
    }
    return probe.fonts.get(key);
  }

  /* ---- images with one pixel per cell ---- */

  /* drawImage(image, x, y, width, height), or a part of it: drawImage(image, u, v, cols, rows, x, y, width, height). */
  drawImage(picture, ...places) {
    const [u, v, cols, rows, x, y, width, height] =
      places.length > 4 ? places : [0, 0, picture.width, picture.height, ...places];
    const pixels = picture.getContext("2d").getImageData(u, v, cols, rows);
    const { data } = pixels;
    if (picture.width * picture.height > MAX_RECTS) {
      const copy = Object.assign(make("canvas"), { width: cols, height: rows });
      copy.getContext("2d").putImageData(pixels, 0, 0);
      return this.sheet.add("image", {
        ...this.at(x, y),
        width,
        height,
        preserveAspectRatio: "none",
        style: "image-rendering:pixelated",
        "xlink:href": copy.toDataURL(),
      });
    }
    const [w, h] = [width / cols, height / rows];
    this.sheet.group({ "shape-rendering": "crispEdges" }, () => {
      for (let i = 0; i < cols * rows; i++) {
        const alpha = data[4 * i + 3];
        if (!alpha) continue;
        const hex = [0, 1, 2].map((c) => data[4 * i + c].toString(16).padStart(2, "0")).join("");
        this.sheet.add("rect", {
          ...this.at(x + (i % cols) * w, y + Math.floor(i / cols) * h),
          width: w,
          height: h,
          fill: `#${hex}`,
          "fill-opacity": alpha < 255 ? px(alpha / 255) : null,
        });
      }
    });
  }
}
