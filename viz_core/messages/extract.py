"""Extract the messages of the app from its source code, with Babel.

A message is a literal in a call of `_`, `lazy` or `plural`, in Python or in a component's script.
"""

import ast
import os
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir

from viz_core.messages.catalogue import SCRIPT_CALL, field_names

ROOT = Path(__file__).parents[2]
SOURCES = {"app.py": "python", "pages/**.py": "python", "viz_core/**.py": "python", "viz_core/**.js": "javascript"}
KEYWORDS = {"_": None, "lazy": None, "plural": (1, 2)}
FIRST_VALUE = {"_": 1, "lazy": 1, "plural": 2}  # the number of messages of a call


def extract(root: Path = ROOT) -> Catalog:
    """Return the catalogue of all messages, untranslated, with the places of each."""
    catalog = Catalog(project="Attention Lab", header_comment="# The messages of Attention Lab.", fuzzy=False)
    folders = {Path(pattern).parts[0] for pattern in SOURCES}
    found = extract_from_dir(
        root, list((pattern, method) for pattern, method in SOURCES.items()), keywords=KEYWORDS,
        directory_filter=lambda path: Path(os.path.relpath(path, root)).parts[:1] in {(), *((name,) for name in folders)},
    )
    for file, line, message, comments, _context in sorted(found, key=lambda each: each[:2]):
        # Babel takes every % that a letter follows for a field.
        catalog.add(message, locations=[(file, line)], auto_comments=comments).flags.discard("python-format")
    return catalog


def extraction_errors(root: Path = ROOT) -> list[str]:
    """Return a sentence on every call whose message is not a literal, or whose fields differ from the values passed."""
    files = sorted({path for pattern in SOURCES for path in root.glob(pattern.replace("**.", "**/*."))})
    return [
        f"{path.relative_to(root)}:{fault}" for path in files
        for fault in (errors_in_python if path.suffix == ".py" else errors_in_script)(path.read_text("utf-8"))
    ]


def errors_in_python(source: str) -> Iterator[str]:
    """Yield "line: what is wrong" of each call in a Python module that cannot be extracted."""
    tree = ast.parse(source)
    in_text = {id(call) for text in ast.walk(tree) if isinstance(text, ast.JoinedStr) for call in ast.walk(text)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KEYWORDS:
            count = FIRST_VALUE[node.func.id]
            texts = [a.value for a in node.args[:count] if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            if id(node) in in_text:
                yield f"{node.lineno}: {node.func.id}(…) stands in an f-string, where Babel does not see it"
            elif len(texts) < count:
                yield f"{node.lineno}: the message of {node.func.id}(…) is not a literal"
            elif fault := _value_error(node, node.func.id, texts):
                yield f"{node.lineno}: {fault}"


def _value_error(call: ast.Call, name: str, texts: list[str]) -> str:
    """Return what is wrong with the values of a call; "" if nothing is."""
    if any(k.arg is None for k in call.keywords):
        return "values come as **, which cannot be checked"
    given = {k.arg for k in call.keywords if k.arg is not None} | ({"n"} if name == "plural" else set())
    for text in texts if given else ():
        needed = field_names(text)
        if needed != given and not (name == "plural" and needed | {"n"} == given):
            return f"{text!r} has the fields {sorted(needed)}, and the call gives {sorted(given)}"
    return ""


def errors_in_script(source: str) -> Iterator[str]:
    """Yield "line: what is wrong" of each call in a component's script that cannot be extracted."""
    for call in SCRIPT_CALL.finditer(source):
        if call[2] is None or (call[1] == "plural" and call[3] is None):
            yield f"{source.count(chr(10), 0, call.start()) + 1}: the message of {call[1]}(…) is not a literal"
