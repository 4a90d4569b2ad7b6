"""The section Construction: the parts of a mask, their AND, and the code that builds it."""

import streamlit as st

from viz_core.analysis.masks import MASK, InUse, in_use, parts, recipe
from viz_core.capture import Capture
from viz_core.figures.attention import KIND_TITLES
from viz_core.figures.masks import building_panels
from viz_core.language import translate as _
from viz_core.presets import DOCUMENTS
from viz_core.ui.controls import picking, table
from viz_core.ui.pages.masks import snippets
from viz_core.ui.pages.masks.focus import InFocus, choose_focus
from viz_core.ui.shell import Lab, below, look, picture

AXIS_WORDS = {"B": _("sentences"), "H": _("heads"), "T": _("queries"), "S": _("keys")}


def construction(lab: Lab, capture: Capture, focus: InFocus) -> None:
    """Draw the parts of the mask in their own shapes and their AND, and list how each mask broadcasts over the scores."""
    name = MASK[focus.kind]
    n_parts = sum(part is not None for part in parts(lab.config, focus.kind))
    if n_parts > 1:
        look(_("**A mask is the AND of its parts: a cell is allowed if every part allows it.** Look for what each part blocks."))
    elif n_parts:
        look(_("**This mask has one part.** Look for what it blocks."))
    else:
        look(_("**This attention has no mask:** every query may attend to every key."))
    with picture():
        picking(building_panels(capture, focus.kind, focus.item), "mask_built", fill=True,
                code=lambda: snippets.built(lab, focus))
    with below():
        choose_focus(lab, capture, focus)
    if lab.config.padding_from == "ids":
        text = _("`ne` (not equal to the padding id) allows keys that are not padding;")
    else:
        text = _("`arange < n` allows the first n keys of a sentence of n tokens, since no id of this model is padding alone;")
    st.markdown(text + " " + _("`tril` (lower triangle) allows keys that are not later than the query. {value} multiplies masks of "
                               "0 and 1 instead of taking their AND, which gives the same result.", value=DOCUMENTS["002"]))
    st.markdown(f"$$\n{capture.stage(name).formula}\n$$")
    st.code("\n".join(recipe(lab.config, focus.kind)), language="python")
    st.markdown(_("**Each part keeps its own small shape, and broadcasting repeats it along axes of size 1.** These are all "
                  "masks of this run:"))
    table([_("Mask"), _("Used in"), _("Own shape"), _("Scores [B, H, T, S]"), _("Repeated for")],
          [_use(m) for m in in_use(capture)])


def _use(m: InUse) -> list[str]:
    """Return a row of the table: the mask, the attention that uses it, both shapes, and the axes it is repeated along."""
    name = m.name + (_(", transposed to mask queries") if m.turned else "")
    repeated = ", ".join(f"{n} {AXIS_WORDS[a]}" for a, n in m.repeated.items()) or "–"
    own, full = (" × ".join(map(str, shape)).replace(" ", "\N{NO-BREAK SPACE}") for shape in (m.own, m.full))
    return [name, KIND_TITLES[m.kind], own, full, repeated]
