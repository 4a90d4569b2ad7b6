"""The proof line: what torch's own layers make of the same run."""

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from viz_core.ui.shell import Lab, fold, present, touch, write_link

if TYPE_CHECKING:  # torch is imported where it is used: see `viz_core.ui.shell.run`
    from viz_core.experiments.parity import Check, Parity

ON_REQUEST = 50_000_000  # parameters of a model that is checked only when asked: it takes a second or more
LATER = 1.0  # seconds by which a proof lets others' pictures go first; one whose visitor has moved on meanwhile is not made
ASKED = "proof_asked"


def parity_line(lab: Lab) -> None:
    """One line: the largest difference between this run and torch, with a closer look on request."""
    if lab.capture is not None:
        _line()  # without the lab: a session would keep a fragment's arguments, and captures belong to no session


@st.fragment
def _line() -> None:
    from viz_core.experiments.parity import check_parity
    from viz_core.ui.shell.cache import cached_result, run_cost, run_key

    lab = present()
    if lab.capture is None or lab.batch is None:
        return
    setup, capture, batch, model = lab.setup, lab.capture, lab.batch, lab.model()
    key = run_key(setup.weights, lab.config, batch, setup.seed, setup.device)
    if sum(p.numel() for p in model.parameters()) > ON_REQUEST and st.session_state.get(ASKED) != key:
        st.button("Check this run against torch", icon=":material/rule:", key="proof_ask", on_click=_ask, args=(key,),
                  help="Computes it once more with torch's own layers and the same weights.")
    else:
        seconds, nbytes = run_cost(lab.config, batch)
        _show(cached_result("proof", key, lambda: check_parity(model, batch, capture), seconds + LATER, nbytes))
    write_link()


def _ask(key: object) -> None:
    touch()
    st.session_state[ASKED] = key


def _show(proof: "Parity") -> None:
    if not proof.numbers:
        st.caption("There is nothing to check against torch: every token here is padding.")
        return
    say = st.caption if proof.agrees else st.warning
    say(sentence(proof))
    more = fold("proof_more", "Look closer at this check")
    if more.open:
        more.html(f'<p style="max-width:70ch">{html.escape(meaning(proof))}</p>{table_html(proof.checks)}')


def sentence(proof: "Parity") -> str:
    """The proof line, in Markdown."""
    start = "Checked on this machine" if proof.agrees else "This run and torch disagree"
    where = "" if proof.agrees else f", first at `{proof.first}`"
    found = f"the largest difference to {proof.against} with the same weights is {_number(proof.difference)}{where}"
    return f"{start}: {found}, over {proof.compared}. {proof.why_not}".strip()


def _number(x: float) -> str:
    return "0" if x == 0 else "NaN on one side only" if x == float("inf") else f"{x:.1e}"


def meaning(proof: "Parity") -> str:
    """What was compared, what that proves, and what the difference is."""
    if proof.why_not:
        how = (
            "torch's attention, linear layers and LayerNorms, with this model's weights, computed each step from what is "
            "recorded before it."
        )
        proves = "So each step of the walk is what torch makes of the one before."
    else:
        how = "torch's own layers, with this model's weights, computed everything from the recorded embedding to the end."
        proves = "So the numbers on these pages are those of the usual implementation."
    rounding = (
        "What differs is rounding: float32 keeps about seven digits, and the same sum in another order ends in other ones. "
        "Large scores are rounded by more, and the softmax hands that on."
    )
    said = [how, proves if proof.agrees else "", rounding if proof.agrees and proof.difference else "", "Padding is left out."]
    return " ".join(filter(None, said))


def table_html(checks: Sequence["Check"]) -> str:
    """A row a stage, in the order of the walk; the largest difference stands out. It scrolls by itself."""
    worst = max((c.difference for c in checks), default=0.0)
    left, right = (f"padding:3px 12px 3px 0;text-align:{side};font-variant-numeric:tabular-nums" for side in ("left", "right"))
    styles = (left, right, right, right, f"{left};white-space:nowrap")
    heads = ("Stage", "Largest difference", "Largest number", "Numbers", "Computed in torch by")
    sticky = ";position:sticky;top:0;vertical-align:bottom;background:var(--st-background-color);font-weight:600"
    rows = ["".join(f'<th style="{style}{sticky}">{head}</th>' for style, head in zip(styles, heads, strict=True))]
    for c in checks:
        bold = ";font-weight:700" if c.difference == worst > 0 else ""
        nan = f"<br>{c.both_nan:,} NaN on both sides" if c.both_nan else ""
        stage = html.escape(c.stage).replace(".", ".<wbr>")  # a long name breaks after a dot
        values = (f"<code>{stage}</code>", _number(c.difference), f"{c.size:.3g}", f"{c.numbers:,}{nan}",
                  f"<code>{html.escape(c.by)}</code>")
        rows.append("".join(f'<td style="{style}{bold}">{value}</td>' for style, value in zip(styles, values, strict=True)))
    table = "".join(f"<tr>{row}</tr>" for row in rows)
    return (
        '<div style="max-height:400px;overflow:auto;font-size:.875rem">'
        f'<table style="border-collapse:collapse;width:100%">{table}</table></div>'
    )
