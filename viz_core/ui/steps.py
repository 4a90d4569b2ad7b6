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
    name = lab.setup.stage if lab.setup.stage in capture else tour(capture.config)[0]
    stops = _controls(capture, name)
    stage = capture.stage(name)
    left, right = st.columns([5, 2], gap="medium")
    with right:
        _map(capture, name)
    with left:
        _where(capture, stage, stops)
        _matrices(lab, capture, stage)
        _facts(capture, stage)
    _player(stops, name)


# ---------------------------------------------------------------- moving


def _controls(capture: Capture, name: str) -> list[str]:
    """Previous, next, play, scrubber and jumps; returns the stops of the walk."""
    st.session_state.setdefault(MODE, WHOLE)
    if capture.stage(name).inside_norm:
        st.session_state[NORMS] = True
    with st.container(horizontal=True, vertical_alignment="bottom"):
        previous, following, play = st.container(), st.container(), st.container()
        st.segmented_control("Walk", [WHOLE, TOUR], key=MODE, required=True, label_visibility="collapsed",
                             persist_state="session", help="The tour takes one token from id to logit in eight stops.")  # fmt: skip
        st.toggle("Open LayerNorms", key=NORMS, persist_state="session", disabled=st.session_state[MODE] == TOUR,
                  help="Mean, variance and normalised value as steps of their own.")  # fmt: skip
    stops = walk(capture, st.session_state[MODE], st.session_state[NORMS])
    at = _nearest(list(capture), stops, name)
    on_stop = stops[at] == name
    with previous:
        st.button("Previous", icon=":material/arrow_back:", shortcut="Left", on_click=_go, disabled=at == 0 and on_stop,
                  args=(stops[max(at - 1, 0)] if on_stop else stops[at],), key="walk_previous")  # fmt: skip
    with following:
        st.button("Next", icon=":material/arrow_forward:", shortcut="Right", on_click=_go, disabled=at == len(stops) - 1,
                  args=(stops[min(at + 1, len(stops) - 1)],), key="walk_next", type="primary")  # fmt: skip
    with play:
        playing = st.session_state.get(PLAYING, False)
        st.button("Pause" if playing else "Play", icon=":material/pause:" if playing else ":material/play_arrow:",
                  shortcut="P", on_click=_toggle_play, key="walk_play")  # fmt: skip
    if len(stops) > 1:
        st.session_state["walk_scrubber"] = at + 1
        st.slider(f"Step {at + 1} of {len(stops)}", 1, len(stops), key="walk_scrubber", on_change=_scrub, args=(tuple(stops),),
                  label_visibility="visible")  # fmt: skip
    return stops


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


def _where(capture: Capture, stage: Stage, stops: list[str]) -> None:
    """Chapter, section and operation as a path one can jump along; what the stage means; its formula."""
    everything = [capture.stage(n) for n in capture]
    block = [s for s in everything if s.block == stage.block]
    section = [s for s in block if s.sublayer == stage.sublayer]
    chapters = list(dict.fromkeys(s.block for s in everything))
    sections = list(dict.fromkeys(s.sublayer for s in block))
    columns = st.columns(3)
    firsts = (
        ("Chapter", chapters, stage.block, {c: next(s.name for s in everything if s.block == c) for c in chapters}),
        ("Section", sections, stage.sublayer, {c: next(s.name for s in block if s.sublayer == c) for c in sections}),
        ("Operation", [s.leaf for s in section], stage.leaf, {s.leaf: s.name for s in section}),
    )
    for column, (label, options, value, target) in zip(columns, firsts, strict=True):
        with column:
            key = f"walk_{label}"
            st.session_state[key] = value
            st.selectbox(label, options, key=key, on_change=_jump, args=(key, target))
    st.subheader(stage.meaning, anchor=False)
    st.latex(stage.formula)


def _jump(key: str, target: dict[str, str]) -> None:
    change(stage=target[st.session_state[key]])


def _matrices(lab: Lab, capture: Capture, stage: Stage) -> None:
    """Inputs and output as matrices, for a selectable sentence and head; the exact value of a picked cell."""
    shown = [capture.stage(n) for n in (*stage.inputs, stage.name) if n in capture]
    n_items = next((x.shape[0] for x in capture.values() if x.ndim > 1 and x.shape[0] > 1), 1)
    item, head = min(lab.setup.item, n_items - 1), lab.setup.attn_head
    has_heads = any("H" in s.axes for s in shown) and capture.config.n_heads > 1
    with st.container(horizontal=True):
        if n_items > 1:
            widget(st.segmented_control, "item", "Sentence", item, set_choice, options=range(n_items), required=True,
                   format_func=lambda i: str(i + 1))  # fmt: skip
        if has_heads:
            heads = range(capture.config.n_heads)
            widget(st.segmented_control, "attn_head", "Head", head, set_choice, options=heads, required=True)
    panels = stage_panels(capture, stage.name, item, head, lab.tokenizers)
    pick = matrices(panels, key="walk_canvas")
    if pick is None:
        st.caption("Hover over a cell to read it, click it or use the arrow keys to pick it.")
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
