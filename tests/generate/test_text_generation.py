"""Greedy decoding and sampling against the model's own forward pass, prefix by prefix; against `transformers`; and as text."""

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.model.small import SOURCE, configs, small
from tests.model.test_t5 import CONFIG as T5
from tests.model.test_t5 import theirs
from viz_core.config import CHOICES, TransformerConfig
from viz_core.generate import Continuation, Sampling, available_length, decoder_batch, encode_source, generate, next_logits, write
from viz_core.generate.sampling import random_numbers, sample
from viz_core.model.transformer import Transformer
from viz_core.run import build, prepare, run, trace
from viz_core.text import Vocabulary, pad

BOS, EOS = 6, 7  # neither is a padding id of `configs`
WORDS = Vocabulary(tuple("abcdef"))
BOTH = {"source": WORDS, "target": WORDS}
CONFIG = small(source_vocab_size=10, target_vocab_size=10)


@torch.no_grad()
def by_hand(model: Transformer, start: torch.Tensor, source: torch.Tensor | None, most: int) -> list[Continuation]:
    """The likeliest word of the model's whole forward pass, one after the other, until every row has ended."""
    ids, found = start, []
    for _ in range(most):
        logits = model(source, ids).logits[:, -1]  # [B, W]
        ids = torch.cat((ids, logits.argmax(dim=-1)[:, None]), dim=1)
    for row in ids[:, start.shape[1] :].tolist():
        found.append(Continuation(row[: row.index(EOS)], True) if EOS in row else Continuation(row, False))
    return found


def padded(config: TransformerConfig) -> torch.Tensor:
    """Three sources of unlike length."""
    return torch.from_numpy(pad(SOURCE, config.source_pad_id))


# ---------------------------------------------------------------- the model's own forward pass


@pytest.mark.parametrize("position", CHOICES["position"])
@pytest.mark.parametrize("norm", CHOICES["norm"])
@pytest.mark.parametrize("architecture", ["encoder-decoder", "decoder-only"])
def test_each_word_is_the_likeliest_of_the_whole_forward_pass(architecture: str, norm: str, position: str) -> None:
    c = small(architecture=architecture, norm=norm, position=position)
    start = torch.tensor([[BOS], [BOS], [BOS]]) if c.has_encoder else torch.tensor([[BOS, 9], [BOS, 4], [BOS, 11]])
    source = padded(c) if c.has_encoder else None
    said = []
    for seed in range(6):
        model = build(c, seed)
        found = generate(model, start, source, eos_id=EOS, max_new_tokens=8)
        assert found == by_hand(model, start, source, 8)
        said += [one.ids for one in found]
    assert len(set(map(tuple, said))) > 6, "models that all say the same prove nothing"


@settings(max_examples=60, deadline=None)
@given(configs().filter(lambda c: c.has_decoder), st.integers(0, 3))
def test_so_it_is_under_every_switch(config: TransformerConfig, seed: int) -> None:
    model = build(config, seed)
    source = padded(config) if config.has_encoder else None
    start = torch.tensor([[BOS, 8], [BOS, 9], [BOS, 10]])
    context = None if source is None else encode_source(model, source, start)
    with torch.inference_mode():
        whole = model(source, start).logits[:, -1]  # [B, W]
        torch.testing.assert_close(next_logits(model, start, context), whole, equal_nan=True)


def test_a_source_is_translated_alone_as_beside_longer_ones() -> None:
    start, rows = torch.full((3, 1), WORDS.bos_id), [[4, 5, 6, 9, 8], [7, 8], [9]]
    told_apart = 0
    for seed in range(8):
        model = build(CONFIG, seed)
        beside = generate(model, start, torch.from_numpy(pad(rows, 0)), eos_id=WORDS.eos_id, max_new_tokens=7)
        alone = [generate(model, start[:1], torch.tensor([row]), eos_id=WORDS.eos_id, max_new_tokens=7)[0] for row in rows]
        assert beside == alone
        told_apart += len({tuple(one.ids) for one in alone}) > 1
    assert told_apart, "models that do not listen to their source prove nothing"


# ---------------------------------------------------------------- where it ends


@pytest.mark.parametrize("position", CHOICES["position"])
def test_a_position_table_bounds_it_and_other_positions_do_not(position: str) -> None:
    c = small(position=position, max_len=6)
    model, start = build(c, seed=1), torch.tensor([[BOS, 9]])
    with torch.no_grad():
        model.head.bias[EOS] = -1e9  # type: ignore[index,union-attr]  # it never ends by itself
    (found,) = generate(model, start, torch.tensor([[4, 5]]), eos_id=EOS, max_new_tokens=20)
    assert not found.has_ended and len(found.ids) == (5 if c.has_position_table else 20) == available_length(model, 2, 20)
    if c.has_position_table:
        with pytest.raises(ValueError, match="max_len 6 is too short for 7 tokens"):
            generate(model, torch.tensor([[BOS, *[9] * 6]]), torch.tensor([[4, 5]]), eos_id=EOS, max_new_tokens=20)
        with pytest.raises(ValueError, match="max_len 6 is too short for 8 tokens"):
            generate(model, start, torch.tensor([[4] * 8]), eos_id=EOS, max_new_tokens=20)


def test_each_row_ends_at_its_own_end() -> None:
    model, start = build(CONFIG, seed=2), torch.tensor([[BOS], [8], [9]])
    source = torch.tensor([[4, 5], [6, 7], [8, 9]])
    endless = generate(model, start, source, eos_id=-1, max_new_tokens=6)
    assert [one.has_ended for one in endless] == [False] * 3
    end = endless[0].ids[2]
    cut = generate(model, start, source, eos_id=end, max_new_tokens=6)
    for one, whole in zip(cut, endless, strict=True):
        assert one.has_ended == (end in whole.ids)
        assert one.ids == (whole.ids[: whole.ids.index(end)] if end in whole.ids else whole.ids)


def test_what_cannot_write_says_so() -> None:
    encoder = build(small(architecture="encoder-only"))
    with pytest.raises(ValueError, match="has no decoder"):
        generate(encoder, torch.tensor([[BOS]]), torch.tensor([[4]]), eos_id=EOS, max_new_tokens=3)
    with pytest.raises(ValueError, match="the target has no tokens"):
        generate(build(small()), torch.empty(1, 0, dtype=torch.int64), torch.tensor([[4]]), eos_id=EOS, max_new_tokens=3)
    with pytest.raises(ValueError, match="max_new_tokens cannot be 0"):
        generate(build(small()), torch.tensor([[BOS]]), torch.tensor([[4]]), eos_id=EOS, max_new_tokens=0)
    with pytest.raises(ValueError, match="needs source sentences"):
        generate(build(small()), torch.tensor([[BOS]]), eos_id=EOS, max_new_tokens=3)
    with pytest.raises(ValueError, match="source id 40 is outside the vocabulary"):
        generate(build(small()), torch.tensor([[BOS]]), torch.tensor([[40]]), eos_id=EOS, max_new_tokens=3)
    with pytest.raises(ValueError, match="target id 40 is outside the vocabulary"):
        generate(build(small()), torch.tensor([[40]]), torch.tensor([[4]]), eos_id=EOS, max_new_tokens=3)


# ---------------------------------------------------------------- sampling


def test_sampled_texts_come_as_often_as_their_probability_says() -> None:
    """Whole texts of at most two words, from one call with many rows: each text's own probability, by the forward pass."""
    c = small(architecture="decoder-only", target_vocab_size=5, target_pad_id=0)
    model, rows, end = build(c, seed=4), 1500, 1
    start = torch.full((rows, 1), 2)
    found = generate(model, start, eos_id=end, max_new_tokens=2, strategy=Sampling(temperature=0.7, seed=2))
    texts = [(*one.ids, *[end] * one.has_ended) for one in found]
    probability = {}
    with torch.inference_mode():
        first = (model(target=torch.tensor([[2]])).logits[0, -1].double() / 0.7).softmax(dim=-1)
        for x in range(5):
            second = (model(target=torch.tensor([[2, x]])).logits[0, -1].double() / 0.7).softmax(dim=-1)
            if x == end:
                probability[(x,)] = float(first[x])
            else:
                probability |= {(x, y): float(first[x] * second[y]) for y in range(5)}
    assert len(probability) == 21 and sum(probability.values()) == pytest.approx(1)
    chi_square = sum((texts.count(text) - rows * p) ** 2 / (rows * p) for text, p in probability.items())
    assert chi_square < 45.31  # 20 degrees of freedom, 1 in 1,000


@pytest.mark.parametrize("cache", [True, False])
def test_a_seed_draws_the_same_alone_as_beside_others_and_begins_a_longer_text(cache: bool) -> None:
    model, start = build(small(architecture="decoder-only"), seed=4), torch.tensor([[BOS, 9], [BOS, 9], [BOS, 4]])
    how = Sampling(temperature=1.5, top_k=9, top_p=0.9, seed=6)
    found = generate(model, start, eos_id=-1, max_new_tokens=8, strategy=how, use_cache=cache)
    assert found == generate(model, start, eos_id=-1, max_new_tokens=8, strategy=how, use_cache=not cache)
    assert found[:1] == generate(model, start[:1], eos_id=-1, max_new_tokens=8, strategy=how)
    assert [one.ids[:3] for one in found] == [
        one.ids for one in generate(model, start, eos_id=-1, max_new_tokens=3, strategy=how)]
    assert found[0] != found[1], "two rows of the same start draw with numbers of their own"
    assert found != generate(model, start, eos_id=-1, max_new_tokens=8, strategy=Sampling(temperature=1.5, seed=7))


def test_each_sampled_word_is_the_draw_of_its_number() -> None:
    model, source = build(CONFIG, seed=4), torch.tensor([[4, 5, 6]])
    how = Sampling(temperature=1.3, top_k=6, top_p=0.95, seed=1)
    (found,) = generate(model, torch.tensor([[BOS]]), source, eos_id=-1, max_new_tokens=6, strategy=how)
    ids = [BOS]
    for u in random_numbers(seed=1, row=0, count=6):
        with torch.inference_mode():
            logits = model(source, torch.tensor([ids])).logits[0, -1]
        ids.append(sample(logits.numpy(), how, u).token)
    assert found.ids == ids[1:] and len(set(ids)) > 2


def test_one_word_left_to_draw_is_greedy() -> None:
    model, start = build(CONFIG, seed=4), torch.tensor([[BOS], [8]])
    source = torch.tensor([[4, 5, 6], [7, 0, 0]])
    greedy = generate(model, start, source, eos_id=EOS, max_new_tokens=6)
    for how in (Sampling(top_k=1), Sampling(top_p=1e-9), Sampling(temperature=1e-6)):
        assert generate(model, start, source, eos_id=EOS, max_new_tokens=6, strategy=how) == greedy


# ---------------------------------------------------------------- the published implementation


def test_gpt2_goes_on_as_theirs_does(tmp_path: Path) -> None:
    from tests.weights.published import write as write_model
    from viz_core.weights.folder import read_folder

    published = write_model(tmp_path, "GPT2LMHeadModel")
    model = read_folder(tmp_path).load()
    start = torch.tensor([[0, 9, 14, 7], [0, 250, 11, 3], [0, 8, 8, 19]])
    expected = published.generate(
        input_ids=start, attention_mask=torch.ones_like(start), do_sample=False, max_new_tokens=12, pad_token_id=0,
        eos_token_id=299,
    )
    found = generate(model, start, eos_id=299, max_new_tokens=12)
    assert [one.ids for one in found] == [_until(row, 299) for row in expected[:, 4:].tolist()]
    assert len({tuple(one.ids) for one in found}) == 3 and max(len(set(one.ids)) for one in found) > 1


def test_t5_translates_as_theirs_does() -> None:
    """An encoder-decoder with padded sources, in float64."""
    for seed in range(4):
        model = build(T5, seed).double()
        with torch.no_grad():
            for stack in (model.encoder, model.decoder):
                stack.relative_bias.weight.mul_(3.0)  # type: ignore[union-attr]
            model.decoder.tok_embedding.weight.copy_(model.encoder.tok_embedding.weight)  # type: ignore[union-attr]
        source = torch.tensor([[5, 6, 7, 8, 9, 3], [7, 30, 3, 0, 0, 0], [11, 12, 13, 3, 0, 0]])
        expected = theirs(model).generate(
            input_ids=source, attention_mask=source.ne(0), do_sample=False, num_beams=1, max_new_tokens=10,
            decoder_start_token_id=2, eos_token_id=1, pad_token_id=0,
        )
        found = generate(model, torch.full((3, 1), 2), source, eos_id=1, max_new_tokens=10)
        assert [one.ids for one in found] == [_until(row, 1) for row in expected[:, 1:].tolist()]


def _until(row: list[int], end: int) -> list[int]:
    return row[: row.index(end)] if end in row else row


# ---------------------------------------------------------------- as text


def test_what_is_written_reads_back_as_the_same_ids() -> None:
    for seed in range(8):
        model = build(CONFIG, seed)
        with torch.no_grad():
            model.head.bias[: len(WORDS.words) - 2] -= 1e9  # type: ignore[index,union-attr]  # no special: words alone
        for one in write(model, ["a b", "c"], BOTH, max_new_tokens=5):
            assert one.is_typeable and one.as_target == one.text and len(one.text.split()) == 5 and not one.has_ended


def test_what_cannot_be_typed_is_read_as_ids() -> None:
    model = build(CONFIG, seed=3)
    with torch.no_grad():
        model.head.bias[WORDS.unk_id] += 1e9  # type: ignore[index,union-attr]
    (one,) = write(model, ["a b"], BOTH, max_new_tokens=2)
    assert (one.text, one.as_target, one.is_typeable) == ("<unk> <unk>", (WORDS.unk_id, WORDS.unk_id, WORDS.eos_id), False)
    capture = run(CONFIG, ["a b"], [one.as_target], weights=model)
    assert capture["ids.target"].tolist() == [[WORDS.bos_id, WORDS.unk_id, WORDS.unk_id]]


def test_a_silent_model_writes_an_empty_line_which_runs() -> None:
    model = build(CONFIG, seed=3)
    with torch.no_grad():
        model.head.bias[WORDS.eos_id] += 1e9  # type: ignore[index,union-attr]
    silent = write(model, ["a b", "c"], BOTH, max_new_tokens=4)
    assert [(one.text, one.as_target, one.has_ended) for one in silent] == [("", "", True)] * 2
    assert prepare(CONFIG, ["a b", "c"], [one.as_target for one in silent], BOTH).ids["labels"].tolist() == [[WORDS.eos_id]] * 2


@pytest.mark.parametrize("position", ["learned", "sinusoidal"])
def test_a_text_leaves_room_for_its_run(position: str) -> None:
    c = small(position=position, max_len=5, source_vocab_size=10, target_vocab_size=10)
    model = build(c, seed=1)
    with torch.no_grad():
        model.head.bias[[WORDS.eos_id, WORDS.unk_id, 0, 1]] -= 1e9  # type: ignore[index,union-attr]
    (one,) = write(model, ["a b c"], BOTH, max_new_tokens=20)
    assert len(one.text.split()) == 4 and not one.has_ended
    assert run(c, ["a b c"], [one.as_target], weights=model)["ids.target"].shape == (1, 5)


# ---------------------------------------------------------------- slots


NAMED = {"source": Vocabulary(("<1>", "<2>", "loves", "the", "dog", "'s")), "target": Vocabulary(("爱", "<1>", "狗", "<2>", "的"))}
NAMED_CONFIG = small(source_vocab_size=10, target_vocab_size=9)
PAIR = ["John loves Mary", "Zoe's dog $x$"]


def saying(ids: list[int]) -> Transformer:
    """A model that writes these ids one after the other, whatever it reads."""
    model = build(NAMED_CONFIG)
    assert model.head is not None
    steps = [*ids, NAMED["target"].eos_id]
    rows = torch.full((NAMED_CONFIG.target_vocab_size,), -1e9)

    def head(x: torch.Tensor) -> torch.Tensor:
        logits = rows.expand(*x.shape[:-1], -1).clone()
        logits[..., steps[min(head.step, len(steps) - 1)]] = 0.0  # type: ignore[attr-defined]
        head.step += 1  # type: ignore[attr-defined]
        return logits

    head.step = 0  # type: ignore[attr-defined]
    model.head.forward = head  # type: ignore[method-assign,assignment]
    return model


def test_a_slot_is_written_as_the_word_that_it_carries_and_read_again() -> None:
    one, two = NAMED["target"].encode(["<1>", "<2>"])
    written = write(saying([one, 4, two]), PAIR, NAMED, max_new_tokens=5)
    assert [line.text for line in written] == ["John 爱 Mary", "Zoe 爱 x"] and all(line.is_typeable for line in written)
    batch = prepare(NAMED_CONFIG, PAIR, [line.as_target for line in written], NAMED)
    assert batch.ids["labels"].tolist() == [[one, 4, two, 2]] * 2 and batch.copied_words == [("John", "Mary"), ("Zoe", "x")]
    assert batch.tokens["labels"] == [["John", "爱", "Mary", "<eos>"], ["Zoe", "爱", "x", "<eos>"]]
    assert batch.tokens["target"] == [["<bos>", "John", "爱", "Mary"], ["<bos>", "Zoe", "爱", "x"]]


def test_a_slot_that_carries_nothing_is_shown_as_it_is_called_and_kept_as_ids() -> None:
    one, two = NAMED["target"].encode(["<1>", "<2>"])
    (written,) = write(saying([one, 4, two]), ["John loves the dog"], NAMED, max_new_tokens=5)
    assert written.text == "John 爱 <2>" and not written.is_typeable and written.as_target == (one, 4, two, 2)
    batch = prepare(NAMED_CONFIG, ["John loves the dog"], [written.as_target], NAMED)
    assert batch.ids["labels"].tolist() == [[one, 4, two, 2]] and batch.tokens["labels"] == [["John", "爱", "<2>", "<eos>"]]


def test_each_sentence_has_its_own_names_on_both_sides() -> None:
    batch = prepare(NAMED_CONFIG, ["Ann loves Bob", "Bob loves Ann"], ["Bob 爱 ann", "Cy 爱 Bob"], NAMED)
    assert batch.ids["source"].tolist() == [[4, 6, 5]] * 2
    assert batch.ids["labels"].tolist() == [[7, 4, 5, 2], [3, 4, 5, 2]]  # Cy finds no slot
    assert batch.tokens["source"] == [["Ann", "loves", "Bob"], ["Bob", "loves", "Ann"]]
    free = prepare(NAMED_CONFIG, ["Ann loves the dog"], ["Cy 爱 Ann"], NAMED)
    assert free.ids["labels"].tolist() == [[7, 4, 5, 2]] and free.copied_words == [("Ann", "Cy")]


@pytest.mark.parametrize("architecture", ["encoder-only", "decoder-only"])
def test_one_side_alone_carries_its_own_words(architecture: str) -> None:
    config = small(architecture=architecture, source_vocab_size=10, target_vocab_size=10)
    sides = {"source": NAMED["source"], "target": NAMED["source"]}
    capture = trace(build(config), prepare(config, ["Ann loves Bob's dog", "the dog"], None, sides))
    side = config.input_side
    own = [row[side == "target" :][:5] for row in capture[f"ids.{side}"].tolist()]
    assert own[0][:4] == [4, 6, 5, 9] and capture.copied_words(0) == ("Ann", "Bob") and capture.copied_words(1) == ()
    assert "Bob" in capture.tokens(side)[0] and "'s" in capture.tokens(side)[0]


@pytest.mark.parametrize("architecture", ["encoder-decoder", "decoder-only"])
def test_what_was_written_is_read_as_a_run_reads_a_target(architecture: str) -> None:
    c = small(architecture=architecture)
    source, text = [5, 9, 7] if c.has_encoder else None, [1, 6, 4, 2]
    batch = decoder_batch(text, source, token_names={"source": "s{}".format, "target": "t{}".format})
    expected = prepare(c, None if source is None else [source], [text[1:]])
    assert {side: ids.tolist() for side, ids in batch.ids.items()} == {side: ids.tolist() for side, ids in expected.ids.items()}
    assert batch.tokens["target"] == [["t1", "t6", "t4"]] and batch.tokens["labels"] == [["t6", "t4", "t2"]]
    assert batch.tokens.get("source") == (None if source is None else [["s5", "s9", "s7"]])
