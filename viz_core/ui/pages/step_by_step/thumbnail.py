"""The picture on the card of Step by step, computed from the present run."""

from viz_core.capture import Capture
from viz_core.config import STACKS
from viz_core.figures.thumbnails import matrix
from viz_core.messages import translate as _
from viz_core.ui.shared.elements import is_dark
from viz_core.ui.shell import PageContext


def thumbnail(context: PageContext, capture: Capture) -> str:
    """Return a thumbnail of the residual stream after the last layer, [T, D]; "" without one."""
    side = context.config.input_side
    name = f"{STACKS[side]}.layers.{context.config.n_layers(side) - 1}.resid_post"
    if name not in capture:
        return ""
    return matrix(
        capture[name][context.selected_item(capture)],
        _("The residual stream after the last layer, tokens by features"),
        signed=True,
        dark=is_dark(),
    )
