"""The typed text of a setup as sentences and ids, with notes about the lines that have no partner."""

from collections.abc import Sequence

from viz_core.ui.shell.setup.value import TEXTS, Setup


def sentences(setup: Setup) -> tuple[list[str], list[str], list[str]]:
    """The typed lines as sources and targets, without blank pairs, and notes about lines that lack a partner."""
    c = setup.config
    notes: list[str] = []
    source, target = (_lines(getattr(setup, side)) for side in TEXTS)
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
        notes.append(f"No target for {_line_numbers(no_target)}: the decoder reads only <bos> there.")
    if no_source:
        notes.append(f"No source for {_line_numbers(no_source)}: the target there is left out.")
    return [s for s, _ in pairs], [t for _, t in pairs], notes


def _line_numbers(numbers: list[int]) -> str:
    few = ", ".join(map(str, numbers[:6])) + (", …" if len(numbers) > 6 else "")
    return f"line {few}" if len(numbers) == 1 else f"lines {few}"


def ids(side: str, lines: Sequence[str]) -> list[list[int]]:
    """Typed ids of each line, separated by spaces or commas. `ValueError` for a word that is not a number."""
    rows = []
    for i, line in enumerate(lines):
        words = line.replace(",", " ").split()
        wrong = next((w for w in words if not (w.isascii() and w.isdigit() and len(w) < 10)), None)
        if wrong is not None:
            problem = f"{side} sentence {i + 1} contains a word that is not an id"
            raise ValueError(f"{problem}; type whole numbers such as 101 205 330, or choose another tokenizer.")
        rows.append([int(w) for w in words])
    return rows


def _lines(text: str) -> list[str]:
    """The lines of a text box. Only the Enter key ends a line: any other separator belongs to the text."""
    return text.replace("\r\n", "\n").rstrip("\n").split("\n")
