"""Which cells of a batch share a mean in LayerNorm, BatchNorm and InstanceNorm, and what each norm gives."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from viz_core.analysis.layernorm import Cell, Norm
from viz_core.figures import theme
from viz_core.figures.attention import token
from viz_core.figures.panels import Panel, panel
from viz_core.language import translate as _

ABOVE, BELOW = theme.HEAD_COLOURS[4], theme.HEAD_COLOURS[0]  # of zero, as wherever bars stand around it


ABOVE = theme.HEAD_COLOURS[4]  # the picked cell
QUIET = "opacity:.75;font-size:.9em"  # explanations
NAMES: dict[Norm, str] = {"layer": "LayerNorm", "batch": "BatchNorm", "instance": "InstanceNorm"}
MOST_SENTENCES, MOST_TOKENS, MOST_FEATURES = 3, 8, 10  # drawn as cells; the numbers are from the whole tensor
CELL, WIDEST = 14, 235  # pixels: a cell, a norm's picture


@dataclass(frozen=True, slots=True)
class Members:
    """One norm's picture: the cells [B, T, D] that share the picked cell's mean, and a line of text below it."""

    norm: Norm
    cells: np.ndarray
    caption: str


def cells_html(found: Sequence[Members], words: np.ndarray, tokens: Sequence[Sequence[str]], at: Cell, dark: bool = False) -> str:
    """HTML: for each norm the tensor B × T × D as cells, one block per sentence; cells that share the mean are filled.

    words [B, T] bool: False is padding, which is hatched. Of a large tensor only the part around the picked cell is drawn.
    """
    shape = found[0].cells.shape
    spans = [_window(n, i, most) for n, i, most in zip(shape, at, (MOST_SENTENCES, MOST_TOKENS, MOST_FEATURES), strict=True)]
    pictures = "".join(
        f'<figure style="margin:0;flex:0 1 {WIDEST}px"><figcaption style="font-weight:600">{NAMES[m.norm]}</figcaption>'
        + "".join(_block(m, b, words, tokens[b], spans, at, dark) for b in spans[0])
        + f'<div style="{QUIET};margin-top:6px">{m.caption}</div></figure>'
        for m in found
    )
    row = "display:flex;flex-wrap:wrap;gap:18px 28px;margin:4px 0 8px;line-height:1.4"
    return f'<div style="{row}">{pictures}</div>{_key(shape, spans, dark)}'


def _window(n: int, at: int, most: int) -> range:
    """At most `most` neighbours out of n, `at` among them."""
    start = max(0, min(at - most // 2, n - most))
    return range(start, min(n, start + most))


def _block(m: Members, b: int, words: np.ndarray, tokens: Sequence[str], spans: Sequence[range], at: Cell, dark: bool) -> str:
    """One sentence: one row per token, one column per feature."""
    clipped = "overflow:hidden;text-overflow:ellipsis;white-space:nowrap;padding-right:4px"
    rows = []
    for t in spans[1]:
        name = f'<div style="{clipped}">{token(tokens[t])}</div>'
        cells = "".join(
            f'<div style="{_look(bool(m.cells[b, t, d]), bool(words[b, t]), Cell(b, t, d) == at, dark)}"></div>' for d in spans[2]
        )
        rows.append(name + cells)
    grid = f"display:grid;grid-template-columns:4.6em repeat({len(spans[2])},{CELL}px);gap:2px;align-items:center"
    label = _("sentence {b}: {sum:,} of its {size:,} cells share the mean",
              b=b + 1, sum=int(m.cells[b].sum()), size=m.cells[b].size)
    return (
        f'<div role="img" aria-label="{label}"><div style="{QUIET}">'
         + _("sentence {b}", b=b + 1)
         + f'</div><div style="{grid};font-size:.8rem;line-height:1.25">{"".join(rows)}</div></div>'
    )


def _look(member: bool, word: bool, picked: bool, dark: bool) -> str:
    """A cell: filled if it shares the mean, hatched if it is padding, orange if it is the picked one."""
    fill = ABOVE if picked else (theme.MASK_DARK if dark else theme.MASK)[member]
    paint = f"background:{fill}"
    if not word:
        line = theme.masked(dark)["fill" if member or picked else "line"]
        paint = f"background:repeating-linear-gradient(45deg,{line} 0 1.5px,{fill} 1.5px 5px)"
    return f"height:{CELL}px;border-radius:2px;{paint}"


def _key(shape: tuple[int, ...], spans: Sequence[range], dark: bool) -> str:
    """A legend, and the part of the tensor that is drawn."""
    looks: list[tuple[str, bool, bool, bool]] = [
        (_("the picked cell"), True, True, True), (_("shares its mean"), True, True, False),
        (_("does not share it"), False, True, False),
        (_("padding"), False, False, False),
    ]
    entries = "".join(
        '<span style="display:flex;align-items:center;gap:6px">'
        f'<span style="width:{CELL}px;{_look(member, word, picked, dark)}"></span><span style="{QUIET}">{name}</span></span>'
        for name, member, word, picked in looks
    )
    axes = zip((_("sentences"), _("tokens"), _("features")), spans, shape, (1, 0, 0), strict=True)
    drawn = [_("{name} {span} to {span_2} of {n:,}", name=name, span=span[0] + first, span_2=span[-1] + first, n=n) for name, span,
             n, first in axes if len(span) < n]
    part = (f'<span style="{QUIET}">'
            + _("Drawn: {drawn}; the rest continues in the same way.", drawn=", ".join(drawn))
            + "</span>") if drawn else ""
    return f'<div style="display:flex;flex-wrap:wrap;gap:4px 18px;line-height:1.4">{entries}{part}</div>'


def result_panels(parts: Sequence[tuple[str, np.ndarray]], tokens: Sequence[str]) -> list[Panel]:
    """The input (title, [T, D]) and each norm's result; the results share one colour range. Padding is shown, because it counts."""
    most = max((float(np.abs(x[np.isfinite(x)]).max(initial=0.0)) for __, x in parts[1:]), default=0.0) or 1.0
    return [
        panel(title, x, tokens, row_axis=_("T · token"), col_axis=_("D · feature"), row_letter="T", col_letter="D",
              low=-most if i else None, high=most if i else None)
        for i, (title, x) in enumerate(parts)
    ]
