"""The command of translators: a catalogue gets every message, and keeps the translations that it has."""

from pathlib import Path

import pytest

from viz_core.messages import __main__ as command
from viz_core.messages.collect import collect
from viz_core.messages.po import read_po


def test_a_catalogue_is_made_and_brought_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "FOLDER", tmp_path)
    assert command.main(["de"]) == 0
    file = tmp_path / "de.po"
    messages = {entry.message for entry in collect()}
    assert {entry.message for entry in read_po(file.read_text("utf-8"))} - {""} == messages
    assert f"0 of {len(collect())} messages are translated" in capsys.readouterr().out

    text, untranslated = file.read_text("utf-8"), 'msgid "Self-attention"\nmsgstr '
    assert text.count(f'{untranslated}""') == 1
    file.write_text(text.replace(f'{untranslated}""', f'{untranslated}"Selbstaufmerksamkeit"'), "utf-8")
    assert command.main(["de"]) == 0
    assert 'msgstr "Selbstaufmerksamkeit"' in file.read_text("utf-8")
    assert f"1 of {len(collect())} messages are translated" in capsys.readouterr().out
