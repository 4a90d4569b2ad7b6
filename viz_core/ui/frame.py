"""The frame that every page shares: navigation, sidebar, link, status line, and the run that the page is about.

`main` is all of app.py, `open_page` the first line of every page. The setup lives in the session and, as far as it
differs from the preset, in the link; captures live in the shared store (`viz_core.ui.cache`), never in a session.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st
from PIL import Image
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import get_script_run_ctx

from viz_core.analysis.counts import Estimate, estimate
from viz_core.analysis.summary import typed_words
from viz_core.capture import Capture
from viz_core.config import TransformerConfig
from viz_core.limits import MAX_KEPT_CHARS, MAX_LINK_BYTES, MAX_SENTENCES, MAX_VIEW_CHARS, cache_problem
from viz_core.presets import PRESETS
from viz_core.text import AnyTokenizer, TokenizerKind
from viz_core.ui.callbacks import let_callbacks_end
from viz_core.ui.safe import code, escaped, few, words
from viz_core.ui.setup import (
    CONTROLS,
    DEVICES,
    LEFT_OUT,
    MAX_SEED,
    TEXTS,
    TOKENS,
    VIEW,
    Control,
    LeftOut,
    Setup,
    changes,
    editable,
    from_link,
    ids,
    offered,
    sentences,
    to_link,
    with_field,
    with_left_out,
    with_preset,
    with_view,
    with_weights,
)  # fmt: skip
from viz_core.ui.tab import say_whole, tab
from viz_core.ui.views import FOLDS
from viz_core.ui.warm import all_imported, cards_read, home_imported
from viz_core.ui.widgets import RESTORING, TOUCHED, chosen_meanwhile, touch, widget, widget_value
from viz_core.weights.catalogue import catalogue
from viz_core.weights.huggingface import hub_card, hub_is_open, problems

if TYPE_CHECKING:
    from viz_core.model.transformer import Transformer
    from viz_core.run import Batch

# torch takes over a second to import. `viz_core.ui.warm` imports it, and all else that is large, after the sidebar and
# the title are sent; so what needs any of it imports it where it is used.

GROUPS = tuple(dict.fromkeys(c.group for c in CONTROLS if c.group))
MAX_NAMED = 6  # unknown words, words that share an id, faults of a link: how many of each are named one by one

# Where a session keeps what: the setup and the setup as this page was entered; the link as written, and whether it was
# left empty; what it leaves out and the tab holds, the name of what is missing, and whether this run took a link; the
# page; faults of the link and notes to show; unusual values on offer; and the marks of the way into the frame.
SETUP, ENTERED, LINK, BARE = "lab_setup", "lab_entered", "lab_link", "lab_bare"
HELD, WANTED, ADOPTED = "lab_held", "lab_wanted", "lab_adopted"
PAGE, FAULTS, NOTES = "lab_page", "lab_faults", "lab_notes"
HUB_NAME, UNUSUAL = "lab_hub", "lab_unusual"
SETTLE = "lab_settle"  # by page: what it does between a change and its link, so that both are one entry of the history
SHELL, ARRIVED = "lab_in_frame", "lab_arrived"


@dataclass(frozen=True, slots=True)
class PageSpec:
    """One page: its file's name in pages/ (and its URL), title in the navigation, icon."""

    name: str
    title: str
    icon: str


@dataclass(frozen=True, slots=True)
class Lab:
    """What a page works with. `capture` is None where there is nothing to run; the reason is on the page already."""

    setup: Setup
    capture: Capture | None
    batch: "Batch | None" = None

    @property
    def config(self) -> TransformerConfig:
        return self.setup.config

    @property
    def tokenizers(self) -> Mapping[str, AnyTokenizer]:
        return _tokenizers(self.setup)

    def model(self) -> "Transformer":
        """The model of this setup, shared by all visitors: nobody may change it."""
        from viz_core.ui.cache import cached_model

        return cached_model(self.setup.weights, self.config, self.setup.seed, self.setup.device)

    def parameter(self, name: str) -> np.ndarray:
        """One parameter of the model by its torch name, read-only."""
        x: np.ndarray = self.model().get_parameter(name).detach().cpu().numpy().view()
        x.flags.writeable = False
        return x

    def word(self, side: str, id: int) -> str:
        """The name of an id: the word typed here that has it, else the vocabulary's."""
        typed = {} if self.capture is None or self.setup.card else typed_words(self.capture, side)
        return typed.get(id) or self.tokenizers[side].decode(id)


# ---------------------------------------------------------------- app.py and the first line of each page


def main(specs: Sequence[PageSpec], bodies: dict[str, Callable[[], None]] | None = None) -> None:
    """Navigation, sidebar and the chosen page. The first page is the home page. bodies: functions instead of files."""
    let_callbacks_end()
    st.set_page_config(page_title="Attention Lab", page_icon=_icon(), layout="wide")
    pages = {
        s.name: st.Page(
            (bodies or {}).get(s.name, f"pages/{s.name}.py"), title=s.title, icon=s.icon, default=s is specs[0],
            url_path=None if s is specs[0] else s.name,
        )
        for s in specs
    }  # fmt: skip
    chosen = st.navigation(list(pages.values()))
    if ARRIVED not in st.session_state:
        _begin_again()
    cards_read()
    _adopt_link(chosen.title, tab(*_left_out()))
    _sidebar()
    if settle := st.session_state.get(SETTLE, {}).get(chosen.url_path):
        settle()
    write_link()
    if chosen_meanwhile():
        st.rerun()
    st.session_state[SHELL] = True
    try:
        chosen.run()
        say_whole()
    finally:
        st.session_state[SHELL] = False


def _begin_again() -> None:
    """Run app.py from its beginning, with all that the browser sent.

    On a fresh server a folder named pages/ makes Streamlit take the navigation from it: then a page's file may run without
    its frame, and every widget has another identity than in later runs. One run is enough to end that, and nothing is
    drawn in it yet.
    """
    st.session_state[ARRIVED] = True
    PagesManager.uses_pages_directory = False
    st.rerun()


def _icon() -> Image.Image:
    """The page's icon, a causal mask; drawn here, since Streamlit fetches a named one from the internet."""
    icon = Image.new("RGB", (4, 4), "#d6e2e6")
    for t in range(4):
        icon.paste("#038d9b", (0, t, t + 1, t + 1))
    return icon.resize((32, 32), Image.Resampling.NEAREST)


def open_page(question: str, lead: str = "", imported: Callable[[], None] = all_imported) -> Lab:
    """First line of a page: its question as the title, a lead in Markdown, the link's faults, the run, the status line.

    imported: waits for what the page imports, once title and lead are on their way; only then may the page import it.
    """
    if not st.session_state.get(SHELL):
        _begin_again()
    st.title(question, anchor=False)
    if lead:
        st.markdown(lead)
    setup = current()
    if faults := st.session_state.get(FAULTS, []):
        st.warning(_paragraphs([f"The link says {code(written)}, which {fault}." for written, fault in faults]))
    for note in st.session_state.pop(NOTES, []):
        st.info(note)
    imported()
    attempt = _run(setup)
    return Lab(setup, attempt.capture, attempt.batch)


def _tokenizers(setup: Setup) -> Mapping[str, AnyTokenizer]:
    """What names the ids of each side: the trained weights' own, or the untrained ones of the config."""
    if setup.card:
        return setup.card.tokenizers()
    from viz_core.run import tokenizers

    kind: TokenizerKind = "word" if setup.tokenizer == "ids" else setup.tokenizer
    return tokenizers(setup.config, kind)


def present() -> Lab:
    """The setup and its run, without a word on the page: for a fragment, which reruns without its page."""
    return lab_of(current())


def lab_of(setup: Setup) -> Lab:
    """Another setup and its run, to compare with."""
    all_imported()
    attempt = _attempt(setup)
    return Lab(setup, attempt.capture, attempt.batch)


def current() -> Setup:
    """The setup of this session."""
    setup: Setup = st.session_state[SETUP]
    return setup


def change(**selection: Any) -> None:
    """Change what is selected (stage, item, head) or typed; for callbacks."""
    touch()
    st.session_state[SETUP] = replace(current(), **selection)
    st.session_state[FAULTS] = []
    if not selection.keys().isdisjoint(TEXTS) and not st.session_state.get(RESTORING):
        st.session_state[WANTED] = ""  # typed anew, so what the link had left out is no longer missed


def view(name: str) -> Any:
    """What this page has selected under a name of `viz_core.ui.views`."""
    return current().view(name)


def set_view(**values: Any) -> None:
    """Change what pages have selected; for callbacks."""
    change(views=with_view(current(), **values).views)


def view_widget(make: Callable[..., Any], name: str, label: str, **kwargs: Any) -> Any:
    """A widget bound to a view; returns the view's value. options: fewer than the table's, where the run allows fewer.

    A value that the run does not allow is named, and the default (or the first allowed) stands in.
    """
    spec, value = VIEW[name], view(name)
    allowed = kwargs.get("options", spec.options)
    if allowed is not None and not spec.many and value not in allowed:
        instead = spec.default if spec.default in allowed else next(iter(allowed))
        st.warning(f"{label} {code(spec.write(value))} is not to be had here; {code(spec.write(instead))} is shown.")
        value = instead
    if spec.many and allowed is not None:
        value = tuple(v for v in value if v in allowed)
    if make in (st.number_input, st.slider) and isinstance(allowed, range):
        kwargs = {k: v for k, v in kwargs.items() if k != "options"}
        kwargs |= {"min_value": allowed[0], "max_value": allowed[-1], "step": allowed.step}
    elif make is st.text_input:
        kwargs.setdefault("max_chars", MAX_VIEW_CHARS)
    elif make not in (st.toggle, st.checkbox):
        kwargs.setdefault("options", allowed)
    widget(make, name, label, list(value) if spec.many else value, _set_view, **kwargs)
    return value


def fold(name: str, label: str) -> Any:
    """What opens in its place; the link says whether it is open. What is in it is to be made only where `.open`."""
    if st.session_state.get(name) != (name in view("open")):
        st.session_state[name] = name in view("open")
    return st.expander(label, key=name, on_change=_fold, args=(name,))


def _fold(name: str) -> None:
    set_view(open=tuple(n for n in FOLDS if (st.session_state[n] if n == name else n in view("open"))))


def _set_view(name: str) -> None:
    value = widget_value(name)
    set_view(**{name: tuple(value) if VIEW[name].many else value})


# ---------------------------------------------------------------- the link


def went_back() -> bool:
    """Whether this run was asked for by the browser's Back or Forward."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def _left_out() -> tuple[LeftOut, str]:
    """What the tab is to hold for this session, and the name of what the session lacks."""
    state = st.session_state
    state[HELD] = LeftOut() if SETUP not in state else to_link(current())[1]
    return state[HELD], state.get(WANTED, st.query_params.get(LEFT_OUT, ""))


def _adopt_link(page: str, held: str) -> None:
    """Take the setup from the link: in a new session, and where a person went back or forward to another link.

    No other run adopts: what the browser says of its address may be older than the setup. Streamlit empties the query on
    the way to another page, and its history keeps that empty entry: Back to it means the setup as the page was entered.

    held: what the link had left out, where its tab has just handed it over.
    """
    state, params = st.session_state, st.query_params.to_dict()
    moved, touched = state.get(PAGE) not in (None, page), state.get(TOUCHED, False)
    before = state.get(SETUP)
    if SETUP not in state:
        state[SETUP], state[FAULTS] = from_link(params)
        state[WANTED] = params.get(LEFT_OUT, "")
        state[FAULTS] += [(f"{k} (twice)", "is given more than once; the last one is used")
                          for k in params if len(st.query_params.get_all(k)) > 1]  # fmt: skip
    elif went_back() and params != state[LINK] and not touched and not (moved and not params):
        if params:
            held = held or to_link(current())[1].text
            state[SETUP], state[FAULTS] = from_link(params)
            state[WANTED] = params.get(LEFT_OUT, "")
        else:
            state[SETUP], state[FAULTS], state[BARE] = state[ENTERED], [], True
    if state.get(WANTED):
        whole = with_left_out(current(), held)
        if to_link(whole)[1].name == state[WANTED]:
            state[SETUP], state[WANTED] = whole, ""
    state[ADOPTED] = state[SETUP] is not before
    if moved or ENTERED not in state:
        state[ENTERED], state[BARE] = state[SETUP], False
    if not touched:
        state[LINK] = params
    state[PAGE] = page


def write_link() -> None:
    """Bring the address bar to the setup; after Back to an empty entry it stays empty, or Back would lead no further.

    What the browser says of its address may be older than what was written last, which is then still on its way.
    """
    state = st.session_state
    params, left_out = to_link(current())
    if left_out.name and state[HELD] != left_out:
        st.rerun()  # a fragment cannot reach the tab: the whole run hands it what the link leaves out
    if state.get(WANTED):
        params[LEFT_OUT] = state[WANTED]
    if state[BARE] and current() == state[ENTERED]:
        params = {}
    elif params != st.query_params.to_dict() or params != state[LINK]:
        st.query_params.from_dict(params)
    state[LINK] = params
    state[TOUCHED] = False


# ---------------------------------------------------------------- the sidebar


def _sidebar() -> None:
    with st.sidebar:
        setup = current()
        chosen = setup.weights if setup.card else setup.preset
        widget(st.selectbox, "model", "Model", chosen, _set_model, options=[*catalogue(), *PRESETS], format_func=_model_title,
                help="Trained weights, or one of the five documents' models with random ones.")  # fmt: skip
        if hub_is_open():
            _hub()
        if setup.config.has_encoder:
            _text("source", "Source sentences" if setup.config.has_decoder else "Sentences")
        if setup.config.has_decoder:
            _text("target", "Target sentences" if setup.config.has_encoder else "Sentences")
        for control in CONTROLS:
            if not control.group:
                _control(control)
        if setup.card is None:
            widget(st.number_input, "seed", "Seed", setup.seed, set_choice, min_value=0, max_value=MAX_SEED, step=1,
                    help="Same setup and seed: the same weights, to the bit.")  # fmt: skip
        more = fold("all_switches", "All switches")
        if more.open:
            with more:
                _all_switches()


def _all_switches() -> None:
    setup = current()
    own = "the weights' own" if setup.card else "word"
    kinds = [t for t in TOKENS if not (setup.card and t == "character")]
    widget(st.selectbox, "tokenizer", "Tokenizer", setup.tokenizer, set_choice, options=kinds,
            format_func=lambda t: own if t == "word" else t,
            help="Word: spaces and punctuation split. Character: every character is a token. Ids: type the numbers. "
            "Trained weights have their own.")  # fmt: skip
    widget(st.selectbox, "device", "Device", setup.device, set_choice, options=_devices(),
            help="auto takes a GPU where this machine has one.")  # fmt: skip
    for group in GROUPS:
        shown = [c for c in CONTROLS if c.group == group and c.when(setup.config) and editable(setup, c.field)]
        if shown:
            st.markdown(f"**{group}**")
        for control in shown:
            _control(control)
    st.caption("Dropout is always off here, so that the same setup gives the same numbers.")


def _devices() -> list[str]:
    home_imported()
    import torch

    return [d for d in DEVICES if d != "cuda" or torch.cuda.is_available()]


def _text(side: str, label: str) -> None:
    widget(st.text_area, side, label, getattr(current(), side), set_choice, height=110,
            help="One sentence a line. Spaces separate words; Chinese without spaces is split by character.")  # fmt: skip


def _control(control: Control) -> None:
    setup, config = current(), current().config
    if not control.when(config) or not editable(setup, control.field):
        return
    value = control.value(config)
    options = _steady(control.field, tuple(control.options(config)), offered(setup, control), value)
    kwargs: dict[str, Any] = {"help": control.help}
    make: Callable[..., Any]
    if set(options) <= {True, False} and isinstance(value, bool):
        make = st.toggle
    elif isinstance(value, str) or any(isinstance(o, str) for o in options) or len(options) < 3:
        make, kwargs = st.selectbox, kwargs | {"options": options}
    else:
        make, kwargs = st.select_slider, kwargs | {"options": options}
    if make is not st.toggle:
        kwargs["format_func"] = lambda o: f"{o:g}" if isinstance(o, float) else str(o)
    widget(make, control.field, control.label, value, _set_field, **kwargs)


def _steady(name: str, usual: tuple[Any, ...], options: list[Any], value: Any) -> list[Any]:
    """The options, with each unusual value that was held beside the same usual ones: a slider that is in use keeps its shape."""
    held: dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]] = st.session_state.setdefault(UNUSUAL, {})
    before, unusual = held.get(name, (usual, ()))
    unusual = (*(u for u in unusual if before == usual and u != value), *(() if value in usual else (value,)))
    held[name] = usual, unusual
    missing = [u for u in unusual if u not in options]
    return sorted([*options, *missing]) if missing else options


def _hub() -> None:
    """A model of the Hugging Face hub by its name: the one request off the machine, and only where a person asks."""
    with st.form("hub", border=False):
        st.text_input("From the Hugging Face hub", key=HUB_NAME, placeholder="owner/model", max_chars=MAX_VIEW_CHARS)
        st.form_submit_button("Open", on_click=_open_from_hub, width="stretch")


def _open_from_hub() -> None:
    touch()
    try:
        name = hub_card(st.session_state[HUB_NAME].strip()).name
        catalogue.cache_clear()
        st.session_state[SETUP], st.session_state[FAULTS] = with_weights(current(), name), []
    except ValueError as error:
        st.session_state[NOTES] = [escaped(str(error))]


def _model_title(name: str) -> str:
    return f"{PRESETS[name].title} · untrained" if name in PRESETS else catalogue()[name].title


def _set_model(name: str) -> None:
    chosen = widget_value(name)
    st.session_state[SETUP] = (with_preset if chosen in PRESETS else with_weights)(current(), chosen)
    st.session_state[FAULTS] = []


def set_choice(name: str) -> None:
    change(**{name: widget_value(name)})


def _set_field(name: str) -> None:
    st.session_state[SETUP], notes = with_field(current(), name, widget_value(name))
    st.session_state[FAULTS], st.session_state[NOTES] = [], notes


# ---------------------------------------------------------------- the run


@dataclass(frozen=True, slots=True)
class Attempt:
    """A run, or one sentence why there is none; and what there is to say about the sentences."""

    capture: Capture | None = None
    batch: "Batch | None" = None
    size: Estimate | None = None
    problem: str = ""
    notes: Sequence[str] = ()


def _attempt(setup: Setup) -> Attempt:
    """Run this setup, from the shared store where it has run before. Its size is estimated before it runs."""
    from viz_core.ui.cache import cached_run

    source, target, notes = sentences(setup)
    given = source or target
    if not any(s.strip() for s in given):
        return Attempt(problem="There is nothing to read yet: type a sentence in the box at the left.")
    if len(given) > MAX_SENTENCES:
        return Attempt(problem=f"There are {len(given)} sentences and the limit is {MAX_SENTENCES}: remove some lines.")
    try:
        batch = _batch(setup, source, target)
        lengths = {side: ids.shape[1] for side, ids in batch.ids.items()}
        if setup.card and setup.config.has_position_table and max(lengths.values()) > setup.config.max_len:
            longest = f"the longest sentence has {max(lengths.values()):,}"
            return Attempt(problem=f"These weights have {setup.config.max_len:,} positions and {longest}: shorten it.", notes=notes)
        size = estimate(setup.config, len(given), lengths.get("source", 0), lengths.get("target", 0))
        if size.problem:
            return Attempt(batch=batch, problem=size.problem, notes=notes)
        notes = [*notes, *_unknown(setup, {"source": source, "target": target})]
        capture = cached_run(setup.weights, setup.config, batch, setup.seed, setup.device)
        return Attempt(capture, batch, size, notes=notes)
    except ValueError as error:  # one sentence: what is wrong, with which value, what to do
        return Attempt(problem=str(error), notes=notes)


def _run(setup: Setup) -> Attempt:
    """The run of this setup, with its status line; where there is none, the page says why."""
    attempt = _attempt(setup)
    for note in attempt.notes:
        st.info(note)
    if st.session_state.get(WANTED):
        st.info("This link leaves out a text that is too long for a link. The text is in the tab in which it was typed.")
    elif (left_out := to_link(setup)[1]).name:
        stays = "stays in this tab" if len(left_out.text) <= MAX_KEPT_CHARS else "is lost when this tab is reloaded"
        st.info(f"The link would pass {MAX_LINK_BYTES // 1024} KB, so it leaves the text out; the text {stays}.")
    if attempt.problem:
        st.warning(escaped(attempt.problem))
    if problem := cache_problem():
        st.info(escaped(problem))
    if broken := _broken():
        st.info(_paragraphs([escaped(f"Weights that cannot be read: {one}") for one in broken]))
    if attempt.capture and attempt.size:
        _status(setup, attempt.capture, attempt.size)
    return attempt


def _paragraphs(told: Sequence[str]) -> str:
    """A few sentences for one box, a paragraph each, and how many more there are."""
    more = [f"And {len(told) - MAX_NAMED:,} more."] if len(told) > MAX_NAMED else []
    return "\n\n".join([*told[:MAX_NAMED], *more])


@lru_cache(maxsize=1)
def _broken() -> list[str]:
    """Weights that the server's owner named and that cannot be read; looked at once."""
    return problems()


def _unknown(setup: Setup, typed: dict[str, list[str]]) -> list[str]:
    """A sentence a side for words that trained weights have never seen, with the nearest ones that they know."""
    notes = []
    for side, tokenizer in _tokenizers(setup).items() if setup.card and setup.tokenizer != "ids" else ():
        missing = dict(m for line in typed[side] for m in tokenizer.unknown(line))
        named = [f"{words([word])} (near: {words(near)})" if near else words([word]) for word, near in missing.items()]
        if named:
            notes.append(f"Not in the {side} vocabulary of these weights, so read as `<unk>`: {few(named, MAX_NAMED)}.")
    return notes


def _batch(setup: Setup, source: list[str], target: list[str]) -> "Batch":
    """Typed sentences, or typed ids, as a batch."""
    from viz_core.run import prepare

    if setup.tokenizer != "ids":
        return prepare(setup.config, source, target, _tokenizers(setup))
    return prepare(setup.config, ids("source", source), ids("target", target), _tokenizers(setup))


def _status(setup: Setup, capture: Capture, size: Estimate) -> None:
    """Architecture, parameters, tokens and milliseconds; and words that share an id."""
    sides = [f"{side} {_tokens(capture, side)}" for side in ("source", "target") if f"ids.{side}" in capture]
    parts = (
        setup.config.architecture, f"{size.parameters:,} parameters, {'trained' if setup.card else 'untrained'}",
        " and ".join(sides), f"{capture.milliseconds:.1f} ms on {capture.device}",
    )  # fmt: skip
    st.caption(" · ".join(parts))
    if setup.card and (changed := changes(setup)):
        named = ", ".join(code(f"{n}={v}") for n, v in changed.items())
        st.info(f"Not as trained: {named}. The weights learned without this change.")
    if setup.card is None and setup.tokenizer != "ids":  # trained words may share an id on purpose: The, the
        _collisions(setup, capture)


def _collisions(setup: Setup, capture: Capture) -> None:
    """Words that share an id, in one box for both sides."""
    found = [
        (side, clash) for side, tokenizer in _tokenizers(setup).items()
        for clash in tokenizer.collisions(t for row in capture.tokens(side) for t in row if t not in ("<pad>", "<bos>"))
    ]  # fmt: skip
    if found:
        named = few([f"{words(list(clash))} ({side})" for side, clash in found], MAX_NAMED, "; ")
        sides = " and the ".join(f"{side} vocabulary" for side in dict.fromkeys(side for side, _ in found))
        st.info(f"Words that share one id are the same word to this model: {named}. To tell them apart, raise the {sides}.")


def _tokens(capture: Capture, side: str) -> str:
    rows = capture[f"ids.{side}"].shape
    return f"{rows[1]} tokens" if rows[0] == 1 else f"{rows[0]} × {rows[1]} tokens"
