"""One more word of a decoder as large as the translator, with the key-value cache against without; and the whole text."""

import statistics
from collections.abc import Iterator
from functools import partial

import torch

from tests.benchmarks.measure import Result, interleaved, middle_half, ratio
from tests.tolerances import FLOAT
from viz_core.config import TransformerConfig
from viz_core.generate import generate
from viz_core.generate.incremental import init_decoder
from viz_core.run import build

CONFIG = TransformerConfig(
    d_model=128, n_heads=8, n_encoder_layers=3, n_decoder_layers=3, max_len=512, source_vocab_size=7900, target_vocab_size=5200,
)
SMALL = TransformerConfig(d_model=16, n_heads=2, n_encoder_layers=1, n_decoder_layers=1, max_len=32)
LENGTHS, SMALL_LENGTHS = (16, 64, 256), (2, 8)
BAR = 0.333  # of the longest: at least 3 times faster


@torch.inference_mode()
def measure(small: bool) -> Iterator[Result]:
    config, lengths = (SMALL, SMALL_LENGTHS) if small else (CONFIG, LENGTHS)
    model, g = build(config), torch.Generator().manual_seed(0)
    source = torch.randint(4, config.source_vocab_size, (1, 12), generator=g)
    ids = torch.randint(4, config.target_vocab_size, (1, max(lengths)), generator=g)
    size = f"{config.n_decoder_layers} layers, d_model {config.d_model}, max_len {config.max_len}"
    for length in lengths:
        readers = [init_decoder(model, ids, source, use_cache=on).step(ids[:, : length - 1])[1] for on in (True, False)]
        cached, recomputed = (partial(reader.step, ids[:, length - 1 : length]) for reader in readers)
        torch.testing.assert_close(cached()[0], recomputed()[0], atol=FLOAT, rtol=FLOAT)
        times = interleaved(cached, recomputed, 3 if small else 20)
        yield ratio(f"word {length} with the cache", *times, None if small or length < max(lengths) else BAR, size)

    # -1: it never ends by itself
    write = partial(generate, model, ids[:, :1], source, eos_id=-1, max_new_tokens=max(lengths))
    times = interleaved(partial(write, use_cache=True), partial(write, use_cache=False), 2)
    for way, found in zip(("with the cache", "without it"), times, strict=True):
        name = f"{max(lengths)} words {way}"
        yield Result(name, statistics.median(found), None, middle_half(found), "ms", f"{size}; the source of 12 words included")
