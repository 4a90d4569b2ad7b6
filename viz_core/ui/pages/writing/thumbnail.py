"""The picture on the card of Writing, computed from the present run."""

import numpy as np

from viz_core.capture import Capture
from viz_core.figures.thumbnails import bars
from viz_core.messages import translate as _
from viz_core.ui.shell import PageContext


def thumbnail(context: PageContext, capture: Capture) -> str:
    """Return a thumbnail of the probabilities of the most likely words after the first token."""
    if "probs" not in capture:
        return ""
    likeliest = np.sort(capture["probs"][context.selected_item(capture), 0])[::-1][:8].tolist()
    return bars(likeliest, _("The probabilities of the likeliest next words"))
