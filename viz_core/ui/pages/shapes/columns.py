"""The columns of the table of tensors."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from viz_core.analysis.counts import Parameter
from viz_core.analysis.shapes import Amount, Line
from viz_core.language import translate as _
from viz_core.presets import DOCUMENTS
from viz_core.stages import LIBRARIES
from viz_core.ui.components.table import Cell, ColumnKind

ALL = "all"
AMOUNTS: dict[Amount, str] = {"parameters": _("parameters"), "flops": "FLOPs", "nbytes": _("bytes")}  # summed over all tensors
COLUMN_TITLES = {  # optional groups of columns
    "symbolic_shape": _("symbolic shape"), "dtype": _("dtype"), "parameters": _("parameters"), "flops": "FLOPs",
                 "bytes": _("bytes"),
    "statistics": _("statistics"), **LIBRARIES, "sequence_first": _("sequence-first"),
}

SIZE_NAMES = {"vocabulary": _("vocabulary")}  # sizes of symbolic shapes; all others are names in code


@dataclass(frozen=True, slots=True)
class Column:
    """One column: heading, kind, minimum width in pixels, cell, and the group that shows it."""

    label: str
    kind: ColumnKind
    width: int
    cell: Callable[[Line], Cell]
    choice: str = ""  # "": always shown
    measure: Callable[[Line], object] | None = None  # the value whose change is marked


def sizes(shape: Sequence[object]) -> str:
    """Return a shape as "2 × 3 × 4"."""
    return " × ".join(map(str, shape)) or _("a single number")


def _made_by(line: Line) -> str:
    """Return symbol, torch's name below the module, and shape of each parameter: "W^Q w_q.weight 32 × 32, b^Q w_q.bias 32"."""

    def one(p: Parameter) -> str:
        name = p.name.removeprefix(f"{line.stage.prefix}." if line.stage.prefix and not p.tied else "")
        return f"{p.symbol} {name} {sizes(p.shape)}" + (" " + _("(tied: counted there)") if p.tied else "")

    return ", ".join(map(one, line.made_by)) or "–"


def _sequence_first(line: Line) -> str:
    """Return the sequence-first layout, as in PositionalEncoding of document 001: "T B D = 6 × 1 × 32"."""
    axes = line.sequence_first
    if axes is None:
        return "–"
    length = dict(zip(line.stage.axes, line.shape, strict=True))
    return f"{' '.join(axes)} = {sizes([length[a] for a in axes])}"


def _statistic(name: str) -> Callable[[Line], Cell]:
    return lambda line: None if line.statistics is None else getattr(line.statistics, name)


def _alias(library: str) -> Callable[[Line], Cell]:
    return lambda line: line.stage.aliases[library]


COLUMNS = (
    Column(_("name"), "name", 200, lambda line: line.name),
    Column(_("axes"), "axes", 118, lambda line: " ".join(line.stage.axes) or "–", measure=lambda line: line.stage.axes),
    Column(_("shape"), "shape", 140, lambda line: sizes(line.shape), measure=lambda line: line.shape),
    Column(_("meaning"), "text", 180, lambda line: line.stage.meaning),
    Column(_("symbolic shape"), "text", 210,
           lambda line: sizes([SIZE_NAMES.get(size, size) for size in line.symbolic]), "symbolic_shape"),
    Column(_("cells"), "number", 110, lambda line: math.prod(line.shape), "symbolic_shape", lambda line: line.shape),
    Column(_("dtype"), "text", 80, lambda line: line.stage.dtype, "dtype"),
    Column(_("parameters"), "number", 110, lambda line: line.parameters, "parameters", lambda line: line.parameters),
    Column(_("parameter tensors"), "text", 240, _made_by, "parameters", lambda line: line.made_by),
    Column("FLOPs", "number", 130, lambda line: line.flops, "flops", lambda line: line.flops),
    Column(_("bytes"), "number", 110, lambda line: line.nbytes, "bytes", lambda line: line.nbytes),
    *(Column(label, "number", 100, _statistic(name), "statistics")
      for label, name in (("min", "min"), (_("mean"), "mean"), ("max", "max"), ("std", "std"))),
    *(Column(title, "text", 230, _alias(library), library) for library, title in LIBRARIES.items()),
    Column(_("sequence-first, as in {document}", document=DOCUMENTS["001"]), "axes", 210, _sequence_first, "sequence_first"),
)
