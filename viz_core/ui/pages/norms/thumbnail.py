"""The picture on the card of Pre- and Post-LN, computed from the present run."""

from viz_core.analysis.norm_placement import power
from viz_core.capture import Capture
from viz_core.config import STACKS
from viz_core.figures.thumbnails import line
from viz_core.messages import translate as _
from viz_core.ui.shell import PageContext


def thumbnail(context: PageContext, capture: Capture) -> str:
    """Return a thumbnail of the mean square of the residual stream after each layer."""
    side, item = context.config.input_side, context.selected_item(capture)
    names = [
        f"{STACKS[side]}.{leaf}" for leaf in ("embed", *(f"layers.{i}.resid_post" for i in range(context.config.n_layers(side))))
    ]
    found = [power(capture[name][item]) for name in names if name in capture]
    return line(found, _("The mean square of the residual stream after each layer"))
