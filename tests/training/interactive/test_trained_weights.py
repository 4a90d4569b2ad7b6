"""A trained model as weights for every page, and as a file that comes back as it was; any other file is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load, save

from viz_core.config import TransformerConfig
from viz_core.config.limits import MAX_USER_WEIGHTS_FILE_BYTES
from viz_core.messages.errors import UserError
from viz_core.model.transformer import Transformer
from viz_core.run import run
from viz_core.training.interactive.recipe import Recipe
from viz_core.training.interactive.run_history import take_snapshot
from viz_core.training.interactive.tasks.symbols import FIRST_ID
from viz_core.training.interactive.trained_weights import METADATA_KEY, TrainedWeights, example_rows, read_weights_file

CONFIG = TransformerConfig(d_model=8, n_heads=2, n_encoder_layers=1, n_decoder_layers=1, d_ff=8)
RECIPE = Recipe(task="reverse", parameters={"length": 4, "symbols": 5}, config=CONFIG, steps=10)
MADE = TrainedWeights(RECIPE, 10, take_snapshot(Transformer(RECIPE.config, 3), 10).weights, 0.5, 0.25)


def test_a_file_comes_back_as_it_was() -> None:
    again = read_weights_file(MADE.to_bytes())
    assert (again.recipe, again.step, again.loss, again.accuracy, again.name) == (RECIPE, 10, 0.5, 0.25, MADE.name)
    assert all(torch.equal(again.weights[name], x) for name, x in MADE.weights.items())


def test_the_same_weights_have_the_same_name_and_others_another() -> None:
    changed = {name: x + 1 for name, x in MADE.weights.items()}
    assert MADE.name == replace(MADE, step=3).name != replace(MADE, weights=changed).name


def test_a_person_s_words_go_along() -> None:
    mine = replace(MADE, user_words={4: "the", 6: "cat"})
    again = read_weights_file(mine.to_bytes())
    assert again.user_words == mine.user_words and again.name == mine.name != MADE.name
    words = again.card("Reverse", {}).tokenizers()["source"]
    assert words.tokens_and_ids("cat the b") == (["cat", "the", "b"], [6, 4, 5])
    capture = run(mine.recipe.config, ["the cat"], ["cat the"], weights=mine.card("Reverse", {}), device="cpu")
    assert capture["ids.source"].tolist() == [[4, 6]]


def test_its_card_runs_on_a_held_out_row() -> None:
    card = MADE.card("Reverse", {"task": "x"})
    (source, target), *more = card.examples
    assert len(more) == 2 and card.task == "reverse"
    assert target.split() == source.split()[::-1] and len(source.split()) == 4
    capture = run(card.config, [source], [target], weights=card, device="cpu")
    assert capture.tokens("source")[0] == source.split()
    own = MADE.build_model()
    ids = {side: torch.from_numpy(capture[f"ids.{side}"].copy()) for side in ("source", "target")}
    with torch.inference_mode():
        torch.testing.assert_close(torch.from_numpy(capture["logits"].copy()), own(ids["source"], ids["target"]).logits)


@pytest.mark.parametrize("task", ["copy", "reverse", "sort", "majority"])
@pytest.mark.parametrize("own", [{4: "the", 6: "cat", 7: "sat"}, {4: "the"}, {}])
def test_an_example_is_told_in_ones_own_words_or_in_symbols_and_its_answer_is_right(task: str, own: dict[int, str]) -> None:
    recipe = Recipe(task=task, parameters={"length": 8, "symbols": 12}, config=CONFIG)
    made = TrainedWeights(recipe, 0, {}, user_words=own)
    words = made.vocabulary()["source"]
    found = example_rows(recipe, made.vocabulary(), own)
    assert len(set(found)) == len(found) >= 3
    for source, target in found:
        mine = [word in own.values() for word in source.split()]
        assert len(mine) == 8 and (all(mine) or not any(mine))
        rows = np.array([words.encode(source.split())]) - FIRST_ID
        assert words.encode(target.split()) == (recipe.task_definition.kind.transform(rows)[0] + FIRST_ID).tolist()
    told_mine = [source for source, __ in found if set(source.split()) <= set(own.values())]
    assert len(told_mine) <= 1 and (not told_mine or found[0][0] == told_mine[0])


def altered(**facts: object) -> bytes:
    said = json.loads(MADE.to_bytes()[8 : 8 + int.from_bytes(MADE.to_bytes()[:8], "little")])["__metadata__"]
    return save(dict(load(MADE.to_bytes())), {METADATA_KEY: json.dumps(json.loads(said[METADATA_KEY]) | facts)})


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"x" * 100,
        b"\xff" * 16,
        save({"a": torch.zeros(2)}),
        save({"a": torch.zeros(2)}, {METADATA_KEY: "{}"}),
        save({"a": torch.zeros(2)}, {METADATA_KEY: "[" * 5000}),
        MADE.to_bytes()[:-1],
        altered(step=11),
        altered(step=True),
        altered(step="1"),
        altered(recipe="x"),
        altered(recipe=json.dumps({"task": "reverse", "steps": 10**9})),
        altered(recipe=None),
        save(
            {name: x * float("nan") for name, x in MADE.weights.items()},
            {METADATA_KEY: json.dumps({"recipe": RECIPE.to_json(), "step": 1})},
        ),
        save(
            {name: x.double() for name, x in MADE.weights.items()},
            {METADATA_KEY: json.dumps({"recipe": RECIPE.to_json(), "step": 1})},
        ),
        b"\0" * (MAX_USER_WEIGHTS_FILE_BYTES + 1),
        altered(own=[]),
        altered(own={"x": "the"}),
        altered(own={"4": 3}),
        altered(own={"4": ""}),
        altered(own={"4": "b"}),
        altered(own={str(i): "w" * i for i in range(1, 40)}),
        altered(own={"4": "<pad>"}),
        altered(own={"4": "w" * 300}),
    ],
    ids=range(24),
)
def test_any_other_file_is_refused_in_one_sentence(data: bytes) -> None:
    with pytest.raises(UserError):
        read_weights_file(data)


@pytest.mark.parametrize("loss", ["x", None, float("nan"), [1]])
def test_facts_that_are_no_numbers_are_left_out(loss: object) -> None:
    assert read_weights_file(altered(loss=loss)).loss is None
