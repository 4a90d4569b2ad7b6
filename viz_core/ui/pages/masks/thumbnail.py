"""The picture on the card of Masks, computed from the present run."""

from viz_core.analysis.attention import attention_kinds
from viz_core.analysis.masks import blocking_reasons
from viz_core.capture import Capture
from viz_core.figures.thumbnails import class_matrix
from viz_core.messages import translate as _
from viz_core.ui.shared.elements import is_dark
from viz_core.ui.shell import PageContext


def thumbnail(context: PageContext, capture: Capture) -> str:
    """Return a thumbnail of the cells that the mask of the last self-attention allows or blocks, and why; "" without attention."""
    available = attention_kinds(context.config)
    if not available:
        return ""
    kind = "decoder" if "decoder" in available else available[0]
    return class_matrix(
        blocking_reasons(capture, kind, context.selected_item(capture)), _("Which tokens may attend to which"), dark=is_dark()
    )
