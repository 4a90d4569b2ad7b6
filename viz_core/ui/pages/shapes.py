"""Shapes: the ledger of every tensor, the effect of a change of size, and the cost of the model."""

import csv
import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, Literal

import streamlit as st

from viz_core.analysis.counts import Parameter
from viz_core.analysis.shapes import (
    Amount,
    Growth,
    Line,
    by_block,
    changed,
    gone,
    growth,
    layer_costs,
    ledger,
    statistics,
    total,
    with_statistics,
)
from viz_core.config import TransformerConfig
from viz_core.figures.shapes import PART_TITLES, block_chart, growth_chart
from viz_core.limits import megabytes
from viz_core.presets import DOCUMENTS
from viz_core.stages import LIBRARIES, block_title
from viz_core.ui.components.table import Cell, Filter, Head, Kind, Mark, Row, as_text, ledger_table
from viz_core.ui.controls import chart
from viz_core.ui.escape import code, few
from viz_core.ui.shell import (
    Lab,
    change,
    current,
    lab_of,
    open_stage,
    present,
    set_view,
    view,
    view_widget,
    write_link,
)
from viz_core.ui.shell.setup import CONTROLS, Setup, changes, editable, packed_size, unpacked_size, with_field, with_view
from viz_core.ui.shell.state import ADOPTED, SETTLE, SETUP
from viz_core.weights.card import UNTRAINED

Size = tuple[TransformerConfig, int, int, int]  # the input of a ledger: config, sentences, source and target tokens

SEEN = "shapes_seen"  # in the session: the last size shown, its text in a link, and the size it was compared with
ALL = "all"
AMOUNTS: dict[Amount, str] = {"parameters": "parameters", "flops": "FLOPs", "nbytes": "bytes"}  # amounts that are summed
COLUMN_TITLES = {  # of the choices of columns
    "symbolic_shape": "symbolic shape", "dtype": "dtype", "parameters": "parameters", "flops": "FLOPs", "bytes": "bytes",
    "statistics": "statistics", **LIBRARIES, "sequence_first": "sequence-first",
}
LENGTHS = tuple(2**i for i in range(18))  # tokens: from one to 131,072, more than the context of any model here
MOST_NAMED = 4  # changed settings that are named one by one


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the ledger: heading, kind, minimum width, cell, and the option that shows it."""

    label: str
    kind: Kind
    width: int
    cell: Callable[[Line], Cell]
    choice: str = ""  # "" is always shown, ALL only in the CSV
    measure: Callable[[Line], object] | None = None  # the value that a change of size may change


def _sizes(shape: Sequence[object]) -> str:
    return " × ".join(map(str, shape)) or "a single number"


def _made_by(line: Line) -> str:
    """ "W^Q w_q.weight 32 × 32, b^Q w_q.bias 32": symbol, torch's name below the module, shape."""

    def one(p: Parameter) -> str:
        name = p.name.removeprefix(f"{line.stage.prefix}." if line.stage.prefix and not p.tied else "")
        return f"{p.symbol} {name} {_sizes(p.shape)}" + (" (tied: counted there)" if p.tied else "")

    return ", ".join(map(one, line.made_by)) or "–"


def _sequence_first(line: Line) -> str:
    """ "T B D = 6 × 1 × 32", the layout of PositionalEncoding (001)."""
    axes = line.sequence_first
    if axes is None:
        return "–"
    length = dict(zip(line.stage.axes, line.shape, strict=True))
    return f"{' '.join(axes)} = {_sizes([length[a] for a in axes])}"


def _statistic(name: str) -> Callable[[Line], Cell]:
    return lambda line: None if line.statistics is None else getattr(line.statistics, name)


def _alias(library: str) -> Callable[[Line], Cell]:
    return lambda line: line.stage.aliases[library]


COLUMNS = (
    Column("name", "name", 200, lambda line: line.name),
    Column("axes", "axes", 118, lambda line: " ".join(line.stage.axes) or "–", measure=lambda line: line.stage.axes),
    Column("shape", "shape", 140, lambda line: _sizes(line.shape), measure=lambda line: line.shape),
    Column("meaning", "text", 180, lambda line: line.stage.meaning),
    Column("block", "text", 140, lambda line: block_title(line.stage.block), ALL),
    Column("part", "text", 110, lambda line: PART_TITLES[line.part], ALL),
    Column("symbolic shape", "text", 210, lambda line: _sizes(line.symbolic), "symbolic_shape"),
    Column("cells", "number", 110, lambda line: math.prod(line.shape), "symbolic_shape", lambda line: line.shape),
    Column("dtype", "text", 80, lambda line: line.stage.dtype, "dtype"),
    Column("parameters", "number", 110, lambda line: line.parameters, "parameters", lambda line: line.parameters),
    Column("parameter tensors", "text", 240, _made_by, "parameters", lambda line: line.made_by),
    Column("FLOPs", "number", 130, lambda line: line.flops, "flops", lambda line: line.flops),
    Column("bytes", "number", 110, lambda line: line.nbytes, "bytes", lambda line: line.nbytes),
    *(Column(name, "number", 100, _statistic(name), "statistics") for name in ("min", "mean", "max", "std")),
    *(Column(label, "number", 90, _statistic(name), ALL)
      for label, name in (("masked", "n_masked"), ("infinite", "n_infinite"), ("NaN", "n_nan"))),
    *(Column(title, "text", 230, _alias(library), library) for library, title in LIBRARIES.items()),
    Column(f"sequence-first ({DOCUMENTS['001'].called})", "axes", 210, _sequence_first, "sequence_first"),
)


# ---------------------------------------------------------------- the size of a run


def size_of(lab: Lab) -> Size | None:
    """The size that the ledger is about, even if the run is too large. None if there is no text."""
    if lab.batch is None:
        return None
    shapes = {side: ids.shape for side, ids in lab.batch.ids.items()}
    first = next(iter(shapes.values()))
    return lab.config, first[0], shapes.get("source", (0, 0))[1], shapes.get("target", (0, 0))[1]


def remember() -> None:
    """Keep the size that is shown. A later change is marked relative to it, and its link holds the marks."""
    st.session_state.setdefault(SETTLE, {})["shapes"] = settle
    settle()


def settle() -> None:
    """Mark a change of size since the last time; but a link has its own marks."""
    setup = current()
    if (size := size_of(lab_of(setup))) is None:
        return
    last, link, marked = st.session_state.get(SEEN, (size, "", ""))
    if size != last and setup.view("shapes_before") == marked and not st.session_state[ADOPTED]:
        st.session_state[SETUP] = setup = with_view(setup, shapes_before=link)
    st.session_state[SEEN] = size, packed_size(setup, size[1:]), setup.view("shapes_before")


def marked_against() -> tuple[Size | None, str]:
    """The size to compare with, or the problem of the link's size. None and "" if nothing is marked."""
    try:
        return unpacked_size(view("shapes_before")) if view("shapes_before") else None, ""
    except ValueError as error:
        return None, str(error)


# ---------------------------------------------------------------- the ledger


@st.fragment
def table() -> None:
    """The ledger with its filters. It is a fragment: a change reruns only this."""
    lab = present()
    size = size_of(lab)
    if size is None:
        return
    lines, (before, _) = ledger(*size), marked_against()
    chosen = view("shapes_columns")
    text = _planned(size, before, chosen)
    if "statistics" in chosen:
        text = table_text(_measured(lab, lines), marks_of(before, lines), chosen)
        if lab.capture is None:
            st.info("Statistics need a run, and this one is too large to run.")
    ledger_table(
        text, _filter(lines), key="shapes_table", only_marked=before is not None and view("shapes_marked"),
        on_filter=partial(_keep_filter, lines),
        on_open=open_stage,
    )
    view_widget(st.pills, "shapes_columns", "More columns", selection_mode="multi", format_func=COLUMN_TITLES.get)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.download_button(
            "Download the full table (CSV)", partial(csv_file, lab.setup), file_name(lab.setup), "text/csv", key="shapes_csv",
            icon=":material/download:", on_click="ignore", help="All stages with all columns.",
        )
        view_widget(st.toggle, "shapes_marked", "Show only changes", disabled=before is None)
    write_link()


def _filter(lines: Sequence[Line]) -> Filter:
    """The link's filter, by titles. If this model lacks its block or part, a note says so and all are shown."""
    blocks, parts = _titles(lines)
    block, part = view("shapes_block"), view("shapes_part")
    if block != ALL and block not in blocks:
        st.info(f"This model has no block {code(block)}, so all are shown.")
    if part != ALL and part not in parts:
        st.info(f"This model has no part {code(part)}, so all are shown.")
    return Filter(view("shapes_filter"), blocks.get(block, ALL), parts.get(part, ALL))


def _keep_filter(lines: Sequence[Line], chosen: Filter) -> None:
    """Keep the visitor's filter: the browser knows titles, the link holds identifiers."""
    blocks, parts = ({title: name for name, title in titles.items()} for titles in _titles(lines))
    set_view(shapes_filter=chosen.text, shapes_block=blocks.get(chosen.block, ALL), shapes_part=parts.get(chosen.part, ALL))


def _titles(lines: Sequence[Line]) -> tuple[dict[str, str], dict[str, str]]:
    """The blocks and the parts of these lines, each with its title."""
    return {n.stage.block: block_title(n.stage.block) for n in lines}, {n.part: PART_TITLES[n.part] for n in lines}


@lru_cache(maxsize=8)
def _planned(size: Size, before: Size | None, chosen: tuple[str, ...]) -> str:
    """The table for the browser, without the numbers of a run."""
    return table_text(ledger(*size), marks_of(before, ledger(*size)), chosen)


def marks_of(before: Size | None, lines: Sequence[Line]) -> dict[str, Line | None]:
    """The changed lines, with their previous values."""
    return {} if before is None else changed(ledger(*before), lines)


def table_text(lines: Sequence[Line], marks: Mapping[str, Line | None], chosen: Sequence[str]) -> str:
    """The first four columns and the chosen ones of every line, with changes marked."""
    columns = [c for c in COLUMNS if not c.choice or c.choice in chosen]
    rows = [_row(line, columns, line.name in marks, marks.get(line.name)) for line in lines]
    return as_text([Head(c.label, c.kind, c.width) for c in columns], rows)


def _row(line: Line, columns: Sequence[Column], marked: bool, was: Line | None) -> Row:
    cells = [_drawn(c.cell(line)) for c in columns]
    old: dict[int, Cell] = {}
    if was is not None:
        old = {i: _drawn(c.cell(was)) for i, c in enumerate(columns) if c.measure and c.measure(was) != c.measure(line)}
    mark: Mark = "" if not marked else "new" if was is None else "changed" if was.shape != line.shape else "cost"
    return Row(cells, block_title(line.stage.block), PART_TITLES[line.part], mark, old, _note(line, was) if marked else "")


def _note(line: Line, was: Line | None) -> str:
    """The meaning of a mark, even if the changed column is not shown."""
    if was is None:
        return "This stage is new."
    amounts = (
        ("shape", _sizes(was.shape), _sizes(line.shape)),
        *((name, f"{getattr(was, key):,}", f"{getattr(line, key):,}") for key, name in AMOUNTS.items()),
    )
    return "\n".join(f"{name} {a} → {b}" for name, a, b in amounts if a != b)


def _drawn(cell: Cell) -> Cell:
    """Numbers of a run with six digits; None is shown as a dash."""
    if isinstance(cell, float):
        return f"{cell:.6g}" if math.isfinite(cell) else None
    return cell


def _measured(lab: Lab, lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """The lines with the statistics of the run, if there is one."""
    if lab.capture is None or lab.batch is None:
        return lines
    from viz_core.ui.shell.cache import cached_result, run_key

    capture, s = lab.capture, lab.setup
    key = run_key(s.weights, s.config, lab.batch, s.seed, s.device)
    return with_statistics(lines, cached_result("ledger statistics", key, lambda: statistics(capture)))


def csv_file(setup: Setup) -> bytes:
    """The ledger of a setup with the statistics of its run. It is requested outside of any session and kept as long as one."""
    lab = lab_of(setup)
    size = size_of(lab)
    if size is None:
        raise ValueError("This setup has no text: type a sentence.")
    return as_csv(_measured(lab, ledger(*size)))


def as_csv(lines: Sequence[Line]) -> bytes:
    """Every column of every line, with the byte order mark that tells a spreadsheet UTF-8."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([c.label for c in COLUMNS])
    writer.writerows([c.cell(line) for c in COLUMNS] for line in lines)
    return text.getvalue().encode("utf-8-sig")


def file_name(setup: Setup) -> str:
    """ "shapes_000_qk_dim=8.csv": the model and the changed settings."""
    settings = changes(setup) | ({"seed": setup.seed} if setup.seed else {})
    base = setup.preset if setup.card is None else setup.weights
    parts = [base, *(f"{name}={value}" for name, value in settings.items())]
    return f"shapes_{re.sub(r'[^a-zA-Z0-9_=.+-]', '-', '_'.join(parts))[:120]}.csv"


# ---------------------------------------------------------------- changing a size


def changing(size: Size) -> None:
    """A button that changes one size, and the effects of the last change of size."""
    config, (before, problem) = size[0], marked_against()
    less = narrower(config)
    with st.container(horizontal=True, vertical_alignment="center"):
        trained = not editable(current(), "qk_dim")
        st.button(
            f"Try qk_dim {config.qk_width} → {less}", icon=":material/compress:", on_click=_narrow, args=(less,), key="shapes_try",
            disabled=less == config.qk_width,
            help="Makes queries and keys narrower and marks every change."
            + (" Trained weights fix all sizes, so the weights will be untrained." if trained else ""),
        )
        st.button("Clear the marks", icon=":material/ink_eraser:", on_click=set_view,
                  kwargs={"shapes_before": ""}, disabled=before is None, key="shapes_clear")
    if problem:
        written = f"shapes_before={view('shapes_before')}"
        st.warning(f"The link says {code(written)}, which {problem}; nothing is marked.")
    if before is not None:
        st.markdown(difference(before, size))


def narrower(config: TransformerConfig) -> int:
    """A quarter of qk_dim that still splits into the heads, and into pairs if RoPE rotates them."""
    least = 2 if config.position == "rope" else 1
    return config.n_heads * max(least, config.d_k // 4 // least * least)


def _narrow(qk_dim: int) -> None:
    setup = current()
    if not editable(setup, "qk_dim"):
        setup = replace(setup, weights=UNTRAINED)
    new, _ = with_field(setup, "qk_dim", qk_dim)
    change(weights=new.weights, config=new.config)


def difference(before: Size, after: Size) -> str:
    """The changed settings and their effect on tensors, parameters, FLOPs and bytes."""
    old, new = ledger(*before), ledger(*after)
    marks, lost = changed(old, new), gone(old, new)
    shapes = {line.name: line.shape for line in new}
    reshaped = sum(was is not None and was.shape != shapes[name] for name, was in marks.items())
    fresh = sum(was is None for was in marks.values())
    counts = [f"{reshaped} of {len(new)} tensors have a different shape"]
    same_shape = len(marks) - reshaped - fresh
    others = ((same_shape, "have the same shape but a different cost"), (fresh, "are new"), (len(lost), "are removed"))
    counts += [f"{n} {what}" for n, what in others if n]
    sums = [
        f"{name} {total(old, amount):,} → {total(new, amount):,}"
        for amount, name in AMOUNTS.items()
        if total(old, amount) != total(new, amount)
    ]
    settings = _settings(before, after)
    return f"**{few(settings, MOST_NAMED) or 'No size changed'}**: ".replace("_", r"\_") + "; ".join([*counts, *sums]) + "."


def _settings(before: Size, after: Size) -> list[str]:
    """ "qk_dim 32 → 8": each setting that differs, lengths last."""
    old, new = before[0], after[0]
    found = [
        f"{c.label} {c.shown(c.value(old))} → {c.shown(c.value(new))}"
        for c in CONTROLS
        if c.value(old) != c.value(new) and (c.when(old) or c.when(new))
    ]
    lengths = zip(("sentences", "source tokens", "target tokens"), before[1:], after[1:], strict=True)
    return found + [f"{name} {a} → {b}" for name, a, b in lengths if a != b]


# ---------------------------------------------------------------- totals and charts


def totals(lab: Lab, size: Size) -> None:
    """A sentence with the parameters, bytes and FLOPs of the run, and whether the estimate was right."""
    lines = ledger(*size)
    n_bytes, recorded = total(lines, "nbytes"), None if lab.capture is None else lab.capture.nbytes
    if recorded is None:
        bytes_ = f"would record **{n_bytes:,} bytes** ({megabytes(n_bytes)}), so it is not run"
    else:
        match = "exactly as estimated before it ran" if recorded == n_bytes else f"where {n_bytes:,} were estimated"
        bytes_ = f"records **{recorded:,} bytes** ({megabytes(recorded)}), {match}"
    st.markdown(
        f"The model has **{total(lines, 'parameters'):,} parameters**. This run has **{len(lines)} tensors** and {bytes_}. "
        f"Its matrix products take **{total(lines, 'flops'):,} FLOPs**: 2·m·n·k for a product of m × k and k × n, a multiplication "
        "and an addition for each term. Elementwise operations (softmax, norms, sums) count as 0."
    )


def block_charts(size: Size | None, config: TransformerConfig, dark: bool) -> None:
    """Parameters by block and, if there is a text, FLOPs by block."""
    sized = size or (config, 1, 1, 1)
    left, right = st.columns(2, gap="medium")
    with left:
        chart(_by_block(sized, "parameters", "Parameters by block", dark), "shapes_parameters")
        st.caption("Look at the cost of the vocabulary: an embedding has a row for every word, even if you type only a few.")
    if size is not None:
        with right:
            chart(_by_block(sized, "flops", "FLOPs by block", dark), "shapes_flops")
            st.caption(
                "An embedding is a lookup and costs no product. “Pairs of tokens” stands for QKᵀ and for weights times V."
            )


# The charts depend only on sizes, so a new sentence of the same length gives the same ones.


@lru_cache(maxsize=64)
def _by_block(size: Size, amount: Amount, heading: str, dark: bool) -> Any:
    return block_chart(by_block(ledger(*size), amount), heading, AMOUNTS[amount], dark)


@lru_cache(maxsize=16)
def _grows(config: TransformerConfig, amount: Literal["flops", "nbytes"]) -> Growth:
    return growth(config, LENGTHS, amount)


@lru_cache(maxsize=64)
def _growth(config: TransformerConfig, amount: Literal["flops", "nbytes"], heading: str, here: int | None, dark: bool) -> Any:
    return growth_chart(_grows(config, amount), heading, "FLOPs" if amount == "flops" else "bytes", here, dark)


def growth_charts(size: Size | None, config: TransformerConfig, dark: bool) -> None:
    """Growth of the layers' FLOPs and recorded bytes with the number of tokens, compared with an RNN."""
    here = None if size is None else max(size[2:])
    st.subheader("The cost of longer texts", anchor=False)
    left, right = st.columns(2, gap="medium")
    with left:
        chart(_growth(config, "flops", "FLOPs against tokens", here, dark), "shapes_growth_flops")
        st.caption(crossing_words(_grows(config, "flops")))
    with right:
        chart(_growth(config, "nbytes", "Recorded bytes against tokens", here, dark), "shapes_growth_bytes")
        st.caption("Every head keeps an N × N matrix for each step from scores to weights; a recurrent network keeps one state "
                   "per token.")
    st.caption("One sentence of N tokens per side, layers only: the embeddings and the output grow only linearly with N.")
    if here is not None:
        st.markdown(against_rnn(here, config.d_model))


def crossing_words(work: Growth) -> str:
    """The number of tokens above which pairs of tokens cost more than everything else."""
    equal, (least, *_, most) = work.crossing[0], work.lengths
    if least <= equal <= most:
        return f"Look at the circle: above N = {equal:,.0f}, pairs of tokens cost more than everything else."
    if math.isnan(equal):
        return "This model has no layers, so it has no cost that grows."
    if equal > most:
        return f"Pairs of tokens cost more than everything else only above {most:,} tokens, outside this chart."
    return "Pairs of tokens cost more than everything else at every length in this chart."


def against_rnn(n: int, d: int) -> str:
    """Table 1 of Vaswani et al. 2017 for this run, as Markdown."""
    one, other = layer_costs(n, d)
    return (
        f"One layer on N = {n:,} tokens of width d = {d:,} (table 1 of Vaswani et al. 2017, constants left out):\n\n| | "
        f"self-attention | recurrent |\n|---|---|---|\n| operations | {one.formula} = {one.operations:,} | {other.formula} = "
        f"{other.operations:,} |\n| sequential steps | {one.sequential:,} | {other.sequential:,} |\n| longest path between two "
        f"tokens | {one.path:,} | {other.path:,} |"
    )
