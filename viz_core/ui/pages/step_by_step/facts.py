"""The facts below the figure of a stage: shape, statistics, line of source, and names in other libraries."""

import html

import streamlit as st

from viz_core.analysis.summary import ArraySummary, summarize
from viz_core.capture import Capture
from viz_core.figures import theme
from viz_core.figures.stage_panels import axis_title
from viz_core.messages import translate as _
from viz_core.messages.number_format import with_minus_sign
from viz_core.stages import AXES, LIBRARY_TITLES, Stage
from viz_core.stages.sources import source_line


def six_digits(x: float) -> str:
    """Format with six significant digits; NaN is spelt out."""
    return _("NaN (not a number)") if x != x else with_minus_sign(f"{x:.6g}")


def show_facts(capture: Capture, stage: Stage, hint: str, capture_a: Capture | None = None) -> None:
    """Show the shape with named axes, statistics, the line of source, and other names, as one HTML element.

    capture_a: the run kept as A, if the statistics of both are shown; everything else is about B.
    """
    hint_html = f'<div class="walk-{stage.kind}" style="opacity:.7;margin-bottom:10px">{hint}</div>'
    numbers = _statistics(capture, stage)
    if capture_a is not None:
        numbers = "".join(f"<b>{name}</b>{said}" for name, said in (("A", _statistics(capture_a, stage)), ("B", numbers)))
    st.html(hint_html + shape_html(stage) + numbers + source_html(stage) + names_html(stage))


def _statistics(capture: Capture, stage: Stage) -> str:
    # In masked scores, masked cells hold the fill, which the statistics leave out.
    overwritten = capture[stage.mask] if stage.mask and stage.kind == "signed" else None
    return statistics_html(summarize(capture[stage.name], overwritten), stage)


def source_html(stage: Stage) -> str:
    """Return the line of this project's source that computes the stage, as HTML."""
    source = source_line(stage)
    style = "background:rgba(128,128,128,.12);border-radius:4px;padding:10px 12px;margin:4px 0 14px;white-space:pre-wrap"
    return (
        '<div style="opacity:.7">'
         + _("Computed in <code>{file}</code>, line {line}", file=html.escape(source.file), line=source.line)
         + f'</div><pre style="{style}"><code>{html.escape(source.text)}</code></pre>'
    )


def shape_html(stage: Stage) -> str:
    """Return the name and the shape, with a coloured chip and the meaning of each axis, as HTML."""
    chips = "".join(
        f'<span style="background:{theme.AXIS_COLOURS[a]};color:#fff;border-radius:4px;padding:2px 8px;white-space:nowrap">'
        f"{a} = {n}</span> <span>{html.escape(axis_meaning(stage, a))}</span>"
        for a, n in zip(stage.axes, stage.shape or (), strict=True)
    )
    name = f'<code style="overflow-wrap:anywhere">{html.escape(stage.name)}</code>'
    axes = chips or _("a single number")
    shape = f"{name} {axes} <span>{stage.dtype}</span>"
    return f'<div style="display:flex;flex-wrap:wrap;gap:6px;align-items:center;margin:4px 0 10px">{shape}</div>'


def axis_meaning(stage: Stage, letter: str) -> str:
    """Return what the letter of an axis stands for at this stage: "key: source token"."""
    return str(AXES["1"] if letter == "1" else axis_title(stage, letter).removeprefix(f"{letter} · "))


def names_html(stage: Stage) -> str:
    """Return the names of the stage in the documents and the libraries, one per line, as HTML."""
    lines = "".join(
        f'<div><span style="opacity:.7">{html.escape(str(LIBRARY_TITLES[who]))}</span> '
        f'<code style="overflow-wrap:anywhere">{html.escape(name)}</code></div>'
        for who, name in stage.aliases.items()
    )
    return ('<div style="display:grid;gap:4px">' + _("<b>Also known as</b>{lines}", lines=lines) + "</div>")


def statistics_html(s: ArraySummary, stage: Stage) -> str:
    """Return min, mean, max and std of the stage, and how many cells they leave out, as HTML."""
    cells = [("min", s.min), (_("mean"), s.mean), ("max", s.max), ("std", s.std)]
    if stage.kind == "ids":
        cells = [("min", s.min), ("max", s.max)]
    boxes = "".join(
        f'<div><div style="opacity:.7">{name}</div><div style="font-size:1.25rem;font-variant-numeric:tabular-nums">'
        f"{six_digits(value)}</div></div>"
        for name, value in cells
    )
    excluded = [f"{n:,} {what}" for n, what in ((s.n_masked, _("masked")), (s.n_infinite, _("infinite")), (s.n_nan, "NaN")) if n]
    note = ("<div>"
            + _("over {n_counted:,} cells; {odd} left out", n_counted=s.n_counted, odd=_(" and ").join(excluded))
            + "</div>") if excluded else ""
    return f'<div style="display:flex;flex-wrap:wrap;gap:28px;align-items:end;margin-bottom:8px">{boxes}{note}</div>'
