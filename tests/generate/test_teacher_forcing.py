"""Losses of given words: against the model's own loss, and by hand where the model reads its own words."""

import numpy as np
import pytest
import torch

from tests.model.small import small
from tests.tolerances import FLOAT
from viz_core.generate import generate
from viz_core.generate.teacher_forcing import compare_forcing, compare_with_forced_error, logprobs
from viz_core.messages.errors import UserError
from viz_core.run import build, run

BOS, EOS = 1, 2  # as the untrained tokenizer has them beside a padding id of 0
SOURCE, LABELS = [5, 9, 7], [6, 4, 11, 8, EOS]


@pytest.mark.parametrize("architecture", ["encoder-decoder", "decoder-only"])
def test_their_mean_is_the_loss_of_a_run(architecture: str) -> None:
    c = small(architecture=architecture)
    source = SOURCE if c.has_encoder else None
    model = build(c, seed=3)
    capture = run(c, None if source is None else [source], [LABELS], weights=model)
    found = logprobs(model, [BOS], LABELS, source)
    np.testing.assert_allclose(-found.mean(), capture["loss"], atol=FLOAT)
    np.testing.assert_allclose(np.exp(found), capture["probs"][0, range(5), LABELS], atol=FLOAT)
    np.testing.assert_allclose(logprobs(model, [BOS, *LABELS[:2]], LABELS[2:], source), found[2:], atol=FLOAT)
    forcing = compare_forcing(model, [BOS], LABELS, source, eos_id=EOS)
    np.testing.assert_allclose(forcing.teacher_forced_losses, -found, atol=FLOAT)
    assert forcing.predicted_ids == tuple(capture["logits"][0].argmax(axis=-1))


def test_they_part_where_the_first_wrong_word_is_written() -> None:
    parted = set()
    for seed in range(4):
        model = build(small(), seed)
        (said,) = generate(model, torch.tensor([[BOS]]), torch.tensor([SOURCE]), eos_id=EOS, max_new_tokens=5)
        for right in range(4):
            labels = [*said.ids[:right], (said.ids + [EOS] * 5)[right] % 18 + 1, *LABELS[: 4 - right]]
            if right > len(said.ids):
                continue
            found = compare_forcing(model, [BOS], labels, SOURCE, eos_id=EOS)
            assert found.diverges_at == right and found.generated_ids == (*said.ids, EOS)[: len(found.generated_ids)]
            assert len(found.generated_ids) == min(5, len(said.ids) + said.has_ended)
            np.testing.assert_allclose(found.free_running_losses[: right + 1], found.teacher_forced_losses[: right + 1], atol=FLOAT)
            by_hand = [
                -logprobs(model, [BOS, *found.generated_ids[:i]], [labels[i]], SOURCE)[0] for i in range(len(found.generated_ids))
            ]
            np.testing.assert_allclose(found.free_running_losses, by_hand, atol=FLOAT)
            if len(found.free_running_losses) > right + 1:
                assert not np.allclose(
                    found.free_running_losses[right + 1 :], found.teacher_forced_losses[right + 1 : len(found.free_running_losses)]
                )
            parted.add(right)
    assert parted == {0, 1, 2, 3}


def test_what_the_model_writes_by_itself_never_parts() -> None:
    model = build(small(), seed=1)
    (said,) = generate(model, torch.tensor([[BOS]]), torch.tensor([SOURCE]), eos_id=EOS, max_new_tokens=6)
    found = compare_forcing(model, [BOS], said.ids, SOURCE, eos_id=EOS)
    assert found.diverges_at is None and found.generated_ids == found.predicted_ids == tuple(said.ids)
    np.testing.assert_allclose(found.free_running_losses, found.teacher_forced_losses, atol=FLOAT)


def test_a_text_that_ends_early_has_no_losses_behind_its_end() -> None:
    model = build(small(), seed=1)
    with torch.no_grad():
        model.head.bias[EOS] = 1e3  # type: ignore[index,union-attr]
    found = compare_forcing(model, [BOS], LABELS, SOURCE, eos_id=EOS)
    assert (found.generated_ids, found.diverges_at, found.free_running_losses.shape, found.teacher_forced_losses.shape) == (
        (EOS,),
        0,
        (1,),
        (5,),
    )


def test_a_slip_writes_the_second_choice_and_reads_it() -> None:
    model = build(small(), seed=1)
    (said,) = generate(model, torch.tensor([[BOS]]), torch.tensor([SOURCE]), eos_id=EOS, max_new_tokens=5)
    by_itself = compare_with_forced_error(model, [BOS], said.ids, SOURCE, eos_id=EOS)  # it never goes wrong by itself
    assert (
        by_itself.error_at == by_itself.diverges_at == int(by_itself.comparison.teacher_forced_losses[:-1].argmax())
    )  # where it is least sure
    for at in range(len(said.ids)):
        found = compare_with_forced_error(model, [BOS], said.ids, SOURCE, eos_id=EOS, error_at=at)
        words = range(small().target_vocab_size)
        second = np.argsort([-logprobs(model, [BOS, *said.ids[:at]], [word], SOURCE)[0] for word in words])[1]
        assert found.generated_ids[: at + 1] == (*said.ids[:at], second) and (found.error_at, found.diverges_at) == (at, at)
        by_hand = [
            -logprobs(model, [BOS, *found.generated_ids[:i]], [said.ids[i]], SOURCE)[0] for i in range(len(found.generated_ids))
        ]
        np.testing.assert_allclose(found.free_running_losses, by_hand, atol=FLOAT)
    nowhere = compare_with_forced_error(model, [BOS], said.ids, SOURCE, eos_id=EOS, error_at=-1)
    assert (
        nowhere.error_at is None
        and nowhere.generated_ids == tuple(said.ids)
        and nowhere.free_running_losses is nowhere.comparison.free_running_losses
    )
    wrong = compare_with_forced_error(model, [BOS], [said.ids[0] % 18 + 1, *said.ids[1:]], SOURCE, eos_id=EOS)
    assert (wrong.error_at, wrong.diverges_at) == (None, 0)  # it goes wrong by itself


@pytest.mark.parametrize(("start", "labels", "sentence"), [
    ([], [4], "target has no tokens"), ([BOS], [], "target has no tokens"),
    ([BOS], [40], "target id 40 is outside the vocabulary"), ([BOS], [40, 3], "target id 40 is outside the vocabulary"),
    ([BOS], [4] * 17, "max_len 16 is too short for 17 tokens"),
])
def test_what_has_no_loss_says_so(start: list[int], labels: list[int], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        logprobs(build(small()), start, labels, SOURCE)
    with pytest.raises(UserError, match="needs source sentences"):
        logprobs(build(small()), [BOS], [4])
