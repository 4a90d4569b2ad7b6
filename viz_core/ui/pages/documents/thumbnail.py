"""The picture on the card of Documents, the same for every run."""

import numpy as np

from viz_core.capture import Capture
from viz_core.figures.thumbnails import class_matrix
from viz_core.messages import translate as _
from viz_core.presets import PRESETS, TOPICS, Status
from viz_core.ui.shared.elements import is_dark
from viz_core.ui.shell import PageContext

STATUS_ORDER: tuple[Status, ...] = ("stated", "repaired", "assumed")


def thumbnail(context: PageContext, capture: Capture) -> str:
    """Return a thumbnail of the status of each setting of each document: stated, repaired or assumed."""
    table = np.array([[STATUS_ORDER.index(row.status) for row in preset.rows] for preset in PRESETS.values()])
    return class_matrix(table, _("{n_presets} documents by {n_topics} settings: stated, repaired or assumed", n_presets=len(table),
                                 n_topics=len(TOPICS)), dark=is_dark())
