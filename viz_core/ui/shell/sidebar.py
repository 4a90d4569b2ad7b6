"""The sidebar: model, sentences and settings. Each widget shows a value of the setup and changes it."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from viz_core.language import plural
from viz_core.language import translate as _
from viz_core.limits import MAX_VIEW_CHARS
from viz_core.position_schemes import SCHEMES
from viz_core.presets import PRESETS
from viz_core.ui.escape import escaped, few
from viz_core.ui.shell.setup import (
    CONTROLS,
    DEVICES,
    MAX_SEED,
    Control,
    changes,
    editable,
    either,
    leaves,
    offered,
    problem_words,
    tokens,
    with_field,
    with_own_values,
    with_preset,
    with_weights,
)
from viz_core.ui.shell.state import (
    DRAWN,
    FAULTS,
    GONE,
    HUB_NAME,
    NOTES,
    SETUP,
    TARGET_BOX,
    UNUSUAL,
    change,
    current,
    in_sidebar,
    own_weights,
)
from viz_core.ui.shell.view_widgets import fold, view_widget
from viz_core.ui.shell.warm import home_imported
from viz_core.ui.shell.widgets import RESTORING, touch, widget, widget_value
from viz_core.ui.shell.written import taken_over
from viz_core.weights.catalogue import catalogue, lasting, unreadable
from viz_core.weights.guests import BROUGHT
from viz_core.weights.hub import hub_card, hub_is_open

TOKENIZER_LABELS = {"word": _("words"), "character": _("characters"), "ids": _("ids")}
LEAVES = _("With any value but {value} the model is untrained.")
LACKING = _("With {titles} the model is untrained, since these weights have no parameters for that.")
DEVICE_LABELS = {"auto": _("automatic"), "cpu": "CPU", "cuda": _("GPU (CUDA)")}
GROUPS = tuple(dict.fromkeys(c.group for c in CONTROLS if c.group))
FIRST = tuple(c for c in CONTROLS if not c.group)
TEXT_HEIGHT = 96  # pixels with the label: two lines, the least that Streamlit allows
SHORT_HASH = 4  # characters of the hash, shown with weights whose title is not unique
MAX_NAMED = 3  # changed switches that are listed
SLIDERS = 4  # of `MAIN_CONTROLS`, above the reset button: the sizes, which stay visible without scrolling


def sidebar() -> None:
    st.session_state[DRAWN] = in_sidebar()
    with st.sidebar:
        setup = current()
        chosen = setup.checkpoint if setup.origin else setup.preset
        titles = _model_titles(own_weights())
        widget(st.selectbox, "model", _("Model"), chosen, _set_model, format_func=titles.get, options=list(titles),
               help=_("Trained weights, or the model of one of the five documents with random weights."))
        _unreadable()
        if hub_is_open():
            _hub()
        if setup.config.has_encoder:
            _text("source", _("Source sentences") if setup.config.has_decoder else _("Sentences"), setup.source, set_choice)
        if setup.config.has_decoder:
            _target()
        for control in FIRST[:SLIDERS]:
            _control(control)
        with st.container():  # always drawn, so that the widgets below keep their position while a slider is moved
            _changes()
        _dictionary()
        for control in FIRST[SLIDERS:]:
            _control(control)
        if setup.card is None:
            widget(st.number_input, "seed", _("Seed"), setup.seed, set_choice, min_value=0, max_value=MAX_SEED, step=1,
                    help=_("The same setup and seed give bit-identical weights."))
        more = fold("all_switches", _("All switches"))
        if more.open:
            with more:
                _all_switches()


def _unreadable() -> None:
    """Draw a popover with the models on this machine that cannot be opened, and the reasons. Draws nothing if there are none."""
    if found := unreadable():
        label = plural("{n} model cannot be opened", "{n} models cannot be opened", len(found))
        with st.popover(label, icon=":material/folder_off:", type="tertiary", width="stretch", key="unreadable"):
            st.markdown("\n".join(f"- {escaped(sentence)}" for sentence in found))


def _dictionary() -> None:
    """Draw the switch of the dictionary words, if the weights have any."""
    origin = current().origin
    if origin and origin.glosses:
        view_widget(st.toggle, "glosses", _("Dictionary words"),
                    help=_("Shows the English meaning of each word of the translation: below its label if there is room, and "
                           "when you point at the word."))


def _changes() -> None:
    """Draw a button that resets all settings, and list the changed ones under All switches. Draws nothing if none is changed."""
    if not changes(current()):
        return
    st.button(_("Reset to the model's values"), key="reset_settings", on_click=_reset, icon=":material/undo:", width="stretch",
              help=_("Resets every setting to the model's own value and keeps your text."))
    if folded := [escaped(c.label) for c in CONTROLS if c.group and _changed(c)]:
        st.caption(_("Changed under All switches: {labels}.", labels=few(folded, MAX_NAMED)))


def _all_switches() -> None:
    setup = current()
    labels = TOKENIZER_LABELS | ({"word": _("the weights' own")} if setup.origin else {})
    widget(st.selectbox, "tokenizer", _("Tokenizer"), setup.tokenizer, set_choice, options=list(tokens(setup)),
            format_func=labels.get,
            help=_("Words are split at spaces and punctuation. Characters makes each character a token. Ids lets you type the "
                   "numbers. Trained weights have their own tokenizer."))
    widget(st.selectbox, "device", _("Device"), setup.device, set_choice, options=_devices(), format_func=DEVICE_LABELS.get,
            help=_("Automatic uses a GPU if this machine has one."))
    for group in GROUPS:
        shown = [c for c in CONTROLS if c.group == group and c.when(setup.config) and editable(setup, c.field)]
        if shown:
            st.markdown(f"**{group}**")
        for control in shown:
            _control(control)
    st.caption(_("Dropout is always off here, so the same setup always gives the same numbers."))


def _devices() -> list[str]:
    home_imported()
    import torch

    return [d for d in DEVICES if d != "cuda" or torch.cuda.is_available()]


def _text(side: str, label: str, text: str, on_change: Callable[[str], None]) -> None:
    origin = current().origin
    chinese = origin is None or (origin.task == "translate" and side == "target")
    widget(st.text_area, side, label, text, on_change, height=TEXT_HEIGHT,
           help=_("One sentence per line. Spaces separate words; Chinese without spaces is split into characters.") if chinese else
           _("One sentence per line. Spaces separate words."))


def _target() -> None:
    """Draw the target's text box and the switch below it. `show_generated_target` fills the box if the model writes the target."""
    setup = current()
    if not setup.translates:
        _text("target", _("Target sentences") if setup.config.has_encoder else _("Sentences"), setup.target, set_choice)
        return
    box = st.container()
    st.session_state[TARGET_BOX] = box
    if setup.writer == "typed":
        with box:
            _text("target", _("Target sentences, typed by you"), setup.target, _type_target)
    widget(st.toggle, "writer", _("Written by the model"), setup.writer == "model", _set_writer,
           help=_("On: the model writes the target of each source sentence, always with the likeliest next word. Off: you type the "
                  "target sentences. Typing in their box switches it off, too."))


def show_written(text: str) -> None:
    """Fill the target's text box with the generated text, once there is one."""
    if current().writer == "model":
        with st.session_state[TARGET_BOX]:
            _text("target", _("Target sentences"), text, _type_target)


def _set_writer(name: str) -> None:
    change(writer="model" if widget_value(name) else "typed")


def _type_target(name: str) -> None:
    """Take the typed target, and stop generating it.

    A tab that reconnects may still show the generated text of an older source, which is not taken as typed.
    """
    if current().writer == "typed" or not st.session_state.get(RESTORING):
        change(writer="typed", target=widget_value(name))


def _control(control: Control) -> None:
    setup, config = current(), current().config
    if not control.when(config) or not editable(setup, control.field):
        return
    value = control.value(config)
    options = _steady(control.field, tuple(control.options(config)), offered(setup, control), value)
    if len(options) < 2:
        return
    kwargs: dict[str, Any] = {"help": _help(control)}
    make: Callable[..., Any]
    if set(options) <= {True, False} and isinstance(value, bool):
        make = st.toggle
    elif isinstance(value, str) or any(isinstance(o, str) for o in options) or len(options) < 3:
        make, kwargs = st.selectbox, kwargs | {"options": options}
    else:
        make, kwargs = st.select_slider, kwargs | {"options": options}
    if make is not st.toggle:
        kwargs["format_func"] = control.shown
    label = _("{label} · was {value}", label=control.label, value=control.shown(control.value(setup.base)))
    widget(make, control.field, label if _changed(control) else control.label, value, _set_field, **kwargs)


def _help(control: Control) -> str:
    """Return the help text of a control, and which of its values leave the model untrained."""
    setup, lacking = current(), [s.title for name, s in SCHEMES.items() if s.parameter and name != current().base.position]
    if not leaves(setup, control.field):
        return control.help
    return control.help + " " + (LACKING.format(titles=either(lacking)) if control.field == "position"
                                 else LEAVES.format(value=control.shown(control.value(current().base))))


def _changed(control: Control) -> bool:
    """Return whether a control differs from the model's own value."""
    own, config = current().base, current().config
    return control.when(config) and control.value(config) != control.value(own)


def _steady(name: str, usual: tuple[Any, ...], options: list[Any], value: Any) -> list[Any]:
    """Return the options together with unlisted values that the setup has held, so that a slider in use keeps its options."""
    held: dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]] = st.session_state.setdefault(UNUSUAL, {})
    before, unusual = held.get(name, (usual, ()))
    unusual = (*(u for u in unusual if before == usual and u != value), *(() if value in usual else (value,)))
    held[name] = usual, unusual
    missing = [u for u in unusual if u not in options]
    return sorted([*options, *missing]) if missing else options


def _hub() -> None:
    """Draw the form that opens a model of the Hugging Face hub by name. Only its submission makes a request to the internet."""
    with st.form("hub", border=False):
        st.text_input(_("From the Hugging Face hub"), key=HUB_NAME, placeholder="owner/model", max_chars=MAX_VIEW_CHARS)
        st.form_submit_button(_("Open"), on_click=_open_from_hub, width="stretch")


def _open_from_hub() -> None:
    touch()
    try:
        name = hub_card(st.session_state[HUB_NAME].strip()).name
        lasting.cache_clear()
        st.session_state[SETUP], st.session_state[FAULTS] = taken_over(current(), with_weights(current(), name)), []
    except ValueError as error:
        st.session_state[NOTES] = [escaped(problem_words(error))]


def _model_titles(own: Sequence[str]) -> dict[str, str]:
    """Return the titles of the models in the list, by name.

    own: names of this visitor's own weights. Those with the same title also get a part of their hash, since a browser cannot
    tell options with the same title apart.
    """
    cards = catalogue()
    found = {name: cards[name].title for name in (*lasting(), *own)}
    same = Counter(found.values())
    found |= {name: f"{found[name]} · {name.removeprefix(BROUGHT)[:SHORT_HASH]}" for name in own if same[found[name]] > 1}
    return found | {name: _("{title} · untrained", title=preset.title) for name, preset in PRESETS.items()}


def _set_model(name: str) -> None:
    chosen = widget_value(name)
    if chosen not in PRESETS and chosen not in catalogue():  # a tab that reconnects may offer weights that this server lacks
        raise ValueError(chosen)
    st.session_state[SETUP] = taken_over(current(), (with_preset if chosen in PRESETS else with_weights)(current(), chosen))
    st.session_state[FAULTS], st.session_state[GONE] = [], None


def set_choice(name: str) -> None:
    change(**{name: widget_value(name)})


def _reset() -> None:
    touch()
    st.session_state[SETUP], st.session_state[FAULTS] = taken_over(current(), with_own_values(current())), []


def _set_field(name: str) -> None:
    set_field(name, widget_value(name))


def set_field(name: str, value: Any) -> None:
    """Change one field of the config and the fields that depend on it. For callbacks."""
    changed, notes = with_field(current(), name, value)
    st.session_state[SETUP] = taken_over(current(), changed)
    st.session_state[FAULTS], st.session_state[NOTES] = [], notes
