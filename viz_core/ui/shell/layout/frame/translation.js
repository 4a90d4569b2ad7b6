/* What the browser's translation may change. Code, formulas, tokens and pictures are marked so that it leaves them as
 * they are. Of other texts it makes <font> elements, which React does not know: it fails when it removes such a text or
 * inserts something before it, and a new value of the text is not seen. */

import { nameLanguage } from "../../../components/common/dom.js";

const KEPT = "code, pre, bdi, canvas, svg, textarea, .katex, .js-plotly-plot";
const replaced = new WeakMap(); // a text that the translation has taken from the page → the <font> in its place

export class Translation {
  constructor() {
    this.observer = new MutationObserver((records) => records.forEach(follow));
  }

  start() {
    guardNodes();
    keep(document.body);
    this.observer.observe(document.body, { subtree: true, childList: true, characterData: true });
  }

  stop() {
    this.observer.disconnect();
  }
}

function follow({ target, addedNodes, removedNodes, previousSibling, nextSibling }) {
  const font = [...addedNodes, previousSibling, nextSibling].find((node) => node?.nodeName === "FONT");
  if (font) for (const text of removedNodes) if (text.nodeType === Node.TEXT_NODE) replaced.set(text, font);
  nameOwn(target.nodeType === Node.TEXT_NODE ? target.parentElement : target);
  for (const node of addedNodes) if (node.nodeType === Node.ELEMENT_NODE) keep(node);
}

/* Mark what is not translated in an element, and its Chinese texts. */
function keep(element) {
  for (const node of [element, ...element.querySelectorAll(KEPT)])
    if (node.matches(KEPT) && !node.hasAttribute("translate")) node.setAttribute("translate", "no");
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) nameOwn(texts.currentNode.parentElement);
}

/* Name the language of an element's own text. */
function nameOwn(element) {
  if (!element || /^(script|style)$/.test(element.localName)) return;
  const own = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data);
  nameLanguage(element, own.join(""));
}

/* Return the <font> elements around a text, or in its place, as the outermost one; null if there are none. */
function fontOf(text) {
  let font = text.parentNode?.nodeName === "FONT" ? text.parentNode : replaced.get(text);
  while (font?.parentNode?.nodeName === "FONT") font = font.parentNode;
  return font?.parentNode ? font : null;
}

/* Let React change texts that are translated: it removes what stands in their place, inserts before that, and puts a
 * changed text in the place of its translation, to be translated again. Other nodes are handled as always. */
function guardNodes() {
  if (window.labGuardsNodes) return; // by an earlier version of this script, before the server was updated
  window.labGuardsNodes = true;
  const { removeChild, insertBefore } = Node.prototype;
  const value = Object.getOwnPropertyDescriptor(Node.prototype, "nodeValue");
  const placeOf = (parent, node) => {
    const found = node.parentNode === parent ? node : fontOf(node);
    return found?.parentNode === parent ? found : null;
  };
  Node.prototype.removeChild = function (node) {
    const found = node && placeOf(this, node);
    if (found) removeChild.call(this, found);
    return node;
  };
  Node.prototype.insertBefore = function (node, next) {
    return insertBefore.call(this, node, next && placeOf(this, next));
  };
  Object.defineProperty(Node.prototype, "nodeValue", {
    ...value,
    set(text) {
      value.set.call(this, text);
      const font = this.nodeType === Node.TEXT_NODE ? fontOf(this) : null;
      if (!font) return;
      replaced.delete(this);
      font.replaceWith(this);
    },
  });
}
