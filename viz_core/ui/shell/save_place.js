/* Where a picture is, what it is called, and where its Save button covers nothing of it. */

const OWN = "[data-testid='stBidiComponentIsolated']", PLOTLY = "[data-testid='stPlotlyChart']", TABLE = "[data-testid='stDataFrame']", HTML = ".lab-html", ELEMENT = "[data-testid='stElementContainer']";
const ROOTS = ".lab, .choice, .clocks, .curves, .drawing, .heads, .view, .profiles, .tree"; // of the components that draw a picture
const SOLID = "button, input, .modebar, .nsewdrag, g.legend, .rim, .face, .legend .bar, .swatch, .mark"; // besides texts and what a canvas draws
const SIDE = 24, APART = 1, STEP = 3, REACH = 64; // pixels of the button, and around it; from one place that is tried to the next; tried down to
const LONGEST_NAME = 80; // characters of a file's name

/* The element in which a picture or a table of data is drawn, or null while there is none; and the one in which its button stands:
 * Streamlit's element, of which HTML may be several pictures. */
const pictureIn = (node) => (node.matches(`${PLOTLY}, ${TABLE}, ${HTML}`) ? node : node.shadowRoot?.querySelector(ROOTS) ?? null);
const placeOf = (node) => (node.matches(HTML) ? node : node.closest(ELEMENT));
const keyOn = (node) => node.className.match(/(?:^|\s)st-key-(\S+)/)?.[1];
const keyOf = (container) => container.dataset.key ?? keyOn(container) ?? (container.querySelector(TABLE) && keyOn(container.parentElement)) ?? "";
const textOf = (node) => (node?.textContent ?? "").replace(/\s+/g, " ").trim();

/* What stands above the picture, or what it says of itself to those who do not see it. */
function titleOf(root, container) {
  const own = [...root.querySelectorAll("figcaption")].map(textOf).filter(Boolean), label = root.querySelector("[aria-label]")?.getAttribute("aria-label");
  if (root.dataset.name) return root.dataset.name;
  if (root.matches(TABLE)) return root.querySelector("[role='region']")?.getAttribute("aria-label") || keyOf(container).replaceAll("_", " ");
  if (root.matches(".clocks")) return _("Clocks: {position}", { position: textOf(root.querySelector("label")) });
  const heading = root.querySelector(".title, .gtitle"), plain = heading && [...heading.childNodes].filter((node) => !node.matches?.(".letter")).map(textOf).join(" ");
  return own.slice(0, 3).join(", ") || plain?.trim() || label?.split(/[.:] /)[0] || keyOf(container).replaceAll("_", " ") || _("picture");
}

/* "Attention", "cross-attention, layer 1" → "attention_cross-attention_layer-1.png": plain letters on every system, never empty. */
function fileName(page, title, key, ending) {
  const plain = (text) => text.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase().split(/[,:;|·()/]+/)
    .map((part) => part.replace(/[^a-z0-9._-]+/g, "-").replace(/^[-._]+|[-._]+$/g, "")).filter(Boolean).join("_");
  const stem = [plain(page), plain(title) || plain(key)].filter(Boolean).join("_") || "picture";
  return `${stem.slice(0, LONGEST_NAME - ending.length - 1).replace(/[-._]+$/, "")}.${ending}`;
}

/* ---- the place of the button ---- */

/* Functions that say whether a box on the page, of this corner and side, lies on what must not be covered: texts, controls, plots,
 * and whatever a canvas has drawn. Only the top of the picture is asked about. */
function obstacles(root, bottom) {
  const boxes = [], drawn = [], range = document.createRange();
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode;
    if (!node.data.trim() || node.parentNode.closest("style, .hoverlayer")) continue;
    range.selectNodeContents(node);
    boxes.push(range.getBoundingClientRect());
  }
  if (root.matches(HTML)) boxes.push(...[...root.querySelectorAll("*")].flatMap((node) => painted(node, root)));
  else for (const node of root.querySelectorAll(SOLID)) boxes.push(node.getBoundingClientRect());
  for (const canvas of root.querySelectorAll("canvas")) {
    const box = canvas.getBoundingClientRect(), scale = canvas.width / box.width, high = Math.floor((Math.min(box.bottom, bottom) - box.top) * scale);
    if (!(high > 0) || !canvas.width) continue;
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, high);
    drawn.push((x, y, side) => {
      const [left, right] = [x, x + side].map((at) => clamp(Math.round((at - box.left) * scale), 0, canvas.width));
      const [from, to] = [y, y + side].map((at) => clamp(Math.round((at - box.top) * scale), 0, high));
      for (let v = from; v < to; v++) for (let u = left; u < right; u++) if (data[4 * (v * canvas.width + u) + 3]) return true;
      return false;
    });
  }
  const near = boxes.filter((box) => box.width && box.height && box.top < bottom);
  return [(x, y, side) => near.some((box) => box.left < x + side && box.right > x && box.top < y + side && box.bottom > y), ...drawn];
}

/* The boxes in which something is drawn by an element of HTML itself: inside a frame around all of the picture there is room. The
 * Save button is none of the picture. */
function painted(node, root) {
  const { backgroundColor, backgroundImage, borderTopStyle } = getComputedStyle(node), box = node.getBoundingClientRect();
  const { left, right, top, width, height } = box, framed = borderTopStyle !== "none";
  const drawn = node.localName === "img" || backgroundImage !== "none" || framed || !/^transparent$|, 0\)$|\/ 0\)$/.test(backgroundColor);
  if (!drawn || node.closest(".lab-save")) return [];
  if (!framed || width * height < 0.9 * root.clientWidth * root.clientHeight) return [box];
  return [{ left, right, top, bottom: top + 1, width, height: 1 }, { left: right - 1, right, top, bottom: top + height, width: 1, height }];
}

/* Put the button as near to the top right corner as it is free; above that corner, where the top is full. */
function putInPlace(host, root, container) {
  const outer = container.getBoundingClientRect(), inner = root.getBoundingClientRect();
  const table = root.matches(TABLE), taken = table ? [] : obstacles(root, inner.top + REACH + 2 * SIDE); // a table is full
  const right = Math.min(inner.right, document.documentElement.clientWidth) - SIDE, { top } = inner;
  const free = (x, y) => !taken.some((covers) => covers(x - APART, y - APART, SIDE + 2 * APART));
  let best = [right, top - SIDE - APART], least = Infinity;
  for (let down = 0; !table && down <= Math.min(REACH, inner.height - SIDE); down += STEP)
    for (let back = 0; back <= right - inner.left && back + 2 * down < least; back += STEP)
      if (free(right - back, top + down)) [best, least] = [[right - back, top + down], back + 2 * down];
  Object.assign(host.style, { right: "auto", left: `${best[0] - outer.left}px`, top: `${best[1] - outer.top}px` });
}
