"""Two runs on one page: A, which was kept, and B, the present run, which may be patched with a value of A."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import streamlit as st

from viz_core.analysis.two_runs import Together, together
from viz_core.figures.two_runs import TITLES as TITLES
from viz_core.figures.two_runs import Shown as Shown
from viz_core.language import translate as _
from viz_core.stages import STACK_NAMES
from viz_core.ui.escape import code, token_code
from viz_core.ui.shell.differences import Difference, differences, in_words
from viz_core.ui.shell.run import Lab, lab_of
from viz_core.ui.shell.setup import Setup, packed, problem_words, unpacked, with_view
from viz_core.ui.shell.state import change, current, set_view, view
from viz_core.ui.shell.view_widgets import view_widget

CLEAR, BACK = "lab_drop", "lab_back"  # keys of the buttons that drop A and B
PARTS = {"self_attn": _("the output of self-attention"), "cross_attn": _("the output of cross-attention"),
         "ffn": _("the output of the feed-forward network")}
HEADS = {"self_attn": _("self-attention"), "cross_attn": _("cross-attention")}


@dataclass(frozen=True, slots=True)
class TwoRuns:
    """The runs A and B, with the selected sentence of both aligned.

    b: includes the patch, if there is one. differences: between their setups. shown: which of them the page shows.
    """

    a: Lab
    b: Lab
    both: Together
    differ: Sequence[Difference]
    shown: Shown


def keep_button() -> None:
    """Draw the button that keeps the present run as A. Draws nothing if a run is already kept."""
    if not view("kept"):
        st.button(_("Keep as A"), icon=":material/push_pin:", type="tertiary", key="lab_keep", on_click=keep,
                  help=_("Keeps this run as A. Then change anything in the sidebar: the new run is B, and the pages show A, B and "
                         "A − B."))


def keep() -> None:
    """Keep the present run as A. For callbacks."""
    set_view(kept=packed(replace(current(), views=())))


def clear() -> None:
    """Drop A and the patch of B. For callbacks."""
    set_view(kept="", patch=())


def back() -> None:
    """Make A the present run again. For callbacks."""
    setup = current()
    kept = unpacked(setup.view("kept"))[0]
    restored = with_view(replace(kept, views=setup.views), kept="", patch=())
    change(**{field.name: getattr(restored, field.name) for field in fields(restored)})


def two_runs(lab: Lab, choices: Sequence[Shown] = ("a", "b", "difference")) -> TwoRuns | None:
    """Draw a line about A and B with the control that selects one, and return both; None if no run is kept or A cannot be shown.

    options: what the page can show; empty for a page that shows both side by side.
    """
    if not view("kept"):
        if any(map(st.session_state.get, (CLEAR, BACK))):  # clicked in a fragment: the rest of the page changes, too
            st.rerun()
        if view("patch"):
            st.caption(_("The link patches B with a value of A but has no run A, so B is shown without the patch."))
        return None
    kept, faults = unpacked(view("kept"))
    for written, fault in faults[:1]:
        st.caption(_("The link's A says {written}, which {fault}.", written=code(written), fault=fault))
    with st.container(key="lab_runs", horizontal=True, vertical_alignment="center", gap="small"):
        found = _found(lab, lab_of(kept), choices)
        if choices and found is not None:
            view_widget(st.segmented_control, "shown", _("Run that is shown"), options=choices, required=True,
                        format_func=lambda name: TITLES[name], label_visibility="collapsed")
        if view("patch"):
            st.button(_("Remove the patch"), icon=":material/healing:", type="tertiary", key="lab_unpatch", on_click=set_view,
                      kwargs={"patch": ()})
        st.button(_("Back to A"), icon=":material/undo:", type="tertiary", key=BACK, on_click=back,
                  help=_("Makes A the present run again, with its text and settings, and discards B."))
        st.button(_("Clear A"), icon=":material/close:", type="tertiary", key=CLEAR, on_click=clear)
    return found


def _found(lab: Lab, a: Lab, choices: Sequence[Shown]) -> TwoRuns | None:
    """Return both runs and draw the sentence about them; or draw why they cannot be compared and return None."""
    item = -1 if lab.capture is None else lab.item(lab.capture)
    if lab.capture is None:
        return None
    if a.capture is None:
        st.markdown(_("The run that you kept as A can no longer be computed."))
        return None
    if item >= a.capture.n_sentences:
        st.markdown(_("A has no sentence {item}.", item=item + 1))
        return None
    differ = differences(a.setup, lab.setup, item)
    b, problem = _patched(lab, a)
    words = [_("**A | B**: {differences}.", differences=in_words(differ))]
    if sum(not d.follows for d in differ) > 1:
        words.append(_("More than one thing differs, so the difference cannot be attributed to one of them."))
    if view("patch"):
        words.append(problem or _("B has A’s value of {place}.", place=patch_words(a, view("patch"), item)))
    st.markdown(" ".join(words), width="stretch")
    return TwoRuns(a, b, lined_up(a, b), differ, view("shown") if view("shown") in choices else "b")


def lined_up(a: Lab, b: Lab) -> Together:
    """Return the selected sentence of both runs, aligned. The alignment is computed once for all visitors."""
    from viz_core.ui.shell.cache import cached_result

    assert a.capture is not None and b.capture is not None
    one, other, item = a.capture, b.capture, b.item(b.capture)
    places = cached_result("places", (a.key(), b.key(), item), lambda: together(one, other, item, item).places)
    return Together(one, other, item, item, places)


def shown_run(setup: Setup) -> Lab:
    """Return the run of a setup as the pages show it, with its patch. For files."""
    lab, kept = lab_of(setup), setup.view("kept")
    if lab.capture is None or not kept or not setup.view("patch"):
        return lab
    a = lab_of(unpacked(kept)[0])
    return lab if a.capture is None or lab.item(lab.capture) >= a.capture.n_sentences else _patched(lab, a)[0]


def _patched(lab: Lab, a: Lab) -> tuple[Lab, str]:
    """Return B patched with a value of A, and ""; or B as it is, and why the patch does not fit."""
    place = lab.setup.view("patch")
    if not place:
        return lab, ""
    from viz_core.experiments.patching import Site
    from viz_core.experiments.transplant import transplanted
    from viz_core.ui.shell.cache import runs

    stack, part, layer, head, token = place
    if a.model_key() != lab.model_key():
        return lab, _("A and B are runs of different models, so B cannot be patched with a value of A.")
    donor, batch = a.capture, lab.batch
    assert donor is not None and batch is not None and lab.capture is not None
    item = lab.item(lab.capture)
    key = ("patched", a.key(), lab.key(), item, place)
    try:
        capture = runs().get(
            key, lambda: transplanted(lab.model(), batch, donor, Site(stack, part, layer, head), token, item, item, lab.setup.seed),
            *lab.cost())
    except ValueError as problem:
        return lab, problem_words(problem)
    return replace(lab, capture=capture, altered=key), ""


def patch_words(a: Lab, place: tuple[str, str, int, int | None, int | None], item: int | None = None) -> str:
    """Return the description of a patch site, such as "the residual stream after layer 1 of the encoder, at `tired`".

    item: the sentence of A that gives the value; None for the one that A's setup selects.
    """
    stack, part, layer, head, token = place
    side = "source" if stack == "encoder" else "target"
    if part == "residual" and layer < 0:
        words = _("the embedding of the {stack}", stack=STACK_NAMES[stack])
    elif part == "residual":
        words = _("the residual stream after layer {layer} of the {stack}", layer=layer, stack=STACK_NAMES[stack])
    elif head is not None:
        return _("head {head} of {attention} in layer {layer} of the {stack}, at all tokens", head=head, layer=layer,
                 attention=HEADS[part], stack=STACK_NAMES[stack])
    else:
        words = _("{output} in layer {layer} of the {stack}", output=PARTS[part], layer=layer, stack=STACK_NAMES[stack])
    tokens = a.capture.tokens(side)[a.item(a.capture) if item is None else item] if a.capture and side in a.capture.sides else []
    if token is not None and token < len(tokens):
        return _("{place}, at {token}", place=words, token=token_code(tokens[token]))
    return words
