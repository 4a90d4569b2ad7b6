"""The effect of a change of size: which tensors have a different shape, and what the model costs."""

from collections.abc import Sequence

import streamlit as st

from viz_core.analysis.shapes import changed, gone, ledger, total
from viz_core.config import TransformerConfig
from viz_core.language import translate as _
from viz_core.ui.escape import code, few
from viz_core.ui.pages.shapes.columns import AMOUNTS
from viz_core.ui.pages.shapes.size import Size, marked_against, size_of_a
from viz_core.ui.shell import change, current, set_view, view
from viz_core.ui.shell.differences import Difference
from viz_core.ui.shell.setup import CONTROLS, with_field

MOST_NAMED = 4  # changed settings that are named one by one


def changing(size: Size) -> None:
    """Draw a button that changes one size, and describe the effect of the last change."""
    config, has_run_a, (before, problem) = size[0], size_of_a() is not None, marked_against()
    less = narrower(config)
    with st.container(horizontal=True, vertical_alignment="center"):
        trained = current().card is not None
        st.button(
            _("Try qk_dim {qk_width} → {less}", qk_width=config.qk_width, less=less), icon=":material/compress:", on_click=_narrow,
            args=(less,), key="shapes_try",
            disabled=less == config.qk_width,
            help=_("Makes queries and keys narrower and marks every change.")
            + (" " + _("Trained weights fix all sizes, so the weights will be untrained.") if trained else ""),
        )
        if not has_run_a:  # marks against A are cleared by the button beside A and B
            st.button(_("Clear the marks"), icon=":material/ink_eraser:", on_click=set_view,
                      kwargs={"shapes_before": ""}, disabled=before is None, key="shapes_clear")
    if problem:
        link_text = f"shapes_before={view('shapes_before')}"
        st.warning(_("The link says {written}, which {problem}; nothing is marked.", written=code(link_text), problem=problem))
    if before is not None and not has_run_a:
        st.markdown(difference(before, size))


def narrower(config: TransformerConfig) -> int:
    """Return about a quarter of qk_dim, divisible by the number of heads, and into pairs if RoPE rotates them."""
    least = 2 if config.rotates else 1
    return config.n_heads * max(least, config.d_k // 4 // least * least)


def _narrow(qk_dim: int) -> None:
    """Set qk_dim; for callbacks."""
    new, __ = with_field(current(), "qk_dim", qk_dim)
    change(config=new.config, chosen=new.chosen)


def difference(before: Size, after: Size) -> str:
    """Return the changed settings and their effect on tensors, parameters, FLOPs and bytes, as Markdown."""
    old, new = ledger(*before), ledger(*after)
    marks, removed = changed(old, new), gone(old, new)
    shapes = {line.name: line.shape for line in new}
    n_reshaped = sum(was is not None and was.shape != shapes[name] for name, was in marks.items())
    n_new = sum(was is None for was in marks.values())
    counts = [_("{reshaped} of {n_new} tensors have a different shape", reshaped=n_reshaped, n_new=len(new))]
    same_shape = len(marks) - n_reshaped - n_new
    other_counts = (
        (same_shape, _("have the same shape but a different cost")), (n_new, _("are new")), (len(removed), _("are removed")),
    )
    counts += [f"{n} {what}" for n, what in other_counts if n]
    sums = [
        f"{name} {total(old, amount):,} → {total(new, amount):,}"
        for amount, name in AMOUNTS.items()
        if total(old, amount) != total(new, amount)
    ]
    settings = _settings(before, after)
    return f"**{few(settings, MOST_NAMED) or 'No size changed'}**: ".replace("_", r"\_") + "; ".join([*counts, *sums]) + "."


def against_a(a: Size, b: Size, differ: Sequence[Difference]) -> str:
    """Return how many tensors differ between A and B and how, as Markdown. differences: those between their setups."""
    old, new = ledger(*a), ledger(*b)
    marks, removed = changed(old, new), gone(old, new)
    if not marks and not removed:
        if not differ:
            return _("**No shape differs**: A and B are the same run.")
        if all(d.typed or d.follows for d in differ):
            return _("**No shape differs: only the words do.**")
        return _("**No shape differs, and no cost**: what differs changes numbers, not sizes.")
    shapes = {line.name: line.shape for line in new}
    n_reshaped = sum(was is not None and was.shape != shapes[name] for name, was in marks.items())
    n_new = sum(was is None for was in marks.values())
    counts = [
        (n_reshaped, _("have another shape")), (len(marks) - n_reshaped - n_new, _("have the same shape but another cost")),
        (n_new, _("are only in B")), (len(removed), _("are only in A")),
    ]
    sums = [_("{amount} {a:,} | {b:,}", amount=name, a=total(old, amount), b=total(new, amount))
            for amount, name in AMOUNTS.items() if total(old, amount) != total(new, amount)]
    head = _("**{n:,} of {many:,} tensors differ**, marked with A’s value before B’s", n=len(marks) + len(removed),
             many=len({*(line.name for line in old), *shapes}))
    return f"{head}: " + "; ".join([*(f"{n:,} {what}" for n, what in counts if n), *sums]) + "."


def _settings(before: Size, after: Size) -> list[str]:
    """Return each setting that differs, such as "qk_dim 32 → 8", lengths last."""
    old, new = before[0], after[0]
    found = [
        f"{c.label} {c.shown(c.value(old))} → {c.shown(c.value(new))}"
        for c in CONTROLS
        if c.value(old) != c.value(new) and (c.when(old) or c.when(new))
    ]
    lengths = zip(("sentences", _("source tokens"), _("target tokens")), before[1:], after[1:], strict=True)
    return found + [f"{name} {a} → {b}" for name, a, b in lengths if a != b]
