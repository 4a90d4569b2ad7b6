/* The tokens of a tree as buttons in a grid, and the lines between them (tree.py). */

const views = new WeakMap(); // the element → what it shows, and what watches its size

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".tree");
  root.onclick = (event) => {
    const node = event.target.closest("button");
    if (node) setTriggerValue("open", Number(node.dataset.node));
  };
  const before = views.get(root);
  if (before?.shown !== data.tree) {
    const watch = before?.watch ?? new ResizeObserver(() => join(root));
    views.set(root, { shown: data.tree, watch });
    watch.disconnect();
    watch.observe(show(root, JSON.parse(data.tree)));
  }
}

function show(root, { nodes, current }) {
  const held = root.getRootNode().activeElement?.dataset?.node;
  const grid = make("div", "nodes");
  grid.setAttribute("role", "group");
  grid.setAttribute("aria-label", _("Tree of continuations"));
  nodes.forEach((node, number) => {
    const button = make("button", "", node.label);
    Object.assign(button.dataset, { node: number, parent: node.parent });
    Object.assign(button.style, { gridColumn: node.depth + 1, gridRow: node.row + 1 });
    button.title = node.said;
    button.append(make("small", "", node.total));
    if (number === current) button.setAttribute("aria-current", "true");
    grid.append(button);
    if (!node.name) return;
    const end = grid.appendChild(make("span", "end", node.name));
    Object.assign(end.style, { gridColumn: node.depth + 2, gridRow: node.row + 1 });
  });
  root.replaceChildren(grid);
  join(root);
  const at = root.querySelector("[aria-current]");
  if (held !== undefined) at?.focus({ preventScroll: true });
  if (at) root.scrollLeft = at.offsetLeft - root.clientWidth / 2;
  return grid;
}

/* A line from each token to those behind it; again whenever the size has changed. */
function join(root) {
  const grid = root.querySelector(".nodes");
  grid.querySelector("svg")?.remove();
  const lines = draw(grid, "svg", { width: grid.scrollWidth, height: grid.scrollHeight, "aria-hidden": "true" });
  for (const node of grid.querySelectorAll("button")) {
    const parent = grid.querySelector(`button[data-node="${node.dataset.parent}"]`);
    if (!parent) continue;
    const [x, y] = [parent.offsetLeft + parent.offsetWidth, parent.offsetTop + parent.offsetHeight / 2];
    const [left, down] = [node.offsetLeft, node.offsetTop + node.offsetHeight / 2], middle = left - 8;
    draw(lines, "path", { d: `M ${x} ${y} H ${middle} V ${down} H ${left}` });
  }
}
