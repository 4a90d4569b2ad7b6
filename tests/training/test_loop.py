"""The training loop learns, does the same twice, and leaves nothing changed behind it."""

from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice

import pytest
import torch
from torch import nn

from viz_core.config import TransformerConfig
from viz_core.generate import generate
from viz_core.model.transformer import Transformer
from viz_core.run import prepare
from viz_core.text import Vocabulary
from viz_core.training.encoding import encode_pairs, pad_ids
from viz_core.training.shipped.loop import (
    TrainingSettings,
    deterministic_algorithms,
    iter_batches,
    train,
    trim_padding,
)
from viz_core.training.step import flush_denormals, make_adam, single_thread

WORDS = Vocabulary(tuple("abcdef"))
BOTH = {"source": WORDS, "target": WORDS}
CONFIG = TransformerConfig(
    d_model=32, n_heads=2, n_encoder_layers=1, n_decoder_layers=1, source_vocab_size=10, target_vocab_size=10, dropout=0.1
)
# Every pair of letters, turned round.
PAIRS = [([x, y], [y, x]) for x in WORDS.words for y in WORDS.words]
RECIPE = TrainingSettings(steps=250, batch_size=18, peak_rate=5e-3, warmup_steps=25)


def test_a_tiny_task_is_learnt() -> None:
    model = Transformer(CONFIG, 0)
    data = encode_pairs(CONFIG, PAIRS, BOTH)
    losses = train(model, data, RECIPE)
    assert len(losses) == RECIPE.steps
    assert losses[0] > 1.5 and sum(losses[-10:]) / 10 < 0.1
    assert not model.training
    start = torch.full((len(PAIRS), 1), WORDS.bos_id)
    said = generate(model, start, data["source"], eos_id=WORDS.eos_id, max_new_tokens=30)
    assert [[WORDS.decode(i) for i in one.ids] for one in said] == [target for _, target in PAIRS]


def test_a_language_model_is_learnt_too() -> None:
    config = replace(CONFIG, architecture="decoder-only")
    data = encode_pairs(config, [([], list("abcde"))] * 4, {"target": WORDS})
    assert set(data) == {"target", "labels"}
    model = Transformer(config, 0)
    train(model, data, replace(RECIPE, steps=60, batch_size=4))
    start = torch.tensor([[WORDS.bos_id]])
    assert generate(model, start, eos_id=WORDS.eos_id, max_new_tokens=30) == [(WORDS.encode("abcde"), True)]
    start = torch.tensor([[WORDS.bos_id, *WORDS.encode("ab")]])
    assert generate(model, start, eos_id=WORDS.eos_id, max_new_tokens=30) == [(WORDS.encode("cde"), True)]
    assert generate(model, start, eos_id=WORDS.eos_id, max_new_tokens=2) == [(WORDS.encode("cd"), False)]


def test_the_same_seed_gives_the_same_weights() -> None:
    recipe = replace(RECIPE, steps=5)
    models = [Transformer(CONFIG, 0) for _ in range(3)]
    data = encode_pairs(CONFIG, PAIRS, BOTH)
    losses = [train(model, data, replace(recipe, seed=seed)) for model, seed in zip(models, (0, 0, 1), strict=True)]
    same, again, other = (nn.utils.parameters_to_vector(model.parameters()) for model in models)
    assert torch.equal(same, again) and losses[0] == losses[1]
    assert not torch.allclose(same, other) and losses[0] != losses[2]


def test_half_precision_is_near_the_single_one_and_leaves_single_parameters() -> None:
    recipe = replace(RECIPE, steps=20)
    data = encode_pairs(CONFIG, PAIRS, BOTH)
    models = [Transformer(CONFIG, 0), Transformer(CONFIG, 0)]
    single, half = (train(model, data, replace(recipe, bfloat16=half)) for model, half in zip(models, (False, True), strict=True))
    assert all(p.dtype == torch.float32 for p in models[1].parameters())
    assert single != half and half == pytest.approx(single, rel=0.05)


def test_the_callers_random_state_and_settings_come_back() -> None:
    state, deterministic = torch.random.get_rng_state(), torch.are_deterministic_algorithms_enabled()
    train(Transformer(CONFIG, 0), encode_pairs(CONFIG, PAIRS, BOTH), replace(RECIPE, steps=2))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.are_deterministic_algorithms_enabled() == deterministic and torch.utils.deterministic.fill_uninitialized_memory
    with pytest.raises(RuntimeError, match="on purpose"), deterministic_algorithms(0):
        assert torch.are_deterministic_algorithms_enabled()
        raise RuntimeError("on purpose")
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.are_deterministic_algorithms_enabled() == deterministic and torch.utils.deterministic.fill_uninitialized_memory


def test_a_step_is_one_of_adam_on_a_clipped_gradient() -> None:
    config, recipe = (
        replace(CONFIG, dropout=0.0),
        TrainingSettings(steps=3, batch_size=6, peak_rate=1e-2, warmup_steps=1, max_grad_norm=0.1),
    )
    ours, theirs = Transformer(config, 0).double(), Transformer(config, 0).double()
    data = encode_pairs(config, PAIRS[:6], BOTH)
    train(ours, data, recipe)
    adam = torch.optim.Adam(theirs.parameters(), betas=(0.9, 0.98), eps=1e-9)
    for step in range(3):
        logits = theirs(data["source"], data["target"]).logits
        loss = -logits.log_softmax(-1).gather(-1, data["labels"][..., None]).mean()  # no padding here
        adam.zero_grad()
        loss.backward()
        gradients = [p.grad for p in theirs.parameters() if p.grad is not None]
        norm = torch.cat([g.flatten() for g in gradients]).norm()
        assert norm > recipe.max_grad_norm
        for g in gradients:
            g *= recipe.max_grad_norm / (norm + 1e-6)
        adam.param_groups[0]["lr"] = 1e-2 * min(step + 1, (3 - step) / 2)
        adam.step()
    for x, y in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(x, y, atol=1e-9, rtol=0)


def test_a_loss_that_is_not_finite_ends_the_training() -> None:
    model = Transformer(CONFIG, 0)
    with torch.no_grad():
        model.head.bias[0] = float("nan")  # type: ignore[union-attr]
    with pytest.raises(FloatingPointError, match="the loss at step 1 is nan"):
        train(model, encode_pairs(CONFIG, PAIRS, BOTH), RECIPE)


def test_the_rate_climbs_and_falls_in_a_line() -> None:
    recipe = TrainingSettings(steps=100, peak_rate=1.0, warmup_steps=10)
    rates = [recipe.learning_rate(step) for step in range(100)]
    assert rates[0] == pytest.approx(0.1) and rates[4] == pytest.approx(0.5) and max(rates) == pytest.approx(1.0)
    assert rates.index(max(rates)) in (9, 10)
    assert rates[55] == pytest.approx(0.5) and rates[99] == pytest.approx(1 / 90)
    short = recipe.with_steps(3)
    assert (short.steps, short.warmup_steps, short.peak_rate) == (3, 1, 1.0) and all(short.learning_rate(s) > 0 for s in range(3))


# --- Sentences as ids -------------------------------------------------------------------------------------------------


def test_encoded_as_the_app_encodes_typed_text() -> None:
    pairs = [("a b c", "b ?"), ("d", "a b c d")]
    data = encode_pairs(CONFIG, [(source.split(), target.split()) for source, target in pairs], BOTH)
    batch = prepare(CONFIG, [source for source, _ in pairs], [target for _, target in pairs], BOTH)
    assert {side: x.tolist() for side, x in data.items()} == {side: x.tolist() for side, x in batch.ids.items()}


def test_each_round_brings_every_sentence_once() -> None:
    pairs = [(["a"] * (1 + i % 7), ["b"] * (1 + i % 5)) for i in range(70)]
    data = encode_pairs(CONFIG, pairs, BOTH) | {"number": torch.arange(1, 71)[:, None]}
    pads = pad_ids(CONFIG) | {"number": 0}
    for seed in (0, 1):
        seen: list[int] = []
        for batch in iter_batches(data, pads, 8, seed):
            if len(seen) == 140:
                break
            seen += batch["number"].flatten().tolist()
            for side in ("source", "target", "labels"):
                assert (batch[side][:, -1] != 0).any()  # no column is padding alone
                assert torch.equal(batch[side], trim_padding(data[side][batch["number"].flatten() - 1], 0))
        assert set(Counter(seen[:70]).values()) == set(Counter(seen[70:]).values()) == {1}
        assert seen[:70] != seen[70:]


def test_like_lengths_come_together() -> None:
    pairs = [(["a"] * (1 + i % 12), ["b"]) for i in range(320)]
    widths = [
        batch["source"].shape[1] for batch in islice(iter_batches(encode_pairs(CONFIG, pairs, BOTH), pad_ids(CONFIG), 10, 0), 32)
    ]
    assert sum(widths) / len(widths) < 9  # chance alone gives almost always 12


def test_batches_follow_their_seed() -> None:
    data = encode_pairs(CONFIG, PAIRS, BOTH)
    first = [[x["source"].tolist() for x in islice(iter_batches(data, pad_ids(CONFIG), 6, seed), 4)] for seed in (0, 0, 1)]
    assert first[0] == first[1] != first[2]


def test_padding_may_have_any_id() -> None:
    """The same rows with another id for padding: the same batches, row by row and cut at the same column."""
    data = encode_pairs(CONFIG, [(["a"] * (1 + i % 7), ["b"] * (1 + i % 5)) for i in range(70)], BOTH)
    others = replace(CONFIG, source_pad_id=9, target_pad_id=8)
    assert pad_ids(others) == {"source": 9, "target": 8, "labels": 8}
    renamed = {side: torch.where(x == 0, pad_ids(others)[side], x) for side, x in data.items()}
    for one, other in islice(
        zip(iter_batches(data, pad_ids(CONFIG), 8, 3), iter_batches(renamed, pad_ids(others), 8, 3), strict=True), 12
    ):
        for side, x in one.items():
            assert torch.equal(torch.where(x == 0, pad_ids(others)[side], x), other[side])


def test_an_encoder_alone_learns_the_next_word() -> None:
    config = replace(CONFIG, architecture="encoder-only", causal=True)
    data = encode_pairs(config, [(list("abcde"), []), (list("bcd"), [])], {"source": WORDS})
    assert data["labels"].tolist() == [[*WORDS.encode("bcde"), WORDS.eos_id], [*WORDS.encode("cd"), WORDS.eos_id, 0, 0]]
    model = Transformer(config, 0)
    train(model, data, replace(RECIPE, steps=60, batch_size=2))
    assert model(data["source"]).logits[0].argmax(-1).tolist() == data["labels"][0].tolist()


def test_numbers_that_are_slow_to_compute_with_count_as_0_while_it_trains() -> None:
    tiny, seen = torch.tensor([1e-39]), []
    train(
        Transformer(CONFIG, 0),
        encode_pairs(CONFIG, PAIRS, BOTH),
        replace(RECIPE, steps=2),
        lambda step, loss: seen.append(tiny * 1),
    )
    assert seen == [0, 0] and tiny * 1 > 0  # and afterwards they are numbers again


def test_the_averages_of_a_rare_word_fade_to_0_and_its_weights_stay_as_they_were() -> None:
    found = []
    for context in (nullcontext(), flush_denormals()):
        model = nn.Linear(8, 8)
        nn.init.constant_(model.weight, 0.5)
        optimizer = make_adam(model)
        with single_thread(), context:  # the setting is of a thread
            for step in range(900):
                model.weight.grad = torch.full((8, 8), float(step == 0))
                optimizer.step()
        found.append((model.weight.detach(), optimizer.state[model.weight]["exp_avg"]))
    (slow, fading), (quick, faded) = found
    assert 0 < float(fading.abs().max()) < torch.finfo(torch.float32).tiny and float(faded.abs().max()) == 0
    assert torch.equal(slow, quick)
