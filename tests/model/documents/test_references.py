"""Each reference model alone: the shapes and the behaviour that its document states."""

import math

import pytest
import torch
from torch import nn

from . import doc000, doc001, doc002, doc003, doc004, weights


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def test_000_demo():
    model = doc000.Transformer(1000, 1000, 32, num_layers=2, heads=4, qk_dim=32, ff_hidden_size=64, max_length=20)
    src, tgt = torch.randint(1, 1000, (2, 6)), torch.randint(1, 1000, (2, 6))
    assert model(src, tgt).shape == (2, 6, 1000)
    src[0, 3:] = 0
    assert model.make_src_mask(src)[0, 0].tolist() == [[True] * 3 + [False] * 3]
    assert model.make_tgt_mask(tgt[:, :4])[0, 0].tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
    with pytest.raises(RuntimeError):
        model(torch.ones(1, 21, dtype=torch.long), tgt[:1])  # longer than max_length


def test_000_narrow_queries_keep_values_at_full_width():
    attention = doc000.Attention(embed_size=24, heads=3, qk_dim=12)
    assert attention.query.weight.shape == attention.key.weight.shape == (12, 24)
    assert attention.value.weight.shape == attention.fc_out.weight.shape == (24, 24)
    assert attention(torch.randn(2, 5, 24)).shape == (2, 5, 24)


def test_001_positions_are_sequence_first():
    pe = doc001.get_positional_encoding(20, 100)
    assert pe.shape == (100, 1, 20) and not pe.requires_grad
    assert pe[7, 0, 4].item() == pytest.approx(math.sin(7 / 10000 ** (4 / 20)), abs=1e-6)
    assert pe[7, 0, 5].item() == pytest.approx(math.cos(7 / 10000 ** (4 / 20)), abs=1e-6)
    embedding = doc001.EmbeddingsWithPositionalEncoding(512, 10000, 100)
    assert embedding(torch.randint(0, 10000, (10, 32))).shape == (10, 32, 512)


def test_001_hidden_states_and_generator():
    model = doc001.build(30, 40, d_model=20, heads=4, d_ff=24, n_encoder_layers=2, n_decoder_layers=2, max_len=12)
    src, tgt = torch.randint(0, 30, (7, 3)), torch.randint(0, 40, (5, 3))
    hidden = model(src, tgt, torch.ones(3, 7), torch.ones(3, 5, 5).tril())
    assert hidden.shape == (5, 3, 20)
    assert model.generate(hidden).shape == (5, 3, 40)
    assert torch.allclose(model.generate(hidden).sum(-1), torch.ones(5, 3))
    model.encoder.layers[0].is_save_ff_input = True
    full, keys = torch.ones(3, 7, 7), torch.ones(3, 7)
    assert torch.equal(model.encode(src, full), model.encode(src, keys))
    assert model.encoder.layers[0].ff_input.shape == (7, 3, 20)


def test_002_padded_queries_are_nan_and_spread():
    model = doc002.Transformer(1, 1, 30, 40, max_len=12, d_model=16, n_heads=2, ffn_hidden=24, n_layers=2)
    assert (model.encoder.embedding.tok_emb.weight[1] == 0).all()
    src = torch.randint(2, 30, (2, 6))
    src[0, 4:] = 1
    mask = model.make_pad_mask(src, src, 1, 1)
    first = model.encoder.layers[0](model.encoder.embedding(src), mask)
    assert first.isnan().all(-1).tolist() == [[False] * 4 + [True] * 2, [False] * 6]
    second = model.encoder.layers[1](first, mask)
    assert second.isnan().all(-1).tolist() == [[True] * 6, [False] * 6]
    repaired = doc002.Transformer(1, 1, 30, 40, 12, 16, 2, 24, 2, empty_row_zero=True)
    assert repaired(src, torch.randint(2, 40, (2, 5))).isfinite().all()


def test_002_layer_norm_is_biased_with_a_small_epsilon():
    x = torch.randn(3, 4, 16)
    assert torch.allclose(doc002.LayerNorm(16)(x), nn.LayerNorm(16, eps=1e-10)(x), atol=1e-6)
    assert not torch.allclose(doc002.LayerNorm(16)(x * 1e-3), nn.LayerNorm(16, eps=1e-5)(x * 1e-3), atol=1e-2)


def test_003_logits_at_every_position():
    model = doc003.SimpleGPT(50, 24, 3, 2, max_len=10)
    ids = torch.randint(1, 50, (2, 7))
    assert model(ids).shape == (2, 7, 50)
    assert model.count_parameters() == sum(p.numel() for p in model.parameters())
    assert model.encoder.layers[0].feed_forward.linear1.out_features == 96
    assert (model.encoder.embedding.weight[0] == 0).all()
    changed = torch.cat([ids[:, :-1], ids[:, -1:] % 49 + 1], dim=1)
    causal = torch.ones(7, 7).tril()
    assert not torch.allclose(model(ids)[:, 0], model(changed)[:, 0])
    assert torch.allclose(model(ids, causal)[:, :-1], model(changed, causal)[:, :-1])


def test_004_ten_queries_and_twelve_keys():
    attention = doc004.MultiHeadAttention(64, 8)
    assert attention(torch.randn(3, 10, 64), torch.randn(3, 12, 64), torch.randn(3, 12, 64)).shape == (3, 10, 64)
    model = doc004.Transformer(30, 40, 16, 4, 1, 2, 24, max_seq_len=12)
    logits = model(torch.randint(1, 30, (3, 12)), torch.randint(1, 40, (3, 10)))
    assert logits.shape == (3, 10, 40) and logits.isfinite().all()
    assert model._generate_square_subsequent_mask(3).tolist() == [
        [0, -math.inf, -math.inf],
        [0, 0, -math.inf],
        [0, 0, 0],
    ]


@pytest.mark.parametrize("length", [4, 5])  # 4 is the number of heads, where a (T, 1, T) mask would pass unnoticed
def test_004_hand_written_look_ahead_mask(length):
    layer = doc004.DecoderLayer(16, 4, 24).eval()
    x, memory = torch.randn(2, length, 16), torch.randn(2, 6, 16)
    changed = torch.cat([x[:, :-1], torch.randn(2, 1, 16)], dim=1)
    blocked = torch.ones(length, length).triu(1).bool()
    before, after = layer(x, memory, tgt_mask=blocked), layer(changed, memory, tgt_mask=blocked)
    assert torch.allclose(before[:, :-1], after[:, :-1], atol=1e-6)


def test_fill_refuses_leftovers():
    linear = nn.Sequential(nn.Linear(2, 3))
    values = {"a.weight": torch.ones(3, 2), "a.bias": torch.zeros(3)}
    weights.fill(linear, values, {"0": "a"})
    assert (linear[0].weight == 1).all()
    with pytest.raises(ValueError, match="not taken"):
        weights.fill(linear, values | {"b.weight": torch.ones(1)}, {"0": "a"})
    with pytest.raises(ValueError, match="not filled"):
        weights.fill(linear, values, {})
    with pytest.raises(ValueError, match="is \\(3,\\)"):
        weights.fill(linear, values | {"a.bias": torch.zeros(4)}, {"0": "a"})
