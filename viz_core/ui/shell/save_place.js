/* Where a picture is, what it is called, and where its Save button covers nothing of it. */

const OWN = "[data-testid='stBidiComponentIsolated']", PLOTLY = "[data-testid='stPlotlyChart']", ELEMENT = "[data-testid='stElementContainer']";
const ROOTS = ".lab, .clocks, .curves, .drawing, .heads, .view, .profiles, .tree"; // of the components that draw a picture
const SIDE = 26, APART = 3, STEP = 4, REACH = 64; // pixels of the button, and around it; from one place that is tried to the next; tried down to
const LONGEST_NAME = 80; // characters of a file's name

/* The element in which a picture is drawn, or null while there is none. */
const pictureIn = (node) => (node.matches(PLOTLY) ? node : node.shadowRoot?.querySelector(ROOTS) ?? null);
const keyOf = (container) => container.className.match(/(?:^|\s)st-key-(\S+)/)?.[1] ?? "";
const textOf = (node) => (node?.textContent ?? "").replace(/\s+/g, " ").trim();

/* What stands above the picture, or what it says of itself to those who do not see it. */
function titleOf(root, container) {
  const own = [...root.querySelectorAll("figcaption")].map(textOf).filter(Boolean);
  const said = root.matches(".clocks") ? textOf(root.querySelector("label"))
    : own.length ? own.slice(0, 3).join(", ") : textOf(root.querySelector(".title, .gtitle"));
  const named = root.querySelector("[aria-label]")?.getAttribute("aria-label").split(/[.:] /)[0];
  return said || root.querySelector("svg.main-svg .annotation-text")?.textContent || named || keyOf(container).replaceAll("_", " ") || _("picture");
}

/* "Attention", "cross-attention, layer 1" → "attention_cross-attention_layer-1.png": plain letters on every system, never empty. */
function fileName(page, title, key, ending) {
  const plain = (text) => text.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase().split(/[,:;|·()/]+/)
    .map((part) => part.replace(/[^a-z0-9._-]+/g, "-").replace(/^[-._]+|[-._]+$/g, "")).filter(Boolean).join("_");
  const stem = [plain(page), plain(title) || plain(key)].filter(Boolean).join("_") || "picture";
  return `${stem.slice(0, LONGEST_NAME - ending.length - 1).replace(/[-._]+$/, "")}.${ending}`;
}

/* ---- the place of the button ---- */

/* The boxes of what must not be covered: texts, controls, the plots and canvases themselves. */
function obstacles(root) {
  const found = [], range = document.createRange();
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode;
    if (!node.data.trim() || node.parentNode.closest("style, .hoverlayer")) continue;
    range.selectNodeContents(node);
    found.push(range.getBoundingClientRect());
  }
  for (const node of root.querySelectorAll("button, input, canvas, .modebar, .nsewdrag, .legend, .rim, .face, .bar, .swatch")) found.push(node.getBoundingClientRect());
  return found.filter(({ width, height }) => width && height);
}

/* Put the button as near to the top right corner as it is free; above that corner, where the top is full. */
function putInPlace(host, root, container) {
  const outer = container.getBoundingClientRect(), inner = root.getBoundingClientRect(), taken = obstacles(root);
  const right = Math.min(inner.right, document.documentElement.clientWidth) - SIDE, { top } = inner;
  const free = (x, y) => taken.every((box) => box.left >= x + SIDE + APART || box.right <= x - APART || box.top >= y + SIDE + APART || box.bottom <= y - APART);
  let best = [right, top - SIDE - 2], least = 4 * REACH;
  for (let down = 0; down <= Math.min(REACH, inner.height - SIDE); down += STEP)
    for (let back = 0; back <= inner.width - SIDE && back + 2 * down < least; back += STEP)
      if (free(right - back, top + down)) [best, least] = [[right - back, top + down], back + 2 * down];
  Object.assign(host.style, { left: `${best[0] - outer.left}px`, top: `${best[1] - outer.top}px` });
}
