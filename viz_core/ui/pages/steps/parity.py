"""The largest difference between this run and torch's own layers, as a line with a table below."""

import html
from typing import TYPE_CHECKING, Any

import streamlit as st

from viz_core.formats import rounded
from viz_core.language import plural
from viz_core.language import translate as _
from viz_core.ui.controls import data_table, numeric
from viz_core.ui.pages.steps import snippets
from viz_core.ui.shell import Lab, fold, present, touch, write_link

if TYPE_CHECKING:  # torch is imported where it is used: see `viz_core.ui.shell.runs.page_context`
    from viz_core.experiments.parity import Inexpressible, Parity

ON_REQUEST = 50_000_000  # parameters; a larger model is checked only on request, because it takes a second or more
LATER = 1.0  # seconds added to the cost, so that other jobs go first; the check is dropped if its visitor moves on
REQUESTED = "proof_asked"


def parity_line(lab: Lab) -> None:
    """Show the largest difference between this run and torch, and the differences per stage on request."""
    if lab.capture is not None:
        _line()  # no arguments: a session keeps those of a fragment, and with them the capture


@st.fragment
def _line() -> None:
    from viz_core.experiments.parity import check_parity
    from viz_core.ui.shell.cache import cached_result

    context = present()
    if context.capture is None or context.batch is None:
        return
    capture, batch, model, key = context.capture, context.batch, context.model(), context.key()
    if sum(p.numel() for p in model.parameters()) > ON_REQUEST and st.session_state.get(REQUESTED) != key:
        st.button(_("Check this run against torch"), icon=":material/rule:", key="proof_ask", on_click=_ask, args=(key,),
                  help=_("Computes the run once more with torch's own layers and the same weights."))
    else:
        seconds, nbytes = context.cost()
        _show(context, cached_result("proof", key, lambda: check_parity(model, batch, capture), seconds + LATER, nbytes))
    write_link()


def _ask(key: object) -> None:
    """Request the check of the run with this key; for callbacks."""
    touch()
    st.session_state[REQUESTED] = key


def _show(lab: Lab, parity: "Parity") -> None:
    """Show the line as a caption, or as a warning if torch disagrees, and the expander with the table."""
    if not parity.numbers:
        st.caption(_("There is nothing to compare with torch: every token here is padding."))
        return
    show = st.caption if parity.agrees else st.warning
    show(sentence(parity))
    more = fold("proof_more", _("Show differences per stage"))
    if more.open:
        with more:
            st.html(f'<p style="max-width:70ch">{html.escape(meaning(parity))}</p>')
            _differences(lab, parity)


def sentence(parity: "Parity") -> str:
    """Return the line, as Markdown."""
    against, difference, stages = _(" and ").join(parity.against), _number(parity.difference), _stages(parity)
    if parity.agrees:
        checked = (_("Checked on this machine: the largest difference from {against} with the same weights is {difference}, "
                     "over {stages}.", against=against, difference=difference, stages=stages))
    else:
        checked = (_("This run and torch disagree: the largest difference from {against} with the same weights is "
                     "{difference}, first at `{first}`, over {stages}.",
                     against=against, difference=difference, first=parity.first, stages=stages))
    return " ".join([checked, *_why_not(parity)])


def _stages(parity: "Parity") -> str:
    """Return how much was compared: "12 stages (41,216 numbers)"."""
    stages = plural("{n:,} stage", "{n:,} stages", len(parity.checks))
    if parity.both_nan:
        return _("{stages} ({numbers:,} numbers, {both_nan:,} of them NaN on both sides)",
                 stages=stages, numbers=parity.numbers, both_nan=parity.both_nan)
    return _("{stages} ({numbers:,} numbers)", stages=stages, numbers=parity.numbers)


WHY_NOT: "dict[Inexpressible, str]" = {
    "qk_width": _("torch's layers make queries d_model={d_model} wide, and here they are {qk_width} wide."),
    "rotated": _("torch's layers cannot rotate queries and keys, as RoPE does."),
    "unscaled": _("torch's layers always divide the scores by √d_k, which is switched off here."),
    "no_residual": _("torch's layers always have residual connections, which are switched off here."),
    "no_norm": _("torch's layers always have LayerNorms, and this model has none."),
    "no_layer": _("torch's layers need at least one layer in each stack, and here a stack has none."),
    "empty_row": _("torch's layers do not define the result of a query that may attend to no key, and this run has one."),
    "weak_fill": _("torch's layers give masked cells no weight at all, and here the fill {fill} leaves them some."),
}


def _why_not(parity: "Parity") -> list[str]:
    """Return a sentence for each reason why torch's layers cannot compute this run."""
    c = parity.config
    return [WHY_NOT[reason].format(d_model=c.d_model, qk_width=c.qk_width, fill=rounded(c.fill)) for reason in parity.why_not]


def _number(x: float) -> str:
    return _("NaN on one side only") if x == float("inf") else rounded(x, 2)


def meaning(parity: "Parity") -> str:
    """Return what was compared, what the agreement shows, and where the difference comes from."""
    if parity.why_not:
        how = (
            _("torch's attention, linear layers and LayerNorms, with this model's weights, computed each step from the "
              "recorded steps before it.")
        )
        proves = _("So torch agrees with each step, given the steps before it.")
    else:
        how = _("torch's own layers, with this model's weights, computed everything from the recorded embedding to the end.")
        proves = _("So the numbers on these pages agree with torch's implementation.")
    rounding = (
        _("The difference is rounding: float32 keeps about seven digits, and a sum in another order is rounded differently. "
          "Large scores are rounded by more, and the softmax passes that on.")
    )
    reasons = [proves, rounding if parity.difference else ""] if parity.agrees else []
    return " ".join(filter(None, [how, *reasons, _("Padding is left out.")]))


def _differences(lab: Lab, parity: "Parity") -> None:
    """Show a table with a row per stage, the largest difference first; sorting by the first column restores their order."""
    from viz_core import tables

    frame = tables.parity(parity).assign(step=range(1, len(parity.checks) + 1))
    columns: dict[str, Any] = {
        "step": _("Step"), "stage": _("Stage"), "difference": numeric(_("Largest difference"), 2),
        "size": numeric(_("Largest value"), 3), "numbers": _("Values compared"),
    }
    if parity.both_nan:
        columns["both_nan"] = _("NaN on both sides")
    columns["by"] = _("Computed in torch by")
    data_table(frame.sort_values("difference", ascending=False, kind="stable"), "proof_table", columns,
               _("The difference from torch of every stage"), code=lambda: snippets.parity(lab))
    if any(check.difference == float("inf") for check in parity.checks):
        st.caption(_("Infinity: NaN on one side only."))
