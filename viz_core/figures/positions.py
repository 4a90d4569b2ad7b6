"""Pictures of positions: waves, the table, wavelengths, similarity, a sentence's three parts, and the five schemes.

Numbers come from `viz_core.analysis.positions` and `viz_core.experiments.order`; here they are only drawn.
"""

import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from viz_core.analysis.positions import Magnitude, Profile, Term
from viz_core.figures import theme
from viz_core.figures.clock import number
from viz_core.figures.panels import Panel, Role, panel

GUIDE = "#888888"  # lines that are no data
HEIGHT = 400
WINDOW = (24, 10)  # rows and columns of a window in which every number is written
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
MOST_POINTS = 400  # of one curve over distance


def _layout(figure: go.Figure, title: str, x: str, y: str, dark: bool, height: int = HEIGHT) -> go.Figure:
    figure.update_layout(
        template=theme.template(dark), title_text=title, xaxis_title_text=x, yaxis_title_text=y, height=height,
        legend={"orientation": "h", "yanchor": "top", "y": -0.2, "x": 0}, margin={"t": 76 if "<br>" in title else 52, "b": 8},
    )  # fmt: skip
    return figure


# ---------------------------------------------------------------- waves


def pair_colour(dims: Sequence[int], dim: int) -> str:
    """Both dimensions of a pair share a colour; sine and cosine differ by the dash."""
    pairs = list(dict.fromkeys(d // 2 for d in dims))
    return theme.head_colour(pairs.index(dim // 2))


def waves_figure(table: np.ndarray, dims: Sequence[int], terms: Sequence[Term], dark: bool = False) -> go.Figure:
    """PE(pos, dim) over position, a curve a dimension; terms: the cell of each dimension to be marked. table: [N, D]."""
    figure = go.Figure()
    x = np.arange(len(table), dtype=np.int32)
    for dim in dims:
        function = "cos" if dim % 2 else "sin"
        figure.add_scatter(
            x=x, y=table[:, dim].astype(np.float32), mode="lines" if len(table) > 1 else "markers", name=f"dim {dim} · {function}",
            line={"color": pair_colour(dims, dim), "dash": "dash" if dim % 2 else "solid", "width": 2.5},
            hovertemplate=f"PE(%{{x}}, {dim}) = %{{y:.6f}}<extra></extra>",
        )  # fmt: skip
    if terms:
        figure.add_vline(x=terms[0].position, line_dash="dot", line_color=GUIDE)
        figure.add_scatter(
            x=[t.position for t in terms], y=[t.value for t in terms], mode="markers", showlegend=False, hoverinfo="skip",
            marker={"color": [pair_colour(dims, t.dim) for t in terms], "size": 11, "line": {"width": 2, "color": GUIDE}},
        )  # fmt: skip
    figure.update_yaxes(range=[-1.1, 1.1])
    title = f"One curve a dimension, {len(table):,} position{'s' * (len(table) > 1)}"
    return _layout(figure, title, "position", "PE(position, dimension)", dark)


def term_formula(terms: Sequence[Term], d_model: int, base: float) -> str:
    """The formula of the document, and below it each marked cell with its numbers, in LaTeX."""
    shown = _tex(base)
    lines = [
        rf"\text{{PE}}(pos,\,2i{shift}) &= \{function}(pos / {shown}^{{2i/{d_model}}})"
        for shift, function in (("", "sin"), ("{+}1", "cos"))
    ]
    lines += [
        rf"\text{{PE}}({t.position},\,{t.dim}) &= \{t.function}({t.position} / {shown}^{{{t.exponent}/{d_model}}}) "
        rf"= {_tex(t.value)}"
        for t in terms
    ]
    return r"\small \begin{aligned} " + r" \\[2pt] ".join(lines) + r" \end{aligned}"


def _tex(x: float) -> str:
    """Four significant digits, as LaTeX writes them: "3.2\\times10^{-5}"."""
    shown = f"{x:.10g}" if x == round(x) and abs(x) < 1e7 else f"{x:.4g}"
    if "e" not in shown:
        return shown
    digits, power = shown.split("e")
    return rf"{digits}\times10^{{{int(power)}}}"


# ---------------------------------------------------------------- the table


def table_panel(table: np.ndarray, wavelength: Sequence[float] | None = None, title: str = "", role: Role = "output") -> Panel:
    """A position table [N, D]: a row a position, a column a dimension, which says its wavelength where it has one."""
    n, d = table.shape
    low, high = (None, None) if wavelength is None else (-1.0, 1.0)
    return panel(
        title or f"The whole table: {n:,} positions × {d} dimensions", table, None, _dimension_names(range(d), wavelength),
        row_axis="T · position", col_axis="D · dimension" + (", with its wavelength λ" if wavelength is not None else ""),
        row_letter="T", col_letter="D", role=role, low=low, high=high,
    )  # fmt: skip


def window_panel(table: np.ndarray, row: int, col: int, wavelength: Sequence[float]) -> Panel:
    """WINDOW cells of the table from (row, col) on, each with its number. table: those cells alone."""
    rows, cols = table.shape
    title = f"Full precision: positions {row:,} to {row + rows - 1:,}, dimensions {col} to {col + cols - 1}"
    return panel(
        title, table, [str(row + r) for r in range(rows)], _dimension_names(range(col, col + cols), wavelength),
        row_axis="T · position", col_axis="D · dimension, with its wavelength λ", row_letter="T", col_letter="D",
        low=-1.0, high=1.0,
    )  # fmt: skip


def _dimension_names(dims: Sequence[int], wavelength: Sequence[float] | None) -> list[str] | None:
    """ "4 · λ 39.6": what stands on the axis, and what the pointer reads. wavelength: of every dimension from 0 on."""
    return None if wavelength is None else [f"{dim} · λ {_short(wavelength[dim])}" for dim in dims]


def _short(x: float) -> str:
    """Three significant digits, so that the name fits an axis."""
    return f"{x:.3g}" if x < 1000 else f"{x / 1000:.3g}k" if x < 1e6 else f"{x / 1e6:.3g}M"


def wavelengths_figure(wavelength: np.ndarray, base: float, span: int, of: str, dark: bool = False) -> go.Figure:
    """Wavelength over dimension on a log axis, those that turn more than once within `span` steps set apart."""
    figure = go.Figure()
    x = np.arange(len(wavelength))
    fast = wavelength < span
    for chosen, name, colour, symbol in (
        (fast, "turns more than once", theme.HEAD_COLOURS[4], "circle"),
        (~fast, "turns once at most", theme.HEAD_COLOURS[0], "diamond"),
    ):
        figure.add_scatter(
            x=x[chosen], y=wavelength[chosen], mode="markers", name=f"{name} ({int(chosen.sum())})",
            marker={"color": colour, "symbol": symbol, "size": 8}, hovertemplate="dim %{x}: wavelength %{y:.5g}<extra></extra>",
        )  # fmt: skip
    lines = [(2 * math.pi, "2π", GUIDE, "dot"), (2 * math.pi * base, f"2π · {base:g}, never reached", GUIDE, "dot")]
    if span > 0:
        lines.append((span, f"{of}: {span:,} step{'s' * (span > 1)}", theme.HEAD_COLOURS[4], "solid"))
    for y, text, colour, dash in lines:
        figure.add_hline(y=y, line_dash=dash, line_color=colour, line_width=1.5)
        # On a log axis an annotation stands at the logarithm; it would miss the line that it belongs to otherwise.
        least = y == 2 * math.pi
        figure.add_annotation(text=text, x=0.03 if least else 0.995, xref="paper", xanchor="left" if least else "right",
                              y=math.log10(y), yanchor="top" if y == span else "bottom", showarrow=False)  # fmt: skip
    low, high = min(y for y, *_ in lines), max(y for y, *_ in lines)
    figure.update_yaxes(type="log", range=[math.log10(low) - 0.5, math.log10(high) + 0.5], dtick=1, exponentformat="power")
    title = f"{int(fast.sum())} of {len(wavelength)} dimensions turn<br>more than once within {of}"
    return _layout(figure, title, "dimension", "wavelength (positions)", dark)


def matrix_panel(title: str, matrix: np.ndarray, first: int = 0) -> Panel:
    """A matrix of positions by positions, such as a similarity, the first of them being `first`."""
    names = None if first == 0 else [str(first + i) for i in range(len(matrix))]
    return panel(title, matrix, names, names, row_axis="T · position p", col_axis="S · position q", row_letter="T", col_letter="S")


def shift_panel(matrix: np.ndarray, k: int, d_model: int) -> Panel:
    """M_k, or its first rows and columns where it is large."""
    n = min(len(matrix), WINDOW[1])
    title = "M" + str(k).translate(SUBSCRIPTS) + (f", its first {n} of {len(matrix)} dimensions" if n < len(matrix) else "")
    return panel(title, matrix[:n, :n], row_axis="D · dimension after", col_axis="D · dimension before", row_letter="D",
                 col_letter="D", low=-1.0, high=1.0)  # fmt: skip


# ---------------------------------------------------------------- similarity


def profile_figure(profiles: Sequence[Profile], d_model: int, dark: bool = False) -> go.Figure:
    """Measured ⟨PE_p, PE_q⟩ of a few rows p over q − p, and the closed form as a line through them."""
    figure = go.Figure()
    distance, at = np.unique(np.concatenate([p.distance for p in profiles]), return_index=True)
    expected = np.concatenate([p.expected for p in profiles])[at]
    figure.add_scatter(x=distance, y=expected, mode="lines", name="closed form: Σ cos ω(q − p)",
                       line={"color": GUIDE, "width": 2}, hoverinfo="skip")  # fmt: skip
    for i, p in enumerate(profiles):
        every = max(1, -(-len(p.distance) // MOST_POINTS))
        figure.add_scatter(
            x=p.distance[::every], y=p.measured[::every], mode="markers", name=f"measured from p = {p.position:,}",
            marker={"color": theme.head_colour(i), "symbol": ("circle-open", "x-thin-open", "square-open")[i % 3],
                    "size": 9 - 2 * i, "line": {"width": 1.5}},
            hovertemplate=f"⟨PE({p.position}), PE({p.position} + %{{x}})⟩ = %{{y:.6f}}<extra></extra>",
        )  # fmt: skip
    return _layout(figure, f"Similarity over distance, d_model {d_model}", "distance q − p", "⟨PE(p), PE(q)⟩", dark)


# ---------------------------------------------------------------- one sentence


def sentence_panels(parts: Sequence[tuple[str, np.ndarray]], tokens: Sequence[str]) -> list[Panel]:
    """The rows of the typed tokens, one matrix a part (title, [T, D]): cells of one size, and one colour range."""
    most = max((float(np.abs(x[np.isfinite(x)]).max(initial=0.0)) for _, x in parts), default=0.0) or 1.0
    return [
        panel(title, x, tokens, row_axis="T · token", col_axis="D · feature of the residual stream", row_letter="T", col_letter="D",
              low=-most, high=most)
        for title, x in parts
    ]  # fmt: skip


def magnitudes_figure(found: Sequence[Magnitude], position: float, d_model: int, dark: bool = False) -> go.Figure:
    """Length of the embedding rows, as drawn and times √d_model, on a log axis; the position rows' length as a line."""
    figure = go.Figure()
    series = (
        ("embedding", [m.plain for m in found], "circle-open"), (f"embedding × √{d_model}", [m.scaled for m in found], "circle"),
    )  # fmt: skip
    for name, lengths, symbol in series:
        shown = [(x, m.name) for x, m in zip(lengths, found, strict=True) if x]
        figure.add_scatter(
            x=[x for x, _ in shown], y=[y for _, y in shown], mode="markers+text", name=name, text=[number(x) for x, _ in shown],
            textposition="bottom center" if symbol == "circle-open" else "top center",
            marker={"color": theme.HEAD_COLOURS[0], "symbol": symbol, "size": 14, "line": {"width": 2.5}},
            hovertemplate=f"%{{y}}<br>{name}: %{{x:.6g}}<extra></extra>",
        )  # fmt: skip
    figure.add_vline(x=position, line_color=theme.HEAD_COLOURS[1], line_width=3)
    figure.add_annotation(text=f"position: {number(position)}", x=math.log10(position), y=1, yref="paper", yanchor="bottom",
                          showarrow=False)  # fmt: skip
    lengths = [position, *(x for _, values, _ in series for x in values if x)]
    figure.update_xaxes(type="log", range=[math.log10(min(lengths)) - 0.4, math.log10(max(lengths)) + 0.4])
    figure.update_yaxes(categoryorder="array", categoryarray=[m.name for m in found][::-1], range=[-0.65, len(found) - 0.35])
    height = 175 + 75 * len(found)
    return _layout(figure, "How long is each part of the sum?<br> ", "length of one row (log scale)", "", dark, height)


# ---------------------------------------------------------------- the five schemes


def attention_panels(weights: Sequence[tuple[str, np.ndarray]], tokens: Sequence[str], masked: np.ndarray | None) -> list[Panel]:
    """One head's weights [T, T] under several schemes (name, weights), all in one colour range."""
    most = max((float(w.max(initial=0.0)) for _, w in weights), default=1.0) or 1.0
    return [
        panel(name, w, tokens, tokens, row_axis="T · query", col_axis="S · key", row_letter="T", col_letter="S", kind="probability",
              high=most, masked=masked)
        for name, w in weights
    ]  # fmt: skip


def bias_panel(bias: np.ndarray, tokens: Sequence[str], head: int, masked: np.ndarray | None) -> Panel:
    """ALiBi's −m |i − j| of one head, [T, T]."""
    return panel(f"The bias of head {head}", bias, tokens, tokens, row_axis="T · query", col_axis="S · key", row_letter="T",
                 col_letter="S", masked=masked)  # fmt: skip


def slopes_figure(slopes: np.ndarray, head: int, dark: bool = False) -> go.Figure:
    """ALiBi's slope of each head on a log axis, the selected head filled."""
    heads = range(len(slopes))
    powers = [f"2<sup>{math.log2(m):g}</sup>" if len(slopes) <= 8 else "" for m in slopes]
    figure = go.Figure(go.Scatter(
        x=list(heads), y=slopes, mode="markers+text", text=powers, textposition="top center",
        marker={"color": [theme.head_colour(h) for h in heads], "size": 13,
                "symbol": ["circle" if h == head else "circle-open" for h in heads], "line": {"width": 2.5}},
        hovertemplate="head %{x}: m = %{y:.6g}<extra></extra>",
    ))  # fmt: skip
    figure.update_xaxes(dtick=1 if len(slopes) <= 16 else None, range=[-0.6, len(slopes) - 0.4])
    low, high = math.log10(slopes.min()), math.log10(slopes.max())
    figure.update_yaxes(type="log", range=[low - 0.3, high + 0.5], dtick=1)
    return _layout(figure, "The slope m of each head", "head", "slope m", dark, 340)


def decay_figure(decays: Sequence[np.ndarray], head: int, dark: bool = False) -> go.Figure:
    """Weight over distance for every head where all q·k are equal; the selected head is drawn thick.

    No legend: the heads have the colours that they have in `slopes_figure`, beside it.
    """
    figure = go.Figure()
    for h, decay in enumerate(decays):
        figure.add_scatter(
            x=np.arange(len(decay)), y=decay, mode="lines+markers" if len(decay) < 40 else "lines", name=f"head {h}",
            line={"color": theme.head_colour(h), "width": 4 if h == head else 1.8}, marker={"size": 6},
            hovertemplate=f"head {h}, %{{x}} back: %{{y:.6f}}<extra></extra>",
        )  # fmt: skip
    figure.update_yaxes(rangemode="tozero")
    figure.update_layout(showlegend=False)
    return _layout(figure, "How fast attention fades with distance", "positions back", "weight, all q·k equal", dark, 340)


def rope_panel(scores: np.ndarray) -> Panel:
    """The score of one query and one key at every pair of positions: the same number down each diagonal."""
    return panel("The score ⟨Rₘ q, Rₙ k⟩", scores, row_axis="T · position m of the query", col_axis="S · position n of the key",
                 row_letter="T", col_letter="S")  # fmt: skip


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
        for title, at in (("Without a mask", 1), ("Under a causal mask alone", 2))
    ]  # fmt: skip


def layers_figure(changes: Sequence[tuple[str, Sequence[float]]], least: float, dark: bool = False) -> go.Figure:
    """The largest move of a score in each layer, as a share of its largest one: a line a scheme, on a log axis.

    least: what is rounding and below; values far below it stand on the lower edge, and the pointer reads them.
    """
    figure = go.Figure()
    floor = least / 100
    for i, (name, values) in enumerate(changes):
        figure.add_scatter(
            x=list(range(len(values))), y=[max(v, floor) for v in values], mode="lines+markers", name=name, customdata=list(values),
            line={"color": theme.head_colour(i), "width": 2.5, "dash": ("solid", "dash", "dot", "dashdot", "longdash")[i % 5]},
            marker={"size": 11, "symbol": ("circle", "square", "diamond", "triangle-up", "x")[i % 5]},
            hovertemplate=f"{name}, layer %{{x}}: %{{customdata:.3g}}<extra></extra>",
        )  # fmt: skip
    figure.add_hrect(y0=floor / 2, y1=least, fillcolor=GUIDE, opacity=0.18, line_width=0)
    figure.add_annotation(text="rounding", x=0.995, xref="paper", xanchor="right", y=math.log10(least), yanchor="top",
                          showarrow=False)  # fmt: skip
    top = max((v for _, values in changes for v in values), default=1.0)
    reach = [math.log10(floor / 2), math.log10(max(top, least)) + 0.4]
    figure.update_yaxes(type="log", range=reach, dtick=1, exponentformat="power")
    figure.update_xaxes(dtick=1, range=[-0.4, max((len(v) for _, v in changes), default=1) - 0.6])
    return _layout(figure, "How far the same words' scores move", "layer", "move, as a share of the largest score", dark)
