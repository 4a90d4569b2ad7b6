/* One entry in the browser's history for each opened page. Streamlit makes two, in either order: the bare address of
 * the page, and its link once the page has written it. Here the bare address gets the query of the previous page, which
 * is the same except for parameters that only that page has; the page's own link then replaces that entry. Any other
 * new link is a change by the visitor, and gets its own entry. */

import { IDLE, LINKS, attributeIn } from "./app_state.js";

export function mergeHistoryEntries(app) {
  if (history.pushState.name === "pushEntry") return; // already patched by another call
  const push = history.pushState;
  const replace = history.replaceState;
  let entry = ""; // the entry that the current run has made: "page" or "link"
  // whether a page link was clicked: a query that arrives before the page's address then belongs to an earlier change
  let linked = false;
  history.pushState = function pushEntry(state, title, url) {
    const to = new URL(url ?? location.href, location.href);
    const changesPage = to.pathname !== location.pathname;
    if (changesPage && !to.search) to.search = location.search;
    const isSameEntry = changesPage ? entry === "link" && !linked : entry === "page";
    (isSameEntry ? replace : push).call(history, state, title, to);
    entry = changesPage ? "page" : entry || "link";
    linked &&= !changesPage;
  };
  const reset = () => ([entry, linked] = ["", false]);
  for (const input of ["pointerdown", "keydown"]) addEventListener(input, reset, true);
  addEventListener(
    "click",
    ({ target }) => {
      linked ||= Boolean(target.closest?.(LINKS));
    },
    true,
  );
  new MutationObserver(() => {
    if (app.matches(IDLE)) reset();
  }).observe(app, { attributeFilter: [attributeIn(IDLE)] });
}
