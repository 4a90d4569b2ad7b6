"""The command of translators: a catalogue gets every message, and keeps the translations that it has."""

from pathlib import Path

import pytest
from babel.messages.catalog import Catalog

from viz_core.messages import __main__ as command
from viz_core.messages.extract import extract


def test_a_catalogue_is_made_and_brought_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    template = extract()
    monkeypatch.setattr(command, "FOLDER", tmp_path)
    monkeypatch.setattr(command, "extract", lambda: template)
    monkeypatch.setattr(command, "extraction_errors", lambda: [])
    assert command.main(["de"]) == 0
    file = tmp_path / "de.po"
    assert f"0 of {len(template)} messages are translated" in capsys.readouterr().out

    text, untranslated = file.read_text("utf-8"), 'msgid "Self-attention"\nmsgstr '
    assert text.count(f'{untranslated}""') == 1
    file.write_text(text.replace(f'{untranslated}""', f'{untranslated}"Selbstaufmerksamkeit"'), "utf-8")
    assert command.main(["de"]) == 0
    assert 'msgstr "Selbstaufmerksamkeit"' in file.read_text("utf-8")
    assert f"1 of {len(template)} messages are translated" in capsys.readouterr().out


def test_a_translation_of_a_message_that_is_gone_is_a_comment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    template, old, file = Catalog(), Catalog("de"), tmp_path / "de.po"
    template.add("known")
    template.add(("{n} token", "{n} tokens"))
    for message, translation in {"known": "bekannt", "gone": "weg", "{n} token": "{n} Token"}.items():
        old.add(message, translation)
    file.write_bytes(command.po_text(old))
    monkeypatch.setattr(command, "extract", lambda: template)
    assert command.update_catalogue(file) == f"{file}: 1 of 2 messages are translated."
    written = file.read_text("utf-8")
    assert '#~ msgid "gone"' in written and 'msgstr "bekannt"' in written
    command.update_catalogue(file)
    assert file.read_text("utf-8") == written


@pytest.mark.parametrize("arguments", [["--help"], ["--nothing"], ["../de"]])
def test_no_file_is_written_for_what_is_no_language(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "FOLDER", tmp_path)
    with pytest.raises(SystemExit):
        command.main(arguments)
    assert not list(tmp_path.iterdir()) and "python -m viz_core.messages" in "".join(capsys.readouterr())
