"""The section unsqueeze(1): a mask of the wrong shape that runs without an error where T equals the number of heads."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from viz_core.analysis.attention import AttentionKind
from viz_core.capture import Capture
from viz_core.config import STACKS, Side
from viz_core.figures.masks import head_panels, share_panel
from viz_core.language import translate as _
from viz_core.presets import DOCUMENTS
from viz_core.stages import SIDE_NAMES
from viz_core.ui.controls import picking
from viz_core.ui.pages.masks.focus import InFocus, batch_of, layer_and_head
from viz_core.ui.shell import Lab

if TYPE_CHECKING:
    from viz_core.experiments.masks import Unsqueezed


def unsqueeze(lab: Lab, capture: Capture, focus: InFocus) -> None:
    """What torch returns for a (T, T) mask after unsqueeze(1): for this batch, and where T equals the number of heads."""
    from viz_core.experiments.masks import read_side, unsqueezed
    from viz_core.ui.shell.cache import cached_result

    st.markdown(_("**{value} passes a (T, T) look-ahead mask to attention, which calls `mask.unsqueeze(1)` on it.** That is "
                  "right for (B, T, T). But it turns (T, T) into (T, 1, T), and the first T is then broadcast against the heads.",
                  value=DOCUMENTS["004"]))
    st.code("look_ahead = torch.triu(torch.ones(T, T), diagonal=1).bool()  # " + _("True = blocked") + "\n"
            "mask = look_ahead.unsqueeze(1)  # (T, 1, T)\n"
            "scores = scores.masked_fill(mask == True, float('-inf'))  # (B, H, T, T)", language="python")
    side: Side = read_side(lab.config)
    heads = lab.config.n_heads
    n_tokens = capture[f"ids.{side}"].shape[1]
    model, batch = lab.model(), batch_of(lab)

    def attempt(length: int) -> "Unsqueezed":
        key = (lab.key(), focus.item, length)
        return cached_result("mask unsqueeze", key, lambda: unsqueezed(model, batch, focus.item, length, lab.setup.seed))

    typed = attempt(n_tokens)
    shapes = _("the mask has shape {shape} and the scores have shape {shape_2}",
               shape=_shape(typed.mask), shape_2=_shape(typed.scores))
    if typed.answer:
        st.markdown(_("Your batch has T = {n_tokens} and the model has H = {heads}: {shapes}. torch raises this error:",
                      n_tokens=n_tokens, heads=heads, shapes=shapes))
        st.code(typed.answer, language=None, wrap_lines=True)
    if heads == 1:
        st.info(_("With one head, T = H means a single token, and it has no future to leak. Choose more heads."))
        return
    if n_tokens < heads:
        st.info(_("If T = H, it runs without an error and leaks the future. For that, the {side} needs at least {heads} "
                  "tokens, but it has {n_tokens}. Type a longer sentence or choose fewer heads.",
                  side=SIDE_NAMES[side], heads=heads, n_tokens=n_tokens))
        return
    leaky = typed if n_tokens == heads else attempt(heads)
    if leaky.weights is None or leaky.future is None:
        return
    which = _("Your batch has T = H") if n_tokens == heads else _("For the first {heads} tokens, T = H", heads=heads)
    st.markdown(_("**{which} = {heads}, and it runs without an error.** Head h blocks the keys after position h for every "
                  "query: head 0 sees only the first key, and head {heads_2} sees the whole future.",
                  which=which, heads=heads, heads_2=heads - 1))
    __, head = layer_and_head(lab, focus, layers=False, head=heads - 1)
    kind: AttentionKind = STACKS[side]
    drawn = [(_("As printed · head {head}", head=head), leaky.weights[head]),
             (_("As intended · head {head}", head=head), leaky.meant[head])]
    panels = head_panels(capture, kind, focus.item, drawn)
    share = share_panel(leaky.future, _("Weight on later tokens, as printed: mean over the rows that have later tokens"))
    picking([*panels, share], "mask_unsqueeze")
    st.markdown(_("Head {heads} puts **{future:.1%}** of its weight on tokens that it must not see. With the intended mask, "
                  "every head has 0 there. This app's causal mask is (1, 1, T, T), so T cannot be broadcast against the heads.",
                  heads=heads - 1, future=float(leaky.future[-1])))


def _shape(shape: Sequence[int]) -> str:
    return f"({', '.join(map(str, shape))})"
