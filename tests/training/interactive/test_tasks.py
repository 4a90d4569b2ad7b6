"""Every task is complete, draws its rows from (seed, step) alone, and asks what its name says."""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest
import torch

from viz_core.config import TransformerConfig
from viz_core.messages import lazy
from viz_core.messages.errors import UserError
from viz_core.training.examples import first_lesson
from viz_core.training.interactive.tasks import TASKS, ParameterRange, Task, language
from viz_core.training.interactive.tasks.markov import WORDS, MarkovChain, entropy, make_chain
from viz_core.training.interactive.tasks.symbols import is_held_out, previous_seen_mask, symbol_names

SMALL = {"sentences": 500, "longest": 6}
SYMBOLS = [name for name, task in TASKS.items() if "sentences" not in task.parameter_ranges]


def parameters(task: Task, **given: int) -> dict[str, int]:
    return task.complete_parameters({**{n: v for n, v in SMALL.items() if n in task.parameter_ranges}, **given})


CASES = [(name, architecture) for name, task in TASKS.items() for architecture in task.architectures]


# --- The registry -----------------------------------------------------------------------------------------------------
def missing_in(name: str, task: Task) -> Iterator[str]:
    """What an entry lacks."""
    where = f"viz_core/training/interactive/tasks, {name!r}"
    if task.name != name:
        yield f"{where} calls itself {task.name!r}"
    parts = ("title", "question", "architectures", "parameter_ranges")
    yield from (f"{where} has an empty {part}" for part in parts if not getattr(task, part))
    if not str(task.question).endswith("?") or str(task.question).count("?") != 1:
        yield f"{where} asks no single question"
    for parameter, bound in task.parameter_ranges.items():
        if not bound.title or not bound.minimum <= bound.default <= bound.maximum:
            yield f"{where}: the parameter {parameter!r} has no title, or its default is outside its bounds"
    for architecture in task.architectures:
        yield from (f"{where}, {architecture}: {said}" for said in missing_in_batches(task, architecture))


def missing_in_batches(task: Task, architecture: Any) -> Iterator[str]:
    p, config = parameters(task), TransformerConfig(architecture=architecture)
    vocabulary, lengths = task.vocabulary(p, architecture), task.kind.max_lengths(p, architecture)
    if set(vocabulary) != set(config.sides) or set(lengths) != set(config.sides):
        yield "its vocabulary or its lengths are not those of the sides that the architecture has"
        return
    for rows, size in ((task.train_batch(p, architecture, 0, 0, 3), 3), (task.held_out_batch(p, architecture), None)):
        if set(rows) != {*config.sides, "labels"}:
            yield "a batch lacks a side, or the labels"
            continue
        for side in config.sides:
            if rows[side].dtype != torch.int64 or int(rows[side].max()) >= vocabulary[side].vocab_size:
                yield f"the ids of the {side} are not those of its vocabulary"
            if rows[side].shape[1] > lengths[side] or (size is not None and len(rows[side]) != size):
                yield f"a batch has another shape than its lengths and its size say ({side})"
        if rows["labels"].shape != rows[config.output_side].shape or not (rows["labels"] != 0).any(dim=1).all():
            yield "a row has no label that counts, or not one label for each position"
    if not task.kind.n_answers(p) > 1:
        yield "there is only one answer"
    read = task.read_sentence(p, config, ["the", "cat", "sees", "the", "dog", "."])
    if set(read.ids) != set(config.sides) or any(len(read.tokens[s]) != read.ids[s].shape[1] for s in config.sides):
        yield "a person's sentence has not one word for each id"


@pytest.mark.parametrize("name", TASKS)
def test_a_task_is_complete(name: str) -> None:
    assert not list(missing_in(name, TASKS[name]))


@pytest.mark.parametrize(("change", "said"), [
    ({"title": ""}, "has an empty title"), ({"question": "Can it sort"}, "asks no single question"),
    ({"architectures": ()}, "has an empty architectures"), ({"name": "other"}, "calls itself 'other'"),
    ({"parameter_ranges": {**TASKS["sort"].parameter_ranges, "length": ParameterRange(lazy("Length"), 3, 4, 9)}},
     "its default is outside"),
])
def test_an_incomplete_task_is_told(change: dict[str, Any], said: str) -> None:
    told: list[str] = []
    with pytest.raises(UserError) if "parameter_ranges" in change else pytest.MonkeyPatch.context():
        for problem in missing_in("sort", replace(TASKS["sort"], **change)):
            told.append(problem)
    assert any(said in problem for problem in told)


def test_the_tasks_that_are_asked_for_are_there() -> None:
    assert list(TASKS) == ["copy", "reverse", "sort", "majority", "induction", "next-word", "translate", "sentence",
                           "fill-in", "restore"], "a new task is named here, too: a link keeps its name for good"
    assert len({task.title for task in TASKS.values()}) == len(TASKS)


# --- Rows -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "architecture"), CASES)
def test_rows_depend_on_seed_and_step_alone(name: str, architecture: Any) -> None:
    task = TASKS[name]
    p = parameters(task)
    first, again, step, seed = (task.train_batch(p, architecture, *which, 8) for which in ((0, 5), (0, 5), (0, 6), (1, 5)))
    own = next(iter(first))
    assert all(torch.equal(x, again[side]) for side, x in first.items())
    for other in (step, seed):
        assert first[own].shape != other[own].shape or not torch.equal(first[own], other[own])
    assert all(
        torch.equal(x, task.held_out_batch(p, architecture)[side]) for side, x in task.held_out_batch(p, architecture).items()
    )


@pytest.mark.parametrize("name", SYMBOLS)
@pytest.mark.parametrize("which", ["minimum", "maximum"])
def test_the_bounds_can_be_reached(name: str, which: str) -> None:
    task = replace(TASKS[name], n_held_out=4)
    extreme = {n: getattr(b, which) for n, b in task.parameter_ranges.items()}
    if which == "maximum" and "repeat" in extreme:
        extreme["repeat"] = min(extreme["length"] // 2, extreme["symbols"])
    for architecture in task.architectures:
        p = task.complete_parameters(extreme)
        assert set(task.held_out_batch(p, architecture)) == set(task.train_batch(p, architecture, 0, 0, 2))


@pytest.mark.parametrize("name", ["copy", "reverse", "sort", "majority"])
def test_what_is_measured_is_never_trained_on(name: str) -> None:
    task = TASKS[name]
    p = task.complete_parameters(
        {"length": task.parameter_ranges["length"].minimum, "symbols": task.parameter_ranges["symbols"].minimum}
    )
    trained = {tuple(row) for step in range(20) for row in task.train_batch(p, "encoder-only", 0, step, 64)["source"].tolist()}
    held_out = {tuple(row) for row in task.held_out_batch(p, "encoder-only")["source"].tolist()}
    assert held_out and not trained & held_out
    assert is_held_out(np.array([row for row in held_out]) - 4).all()


def test_no_sentence_that_is_measured_is_trained_on() -> None:
    found = language.load_sentences(500, 6)
    assert found.held_out and found.train and not set(found.held_out) & set(found.train)


@pytest.mark.parametrize(("name", "answer"), [
    ("copy", list), ("reverse", lambda x: x[::-1]), ("sort", sorted),
    ("majority", lambda x: [min(x, key=lambda symbol: (-Counter(x)[symbol], symbol))]),
])
def test_the_answer_is_right_in_every_architecture(name: str, answer: Any) -> None:
    task = TASKS[name]
    p = task.complete_parameters({"length": 8, "symbols": 5})
    arrow = 4 + 5
    for architecture in task.architectures:
        rows = {side: x.tolist() for side, x in task.train_batch(p, architecture, 3, 1, 20).items()}
        for i, labels in enumerate(rows["labels"]):
            said = [x for x in labels if x]
            if architecture == "encoder-only":
                assert said == answer(rows["source"][i]) and labels[-len(said):] == said
            elif architecture == "encoder-decoder":
                assert said == [*answer(rows["source"][i]), 2] and rows["target"][i] == [1, *said[:-1]]
            else:
                question = rows["target"][i][1 : rows["target"][i].index(arrow)]
                assert len(question) == 8 and said == [*answer(question), 2]
                assert rows["target"][i] == [1, *question, arrow, *said[:-1]]
                assert [bool(x) for x in labels] == [False] * 9 + [True] * len(said)  # the arrow is the first that counts


def test_a_shorter_length_is_drawn_from_the_step() -> None:
    task = TASKS["copy"]
    p = task.complete_parameters({"length": 9, "shortest": 4})
    widths = [task.train_batch(p, "encoder-only", 0, step, 2)["source"].shape[1] for step in range(40)]
    assert set(widths) == set(range(4, 10)) and task.held_out_batch(p, "encoder-only")["source"].shape[1] == 9


@pytest.mark.parametrize("repeat", [0, 5])
def test_an_induction_row_repeats_a_block_of_distinct_symbols(repeat: int) -> None:
    task = TASKS["induction"]
    rows = task.train_batch(task.complete_parameters({"length": 20, "symbols": 12, "repeat": repeat}), "decoder-only", 0, 0, 50)
    sizes = set()
    for read, labels in zip(rows["target"].tolist(), rows["labels"].tolist(), strict=True):
        whole = [*read[1:], labels[-1]]
        size = next(n for n in range(1, 20) if all(whole[t] == whole[t - n] for t in range(n, 20)))
        assert len(set(whole[:size])) == size and read[0] == 1
        counts = [t for t, label in enumerate(labels) if label]
        assert counts == list(range(size + 1, 20)) and all(labels[t] == whole[t] for t in counts)
        sizes.add(size)
    assert sizes == {5} if repeat else len(sizes) > 5 and max(sizes) <= 10


def test_what_can_be_looked_up() -> None:
    assert previous_seen_mask(np.array([[3, 5, 3, 7, 7, 8]])).tolist() == [[False, False, False, True, False, True]]


def test_a_mask_hides_what_is_asked_for_and_a_restored_sentence_is_whole() -> None:
    hidden = TASKS["fill-in"]
    p = parameters(hidden, damage=30)
    mask = hidden.vocabulary(p, "encoder-only")["source"].encode(["<mask>"])[0]
    rows = hidden.train_batch(p, "encoder-only", 0, 0, 60)
    hit = rows["labels"] != 0
    assert torch.equal(hit, rows["source"] == mask) and hit.any(dim=1).all() and 0.2 < hit.float().mean() < 0.45
    trained = {english for english, __ in language.load_sentences(500, 6).train}
    assert {tuple(row) for row in torch.where(hit, rows["labels"], rows["source"]).tolist()} <= trained
    restored = TASKS["restore"].train_batch(parameters(TASKS["restore"]), "encoder-decoder", 0, 0, 60)
    whole = [[x for x in row if x][:-1] for row in restored["labels"].tolist()]
    assert {tuple(row) for row in whole} <= trained
    assert sum([x for x in read if x] != row for read, row in zip(restored["source"].tolist(), whole, strict=True)) > 50


@pytest.mark.parametrize("architecture", TASKS["sentence"].architectures)
def test_each_word_of_a_sentence_is_asked_for_behind_the_one_before_it(architecture: Any) -> None:
    task = TASKS["sentence"]
    rows = {side: x.tolist() for side, x in task.train_batch(parameters(task), architecture, 0, 0, 40).items()}
    for read, labels in zip(rows["source" if architecture == "encoder-only" else "target"], rows["labels"], strict=True):
        n = sum(map(bool, read))
        assert labels[: n - 1] == read[1:n] and labels[n - 1] == 2 and not any(labels[n:])
    assert all(row[0] == 1 for row in rows.get("target", []))


# --- The source -------------------------------------------------------------------------------------------------------
def test_the_entropy_of_a_chain_in_closed_form() -> None:
    """A chain of order 1 with two states: π = (q, p) / (p + q), and the rate is Σ π h. A chain without memory: ln 3."""
    p, q = 0.1, 0.3
    first = np.array([[1 - p, p], [q, 1 - q]])
    two = MarkovChain(np.broadcast_to(first[None], (2, 2, 2)).copy())  # P(c | a, b) = P(c | b)

    def h(x: float) -> float:
        return -x * math.log(x) - (1 - x) * math.log(1 - x)
    rate = (q * h(p) + p * h(q)) / (p + q)
    assert two.entropies == pytest.approx((h(q / (p + q)), rate, rate), rel=1e-9)
    assert two.mean_entropy(0, 4) == pytest.approx((h(q / (p + q)) + 3 * rate) / 4) and two.mean_entropy(1,
        4) == pytest.approx(rate)
    assert MarkovChain(np.full((3, 3, 3), 1 / 3)).entropies == pytest.approx((math.log(3),) * 3)


def test_the_entropy_of_a_chain_of_order_two_in_closed_form() -> None:
    """Each symbol is, with probability 0.9, the sum of the two before it (mod 2): uniform pairs, and a rate of h(0.9)."""
    table = np.array([[[0.9 if c == (a + b) % 2 else 0.1 for c in range(2)] for b in range(2)] for a in range(2)])
    found = MarkovChain(table)
    alone, second, rate = found.entropies
    assert rate == pytest.approx(entropy(np.array([0.9, 0.1])))
    pi = found.pair_probabilities
    assert np.einsum("ab,abc->bc", pi, table) == pytest.approx(pi) and second > rate and alone >= second - 1e-12


def test_the_entropy_of_the_source_is_that_of_a_long_simulated_row() -> None:
    found = make_chain(0)
    (row,) = found.sample(np.random.default_rng(7), 1, 60_000)
    costs = -np.log(found.table[row[:-2], row[1:-1], row[2:]])
    alone, second, rate = found.entropies
    assert costs.mean() == pytest.approx(rate, abs=5 * costs.std() / math.sqrt(len(costs)))
    assert entropy(np.bincount(row, minlength=30) / len(row)) == pytest.approx(alone, abs=0.02)
    assert rate < second < alone < math.log(len(WORDS)) and len(WORDS) == 30 == len(set(WORDS))


def test_rows_of_the_source_are_stationary_and_its_seed_is_a_parameter() -> None:
    found = make_chain(1)
    rows = found.sample(np.random.default_rng(0), 20_000, 4)
    for t in (0, 3):
        assert np.bincount(rows[:, t], minlength=30) / 20_000 == pytest.approx(found.pair_probabilities.sum(axis=1), abs=0.02)
    task = TASKS["next-word"]
    floors = {task.kind.irreducible_loss(task.complete_parameters({"source": seed}), "decoder-only") for seed in (0, 1, 2)}
    assert len(floors) == 3
    p = task.complete_parameters({})
    for architecture in task.architectures:  # one answer of sixteen is not in sight
        assert task.kind.irreducible_loss(p, architecture, causal=False) == pytest.approx(make_chain(0).entropies[2] / 16)
    assert (
        task.kind.irreducible_loss(p, "encoder-only")
        == make_chain(0).mean_entropy(1, 16)
        < task.kind.irreducible_loss(p, "decoder-only")
    )


# --- A person's own sentence ------------------------------------------------------------------------------------------
def test_distinct_words_become_symbols_in_the_order_of_appearance() -> None:
    task, config = TASKS["reverse"], TransformerConfig()
    read = task.read_sentence(task.complete_parameters({}), config, ["the", "cat", "saw", "the", "dog"])
    assert read.ids["source"].tolist() == [[4, 5, 6, 4, 7]] and read.tokens["source"] == ("the", "cat", "saw", "the", "dog")
    assert read.tokens["target"] == ("<bos>", "dog", "the", "saw", "cat", "the") and not read.omitted_words


def test_of_too_many_words_the_first_twenty_are_read() -> None:
    task, words = TASKS["sort"], [f"word{i}" for i in range(25)]
    read = task.read_sentence(
        task.complete_parameters({"symbols": 64}), TransformerConfig(architecture="encoder-only"), [*words, "word3"]
    )
    assert read.tokens["source"] == (*words[:20], "word3") and read.omitted_words == tuple(words[20:])
    read = task.read_sentence(task.complete_parameters({"symbols": 6}), TransformerConfig(architecture="encoder-only"), words)
    assert read.tokens["source"] == tuple(words[:6]) and read.omitted_words == tuple(words[6:])


@pytest.mark.parametrize(("name", "architecture"), [case for case in CASES if case[0] in SYMBOLS])
def test_a_sentence_never_is_longer_than_the_position_table(name: str, architecture: Any) -> None:
    task, config = TASKS[name], TransformerConfig(architecture=architecture, max_len=9, d_model=16, n_heads=2)
    words = [f"w{i % 4}" for i in range(30)]
    read = task.read_sentence(task.complete_parameters({}), config, words)
    assert 0 < max(ids.shape[1] for ids in read.ids.values()) <= 9


def test_words_that_a_language_task_does_not_know_are_left_out() -> None:
    read = TASKS["fill-in"].read_sentence(parameters(TASKS["fill-in"]), TransformerConfig(architecture="encoder-only"),
                                          ["the", "zebra", "sees", "the", "moon"])
    assert read.tokens["source"] == ("the", "<mask>", "the", "moon") and read.omitted_words == ("zebra",)
    with pytest.raises(UserError, match="None of these words are in the vocabulary"):
        TASKS["fill-in"].read_sentence(parameters(TASKS["fill-in"]), TransformerConfig(architecture="encoder-only"), ["zebra"])
    with pytest.raises(UserError, match="None of these words are in the vocabulary"):
        TASKS["sort"].read_sentence(TASKS["sort"].complete_parameters({}), TransformerConfig(architecture="encoder-only"), [])


def test_a_typed_mask_is_filled_in_and_a_restored_sentence_is_its_own_answer() -> None:
    hidden, p = TASKS["fill-in"], parameters(TASKS["fill-in"])
    read = hidden.read_sentence(p, TransformerConfig(architecture="encoder-only"), ["the", "<mask>", "sees"])
    mask = hidden.vocabulary(p, "encoder-only")["source"].encode(["<mask>"])[0]
    assert read.ids["source"][0, 1] == mask and read.tokens["source"] == ("the", "<mask>", "sees") and not read.omitted_words
    config = TransformerConfig(max_len=4)
    restored = TASKS["restore"].read_sentence(parameters(TASKS["restore"]), config, ["the", "cat", "zebra", "sees", "the", "moon"])
    assert restored.tokens == {"source": ("the", "cat", "sees"), "target": ("<bos>", "the", "cat", "sees")}
    assert restored.ids["target"][0].tolist() == [1, *restored.ids["source"][0].tolist()]
    assert restored.omitted_words == ("zebra", "the", "moon")
    begun = TASKS["translate"].read_sentence(parameters(TASKS["translate"]), config, ["the", "cat"])
    assert begun.tokens == {"source": ("the", "cat"), "target": ("<bos>",)}


def test_the_sentences_are_the_first_ones_of_the_lesson(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language, "first_lesson", first_lesson)
    language.load_sentences.cache_clear()
    drawn = list(islice((pair for pair in first_lesson() if max(map(len, pair)) <= 8), 500))
    found = language.load_sentences(500, 8)
    pairs = {(tuple(map(found.english.decode, x)), tuple(map(found.chinese.decode, y))) for x, y in (*found.train, *found.held_out)}
    assert pairs <= set(drawn) and len(pairs) > 60
    counts = Counter(word for english, __ in drawn for word in set(english))
    assert all(counts[word] >= 5 or word.startswith("<") for word in found.english.words)
    rows = TASKS["translate"].train_batch(parameters(TASKS["translate"], longest=8), "encoder-decoder", 0, 0, 16)
    assert (rows["labels"] == 2).sum(dim=1).tolist() == [1] * 16 and (rows["target"][:, 0] == 1).all()


def test_there_are_enough_sentences_for_every_recipe_and_too_many_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language, "first_lesson", first_lesson)
    language.load_sentences.cache_clear()
    most, lengths = TASKS["translate"].parameter_ranges["sentences"].maximum, TASKS["translate"].parameter_ranges["longest"]
    for longest in (lengths.minimum, lengths.default, lengths.maximum):
        pool = language.load_sentences(most, longest)
        assert most * 0.9 < len(pool.train) + len(pool.held_out) <= most and len(pool.held_out) > 10, longest
    with pytest.raises(ValueError, match="of at most 4 words, not 8001"):
        language.load_sentences(most + 1, lengths.minimum)


def test_symbols_have_names_of_their_own() -> None:
    assert symbol_names(28)[24:] == ("y", "z", "aa", "ab") and len(set(symbol_names(64))) == 64


@pytest.mark.parametrize("given", [{"length": 3}, {"length": 61}, {"length": "12"}, {"length": True}, {"length": 4.0},
                                   {"shortest": 13}, {"lenght": 4}, {"symbols": None}, {"length": math.nan}])
def test_a_parameter_outside_its_bounds_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(UserError) as raised:
        TASKS["sort"].complete_parameters(given)
    assert str(next(iter(given))) in str(raised.value)
    with pytest.raises(UserError, match="repeat cannot be 17"):
        TASKS["induction"].complete_parameters({"repeat": 17})


def test_a_word_that_is_a_symbol_s_name_is_that_symbol_and_no_two_symbols_look_alike() -> None:
    task, config = TASKS["sort"], TransformerConfig(architecture="encoder-only")
    read = task.read_sentence(task.complete_parameters({"symbols": 6}), config, ["zoo", "b", "zoo", "ape", "a", "emu", "fox", "g"])
    assert read.ids["source"].tolist() == [[6, 5, 6, 7, 4, 8, 9]] and read.omitted_words == ("g",)  # FIRST is 4
    assert read.user_words == {4: "a", 5: "b", 6: "zoo", 7: "ape", 8: "emu", 9: "fox"}
    chain_words = TASKS["next-word"].read_sentence(TASKS["next-word"].complete_parameters({}), config, ["the", "cat", "purrs"])
    assert chain_words.user_words == {4 + WORDS.index("the"): "the", 4 + WORDS.index("cat"): "cat", 5: "purrs"}
