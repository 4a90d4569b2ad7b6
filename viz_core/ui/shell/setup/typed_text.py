"""The typed text of a setup as sentences and ids, with notes about lines that lack a source or a target."""

from collections.abc import Mapping, Sequence

from viz_core.config import SIDE_NAMES
from viz_core.messages import translate as _
from viz_core.messages.errors import UserError
from viz_core.ui.shell.setup.value import TEXT_SIDES, Setup


def typed_sentences(setup: Setup) -> tuple[list[str], list[str], list[str]]:
    """Return the typed sources and targets without blank pairs, and notes about lines that lack one of the two.

    There are no targets if the model writes them.
    """
    c = setup.config
    notes: list[str] = []
    source, target = (_lines(getattr(setup, side)) for side in TEXT_SIDES)
    if setup.writer == "model":
        return [line for line in source if line.strip()], [], notes
    if not c.has_cross_attention:
        own = [line for line in (source if c.has_encoder else target) if line.strip()]
        return (own, [], notes) if c.has_encoder else ([], own, notes)
    pairs, no_target, no_source = [], [], []
    for i in range(max(len(source), len(target))):
        s, t = (side[i] if i < len(side) else "" for side in (source, target))
        if s.strip():
            pairs.append((s, t))
        if s.strip() and not t.strip():
            no_target.append(i + 1)
        if t.strip() and not s.strip():
            no_source.append(i + 1)
    if no_target:
        notes.append(
            _("No target for {line_numbers}: the decoder reads only <bos> there.", line_numbers=format_line_numbers(no_target))
        )
    if no_source:
        notes.append(_("No source for {line_numbers}: the target there is left out.", line_numbers=format_line_numbers(no_source)))
    return [s for s, __ in pairs], [t for __, t in pairs], notes


def aligned_to_source(setup: Setup, texts: Sequence[str]) -> str:
    """Return one text per source sentence as the text of a box: each on the line of its source, with other lines blank."""
    rest = iter(texts)
    return "\n".join(next(rest, "") if line.strip() else "" for line in _lines(setup.source))


def with_added_sentence(setup: Setup, sentence: Mapping[str, str]) -> dict[str, str]:
    """Return the text of each given side with one more sentence, on the same new line in all of them."""
    lines = {side: _lines(getattr(setup, side)) for side in sentence}
    n = max(map(len, lines.values()))
    return {side: "\n".join([*lines[side], *[""] * (n - len(lines[side])), line]) for side, line in sentence.items()}


def source_line_numbers(setup: Setup) -> list[int]:
    """Return the line number of each source sentence, from 1."""
    return [i for i, line in enumerate(_lines(setup.source), start=1) if line.strip()]


def format_line_numbers(numbers: Sequence[int]) -> str:
    """Return line numbers as text, such as "lines 1, 3, 4"."""
    few = ", ".join(map(str, numbers[:6])) + (", …" if len(numbers) > 6 else "")
    return _("line {few}", few=few) if len(numbers) == 1 else _("lines {few}", few=few)


def parse_ids(side: str, lines: Sequence[str]) -> list[list[int]]:
    """Return the ids of each line, separated by spaces or commas. Raises `ValueError` for a word that is not a number."""
    rows = []
    for i, line in enumerate(lines):
        words = line.replace(",", " ").split()
        wrong = next((w for w in words if not (w.isascii() and w.isdigit() and len(w) < 10)), None)
        if wrong is not None:
            raise UserError("not_an_id", side=SIDE_NAMES[side], number=i + 1)
        rows.append([int(w) for w in words])
    return rows


def _lines(text: str) -> list[str]:
    """Return the lines of a text box. Only the Enter key ends a line: other Unicode separators belong to the text."""
    return text.replace("\r\n", "\n").rstrip("\n").split("\n")
