"""What the five documents contain: the presets of their models, and their concepts.

    preset           PRESETS: the model of each document
    concepts         what each document explains and where the app shows it; errors in the documents
    error_examples   the smallest code with each of those errors
"""

from viz_core.presets.preset import (
    DOCUMENTS,
    PRESETS,
    STATUS_TITLES,
    TOPIC_TITLES,
    TOPICS,
    Preset,
    PresetRow,
    Status,
)

__all__ = [
    "DOCUMENTS",
    "PRESETS",
    "STATUS_TITLES",
    "TOPICS",
    "TOPIC_TITLES",
    "Preset",
    "PresetRow",
    "Status",
]
