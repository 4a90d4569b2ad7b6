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

/* The size of labels in pixels: larger in presenter's mode (viz_core/ui/shell/frame.js). */
const typeSize = () => Number(document.documentElement.dataset.labType ?? 14);

const smallType = () => (typeSize() > 14 ? Math.max(16, Math.round(typeSize() * 0.8)) : 11); // of the dictionary words below labels

/* What a label means, from the `glosses` of what Python sent; "" where it has no dictionary words. A label may be any text, also
 * the name of something that every object has. And of each part of it only the first meaning, for a place with less room. */
const glossOf = (glosses, label) => (Object.hasOwn(glosses, label) ? glosses[label] : "");
const firstMeaning = (glosses, label) => glossOf(glosses, label).split(/( → | \| )/).map((part) => part.split(", ")[0]).join("");
const glossed = (glosses, label) => (glossOf(glosses, label) ? `${label} (${glosses[label]})` : label);

/* A label as it is drawn: the right-to-left words of "a → b" or "a | b" each between two marks, or they would change places, and so
 * would the quotation marks around one; a word by itself is left as it was typed. And the node of a label, which has a direction of
 * its own, but of several words that of the arrow. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const SEVERAL = / → | \| /;
const isolated = (part) => (RIGHT_TO_LEFT.test(part) ? `\u2068${part}\u2069` : part);
const inOrder = (label) => (SEVERAL.test(label) ? label.split(/( → | \| )/).map(isolated).join("") : label);
const labelNode = (label, before = "", behind = "") =>
  Object.assign(make("bdi", "", before + (before && !SEVERAL.test(label) ? isolated(label) : inOrder(label)) + behind),
                SEVERAL.test(label) ? { dir: "ltr" } : {});

/* What a label means as nodes of a button, to be shown with its label where `sayWith` finds room for those of all its column's buttons:
 * all meanings, or only the first of each. */
const meanings = (glosses, label) => {
  const texts = [glossOf(glosses, label), firstMeaning(glosses, label)];
  return texts[0] ? [Object.assign(make("small", "", texts[0]), { texts })] : [];
};

/* The first meaning alone, to be shown below or behind a label wherever it stands. */
const oneMeaning = (glosses, label) => {
  const said = firstMeaning(glosses, label);
  return said ? [make("small", "gloss", said)] : [];
};

function sayWith(column, highEnough) {
  const small = [...column.querySelectorAll("small")];
  column.classList.toggle("said", small.length > 0 && highEnough);
  for (const i of column.classList.contains("said") ? [0, 1] : []) {
    for (const node of small) node.textContent = node.texts[i];
    if (small.every(({ parentNode: { scrollWidth, clientWidth } }) => scrollWidth <= clientWidth)) return;
  }
  column.classList.remove("said");
}

/* What ends one call of a component. Streamlit may end a call only after the next one has begun, when the script was still on
 * its way to both; then `end` must not undo what the next call did. view: what all calls for one element have in common. */
const ending = (view, end) => {
  const call = (view.call = {});
  return () => { if (view.call === call) end(); };
};

/* Tell Python something after a pause, unless there is newer news by then, or the reader has gone back to another link, which
 * it would change; then `untold` is called. view: what has at most one such piece of news. */
function later(view, pause, tell, untold) {
  view.forget?.();
  const drop = () => {
    clearTimeout(view.timer);
    removeEventListener("popstate", left);
    view.timer = view.forget = null;
  };
  const left = () => { drop(); untold?.(); };
  view.forget = drop;
  view.timer = setTimeout(() => { drop(); tell(); }, pause);
  addEventListener("popstate", left);
}

/* The same for numbered news: numbers that Python never hears of are given again. */
const laterNumbered = (view, pause, news) =>
  later(view, pause, () => view.report((view.told = news)), () => (view.number = view.told?.number ?? 0));

/* A canvas of a picture has a function `replay(pen)`, with which the Save menu makes it a drawing of lines and texts
 * (viz_core/ui/shell/save_pen.js): it draws all that the canvas shows now, without what only the pointer shows, in pixels of the
 * page from the canvas's corner, into a pen that has those methods of a 2D context that it uses. Such a pen has `hatch(look)`,
 * which returns what to fill with for a pattern of hatching.js. */

const clamp = (x, low, high) => Math.max(low, Math.min(high, x));
const channels = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)); // "#rrggbb" → red, green, blue
/* Any colour of CSS → red, green, blue; and a pixel's 32-bit word, so strong beside such a colour. */
const rgbOf = (css) => {
  const pen = new OffscreenCanvas(1, 1).getContext("2d");
  pen.fillStyle = css;
  pen.fillRect(0, 0, 1, 1);
  return pen.getImageData(0, 0, 1, 1).data;
};
const mixed = (word, strong, under) => [0, 8, 16].reduce(
  (found, shift, i) => (found | (Math.round(strong * ((word >> shift) & 255) + (1 - strong) * under[i]) << shift)) >>> 0, 255 << 24);
/* A literal message in the language of the page, its fields filled in; without values, braces are text. Its English stands in
 * the script, from which `viz_core.language` collects it; WORDS, which assets.py puts in front, has the translations. */
const _ = (message, values) => filled(WORDS.forms[message]?.[0] ?? message, values);
const plural = (one, many, n, values) => filled(WORDS.forms[one]?.[WORDS.form(n)] ?? (n === 1 ? one : many), { n, ...values });
const filled = (text, values) => (values ? text.replace(/\{(\w+)\}/g, (field, name) => values[name] ?? field) : text);

/* A message whose fields are nodes, or lists of nodes and texts: what to append to a line. */
const nodes = (message, values) => message.split(/(\{\w+\})/).flatMap((part) => values[part.match(/^\{(\w+)\}$/)?.[1]] ?? part);

/* Whether an axis shows about as much as before, so that a zoom into it may stay: nothing new lies far beyond it. */
const sameReach = ([a, b], [c, d]) => Math.max(Math.abs(a - c), Math.abs(b - d)) <= 0.25 * Math.abs(b - a);

const minus = (number) => number.replaceAll("-", "−");

/* What Python packed: a header, and the buffer in which numbers begin at `start`. */
function unpack(bytes) {
  const buffer = bytes.slice().buffer; // a copy of its own begins at a multiple of 4
  const start = 4 + new DataView(buffer).getUint32(0, true);
  return [JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, start - 4))), buffer, start];
}
