"""The loss of heads that are taught where to look, against the same sum written word by word."""

import math
from dataclasses import replace
from itertools import islice, product

import pytest
import torch

from viz_core.config import TransformerConfig
from viz_core.model.transformer import Transformer
from viz_core.run import Batch, trace
from viz_core.text import Vocabulary
from viz_core.training.alignment_supervision import (
    ALIGNMENT_HEAD,
    PRONOUN_WEIGHT,
    REFERENT_HEAD,
    alignment_loss,
    supervised_layer,
    to_bitmasks,
)
from viz_core.training.corpus.dataset import examples
from viz_core.training.encoding import encode_pairs, pad_ids
from viz_core.training.shipped.loop import iter_batches, train
from viz_core.training.shipped.plans import TrainingSettings

WORDS = Vocabulary(tuple("abcdef"))
CONFIG = TransformerConfig(
    d_model=32, n_heads=2, n_encoder_layers=1, n_decoder_layers=2, source_vocab_size=10, target_vocab_size=10, dropout=0.0
)


def test_bits_say_what_the_examples_say() -> None:
    found = list(islice(examples(3), 200))
    alignment, referents = to_bitmasks((e.alignment, e.referent) for e in found)
    assert alignment.shape == referents.shape == (200, max(len(e.target) for e in found))
    for i, e in enumerate(found):
        read = [tuple(s for s in range(31) if bits >> s & 1) for bits in alignment[i].tolist()]
        assert read[: len(e.target)] == e.alignment and not any(read[len(e.target) :])
        nouns = {(t, s) for t, bits in enumerate(referents[i].tolist()) for s in range(31) if bits >> s & 1}
        assert nouns == ({e.referent} if e.referent else set())
    assert any(e.referent for e in found)


def test_a_source_that_is_too_long_for_bits_is_refused() -> None:
    assert to_bitmasks([([(30,)], None)])[0].tolist() == [[1 << 30]]
    for link in (31, 64):  # 64: no 64-bit integer has that bit
        with pytest.raises(ValueError, match="more than 31 words"):
            to_bitmasks([([(link,)], None)])
        with pytest.raises(ValueError, match="more than 31 words"):
            to_bitmasks([([(0,)], (0, link))])


def test_the_loss_is_the_sum_over_words() -> None:
    g = torch.Generator().manual_seed(0)
    weights = torch.randn(3, 4, 5, 6, generator=g, dtype=torch.float64).softmax(dim=-1)  # [B, H, T, S]
    alignment = torch.randint(0, 1 << 6, (3, 4), generator=g, dtype=torch.int32)  # one row fewer: that of <eos>
    referents = torch.tensor([[0, 0, 0, 0], [0, 4, 0, 0], [1, 0, 0, 0]], dtype=torch.int32)
    alignment[0, 2] = 0
    wanted = 0.0
    for b, t in product(range(3), range(4)):
        aligned, resolved = int(alignment[b, t]), int(referents[b, t]) or int(alignment[b, t])
        for bits, head, times in (
            (aligned, ALIGNMENT_HEAD, 1.0),
            (resolved, REFERENT_HEAD, PRONOUN_WEIGHT if referents[b, t] else 1.0),
        ):
            right = [float(weights[b, head, t, s]) for s in range(6) if bits >> s & 1]
            wanted -= times * math.log(sum(right)) if right else 0.0
    assert float(alignment_loss(weights, alignment, referents)) == pytest.approx(wanted, rel=1e-12)
    assert float(alignment_loss(weights, alignment[:, :0], referents[:, :0])) == 0


def test_a_weight_of_nothing_has_a_finite_loss() -> None:
    weights = torch.tensor([1.0, 0.0]).expand(1, 2, 1, 2).clone().requires_grad_()
    loss = alignment_loss(weights, torch.tensor([[2]], dtype=torch.int32), torch.tensor([[0]], dtype=torch.int32))
    loss.backward()
    assert 20 < loss.item() < 30 and weights.grad is not None and weights.grad.isfinite().all()


def test_links_stay_with_their_sentence_in_batches() -> None:
    """Zeros in the middle are words without links, not padding."""
    pairs = [(["a"] * (1 + i % 5), ["b"] * (1 + i % 7)) for i in range(60)]
    links = [([((i + j) % len(source),) if j % 3 == 1 else () for j in range(len(target))], None)
             for i, (source, target) in enumerate(pairs)]
    data = encode_pairs(CONFIG, pairs, {"source": WORDS, "target": WORDS}) | {"alignment": torch.from_numpy(to_bitmasks(links)[0])}
    data["number"] = torch.arange(1, 61)[:, None]
    for batch in islice(iter_batches(data, pad_ids(CONFIG), 8, 0), 7):
        for i, row in zip(batch["number"].flatten().tolist(), batch["alignment"], strict=True):
            whole = data["alignment"][i - 1]
            assert torch.equal(row, whole[: len(row)]) and not whole[len(row) :].any()
            assert len(row) <= batch["labels"].shape[1]


def test_a_head_learns_where_to_look_and_the_others_are_left_alone() -> None:
    """Every word is copied from its mirror place: the taught head looks there, and it does not without a guide."""
    sources = [[x, y, z] for x in WORDS.words for y in WORDS.words for z in WORDS.words]
    pairs = [(source, source[::-1]) for source in sources]
    vocabulary = {"source": WORDS, "target": WORDS}
    data = encode_pairs(CONFIG, pairs, vocabulary)
    bits = to_bitmasks([([(2,), (1,), (0,)], (0, 0)) for _ in pairs])
    data |= dict(zip(("alignment", "referents"), map(torch.from_numpy, bits), strict=True))
    looks = {}
    for guide in (0.0, 0.5):
        model = Transformer(CONFIG, 0)
        train(model, data, TrainingSettings(steps=120, batch_size=36, peak_rate=3e-3, warmup_steps=10, alignment_weight=guide))
        ids = {side: data[side].numpy() for side in ("source", "target", "labels")}
        name = f"decoder.layers.{supervised_layer(CONFIG)}.cross_attn.weights"
        weights = trace(model, Batch(ids, {}), keep=[name])[name]  # [B, H, T, S]
        looks[guide] = (weights[:, ALIGNMENT_HEAD, [0, 1, 2], [2, 1, 0]].mean(), weights[:, REFERENT_HEAD, 0, 0].mean())
    assert supervised_layer(CONFIG) == 0 and supervised_layer(replace(CONFIG, n_decoder_layers=1)) == 0
    assert min(looks[0.5]) > 0.8 and max(looks[0.0]) < 0.7, looks
