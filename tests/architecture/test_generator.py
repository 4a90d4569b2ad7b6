"""The sentence generator serves training alone: nothing else imports it. `tests/ui/test_without_generator.py` runs the app."""

from collections.abc import Iterable

from tests.architecture.test_imports import edges, within

TRAINING_ONLY = {"viz_core.training.corpus", "viz_core.training.shipped", "viz_core.training.__main__"}


def imports_into(pairs: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """The imports of what serves training alone by anything else, those inside of functions too."""
    return {(module, name) for module, name in pairs if within(name, TRAINING_ONLY) and not within(module, TRAINING_ONLY)}


def test_nothing_else_imports_what_serves_training_alone() -> None:
    assert not imports_into(edges())


def test_such_an_import_is_found() -> None:
    edge = ("viz_core.ui.pages.cause.run_pair", "viz_core.training.corpus.lexicon")
    assert imports_into({*edges(), edge}) == {edge}
