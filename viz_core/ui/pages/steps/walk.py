"""Step by step: the walk through the stages of one run, one stage at a time."""

import html
import time
from collections.abc import Sequence
from functools import partial

import streamlit as st

from viz_core.analysis.summary import Summary, summarize
from viz_core.capture import Capture
from viz_core.figures import theme
from viz_core.figures.architecture import architecture
from viz_core.figures.panels import Panel
from viz_core.figures.steps import original_index, stage_panels, strongest
from viz_core.formats import minus
from viz_core.language import translate as _
from viz_core.sources import source_of
from viz_core.stages import LIBRARIES, Stage, block_title, stages, sublayer_title, tour
from viz_core.text import visible
from viz_core.ui.components.canvas import Pick
from viz_core.ui.components.diagram import diagram
from viz_core.ui.components.scrubber import At, counts, scrubber
from viz_core.ui.controls import inside, keep, picking, sentence_picker, with_cell
from viz_core.ui.pages.steps.inspector import inspect_cell
from viz_core.ui.shell import (
    Lab,
    change,
    current,
    present,
    set_choice,
    set_view,
    touch,
    view,
    view_widget,
    widget,
    widget_value,
    write_link,
)
from viz_core.ui.shell.setup import Setup
from viz_core.ui.shell.widgets import widget_shows

HINT = (
    _("Click a cell to see its arithmetic, or reach a matrix with Tab and press an arrow key. ← and → go to the previous and "
      "next step; P plays or pauses.")
)
PICKED_HINT = _("The arrow keys pick the next cell; Esc clears the choice. Then ← and → go to the previous and next step again.")
PLAY_SECONDS = 2.0  # long enough to read a title, short enough to keep a class's attention
WHOLE, TOUR = "whole", "tour"
SCRUBBER = "walk_scrubber"
CANVAS, PLAYING, TICK = "walk_canvas", "walk_playing", "walk_tick"

# The caption of each stop of the tour, by the stage's leaf. The followed token's strongest cell is picked.
TOUR_WORDS = {
    "source": _("The first stop: each word becomes a number, its id in the vocabulary."),
    "target": _("The first stop: each word becomes a number, its id in the vocabulary."),
    "tok_embed": _("The id selects one row of a table: from here on the token is a vector."),
    "embed": _("The position is added, so the same word has another vector at another position."),
    "embed, nothing added": _("This model adds no position here: the same word has the same vector at every position."),
    "raw_scores": _("The token's query is compared with every key. The larger the dot product, the better they match."),
    "weights": _("A softmax turns each row into weights that sum to 1, unless the token may attend to nothing. Masked cells "
                 "usually get the weight 0."),
    "cross_attn.weights": _("The same again, but with the keys of the source sentence: the weights show which source tokens "
                            "this token attends to."),
    "z": _("Each head now holds a weighted mean of the values of the tokens that it attended to."),
    "post_act": _("The feed-forward network transforms each token by itself."),
    "resid_post": _("The outputs of attention and of the feed-forward network have been added to the token's vector."),
    "resid_post, nothing added": _("Without residual connections, the output of the feed-forward network replaces the token's "
                                   "vector."),
    "logits": _("The last vector gives every word a score: the word with the largest score is the prediction."),
}


def walk(capture: Capture, mode: str, norms: bool) -> list[str]:
    """The stops in order: those of the tour, or every stage; LayerNorm's inner steps are included only if `norms`."""
    if mode == TOUR:
        return [name for name in tour(capture.config) if name in capture]
    return [name for name in capture if norms or not capture.stage(name).inside_norm]


def modes(lab: Lab) -> None:
    """The controls of the walk: all stages or the tour, LayerNorms open or folded, a jump to a stage. They are outside the
    fragment, since a step does not change them."""
    if lab.capture is None:
        return
    touring = view("walk_mode") == TOUR
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        # A button, since a radio group would keep the focus and with it the arrow keys.
        st.button(_("Walk all stages") if touring else _("Take the short tour"), icon=":material/route:", key="walk_tour",
                  on_click=_switch_mode, args=(tour(lab.config)[0],),
                  help=_("Eight stops that take one token from its id to its logits."))
        widget(st.toggle, "walk_norms", _("Open LayerNorms"), norms_open(), keep, disabled=touring,
               help=_("Show mean, variance and normalised value as separate steps."))
        view_widget(st.toggle, "walk_jump", _("Jump to a stage"), help=_("Choose a stage by chapter, section and operation."))


def norms_open() -> bool:
    """Whether LayerNorms are open: by choice, or because the walk is inside one."""
    return view("walk_norms") or _inside_norm(current())


def _inside_norm(setup: Setup) -> bool:
    return any(s.inside_norm for s in stages(setup.config) if s.name == setup.stage)


@st.fragment
def step_by_step() -> None:
    """The rest of the page. A fragment: a step reruns this alone, not the sidebar and the frame."""
    lab = present()
    if lab.capture is None:
        return
    capture = lab.capture
    name = lab.setup.stage if lab.setup.stage in capture else next(iter(capture))
    stage = capture.stage(name)
    if norms_open() and not widget_shows("walk_norms"):
        st.rerun()  # for `modes` to open what the step went into
    on_tour = view("walk_mode") == TOUR
    stops = walk(capture, view("walk_mode"), norms_open())
    left, right = st.columns([5, 2], gap="medium")
    with right:
        if view("walk_jump"):
            _jumps(capture, stage)
        _map(capture, name)
    with left:
        item, head = _moves(lab, capture, stops, name)
        _formula(capture, stage, on_tour=on_tour, at_stop=name in stops, trained=lab.setup.card is not None)
        picked = _matrices(lab, capture, stage, item, head)
        _facts(capture, stage, PICKED_HINT if picked else HINT)
    _player(stops, name)
    write_link()


# ---------------------------------------------------------------- moving


def _switch_mode(first: str) -> None:
    """The tour begins at its first stop, wherever the walk was; the walk goes on where the tour was."""
    touring = view("walk_mode") == TOUR
    set_view(walk_mode=WHOLE if touring else TOUR, cells=with_cell(view("cells"), CANVAS, None))
    if not touring:
        change(stage=first)


def _moves(lab: Lab, capture: Capture, stops: list[str], name: str) -> tuple[int, int]:
    """Previous, next, play, sentence, head, the scrubber and what the stage means; returns the selected sentence and head."""
    at = _nearest(list(capture), stops, name)
    here = stops[at] == name
    playing = st.session_state.get(PLAYING, False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.button(_("Previous"), icon=":material/arrow_back:", shortcut="Left", on_click=_press, disabled=at == 0 and here,
                  args=(stops[max(at - 1, 0)] if here else stops[at],), key="walk_previous")
        st.button(_("Next"), icon=":material/arrow_forward:", shortcut="Right", on_click=_press, disabled=at == len(stops) - 1,
                  args=(stops[min(at + 1, len(stops) - 1)],), key="walk_next", type="primary")
        st.button(_("Pause") if playing else _("Play"), icon=":material/pause:" if playing else ":material/play_arrow:",
                  shortcut="P", on_click=_toggle_play, key="walk_play")
        selected = _selection(lab, capture, capture.stage(name))
    stage = capture.stage(name)
    label = _("Step {at} of {n_stops} · {path}", at=at + 1, n_stops=len(stops), path=path(stage))
    place = At(at + 1, len(stops), here, "walk_previous", "walk_next")
    scrubber(label, stage.meaning, place, key=SCRUBBER, on_move=lambda step: _go(stops[step - 1]))
    return selected


def _selection(lab: Lab, capture: Capture, stage: Stage) -> tuple[int, int]:
    """The sentence and the head that the matrices show, with a control for each if there are several."""
    item, head, n_heads = sentence_picker(lab, capture), lab.setup.attn_head, capture.config.n_heads
    shown = [capture.stage(n) for n in (*stage.inputs, stage.name) if n in capture]
    if n_heads > 1 and any("H" in s.axes for s in shown):
        widget(st.segmented_control, "attn_head", _("Head"), head, set_choice, options=range(n_heads), required=True)
    return item, head


def path(stage: Stage) -> str:
    """ "Encoder layer 0 › Self-attention › weights" """
    return " › ".join(dict.fromkeys((block_title(stage.block), sublayer_title(stage.sublayer), stage.leaf)))


def _nearest(order: Sequence[str], stops: Sequence[str], name: str) -> int:
    """The place in the walk at or before a stage."""
    place = {n: i for i, n in enumerate(order)}
    return max((i for i, s in enumerate(stops) if place[s] <= place[name]), default=0)


def _go(name: str) -> None:
    """To a stage. LayerNorms that the walk has opened stay open; each stop of the tour picks a cell of its own."""
    opened = norms_open()
    change(stage=name)
    set_view(walk_norms=opened or norms_open())
    if view("walk_mode") == TOUR:
        set_view(cells=with_cell(view("cells"), CANVAS, None))


def _press(name: str) -> None:
    """A click on Previous or Next, where the scrubber has not counted it."""
    touch()
    if not counts(SCRUBBER):
        _go(name)


def _toggle_play() -> None:
    touch()
    st.session_state[PLAYING] = not st.session_state.get(PLAYING, False)
    st.session_state[TICK] = time.monotonic()


def _player(stops: list[str], name: str) -> None:
    """While playing, a fragment that wakes up and takes the next step; it stops at the last one."""
    if not st.session_state.get(PLAYING):
        return
    at = stops.index(name) if name in stops else -1
    if at == len(stops) - 1:
        st.session_state[PLAYING] = False
        st.rerun()

    @st.fragment(run_every=PLAY_SECONDS)
    def tick() -> None:
        now = time.monotonic()
        if st.session_state.get(PLAYING) and now - st.session_state[TICK] > 0.8 * PLAY_SECONDS:
            st.session_state[TICK] = now
            _go(stops[at + 1])
            st.rerun()

    tick()


# ---------------------------------------------------------------- one stage


def _map(capture: Capture, name: str) -> None:
    """The architecture, the present stage lit; a click goes there."""
    picture = architecture([capture.stage(n) for n in capture], name)
    diagram(picture, key="walk_map", stages=capture, on_open=_go)


def _jumps(capture: Capture, stage: Stage) -> None:
    """Chapter, section and operation: each select box goes to the first stage of what is chosen."""
    everything = [capture.stage(n) for n in capture]
    block = [s for s in everything if s.block == stage.block]
    section = [s for s in block if s.sublayer == stage.sublayer]
    levels = (
        ("walk_chapter", _("Chapter"), stage.block, {s.block: s.name for s in reversed(everything)}, block_title),
        ("walk_section", _("Section"), stage.sublayer, {s.sublayer: s.name for s in reversed(block)}, sublayer_title),
        ("walk_operation", _("Operation"), stage.leaf, {s.leaf: s.name for s in reversed(section)}, str),
    )
    for key, label, value, first, title in levels:
        widget(st.selectbox, key, label, value, partial(_jump, first), options=list(first)[::-1], format_func=title)


def _jump(first: dict[str, str], name: str) -> None:
    """Go to the first stage of what was chosen; a choice made on an older page may be none of this one's."""
    if (chosen := widget_value(name)) in first:
        _go(first[chosen])


def _formula(capture: Capture, stage: Stage, *, on_tour: bool, at_stop: bool, trained: bool) -> None:
    """The stage's formula, with the tour's words: one element, since each costs a few milliseconds."""
    words = []
    if on_tour:
        words.append(tour_words(capture, stage) if at_stop else _("This stage lies between two stops of the tour."))
    if stage.block == "output" and not trained:
        words.append(_("The weights are untrained: these numbers are exact, but the model cannot predict words yet."))
    st.markdown("\n\n".join([*words, f"$$\n{stage.formula}\n$$"]))


def _matrices(lab: Lab, capture: Capture, stage: Stage, item: int, head: int) -> bool:
    """Inputs and output as matrices, for one sentence and head; below them the arithmetic behind a picked cell.

    Returns whether a cell is picked.
    """
    shown = [capture.stage(n) for n in (*stage.inputs, stage.name) if n in capture]
    panels = stage_panels(capture, stage.name, item, head, lab.tokenizers)
    lead = _followed(capture, stage, panels, item) if view("walk_mode") == TOUR else None
    pick = picking(panels, CANVAS, lead)
    if pick is None:
        return False
    cell = shown[pick.panel]
    inspect_cell(lab, cell.name, original_index(cell, pick.row, pick.col, item, head))
    return True


def tour_words(capture: Capture, stage: Stage) -> str:
    """The caption of this stop, for this model and run."""
    config, own = capture.config, ".".join(stage.name.split(".")[-2:])
    if stage.leaf == "post_act":
        active = float((capture[stage.name] > 0).mean())
        return _("{post_act} In this run {active:.0%} of the hidden values are above 0.",
                 post_act=TOUR_WORDS["post_act"], active=active)
    nothing_added = (stage.leaf == "embed" and config.position not in ("sinusoidal", "learned")) or (
        stage.leaf == "resid_post" and not config.residual
    )
    return TOUR_WORDS.get(own) or TOUR_WORDS[stage.leaf + ", nothing added" * nothing_added]


def _followed(capture: Capture, stage: Stage, panels: list[Panel], item: int) -> Pick | None:
    """The strongest cell of the token that the tour follows, in the output panel."""
    side = stage.sides.get("T")
    if side is None:
        return None
    row = capture.tokens(side)[item]
    last = len(row) - 1
    token = inside("walk_follow", _("Token"), last) if view("walk_follow") >= 0 else last
    widget(st.selectbox, "walk_follow", _("Follow the token"), token, _follow, options=range(len(row)),
           format_func=lambda t: f"{t} · {visible(row[t])}")
    return Pick(len(panels) - 1, *strongest(panels[-1], token, signed=stage.leaf == "logits"))


def _follow(name: str) -> None:
    """Another token leads the tour's pick again."""
    set_view(walk_follow=widget_value(name), cells=with_cell(view("cells"), CANVAS, None))


# ---------------------------------------------------------------- facts


def six_digits(x: float) -> str:
    """Six significant digits; NaN is spelt out."""
    return _("NaN (not a number)") if x != x else minus(f"{x:.6g}")


def _facts(capture: Capture, stage: Stage, hint: str) -> None:
    """Shape with named axes, statistics, the line of source, and the other names: one element, quick to replace."""
    # Masked scores hold the fill in masked cells: a number of the mask, not of the model.
    overwritten = capture[stage.mask] if stage.mask and stage.kind == "signed" else None
    summary = summarize(capture[stage.name], overwritten)
    hint_html = f'<div style="opacity:.7;margin-bottom:10px">{hint}</div>'
    st.html(hint_html + shape_html(stage) + statistics_html(summary, stage) + source_html(stage) + names_html(stage))


def source_html(stage: Stage) -> str:
    """The line of this project's source that computed the stage."""
    place = source_of(stage)
    box = "background:rgba(128,128,128,.12);border-radius:4px;padding:10px 12px;margin:4px 0 14px;white-space:pre-wrap"
    return (
        '<div style="opacity:.7">'
         + _("Computed in <code>{file}</code>, line {line}", file=html.escape(place.file), line=place.line)
         + f'</div><pre style="{box}"><code>{html.escape(place.text)}</code></pre>'
    )


def shape_html(stage: Stage) -> str:
    """The name and the shape, with one coloured chip for each axis."""
    chips = "".join(
        f'<span style="background:{theme.AXIS_COLOURS[a]};color:#fff;border-radius:4px;padding:2px 8px;white-space:nowrap">'
        f"{a} = {n}</span>"
        for a, n in zip(stage.axes, stage.shape or (), strict=True)
    )
    name = f'<code style="overflow-wrap:anywhere">{html.escape(stage.name)}</code>'
    shape = f'{name} {chips or _("a single number")} <span>{stage.dtype}</span>'
    return f'<div style="display:flex;flex-wrap:wrap;gap:6px;align-items:center;margin:4px 0 10px">{shape}</div>'


def names_html(stage: Stage) -> str:
    """The names of the stage in the documents and the libraries, one per line."""
    lines = "".join(
        f'<div><span style="opacity:.7">{html.escape(LIBRARIES[who])}</span> '
        f'<code style="overflow-wrap:anywhere">{html.escape(name)}</code></div>'
        for who, name in stage.aliases.items()
    )
    return ('<div style="display:grid;gap:4px">' + _("<b>Also known as</b>{lines}", lines=lines) + "</div>")


def statistics_html(s: Summary, stage: Stage) -> str:
    """min, mean, max, std of the whole stage, and how many cells are not finite."""
    cells = [("min", s.min), (_("mean"), s.mean), ("max", s.max), ("std", s.std)]
    if stage.kind == "ids":
        cells = [("min", s.min), ("max", s.max)]
    boxes = "".join(
        f'<div><div style="opacity:.7">{name}</div><div style="font-size:1.25rem;font-variant-numeric:tabular-nums">'
        f"{six_digits(value)}</div></div>"
        for name, value in cells
    )
    odd = [f"{n:,} {what}" for n, what in ((s.n_masked, _("masked")), (s.n_infinite, _("infinite")), (s.n_nan, "NaN")) if n]
    note = ("<div>"
            + _("over {n_counted:,} cells; {odd} left out", n_counted=s.n_counted, odd=_(" and ").join(odd))
            + "</div>") if odd else ""
    return f'<div style="display:flex;flex-wrap:wrap;gap:28px;align-items:end;margin-bottom:8px">{boxes}{note}</div>'
