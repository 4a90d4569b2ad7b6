/* The menu of a Save button: what it offers, its keys, and the panel that shows a snippet. It lies in the browser's top layer,
 * so that it takes no room and nothing cuts it off. */

// What is saved, its name, what it is, and whether it is a drawing, which a table of data is not.
const OFFERED = [["png", "PNG", _("image at 300 dpi"), true], ["svg", "SVG", _("vector graphic"), true], ["csv", _("Numbers (CSV)"), ""],
                 ["json", _("About the numbers (JSON)"), ""], ["python", "Python", _("the code that draws it")]];
const TURN = { ArrowUp: -1, ArrowDown: 1 };

class Menu {
  /* choose(what): the reader has chosen an entry. closed(): the menu has gone. */
  constructor(choose, closed) {
    Object.assign(this, { choose, closed, node: make("div", "lab-save-menu"), list: make("div"), said: make("div", "said") });
    set(this.node, { popover: "manual" });
    set(this.list, { role: "menu" });
    set(this.said, { role: "status" });
    for (const [what, name, more] of OFFERED) {
      const entry = this.list.appendChild(set(make("button"), { type: "button", role: "menuitem", tabindex: -1, "data-what": what }));
      entry.append(make("span", "", name), make("small", "", more));
      entry.onclick = () => this.choose(what);
    }
    this.node.onkeydown = (event) => this.pressed(event);
    this.outside = (event) => { if (!event.composedPath().some((node) => node === this.node || node === this.button)) this.close(false); };
    this.moved = () => this.place();
  }

  get entries() { return [...this.list.children].filter(({ hidden }) => !hidden); }

  /* Open it at a button. offered: what of `OFFERED` its picture has. */
  open(button, title, offered) {
    this.close(false);
    this.button = button;
    this.list.setAttribute("aria-label", button.getAttribute("aria-label"));
    Object.assign(this, { title });
    for (const entry of this.list.children) entry.hidden = !offered.some(([what]) => what === entry.dataset.what);
    this.node.replaceChildren(this.list, this.said);
    this.say("");
    button.after(this.node);
    button.setAttribute("aria-expanded", "true");
    this.node.showPopover?.(); // older browsers show it in its place
    this.place();
    this.entries[0].focus({ preventScroll: true });
    document.addEventListener("pointerdown", this.outside, true);
    addEventListener("resize", this.moved);
    document.addEventListener("scroll", this.moved, true);
  }

  close(back = true) {
    const { button } = this;
    if (!button) return;
    this.button = null;
    document.removeEventListener("pointerdown", this.outside, true);
    removeEventListener("resize", this.moved);
    document.removeEventListener("scroll", this.moved, true);
    button.setAttribute("aria-expanded", "false");
    if (back && this.node.contains(document.activeElement)) button.focus({ preventScroll: true }); // not where the reader has gone on
    this.node.remove();
    this.closed();
  }

  /* Below the button, or above it; never beyond the window. */
  place() {
    if (!this.button?.isConnected) return this.close(false); // its picture has left the page
    const { left, right, top, bottom } = this.button.getBoundingClientRect(), { offsetWidth: wide, offsetHeight: high } = this.node;
    const under = bottom + 4 + high <= innerHeight || top - 4 - high < 0;
    Object.assign(this.node.style, { left: `${clamp(right - wide, 4, Math.max(4, innerWidth - wide - 4))}px`,
                                     top: `${clamp(under ? bottom + 4 : top - 4 - high, 4, Math.max(4, innerHeight - high - 4))}px` });
    if (right < 0 || left > innerWidth) this.close(false);
  }

  pressed(event) {
    event.stopPropagation(); // the page has keys of its own
    const { key } = event, { entries } = this, at = entries.indexOf(document.activeElement);
    if (key === "Escape" || key === "Tab" && at >= 0) {
      if (key === "Escape") event.preventDefault();
      return this.close();
    }
    const to = at < 0 ? null : key in TURN ? entries[(at + TURN[key] + entries.length) % entries.length] : key === "Home" ? entries[0] : key === "End" ? entries.at(-1) : null;
    if (!to) return;
    event.preventDefault();
    to.focus();
  }

  /* One sentence below the entries. kind: "working" has a bar below it; a "problem" stands out. */
  say(sentence, kind = "") {
    this.said.replaceChildren(...(sentence ? [make("span", "", sentence)] : []));
    if (kind === "working") this.said.append(set(make("progress"), { "aria-label": sentence }));
    this.said.classList.toggle("problem", kind === "problem");
    if (this.button) this.place();
  }

  /* A snippet to read, copy and save. */
  show(code, save) {
    const panel = set(make("div", "panel"), { role: "dialog", "aria-label": _("Python: {title}", { title: this.title }) });
    const text = set(make("pre", "", code), { tabindex: 0, "aria-label": _("Python code") }), line = make("div", "line");
    const act = (name, does) => Object.assign(line.appendChild(set(make("button", "", name), { type: "button" })), { onclick: does });
    const copy = act(_("Copy"), async () => this.say((await copied(code, text)) ? _("The code is copied.") : _("The browser does not allow copying; the code is selected now.")));
    act(_("Save as .py"), save);
    act(_("Close"), () => this.close());
    this.say("");
    panel.append(line, text);
    this.node.replaceChildren(panel, this.said);
    this.place();
    copy.focus({ preventScroll: true });
  }
}

/* Copy a text; without the right to do so, select it. */
async function copied(text, node) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch { // of a page without https, say
    getSelection().selectAllChildren(node);
    return document.execCommand("copy");
  }
}
