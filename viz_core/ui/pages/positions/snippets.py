"""The Python of this page's pictures, filled with the values with which they are drawn."""

from collections.abc import Sequence

from viz_core.ui.shell.code import Source, code


def waves(length: int, d_model: int, base: float, dims: Sequence[int], at: int) -> Source:
    return code("""
        from viz_core.analysis.positions import columns, term
        from viz_core.figures.positions import waves_figure
        length, d_model, base, dims, position = {length}, {d_model}, {base}, {dims}, {at}
        terms = [term(position, dim, d_model, base) for dim in dims]
        picture = waves_figure(columns(dims, length, d_model, base), dims, terms)
        """, length=length, d_model=d_model, base=base, dims=list(dims), at=at)


def table(length: int, d_model: int, base: float) -> Source:
    return code("""
        from viz_core.analysis.positions import wavelengths, waves
        from viz_core.figures.positions import table_panel
        length, d_model, base = {length}, {d_model}, {base}
        panels = [table_panel(waves(length, d_model, base), wavelengths(d_model, base).tolist())]
        """, length=length, d_model=d_model, base=base)


def window(d_model: int, base: float, row: int, rows: int, col: int, cols: int) -> Source:
    return code("""
        from viz_core.analysis.positions import wavelengths, waves
        from viz_core.figures.positions import window_panel
        d_model, base, row, col = {d_model}, {base}, {row}, {col}
        cells = waves({rows}, d_model, base, start=row)[:, col : col + {cols}]
        panels = [window_panel(cells, row, col, wavelengths(d_model, base).tolist())]
        """, d_model=d_model, base=base, row=row, rows=rows, col=col, cols=cols)


def wavelengths(d_model: int, base: float, span: int, of: str) -> Source:
    return code("""
        import numpy as np
        from viz_core.analysis.positions import wavelengths
        from viz_core.figures.positions import wavelengths_curves
        chart = wavelengths_curves(np.array(wavelengths({d_model}, {base})), {base}, {span}, {of})
        """, d_model=d_model, base=base, span=span, of=of)


def clocks(length: int, d_model: int, base: float, k: int, at: int) -> Source:
    return code("""
        from viz_core.figures.clock import wave_clocks
        clocks, position = wave_clocks({length}, {d_model}, {base}, k={k}), {at}
        """, length=length, d_model=d_model, base=base, k=k, at=at)


def shift(k: int, d_model: int, base: float) -> Source:
    return code("""
        from viz_core.analysis.positions import shift_matrix
        from viz_core.figures.positions import shift_panel
        k, d_model, base = {k}, {d_model}, {base}
        panels = [shift_panel(shift_matrix(k, d_model, base), k, d_model)]
        """, k=k, d_model=d_model, base=base)


def similarity(title: str, n: int, first: int, d_model: int, base: float) -> Source:
    return code("""
        from viz_core.analysis.positions import similarity, waves
        from viz_core.figures.positions import matrix_panel
        panels = [matrix_panel({title}, similarity(waves({n}, {d_model}, {base}, start={first})), {first})]
        """, title=title, n=n, first=first, d_model=d_model, base=base)


def profile(positions: Sequence[int], length: int, d_model: int, base: float) -> Source:
    return code("""
        from viz_core.analysis.positions import profiles
        from viz_core.figures.positions import profile_curves
        chart = profile_curves(profiles({positions}, {length}, {d_model}, {base}), {d_model})
        """, positions=list(positions), length=length, d_model=d_model, base=base)
