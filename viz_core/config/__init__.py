"""Settings of the model and of the app: `TransformerConfig`, tables of its choices, and limits.

    transformer_config   TransformerConfig: every size and switch of the model, validated
    settings             SETTINGS: the check, the words and the control of each of its fields
    activations          the activations of the feed-forward network
    norms                the norms
    position_schemes     the position schemes
    limits               limits of what the app accepts and computes
    allocator            settings of the memory allocator
"""

from viz_core.config.transformer_config import (
    CHOICES,
    FIELDS,
    RENAMED_VALUES,
    SIDE_NAMES,
    STACKS,
    Architecture,
    Init,
    Position,
    Side,
    StackName,
    TransformerConfig,
    side_of,
)

__all__ = [
    "CHOICES",
    "FIELDS",
    "RENAMED_VALUES",
    "SIDE_NAMES",
    "STACKS",
    "Architecture",
    "Init",
    "Position",
    "Side",
    "StackName",
    "TransformerConfig",
    "side_of",
]
