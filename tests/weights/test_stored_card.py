"""The file of a shipped card: read as it was written, and refused in one sentence where it is not one."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from viz_core.weights import catalogue as module
from viz_core.weights.catalogue import SHIPPED_FOLDER, catalogue, load_errors, server_models, shipped_cards
from viz_core.weights.stored_card import StoredCard

NAMES = sorted(path.stem for path in SHIPPED_FOLDER.glob("*.json"))


@pytest.mark.parametrize("name", NAMES)
def test_it_is_read_as_it_was_written(name: str, tmp_path: Path) -> None:
    card = StoredCard.read(SHIPPED_FOLDER / f"{name}.json")
    card.write(tmp_path / f"{name}.json")
    assert StoredCard.read(tmp_path / f"{name}.json") == card
    assert (tmp_path / f"{name}.json").read_text(encoding="utf-8").startswith('{\n "title": ')


def written(change: Callable[[dict[str, Any]], Any], path: Path) -> Path:
    card = json.loads((SHIPPED_FOLDER / "translator.json").read_text(encoding="utf-8"))
    path.write_text(json.dumps(change(card) or card), encoding="utf-8")
    return path


BROKEN: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    **{name: (lambda card, name=name: {k: v for k, v in card.items() if k != name}, f"lacks {name}")  # type: ignore[misc]
       for name in ("title", "config", "about", "examples", "measures", "vocabulary")},
    "two keys": (lambda card: {"title": "x", "config": {}, "about": {}, "examples": []}, "lacks measures, vocabulary"),
    "another key": (lambda card: card | {"place": 3}, "has a key that no card has: place"),
    "a list": (lambda card: [1], "is not a JSON object"),
    "a kind": (lambda card: card | {"about": "text"}, "has a value of the wrong type in about"),
    "an example": (lambda card: card | {"examples": [["one"]]}, "has an example that is not a pair of texts"),
    "a setting": (lambda card: card | {"config": {"heads": 3}}, "has a setting that no config has: heads"),
    "a value": (lambda card: card | {"config": {"n_heads": 3}}, "d_model 64 does not split into 3 equal heads"),
    "a side": (lambda card: card | {"vocabulary": {"source": ["a"]}}, "lacks the vocabulary of the target"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_card_is_refused_in_one_sentence(name: str, tmp_path: Path) -> None:
    change, reason = BROKEN[name]
    with pytest.raises(ValueError) as refused:
        StoredCard.read(written(change, tmp_path / "mine.json"))
    said = str(refused.value)
    assert said.startswith("mine.json ") and reason in said and said.endswith("; train it again: python -m viz_core.training mine.")
    assert "\n" not in said and str(tmp_path) not in said


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", None], ids=["empty", "cut off", "not text", "missing"])
def test_what_is_no_json_is_refused(content: bytes | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "mine.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"^mine\.json cannot be read as JSON; train it again"):
        StoredCard.read(tmp_path / "mine.json")


@pytest.fixture
def one_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A shipped folder in which one of two cards lacks a key."""
    monkeypatch.setattr(module, "SHIPPED_FOLDER", tmp_path)
    (tmp_path / module.INDEX_FILE).write_text("translator\nenglish\n", encoding="utf-8")
    written(lambda card: card, tmp_path / "translator.json")
    written(lambda card: {k: v for k, v in card.items() if k != "measures"}, tmp_path / "english.json")
    for cached in (module._cards, server_models):
        cached.cache_clear()
    yield
    for cached in (module._cards, server_models):
        cached.cache_clear()


@pytest.mark.usefixtures("one_broken")
def test_a_broken_card_takes_no_other_with_it() -> None:
    assert list(shipped_cards()) == ["translator"] and "english" not in catalogue()
    assert load_errors()[0] == "english.json lacks measures; train it again: python -m viz_core.training english."
