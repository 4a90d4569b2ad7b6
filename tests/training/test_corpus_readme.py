"""The generator's README: its example prints what its comments say, and it names the modules and the data files."""

import re
from pathlib import Path

import pytest

from viz_core.training import corpus
from viz_core.training.corpus.data_files import DATA_FILES

FOLDER = Path(corpus.__file__).parent
README = (FOLDER / "README.md").read_text("utf-8")


def test_the_example_prints_what_its_comments_say(capsys: pytest.CaptureFixture[str]) -> None:
    block = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[0]
    exec(block, {})  # a block of the repository's own page
    due = re.findall(r"^print\(.*?\)  # (.*)$", block, re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == due and len(due) == 2


def test_its_table_names_the_modules_and_the_files() -> None:
    modules = {path.stem for path in FOLDER.glob("*.py")} - {"__init__"}
    named = set(re.findall(r"`(\w+)`", README))
    beside = modules - named
    assert {"lexicon", "phrases", "nouns", "clauses", "sentences", "dataset", "patterns", "data_files"} <= modules & named
    assert beside <= {
        *("compound_sentences", "coordination", "everyday_constructions", "impersonal", "manner_and_duration", "personal_facts"),
        *("short_answers", "small_talk", "stock_questions", "winograd_sentences"),
    }, "name the module in the table, or count it to the constructions"
    assert all(path.relative_to(FOLDER.parents[2]).as_posix() in README for path in DATA_FILES)
