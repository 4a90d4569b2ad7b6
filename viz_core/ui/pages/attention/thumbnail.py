"""The picture on the card of Attention, computed from the present run."""

from viz_core.analysis.attention import attention_kinds, pooled_heads
from viz_core.capture import Capture
from viz_core.figures.thumbnails import head_mosaic
from viz_core.messages import translate as _
from viz_core.ui.shared.elements import is_dark
from viz_core.ui.shell import PageContext


def thumbnail(context: PageContext, capture: Capture) -> str:
    """Return a thumbnail of the weights of all heads of the last kind of attention, max-pooled."""
    if not (available := attention_kinds(context.config)):
        return ""
    kind = available[-1]
    pooled = pooled_heads(capture, kind, context.selected_item(capture), 32).values  # [L, H, r, c]
    layers, heads = pooled.shape[:2]
    return head_mosaic(
        pooled,
        _("{layers} layers of {heads} heads, each a matrix of attention weights", layers=layers, heads=heads),
        dark=is_dark(),
    )
