/* One entry of the browser's history for each page that is opened. Streamlit makes two: the bare address of the page, and its link
 * when the page has written it, in either order. Here a page's address takes over the link of the page that is left, which is the
 * same but for what only that page holds, and its own link, where it differs, replaces that entry. Any other link is a change that
 * the reader made, and an entry of its own. */

function oneEntryAPage(app) {
  if (history.pushState.name === "pushEntry") return; // another call of this component has done it
  const push = history.pushState, replace = history.replaceState;
  let made = ""; // the entry that this run has made: of a "page" or of a "link"
  let linked = false; // the reader clicked a link to a page: a link that comes before its address is that of an earlier change
  history.pushState = function pushEntry(state, title, url) {
    const to = new URL(url ?? location.href, location.href), leaves = to.pathname !== location.pathname;
    if (leaves && !to.search) to.search = location.search;
    const same = leaves ? made === "link" && !linked : made === "page";
    (same ? replace : push).call(history, state, title, to);
    made = leaves ? "page" : made || "link";
    linked &&= !leaves;
  };
  const done = () => [made, linked] = ["", false];
  for (const input of ["pointerdown", "keydown"]) addEventListener(input, done, true);
  addEventListener("click", ({ target }) => { linked ||= Boolean(target.closest?.(LINKS)); }, true);
  new MutationObserver(() => {
    if (app.getAttribute("data-test-script-state") === "notRunning") done();
  }).observe(app, { attributeFilter: ["data-test-script-state"] });
}
