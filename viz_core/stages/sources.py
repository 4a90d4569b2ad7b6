"""Find the line of the model's source code that computes a stage, by parsing the source."""

import ast
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from viz_core.stages import Stage

MODEL_FOLDER = Path(__file__).parents[1] / "model"
PARSING = threading.Lock()  # in Python 3.11 two threads that build syntax trees at once can raise SystemError


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A piece of source code: the file, relative to the project, the number of its first line (from 1), and its text."""

    file: str
    line: int
    text: str


def source_line(stage: Stage) -> SourceLine:
    """Return the code that taps a stage. Raises `LookupError` if there is none."""
    return _find_tap(stage.defined_in, stage.local_name)


@cache
def _find_tap(defined_in: str, local_name: str) -> SourceLine:
    """Return the statement that taps a local name in "file" or "file.Class"."""
    file, _, scope = defined_in.partition(".")
    path = MODEL_FOLDER / f"{file}.py"
    text = path.read_text(encoding="utf-8")
    with PARSING:
        tree: ast.AST = ast.parse(text)
    if scope:
        tree = next(n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name == scope)
    statements = [n for n in ast.walk(tree) if isinstance(n, ast.Assign | ast.Return | ast.Expr) and _taps(n, local_name)]
    if not statements:
        raise LookupError(f"no line of {file}.py taps {local_name!r} in {scope or 'the file'}.")
    return _lines(path, text, statements[0])


def _taps(statement: ast.AST, local_name: str) -> bool:
    """Return whether a statement contains a call whose first argument is this local name."""
    calls = (n for n in ast.walk(statement) if isinstance(n, ast.Call) and n.args)
    return any(isinstance(c.args[0], ast.Constant) and c.args[0].value == local_name for c in calls)


def _lines(path: Path, text: str, node: ast.stmt) -> SourceLine:
    last = node.end_lineno or node.lineno
    lines = text.splitlines()[node.lineno - 1 : last]
    indent = len(lines[0]) - len(lines[0].lstrip())
    return SourceLine(f"viz_core/model/{path.name}", node.lineno, "\n".join(line[indent:] for line in lines))
