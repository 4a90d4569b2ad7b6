"""What the five documents contain: the presets of their models, their concepts, and source lines.

    preset     PRESETS: the model of each document
    concepts   what each document explains and where the app shows it; errors in the documents
    sources    the line of code that computes a stage
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
