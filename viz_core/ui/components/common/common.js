/* Functions that the components share; viz_core/figures/assets.py puts them in front of each script, after THEME. */

/* Return a new HTML element. */
const make = (tag, className = "", text = "") => Object.assign(document.createElement(tag), { className, textContent: text });

/* Append a new SVG element to a parent and return it. */
function draw(parent, tag, attributes = {}, text = "") {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  if (text) node.textContent = text;
  return parent.appendChild(set(node, attributes));
}

function set(node, attributes) {
  for (const name in attributes) node.setAttribute(name, attributes[name]);
  return node;
}

/* The size of labels in pixels: larger in presenter's mode (viz_core/ui/shell/layout/frame/frame.js). */
const typeSize = () => Number(document.documentElement.dataset.labType ?? 14);

const smallType = () => (typeSize() > 14 ? Math.max(16, Math.round(typeSize() * 0.8)) : 11); // of glosses below labels

/* Return the gloss of a label, "" if it has none. A label can be any text, such as the name of a property of Object. */
const glossOf = (glosses, label) => (Object.hasOwn(glosses, label) ? glosses[label] : "");
/* Return only the first meaning of each part of a label, for narrow places. */
const shortGloss = (glosses, label) => glossOf(glosses, label).split(/( → | \| )/).map((part) => part.split(", ")[0]).join("");
const glossed = (glosses, label) => (glossOf(glosses, label) ? `${label} (${glosses[label]})` : label);

/* Labels in reading order: right-to-left words of "a → b" or "a | b" are isolated, or they would change places, and so would
 * quotation marks around them; a single word is unchanged. `labelNode` returns an element with its own direction, left-to-right
 * for several words. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const SEVERAL = / → | \| /;
const isolated = (part) => (RIGHT_TO_LEFT.test(part) ? `\u2068${part}\u2069` : part);
const isolateParts = (label) => (SEVERAL.test(label) ? label.split(/( → | \| )/).map(isolated).join("") : label);
const labelNode = (label, before = "", behind = "") =>
  Object.assign(make("bdi", "", before + (before && !SEVERAL.test(label) ? isolated(label) : isolateParts(label)) + behind),
                SEVERAL.test(label) ? { dir: "ltr" } : {});

/* Return the gloss of a label as child nodes of its button. `fitGlosses` shows the glosses of a column if all fit: with all
 * meanings, or only the first ones. */
const glossNodes = (glosses, label) => {
  const texts = [glossOf(glosses, label), shortGloss(glosses, label)];
  return texts[0] ? [Object.assign(make("small", "", texts[0]), { texts })] : [];
};

/* Return the first meaning of a label as child nodes, which are always shown. */
const shortGlossNodes = (glosses, label) => {
  const said = shortGloss(glosses, label);
  return said ? [make("small", "gloss", said)] : [];
};

function fitGlosses(column, hasSpace) {
  const small = [...column.querySelectorAll("small")];
  column.classList.toggle("said", small.length > 0 && hasSpace);
  for (const i of column.classList.contains("said") ? [0, 1] : []) {
    for (const node of small) node.textContent = node.texts[i];
    if (small.every(({ parentNode: { scrollWidth, clientWidth } }) => scrollWidth <= clientWidth)) return;
  }
  column.classList.remove("said");
}

/* Return the cleanup function of one call of a component. Streamlit can run it after the next call has begun; `end` is then
 * skipped, so that it does not undo that call. view: the state that all calls for one element share. */
const ending = (view, end) => {
  const call = (view.call = {});
  return () => { if (view.call === call) end(); };
};

/* Call `tell` after a pause. A further call of `later` for this view replaces it. If the user navigates to another link meanwhile,
 * `dropped` is called instead, since the report would change that link. */
function later(view, pause, tell, dropped) {
  view.forget?.();
  const drop = () => {
    clearTimeout(view.timer);
    removeEventListener("popstate", left);
    view.timer = view.forget = null;
  };
  const left = () => { drop(); dropped?.(); };
  view.forget = drop;
  view.timer = setTimeout(() => { drop(); tell(); }, pause);
  addEventListener("popstate", left);
}

/* Send a numbered report after a pause. The number of a dropped report is used again. */
const reportLater = (view, pause, message) =>
  later(view, pause, () => view.report((view.reported = message)), () => (view.number = view.reported?.number ?? 0));

/* Each canvas has a function `replay(pen)`, which the Save menu calls to export it as SVG (svg_pen.js). It draws the current
 * content without the hover state, in CSS pixels from the canvas's corner, into a pen with the methods of a 2D context that it
 * uses. Such a pen has `hatch(look)`, which returns the fill for a pattern of hatching.js. */

const clamp = (x, low, high) => Math.max(low, Math.min(high, x));
const channels = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)); // "#rrggbb" → red, green, blue
/* Any CSS colour → red, green, blue; and a pixel's 32-bit word blended with such a colour by an opacity. */
const rgbOf = (css) => {
  const pen = new OffscreenCanvas(1, 1).getContext("2d");
  pen.fillStyle = css;
  pen.fillRect(0, 0, 1, 1);
  return pen.getImageData(0, 0, 1, 1).data;
};
const blend = (word, opacity, under) => [0, 8, 16].reduce(
  (found, shift, i) => (found | (Math.round(opacity * ((word >> shift) & 255) + (1 - opacity) * under[i]) << shift)) >>> 0, 255 << 24);
/* Translate a literal message and fill in its fields; without values, braces are text. The messages are collected from the scripts;
 * WORDS, which assets.py puts in front, has the translations. */
const _ = (message, values) => fillFields(WORDS.forms[message]?.[0] ?? message, values);
const plural = (one, many, n, values) => fillFields(WORDS.forms[one]?.[WORDS.form(n)] ?? (n === 1 ? one : many), { n, ...values });
const fillFields = (text, values) => (values ? text.replace(/\{(\w+)\}/g, (field, name) => values[name] ?? field) : text);

/* Fill a message with nodes, or lists of nodes and texts; returns the list to append to an element. */
const nodes = (message, values) => message.split(/(\{\w+\})/).flatMap((part) => values[part.match(/^\{(\w+)\}$/)?.[1]] ?? part);

/* Whether two ranges of an axis are similar enough to keep a zoom. */
const sameReach = ([a, b], [c, d]) => Math.max(Math.abs(a - c), Math.abs(b - d)) <= 0.25 * Math.abs(b - a);

const minus = (number) => number.replaceAll("-", "−");

/* Unpack a message of `with_header` (panels.py): the header, and the buffer whose payload begins at `start`. */
function unpack(bytes) {
  const buffer = bytes.slice().buffer; // a copy, which is aligned to 4 bytes
  const start = 4 + new DataView(buffer).getUint32(0, true);
  return [JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, start - 4))), buffer, start];
}
