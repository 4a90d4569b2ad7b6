/* The browser's side of restoring a session. A session belongs to one server process, and the tab outlives it. When it
 * reconnects, the tab reports its former session and the generations of its widgets, sends typed text, and requests a
 * full run, since a new session knows none of the page's fragments. Until that run has ended, the page is inert,
 * because clicks would be lost. Other runs may end before it: the last element of a run has the number of the
 * reconnection that it replies to (`mark_page_complete` in Python). */

import { ending } from "../../../components/common/reports.js";
import { CONNECTED, IDLE, LINKS, attributeIn } from "./app_state.js";
import { mergeHistoryEntries } from "./history.js";

const MAX_CHARS = 2 ** 20; // characters of a text
const MAX_TEXTS = 3; // number of stored texts
const SHIELD_MS = 60000; // ms after which a page is usable even if its run has not ended
const STORAGE_PREFIX = "attention-lab ";
// fields whose text is sent when they lose focus
const FIELDS = "textarea, input[type=text]:not([role=combobox]), input[type=number]";
const tabs = new WeakMap(); // the element of this component → its Tab

export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  const home = parentElement.host ?? parentElement;
  if (!tabs.has(home)) tabs.set(home, new Tab(home));
  const tab = tabs.get(home);
  Object.assign(tab, { data, setStateValue, setTriggerValue });
  tab.start();
  tab.storeText();
  return ending(tab, () => tab.stop());
}

class Tab {
  constructor(home) {
    this.home = home;
    this.app = document.querySelector(":--app") ?? document.body;
    this.stateObserver = new MutationObserver(() => this.onStateChange());
    this.pageObserver = new MutationObserver(() => this.onStateChange()); // while the page is shielded
    this.connected = true;
    this.returns = 0;
    this.sentTexts = new Set(); // texts that this session already received
    this.onPointerDown = (event) => this.commitText(event.target);
    this.onClick = (event) => this.delayLink(event);
  }

  start() {
    mergeHistoryEntries(this.app);
    const wrapper = this.home.closest(":--element-container");
    if (wrapper) wrapper.style.display = "none"; // invisible, without a gap
    document.addEventListener("pointerdown", this.onPointerDown, true);
    document.addEventListener("click", this.onClick, true);
    this.stateObserver.observe(this.app, { attributeFilter: [CONNECTED, IDLE].map(attributeIn) });
  }

  stop() {
    document.removeEventListener("pointerdown", this.onPointerDown, true);
    document.removeEventListener("click", this.onClick, true);
    this.stateObserver.disconnect();
    this.shield(false);
  }

  /* Text is sent when its field loses focus. On a touch screen that happens during the tap, so that a tapped page would
   * be requested before the text is sent. So the field loses focus on pointerdown, and the click continues once the
   * text is sent. */
  commitText(target) {
    const field = document.activeElement;
    this.committed = Boolean(field?.matches(FIELDS)) && !field.contains(target);
    if (this.committed) field.blur();
  }

  delayLink(event) {
    const link = event.target.closest?.(LINKS);
    if (!link || !this.committed || event.ctrlKey || event.metaKey || event.shiftKey) return;
    this.committed = false;
    event.preventDefault();
    event.stopImmediatePropagation();
    setTimeout(() => setTimeout(() => link.click())); // after the timer with which Streamlit sends the text
  }

  /* Store the overflow texts of links in the tab, where they survive a reload, and send them to a session that lacks
   * them. */
  storeText() {
    const { left_out: own, text, wanted, session } = this.data;
    if (own && text.length <= MAX_CHARS && sessionStorage.getItem(STORAGE_PREFIX + own) === null) {
      const names = [...(sessionStorage.getItem(STORAGE_PREFIX)?.split(" ") ?? []), own];
      while (names.length > MAX_TEXTS) sessionStorage.removeItem(STORAGE_PREFIX + names.shift());
      sessionStorage.setItem(STORAGE_PREFIX, names.join(" "));
      sessionStorage.setItem(STORAGE_PREFIX + own, text);
    }
    const stored = wanted && sessionStorage.getItem(STORAGE_PREFIX + wanted);
    if (stored && !this.sentTexts.has(session + wanted)) {
      this.sentTexts.add(session + wanted);
      this.setTriggerValue("text", stored);
    }
  }

  onStateChange() {
    const connected = this.app.matches(CONNECTED);
    const isIdle = this.app.matches(IDLE);
    if (this.connected && !connected) this.report(); // is sent with the first request after the reconnection
    if (!this.connected && connected) this.restore();
    else if (this.shielded && isIdle && document.querySelector(`.st-key-lab_page_complete .times-${this.returns}`))
      this.shield(false);
    this.connected = connected;
  }

  restore() {
    this.shield(true);
    const active = document.activeElement;
    for (const field of document.querySelectorAll(FIELDS)) {
      // losing focus sends the text of a field
      field.focus({ preventScroll: true });
      field.blur();
    }
    active?.focus?.({ preventScroll: true });
    this.report();
  }

  report() {
    const generations = {};
    for (const element of document.querySelectorAll("[class*='st-key-set_']"))
      for (const name of element.classList) {
        const [, widget, generation] = name.match(/^st-key-set_(.+?)(?:--(\d+))?$/) ?? [];
        if (generation) generations[widget] = Number(generation);
      }
    this.setStateValue("back", {
      session: this.data.session,
      generations,
      weights: this.data.weights,
      times: ++this.returns,
    });
  }

  shield(on) {
    clearTimeout(this.timer);
    this.pageObserver.disconnect();
    this.shielded = on;
    const main = this.app.querySelector(":--main");
    if (main) main.inert = on;
    if (on) this.pageObserver.observe(this.app, { childList: true, subtree: true });
    if (on) this.timer = setTimeout(() => this.shield(false), SHIELD_MS);
  }
}
