/* A range input, its label above and the step's title below, and a counter of all requests for another step.
 *
 * During a drag the input follows the pointer; the step is sent on release, or at each arrow key. Clicks on the
 * buttons beside it and arrow keys on the page are counted here too: Streamlit merges two clicks if they come
 * faster than the runs end, so the script sends the number of the step, not "one more". */

const KEYS = { ArrowLeft: "previous", ArrowRight: "next" };
const TYPED = "textarea, select, [contenteditable], input:not([type=checkbox], [type=radio], [type=range], [type=button])";
const views = new WeakMap(); // mounted component → its Scrubber

export default function ({ data, parentElement, setStateValue }) {
  if (!views.has(parentElement)) views.set(parentElement, new Scrubber(parentElement));
  const view = views.get(parentElement);
  view.send = (move) => setStateValue("move", move);
  view.start();
  view.show(data);
  return ending(view, () => view.stop());
}

class Scrubber {
  constructor(root) {
    [this.label, this.input, this.title] = ["label", "input", "h2"].map((tag) => root.querySelector(tag));
    this.number = 0; // counts what was sent: an answer to an older step moves nothing
    this.input.onpointerdown = () => (this.held = true);
    this.input.onpointerup = () => (this.held = false);
    this.input.oninput = () => this.name(Number(this.input.value));
    this.input.onchange = () => {
      this.held = false;
      this.go(Number(this.input.value));
    };
    this.input.onkeydown = (event) => { // returns nothing: a false would keep Tab and every other key from its work
      if (event.key in KEYS) event.stopPropagation(); // the page handles these keys, too
    };
    this.click = (event) => {
      for (const way of Object.values(KEYS)) if (event.target.closest?.(`.st-key-${this.data[way]} button`)) this.walk(way);
    };
    this.press = (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey || event.target.matches(TYPED)) return;
      if (event.key in KEYS) this.walk(KEYS[event.key]);
    };
  }

  start() {
    document.addEventListener("click", this.click);
    document.addEventListener("keydown", this.press);
  }

  stop() {
    document.removeEventListener("click", this.click);
    document.removeEventListener("keydown", this.press);
  }

  show(data) {
    this.data = data;
    this.title.textContent = data.title;
    this.title.hidden = !data.title; // an empty heading is read out
    this.input.max = data.most;
    this.input.hidden = data.most < 2;
    if (data.echo < this.number) return; // the answer to an older step
    [this.number, this.at, this.here] = [data.echo, data.value, data.here];
    this.label.textContent = this.label.title = data.label;
    this.input.setAttribute("aria-valuetext", data.label);
    if (!this.held) this.input.value = data.value;
  }

  name(step) {
    this.label.textContent = _("Step {step} of {steps}", { step, steps: this.data.most });
  }

  /* One step back or forward; between two stops, back means the previous one. */
  walk(way) {
    const step = way === "next" ? this.at + 1 : this.here ? this.at - 1 : this.at;
    this.go(Math.max(1, Math.min(this.data.most, step)));
  }

  go(step) {
    [this.at, this.here] = [step, true];
    this.input.value = step;
    this.name(step);
    this.send({ number: ++this.number, step, most: this.data.most });
  }
}
