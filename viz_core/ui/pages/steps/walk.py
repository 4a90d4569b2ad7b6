"""Step by step: the walk through the stages of one run, one stage at a time."""

from functools import partial
from pathlib import Path

import streamlit as st

from viz_core.capture import Capture
from viz_core.figures.architecture import architecture
from viz_core.figures.architecture_strip import strip
from viz_core.figures.lookup import lookup
from viz_core.figures.steps import original_index, stage_panels, uniform_loss
from viz_core.formats import brief
from viz_core.language import translate as _
from viz_core.stages import Stage, tour
from viz_core.ui.components.diagram import diagram
from viz_core.ui.controls import picking
from viz_core.ui.pages.steps.facts import facts
from viz_core.ui.pages.steps.inspector import inspect_cell
from viz_core.ui.pages.steps.moves import CANVAS, TOUR, WHOLE, Stops, go, jumps, moves, norms_open, path, player, selection
from viz_core.ui.pages.steps.tour import follow, followed, told, tour_words
from viz_core.ui.shell import beside, present, set_view, view, write_link
from viz_core.ui.shell.widgets import widget_shows

__all__ = ["TOUR", "WHOLE", "path", "step_by_step", "walk"]
HINT = (
    _("Click a cell to see its arithmetic, or reach a matrix with Tab and press an arrow key. ← and → go to the previous and "
      "next step; P plays or pauses.")
)
WORDS_HINT = (
    _("Click a word to see where its number comes from, or reach the words with Tab and press an arrow key. ← and → go to the "
      "previous and next step; P plays or pauses.")
)
PICKED_HINT = _("The arrow keys pick the next cell; Esc clears the choice. Then ← and → go to the previous and next step again.")
STRIP = 150  # pixels of the architecture beside the picture
STYLE = Path(__file__).with_name("walk.css").read_text("utf-8")


def walk(capture: Capture, mode: str, norms: bool, layer: int = 0) -> list[str]:
    """The stops in order: those of the tour, or every stage; LayerNorm's inner steps are included only if `norms`.

    layer: the one that the tour stops in.
    """
    if mode == TOUR:
        return [name for name in tour(capture.config, layer) if name in capture]
    return [name for name in capture if norms or not capture.stage(name).inside_norm]


def style() -> None:
    """The look of the page's own parts."""
    st.html(f"<style>{STYLE}</style>")


@st.fragment
def step_by_step() -> None:
    """The page below its title. A fragment: a step reruns this alone, not the sidebar and the frame."""
    lab = present()
    if lab.capture is None:
        return
    capture = lab.capture
    first = walk(capture, view("walk_mode"), norms=False)[0]
    name = lab.setup.stage if lab.setup.stage in capture else first
    if norms_open() and not widget_shows("walk_norms"):
        st.rerun()  # for `modes` to open what the step went into
    stage, item = capture.stage(name), lab.item(capture)
    shown = [capture.stage(n) for n in (*stage.inputs, name) if n in capture]
    story = told(lab, capture, item) if view("walk_mode") == TOUR else None
    stops: Stops = dict.fromkeys(walk(capture, WHOLE, norms_open()))
    title, token = stage.meaning, None
    if story is not None:
        stops, token = {n: story.head(n) for n in walk(capture, TOUR, False, story.layer)}, story.token
        word_of = partial(lab.word, capture.config.output_side, item=item)
        title = (tour_words(capture, stage, item, token, lab.setup.attn_head, word_of) if name in stops
                 else _("This stage lies between two stops of the tour. {meaning}", meaning=stage.meaning))
    with st.container(key="walk_moves", horizontal=True, vertical_alignment="center", gap="small"):
        moves(capture, stops, name, _about(capture, stage, title, trained=lab.setup.card is not None))
        if story is not None:
            token = follow(capture, stage, item, story)
        item, head = selection(lab, capture, shown)
    if view("walk_jump"):
        with st.container(key="walk_jumps", horizontal=True, gap="small"):
            jumps(capture, stage)
    named = lab.named(item)
    panels, table = stage_panels(capture, name, item, head, named), [capture.stage(n) for n in capture]
    lead = None if token is None else followed(capture, stage, panels, item, head, token)
    place, rail = beside(STRIP)
    with place:
        if view("walk_drawing"):
            pick = None
            diagram(architecture(table, name), key="walk_whole", fill=True, stages=capture, on_open=_open)
        else:
            pick = picking(panels, CANVAS, lead, fill=True, lookup=lookup(capture, name, item, named))
    with rail:
        turn = _("Show the matrices") if view("walk_drawing") else _("Whole drawing")
        diagram(strip(table, name), key="walk_map", fill=True, stages=capture, on_open=go, turn=turn, on_turn=_turn)
    if pick is not None:
        cell = shown[pick.panel]
        inspect_cell(lab, cell.name, original_index(cell, pick.row, pick.col, item, head))
    st.markdown(f"$$\n{stage.formula}\n$$")
    facts(capture, stage, PICKED_HINT if pick else WORDS_HINT if stage.kind == "ids" else HINT)
    player(stops, name)
    write_link()


def _turn() -> None:
    """The whole drawing in place of the matrices, and back."""
    set_view(walk_drawing=not view("walk_drawing"))


def _open(name: str) -> None:
    """A box of the whole drawing leads to the matrices of its stage."""
    set_view(walk_drawing=False)
    go(name)


def _about(capture: Capture, stage: Stage, title: str, trained: bool) -> str:
    """The title of a step: at the loss with what it is compared with, and with a warning where untrained weights predict words."""
    if stage.leaf == "loss":
        guess = _("A uniform guess among {n:,} words has the loss ln {n:,} = {loss}.",
                  n=capture.config.output_vocab_size, loss=brief(uniform_loss(capture)))
        title = f"{title} {guess}"
    if stage.block != "output" or trained:
        return title
    untrained = _("The weights are untrained: these numbers are exact, but the model cannot predict words yet.")
    return f"{title} {untrained}"
