"""Normalisation as pictures: one token step by step, which cells share a mean, histograms of layers, and both blocks.

Numbers come from `viz_core.analysis.layernorm`; here they are only drawn.
"""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import numpy as np
import plotly.graph_objects as go

from viz_core.analysis.layernorm import Cell, Norm, Spread, Spreads, Steps
from viz_core.figures import theme
from viz_core.figures.attention import number, token
from viz_core.figures.panels import Panel, panel
from viz_core.figures.shapes import LEGEND

ABOVE, BELOW = theme.HEAD_COLOURS[4], theme.HEAD_COLOURS[0]  # of zero, as wherever bars stand around it
GUIDE = "#888888"  # lines that are no data
QUIET = "opacity:.75;font-size:.9em"  # what only explains
ROW, FRAME = 104, 96  # pixels of one step's bars with its heading, and of the axis below all


# ---------------------------------------------------------------- one token


def steps_figure(steps: Steps, feature: int, dark: bool = False) -> go.Figure:
    """One token's values as bars, one row a step of LayerNorm, one bar a feature; `feature` is marked in all of them.

    x and x - μ share one scale, so that the shift shows; the normalised values and what γ and β make of them another.
    """
    rows = step_rows(steps)
    before, after = (_reach([values for _, values in part]) for part in (rows[:2], rows[2:]))
    n, d = len(rows), len(steps.x)
    height = FRAME + ROW * n
    plot, gap = height - FRAME, 0.3  # of a row: room for its heading
    half = max(0.5, d / 300)  # of the marked column, which stays wide enough to be seen
    layout: dict[str, Any] = {
        "height": height, "showlegend": False, "bargap": 0.12,
        "title": {"text": f"One token’s {d} features, step by step" if d > 1 else "One token’s only feature, step by step"},
        "margin": {"t": 44, "b": 52}, "annotations": [],
        "xaxis": {"title": {"text": "D · feature"}, "anchor": f"y{n}", "range": [-0.6, d - 0.4], "showgrid": False},
        "shapes": [{"type": "rect", "xref": "x", "x0": feature - half, "x1": feature + half, "yref": "paper", "y0": 0, "y1": 1,
                    "fillcolor": GUIDE, "opacity": 0.28, "line": {"width": 0}, "layer": "below"},
                   {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "yref": "y", "y0": steps.mean, "y1": steps.mean,
                    "line": {"color": GUIDE, "width": 2, "dash": "dash"}, "visible": bool(np.isfinite(steps.mean))}],
    }
    traces = []
    for i, (heading, values) in enumerate(rows):
        bottom, top = 1 - (i + 1) / n, 1 - (i + gap) / n
        name = "" if i == 0 else str(i + 1)
        low, high = before if i < 2 else after
        layout[f"yaxis{name}"] = {"domain": [bottom, top], "range": [low, high], "nticks": 6, "anchor": "x"}
        layout["annotations"].append({
            "text": heading, "xref": "paper", "x": 0, "xanchor": "left", "yref": "paper", "y": top, "yanchor": "bottom",
            "showarrow": False, "font": {"size": theme.FONT_SIZE - 1}, "yshift": -0.02 * plot / n,
        })
        traces.append({
            "type": "bar", "x": np.arange(d, dtype=np.int32), "y": values.astype(np.float32), "yaxis": f"y{name}",
            "marker": {"color": np.where(values < 0, BELOW, ABOVE).tolist(), "line": {"width": 0}},
            "customdata": [number(v, 6) for v in values.tolist()], "hovertemplate": "feature %{x}: %{customdata}<extra></extra>",
        })
    return theme.Figure(traces, layout, dark=dark)


def step_rows(steps: Steps) -> list[tuple[str, np.ndarray]]:
    """(heading with its numbers, values [D]) of each step, from what enters to what leaves."""
    gamma, beta = (_span(x) for x in (steps.gamma, steps.beta))
    return [
        (f"x: mean μ = {number(steps.mean, 4)} (dashed), variance σ² = {number(steps.var, 4)}", steps.x),
        ("− μ: the mean is now 0", steps.centred),
        (f"÷ √(σ² + ε) = {number(steps.root, 4)}: the variance is now {number(steps.kept, 6)}", steps.normalized),
        (f"× γ ({gamma})", steps.scaled),
        (f"+ β ({beta}): what leaves", steps.out),
    ]


def _span(x: np.ndarray) -> str:
    low, high = float(np.min(x)), float(np.max(x))
    return f"{number(low, 3)} everywhere" if low == high else f"{number(low, 3)} to {number(high, 3)}"


def _reach(values: Sequence[np.ndarray]) -> tuple[float, float]:
    """An axis over all finite values and 0, with a little room."""
    every = np.concatenate([v[np.isfinite(v)] for v in values])
    low, high = float(every.min(initial=0.0)), float(every.max(initial=0.0))
    room = 0.06 * (high - low) or 1.0
    return low - room * (low < 0 or low == high), high + room


def feature_formula(steps: Steps, feature: int) -> str:
    """LaTeX: document 002's formula, and below it the marked feature with its numbers."""
    d = feature
    x, centred, normalized, scaled, out = (
        float(a[d]) for a in (steps.x, steps.centred, steps.normalized, steps.scaled, steps.out)
    )
    gamma, beta = _tex(float(steps.gamma[d])), _bracketed(float(steps.beta[d]))
    under = rf"\sqrt{{{_tex(steps.var)} + {_tex(steps.eps)}}}"
    lines = [
        r"\hat x_d &= \frac{x_d - \mu}{\sqrt{\sigma^2 + \varepsilon}}, \qquad N_d = \gamma_d\,\hat x_d + \beta_d",
        rf"\hat x_{{{d}}} &= \frac{{{_tex(x)} - {_bracketed(steps.mean)}}}{{{under}}}",
        rf"&= \frac{{{_tex(centred)}}}{{{_tex(steps.root)}}} = {_tex(normalized)}",
        rf"N_{{{d}}} &= {gamma} \cdot {_bracketed(normalized)} + {beta}",
        rf"&= {_tex(scaled)} + {beta} = {_tex(out)}",
    ]
    return r"\small \begin{aligned} " + r" \\[6pt] ".join(lines) + r" \end{aligned}"


def _tex(x: float) -> str:
    """Five significant digits, as LaTeX writes them."""
    shown = f"{x:.5g}"
    if not np.isfinite(x):
        return r"\text{NaN}" if np.isnan(x) else r"\infty" if x > 0 else r"-\infty"
    digits, _, power = shown.partition("e")
    if not power:
        return digits
    return rf"10^{{{int(power)}}}" if digits == "1" else rf"{digits}\cdot10^{{{int(power)}}}"


def _bracketed(x: float) -> str:
    return f"({_tex(x)})" if x < 0 else _tex(x)


# ---------------------------------------------------------------- which cells share a mean

NAMES: dict[Norm, str] = {"layer": "LayerNorm", "batch": "BatchNorm", "instance": "InstanceNorm"}
MOST_SENTENCES, MOST_TOKENS, MOST_FEATURES = 3, 8, 10  # drawn as cells; the numbers are those of the whole tensor
CELL, WIDEST = 14, 235  # pixels: a cell, a norm's picture


@dataclass(frozen=True, slots=True)
class Members:
    """One norm's picture: the cells [B, T, D] that share the picked cell's mean, and a line below it."""

    norm: Norm
    cells: np.ndarray
    told: str


def cells_html(found: Sequence[Members], words: np.ndarray, tokens: Sequence[Sequence[str]], at: Cell, dark: bool = False) -> str:
    """HTML: for each norm the tensor B × T × D as cells, a block a sentence below each other; those that share one mean are filled.

    words [B, T] bool: False is padding, which is hatched. A large tensor is drawn around the picked cell, and it is said.
    """
    shape = found[0].cells.shape
    spans = [_window(n, i, most) for n, i, most in zip(shape, at, (MOST_SENTENCES, MOST_TOKENS, MOST_FEATURES), strict=True)]
    pictures = "".join(
        f'<figure style="margin:0;flex:0 1 {WIDEST}px"><figcaption style="font-weight:600">{NAMES[m.norm]}</figcaption>'
        + "".join(_block(m, b, words, tokens[b], spans, at, dark) for b in spans[0])
        + f'<div style="{QUIET};margin-top:6px">{m.told}</div></figure>'
        for m in found
    )
    row = "display:flex;flex-wrap:wrap;gap:18px 28px;margin:4px 0 8px;line-height:1.4"
    return f'<div style="{row}">{pictures}</div>{_key(shape, spans, dark)}'


def _window(n: int, at: int, most: int) -> range:
    """At most `most` neighbours out of n, `at` among them."""
    start = max(0, min(at - most // 2, n - most))
    return range(start, min(n, start + most))


def _block(m: Members, b: int, words: np.ndarray, tokens: Sequence[str], spans: Sequence[range], at: Cell, dark: bool) -> str:
    """One sentence: a row a token, a column a feature."""
    clipped = "overflow:hidden;text-overflow:ellipsis;white-space:nowrap;padding-right:4px"
    rows = []
    for t in spans[1]:
        name = f'<div style="{clipped}">{token(tokens[t])}</div>'
        cells = "".join(
            f'<div style="{_look(bool(m.cells[b, t, d]), bool(words[b, t]), Cell(b, t, d) == at, dark)}"></div>' for d in spans[2]
        )
        rows.append(name + cells)
    grid = f"display:grid;grid-template-columns:4.6em repeat({len(spans[2])},{CELL}px);gap:2px;align-items:center"
    told = f"sentence {b + 1}: {int(m.cells[b].sum()):,} of its {m.cells[b].size:,} cells share the mean"
    return (
        f'<div role="img" aria-label="{told}"><div style="{QUIET}">sentence {b + 1}</div>'
        f'<div style="{grid};font-size:.8rem;line-height:1.25">{"".join(rows)}</div></div>'
    )


def _look(member: bool, word: bool, picked: bool, dark: bool) -> str:
    """A cell: filled where it shares the mean, hatched where it is padding, orange where it is the picked one."""
    fill = ABOVE if picked else (theme.MASK_DARK if dark else theme.MASK)[member]
    paint = f"background:{fill}"
    if not word:
        line = theme.masked(dark)["fill" if member or picked else "line"]
        paint = f"background:repeating-linear-gradient(45deg,{line} 0 1.5px,{fill} 1.5px 5px)"
    return f"height:{CELL}px;border-radius:2px;{paint}"


def _key(shape: tuple[int, ...], spans: Sequence[range], dark: bool) -> str:
    """What the colours mean, and how much of the tensor is drawn."""
    looks: list[tuple[str, bool, bool, bool]] = [
        ("the picked cell", True, True, True), ("shares its mean", True, True, False), ("does not", False, True, False),
        ("padding", False, False, False),
    ]
    entries = "".join(
        '<span style="display:flex;align-items:center;gap:6px">'
        f'<span style="width:{CELL}px;{_look(member, word, picked, dark)}"></span><span style="{QUIET}">{name}</span></span>'
        for name, member, word, picked in looks
    )
    axes = zip(("sentences", "tokens", "features"), spans, shape, (1, 0, 0), strict=True)
    drawn = [f"{name} {span[0] + first} to {span[-1] + first} of {n:,}" for name, span, n, first in axes if len(span) < n]
    part = f'<span style="{QUIET}">Drawn: {", ".join(drawn)}; the rest goes on alike.</span>' if drawn else ""
    return f'<div style="display:flex;flex-wrap:wrap;gap:4px 18px;line-height:1.4">{entries}{part}</div>'


def result_panels(parts: Sequence[tuple[str, np.ndarray]], tokens: Sequence[str]) -> list[Panel]:
    """What enters (title, [T, D]), and what each norm makes of it, those in one colour range. Padding is shown: it counts."""
    most = max((float(np.abs(x[np.isfinite(x)]).max(initial=0.0)) for _, x in parts[1:]), default=0.0) or 1.0
    return [
        panel(title, x, tokens, row_axis="T · token", col_axis="D · feature", row_letter="T", col_letter="D",
              low=-most if i else None, high=most if i else None)
        for i, (title, x) in enumerate(parts)
    ]


# ---------------------------------------------------------------- distributions

RIDGE = 26  # pixels of a layer's row
OVERLAP = 1.7  # rows that the highest ridge reaches


def ridges_figure(found: Spreads, colours: Mapping[str, str], dark: bool = False) -> go.Figure:
    """Every layer's histogram as a ridge, the first layer on top; all placements lie over each other on the same bins.

    A ridge is as high as the share of its layer's numbers in a bin; the highest of all reaches over the next rows.
    colours: of each placement.
    """
    edges = found.place(found.edges)
    highest = max((float(s.shares.max(initial=0.0)) for s in found.by.values()), default=0.0) or 1.0
    layers = max((len(s.layers) for s in found.by.values()), default=0)
    traces = [_ridges(name, s, found.edges, edges, highest, colours[name]) for name, s in found.by.items()]
    reach = float(edges[-1])
    away = " (log away from 0)" if found.scale == "log" else ""
    every = max(1, -(-layers // 16))
    layout: dict[str, Any] = {
        "height": 190 + RIDGE * max(4, layers), "title": {"text": _leaf_title(found.stage)},
        "legend": LEGEND, "margin": {"t": 48, "b": 8}, "showlegend": True,
        "xaxis": {"title": {"text": f"value of an activation{away}"}, "range": [-reach, reach], "tickangle": 0} | _ticks(found),
        "yaxis": {"title": {"text": "layer"}, "range": [layers - 0.5, -OVERLAP], "tickvals": list(range(0, layers, every)),
                  "showgrid": False, "zeroline": False},
    }
    return theme.Figure(traces, layout, dark=dark)


def _ridges(name: str, s: Spread, edges: np.ndarray, x: np.ndarray, highest: float, colour: str) -> dict[str, Any]:
    """All layers of one placement as one line, with gaps between the layers, each filled down to its own row.

    x: where the edges stand. A ridge ends where its layer has no numbers any more.
    """
    xs, ys, hover = [np.empty(0)], [np.empty(0)], list[str]()
    bins = [f"{number(a, 3)} to {number(b, 3)}" for a, b in zip(edges.tolist(), edges[1:].tolist(), strict=False)]
    for layer, shares in zip(s.layers, s.shares, strict=True):
        held = np.flatnonzero(shares)
        if not held.size:
            continue
        start, end = int(held[0]), int(held[-1]) + 1
        up = np.concatenate([[0.0], np.repeat(shares[start:end], 2), [0.0]]) / highest * OVERLAP
        says = [f"layer {layer}, {bins[i]}: {shares[i]:.2%}" for i in range(start, end)]
        xs += [np.repeat(x[start : end + 1], 2), np.array([np.nan])]
        ys += [layer - up, np.array([np.nan])]
        hover += [says[0], *(h for h in says for _ in range(2)), says[-1], ""]
    fill = ",".join(str(int(colour[k : k + 2], 16)) for k in (1, 3, 5))
    return {
        "type": "scatter", "x": np.concatenate(xs).astype(np.float32), "y": np.concatenate(ys).astype(np.float32),
        "name": html.escape(name), "mode": "lines", "fill": "toself", "fillcolor": f"rgba({fill},.25)", "hoveron": "points",
        "line": {"color": colour, "width": 1.8}, "text": hover, "hovertemplate": f"%{{text}}<extra>{html.escape(name)}</extra>",
    }


def _ticks(found: Spreads) -> dict[str, Any]:
    """Round numbers along the axis: on the logarithmic scale powers of ten, few enough to be read side by side."""
    reach = float(found.edges[-1])
    if found.scale == "linear":
        decade = 10.0 ** np.floor(np.log10(reach))
        step = next(s * decade for s in (0.2, 0.5, 1.0, 2.0, 5.0) if reach / (s * decade) <= 4)
        ticks = step * np.arange(-int(reach / step), int(reach / step) + 1)
        return {"tickvals": ticks.tolist(), "ticktext": [number(t, 3) for t in ticks.tolist()]}
    far = float(found.place(found.edges)[-1])
    powers, room = list[int](), 0.0  # from the middle outwards, a sixth of the axis apart
    for power in range(int(np.ceil(np.log10(found.unit))), int(np.floor(np.log10(reach))) + 1):
        at = float(found.place(np.array(10.0**power)))
        if at >= room + far / 3:
            powers, room = [*powers, power], at
    right = [(10.0**p, f"10<sup>{_sign(p)}</sup>") for p in powers]
    every = [*((-x, f"−{name}") for x, name in right), (0.0, "0"), *right]
    return {"tickvals": found.place(np.array([x for x, _ in every])).tolist(), "ticktext": [name for _, name in every]}


def _sign(p: int) -> str:
    return str(p).replace("-", "−")


def _leaf_title(stage: str) -> str:
    side, _, leaf = stage.partition(".layers.*.")
    return f"{side.capitalize()}: {leaf}, layer by layer"


# ---------------------------------------------------------------- both blocks

SUBLAYERS = {
    "self_attn": ("Self-attention", "resid_mid"),
    "cross_attn": ("Cross-attention", "resid_cross"),
    "ffn": ("Feed-forward", "resid_post"),
}
SPINE, BRANCH, WIDTH = 84, 238, 316  # where the residual path runs, where the sub-layers stand; the drawing's width
BOX, TALL, SUM, STEP = 132, 34, 13, 52  # a box's width and height; the radius of a sum; from one thing to the next below it


@dataclass(frozen=True, slots=True)
class Drawn:
    """One piece of a block. stage: what it leads to; residual: whether it lies on the path from x to the next layer's x."""

    kind: str  # "line", "box", "sum", "text"
    points: tuple[tuple[float, float], ...]
    stage: str
    residual: bool = False
    label: str = ""


def block(pre: bool, cross: bool = False) -> tuple[list[Drawn], list[str], float]:
    """The pieces of one layer, its stages in the order in which they are computed, and the drawing's height.

    The residual path runs straight down. Post-LN: its LayerNorms stand on it. Pre-LN: they stand beside it.
    """
    pieces: list[Drawn] = [Drawn("text", ((SPINE, 24),), "resid_pre", True, "x")]
    order, y, last = ["resid_pre"], 36.0, "resid_pre"
    for name in ("self_attn", "cross_attn", "ffn") if cross else ("self_attn", "ffn"):
        label, resid = SUBLAYERS[name]
        norm, out = f"norm_{name}.out", f"{name}.out"
        split, down = y + 14, y + 14
        inner = [(norm, "LayerNorm"), (out, label)] if pre else [(out, label)]
        way: tuple[tuple[float, float], ...] = ((SPINE, split), (BRANCH, split))
        for stage, says in inner:
            middle = down + STEP - 8
            pieces.append(Drawn("line", (*way, (BRANCH, middle - TALL / 2)), stage))
            pieces.append(Drawn("box", ((BRANCH, middle),), stage, False, says))
            order.append(stage)
            way, down = ((BRANCH, middle + TALL / 2),), middle
        total = down + STEP - 10
        pieces += [
            Drawn("line", (*way, (BRANCH, total), (SPINE + SUM, total)), resid),
            Drawn("line", ((SPINE, y), (SPINE, total - SUM)), resid, True),
            Drawn("sum", ((SPINE, total),), resid, True, resid),
        ]
        order.append(resid)
        y, last = total + SUM, resid
        if not pre:
            middle = y + STEP - 22
            pieces.append(Drawn("line", ((SPINE, y), (SPINE, middle - TALL / 2)), norm, True))
            pieces.append(Drawn("box", ((SPINE, middle),), norm, True, "LayerNorm"))
            order.append(norm)
            y, last = middle + TALL / 2, norm
    pieces.append(Drawn("line", ((SPINE, y), (SPINE, y + 30)), last, True))
    pieces.append(Drawn("text", ((SPINE, y + 48),), last, True, "x of the next layer"))
    return pieces, order, y + 58


def block_svg(pre: bool, lit: str = "", cross: bool = False, dark: bool = False) -> str:
    """One layer as SVG. lit: "post" or "pre" lights that block's residual path; a stage's suffix all that leads to it."""
    pieces, order, height = block(pre, cross)
    stage = _drawn_stage(lit)
    reached = order.index(stage) if stage in order else -1

    def is_lit(piece: Drawn) -> bool:
        return order.index(piece.stage) <= reached or (piece.residual and lit == ("pre" if pre else "post"))

    drawn = sorted(pieces, key=lambda p: (p.kind != "line", is_lit(p)))  # boxes over lines, lit lines over others
    body = "".join(_piece(p, is_lit(p), dark) for p in drawn)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" viewBox="0 0 {WIDTH} {height:.0f}" '
        f'font-family="Source Sans Pro, Noto Sans, sans-serif" font-size="15">{body}</svg>'
    )


def _piece(p: Drawn, lit: bool, dark: bool) -> str:
    text, paper = theme.page(dark)["text_color"], theme.page(dark)["background_color"]
    residual, light = path_colours(dark)
    stroke = light if lit else residual if p.residual else text
    x, y = p.points[0]
    if p.kind == "line":
        path = "M" + "L".join(f"{a:.0f},{b:.0f}" for a, b in p.points)
        return (
            f'<path d="{path}" fill="none" stroke="{stroke}" stroke-width="{5 if p.residual else 3 if lit else 1.6}"/>'
            + _tip(p.points[-2], p.points[-1], 9 if p.residual else 6, stroke)
        )
    if p.kind == "text":
        return f'<text x="{x}" y="{y}" fill="{text}" text-anchor="middle" font-weight="600">{p.label}</text>'
    if p.kind == "sum":
        return (
            f'<circle cx="{x}" cy="{y:.0f}" r="{SUM}" fill="{paper}" stroke="{stroke}" stroke-width="2.5"/>'
            f'<path d="M{x - 6},{y:.0f}h12M{x},{y - 6:.0f}v12" stroke="{stroke}" stroke-width="2.5"/>'
            f'<text x="{x - SUM - 4}" y="{y + 5:.0f}" fill="{text}" text-anchor="end" font-size="13">{p.label}</text>'
        )
    part = p.label if p.label == "LayerNorm" else "feed-forward" if p.label == "Feed-forward" else "attention"
    where = f'x="{x - BOX / 2}" y="{y - TALL / 2:.0f}" width="{BOX}" height="{TALL}" rx="5"'
    edge = f'stroke="{light if lit else text}" stroke-width="{3 if lit else 1.2}"'
    return (
        f'<rect {where} fill="{paper}"/><rect {where} fill="{theme.PART_COLOURS[part]}" fill-opacity=".38" {edge}/>'
        f'<text x="{x}" y="{y + 5:.0f}" fill="{text}" text-anchor="middle" font-weight="600">{p.label}</text>'
    )


def _tip(before: tuple[float, float], end: tuple[float, float], size: float, colour: str) -> str:
    """An arrow's head at the end of a line that runs down or to the left."""
    x, y = end
    across = [(x + size, y - size * 0.7), (x + size, y + size * 0.7)]
    down = [(x - size * 0.7, y - size), (x + size * 0.7, y - size)]
    (a, b), (c, d) = down if before[0] == x else across
    return f'<path d="M{x:.1f},{y:.1f}L{a:.1f},{b:.1f}L{c:.1f},{d:.1f}Z" fill="{colour}"/>'


def path_colours(dark: bool) -> tuple[str, str]:
    """Of the residual path, and of what is lit."""
    return (theme.DIVERGING_DARK[0], theme.DIVERGING_DARK[-1]) if dark else (theme.HEAD_COLOURS[0], theme.HEAD_COLOURS[4])


def blocks_html(lit: str = "", cross: bool = False, dark: bool = False) -> str:
    """HTML: both blocks side by side, below each other where the page is narrow."""
    sides = (
        (False, "Post-LN", "Every LayerNorm stands on the residual path: what a layer adds is rescaled by all later norms."),
        (True, "Pre-LN", "The residual path is additions only, from the embedding to the last layer; the norms stand beside it."),
    )
    reached = {"post": "Post-LN’s residual path", "pre": "Pre-LN’s residual path"}.get(lit, f"all that leads to {html.escape(lit)}")
    known = lit in ("post", "pre") or _drawn_stage(lit) in block(False, cross)[1]
    names = ["the residual path", reached] if known else ["the residual path"]
    key = "".join(
        '<span style="display:flex;align-items:center;gap:8px">'
        f'<span style="width:26px;height:5px;background:{colour}"></span><span style="{QUIET}">{name}</span></span>'
        for name, colour in zip(names, path_colours(dark), strict=False)
    )
    figures = "".join(
        '<figure style="margin:0;flex:0 1 340px"><figcaption style="font-weight:600">'
        f'{name}: {"x + f(LayerNorm(x))" if pre else "LayerNorm(x + f(x))"}</figcaption>'
        f'<img alt="One layer of {name}: {told}" style="display:block;max-width:100%;height:auto;margin:6px 0" '
        f'src="data:image/svg+xml,{quote(block_svg(pre, lit, cross, dark))}"><div style="{QUIET}">{told}</div></figure>'
        for pre, name, told in sides
    )
    row = "display:flex;flex-wrap:wrap;line-height:1.4"
    return f'<div style="{row};gap:18px 40px;margin:4px 0 10px">{figures}</div><div style="{row};gap:4px 24px">{key}</div>'



def _drawn_stage(lit: str) -> str:
    """The drawn stage that a stage leads to: what happens inside a box ends in its output."""
    module, _, leaf = lit.rpartition(".")
    return f"{module}.out" if module else leaf
