/* Back returns to the link that was followed: to its place on the screen, with what was unfolded around it. The browser
 * cannot restore this itself, because the content of a page arrives after the page has loaded. */

const STORE = "lab-followed"; // in the tab's session storage: the address of a page → the link that was followed there
const MAX_ADDRESSES = 20;
const COMPLETE_MS = 1000; // ms without a change of the page's size after which the page is complete

// whether this document was opened with Back or Forward; false once its position is restored
let isReturn = performance.getEntriesByType("navigation")[0]?.type === "back_forward";

export class ReturnPosition {
  constructor() {
    this.onClick = (event) => {
      const link = event.target.closest?.("a[href]");
      if (link?.closest(":--main") && !(event.ctrlKey || event.metaKey || event.shiftKey)) remember(link);
    };
    this.onPopState = () => this.begin();
  }

  start() {
    document.addEventListener("click", this.onClick, true);
    addEventListener("popstate", this.onPopState);
    if (isReturn) this.begin();
    isReturn = false;
  }

  stop() {
    document.removeEventListener("click", this.onClick, true);
    removeEventListener("popstate", this.onPopState);
    this.forget();
  }

  begin() {
    const followed = stored();
    this.place = followed[address()];
    delete followed[address()];
    sessionStorage.setItem(STORE, JSON.stringify(followed));
    this.restore();
  }

  forget() {
    this.place = null;
  }

  /* Scroll to the link; as long as it is missing, to where it was, so that the parts there are drawn. */
  restore() {
    const main = document.querySelector(":--main");
    if (!this.place || !main) return;
    const { part, index, isOpen, top, scrollTop } = this.place;
    const container = document.querySelector(part);
    const link = container?.querySelectorAll("a[href]")[index];
    clearTimeout(this.timer);
    if (!link) return void main.scrollTo({ top: scrollTop, behavior: "instant" });
    container.querySelectorAll("details").forEach((details, i) => {
      details.open = isOpen[i] ?? details.open;
    });
    main.scrollBy({ top: link.getBoundingClientRect().top - top, behavior: "instant" });
    this.timer = setTimeout(() => this.forget(), COMPLETE_MS);
  }
}

const address = () => location.pathname + location.search;

const stored = () => JSON.parse(sessionStorage.getItem(STORE) ?? "{}");

/* Store a link as its number in the nearest container with a key. */
function remember(link) {
  const container = link.closest('[class*="st-key-"]');
  if (!container) return;
  const part = `.${[...container.classList].find((name) => name.startsWith("st-key-"))}`;
  const place = {
    part,
    index: [...container.querySelectorAll("a[href]")].indexOf(link),
    isOpen: [...container.querySelectorAll("details")].map((details) => details.open),
    top: link.getBoundingClientRect().top,
    scrollTop: document.querySelector(":--main").scrollTop,
  };
  const { [address()]: _, ...others } = stored();
  const entries = [...Object.entries(others), [address(), place]].slice(-MAX_ADDRESSES);
  sessionStorage.setItem(STORE, JSON.stringify(Object.fromEntries(entries)));
}
