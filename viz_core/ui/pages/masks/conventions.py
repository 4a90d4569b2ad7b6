"""The section Conventions: one mask as True = may attend, as True = blocked, and as numbers that are added to the scores."""

import streamlit as st

from viz_core.analysis.attention import module
from viz_core.analysis.masks import BACK, CONVENTIONS, TO
from viz_core.capture import Capture
from viz_core.figures.masks import CONVENTION_TITLES, convention_panels
from viz_core.formats import rounded
from viz_core.presets import DOCUMENTS
from viz_core.ui.controls import picking, table
from viz_core.ui.pages.masks.focus import InFocus, batch_of
from viz_core.ui.pages.masks.words import no_twin_words
from viz_core.ui.shell import Lab

WRITTEN_BY = {
    "may": f"this app; {DOCUMENTS['000']}; {DOCUMENTS['002']}; F.scaled_dot_product_attention",
    "blocked": f"{DOCUMENTS['004']}; nn.MultiheadAttention and torch's layers (attn_mask and key_padding_mask)",
    "additive": "Hugging Face's models internally; torch's layers accept it too",
}


def conventions(lab: Lab, capture: Capture, focus: InFocus) -> None:
    """One mask in three conventions, with the line of code that converts it to each and the line that converts it back."""
    st.markdown("**The same mask, written in three ways.** If you confuse the first two, every allowed cell is blocked and every "
                "blocked cell is allowed, without any error. In this app True always means may attend.")
    picking(convention_panels(capture, focus.kind, focus.item), "mask_written")
    lines = [f"{TO[c]}\n{BACK[c]}  # and back" for c in CONVENTIONS if c != "may"]
    st.code("\n".join(lines), language="python", wrap_lines=True)
    table(["Convention", "Used by"], [[CONVENTION_TITLES[c], WRITTEN_BY[c]] for c in CONVENTIONS])
    from viz_core.experiments.masks import agreement
    from viz_core.ui.shell.cache import cached_result

    path = module(focus.kind, 0)
    seed = lab.setup.seed
    result = cached_result("mask forms", (lab.key(), path), lambda: agreement(lab.model(), batch_of(lab), path, seed),
                           *lab.cost())
    sentences = []
    if result.mha is not None:
        sentences.append("The app has just run torch.nn.MultiheadAttention, with the parameters of this attention, on this mask as "
                         f"bool and as float. The largest difference between its outputs is **{rounded(result.mha, 2)}**.")
    if result.sdpa is not None:
        sentences.append(f"For F.scaled_dot_product_attention it is **{rounded(result.sdpa, 2)}**. So torch accepts both bool and "
                         f"float masks, although {DOCUMENTS['004']} says that it needs floats.")
    if result.no_bool:
        sentences.append(f"{lab.config.scheme.title} adds numbers to the scores, so torch needs a float mask here.")
    if result.no_twin:
        sentences.append("torch.nn.MultiheadAttention cannot be compared here.")
        sentences.append(no_twin_words(result.no_twin, lab.config))
    st.markdown(" ".join(sentences))
