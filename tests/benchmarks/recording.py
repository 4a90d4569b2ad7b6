"""What it costs to record every stage: text ids to a frozen Capture, against the same forward pass unrecorded."""

from collections.abc import Iterator

import torch

from tests.benchmarks.measure import Result, interleaved, ratio
from viz_core.config import TransformerConfig
from viz_core.run import build, prepare, trace

SIZES = ((6, 384, 12, 32, 1.10, 200), (12, 768, 12, 128, 1.20, 30))  # layers, d_model, heads, tokens, bar, repeats
SMALL = ((1, 16, 2, 8, None, 3),)


def encoder(layers: int, d_model: int, heads: int, tokens: int) -> TransformerConfig:
    """An encoder-only model with 1000 words and their logits."""
    return TransformerConfig(
        architecture="encoder-only", n_encoder_layers=layers, d_model=d_model, n_heads=heads, max_len=tokens,
        source_vocab_size=1000,
    )


def sentence(tokens: int) -> list[int]:
    """As many ids, none of them padding."""
    return [1 + 7 * i % 999 for i in range(tokens)]


def measure(small: bool) -> Iterator[Result]:
    for layers, d_model, heads, tokens, bar, repeats in SMALL if small else SIZES:
        config = encoder(layers, d_model, heads, tokens)
        model, batch = build(config), prepare(config, [sentence(tokens)], None)
        ids, labels = (torch.from_numpy(batch.ids[side]) for side in ("source", "labels"))

        def recorded(model=model, batch=batch):
            return trace(model, batch)

        @torch.inference_mode()
        def unrecorded(model=model, ids=ids, labels=labels):
            return model(ids, None, labels)

        times = interleaved(recorded, unrecorded, repeats)
        capture = recorded()
        setting = f"{layers} layers, d_model {d_model}, {tokens} tokens; {len(capture)} stages, {capture.nbytes / 2**20:.0f} MiB"
        yield ratio("recording every stage", *times, bar, setting)
