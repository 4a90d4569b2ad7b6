"""The section Conventions: one mask as True = may attend, as True = blocked, and as a float that is added to the scores."""

import streamlit as st

from viz_core.analysis.attention import module
from viz_core.analysis.masks import BACK, CONVENTIONS, TO
from viz_core.capture import Capture
from viz_core.figures.masks import CONVENTION_TITLES, convention_panels
from viz_core.formats import rounded
from viz_core.language import translate as _
from viz_core.presets import DOCUMENTS
from viz_core.ui.controls import picking, table
from viz_core.ui.pages.masks import snippets
from viz_core.ui.pages.masks.focus import InFocus, batch_of, choose_focus
from viz_core.ui.pages.masks.words import no_twin_words
from viz_core.ui.shell import Lab, below, look, picture

WRITTEN_BY = {
    "may": _("this app; {value}; {value_2}; F.scaled_dot_product_attention", value=DOCUMENTS["000"], value_2=DOCUMENTS["002"]),
    "blocked": _("{value}; nn.MultiheadAttention and torch's layers (attn_mask and key_padding_mask)", value=DOCUMENTS["004"]),
    "additive": _("Hugging Face's models internally; torch's layers accept it too"),
}


def conventions(lab: Lab, capture: Capture, focus: InFocus) -> None:
    """Draw one mask in three conventions, with the code that converts between them."""
    look(_("**The same mask, written in three ways.** The first two give True opposite meanings, and torch cannot detect a "
           "mix-up."))
    with picture():
        picking(convention_panels(capture, focus.kind, focus.item), "mask_written", fill=True,
                code=lambda: snippets.written(lab, focus))
    with below():
        choose_focus(lab, capture, focus)
    st.markdown(_("If you confuse the first two, every allowed cell is blocked and every blocked cell is allowed, without any "
                  "error. In this app True always means may attend."))
    lines = [f"{TO[c]}\n{BACK[c]}  # {_('and back')}" for c in CONVENTIONS if c != "may"]
    st.code("\n".join(lines), language="python", wrap_lines=True)
    table([_("Convention"), _("Used by")], [[CONVENTION_TITLES[c], WRITTEN_BY[c]] for c in CONVENTIONS])
    from viz_core.experiments.masks import agreement
    from viz_core.ui.shell.cache import cached_result

    path = module(focus.kind, 0)
    seed = lab.setup.seed
    result = cached_result("mask forms", (lab.key(), path), lambda: agreement(lab.model(), batch_of(lab), path, seed),
                           *lab.cost())
    sentences = []
    if result.mha is not None:
        sentences.append(_("The app has just run torch.nn.MultiheadAttention, with the parameters of this attention, on this "
                           "mask as bool and as float. The largest difference between its outputs is **{mha}**.",
                           mha=rounded(result.mha, 2)))
    if result.sdpa is not None:
        sentences.append(_("For F.scaled_dot_product_attention it is **{sdpa}**. So torch accepts both bool and float masks, "
                           "although {value} says that it needs floats.", sdpa=rounded(result.sdpa, 2), value=DOCUMENTS["004"]))
    if result.no_bool:
        sentences.append(_("{title} adds numbers to the scores, so torch needs a float mask here.", title=lab.config.scheme.title))
    if result.no_twin:
        sentences.append(_("torch.nn.MultiheadAttention cannot be compared here."))
        sentences.append(no_twin_words(result.no_twin, lab.config))
    st.markdown(" ".join(sentences))
