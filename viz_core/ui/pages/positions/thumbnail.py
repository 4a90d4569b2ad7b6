"""The picture on the card of Positions, computed from the present run."""

from viz_core.analysis.positions import sinusoidal_table
from viz_core.capture import Capture
from viz_core.config import STACKS
from viz_core.figures.thumbnails import matrix
from viz_core.messages import translate as _
from viz_core.ui.shared.elements import is_dark
from viz_core.ui.shell import PageContext


def thumbnail(context: PageContext, capture: Capture) -> str:
    """Return a thumbnail of the positional encoding [T, D] that the model adds; of the sinusoidal one if it adds none."""
    name, length = f"{STACKS[context.config.input_side]}.pos_embed", capture[f"ids.{context.config.input_side}"].shape[1]
    if name in capture:
        return matrix(
            capture[name][0], _("What is added to each of {length} positions", length=length), signed=True, dark=is_dark()
        )
    return matrix(sinusoidal_table(length, context.config.d_model, context.config.position_base),
                  _("Sine and cosine waves over {length} positions, which this model does not add", length=length), signed=True,
                  dark=is_dark())
