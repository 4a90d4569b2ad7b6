/* The tab's side of a lost session. A session lives in one server process; the tab outlives it. On its return the tab says
 * which session it belonged to and which identities its widgets have, sends what was typed, and asks for a whole run, since
 * a new session knows none of the page's fragments. Until that run has ended, the page takes no clicks: they would be lost.
 * Other runs may end before it; it is the one whose last element names this return (`say_whole` in tab.py). */

const LONGEST = 2 ** 20, HELD = 3; // characters of a text, and how many texts
const PATIENCE = 60000, STORE = "attention-lab ";
const LINKS = ":is([data-testid='stSidebarNavLink'], [data-testid^='stTopNav']:is(a), [data-testid='stPageLink-NavLink'])";
const FIELDS = "textarea, input[type=text]:not([role=combobox]), input[type=number]"; // what is sent when it is left
const kept = new WeakMap(); // the element of this component → its Tab

export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  const home = parentElement.host ?? parentElement;
  if (!kept.has(home)) kept.set(home, new Tab(home));
  const tab = kept.get(home);
  const call = {};
  Object.assign(tab, { data, setStateValue, setTriggerValue, call });
  tab.start();
  tab.hold();
  return () => { if (tab.call === call) tab.stop(); }; // a late end of an earlier call undoes nothing
}

class Tab {
  constructor(home) {
    this.home = home;
    this.app = document.querySelector("[data-testid='stApp']");
    this.watch = new MutationObserver(() => this.look());
    this.build = new MutationObserver(() => this.look()); // while the page is shielded
    this.connected = true;
    this.returns = 0;
    this.asked = new Set(); // texts that were handed to this session already
    this.press = (event) => this.leave(event.target);
    this.click = (event) => this.pass(event);
  }

  start() {
    oneEntryAPage(this.app);
    const wrapper = this.home.closest("[data-testid='stElementContainer']");
    if (wrapper) wrapper.style.display = "none"; // nothing to see, and no gap either
    document.addEventListener("pointerdown", this.press, true);
    document.addEventListener("click", this.click, true);
    this.watch.observe(this.app, { attributeFilter: ["data-test-connection-state", "data-test-script-state"] });
  }

  stop() {
    document.removeEventListener("pointerdown", this.press, true);
    document.removeEventListener("click", this.click, true);
    this.watch.disconnect();
    this.shield(false);
  }

  /* A text is sent when its box is left. On a touch screen that happens within the tap, and the page that was tapped would
   * be asked for before the text is: so the box is left as the finger comes down, and the tap goes on once the text is out. */
  leave(target) {
    const field = document.activeElement;
    this.typed = Boolean(field?.matches(FIELDS)) && !field.contains(target);
    if (this.typed) field.blur();
  }

  pass(event) {
    const link = event.target.closest?.(LINKS);
    if (!link || !this.typed || event.ctrlKey || event.metaKey || event.shiftKey) return;
    this.typed = false;
    event.preventDefault();
    event.stopImmediatePropagation();
    setTimeout(() => setTimeout(() => link.click())); // Streamlit sends the text from a timer that was set before
  }

  /* Texts that the link leaves out stay in this tab, also over a reload; a session that lacks them gets them. */
  hold() {
    const { left_out: own, text, wanted, session } = this.data;
    if (own && text.length <= LONGEST && sessionStorage.getItem(STORE + own) === null) {
      const names = [...(sessionStorage.getItem(STORE)?.split(" ") ?? []), own];
      while (names.length > HELD) sessionStorage.removeItem(STORE + names.shift());
      sessionStorage.setItem(STORE, names.join(" "));
      sessionStorage.setItem(STORE + own, text);
    }
    const stored = wanted && sessionStorage.getItem(STORE + wanted);
    if (stored && !this.asked.has(session + wanted)) {
      this.asked.add(session + wanted);
      this.setTriggerValue("text", stored);
    }
  }

  look() {
    const connected = this.app.getAttribute("data-test-connection-state") === "CONNECTED";
    const still = this.app.getAttribute("data-test-script-state") === "notRunning";
    if (this.connected && !connected) this.tell(); // goes with whatever request the browser makes first on its return
    if (!this.connected && connected) this.back();
    else if (this.shielded && still && document.querySelector(`.st-key-lab_whole .times-${this.returns}`)) this.shield(false);
    this.connected = connected;
  }

  back() {
    this.shield(true);
    const active = document.activeElement;
    for (const field of document.querySelectorAll(FIELDS)) { // leaving a box is what commits its text
      field.focus({ preventScroll: true });
      field.blur();
    }
    active?.focus?.({ preventScroll: true });
    this.tell();
  }

  tell() {
    const generations = {};
    for (const element of document.querySelectorAll("[class*='st-key-set_']"))
      for (const name of element.classList) {
        const [, widget, generation] = name.match(/^st-key-set_(.+?)(?:--(\d+))?$/) ?? [];
        if (generation) generations[widget] = Number(generation);
      }
    this.setStateValue("back", { session: this.data.session, generations, weights: this.data.weights, times: ++this.returns });
  }

  shield(on) {
    clearTimeout(this.timer);
    this.build.disconnect();
    this.shielded = on;
    const main = this.app.querySelector("[data-testid='stMain']");
    if (main) main.inert = on;
    if (on) this.build.observe(this.app, { childList: true, subtree: true });
    if (on) this.timer = setTimeout(() => this.shield(false), PATIENCE);
  }
}
