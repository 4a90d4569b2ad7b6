/* The browser's side of the frame: where the main picture begins, and presenter's mode with its keys. */

const LEAST_TYPE = 17, TYPE_PER_HIGH = 1 / 36; // pixels of labels in presenter's mode: 20 on a screen of 720
const SHOWN = 2500, NEAR = [260, 130]; // ms that the bar of buttons stays, and pixels from its corner in which a mouse brings it back
const REST = 400, HEADER = 48; // ms without a change of the page's size before it scrolls to a picked cell; pixels that the header covers
const HANDS = ["pointerdown", "keydown", "wheel", "touchmove"]; // what says that somebody is already reading
const TYPED = "textarea, select, [contenteditable], input:not([type=checkbox], [type=radio], [type=range], [type=button])";
const STEPS = ["walk", "write"]; // the rows of moves, by the keys of their buttons
const MOVES = { ArrowRight: "next", PageDown: "next", ArrowLeft: "previous", PageUp: "previous", h: "head", H: "head_back",
                "[": "first_less", "]": "first_more", "-": "second_less", "=": "second_more", "+": "second_more" };
const kept = new WeakMap(); // the element of this component → its Frame

export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  const home = parentElement.host ?? parentElement;
  if (!kept.has(home)) kept.set(home, new Frame(parentElement));
  const frame = kept.get(home);
  Object.assign(frame, { report: (present) => setStateValue("present", present), send: (press) => setTriggerValue("press", press) });
  frame.start();
  frame.show(data);
  return ending(frame, () => frame.stop());
}

class Frame {
  constructor(root) {
    this.page = document.documentElement;
    this.presses = 0;
    this.number = 0; // counts the reader's own changes, so that an answer to an older one moves nothing
    this.bar = root.querySelector(".bar");
    for (const button of this.bar.querySelectorAll("button")) button.onclick = () => this.press(button.name);
    this.key = (event) => this.pressed(event);
    this.move = (event) => this.near(event) && this.wake();
    this.sized = () => this.fit();
    this.resize = new ResizeObserver(() => { this.measure(); this.settle(); });
    this.picked = (event) => { this.where = this.reading ? null : event.detail; this.settle(); };
    this.zooms = new Zooms();
    this.read = () => { this.reading = true; this.where = null; };
  }

  start() {
    document.addEventListener("keydown", this.key, true);
    document.addEventListener("pointermove", this.move);
    window.addEventListener("resize", this.sized);
    document.addEventListener("lab-picked", this.picked);
    for (const hand of HANDS) document.addEventListener(hand, this.read, { capture: true, passive: true });
    this.block = document.querySelector("[data-testid='stMainBlockContainer']");
    if (this.block) this.resize.observe(this.block);
    this.zooms.start();
  }

  stop() {
    document.removeEventListener("keydown", this.key, true);
    document.removeEventListener("pointermove", this.move);
    window.removeEventListener("resize", this.sized);
    document.removeEventListener("lab-picked", this.picked);
    for (const hand of HANDS) document.removeEventListener(hand, this.read, { capture: true });
    this.resize.disconnect();
    this.zooms.stop();
  }

  show(data) {
    this.data = data;
    if (data.echo >= this.number) {
      this.number = data.echo;
      this.present(data.present);
    }
    requestAnimationFrame(() => this.measure());
  }

  /* Where the main picture begins on the page; only where that changed, since a style of the root is asked for by all. */
  measure() {
    const main = document.querySelector("[data-testid='stMain']"), picture = main?.querySelector(".st-key-lab_picture");
    if (!picture || this.on) return;
    const top = Math.round(picture.getBoundingClientRect().top - main.getBoundingClientRect().top + main.scrollTop);
    if (top === this.top) return;
    this.top = top;
    this.page.style.setProperty("--lab-top", `${top}px`);
  }

  /* A link to a picked cell opens with that cell in sight: the page scrolls to it once, when it has come to rest. */
  settle() {
    clearTimeout(this.settling);
    if (this.where) this.settling = setTimeout(() => {
      const cell = this.where?.();
      this.read();
      if (cell && !this.on && (cell.top < HEADER || cell.bottom > innerHeight))
        document.querySelector("[data-testid='stMain']").scrollBy({ top: cell.top - innerHeight / 2 });
    }, REST);
  }

  /* ---- presenter's mode ---- */

  present(on) {
    if (on === this.on) return;
    this.on = on;
    this.page.toggleAttribute("data-lab-present", on);
    this.page.removeAttribute("data-lab-black");
    this.bar.hidden = !on;
    this.fit();
    if (on) this.wake();
  }

  /* The type of labels; pictures read it when they are drawn, and are drawn again since their box has changed. */
  fit() {
    const type = Math.max(LEAST_TYPE, Math.round(innerHeight * TYPE_PER_HIGH));
    if (this.on) this.page.dataset.labType = type;
    else delete this.page.dataset.labType;
    this.page.style.setProperty("--lab-type", this.on ? `${type}px` : "");
    this.measure();
  }

  /* A mouse that points into the picture would only bring the bar in front of its values; a finger has no other way. */
  near({ pointerType, clientX, clientY }) {
    return pointerType !== "mouse" || (innerWidth - clientX < NEAR[0] && innerHeight - clientY < NEAR[1]);
  }

  wake() {
    if (!this.on) return;
    this.bar.classList.add("awake");
    clearTimeout(this.asleep);
    this.asleep = setTimeout(() => this.bar.classList.remove("awake"), SHOWN);
  }

  pressed(event) {
    const { key, target } = event, typing = target.matches?.(TYPED);
    if (event.ctrlKey || event.altKey || event.metaKey || typing) return;
    if (!this.on) return void ((key === "f" || key === "F") && !event.shiftKey && this.press("present"));
    const name = key === "Escape" ? "leave" : key === "b" || key === "." ? "black" : MOVES[key];
    const picks = target.getRootNode() instanceof ShadowRoot || target.closest?.(".st-key-lab_picture"); // a picture's own keys
    if (!name || (picks && (key.startsWith("Arrow") || (key === "Escape" && this.holds(event))))) return;
    if (key.startsWith("Arrow") && this.steps(name)) return; // the scrubber hears them
    event.preventDefault();
    event.stopPropagation();
    this.press(name);
  }

  /* Whether "next" or "previous" is a step here: of the walk, or of a text that is written. Where there is no further one, the
   * section follows. */
  steps(name) {
    return (name === "next" || name === "previous") && Boolean(document.querySelector(STEPS.map((row) => `.st-key-${row}_${name} button:enabled`).join()));
  }

  /* Whether Esc clears a picked cell first. */
  holds(event) { return Boolean(event.composedPath()[0].dataset?.pick); }

  press(name) {
    if (name === "black") return void this.page.toggleAttribute("data-lab-black");
    if (name === "present" || name === "leave") {
      this.present(name === "present");
      return this.report({ number: ++this.number, on: this.on });
    }
    if (this.steps(name))
      return void document.body.dispatchEvent(new KeyboardEvent("keydown", { key: name === "next" ? "ArrowRight" : "ArrowLeft", bubbles: true }));
    this.send({ name, times: ++this.presses });
  }
}
