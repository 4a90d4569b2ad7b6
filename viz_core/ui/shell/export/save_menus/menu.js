/* The menu of a Save button: its entries, its keys, and the panel that shows the Python code. It is in the browser's
 * top layer, so that it takes no space and is never clipped. */

import { make, set } from "../../../components/common/dom.js";
import { _ } from "../../../components/common/messages.js";
import { clamp } from "../../../components/common/numbers.js";

// Format, label, description, and whether it needs a picture (data tables have no such entries).
export const ENTRIES = [
  ["png", "PNG", _("image at 300 dpi"), true],
  ["svg", "SVG", _("vector graphic"), true],
  ["csv", _("Numbers (CSV)"), ""],
  ["csv_comma", _("Numbers (CSV) with decimal commas"), _("for a German or French spreadsheet")],
  ["json", _("About the numbers (JSON)"), ""],
  ["python", "Python", _("the code that draws it")],
];
const OFFSET_OF_KEY = { ArrowUp: -1, ArrowDown: 1 };

export class Menu {
  /* onChoose(what): called with the chosen format. onClose(): called when the menu is closed. */
  constructor(onChoose, onClose) {
    Object.assign(this, {
      onChoose,
      onClose,
      node: make("div", "lab-save-menu"),
      list: make("div"),
      status: make("div", "said"),
    });
    set(this.node, { popover: "manual" });
    set(this.list, { role: "menu" });
    set(this.status, { role: "status" });
    for (const [what, name, more] of ENTRIES) {
      const entry = this.list.appendChild(
        set(make("button"), { type: "button", role: "menuitem", tabindex: -1, "data-what": what }),
      );
      entry.append(make("span", "", name), make("small", "", more));
      entry.onclick = () => this.onChoose(what);
    }
    this.node.onkeydown = (event) => this.onKey(event);
    this.onOutsidePress = (event) => {
      if (!event.composedPath().some((node) => node === this.node || node === this.button)) this.close(false);
    };
    this.onMove = () => this.place();
  }

  get entries() {
    return [...this.list.children].filter(({ hidden }) => !hidden);
  }

  /* Open the menu at a button. offered: the items of `ENTRIES` that its picture has. */
  open(button, title, offered) {
    this.close(false);
    this.button = button;
    this.list.setAttribute("aria-label", button.getAttribute("aria-label"));
    Object.assign(this, { title });
    for (const entry of this.list.children) entry.hidden = !offered.some(([what]) => what === entry.dataset.what);
    this.node.replaceChildren(this.list, this.status);
    this.setStatus("");
    button.after(this.node);
    button.setAttribute("aria-expanded", "true");
    this.node.showPopover?.(); // older browsers show it in the normal flow
    this.place();
    this.entries[0].focus({ preventScroll: true });
    document.addEventListener("pointerdown", this.onOutsidePress, true);
    addEventListener("resize", this.onMove);
    document.addEventListener("scroll", this.onMove, true);
  }

  close(restoreFocus = true) {
    const { button } = this;
    if (!button) return;
    this.button = null;
    document.removeEventListener("pointerdown", this.onOutsidePress, true);
    removeEventListener("resize", this.onMove);
    document.removeEventListener("scroll", this.onMove, true);
    button.setAttribute("aria-expanded", "false");
    // not if the focus is already elsewhere
    if (restoreFocus && this.node.contains(document.activeElement)) button.focus({ preventScroll: true });
    this.node.remove();
    this.onClose();
  }

  /* Put the menu below the button, or above it, within the window. */
  place() {
    if (!this.button?.isConnected) return this.close(false); // its picture is no longer on the page
    const { left, right, top, bottom } = this.button.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = this.node;
    const fitsBelow = bottom + 4 + height <= innerHeight || top - 4 - height < 0;
    Object.assign(this.node.style, {
      left: `${clamp(right - width, 4, Math.max(4, innerWidth - width - 4))}px`,
      top: `${clamp(fitsBelow ? bottom + 4 : top - 4 - height, 4, Math.max(4, innerHeight - height - 4))}px`,
    });
    if (right < 0 || left > innerWidth) this.close(false);
  }

  onKey(event) {
    event.stopPropagation(); // the page must not handle these keys
    const { key } = event;
    const { entries } = this;
    const at = entries.indexOf(document.activeElement);
    if (key === "Escape" || (key === "Tab" && at >= 0)) {
      if (key === "Escape") event.preventDefault();
      return this.close();
    }
    const to =
      at < 0
        ? null
        : key in OFFSET_OF_KEY
          ? entries[(at + OFFSET_OF_KEY[key] + entries.length) % entries.length]
          : key === "Home"
            ? entries[0]
            : key === "End"
              ? entries.at(-1)
              : null;
    if (!to) return;
    event.preventDefault();
    to.focus();
  }

  /* Show one sentence below the entries. kind: "working" adds a progress bar, "problem" highlights it. */
  setStatus(sentence, kind = "") {
    this.status.replaceChildren(...(sentence ? [make("span", "", sentence)] : []));
    if (kind === "working") this.status.append(set(make("progress"), { "aria-label": sentence }));
    this.status.classList.toggle("problem", kind === "problem");
    if (this.button) this.place();
  }

  /* Show code that can be copied and saved. */
  showCode(code, save) {
    const panel = set(make("div", "panel"), {
      role: "dialog",
      "aria-label": _("Python: {title}", { title: this.title }),
    });
    const text = set(make("pre", "", code), { tabindex: 0, "aria-label": _("Python code") });
    const line = make("div", "line");
    const addButton = (name, onclick) =>
      Object.assign(line.appendChild(set(make("button", "", name), { type: "button" })), { onclick });
    const copy = addButton(_("Copy"), async () =>
      this.setStatus(
        (await copyText(code, text))
          ? _("The code is copied.")
          : _("The browser does not allow copying; the code is selected now."),
      ),
    );
    addButton(_("Save as .py"), save);
    addButton(_("Close"), () => this.close());
    this.setStatus("");
    panel.append(line, text);
    this.node.replaceChildren(panel, this.status);
    this.place();
    copy.focus({ preventScroll: true });
  }
}

/* Copy a text; without permission, select it and use the old copy command. */
async function copyText(text, node) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // for example on a page without https
    getSelection().selectAllChildren(node);
    return document.execCommand("copy");
  }
}
