"""T5's relative position bias against the published implementation, `transformers`' T5 (Raffel et al. 2020)."""

import numpy as np
import pytest
import torch
from torch import nn

from tests.model.small import record
from tests.tolerances import DOUBLE
from viz_core.analysis import positions as closed
from viz_core.config import TransformerConfig
from viz_core.config.position_schemes import T5_NUM_BUCKETS
from viz_core.model.positions import T5_MAX_DISTANCE, t5_bias, t5_buckets
from viz_core.model.transformer import Transformer
from viz_core.run import build
from viz_core.stages import stages

WORDS, PAD = 40, 0
SIZES = {"d_model": 24, "n_heads": 4, "n_encoder_layers": 3, "n_decoder_layers": 2, "d_ff": 36}
CONFIG = TransformerConfig(
    **SIZES, position="t5", norm="none", scale_embedding=False, scale_scores=False, attention_bias=False, ffn_bias=False,
    head_bias=False, source_vocab_size=WORDS, target_vocab_size=WORDS,
)
SOURCE = torch.tensor([[5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 3], [7, 7, 3] + [PAD] * 15])
TARGET = torch.tensor([[2, 9, 8, 7, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 6, 5, 4, 9, 8], [2, 6, 6, 9] + [PAD] * 15])


@pytest.mark.parametrize("causal", [False, True])
def test_the_buckets_are_theirs_at_every_distance(causal: bool) -> None:
    from transformers.models.t5.modeling_t5 import T5Attention

    position = torch.arange(300)
    theirs = T5Attention._relative_position_bucket(
        position[None, :] - position[:, None], bidirectional=not causal, num_buckets=T5_NUM_BUCKETS, max_distance=T5_MAX_DISTANCE
    )
    assert torch.equal(t5_buckets(300, causal), theirs)
    assert [closed.t5_bucket(200, s, causal) for s in range(300)] == theirs[200].tolist()
    assert closed.T5_MAX_DISTANCE == T5_MAX_DISTANCE


@pytest.mark.parametrize("causal", [False, True])
def test_the_closed_form_by_distance_is_the_models_bias(causal: bool) -> None:
    table = torch.randn(T5_NUM_BUCKETS, 3, generator=torch.Generator().manual_seed(1))
    bias = t5_bias(table, 40, causal)[0].numpy()  # [H, T, S]
    distance, numbers = closed.t5_bias_by_distance(table.numpy(), causal, max_distance=39)
    for d, row in zip(distance.tolist(), numbers, strict=True):
        t, s = max(d, 0), max(-d, 0)
        np.testing.assert_array_equal(bias[:, t, s], row)


def theirs(model: Transformer) -> nn.Module:
    """A T5 of `transformers` with this model's parameters; its RMSNorms, which ours has not, are left out."""
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        vocab_size=WORDS, d_model=24, d_kv=6, d_ff=36, num_heads=4, num_layers=3, num_decoder_layers=2, dropout_rate=0.0,
        feed_forward_proj="relu", tie_word_embeddings=False, pad_token_id=PAD, attn_implementation="eager",
    )
    other = T5ForConditionalGeneration(config).double().eval()
    for parent in list(other.modules()):
        for name, child in parent.named_children():
            if type(child).__name__ == "T5LayerNorm":
                setattr(parent, name, nn.Identity())
    with torch.no_grad():
        for stack, mine in ((other.encoder, model.encoder), (other.decoder, model.decoder)):
            stack.embed_tokens.weight.copy_(mine.tok_embedding.weight)
            relative = stack.block[0].layer[0].SelfAttention.relative_attention_bias
            relative.weight.copy_(mine.relative_bias.weight)
            for block, layer in zip(stack.block, mine.layers, strict=True):
                attentions = [(block.layer[0].SelfAttention, layer.self_attn)]
                if hasattr(layer, "cross_attn"):
                    attentions.append((block.layer[1].EncDecAttention, layer.cross_attn))
                for a, b in attentions:
                    for x, y in ((a.q, b.w_q), (a.k, b.w_k), (a.v, b.w_v), (a.o, b.w_o)):
                        x.weight.copy_(y.weight)
                dense = block.layer[-1].DenseReluDense
                dense.wi.weight.copy_(layer.ffn.w_in.weight)
                dense.wo.weight.copy_(layer.ffn.w_out.weight)
        other.lm_head.weight = nn.Parameter(model.head.weight.clone())  # the library has tied it to the embedding
    return other


def test_a_whole_model_computes_what_theirs_does() -> None:
    """Logits and every attention map: bidirectional in the encoder, one-sided in the decoder, none in cross-attention."""
    model = build(CONFIG, seed=4).double()
    with torch.no_grad():
        for stack in (model.encoder, model.decoder):
            stack.relative_bias.weight.mul_(3.0)
        model.decoder.tok_embedding.weight.copy_(model.encoder.tok_embedding.weight)  # T5 has one for both
        out, r = record(model, SOURCE, TARGET)
        expected = theirs(model)(
            input_ids=SOURCE, attention_mask=SOURCE.ne(PAD), decoder_input_ids=TARGET, decoder_attention_mask=TARGET.ne(PAD),
            output_attentions=True,
        )
    words = TARGET.ne(PAD)
    torch.testing.assert_close(out.logits[words], expected.logits[words], rtol=DOUBLE, atol=DOUBLE)
    for i, weights in enumerate(expected.encoder_attentions):
        seen = SOURCE.ne(PAD)[:, None, :, None].expand_as(weights)
        torch.testing.assert_close(r[f"encoder.layers.{i}.self_attn.weights"][seen], weights[seen], rtol=DOUBLE, atol=DOUBLE)
    for i in range(2):
        for name, found in (("self", expected.decoder_attentions[i]), ("cross", expected.cross_attentions[i])):
            rows = words[:, None, :, None].expand_as(found)
            torch.testing.assert_close(r[f"decoder.layers.{i}.{name}_attn.weights"][rows], found[rows], rtol=DOUBLE, atol=DOUBLE)


def test_one_table_per_stack_is_used_in_every_layer_and_never_in_cross_attention() -> None:
    names = [s.name for s in stages(CONFIG)]
    assert [n for n in names if n.endswith("score_bias")] == ["encoder.score_bias", "decoder.score_bias"]
    assert not [n for n in names if n.endswith("cross_attn.bias")]
    model = build(CONFIG)
    tables = {n: tuple(p.shape) for n, p in model.named_parameters() if "relative_bias" in n}
    assert tables == {f"{stack}.relative_bias.weight": (T5_NUM_BUCKETS, 4) for stack in ("encoder", "decoder")}
    _, r = record(model, SOURCE, TARGET)
    for stack, n in (("encoder", 3), ("decoder", 2)):
        for i in range(n):
            assert torch.equal(r[f"{stack}.layers.{i}.self_attn.bias"], r[f"{stack}.score_bias"])


@pytest.mark.parametrize(("config", "stack"), [
    ({"architecture": "encoder-only"}, None), ({"architecture": "encoder-only", "causal": True}, "encoder"),
    ({"architecture": "decoder-only"}, "decoder"), ({"architecture": "decoder-only", "causal": False}, None),
    ({}, "decoder"), ({"causal": False}, None),
], ids=str)
def test_the_buckets_are_one_sided_under_the_causal_mask_alone(config: dict, stack: str | None) -> None:
    model = build(TransformerConfig(**SIZES, position="t5", source_vocab_size=WORDS, target_vocab_size=WORDS, **config))
    source = None if model.encoder is None else SOURCE
    _, r = record(model, source, None if model.decoder is None else TARGET)
    for name in [n for n in r if n.endswith("score_bias")]:
        later = r[name][0, :, 0, 1:]  # [H, S] what the first query would add to later keys
        assert torch.all(later == later[:, :1]).item() is (name.split(".")[0] == stack), name
