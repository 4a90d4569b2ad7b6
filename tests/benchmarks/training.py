"""A step of training against the same step of a model written with torch.nn.Transformer, in the same loop.

Both are sized as the page's default run. The bar says 0.75 of the steps a second, so 1/0.75 of the time. A step of a whole run,
which also draws its batch, measures and keeps numbers, is reported beside it.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.benchmarks.measure import Result, interleaved, ratio
from viz_core.config import TransformerConfig
from viz_core.model.transformer import Transformer
from viz_core.training.interactive.recipe import Recipe
from viz_core.training.interactive.training_run import TrainingRun, parameters_by_part
from viz_core.training.step import make_adam, single_thread, train_step

BAR = 1 / 0.75
SIZES = {"d_model": 64, "n_heads": 4, "d_ff": 128, "n_encoder_layers": 2, "n_decoder_layers": 2, "max_len": 128, "dropout": 0.1}
REPEATS, SMALL_REPEATS = 100, 3


class Out(NamedTuple):
    """What `train_step` reads of a model's output."""

    loss: Tensor
    logits: Tensor


class Theirs(nn.Module):
    """torch's Transformer with embeddings, learned positions and a head of the same sizes."""

    def __init__(self, c: TransformerConfig) -> None:
        super().__init__()
        self.config = c  # by which a training step checks its ids
        self.source, self.target = nn.Embedding(c.source_vocab_size, c.d_model), nn.Embedding(c.target_vocab_size, c.d_model)
        self.position = nn.Parameter(torch.randn(c.max_len, c.d_model))
        self.layers = nn.Transformer(
            c.d_model, c.n_heads, c.n_encoder_layers, c.n_decoder_layers, c.ff_width, c.dropout, batch_first=True,
        )
        self.head = nn.Linear(c.d_model, c.target_vocab_size)

    def forward(self, source: Tensor, target: Tensor, labels: Tensor) -> Out:
        x, y = (embed(ids) + self.position[: ids.shape[1]] for embed, ids in ((self.source, source), (self.target, target)))
        unread, unsaid = source == 0, target == 0
        causal = nn.Transformer.generate_square_subsequent_mask(target.shape[1], dtype=torch.bool)
        h = self.layers(x, y, tgt_mask=causal, tgt_is_causal=True, src_key_padding_mask=unread, tgt_key_padding_mask=unsaid,
                        memory_key_padding_mask=unread)
        logits = self.head(h)
        return Out(F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=0), logits)


def measure(small: bool) -> Iterator[Result]:
    recipe = Recipe(task="reverse", config=TransformerConfig(**SIZES), steps=10_000, measured_every=10_000)
    ours, theirs = Transformer(recipe.config, 0).train(), Theirs(recipe.config).train()
    batch, run = recipe.train_batch(0), TrainingRun(recipe)

    def step_of(model: nn.Module) -> object:
        optimizer, parts = (
            make_adam(model),
            list(parameters_by_part(ours).values()) if model is ours else [list(theirs.parameters())],
        )
        return lambda: train_step(model, optimizer, batch, 1e-3, parameter_groups=parts)  # type: ignore[arg-type]

    repeats = SMALL_REPEATS if small else REPEATS
    setting = f"reverse, {recipe.batch} rows of {recipe.parameters['length']} symbols, d_model 64, 2 + 2 layers, one thread"
    with single_thread():
        step, torchs = step_of(ours), step_of(theirs)
        yield ratio("a step of training against torch's", *interleaved(step, torchs, repeats), None if small else BAR, setting)  # type: ignore[arg-type]
        yield ratio("a step of a whole run against torch's", *interleaved(run.step, torchs, repeats), None, setting)  # type: ignore[arg-type]
