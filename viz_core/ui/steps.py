"""Step by step: the walk through the stages of one run, one stage at a time."""

import html
import time
from collections.abc import Sequence

import streamlit as st

from viz_core.analysis.summary import Summary, summarize
from viz_core.capture import Capture
from viz_core.figures import theme
from viz_core.figures.architecture import architecture
from viz_core.figures.steps import original_index, stage_panels
from viz_core.sources import source_of
from viz_core.stages import Stage, tour
from viz_core.text import visible
from viz_core.ui.canvas import matrices
from viz_core.ui.diagram import diagram
from viz_core.ui.frame import Lab, change, current, set_choice, widget

PLAY_SECONDS = 2.0  # long enough to read a title, short enough to hold a room
WHOLE, TOUR = "Whole walk", "Short tour"
MODE, NORMS, PLAYING, TICK = "walk_mode", "walk_norms", "walk_playing", "walk_tick"


def walk(capture: Capture, mode: str, norms: bool) -> list[str]:
    """The stops, in order: eight of the tour, or every stage, LayerNorm's inner steps only where opened."""
    if mode == TOUR:
        return [name for name in tour(capture.config) if name in capture]
    return [name for name in capture if norms or not capture.stage(name).inside_norm]


def step_by_step(lab: Lab) -> None:
    """The whole page below its title."""
    if lab.capture is None:
        return
    capture = lab.capture
    name = lab.setup.stage if lab.setup.stage in capture else next(iter(capture))
    stage = capture.stage(name)
    left, right = st.columns([5, 2], gap="medium")
    with right:
        _modes(stage)
        stops = walk(capture, st.session_state[MODE], st.session_state[NORMS])
        _jumps(capture, stage)
        _map(capture, name)
    with left:
        item, head = _moves(lab, capture, stops, name)
        st.subheader(stage.meaning, anchor=False)
        st.latex(stage.formula)
        _matrices(lab, capture, stage, item, head)
        _facts(capture, stage)
    _player(stops, name)


# ---------------------------------------------------------------- moving


def _modes(stage: Stage) -> None:
    """The whole walk or the tour, LayerNorms open or folded."""
    st.session_state.setdefault(MODE, WHOLE)
    if stage.inside_norm:
        st.session_state[NORMS] = True
    st.segmented_control("Walk", [WHOLE, TOUR], key=MODE, required=True, label_visibility="collapsed", persist_state="session",
                         width="stretch")  # fmt: skip
    st.toggle("Open LayerNorms", key=NORMS, persist_state="session", disabled=st.session_state[MODE] == TOUR,
              help="Mean, variance and normalised value as steps of their own.")  # fmt: skip


def _moves(lab: Lab, capture: Capture, stops: list[str], name: str) -> tuple[int, int]:
    """Previous, next, play, sentence, head and the scrubber; returns the selected sentence and head."""
    at = _nearest(list(capture), stops, name)
    here = stops[at] == name
    playing = st.session_state.get(PLAYING, False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.button("Previous", icon=":material/arrow_back:", shortcut="Left", on_click=_go, disabled=at == 0 and here,
                  args=(stops[max(at - 1, 0)] if here else stops[at],), key="walk_previous")  # fmt: skip
        st.button("Next", icon=":material/arrow_forward:", shortcut="Right", on_click=_go, disabled=at == len(stops) - 1,
                  args=(stops[min(at + 1, len(stops) - 1)],), key="walk_next", type="primary")  # fmt: skip
        st.button("Pause" if playing else "Play", icon=":material/pause:" if playing else ":material/play_arrow:",
                  shortcut="P", on_click=_toggle_play, key="walk_play")  # fmt: skip
        selected = _selection(lab, capture, capture.stage(name))
    if len(stops) > 1:
        st.session_state["walk_scrubber"] = at + 1
        st.slider(f"Step {at + 1} of {len(stops)} · {name}", 1, len(stops), key="walk_scrubber", on_change=_scrub,
                  args=(tuple(stops),))  # fmt: skip
    return selected


def _selection(lab: Lab, capture: Capture, stage: Stage) -> tuple[int, int]:
    """Which sentence and which head the matrices show; a choice only where there is one."""
    n_items = capture.n_sentences
    item, head, n_heads = min(lab.setup.item, n_items - 1), lab.setup.attn_head, capture.config.n_heads
    if n_items > 1:
        widget(st.segmented_control, "item", "Sentence", item, set_choice, options=range(n_items), required=True,
               format_func=lambda i: str(i + 1))  # fmt: skip
    shown = [capture.stage(n) for n in (*stage.inputs, stage.name) if n in capture]
    if n_heads > 1 and any("H" in s.axes for s in shown):
        widget(st.segmented_control, "attn_head", "Head", head, set_choice, options=range(n_heads), required=True)
    return item, head


def _nearest(order: Sequence[str], stops: Sequence[str], name: str) -> int:
    """The place in the walk at or before a stage."""
    place = {n: i for i, n in enumerate(order)}
    return max((i for i, s in enumerate(stops) if place[s] <= place[name]), default=0)


def _go(name: str) -> None:
    change(stage=name)


def _scrub(stops: tuple[str, ...]) -> None:
    change(stage=stops[st.session_state["walk_scrubber"] - 1])


def _toggle_play() -> None:
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
            change(stage=stops[at + 1])
            st.rerun()

    tick()


# ---------------------------------------------------------------- one stage


def _map(capture: Capture, name: str) -> None:
    """The architecture, the present stage lit; a click goes there."""
    picture = architecture([capture.stage(n) for n in capture], name)
    if (clicked := diagram(picture, key="walk_map")) and clicked != current().stage:
        change(stage=clicked)
        st.rerun()


def _jumps(capture: Capture, stage: Stage) -> None:
    """Chapter, section and operation: each select box goes to the first stage of what is chosen."""
    everything = [capture.stage(n) for n in capture]
    block = [s for s in everything if s.block == stage.block]
    section = [s for s in block if s.sublayer == stage.sublayer]
    levels = (
        ("Chapter", stage.block, {s.block: s.name for s in reversed(everything)}),
        ("Section", stage.sublayer, {s.sublayer: s.name for s in reversed(block)}),
        ("Operation", stage.leaf, {s.leaf: s.name for s in reversed(section)}),
    )
    for label, value, first in levels:
        key = f"walk_{label}"
        st.session_state[key] = value
        st.selectbox(label, list(first)[::-1], key=key, on_change=_jump, args=(key, first))


def _jump(key: str, target: dict[str, str]) -> None:
    change(stage=target[st.session_state[key]])


def _matrices(lab: Lab, capture: Capture, stage: Stage, item: int, head: int) -> None:
    """Inputs and output as matrices, for one sentence and head; the exact value of a picked cell."""
    shown = [capture.stage(n) for n in (*stage.inputs, stage.name) if n in capture]
    panels = stage_panels(capture, stage.name, item, head, lab.tokenizers)
    pick = matrices(panels, key="walk_canvas")
    if pick is None:
        st.caption("Hover over a cell to read it; click it, then use the arrow keys, to pick it. ← and → walk, P plays.")
        return
    cell = shown[pick.panel]
    panel = panels[pick.panel]
    index = original_index(cell, pick.row, pick.col, item, head)
    names = [f"{label!s}" for label in (panel.rows[pick.row], panel.cols[pick.col]) if label]
    where = ", ".join(f"{a.lower()}={i}" for a, i in zip(cell.axes, index, strict=True))
    st.text(f"{cell.name}[{where}] = {number(float(capture[cell.name][index]))}    ({' · '.join(map(visible, names))})")


# ---------------------------------------------------------------- facts


def number(x: float) -> str:
    """Six significant digits; NaN says what it is."""
    return "NaN (not a number)" if x != x else f"{x:.6g}"


def _facts(capture: Capture, stage: Stage) -> None:
    """Shape with named axes, statistics, the line of source, and what others call it."""
    st.html(shape_html(stage) + statistics_html(summarize(capture[stage.name]), stage))
    place = source_of(stage)
    st.caption(f"Computed in `{place.file}`, line {place.line}")
    st.code(place.text, language="python", wrap_lines=True)
    rows = "".join(f"<tr><td>{html.escape(k)}</td><td><code>{html.escape(v)}</code></td></tr>" for k, v in stage.aliases.items())
    st.html(f"<table><caption>Elsewhere it is called</caption>{rows}</table>")


def shape_html(stage: Stage) -> str:
    """The name and the shape, one coloured chip an axis."""
    chips = "".join(
        f'<span style="background:{theme.AXIS_COLOURS[a]};color:#fff;border-radius:4px;padding:2px 8px;white-space:nowrap">'
        f"{a} = {n}</span>"
        for a, n in zip(stage.axes, stage.shape or (), strict=True)
    )
    return (
        '<div style="display:flex;flex-wrap:wrap;gap:6px;align-items:center;margin:4px 0 10px">'
        f"<code>{html.escape(stage.name)}</code> {chips or 'a single number'} <span>{stage.dtype}</span></div>"
    )


def statistics_html(s: Summary, stage: Stage) -> str:
    """min, mean, max, std of the whole stage, and how many cells are not finite."""
    cells = [("min", s.min), ("mean", s.mean), ("max", s.max), ("std", s.std)]
    if stage.kind == "ids":
        cells = [("min", s.min), ("max", s.max)]
    boxes = "".join(
        f'<div><div style="opacity:.7">{name}</div><div style="font-size:1.25rem;font-variant-numeric:tabular-nums">'
        f"{number(value)}</div></div>"
        for name, value in cells
    )
    odd = [f"{n:,} {what}" for n, what in ((s.n_infinite, "infinite"), (s.n_nan, "NaN")) if n]
    note = f"<div>over the {s.n_finite:,} finite cells; {' and '.join(odd)} left out</div>" if odd else ""
    return f'<div style="display:flex;flex-wrap:wrap;gap:28px;align-items:end;margin-bottom:8px">{boxes}{note}</div>'
