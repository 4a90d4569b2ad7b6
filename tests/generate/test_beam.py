"""Beam search against every text that there is, and against `transformers`' own."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.generate import bart
from tests.model.small import small
from tests.model.test_t5 import CONFIG as T5
from tests.model.test_t5 import theirs as t5
from tests.tolerances import FLOAT
from viz_core.config import TransformerConfig
from viz_core.generate import Beam, Greedy, generate
from viz_core.generate.beam import BeamSearch, beam_search
from viz_core.generate.incremental import init_decoder
from viz_core.generate.teacher_forcing import logprobs
from viz_core.messages.errors import UserError
from viz_core.model.transformer import Transformer
from viz_core.run import build

EOS, BOS = 1, 2
PENALTIES = (-1.0, 0.0, 0.6, 1.0, 2.0)


def lively(config: TransformerConfig, seed: int) -> Transformer:
    """A model with opinions: logits far enough apart for texts to differ much in probability."""
    model = build(config, seed)
    with torch.no_grad():
        model.head.weight.mul_(3)  # type: ignore[union-attr]
    return model


def searched(model: Transformer, source: list[int] | None, beam: Beam, longest: int) -> BeamSearch:
    start = torch.tensor([[BOS]])
    with torch.inference_mode():
        reader = init_decoder(model, start, None if source is None else torch.tensor([source]))
        return beam_search(reader, start, beam, eos_id=EOS, max_new_tokens=longest)


# ---------------------------------------------------------------- every text there is


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("architecture", ["encoder-decoder", "decoder-only"])
def test_a_beam_that_is_wide_enough_finds_the_best_of_all_texts(architecture: str, penalty: float) -> None:
    """4 words, at most 3 of them: 3 texts may go on from each, so 81 beams hold all."""
    c = small(architecture=architecture, source_vocab_size=9, target_vocab_size=4)
    source, longest = ([5, 6, 7] if c.has_encoder else None), 3
    chosen = set()
    for seed in range(4):
        model = lively(c, seed)
        scored = []
        for length in range(1, longest + 1):
            for text in product(range(4), repeat=length):
                whole = EOS not in text[:-1] and (text[-1] == EOS or length == longest)
                if whole:
                    scored.append((logprobs(model, [BOS], text, source).sum() / length**penalty, text))
        best, text = max(scored)
        search = searched(model, source, Beam(num_beams=81, length_penalty=penalty), longest)
        assert search.chosen.score == pytest.approx(best, abs=FLOAT)
        assert search.chosen.ids == tuple(x for x in text if x != EOS) and search.chosen.has_ended == (EOS in text)
        assert len(search.finished) == len(scored) == 1 + 3 + 9 * 4
        chosen.add(text)
    assert len(chosen) > 1


def test_one_beam_is_greedy() -> None:
    for seed in range(4):
        model = lively(small(), seed)
        start, source = torch.tensor([[BOS], [BOS]]), torch.tensor([[5, 6, 7], [8, 0, 0]])
        beam = generate(model, start, source, eos_id=EOS, max_new_tokens=8, strategy=Beam(num_beams=1, length_penalty=0.0))
        assert beam == generate(model, start, source, eos_id=EOS, max_new_tokens=8, strategy=Greedy())


# ---------------------------------------------------------------- the published implementation


@pytest.mark.parametrize("num_beams", [2, 5])
def test_gpt2_searches_as_theirs_does(tmp_path: Path, num_beams: int) -> None:
    from tests.weights.published import write as write_model
    from viz_core.weights.folder import read_folder

    published = write_model(tmp_path, "GPT2LMHeadModel")
    model = read_folder(tmp_path).load()
    start = torch.tensor([[0, 9, 14, 7], [0, 250, 11, 3], [0, 8, 8, 19]])
    said = generate(model, start, eos_id=-1, max_new_tokens=12)
    texts = {}
    for end in {said[2].ids[0], said[0].ids[num_beams % 2]}:  # words that it likes to say, so that texts end
        for penalty in PENALTIES:
            expected = published.generate(
                input_ids=start, attention_mask=torch.ones_like(start), do_sample=False, max_new_tokens=12, pad_token_id=0,
                eos_token_id=end, num_beams=num_beams, length_penalty=penalty,
            )
            beam = Beam(num_beams=num_beams, length_penalty=penalty)
            found = generate(model, start, eos_id=end, max_new_tokens=12, strategy=beam)
            assert [one.ids for one in found] == [bart.until(row, end) for row in expected[:, 4:].tolist()]
            texts[end, penalty] = [tuple(one.ids) for one in found]
    differ(texts, lengths=2)


def differ(texts: dict[tuple[int, float], list[tuple[int, ...]]], lengths: int) -> None:
    """Texts that are all alike under every penalty would prove nothing about it."""
    assert len({len(text) for found in texts.values() for text in found}) >= lengths
    assert any(found != texts[end, 1.0] for (end, _), found in texts.items())


def test_bart_searches_as_theirs_does() -> None:
    """An encoder-decoder with padded sources."""
    start = torch.full((3, 1), bart.START)
    for seed, ends in ((2, (10, 30)), (3, (20, 29))):  # words that end texts early under one penalty and late under another
        published = bart.bart(seed)
        model = bart.ours(published)
        said = generate(model, start, bart.SOURCE, eos_id=-1, max_new_tokens=9)
        assert [one.ids for one in said] == bart.written_by(published, bart.SOURCE, 9, end=None, num_beams=1)
        texts = {}
        for end in ends:
            for penalty in PENALTIES:
                beam = Beam(num_beams=3, length_penalty=penalty)
                found = generate(model, start, bart.SOURCE, eos_id=end, max_new_tokens=9, strategy=beam)
                assert [one.ids for one in found] == bart.written_by(
                    published, bart.SOURCE, 9, end=end, num_beams=3, length_penalty=penalty)
                texts[end, penalty] = [tuple(one.ids) for one in found]
        differ(texts, lengths=4)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_t5_searches_as_theirs_does(penalty: float) -> None:
    source = torch.tensor([[5, 6, 7, 8, 9, 3], [7, 30, 3, 0, 0, 0], [11, 12, 13, 3, 0, 0]])
    for seed in range(3):
        model = lively(T5, seed).double()
        with torch.no_grad():
            model.decoder.tok_embedding.weight.copy_(model.encoder.tok_embedding.weight)  # type: ignore[union-attr]
        expected = t5(model).generate(
            input_ids=source, attention_mask=source.ne(0), do_sample=False, num_beams=3, length_penalty=penalty, max_new_tokens=8,
            decoder_start_token_id=2, eos_token_id=1, pad_token_id=0,
        )
        found = generate(model, torch.full((3, 1), 2), source, eos_id=1, max_new_tokens=8,
                         strategy=Beam(num_beams=3, length_penalty=penalty))
        assert [one.ids for one in found] == [bart.until(row, 1) for row in expected[:, 1:].tolist()]


# ---------------------------------------------------------------- what can be watched


@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_every_candidate_is_accounted_for(penalty: float) -> None:
    finished_by = set()
    for seed in range(5):
        model, source, beam = lively(small(target_vocab_size=7), seed), [5, 6, 7], Beam(num_beams=3, length_penalty=penalty)
        search = searched(model, source, beam, longest=6)
        for length, step in enumerate(search.steps, 1):
            totals = [x.total for x in step.candidates]
            assert totals == sorted(totals, reverse=True) and len(totals) == 6
            for rank, x in enumerate(step.candidates):
                text = (*step.beams[x.parent], x.token)
                each = logprobs(model, [BOS], text, source)
                np.testing.assert_allclose((x.logprob, x.total), (each[-1], each.sum()), atol=FLOAT)
                assert x.score == x.total / length**penalty
                over = x.token == EOS or length == 6
                assert x.outcome == ("finished" if rank < 3 else "cut") if over else x.outcome in ("kept", "cut")
            kept = [x for x in step.candidates if x.outcome == "kept"]
            going_on = [x for x in step.candidates if x.token != EOS and length < 6]
            assert kept == going_on[:3]
            if length < len(search.steps):
                assert search.steps[length].beams == tuple((*step.beams[x.parent], x.token) for x in kept)
        scores = sorted((x.score for step in search.steps for x in step.candidates if x.outcome == "finished"), reverse=True)
        assert [one.score for one in search.finished] == scores[:3]
        finished_by.add((len(search.steps), search.chosen.has_ended))
    assert len(finished_by) > 1


def test_a_text_is_searched_alone_as_beside_others_and_with_the_cache_as_without() -> None:
    model, source = lively(small(target_vocab_size=9), 1), torch.tensor([[5, 6, 7, 9], [8, 3, 0, 0], [4, 4, 4, 0]])
    start, beam = torch.full((3, 1), BOS), Beam(num_beams=3)
    together = [generate(model, start, source, eos_id=EOS, max_new_tokens=7, strategy=beam, use_cache=on) for on in (True, False)]
    alone = [generate(model, start[:1], row[None], eos_id=EOS, max_new_tokens=7, strategy=beam)[0] for row in source]
    assert together == [alone, alone] and len({tuple(one.ids) for one in alone}) > 1


def test_a_position_table_bounds_a_search_too() -> None:
    c = small(max_len=5, architecture="decoder-only")
    (found,) = generate(build(c), torch.tensor([[BOS, 4]]), eos_id=-1, max_new_tokens=50, strategy=Beam(num_beams=2))
    assert len(found.ids) == 4 and not found.has_ended


def test_logits_without_a_softmax_say_so() -> None:
    model = build(small(architecture="decoder-only"))
    with torch.no_grad():
        model.head.bias[3] = float("nan")  # type: ignore[index,union-attr]
    with pytest.raises(UserError, match="The logits are infinite or NaN"):
        generate(model, torch.tensor([[BOS]]), eos_id=EOS, max_new_tokens=3, strategy=Beam())
