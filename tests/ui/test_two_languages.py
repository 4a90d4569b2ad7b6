"""Two visitors read two languages at once, in threads of one process and in two sessions of the app."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.ui.helpers import go, sound, start, widget
from tests.ui.pseudo import pseudo, pseudo_language
from viz_core.messages import in_language, language
from viz_core.presets import PRESETS
from viz_core.stages import stages
from viz_core.ui.page_list import PAGES
from viz_core.ui.shell.session.language import LANGUAGE
from viz_core.ui.shell.setup import error_message, from_link
from viz_core.weights.catalogue import cached_load_errors, load_errors_in
from viz_core.weights.local_models import WEIGHTS_FOLDERS_ENV


@pytest.fixture(scope="module")
def two_languages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The server's default is the pseudo-language, so that there are two."""
    with pseudo_language(tmp_path_factory.mktemp("language") / "pseudo.po"):
        yield


def rendering(code: str) -> list[str]:
    """What a page says of itself and of its stages."""
    with in_language(code):
        page, config = PAGES["masks"], PRESETS["000"].config
        return [str(page.title), str(page.question), *(str(section.title) for section in page.sections),
                *(str(stage.meaning) for stage in stages(config)), f"{next(iter(stages(config))).operation}"]


def test_threads_with_two_languages(two_languages: None) -> None:
    """One hundred renderings, alternately in both languages, by several threads at a time."""
    expected = {code: rendering(code) for code in ("en", "pseudo")}
    assert all(a != b for a, b in zip(*expected.values(), strict=True) if any(c.isalpha() for c in a))
    codes = ["en", "pseudo"] * 50
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(rendering, codes)) == [expected[code] for code in codes]
    assert language() == "pseudo"


def test_two_sessions_with_two_languages(two_languages: None) -> None:
    """A page in each language, drawn in turn, in the same process with the same caches."""
    question = PAGES["masks"].question.message
    for code, said in [("en", question), ("pseudo", pseudo(question))] * 2:
        at = start(weights="untrained", preset="000", d_model="16", n_heads="2", d_ff="16", qk_dim="16")
        at.session_state[LANGUAGE] = code
        with in_language(code):
            sound(go(at, "masks"))
        assert [title.value for title in at.title] == [said]
        labels = [each.label for each in at.selectbox]
        assert labels and all(("⟦" in label) == (code == "pseudo") for label in labels if label.islower() or " " in label)


def test_callbacks_know_the_language(two_languages: None) -> None:
    """A callback runs before the script, in a thread that may be new."""
    at = start(weights="untrained", preset="000", d_model="16", n_heads="2", d_ff="16", qk_dim="16")
    at.session_state[LANGUAGE] = "en"
    with in_language("en"):
        go(at, "masks")
        heard = []
        from viz_core.ui.shell.session import widgets

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(widgets, "mark_activity", lambda: heard.append(language()))
            sound(widget(at, "n_heads").set_value(4).run())
    assert heard == ["en"]


def test_the_errors_of_weights_are_in_the_language_of_who_asks(two_languages: None, tmp_path: Path,
                                                               monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text("{}", encoding="utf-8")
    monkeypatch.setenv(WEIGHTS_FOLDERS_ENV, str(tmp_path / "broken"))
    load_errors_in.cache_clear()
    said = {}
    for code in ("en", "pseudo", "en"):
        with in_language(code):
            (said[code],) = (sentence for sentence in cached_load_errors() if "broken" in sentence)
    load_errors_in.cache_clear()
    assert "there is no model.safetensors" in said["en"] and "⟦" in said["pseudo"] and "⟦" not in said["en"]


def test_the_errors_of_a_link_are_in_the_language_in_which_they_are_shown(two_languages: None) -> None:
    with in_language("en"):
        __, faults = from_link({"d_ff": "big", "d_model": "510", "n_heads": "4", "weights": "nobody", "item": "x", "nonsense": "1"})
        assert len(faults) == 5 and not any("⟦" in error_message(error) for __, error in faults)
    with in_language("pseudo"):
        assert all(error_message(error).startswith("⟦") for __, error in faults)
