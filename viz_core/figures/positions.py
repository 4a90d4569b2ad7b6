"""Pictures of positions: waves, the table, wavelengths, similarity, a sentence's three parts, and the five schemes.

Numbers come from `viz_core.analysis.positions` and `viz_core.experiments.word_order`; here they are only drawn.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from viz_core.analysis.positions import Magnitude, Profile, Term
from viz_core.figures import theme
from viz_core.figures.clock import number
from viz_core.figures.curves import Curves, Level, Mark, Series, padded
from viz_core.figures.panels import Panel, Role, panel

GUIDE = "#888888"  # lines that are no data
HEIGHT = 400
UNDER, ENTRY = 62, 22  # pixels of a horizontal axis with its title, and of a line of the legend
WINDOW = (24, 10)  # rows and columns of a window in which every number is written
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
DASHES, SYMBOLS = ("solid", "dash", "dot", "dashdot", "longdash"), ("circle", "square", "diamond", "triangle-up", "x")  # of schemes
MOST_MARKS = 100  # more of them side by side are a line, and a line is quickly drawn
FEW_POINTS, MOST_POINTS = 100, 40  # measured ones of one curve over distance: up to so many all, otherwise at most these
MEASURED: tuple[Mark, ...] = ("circle", "cross", "square")  # marks of the measured curves, told apart where they coincide
ROOM = 10**0.5  # times which a log axis goes on past what it holds
MOST_LINE = 1000  # points of the line through them: one a pixel
MOST_TURNS = 100  # of a curve that a dashed line can show; more are a block of colour, and slow to dash


def _figure(
    traces: Sequence[dict[str, Any]], title: str, x: str, y: str, dark: bool, height: int = HEIGHT, *,
    xaxis: dict[str, Any] | None = None, yaxis: dict[str, Any] | None = None, shapes: Sequence[dict[str, Any]] = (),
    annotations: Sequence[dict[str, Any]] = (), showlegend: bool = True, legend_columns: int = 0,
) -> go.Figure:
    """Scatter traces with titles, in one piece: Plotly checks it once, which takes a tenth of the time of many updates.

    legend_columns: the legend's, with margins known beforehand; without them Plotly lays a figure out several times to find
    what it needs, which takes a third of the time to draw it.
    """
    layout: dict[str, Any] = {
        "title": {"text": title}, "height": height, "showlegend": showlegend,
        "xaxis": {"title": {"text": x}} | (xaxis or {}), "yaxis": {"title": {"text": y}} | (yaxis or {}),
        "shapes": list(shapes), "annotations": list(annotations), "margin": {"t": 76 if "<br>" in title else 52, "b": 8},
        "legend": {"orientation": "h", "yanchor": "top", "y": -0.2, "x": 0},
    }
    if legend_columns:
        entries = sum(trace.get("showlegend", True) for trace in traces)
        room, axes = ENTRY * -(-entries // legend_columns), {"automargin": False}
        layout["height"] = height + room
        layout["margin"] = {"t": layout["margin"]["t"], "l": 72, "r": 12, "b": UNDER + room, "autoexpand": False}
        layout["legend"] |= {"y": -UNDER / (height - layout["margin"]["t"] - UNDER), "entrywidth": 1 / legend_columns - 0.01,
                             "entrywidthmode": "fraction"}
        layout["xaxis"] |= axes
        layout["yaxis"] |= axes
    return theme.Figure([{"type": "scatter"} | trace for trace in traces], layout, dark=dark)


def _line(across: str, at: float, colour: str = GUIDE, dash: str = "dot", width: float = 1.5) -> dict[str, Any]:
    """A line over the whole plot: across "x" it stands upright at x = at, across "y" it lies at y = at."""
    other = "y" if across == "x" else "x"
    ends = {f"{across}0": at, f"{across}1": at, f"{other}ref": "paper", f"{other}0": 0, f"{other}1": 1}
    return {"type": "line", "line": {"color": colour, "dash": dash, "width": width}} | ends


# ---------------------------------------------------------------- waves


def pair_colour(dims: Sequence[int], dim: int) -> str:
    """Both dimensions of a pair share a colour; sine and cosine differ by the dash."""
    pairs = list(dict.fromkeys(d // 2 for d in dims))
    return theme.head_colour(pairs.index(dim // 2))


def waves_figure(curves: np.ndarray, dims: Sequence[int], terms: Sequence[Term], dark: bool = False) -> go.Figure:
    """PE(pos, dim) over position, a curve a dimension; terms: the cell of each dimension to be marked. curves: [N, dims]."""
    every = -(-len(curves) // MOST_LINE)
    traces: list[dict[str, Any]] = [
        {
            **_places(curve, every), "mode": "lines" if len(curves) > 1 else "markers",
            "name": f"dim {dim} · {'cos' if dim % 2 else 'sin'}",
            "line": {"color": pair_colour(dims, dim)} | _stroke(dim, curve),
            "hovertemplate": f"PE(%{{x}}, {dim}) = %{{y:.6f}}<extra></extra>",
        }
        for dim, curve in zip(dims, curves.T, strict=True)
    ]
    if terms:
        traces.append({
            "x": [t.position for t in terms], "y": [t.value for t in terms], "mode": "markers", "showlegend": False,
            "hoverinfo": "skip",
            "marker": {"color": [pair_colour(dims, t.dim) for t in terms], "size": 11, "line": {"width": 2, "color": GUIDE}},
        })
    title = f"One curve a dimension, {len(curves):,} position{'s' * (len(curves) > 1)}"
    title += f",<br>drawn at the extremes of every {2 * every}" if every > 1 else ""
    marked = [_line("x", terms[0].position)] if terms else []
    return _figure(traces, title, "position", "PE(position, dimension)", dark, 360, yaxis={"range": [-1.1, 1.1]},
                   shapes=marked, legend_columns=2)


def _places(curve: np.ndarray, every: int) -> dict[str, Any]:
    """A curve [N] for Plotly, at its extremes where it is long."""
    if every <= 1:
        return {"x0": 0, "dx": 1, "y": curve.astype(np.float32)}
    x = _extremes(curve, every)
    return {"x": x, "y": curve[x].astype(np.float32)}


def _extremes(curve: np.ndarray, every: int) -> np.ndarray:
    """Where a curve [N] has the least and the largest of each 2 · every places, so that a thinned line keeps its reach."""
    if every <= 1:
        return np.arange(len(curve))
    blocks = np.pad(curve, (0, -len(curve) % (2 * every)), mode="edge").reshape(-1, 2 * every)
    at = np.stack([blocks.argmin(axis=1), blocks.argmax(axis=1)]) + 2 * every * np.arange(len(blocks))  # [2, blocks]
    found: np.ndarray = np.unique(np.minimum(at, len(curve) - 1))
    return found


def _stroke(dim: int, curve: np.ndarray) -> dict[str, Any]:
    """Dashes for a cosine; a hair line where the curve turns too often to be followed."""
    if np.count_nonzero(np.diff(np.signbit(curve))) > 2 * MOST_TURNS:
        return {"dash": "solid", "width": 1}
    return {"dash": "dash" if dim % 2 else "solid", "width": 2.5}


def term_formula(terms: Sequence[Term], d_model: int, base: float) -> str:
    """The formula of the document, and below it each marked cell with its pos and i filled in, in LaTeX.

    A pair's angle φᵢ stands once above its two cells. The lines are short: they fit beside the picture, and on a phone.
    """
    shown = _tex(base)
    lines = [
        rf"\text{{PE}}(pos,2i{shift}) = \{function}\dfrac{{pos}}{{{shown}^{{2i/{d_model}}}}}"
        for shift, function in (("", "sin"), ("{+}1", "cos"))
    ]
    for i in dict.fromkeys(t.exponent // 2 for t in terms):
        own = [t for t in terms if t.exponent == 2 * i]
        angle = rf"\dfrac{{{own[0].position}}}{{{shown}^{{2\cdot {i}/{d_model}}}}} = {_tex(own[0].angle)}"
        lines.append(rf"\varphi_{{{i}}} = {angle}")
        lines += [rf"\text{{PE}}({t.position},{t.dim}) = \{t.function}\varphi_{{{i}}} = {_tex(t.value)}" for t in own]
    spaced = [line + (r" \\[9pt]" if "dfrac" in line else r" \\[3pt]") for line in lines]
    # The rule has a height and no width: without it the browser cuts the first fraction's top off.
    return r"\small \begin{aligned} \rule{0pt}{2.2em} " + " ".join(f"& {line}" for line in spaced) + r" \end{aligned}"


def _tex(x: float) -> str:
    """Four significant digits, as LaTeX writes them: "3.2\\times10^{-5}"."""
    shown = f"{x:.10g}" if x == round(x) and abs(x) < 1e7 else f"{x:.4g}"
    if "e" not in shown:
        return shown
    digits, power = shown.split("e")
    return rf"{digits}\times10^{{{int(power)}}}"


# ---------------------------------------------------------------- the table


def table_panel(
    table: np.ndarray, wavelength: Sequence[float] | None = None, title: str = "", role: Role = "output", most: float = 1.0
) -> Panel:
    """A position table [N, D]: a row a position, a column a dimension, which says its wavelength where it has one.

    most: where the colours end.
    """
    n, d = table.shape
    whole = f"The whole table: {n:,} position{'s' * (n != 1)} × {d} dimension{'s' * (d != 1)}"
    return panel(
        title or whole, table, None, _dimension_names(range(d), wavelength),
        row_axis="T · position", col_axis="D · dimension" + (", with its wavelength λ" if wavelength is not None else ""),
        row_letter="T", col_letter="D", role=role, low=-most, high=most,
    )


def window_panel(table: np.ndarray, row: int, col: int, wavelength: Sequence[float]) -> Panel:
    """WINDOW cells of the table from (row, col) on, each with its number. table: those cells alone."""
    rows, cols = table.shape
    title = f"Full precision: positions {row:,} to {row + rows - 1:,}, dimensions {col} to {col + cols - 1}"
    return panel(
        title, table, [str(row + r) for r in range(rows)], _dimension_names(range(col, col + cols), wavelength),
        row_axis="T · position", col_axis="D · dimension, with its wavelength λ", row_letter="T", col_letter="D",
        low=-1.0, high=1.0,
    )


def _dimension_names(dims: Sequence[int], wavelength: Sequence[float] | None) -> list[str] | None:
    """ "4 · λ 39.6": what stands on the axis, and what the pointer reads. wavelength: of every dimension from 0 on."""
    return None if wavelength is None else [f"{dim} · λ {_short(wavelength[dim])}" for dim in dims]


def _short(x: float) -> str:
    """Three significant digits, so that the name fits an axis."""
    return f"{x:.3g}" if x < 1000 else f"{x / 1000:.3g}k" if x < 1e6 else f"{x / 1e6:.3g}M"


def wavelengths_curves(wavelength: np.ndarray, base: float, span: int, of: str) -> Curves:
    """Wavelength over dimension on a log axis, those that turn more than once within `span` steps set apart."""
    x = np.arange(len(wavelength))
    fast, many = wavelength < span, len(wavelength) > MOST_MARKS
    found: tuple[tuple[np.ndarray, str, str, Mark], ...] = (
        (fast, "turns more than once", theme.HEAD_COLOURS[4], "disc"),
        (~fast, "turns once at most", theme.HEAD_COLOURS[0], "diamond"),
    )
    series = tuple(
        Series(f"{name} ({int(chosen.sum())})", x[chosen], wavelength[chosen], colour, "band" if many else mark,
               "dim {x}: wavelength {y}")
        for chosen, name, colour, mark in found
    )
    least, most = 2 * math.pi, 2 * math.pi * base
    levels = [Level(least, "2π", GUIDE, "left", above=0 < span < least), Level(most, f"2π · {base:g}, never reached", GUIDE)]
    if span > 0:
        crowded = span < least or base * least / 4 < span < base * least
        levels.append(Level(span, f"{of}: {span:,} step{'s' * (span > 1)}", theme.HEAD_COLOURS[4], above=not crowded, dotted=False))
    reach = min(least, span or least) / ROOM, max(most, span) * ROOM
    n = int(fast.sum())  # wavelengths grow with the dimension: the fast ones come first
    which = "" if n == 0 else " (0)" if n == 1 else f" (0 to {n - 1})"
    return Curves(f"{n} of {len(wavelength)} dimensions{which} turn more than once within {of}", "dimension",
                  "wavelength (positions)", series, reach, tuple(levels), log=True)


def _label(text: str, y: float, x: float, xanchor: str, yanchor: str) -> dict[str, Any]:
    """Words beside a horizontal line; x from 0 to 1 of the plot's width, y as the axis counts (a log axis: the logarithm)."""
    return {"text": text, "x": x, "xref": "paper", "y": y, "xanchor": xanchor, "yanchor": yanchor, "showarrow": False}


def _log(reach: Sequence[float]) -> dict[str, Any]:
    """A log axis with a number at each power of ten; reach: the logarithms of its ends."""
    return {"type": "log", "range": list(reach), "dtick": 1, "exponentformat": "power"}


def matrix_panel(title: str, matrix: np.ndarray, first: int = 0) -> Panel:
    """A matrix of positions by positions, such as a similarity, the first of them being `first`."""
    names = None if first == 0 else [str(first + i) for i in range(len(matrix))]
    return panel(title, matrix, names, names, row_axis="T · position p", col_axis="S · position q", row_letter="T", col_letter="S")


def shift_panel(matrix: np.ndarray, k: int, d_model: int) -> Panel:
    """M_k, or its first rows and columns where it is large."""
    n = min(len(matrix), WINDOW[1])
    title = "M" + str(k).translate(SUBSCRIPTS) + (f", its first {n} of {len(matrix)} dimensions" if n < len(matrix) else "")
    return panel(title, matrix[:n, :n], row_axis="D · dimension after", col_axis="D · dimension before", row_letter="D",
                 col_letter="D", low=-1.0, high=1.0)


# ---------------------------------------------------------------- similarity


def profile_curves(profiles: Sequence[Profile], d_model: int) -> Curves:
    """Measured ⟨PE_p, PE_q⟩ of a few rows p over q − p, and the closed form as a line under them."""
    distance, at = np.unique(np.concatenate([p.distance for p in profiles]), return_index=True)
    expected = np.concatenate([p.expected for p in profiles])[at]
    drawn = np.isin(np.arange(len(distance)), _extremes(expected, -(-len(distance) // MOST_LINE)))
    series: list[Series] = []
    for i, p in enumerate(profiles):
        every = 1 if len(p.distance) <= FEW_POINTS else -(-len(p.distance) // MOST_POINTS)
        drawn |= np.isin(distance, p.distance[::every])
        series.append(Series(f"measured from p = {p.position:,}", p.distance[::every], p.measured[::every], theme.head_colour(i),
                             MEASURED[i % 3], f"⟨PE({p.position}), PE({p.position} + {{x}})⟩ = {{y}}"))
    line = Series("closed form: Σ cos ω(q − p)", distance[drawn], expected[drawn], GUIDE, "line")
    return Curves(f"Similarity over distance, d_model {d_model}", "distance q − p", "⟨PE(p), PE(q)⟩", (line, *series),
                  padded([s.y for s in (line, *series)]))


# ---------------------------------------------------------------- one sentence


def sentence_panels(parts: Sequence[tuple[str, np.ndarray]], tokens: Sequence[str], most: float) -> list[Panel]:
    """The rows of the typed tokens, one matrix a part (title, [T, D]): cells of one size, and one colour range up to most."""
    return [
        panel(title, x, tokens, row_axis="T · token", col_axis="D · feature of the residual stream", row_letter="T", col_letter="D",
              low=-most, high=most)
        for title, x in parts
    ]


def magnitudes_figure(found: Sequence[Magnitude], position: float, d_model: int, dark: bool = False) -> go.Figure:
    """Length of the embedding rows, as drawn and times √d_model, on a log axis; the position rows' length as a line."""
    series = (
        ("embedding", [m.plain for m in found], "circle-open", "bottom"),
        (f"embedding × √{d_model}", [m.scaled for m in found], "circle", "top"),
    )
    names = [m.name for m in found]
    traces: list[dict[str, Any]] = [
        {
            "x": lengths, "y": names, "mode": "markers+text", "name": name, "text": [number(x) for x in lengths],
            "textposition": [f"{place} {'left' if x < position else 'right'}" for x in lengths],  # off the line
            "marker": {"color": theme.HEAD_COLOURS[0], "symbol": symbol, "size": 14, "line": {"width": 2.5}},
            "hovertemplate": f"%{{y}}<br>{name}: %{{x:.6g}}<extra></extra>",
        }
        for name, lengths, symbol, place in series
    ]
    above = {"text": f"position: {number(position)}", "x": math.log10(position), "y": 1, "yref": "paper", "yanchor": "bottom",
             "showarrow": False}
    drawn = [x for x in (position, *(x for _, lengths, *_ in series for x in lengths)) if x > 0]
    # A row's name stands above its marks, so that the marks have the whole width.
    above_row = {"x": 0, "xref": "paper", "yshift": 38, "xanchor": "left", "showarrow": False}
    rows = [above_row | {"text": name, "y": name} for name in names]
    return _figure(
        traces, "How long is each part of the sum?<br> ", "length of one row (log scale)", "", dark, 175 + 90 * len(found),
        xaxis={"type": "log", "range": _with_room(drawn, traces)},
        yaxis={"categoryarray": names[::-1], "range": [-0.65, len(found) - 0.35], "showticklabels": False},
        shapes=[_line("x", position, colour=theme.HEAD_COLOURS[1], dash="solid", width=3)], annotations=[above, *rows],
    )


NARROW, DIGIT, MARK = 290, 10, 20  # pixels: the plot's width on a phone, a digit of a number, a mark and the gap beside it


def _with_room(drawn: Sequence[float], traces: Sequence[Mapping[str, Any]]) -> list[float]:
    """The log axis over these lengths, with so much room at each end that on a phone, too, every number is whole."""
    beside = [pair for t in traces for pair in zip(t["textposition"], t["text"], strict=True)]
    left, right = (
        (MARK + DIGIT * max((len(text) for place, text in beside if place.endswith(side)), default=5)) / NARROW
        for side in ("left", "right")
    )
    low, high = math.log10(min(drawn)), math.log10(max(drawn))
    unit = max(high - low, 0.5) / (1 - left - right)
    return [low - left * unit, high + right * unit]


# ---------------------------------------------------------------- the five schemes


def attention_panels(weights: Sequence[tuple[str, np.ndarray]], tokens: Sequence[str], masked: np.ndarray | None) -> list[Panel]:
    """One head's weights [T, T] under several schemes (name, weights), all in one colour range."""
    most = max((float(w.max(initial=0.0)) for _, w in weights), default=1.0) or 1.0
    return [
        panel(f"{name}: weights", w, tokens, tokens, row_axis="T · query", col_axis="S · key", row_letter="T", col_letter="S",
              kind="probability", high=most, masked=masked)
        for name, w in weights
    ]


def added_panel(name: str, rows: np.ndarray, tokens: Sequence[str], most: float) -> Panel:
    """The position rows [T, D] that a scheme adds to the words, in colours up to most."""
    return panel(f"{name}: rows added", rows, tokens, row_axis="T · token", col_axis="D · feature", row_letter="T", col_letter="D",
                 low=-most, high=most)


def turned_panel(name: str, angle: np.ndarray, tokens: Sequence[str]) -> Panel:
    """RoPE: how far the pairs of each token's query and key are turned, [T, P] in radians, whole turns counted."""
    pairs = [f"{2 * i}, {2 * i + 1}" for i in range(angle.shape[1])]
    return panel(f"{name}: radians turned", angle, tokens, pairs, row_axis="T · token", col_axis="K · pair of features",
                 row_letter="T", col_letter="K", kind="probability")


def bias_panel(bias: np.ndarray, tokens: Sequence[str], title: str, masked: np.ndarray | None) -> Panel:
    """ALiBi's −m |i − j| of one head, [T, T]."""
    return panel(title, bias, tokens, tokens, row_axis="T · query", col_axis="S · key", row_letter="T",
                 col_letter="S", masked=masked)


def slopes_figure(slopes: np.ndarray, head: int, dark: bool = False) -> go.Figure:
    """ALiBi's slope of each head on a log axis, the selected head filled."""
    heads, few = range(len(slopes)), len(slopes) <= 8
    trace = {
        "x": list(heads), "y": slopes, "mode": "markers+text", "textposition": "top center",
        "text": [f"2<sup>{math.log2(m):g}</sup>" if few else "" for m in slopes],
        "marker": {"color": [theme.head_colour(h) for h in heads], "size": 13,
                   "symbol": ["circle" if h == head else "circle-open" for h in heads], "line": {"width": 2.5}},
        "hovertemplate": "head %{x}: m = %{y:.6g}<extra></extra>",
    }
    reach = [math.log10(slopes.min()) - 0.3, math.log10(slopes.max()) + 0.5]
    return _figure([trace], "The slope m of each head", "head", "slope m", dark, 340, showlegend=False, yaxis=_log(reach),
                   xaxis={"dtick": 1 if len(slopes) <= 16 else None, "range": [-0.6, len(slopes) - 0.4]})


def decay_figure(decays: Sequence[np.ndarray], head: int, dark: bool = False) -> go.Figure:
    """Weight over distance for every head where all q·k are equal; the selected head is drawn thick.

    No legend: the heads have the colours that they have in `slopes_figure`, beside it.
    """
    traces = [
        {
            "x": np.arange(len(decay)), "y": decay, "mode": "lines+markers" if len(decay) < 40 else "lines", "name": f"head {h}",
            "line": {"color": theme.head_colour(h), "width": 4 if h == head else 1.8}, "marker": {"size": 6},
            "hovertemplate": f"head {h}, %{{x}} back: %{{y:.6f}}<extra></extra>",
        }
        for h, decay in enumerate(decays)
    ]
    return _figure(traces, "How fast attention fades with distance", "positions back", "weight, all q·k equal", dark, 340,
                   showlegend=False, yaxis={"rangemode": "tozero"})


def rope_panel(scores: np.ndarray) -> Panel:
    """The score of one query and one key at every pair of positions: the same number down each diagonal."""
    return panel("The score ⟨Rₘ q, Rₙ k⟩", scores, row_axis="T · position m of the query", col_axis="S · position n of the key",
                 row_letter="T", col_letter="S")


# ---------------------------------------------------------------- experiments


def moved_panels(moved: Sequence[tuple[str, np.ndarray, np.ndarray]], tokens: Sequence[str]) -> list[Panel]:
    """By what share of its length each word's output changed, a column a scheme: without a mask, and under a causal one.

    moved: (scheme, [T] without a mask, [T] causal).
    """
    names = [name for name, _, _ in moved]
    most = max((float(max(a.max(), b.max())) for _, a, b in moved), default=0.0) or 1.0
    return [
        panel(title, np.stack([row[at] for row in moved], axis=1), tokens, names, row_axis="T · word, where it stood first",
              col_axis="scheme", row_letter="T", kind="probability", high=most)
        for title, at in (("Each word's change, no mask", 1), ("Its change, causal mask alone", 2))
    ]


def layers_figure(changes: Sequence[tuple[str, int, Sequence[float]]], least: float, dark: bool = False) -> go.Figure:
    """The largest move of a score in each layer, as a share of its largest one: a line a scheme, on a log axis.

    changes: (name, place among the schemes, move in each layer). least: what is rounding and below; values far below it
    stand on the lower edge, and the pointer reads them.
    """
    floor = least / 100
    traces = [
        {
            "x": list(range(len(values))), "y": [max(v, floor) for v in values], "mode": "lines+markers", "name": name,
            "customdata": list(values), "hovertemplate": f"{name}, layer %{{x}}: %{{customdata:.3g}}<extra></extra>",
            "line": {"color": theme.head_colour(i), "width": 2.5, "dash": DASHES[i]},
            "marker": {"size": 11, "symbol": SYMBOLS[i]},
        }
        for name, i, values in changes
    ]
    band = {"type": "rect", "xref": "paper", "x0": 0, "x1": 1, "y0": floor / 2, "y1": least, "fillcolor": GUIDE, "opacity": 0.18,
            "line": {"width": 0}}
    top = max((v for _, _, values in changes for v in values), default=1.0)
    layers = max((len(values) for _, _, values in changes), default=1)
    return _figure(
        traces, "How far the same words' scores move", "layer", "move, as a share of the largest score", dark, shapes=[band],
        annotations=[_label("rounding", math.log10(least), 0.995, "right", "top")],
        xaxis={"dtick": 1, "range": [-0.4, layers - 0.6]}, yaxis=_log((math.log10(floor / 2), math.log10(max(top, least)) + 0.4)),
    )


def longer_figure(
    curves: Sequence[tuple[str, int, Sequence[int], Sequence[float | None]]], trained: int, x: str, chosen: int, dark: bool = False
) -> go.Figure:
    """The share of right next words as texts leave what was trained: a line a checkpoint, which ends where it refuses.

    curves: (name, place among the schemes, where on the axis, share). trained: the longest text of the training;
    chosen: the place on the axis that the words beside the picture are about.
    """
    traces = [
        {
            "x": list(places), "y": list(shares), "mode": "lines+markers", "name": name,
            "hovertemplate": f"{name}, %{{x}}: %{{y:.1%}}<extra></extra>",
            "line": {"color": theme.head_colour(i), "width": 2.5, "dash": DASHES[i]},
            "marker": {"size": 11, "symbol": SYMBOLS[i]},
        }
        for name, i, places, shares in curves
    ]
    most = max((place for _, _, places, _ in curves for place in places), default=trained)
    return _figure(
        traces, "Next words that are right", x, "share", dark, yaxis={"range": [0, 1.08], "tickformat": ".0%"},
        xaxis={"range": [-0.03 * most, 1.05 * most]},
        shapes=[_line("x", trained, colour=theme.HEAD_COLOURS[4], dash="solid"), _line("x", chosen)],
        annotations=[{"text": f"longest in training: {trained}", "x": trained, "y": 0.02, "yref": "paper", "xanchor": "left",
                      "yanchor": "bottom", "showarrow": False, "xshift": 4}],
    )
