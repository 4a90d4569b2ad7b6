"""The picture on the card of Cause and effect, computed from the present run."""

import numpy as np

from viz_core.capture import Capture
from viz_core.config import STACKS
from viz_core.figures.thumbnails import matrix
from viz_core.messages import translate as _
from viz_core.ui.shared.elements import is_dark
from viz_core.ui.shell import PageContext


def thumbnail(context: PageContext, capture: Capture) -> str:
    """Return a thumbnail of the norm of each sub-layer's output in the output stack, at each token."""
    stack, item = STACKS[context.config.output_side], context.selected_item(capture)
    names = [f"{stack}.layers.{layer}.{part}.out" for layer in range(context.config.n_layers(context.config.output_side))
             for part in ("self_attn", "cross_attn", "ffn")]
    sizes = [np.linalg.norm(capture[name][item], axis=-1) for name in names if name in capture]  # [T] each
    if not sizes:
        return ""
    return matrix(np.stack(sizes), _("How much each sub-layer writes at each token"), signed=False, dark=is_dark())
