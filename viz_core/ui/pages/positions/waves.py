"""The Positions page, which draws the section that the link names, and its sections on the sinusoidal table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from viz_core.analysis.positions import (
    columns,
    paired,
    profiles,
    shift_matrix,
    shift_residual,
    similarity,
    term,
    wavelengths,
    waves,
)
from viz_core.figures.clock import wave_clocks
from viz_core.figures.positions import (
    WINDOW,
    matrix_panel,
    profile_curves,
    shift_panel,
    table_panel,
    term_formula,
    wavelengths_curves,
    waves_figure,
    window_panel,
)
from viz_core.formats import long, rounded
from viz_core.language import plural
from viz_core.language import translate as _
from viz_core.presets import DOCUMENTS
from viz_core.ui.components.canvas import Pick
from viz_core.ui.components.clock import clock
from viz_core.ui.components.curves import curves
from viz_core.ui.controls import bounded, chart, dark, inside, picking
from viz_core.ui.pages.positions import snippets
from viz_core.ui.pages.positions.schemes import all_schemes
from viz_core.ui.pages.positions.word_order import experiments
from viz_core.ui.pages.positions.your_sentence import sentence
from viz_core.ui.shell import PAGES, Lab, beside, look, present, section_of, set_view, view, view_widget, write_link

LENGTHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
WIDTHS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 21, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
BASES = ("10", "100", "1000", "10000", "100000", "1000000")
PLOT_OF_001 = {"pos_length": 100, "pos_width": 20, "pos_base": "10000", "pos_dims": (4, 5, 6, 7)}
MOST_CURVES = 12
MOST_SQUARE = 200  # positions in a similarity matrix


@dataclass(frozen=True, slots=True)
class Table:
    """Sizes of the sinusoidal table that the page draws; they may differ from the model's."""

    length: int
    d_model: int
    base: float


@st.fragment
def positions() -> None:
    """Draw the page below its title. A fragment: changing a link parameter reruns only this, not the sidebar and the frame."""
    context = present()
    SECTIONS[section_of(PAGES["positions"])](context)
    write_link()


# ---------------------------------------------------------------- controls


def _table(lab: Lab) -> Table:
    """Draw the sliders of the table and the two buttons that set them, and return its sizes."""
    c = lab.config
    length, width, own_base = min(c.max_len, LENGTHS[-1]), min(c.d_model, WIDTHS[-1]), _text(c.position_base)
    model = {"pos_length": length, "pos_width": width, "pos_base": own_base}
    _slider("pos_length", _("Number of positions"), LENGTHS, length)
    _slider("pos_width", _("d_model of this table"), WIDTHS, width)
    if view("pos_width") != c.d_model:  # the sidebar also has a slider called d_model
        st.caption(_("The model's d_model is {d_model:,}.", d_model=c.d_model))
    base = view_widget(st.select_slider, "pos_base", _("Base"), options=sorted({*BASES, own_base}, key=float))
    st.button(_("As in the model"), key="pos_model", on_click=set_view, kwargs=model, width="stretch",
              help=_("Takes max_len, d_model and the position base from the model in the sidebar."))
    st.button(_("As in document 001"), key="pos_001", on_click=set_view, kwargs=PLOT_OF_001, width="stretch",
              help=_("{called} is one of the five texts under Documents. Its plot has d_model 20, 100 positions and the dimensions "
                     "4 to 7.", called=DOCUMENTS["001"].called))
    return Table(view("pos_length"), view("pos_width"), float(base))


def _text(base: float) -> str:
    return f"{base:.10g}"


def _slider(name: str, label: str, stops: Sequence[int], own: int) -> None:
    """Draw a slider over `stops`, the model's own value and the current one."""
    view_widget(st.select_slider, name, label, options=sorted({*stops, own, view(name)}))


# ---------------------------------------------------------------- waves


def _waves(lab: Lab) -> None:
    """Draw chosen dimensions of the table as curves, and the formula at one position."""
    look(_("**Read all curves at the vertical line:** together, their values tell this position from every other."))
    main, rail = beside()
    with rail:
        t = _table(lab)
        at = bounded(st.slider, "pos_at", _("Position in the formula"), t.length - 1)
        dims = view_widget(st.multiselect, "pos_dims", _("Dimensions"), options=range(t.d_model), max_selections=MOST_CURVES)
    dims = dims[:MOST_CURVES]
    if not dims:
        with main:
            st.info(_("You have chosen no dimension: add one from 0 to {d_model} on the right.", d_model=t.d_model - 1))
        return
    terms = [term(at, dim, t.d_model, t.base) for dim in dims]
    with main:
        chart(waves_figure(columns(dims, t.length, t.d_model, t.base), dims, terms, dark()), "pos_waves", fill=True,
              code=lambda: snippets.waves(t.length, t.d_model, t.base, dims, at))
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown(f"$$\n{term_formula(terms, t.d_model, t.base)}\n$$")
    with right:
        lengths = dict.fromkeys((x.dim // 2, long(x.wavelength)) for x in terms)
        st.markdown(_("Wavelength:") + " "
                    + ", ".join(_("dims {i} and {i_2}: **{x}** positions", i=2 * i, i_2=2 * i + 1, x=x) for i, x in lengths)
                    + _(". Both dimensions of a pair share one wavelength; the next pair turns more slowly."))


# ---------------------------------------------------------------- the matrix


def _matrix(lab: Lab) -> None:
    """Draw the whole table as a heatmap, a window with every number, and the wavelengths."""
    look(_("**Each row is a position; each pair of columns has one frequency:** fast ones on the left, slow ones on the right."))
    main, rail = beside()
    with rail:
        t = _table(lab)
    lengths = wavelengths(t.d_model, t.base).tolist()
    overview = table_panel(waves(t.length, t.d_model, t.base), lengths)
    has_window = t.length > 100 or t.d_model > 64

    def picked(pick: Pick) -> None:
        """Move the window to the clicked cell."""
        set_view(pos_row=min(pick.row, max(0, t.length - WINDOW[0])), pos_col=min(pick.col, max(0, t.d_model - WINDOW[1])))

    with main:
        pick = picking([overview], "pos_table", on_pick=picked, fill=True,
                       code=lambda: snippets.table(t.length, t.d_model, t.base))
    with rail:
        if pick is None:
            st.caption(_("Click a cell to move the window below to it.") if has_window
                       else _("Click a cell to read its formula below the matrix."))
    if pick is not None and not has_window:
        st.text(_cell(t, pick.row, pick.col))
    st.markdown(_turns(lengths))
    if overview.note:
        st.caption(_("The legend says by how much this overview is pooled: each drawn cell shows the value with the largest "
                     "magnitude in its block, and the pointer reads its position. The window below is not pooled."))
    if has_window:
        _window(t)
    n = _tokens(lab)
    span, of = (t.length - 1, _("{length:,} positions", length=t.length))
    if n:
        span, of = n - 1, _("your {tokens}", tokens=plural("{n:,} token", "{n:,} tokens", n))
    curves(wavelengths_curves(np.array(lengths), t.base, span, of), "pos_wavelengths",
           code=lambda: snippets.wavelengths(t.d_model, t.base, span, of))
    st.caption(_("Pairs of columns whose wavelength is longer than the sentence do not repeat within it. Fast pairs do, but they "
                 "differ more between neighbouring words."))


def _turns(lengths: Sequence[float]) -> str:
    """Return after how many positions the first and the last columns of the table repeat."""
    if len(lengths) < 3:
        return _("Every column repeats after {length} positions.", length=long(lengths[0]))
    return (_("The first columns repeat after {length} positions, the last ones after {length_2}: like the digits of a counter "
              "whose ones digit is on the left.", length=long(lengths[0]), length_2=long(lengths[-1])))


@st.fragment
def _window(t: Table) -> None:
    """Draw a few rows and columns with every number. A fragment: moving the window does not redraw the large table."""
    rows, cols = min(WINDOW[0], t.length), min(WINDOW[1], t.d_model)
    with st.container(horizontal=True):
        row = bounded(st.number_input, "pos_row", _("First position in the window"), t.length - rows)
        col = bounded(st.number_input, "pos_col", _("First dimension in the window"), t.d_model - cols)
    cells = waves(rows, t.d_model, t.base, start=row)[:, col : col + cols]
    panel = window_panel(cells, row, col, wavelengths(t.d_model, t.base).tolist())
    pick = picking([panel], "pos_window", code=lambda: snippets.window(t.d_model, t.base, row, rows, col, cols))
    if pick is not None:
        st.text(_cell(t, row + pick.row, col + pick.col))
    write_link()


def _cell(t: Table, position: int, dim: int) -> str:
    """Return one number of the table with its formula, to twelve digits."""
    x = term(position, dim, t.d_model, t.base)
    return f"PE({position}, {dim}) = {x.function}({position} / {_text(t.base)}^({x.exponent}/{t.d_model})) = {x.value:.12g}"


def _tokens(lab: Lab) -> int:
    """Return the number of tokens of the longer typed side; 0 if there is no run."""
    if lab.capture is None:
        return 0
    return max(lab.capture[f"ids.{s}"].shape[1] for s in ("source", "target") if f"ids.{s}" in lab.capture)


# ---------------------------------------------------------------- clock hands


def _clock(lab: Lab) -> None:
    """Draw each (sin, cos) pair as a clock hand, and the rotation matrix of a shift by k."""
    look(_("**Each (sin, cos) pair is a clock hand.** Drag the position: the angle between the two hands of a clock stays the "
           "same."))
    main, rail = beside()
    with rail:
        t = _table(lab)
        k = view_widget(st.slider, "pos_k", _("Shift k"), help=_("The dashed hand is this many positions later."))
    if t.d_model < 2:
        with main:
            st.info(_("With d_model 1 there is one sine and no cosine, so there is no hand to draw: choose 2 or more."))
        return
    with main:
        at = inside("pos_at", _("Position"), t.length - 1)
        clock(wave_clocks(t.length, t.d_model, t.base, k), at, key="pos_clock", on_move=lambda p: set_view(pos_at=p), fill=True,
              code=lambda: snippets.clocks(t.length, t.d_model, t.base, k, at))
    lengths = wavelengths(t.d_model, t.base)
    last = _(", the last one in {length}", length=long(float(lengths[2 * (t.d_model // 2) - 1]))) if t.d_model > 3 else ""
    st.markdown(_("The first hand turns once in {length} positions{last}.", length=long(float(lengths[0])), last=last))
    st.header(_("A shift by {k} is a rotation by $M_{{{k}}}$", k=k), anchor=False)
    st.markdown(_shift_formula(t, k))
    residual = rounded(shift_residual(k, t.length, t.d_model, t.base), 2)
    single = t.d_model - 1
    odd = "" if paired(t.d_model) > single else " " + _("Dimension {single} has no cosine, so no matrix shifts it.", single=single)
    st.markdown(_(r"Largest $|PE(p+{k}) - M_{{{k}}}\,PE(p)|$ over all {length:,} positions: **{residual}**, which is rounding. "
                  "One matrix, the same for every $p$, shifts by {k} positions, so a head can learn it.{odd}",
                  k=k, length=t.length, residual=residual, odd=odd))
    picking([shift_panel(shift_matrix(k, t.d_model, t.base), k, t.d_model)], "pos_shift",
            code=lambda: snippets.shift(k, t.d_model, t.base))


def _shift_formula(t: Table, k: int) -> str:
    """Return the formula of the rotation of the first chosen pair of dimensions, with its numbers."""
    pair = next((dim // 2 for dim in view("pos_dims") if dim // 2 < t.d_model // 2), 0)
    m = shift_matrix(k, t.d_model, t.base)[2 * pair : 2 * pair + 2, 2 * pair : 2 * pair + 2]
    block = r" \\ ".join(f"{a:.4f} & {b:.4f}" for a, b in m)
    return (
        rf"$$\begin{{pmatrix}} PE(p+{k},\,{2 * pair}) \\ PE(p+{k},\,{2 * pair + 1}) \end{{pmatrix}} = "
        rf"\begin{{pmatrix}} {block} \end{{pmatrix}} "
        rf"\begin{{pmatrix}} PE(p,\,{2 * pair}) \\ PE(p,\,{2 * pair + 1}) \end{{pmatrix}}$$"
    )


# ---------------------------------------------------------------- similarity


def _similarity(lab: Lab) -> None:
    """Draw the dot products of all pairs of positions, and their profile by distance."""
    d_model, length = view("pos_width"), view("pos_length")
    is_even = d_model % 2 == 0
    if is_even or length == 1:
        look(_("**Every diagonal has one colour:** the similarity of two positions depends only on the distance between them."))
    else:
        look(_("**The colour changes along the diagonals:** d_model {d_model} is odd, so its last dimension is a sine without a "
               "cosine.", d_model=d_model))
    main, rail = beside()
    with rail:
        t = _table(lab)
        n = min(MOST_SQUARE, t.length)
        first = bounded(st.number_input, "pos_row", _("First position in the matrix"), t.length - n)
    range_title = _("{n:,} positions", n=n)
    if n < t.length:
        range_title = _("positions {first:,} to {first_2:,} of {length:,}", first=first, first_2=first + n - 1, length=t.length)
    with main:
        square = similarity(waves(n, t.d_model, t.base, start=first))
        title = f"⟨PE(p), PE(q)⟩, {range_title}"
        picking([matrix_panel(title, square, first)], "pos_similarity", fill=True,
                code=lambda: snippets.similarity(title, n, first, t.d_model, t.base))
    chosen_positions = list(dict.fromkeys((0, t.length // 2, t.length - 1)))
    found = profiles(chosen_positions, t.length, t.d_model, t.base)
    curves(profile_curves(found, t.d_model), "pos_profile",
           code=lambda: snippets.profile(chosen_positions, t.length, t.d_model, t.base))
    worst = rounded(max(p.residual for p in found), 2)
    pairs = t.d_model // 2
    terms = [rf"\sum_{{i=0}}^{{{pairs - 1}}} \cos\omega_i(p-q)"] * (pairs > 0)
    terms += [rf"\sin\omega_{{{pairs}}}p\,\sin\omega_{{{pairs}}}q"] * (not is_even)
    formula = rf"$$\langle PE(p), PE(q)\rangle = {' + '.join(terms)}$$"
    if is_even:
        st.markdown(_("{formula}\n\nThe largest difference between the measured points and the closed form is **{worst}**, "
                      "which is rounding. At distance 0 it is $d/2$ = {expected:g}, the squared length of every row.",
                      formula=formula, worst=worst, expected=found[0].expected[0]))
    else:
        st.markdown(_("{formula}\n\nThe term of dimension {d_model} depends on the two positions themselves. The points "
                      "differ from the closed form of the {whole_pairs} by up to **{worst}**.",
                      formula=formula, d_model=t.d_model - 1,
                      whole_pairs=plural("{n:,} whole pair", "{n:,} whole pairs", pairs), worst=worst))


SECTIONS: dict[str, Callable[[Lab], None]] = {
    "waves": _waves, "matrix": _matrix, "clock": _clock, "similarity": _similarity, "sentence": sentence,
    "schemes": all_schemes, "experiments": experiments,
}
