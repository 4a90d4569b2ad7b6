"""Collect the messages of the app from its source code.

A message is a literal in a call of `_` or `plural`, in Python or in a component's script, or a literal passed to a parameter or a
dataclass field of type `Message`.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from viz_core.messages.po import Entry, format_fields

ROOT = Path(__file__).parents[2]
SOURCES = ("app.py", "pages/**/*.py", "viz_core/**/*.py", "viz_core/**/*.js")
SCRIPT_CALL = re.compile(r"(?<![\w.$])(_|plural)\(\s*(?:(\"(?:[^\"\\]|\\.)*\")(?:\s*,\s*(\"(?:[^\"\\]|\\.)*\"))?)?")


@dataclass(frozen=True, slots=True)
class MessageParameters:
    """The parameters of a function or dataclass that takes messages.

    names: all parameters, in order. positions: for each parameter that takes messages, the indices of the messages in its value, a
    tuple; (-1,) if its value is itself a message.
    """

    names: tuple[str, ...]
    positions: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    keyword_positions: tuple[int, ...] = ()  # the indices of messages in the values of other keywords (**rows)


@dataclass(frozen=True, slots=True)
class FileMessages:
    """The messages of one file, and a sentence on each call whose message cannot be collected."""

    entries: tuple[Entry, ...]
    errors: tuple[str, ...]


def collect(root: Path = ROOT) -> list[Entry]:
    """Return all messages, in the order of files and lines. A message that is used twice has two locations."""
    merged: dict[str, Entry] = {}
    for entry in (e for found in _files(root) for e in found.entries):
        old = merged.get(entry.message, entry)
        places = entry.locations if old is entry else (*old.locations, *entry.locations)
        merged[entry.message] = replace(
            old, locations=places, plural=old.plural or entry.plural, is_format=old.is_format or entry.is_format
        )
    return list(merged.values())


def collection_errors(root: Path = ROOT) -> list[str]:
    """Return a sentence on every call whose message is not a literal, or whose fields differ from the values passed."""
    return [fault for found in _files(root) for fault in found.errors]


@cache
def _files(root: Path) -> list[FileMessages]:
    files = sorted({path for pattern in SOURCES for path in root.glob(pattern)})
    trees = {path: ast.parse(path.read_text("utf-8")) for path in files if path.suffix == ".py"}
    takers = {name: taker for tree in trees.values() for name, taker in message_parameters(tree)}
    return [
        messages_in_python(trees[path], str(path.relative_to(root)), takers) if path in trees
        else messages_in_script(path.read_text("utf-8"), str(path.relative_to(root))) for path in files
    ]


# ---------------------------------------------------------------- Python


def message_parameters(tree: ast.AST) -> Iterator[tuple[str, MessageParameters]]:
    """Yield the functions and dataclasses of a module that have parameters for messages, by name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            own = [s for s in node.body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)]
            names = {s.target.id: _message_positions(s.annotation) for s in own if isinstance(s.target, ast.Name)}
            others: tuple[int, ...] = ()
        elif isinstance(node, ast.FunctionDef):
            names = {
                a.arg: _message_positions(a.annotation) for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            }
            others = _message_positions(node.args.kwarg.annotation) if node.args.kwarg else ()
        else:
            continue
        if any(names.values()) or others:
            yield node.name, MessageParameters(tuple(names), {n: p for n, p in names.items() if p}, others)


def _message_positions(annotation: ast.AST | None) -> tuple[int, ...]:
    """Return where a value of this type has messages: (-1,) for a message, (0, 2) for a tuple with two, () for none."""
    if isinstance(annotation, ast.Name) and annotation.id == "Message":
        return (-1,)
    if isinstance(annotation, ast.Subscript) and isinstance(annotation.slice, ast.Tuple):
        return tuple(i for i, part in enumerate(annotation.slice.elts) if _message_positions(part) == (-1,))
    return ()


def messages_in_python(tree: ast.AST, file: str, signatures: Mapping[str, MessageParameters]) -> FileMessages:
    """Return the messages of a Python module."""
    entries: list[Entry] = []
    wrong: list[str] = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name, place = getattr(node.func, "attr", getattr(node.func, "id", "")), f"{file}:{node.lineno}"
        if isinstance(node.func, ast.Name) and name in ("_", "plural"):
            texts = [_literal(a) for a in node.args[: 1 if name == "_" else 2]]
            literals = [t for t in texts if t is not None]
            if len(literals) < (1 if name == "_" else 2):
                wrong.append(f"{place}: the message of {name}(…) is not a literal")
                continue
            fault = _value_error(node, name, literals)
            wrong += [f"{place}: {fault}"] if fault else []
            entries.append(Entry(literals[0], literals[1] if name == "plural" else None, (), (place,), bool(node.keywords)))
        elif name in signatures:
            for value in _message_arguments(node, signatures[name]):
                text = _literal(value)
                if text:
                    entries.append(Entry(text, locations=(f"{file}:{value.lineno}",)))
                elif isinstance(value, ast.JoinedStr):
                    wrong.append(f"{file}:{value.lineno}: a message of {name}(…) is an f-string")
    entries.sort(key=lambda e: int(e.locations[0].rpartition(":")[2]))
    return FileMessages(tuple(entries), tuple(wrong))


def _literal(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _value_error(node: ast.Call, name: str, literals: Iterable[str]) -> str:
    """Return what is wrong with the values of a call; "" if nothing is."""
    if any(k.arg is None for k in node.keywords):
        return "values come as **, which cannot be checked"
    given = {k.arg for k in node.keywords if k.arg is not None} | ({"n"} if name == "plural" else set())
    if not given:
        return ""
    for text in literals:
        needed = {re.split(r"[.\[!:]", f[1:-1])[0] for f in format_fields(text)}
        if needed != given and not (name == "plural" and needed | {"n"} == given):
            return f"{text!r} has the fields {sorted(needed)}, and the call gives {sorted(given)}"
    return ""


def _message_arguments(node: ast.Call, signature: MessageParameters) -> Iterator[ast.expr]:
    """Yield the arguments of a call that are messages."""
    named = [(signature.names[i], a) for i, a in enumerate(node.args) if i < len(signature.names)]
    for parameter, value in [*named, *((k.arg, k.value) for k in node.keywords)]:
        known = parameter in signature.names
        places = signature.positions.get(parameter or "", ()) if known else signature.keyword_positions if parameter else ()
        for place in places:
            if place < 0:
                yield from (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,)
            elif isinstance(value, ast.Tuple) and place < len(value.elts):
                yield value.elts[place]


# ---------------------------------------------------------------- scripts


def messages_in_script(text: str, file: str) -> FileMessages:
    """Return the messages of a component's script: `_("…", values)` and `plural("…", "…", n, values)`."""
    entries, wrong = [], []
    for call in SCRIPT_CALL.finditer(text):
        place = f"{file}:{text.count(chr(10), 0, call.start()) + 1}"
        if call[2] is None or (call[1] == "plural" and call[3] is None):
            wrong.append(f"{place}: the message of {call[1]}(…) is not a literal")
            continue
        one = ast.literal_eval(call[2])
        many = ast.literal_eval(call[3]) if call[1] == "plural" else None
        entries.append(Entry(one, many, (), (place,), bool(format_fields(one) or many)))
    return FileMessages(tuple(entries), tuple(wrong))
