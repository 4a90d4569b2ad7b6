"""A run that takes milliseconds."""

from typing import Any

from viz_core.config import TransformerConfig
from viz_core.training.interactive.recipe import Recipe

CONFIG = TransformerConfig(
    architecture="encoder-only", d_model=16, n_heads=2, n_encoder_layers=1, d_ff=16, dropout=0.1, dropout_sites=("weights", "ffn")
)
RECIPE = Recipe(
    task="copy", parameters={"length": 4, "symbols": 4}, config=CONFIG, steps=10, measured_every=4, batch=4, learning_rate=3e-3,
)


def recipe(**changes: Any) -> Recipe:
    """The same with other values, such as norm="pre" of the config, by `Recipe.with_changes`."""
    return RECIPE.with_changes(changes)
