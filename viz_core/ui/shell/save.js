/* The Save menu of every picture and every table of data. This script finds them by itself, wherever and whenever a page draws them, and gives each
 * a button. PNG and SVG are made here from what is drawn; for the rest Python is asked (save.py) with
 * `ask` = {number, key, what, link}, and the run after that replies. */

const SOFTWARE = "Attention Lab";
const CALM = 150, RESTLESS = 1000, LATE = 500, TRIES = 20; // ms without a change of the page; of changes; until a component without a picture is looked at again, how often
const PATIENCE = 20000, PAUSE = 2000; // ms that the server may rest without a reply before a file is given up; and from look to look
const KEPT_FILE = 30000; // ms that a file stays at its address, for the browser to save it
const TOUCHED = matchMedia("(hover: none)");
const ICON = "M8 1.5v8M4.5 6.5 8 10l3.5-3.5M2 11v2.5h12V11";
const kept = new WeakMap(); // the element of this component → its Saver
const taken = new Set(); // the numbers of files of the page's own buttons

export default function ({ data, parentElement, setStateValue }) {
  const home = parentElement.host ?? parentElement;
  if (!kept.has(home)) kept.set(home, new Saver());
  const saver = kept.get(home), [header, buffer, start] = unpack(data);
  Object.assign(saver, { page: header.page, report: (ask) => setStateValue("ask", ask) });
  saver.start();
  if (header.reply) saver.take(header.reply, buffer, start);
  return ending(saver, () => saver.stop()); // a rerun may stop and start the same element
}

class Saver {
  constructor() {
    this.number = Date.now(); // counts what is asked for, also across tabs of one session
    this.seen = new WeakMap(); // a picture's element → how often it was looked at without a picture in it
    this.menu = new Menu((what) => this.save(this.picture, what), () => { this.waiting = null; clearTimeout(this.timer); });
    this.watch = new MutationObserver(() => this.later(CALM));
    this.sizes = new ResizeObserver((entries) => { for (const { target } of entries) this.sized(target); });
    this.asked = (event) => this.answer(event);
  }

  start() {
    if (this.on) return;
    this.on = true;
    const app = document.querySelector("[data-testid='stMain']");
    if (app) this.watch.observe(app, { childList: true, subtree: true });
    document.addEventListener("lab-save", this.asked);
    this.later(0);
  }

  stop() {
    this.on = false;
    this.since = null;
    clearTimeout(this.calm);
    this.watch.disconnect();
    document.removeEventListener("lab-save", this.asked);
  }

  /* Once the page is calm; where it never is, as in a training, after a second all the same. */
  later(wait) {
    const now = performance.now();
    this.since ??= now;
    if (now - this.since > RESTLESS) return;
    clearTimeout(this.calm);
    this.calm = setTimeout(() => this.find(), wait);
  }

  /* ---- the buttons ---- */

  find() {
    this.since = null;
    let again = false;
    for (const node of document.querySelectorAll(`[data-testid='stMain'] :is(${OWN}, ${PLOTLY}, ${TABLE}, ${HTML})`)) {
      const container = placeOf(node), root = pictureIn(node);
      const host = container?.querySelector(":scope > .lab-save");
      if (container && root && keyOf(container)) {
        if (host?.owner === this && host.root === root) continue;
        host?.remove();
        this.give(container, root);
      } else {
        host?.remove();
        const tries = (this.seen.get(node) ?? 0) + 1; // a component's markup may come after its element, unseen from here
        this.seen.set(node, tries);
        again ||= !root && tries < TRIES && !node.shadowRoot?.querySelector("div > *");
      }
    }
    if (again) this.later(LATE);
    if (TOUCHED.matches) for (const host of document.querySelectorAll(".lab-save:not([hidden])")) this.place(host.picture); // always seen there
  }

  give(container, root) {
    const host = make("div", "lab-save"), button = host.appendChild(set(make("button"), { type: "button", "aria-haspopup": "menu", "aria-expanded": "false" }));
    draw(draw(button, "svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }), "path", { d: ICON });
    const picture = { container, root, host, button, key: keyOf(container), offered: OFFERED.filter(([, , , drawn]) => !drawn || !root.matches(TABLE)) };
    Object.assign(host, { owner: this, root, picture });
    button.onclick = () => (this.menu.button === button ? this.menu.close() : this.open(picture));
    button.onkeydown = (event) => {
      if (["Enter", " ", "ArrowDown", "ArrowUp"].includes(event.key)) event.stopPropagation(); // no keys of the page
      if (event.key !== "ArrowDown" || this.menu.button === button) return;
      event.preventDefault();
      this.open(picture);
    };
    const arrive = () => this.place(picture);
    container.addEventListener("pointerenter", arrive);
    container.addEventListener("focusin", arrive);
    if (root.matches(TABLE)) container.prepend(host); // the Tab key goes from cell to cell in it, and not out at its end
    else container.append(host);
    this.name(picture);
    root.labSave = picture;
    this.sizes.observe(root);
  }

  /* A picture has another size: in a closed expander it has none, and no button. */
  sized(root) {
    const picture = root.labSave;
    if (!picture?.host.isConnected) return this.sizes.unobserve(root);
    picture.host.hidden = !root.clientWidth || !root.clientHeight;
    if (!picture.host.hidden && TOUCHED.matches) this.later(CALM);
  }

  /* Pages go on drawing in the same element: the name and the place are those of now. */
  name(picture) {
    picture.title = titleOf(picture.root, picture.container);
    const said = _("Save: {title}", { title: picture.title });
    if (picture.button.title !== said) Object.assign(picture.button, { title: said, ariaLabel: said });
  }

  place(picture) {
    if (this.menu.button === picture.button) return; // not while its menu hangs on it
    this.name(picture);
    putInPlace(picture.host, picture.root, picture.container);
  }

  /* ---- the menu ---- */

  open(picture) {
    this.picture = picture;
    this.name(picture);
    this.menu.open(picture.button, picture.title, picture.offered);
  }

  /* A component asks for a file of its own picture: its toolbar has a button for that. */
  answer(event) {
    const picture = event.composedPath().map((node) => node.labSave).find(Boolean);
    if (!picture || !picture.offered.some(([what]) => what === event.detail?.what)) return;
    this.open(picture);
    this.save(picture, event.detail.what);
  }

  /* The menu has gone with its picture, which the page has drawn anew: it opens again at the new one. */
  reopen() {
    if (this.menu.node.isConnected) return;
    this.find();
    const host = [...document.querySelectorAll(".lab-save")].find(({ picture }) => picture.key === this.picture.key);
    if (host) this.open(host.picture);
  }

  async save(picture, what) {
    if (this.waiting) return; // one at a time
    const about = { title: picture.title, link: location.href }, number = ++this.number, { menu } = this;
    this.waiting = { number, picture, what };
    const still = () => this.waiting?.number === number;
    if (what !== "png" && what !== "svg") {
      menu.say(what === "csv" ? _("The numbers are being written …") : _("One moment …"), "working");
      this.await();
      return this.report({ number, key: picture.key, what, link: about.link });
    }
    menu.say(_("The picture is being drawn …"), "working");
    try {
      await new Promise((done) => setTimeout(done)); // the bar is seen first
      const made = await asSvg(picture.root, about);
      const file = what === "svg" ? new Blob([made.svg], { type: "image/svg+xml" }) : await asPng(made, about);
      if (still()) this.done(file, what);
    } catch (problem) {
      if (still()) this.failed(problem.message);
    }
  }

  /* A large file takes as long as it takes; a reply that does not come although the server does nothing is given up. */
  await(rested = 0) {
    const { dataset } = document.querySelector("[data-testid='stApp']") ?? document.body;
    const works = dataset.testConnectionState === "CONNECTED" && dataset.testScriptState === "running";
    if (rested >= PATIENCE) return this.failed(_("The server did not respond; please try again."));
    this.timer = setTimeout(() => this.waiting && this.await(works ? 0 : rested + PAUSE), PAUSE);
  }

  failed(sentence) {
    this.waiting = null;
    clearTimeout(this.timer);
    this.menu.say(sentence, sentence ? "problem" : "");
  }

  done(file, ending) {
    this.keep(file, ending);
    this.menu.close();
  }

  /* Let the browser save a file. */
  keep(file, ending, name = fileName(this.page, this.picture.title, this.picture.key, ending)) {
    const link = Object.assign(make("a"), { href: URL.createObjectURL(file), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), KEPT_FILE);
  }

  /* What the server has made: once, however often the page draws the same reply; of a picture, only what is still waited for. */
  take({ number, what, name, mime, problem }, buffer, start) {
    const bytes = () => new Uint8Array(buffer, start), file = () => new Blob([bytes()], { type: mime });
    if (what === "file") { // a button of the page has asked, and the page says itself what the problem is
      if (!problem && !taken.has(number)) this.keep(file(), "", name);
      return void taken.add(number);
    }
    if (this.waiting?.number !== number) return;
    if (what !== "python" && !problem) return this.done(file(), what);
    this.reopen();
    this.failed(problem);
    if (problem) return;
    this.menu.show(new TextDecoder().decode(bytes()), () => this.keep(file(), "py"));
  }
}
