"""The page Step by step: the stages of one run, one at a time."""

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
from viz_core.ui.pages.steps import snippets
from viz_core.ui.pages.steps.compared import LOOKS, Compared, compared_stage, why_alone
from viz_core.ui.pages.steps.facts import facts
from viz_core.ui.pages.steps.inspector import inspect_cell
from viz_core.ui.pages.steps.moves import CANVAS, TOUR, WHOLE, Stops, go, jumps, moves, norms_open, path, player, selection
from viz_core.ui.pages.steps.parting import parting_section
from viz_core.ui.pages.steps.tour import follow, followed, told, tour_words
from viz_core.ui.shell import Lab, TwoRuns, beside, present, set_view, two_runs, view, view_widget, write_link
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
STRIP = 150  # width in pixels of the architecture strip beside the figure
STYLE = Path(__file__).with_name("walk.css").read_text("utf-8")


def walk(capture: Capture, mode: str, norms: bool, layer: int = 0) -> list[str]:
    """Return the stages in order: those of the tour, or all; the inner steps of LayerNorms only if `norms`.

    layer: the layer that the tour shows.
    """
    if mode == TOUR:
        return [name for name in tour(capture.config, layer) if name in capture]
    return [name for name in capture if norms or not capture.stage(name).inside_norm]


def style() -> None:
    """Add the style sheet of the page."""
    st.html(f"<style>{STYLE}</style>")


@st.fragment
def step_by_step() -> None:
    """Draw the page below its title. A fragment: a step reruns only this, not the sidebar and the frame."""
    context = present()
    if context.capture is None:
        return
    runs = runs_line(context)
    if runs is not None and view("walk_look") == "parting":
        parting_section(runs)
    else:
        one_stage(context if runs is None else runs.b, runs)
    write_link()


def runs_line(lab: Lab) -> TwoRuns | None:
    """Draw the line about A and B if a run is kept as A, with the switch between one stage and their divergence."""
    if not view("kept"):
        return two_runs(lab)  # a link may patch B without an A
    with st.container(key="walk_runs", horizontal=True, vertical_alignment="center", gap="small"):
        switch = st.container(key="walk_looks", width="content")
        runs = two_runs(lab, () if view("walk_look") == "parting" else ("a", "b", "difference"))
        if runs is not None:
            with switch:
                view_widget(st.segmented_control, "walk_look", _("Picture"), required=True, format_func=LOOKS.get,
                            label_visibility="collapsed")
    return runs


def one_stage(lab: Lab, two: TwoRuns | None) -> None:
    """Draw the navigation, one stage as heatmaps, the arithmetic of a picked cell, and the facts about the stage.

    runs: A and B, if a run is kept as A; `context` is B.
    """
    capture = lab.capture
    assert capture is not None
    first = walk(capture, view("walk_mode"), norms=False)[0]
    name = lab.setup.stage if lab.setup.stage in capture else first
    if norms_open() and not widget_shows("walk_norms"):
        st.rerun()  # so that `mode_controls` shows that LayerNorms are open
    stage, item = capture.stage(name), lab.item(capture)
    compared = compared_stage(two, name)
    shown = [capture.stage(n) for n in (*stage.inputs, name) if n in capture]
    focus = told(lab, capture, item) if view("walk_mode") == TOUR else None
    stops: Stops = dict.fromkeys(walk(capture, WHOLE, norms_open()))
    title, token = stage.meaning, None
    if focus is not None:
        stops, token = {n: focus.head(n) for n in walk(capture, TOUR, False, focus.layer)}, focus.token
        title = (_stop_words(lab, compared, name, item, token) if name in stops
                 else _("This stage lies between two stops of the tour. {meaning}", meaning=stage.meaning))
    with st.container(key="walk_moves", horizontal=True, vertical_alignment="center", gap="small"):
        moves(capture, stops, name, _about(lab if compared is None else compared.run, stage, title))
        if focus is not None:
            token = follow(capture, stage, item, focus)
        item, head = selection(lab, capture, shown)
    if view("walk_jump"):
        with st.container(key="walk_jumps", horizontal=True, gap="small"):
            jumps(capture, stage)
    panels, table = stage_panels(capture, name, item, head, lab.named(item)), [capture.stage(n) for n in capture]
    tour_cell = None if token is None else followed(capture, stage, panels, item, head, token)
    rows = lookup(capture, name, item, lab.named(item))
    if compared is not None:
        own_panels, panels, rows = panels, compared.panels(), compared.lookup()
        tour_cell = compared.lead(tour_cell, own_panels, panels)
    main, rail = beside(STRIP)
    with main:
        if view("walk_drawing"):
            pick = None
            diagram(architecture(table, name), key="walk_whole", fill=True, stages=capture, on_open=_open,
                    code=lambda: snippets.drawing(lab, name))
        else:
            called = f"{name}, {_('head {head}', head=head)}" if "H" in stage.axes else name
            pick = picking(panels, CANVAS, tour_cell, fill=True, lookup=rows, name=called, code=lambda: (
                snippets.stage(lab, name, item, head, panels) if compared is None else snippets.compared(compared, panels)))
    with rail:
        turn = _("Show the matrices") if view("walk_drawing") else _("Whole drawing")
        diagram(strip(table, name), key="walk_map", fill=True, stages=capture, on_open=go, turn=turn, on_turn=_turn,
                code=lambda: snippets.strip(lab, name))
    if two is not None and (reason := why_alone(two, name)):
        st.caption(reason)
    if pick is not None and compared is not None:
        compared.inspect(pick, panels)
    elif pick is not None:
        cell = shown[pick.panel]
        inspect_cell(lab, cell.name, original_index(cell, pick.row, pick.col, item, head))
    st.markdown(f"$$\n{stage.formula}\n$$")
    hint = PICKED_HINT if pick else WORDS_HINT if rows else HINT
    if compared is None:
        facts(capture, stage, hint)
    else:
        facts(compared.capture, compared.stage, compared.hint(hint), compared.beside)
    player(stops, name)


def _stop_words(lab: Lab, compared: Compared | None, name: str, item: int, token: int) -> str:
    """Return the caption of a stop for the run that is shown; for B if A − B is shown."""
    at: int | None = token
    if compared is not None:
        lab, item, at = compared.run, compared.item, compared.token(token)
    capture = lab.capture
    assert capture is not None
    if at is None:
        return capture.stage(name).meaning
    word_of = partial(lab.word, capture.config.output_side, item=item)
    caption = tour_words(capture, capture.stage(name), item, at, lab.setup.attn_head, word_of, lab.in_place)
    return _("In B: {said}", said=caption) if compared is not None and compared.two.shown == "difference" else caption


def _turn() -> None:
    """Switch between the heatmaps and the whole architecture drawing."""
    set_view(walk_drawing=not view("walk_drawing"))


def _open(name: str) -> None:
    """Show the heatmaps of the stage whose box was clicked in the architecture drawing."""
    set_view(walk_drawing=False)
    go(name)


def _about(lab: Lab, stage: Stage, title: str) -> str:
    """Return the title of a step, with the uniform loss at the loss and a warning where untrained weights predict words."""
    if stage.leaf == "loss" and lab.capture is not None:
        uniform_text = _("A uniform guess among {n:,} words has the loss ln {n:,} = {loss}.",
                         n=lab.config.output_vocab_size, loss=brief(uniform_loss(lab.capture)))
        title = f"{title} {uniform_text}"
        if lab.in_place:
            title += " " + _("These weights were trained to answer at the place itself, so this loss, of the next words, is not "
                             "the one that their training lowered.")
    if stage.block != "output" or lab.setup.card is not None:
        return title
    untrained_text = _("The weights are untrained: these numbers are exact, but the model cannot predict words yet.")
    return f"{title} {untrained_text}"
