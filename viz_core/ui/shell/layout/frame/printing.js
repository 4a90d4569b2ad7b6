/* What print.css needs of the screen: the size of the main column and of the main picture, how much smaller they are on
 * paper, the theme, the sentences and the link. */

// Pixels of A4 and Letter in landscape, without margins, and with room for the wider gaps of a printed page.
const PAPER = { width: 980, height: 610 };
const SMALLEST = 0.6; // a page is made smaller than this only to fit the width
const UNDRAWN = '[class*="st-key-lab_part_"] > [class*="_visibility"]:only-child'; // in a part that was not scrolled to
const PAUSE = 100; // ms between two looks at the page
const QUIET = 5; // of these in which the page is complete, before it is printed
const PATIENCE = 300; // after as many it is printed as it is

export class Printing {
  constructor() {
    this.before = () => this.measure();
    this.onKeyDown = (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "p" || !document.querySelector(UNDRAWN))
        return;
      event.preventDefault(); // at this key visibility.js has all parts drawn
      this.printWhenComplete();
    };
  }

  start() {
    window.addEventListener("beforeprint", this.before);
    document.addEventListener("keydown", this.onKeyDown, true);
  }

  stop() {
    window.removeEventListener("beforeprint", this.before);
    document.removeEventListener("keydown", this.onKeyDown, true);
  }

  printWhenComplete(looks = 0, quiet = 0) {
    if (quiet === QUIET || looks === PATIENCE) return window.print();
    const isComplete = document.querySelector(":--app:--idle") && !document.querySelector(UNDRAWN);
    setTimeout(() => this.printWhenComplete(looks + 1, isComplete ? quiet + 1 : 0), PAUSE);
  }

  measure() {
    const block = document.querySelector(":--main-block");
    if (!block) return;
    const { paddingLeft, paddingRight, paddingTop } = getComputedStyle(block);
    const width = block.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
    const picture = block.querySelector(".st-key-lab_picture");
    const below = (picture?.closest(".st-key-lab_figure_and_rail") ?? picture ?? block).getBoundingClientRect().bottom;
    // The first sheet has the whole picture.
    const height = below - block.getBoundingClientRect().top - parseFloat(paddingTop);
    const zoom = Math.min(1, PAPER.width / width, Math.max(SMALLEST, PAPER.height / height));
    const { style, dataset } = document.documentElement;
    style.setProperty("--lab-print-width", `${width}px`);
    style.setProperty("--lab-print-zoom", zoom);
    style.setProperty("--lab-print-height", picture ? `${picture.offsetHeight}px` : "auto");
    dataset.labPrint = isDark(getComputedStyle(document.querySelector(":--app")).backgroundColor) ? "dark" : "light";
    block.dataset.labPrinted = [...typedTexts(), location.href].join("\n");
  }
}

/* Return the texts in the boxes of the sidebar: the sentences. */
function typedTexts() {
  return [...document.querySelectorAll(":--sidebar textarea")].map((box) => box.value).filter(Boolean);
}

/* Return whether a colour as browsers write it, rgb(r, g, b), is a dark one. */
function isDark(colour) {
  const [r, g, b] = colour.match(/[\d.]+/g).map(Number);
  return 0.299 * r + 0.587 * g + 0.114 * b < 128;
}
