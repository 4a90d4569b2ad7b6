"""The picture on the card of Training, computed from the present run."""

import numpy as np

from viz_core.capture import Capture
from viz_core.figures.thumbnails import bars
from viz_core.messages import translate as _
from viz_core.ui.shell import PageContext


def thumbnail(context: PageContext, capture: Capture) -> str:
    """Return a thumbnail of the cross-entropy of each label, at most 20 nats."""
    if (
        "probs" not in capture or "ids.labels" not in capture or context.predicts_own_position
    ):  # a model that answers in place was trained with another loss
        return ""
    item = context.selected_item(capture)
    labels = capture["ids.labels"][item]
    real = capture.token_mask("labels")[item]
    of_label = capture["probs"][item][np.arange(len(labels)), labels][real].astype(float)
    return bars(np.minimum(-np.log(np.maximum(of_label, 1e-30)), 20).tolist(), _("The loss of each token, which training lowers"))
