/* The browser's side of the page frame: the position of the main picture, and presenter's mode with its keys. */

import { ending } from "../../../components/common/reports.js";
import { Zooms } from "./chart_zoom.js";
import { Printing } from "./printing.js";
import { Translation } from "./translation.js";

const MIN_TYPE = 17; // pixels of label text in presenter's mode
const TYPE_PER_HEIGHT = 1 / 36; // the same as a share of the screen: 20 on a screen of 720
const TYPE_PER_TEXT = 14 / 15; // labels and text of the page
const BAR_MS = 2500; // ms for which the button bar is visible
const BAR_REACH = [260, 130]; // pixels from its corner within which the mouse shows it
const SETTLE_MS = 400; // ms without a change of the page's size before it scrolls to a picked cell
const HEADER_HEIGHT = 48; // pixels of Streamlit's header
const INPUT_EVENTS = ["pointerdown", "keydown", "wheel", "touchmove"]; // input that cancels the scrolling
const TEXT_FIELDS =
  "textarea, select, [contenteditable], input:not([type=checkbox], [type=radio], [type=range], [type=button])";
const STEP_ROWS = ["walk", "write"]; // key prefixes of the navigation buttons
const KEY_ACTIONS = {
  ArrowRight: "next",
  PageDown: "next",
  ArrowLeft: "previous",
  PageUp: "previous",
  "[": "first_less",
  "]": "first_more",
  "-": "second_less",
  "=": "second_more",
  "+": "second_more",
  ".": "black",
  Escape: "leave",
};
// Letters: every keyboard has them in the same place as their label, also where [ and ] need another key held down.
const LETTER_ACTIONS = { b: "black", h: "head", n: "first_more", d: "second_more" };
const SHIFT_ACTIONS = { h: "head_back", n: "first_less", d: "second_less" };
const frames = new WeakMap(); // the element of this component → its Frame

export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  const home = parentElement.host ?? parentElement;
  if (!frames.has(home)) frames.set(home, new Frame(parentElement));
  const frame = frames.get(home);
  Object.assign(frame, {
    report: (present) => setStateValue("present", present),
    send: (press) => setTriggerValue("press", press),
  });
  frame.start();
  frame.show(data);
  return ending(frame, () => frame.stop());
}

class Frame {
  constructor(root) {
    this.page = document.documentElement;
    this.presses = 0;
    this.number = 0; // counts the changes made in the browser, so that a reply to an older one has no effect
    this.bar = root.querySelector(".bar");
    for (const button of this.bar.querySelectorAll("button")) button.onclick = () => this.press(button.name);
    this.onKeyDown = (event) => this.onKey(event);
    this.onPointerMove = (event) => this.isNearBar(event) && this.showBar();
    this.onWindowResize = () => this.setTypeSize();
    this.resize = new ResizeObserver(() => {
      this.measureTop();
      this.scrollToCell();
    });
    this.onPicked = (event) => {
      event.preventDefault(); // received
      this.cellRect = this.hasInput ? null : event.detail;
      this.scrollToCell();
    };
    this.zooms = new Zooms();
    this.printing = new Printing();
    this.translation = new Translation();
    this.stopScrolling = () => {
      this.hasInput = true;
      this.cellRect = null;
    };
  }

  start() {
    document.addEventListener("keydown", this.onKeyDown, true);
    document.addEventListener("pointermove", this.onPointerMove);
    window.addEventListener("resize", this.onWindowResize);
    document.addEventListener("lab-picked", this.onPicked);
    document.dispatchEvent(new CustomEvent("lab-frame")); // a picture may have been drawn before this script was loaded
    for (const type of INPUT_EVENTS)
      document.addEventListener(type, this.stopScrolling, { capture: true, passive: true });
    this.block = document.querySelector(":--main-block");
    if (this.block) this.resize.observe(this.block);
    this.zooms.start();
    this.printing.start();
    this.translation.start();
  }

  stop() {
    document.removeEventListener("keydown", this.onKeyDown, true);
    document.removeEventListener("pointermove", this.onPointerMove);
    window.removeEventListener("resize", this.onWindowResize);
    document.removeEventListener("lab-picked", this.onPicked);
    for (const type of INPUT_EVENTS) document.removeEventListener(type, this.stopScrolling, { capture: true });
    this.resize.disconnect();
    this.zooms.stop();
    this.printing.stop();
    this.translation.stop();
  }

  show(data) {
    this.data = data;
    if (data.echo >= this.number) {
      this.number = data.echo;
      this.present(data.present);
    }
    requestAnimationFrame(() => this.measureTop());
  }

  /* Store the top of the main picture in a CSS variable, only when it has changed: a root style affects the whole
   * page. */
  measureTop() {
    const main = document.querySelector(":--main");
    const picture = main?.querySelector(".st-key-lab_picture");
    if (!picture || this.on) return;
    const top = Math.round(picture.getBoundingClientRect().top - main.getBoundingClientRect().top + main.scrollTop);
    if (top === this.top) return;
    this.top = top;
    this.page.style.setProperty("--lab-top", `${top}px`);
  }

  /* After a link with a picked cell is opened, scroll to that cell once, when the page has stopped changing its
   * size. A picture that is hidden, for instance until a formula beside it has loaded, has no size yet. */
  scrollToCell() {
    clearTimeout(this.scrollTimer);
    if (this.cellRect)
      this.scrollTimer = setTimeout(() => {
        const cell = this.cellRect?.();
        if (cell && !(cell.height > 0)) return;
        this.stopScrolling();
        if (cell && !this.on && (cell.top < HEADER_HEIGHT || cell.bottom > innerHeight))
          document.querySelector(":--main")?.scrollBy({ top: cell.top - innerHeight / 2 });
      }, SETTLE_MS);
  }

  /* ---- presenter's mode ---- */

  present(on) {
    if (on === this.on) return;
    this.on = on;
    this.page.toggleAttribute("data-lab-present", on);
    this.page.removeAttribute("data-lab-black");
    this.bar.hidden = !on;
    this.setTypeSize();
    if (on) this.showBar();
  }

  /* Set the size of label text. Pictures read it when they are drawn, and they redraw because their box changes.
   * Outside of presenter's mode it is that of the page's text, which frame.css lets grow with the screen. */
  setTypeSize() {
    const presented = Math.max(MIN_TYPE, Math.round(innerHeight * TYPE_PER_HEIGHT));
    const type = this.on ? presented : parseFloat(getComputedStyle(this.page).fontSize) * TYPE_PER_TEXT;
    this.page.dataset.labType = Math.round(type);
    this.page.style.setProperty("--lab-type", `${Math.round(type)}px`);
    this.measureTop();
  }

  /* A mouse elsewhere in the picture must not show the bar over its values; a touch anywhere shows it. */
  isNearBar({ pointerType, clientX, clientY }) {
    return pointerType !== "mouse" || (innerWidth - clientX < BAR_REACH[0] && innerHeight - clientY < BAR_REACH[1]);
  }

  showBar() {
    if (!this.on) return;
    this.bar.classList.add("awake");
    clearTimeout(this.barTimer);
    this.barTimer = setTimeout(() => this.bar.classList.remove("awake"), BAR_MS);
  }

  onKey(event) {
    const { key, target } = event;
    const isTyping = target.matches?.(TEXT_FIELDS);
    const isBracket = key === "[" || key === "]"; // typed with Alt or AltGr on many keyboards
    if (isTyping || event.metaKey || ((event.ctrlKey || event.altKey) && !isBracket)) return;
    const letter = key.toLowerCase(); // Caps Lock changes the case, and only Shift the meaning
    if (!this.on) return void (letter === "f" && !event.shiftKey && this.press("present"));
    const name = KEY_ACTIONS[key] ?? (event.shiftKey ? SHIFT_ACTIONS : LETTER_ACTIONS)[letter];
    // pictures handle these keys themselves
    const inFigure = target.getRootNode() instanceof ShadowRoot || target.closest?.(".st-key-lab_picture");
    if (!name || (inFigure && (key.startsWith("Arrow") || (key === "Escape" && this.hasPickedCell(event))))) return;
    if (key.startsWith("Arrow") && this.isStep(name)) return; // the scrubber handles them
    event.preventDefault();
    event.stopPropagation();
    this.press(name);
  }

  /* Return whether "next" or "previous" has an enabled button here: for a stage or a generated token. Otherwise the
   * section changes. */
  isStep(name) {
    return (
      (name === "next" || name === "previous") &&
      Boolean(document.querySelector(STEP_ROWS.map((row) => `.st-key-${row}_${name} button:enabled`).join()))
    );
  }

  /* Return whether Esc first clears a picked cell. */
  hasPickedCell(event) {
    return Boolean(event.composedPath()[0].dataset?.pick);
  }

  press(name) {
    if (name === "black") return void this.page.toggleAttribute("data-lab-black");
    if (name === "present" || name === "leave") {
      this.present(name === "present");
      return this.report({ number: ++this.number, on: this.on });
    }
    if (this.isStep(name))
      return void document.body.dispatchEvent(
        new KeyboardEvent("keydown", { key: name === "next" ? "ArrowRight" : "ArrowLeft", bubbles: true }),
      );
    this.send({ name, times: ++this.presses });
  }
}
