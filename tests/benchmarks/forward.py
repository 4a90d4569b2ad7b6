"""The open layers, unrecorded, against torch.nn.TransformerEncoder with the same weights, input and padding mask."""

from collections.abc import Iterator

import torch

from tests.benchmarks.measure import Result, interleaved, ratio
from tests.benchmarks.recording import encoder
from tests.model.test_parity import torch_stack
from tests.tolerances import FLOAT
from viz_core.run import build

SIZE, SMALL = (12, 768, 12, 128), (1, 16, 2, 8)  # layers, d_model, heads, tokens
BAR = 1.15


@torch.no_grad()
def measure(small: bool) -> Iterator[Result]:
    layers, d_model, heads, tokens = SMALL if small else SIZE
    stack = build(encoder(layers, d_model, heads, tokens)).encoder
    theirs = torch_stack("encoder", stack).float()
    x = torch.randn(1, tokens, d_model, generator=torch.Generator().manual_seed(0))
    words = torch.ones(1, tokens, dtype=torch.bool)
    mask = words[:, None, None].expand(1, 1, tokens, tokens)

    @torch.inference_mode()
    def ours_():
        y = x
        for layer in stack.layers:
            y = layer(y, mask)
        return y

    @torch.inference_mode()
    def theirs_():
        return theirs(x, src_key_padding_mask=~words)

    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        torch.testing.assert_close(ours_(), theirs_(), atol=FLOAT, rtol=0)
        times = interleaved(ours_, theirs_, 3 if small else 30)
    finally:
        torch.backends.mha.set_fastpath_enabled(before)
    setting = f"{layers} layers, d_model {d_model}, {tokens} tokens; the layers alone, fast path off"
    yield ratio("layers against torch's", *times, None if small else BAR, setting)
