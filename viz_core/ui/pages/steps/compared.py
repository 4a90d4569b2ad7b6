"""A stage of two runs in the walk: A, B or A − B on the places of both, and what a picked cell says there."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from viz_core.capture import Capture
from viz_core.figures.compared_steps import cell_of, difference_panels, place_of, run_panels
from viz_core.figures.lookup import Lookup, lookup
from viz_core.figures.panels import Panel
from viz_core.figures.steps import original_index, stage_panels
from viz_core.formats import brief
from viz_core.language import translate as _
from viz_core.stages import Stage
from viz_core.ui.components.canvas import Pick
from viz_core.ui.escape import code
from viz_core.ui.pages.steps.cell_words import Names
from viz_core.ui.pages.steps.inspector import inspect_cell
from viz_core.ui.shell import Lab, TwoRuns

# What stands below A − B of what cannot be subtracted.
NOTES = {
    "ids": _("Ids are names, not amounts, so they are not subtracted: the last matrix is 1 where A and B differ."),
    "mask": _("A mask says yes or no, so masks are not subtracted: the last matrix is 1 where A and B differ."),
}
LOOKS = {"stage": _("This stage"), "parting": _("Where do they part?")}


@dataclass(frozen=True, slots=True)
class Compared:
    """One stage that both runs have, as the walk shows it."""

    two: TwoRuns
    name: str
    head: int

    @property
    def run(self) -> Lab:
        """The run that words and arithmetic are about: A where that is shown, else B."""
        return self.two.a if self.two.shown == "a" else self.two.b

    @property
    def capture(self) -> Capture:
        assert self.run.capture is not None
        return self.run.capture

    @property
    def stage(self) -> Stage:
        return self.capture.stage(self.name)

    @property
    def item(self) -> int:
        return self.two.both.item_a if self.two.shown == "a" else self.two.both.item_b

    @property
    def as_words(self) -> bool:
        """Whether the ids of one run are drawn as the rows of its vocabulary, on the places of that run alone."""
        return self.stage.kind == "ids" and self.two.shown != "difference"

    def panels(self) -> list[Panel]:
        """The matrices of the stage in the run that is shown; or A, B and A − B."""
        two, both = self.two, self.two.both
        if self.as_words:
            return stage_panels(self.capture, self.name, self.item, self.head, self.run.named(self.item))
        named = (two.a.named(both.item_a), two.b.named(both.item_b))
        if two.shown == "difference":
            return difference_panels(both, self.name, self.head, named)
        return run_panels(both, self.name, 0 if two.shown == "a" else 1, self.head, named)

    def lookup(self) -> Lookup | None:
        """The vocabulary beside the ids of one run."""
        return lookup(self.capture, self.name, self.item, self.run.named(self.item)) if self.as_words else None

    def lead(self, cell: Pick | None, own: Sequence[Panel], drawn: Sequence[Panel]) -> Pick | None:
        """The cell that the tour picks in B's own matrices, in the last of those that are drawn."""
        if cell is None or self.as_words:
            return None if self.two.shown == "a" else cell
        return Pick(len(drawn) - 1, *place_of(self.two.both, self.name, own[-1], cell.row, cell.col, 1))

    def token(self, token: int) -> int | None:
        """The token of the output in the run that is shown that stands for one of B's; None where it has none."""
        if self.two.shown != "a":
            return token
        return next((i for i, j in self.two.both.places[self.capture.config.output_side] if j == token), None)

    @property
    def beside(self) -> Capture | None:
        """A, where both runs are shown at once."""
        return self.two.a.capture if self.two.shown == "difference" else None

    def hint(self, hint: str) -> str:
        """The line below the picture, with what A − B is where there is nothing to subtract."""
        note = NOTES.get(self.stage.kind, "") if self.two.shown == "difference" else ""
        return f"{note} {hint}".strip()

    def inspect(self, pick: Pick, drawn: Sequence[Panel]) -> None:
        """The arithmetic of a picked cell in its run; or a, b and a − b."""
        if self.two.shown == "difference":
            st.html(f'<p class="walk-apart">{self._apart(pick, drawn[-1])}</p>')
            return
        inputs = [i for i in self.stage.inputs if i in self.capture]
        name, which = [*inputs, self.name][pick.panel], 0 if self.two.shown == "a" else 1
        cell = (pick.row, pick.col) if self.as_words else cell_of(self.two.both, name, drawn[pick.panel], pick.row, pick.col, which)
        if cell is None:
            st.html('<p class="walk-apart">'
                    + (_("A has no such token, so it has no number here.") if which == 0 else
                       _("B has no such token, so it has no number here.")) + "</p>")
            return
        inspect_cell(self.run, name, original_index(self.capture.stage(name), *cell, self.item, self.head))

    def _apart(self, pick: Pick, shown: Panel) -> str:
        """ "Token “tired” · feature 3: A − B = 0.12 − 0.45 = −0.33", as HTML."""
        a, b = (self._number(which, pick, shown) for which in (0, 1))
        if a is None or b is None:
            if (there := a or b) is None:
                return _("A and B each lack one of the two tokens of this cell.")
            where, value = there
            if a is None:
                return _("{where}: A has no such token, and B has {value}.", where=where, value=brief(value))
            return _("{where}: A has {value}, and B has no such token.", where=where, value=brief(value))
        where = a[0] or self.stage.leaf if a[0] == b[0] else f"A: {a[0]}; B: {b[0]}"
        if hidden := 0 if shown.absent is None else int(shown.absent[pick.row, pick.col]):
            return f"{where}: {shown.absent_names[hidden - 1].cell}."
        one, other = a[1], b[1]
        if self.stage.kind in NOTES:
            return _("{where}: A has {a}, and B has {b}: {said}.", where=where, a=brief(one), b=brief(other),
                     said=_("they agree") if one == other else _("they differ"))
        words = _("{where}: A − B = {a} − {b} = {difference}.", where=where, a=brief(one),
                  b=f"({brief(other)})" if other < 0 else brief(other), difference=brief(one - other))
        if one != other and shown.values[pick.row, pick.col] == 0:
            words += " " + _("Rounding alone can cause such a difference, so it is drawn as 0.")
        return words

    def _number(self, which: int, pick: Pick, shown: Panel) -> tuple[str, float] | None:
        """Where a cell stands in A (0) or B (1), as HTML, and its number; None where that run lacks its token."""
        both, run = self.two.both, (self.two.a, self.two.b)[which]
        cell, item = cell_of(both, self.name, shown, pick.row, pick.col, which), (both.item_a, both.item_b)[which]
        if cell is None or run.capture is None:
            return None
        stage = run.capture.stage(self.name)
        index = original_index(stage, *cell, item, self.head)
        names = Names(run.capture, run.named(item), own_words=run.setup.origin is not None)
        return names.place(stage, index), float(run.capture[self.name][index])


def compared_stage(two: TwoRuns | None, name: str) -> Compared | None:
    """The stage in both runs; None where there is no A, or no such stage of this width in it."""
    return None if two is None or name not in two.both.stages else Compared(two, name, two.b.setup.attn_head)


def why_alone(two: TwoRuns, name: str) -> str:
    """Why a stage of B is not compared with A's, as Markdown; "" where it is."""
    a, b = two.both.a, two.both.b
    if name in two.both.stages:
        return ""
    if name not in a:
        return _("A has no stage {name}, so B is shown.", name=code(name))
    one, other = a.stage(name), b.stage(name)
    sizes = [(axis, m, n) for axis, m, n in zip(one.axes, a[name].shape, b[name].shape, strict=False)
             if m != n and axis not in (*one.sides, "B")]
    if one.axes == other.axes and sizes:
        axis, m, n = sizes[0]
        return _("{name} has {axis} = {m} in A and {axis} = {n} in B, so there is no difference; B is shown.",
                 name=code(name), axis=axis, m=m, n=n)
    return _("{name} has other axes in A, so there is no difference; B is shown.", name=code(name))
