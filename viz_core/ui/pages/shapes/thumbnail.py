"""The picture on the card of Shapes, computed from the present run."""

from viz_core.analysis.stage_costs import amounts_by_block, stage_costs
from viz_core.capture import Capture
from viz_core.figures.thumbnails import bars
from viz_core.messages import translate as _
from viz_core.ui.shell import PageContext


def thumbnail(context: PageContext, capture: Capture) -> str:
    """Return a thumbnail of the number of parameters of each block."""
    blocks = amounts_by_block(stage_costs(context.config, 1, 1, 1), "parameters")
    return bars([sum(parts.values()) for parts in blocks.values()], _("The parameters of each block"))
