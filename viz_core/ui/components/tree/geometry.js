/* Positions in the tree of tokens. A box has its place in the tree: offsetLeft, offsetTop, offsetWidth,
 * offsetHeight. */

const BEND = 8; // pixels between the bend of a line and the token that it leads to
const EDGE = 3; // pixels between a token and the edge of the visible part

/* Return the path of the line from a token to the next one. */
export function connector(from, to) {
  const [x, y] = [from.offsetLeft + from.offsetWidth, from.offsetTop + from.offsetHeight / 2];
  return `M ${x} ${y} H ${to.offsetLeft - BEND} V ${to.offsetTop + to.offsetHeight / 2} H ${to.offsetLeft}`;
}

/* Return where to scroll so that a token is visible, as { scrollLeft, scrollTop }. view: the scroll position and the
 * size of the visible part. names: the pixels at its left that the names of the paths cover. */
export function revealed({ offsetLeft, offsetTop, offsetWidth, offsetHeight }, view, names) {
  let { scrollLeft, scrollTop } = view;
  if (offsetLeft + offsetWidth > scrollLeft + view.clientWidth || offsetLeft < scrollLeft + names)
    scrollLeft = offsetLeft - (names + view.clientWidth) / 2;
  const below = offsetTop + offsetHeight - view.clientHeight;
  if (below > scrollTop) scrollTop = below + EDGE;
  else if (offsetTop < scrollTop) scrollTop = offsetTop - EDGE;
  return { scrollLeft, scrollTop };
}
