"""A logit is the sum of its parts, and each part's share is what the frozen model loses without it."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given

from tests.model.small import SOURCE, TARGET, batches, configs, double, small, unlike_identity
from viz_core.analysis.attribution import Attribution, ParameterReader, attribute_logit
from viz_core.config import TransformerConfig
from viz_core.messages.errors import UserError
from viz_core.model.transformer import Transformer
from viz_core.run import build, run

CONFIGS: list[dict[str, Any]] = [
    {}, {"norm": "pre"}, {"norm": "none"}, {"final_norm": True, "norm_embedding": True}, {"residual": False}, {"tie_output": True},
    {"architecture": "encoder-only", "n_segments": 2}, {"architecture": "decoder-only", "norm": "pre", "position": "learned"},
    {"attention_bias": False, "head_bias": False, "ffn_bias": False}, {"scale_embedding": False, "position": "rope"},
]


def parameters(model: Transformer) -> ParameterReader:
    state = {name: x.numpy() for name, x in model.state_dict().items()}
    return state.__getitem__


def adds_up(found: Attribution, within: float) -> None:
    largest = max(abs(part.value) for part in found.contributions)
    assert abs(found.remainder) <= within * max(largest, 1e-12)


@pytest.mark.parametrize("switches", CONFIGS, ids=str)
@pytest.mark.parametrize("other", [None, 4])
def test_the_parts_add_up_to_the_logit(switches: dict[str, Any], other: int | None) -> None:
    config = small(**switches)
    for model, within in ((unlike_identity(double(config)), 1e-9), (unlike_identity(build(config)), 1e-4)):
        capture = run(config, SOURCE, TARGET, weights=model)
        for item, at in ((0, 0), (1, 2)):
            found = attribute_logit(capture, parameters(model), at, 7, other, item)
            logits = capture["logits"][item, at].astype(np.float64)
            assert found.logit == logits[7] - (0 if other is None else logits[other])
            adds_up(found, within)
            assert found.total == pytest.approx(sum(map(found.total_of, ("embedding", "head", "ffn", "bias"))))
            heads = [p for p in found.contributions if p.kind == "head"]
            attentions = 1 if config.architecture != "encoder-decoder" else 2
            assert len(heads) == (0 if not config.residual else 2 * config.n_heads * attentions)


@given(configs(norm_eps=1e-2), batches())
def test_of_any_model(config: TransformerConfig, batch: tuple[list[list[int]], list[list[int]]]) -> None:
    if not config.has_head:
        return
    model = unlike_identity(double(config))
    capture = run(config, *batch, weights=model)
    if np.isfinite(capture["logits"][0, 0]).all():
        adds_up(attribute_logit(capture, parameters(model), 0, 3, 5), 1e-6)


def test_a_head_s_share_in_a_model_without_norms_is_what_its_logit_loses_without_it() -> None:
    config = small(norm="none", architecture="decoder-only", n_decoder_layers=1, d_ff=1)
    model = double(config)
    model.decoder.layers[0].ffn.w_out.weight.data.zero_()  # so that nothing reads the head but the logits
    capture = run(config, target=TARGET, weights=model)
    found = attribute_logit(capture, parameters(model), 2, 7)
    for head in range(2):
        def off(name: str, x: Any, head: int = head) -> Any:
            return x * (torch.arange(2) != head)[None, :, None, None] if name.endswith(".z") else x

        without = run(config, target=TARGET, weights=model, tap=off)["logits"][0, 2, 7]
        (share,) = (part.value for part in found.contributions if part.head == head)
        assert abs(share) > 1e-4
        assert share == pytest.approx(float(capture["logits"][0, 2, 7] - without))


def test_a_model_without_logits_and_an_unknown_word_are_refused() -> None:
    headless = small(architecture="encoder-only", head=False)
    with pytest.raises(UserError, match="logits"):
        attribute_logit(run(headless, SOURCE), parameters(build(headless)), 0, 1)
    with pytest.raises(UserError, match="outside"):
        attribute_logit(run(small(), SOURCE, TARGET), parameters(build(small())), 0, 19)
    with pytest.raises(UserError, match="with itself"):
        attribute_logit(run(small(), SOURCE, TARGET), parameters(build(small())), 0, 7, 7)


def test_a_value_put_in_behind_the_heads_is_no_rounding() -> None:
    model = unlike_identity(build(small()))
    own, other = (run(small(), source, TARGET, weights=model) for source in (SOURCE, [row[::-1] for row in SOURCE]))
    assert attribute_logit(own, parameters(model), 1, 7, 4).adds_up

    def put_in(name: str, x: Any) -> Any:
        return torch.from_numpy(other[name].copy()) if name == "decoder.layers.1.cross_attn.out" else x

    found = attribute_logit(run(small(), SOURCE, TARGET, weights=model, tap=put_in), parameters(model), 1, 7, 4)
    assert not found.adds_up and found.logit == pytest.approx(found.total + found.remainder)
