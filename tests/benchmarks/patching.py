"""The whole grid of activation patching, both directions, on the shipped translator with 12 words on each side."""

import statistics
import time
from collections.abc import Iterator

import torch

from tests.benchmarks.measure import Result, middle_half
from viz_core.config import TransformerConfig
from viz_core.experiments.patching import Question, run_clean_and_corrupted, run_patch_grid
from viz_core.run import build
from viz_core.weights.catalogue import shipped_cards

TOKENS, SMALL_TOKENS = 12, 3
SMALL = TransformerConfig(d_model=16, n_heads=2, n_encoder_layers=1, n_decoder_layers=1, max_len=32)
BAR = 1.5  # seconds, on two cores


def measure(small: bool) -> Iterator[Result]:
    model, tokens = (build(SMALL), SMALL_TOKENS) if small else (shipped_cards()["translator"].load(), TOKENS)
    config, g = model.config, torch.Generator().manual_seed(0)
    clean = torch.randint(4, config.source_vocab_size, (tokens,), generator=g).tolist()
    target = torch.randint(4, config.target_vocab_size, (tokens,), generator=g).tolist()
    changed = [*clean[:-2], (clean[-2] - 3) % (config.source_vocab_size - 4) + 4, clean[-1]]
    times = []
    for turn in range(-1, 1 if small else 7):
        start = time.perf_counter()
        grid = run_patch_grid(run_clean_and_corrupted(model, clean, changed, Question(target[0], target[1], tokens - 1), target))
        if turn >= 0:  # the first one warms up
            times.append(time.perf_counter() - start)
    setting = f"{2 * len(grid.patch_sets)} patched runs, {tokens} + {tokens} tokens, both directions"
    yield Result("grid of patches", statistics.median(times), None if small else BAR, middle_half(times), "s", setting)
