"""The Python of a picture, written from the calls that draw it.

    notebook_code({"panels": panels, "picture": Call(matrices, panels)})

Each entry becomes a variable. A call inside another one gets a variable of its own if it is used more than once or is long.
"""

import ast
import builtins
import keyword
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from viz_core.ui.components.calls import Attribute, Call, Container, Expression, Input, Item, ScreenOnly

MAX_NESTED_CHARS = 60  # characters of a call inside a call; a longer one gets a variable
MAX_ELEMENT_CHARS = 100  # characters of a call in a list; a longer one gets a variable
MAX_LINE_CHARS = 110  # characters from which a call takes several lines
# Modules whose functions have short names: a notebook imports the module.
QUALIFIED_MODULES = ("viz_core.tables", "viz_core.figures.plot_data", "viz_core.notebook")


def notebook_code(variables: Mapping[str, Expression[Any]]) -> str:
    """Return the Python that makes these variables, with its imports on top.

    Raises ValueError with a sentence if an input can only be had in the app.
    """
    return _Writer(variables).code()


class _Writer:
    """Writes one cell of a notebook."""

    def __init__(self, variables: Mapping[str, Expression[Any]]) -> None:
        self.variables = variables
        self.imports: dict[str, str] = {}  # the name of a function or module → the line that imports it
        self.inputs: dict[Any, str] = {}  # the identity of an input → the expression that reads it
        self.prelude = self._write_inputs()
        self.uses: Counter[str] = Counter()
        for each in variables.values():
            self._count(each)
        self.lines: list[str] = []
        self.assigned: dict[str, str] = {}  # the text of an expression, written out → its variable
        self.used_names = {*variables, *_names_in(self.prelude), *self.imports, *keyword.kwlist, *dir(builtins)}

    def code(self) -> str:
        for name, each in self.variables.items():
            self._assign(name, each)
        return with_sorted_imports("\n".join([self.prelude, *self.imports.values(), "", *self.lines]))

    # ------------------------------------------------------------ before anything is written

    def _write_inputs(self) -> str:
        """Write the lines of all inputs, class by class, and note the expressions that read them."""
        found: dict[type[Input[Any]], dict[Any, Input[Any]]] = {}
        for each in self.variables.values():
            for part in _parts(each):
                if isinstance(part, Input):
                    found.setdefault(type(part), {})[part.identity] = part
        lines = []
        for kind, inputs in found.items():
            text, names = kind.code(list(inputs.values()))
            lines.append(text.strip("\n"))
            self.inputs |= dict(zip(inputs, names, strict=True))
        return "\n".join(lines)

    def _count(self, x: Any) -> None:
        """Count how often each call is used. What is inside a call counts once, since the call gets a variable."""
        if isinstance(x, Call):
            text = self._written_out(x)
            self.uses[text] += 1
            if self.uses[text] > 1:
                return
        for part in _children(x):
            self._count(part)

    def _written_out(self, x: Any) -> str:
        """Return an expression as one text without variables."""
        return self._text(x, self._written_out)

    # ------------------------------------------------------------ writing

    def _assign(self, name: str, x: Expression[Any]) -> str:
        """Write the line that assigns an expression to a variable, after the lines that it needs."""
        text = self._written_out(x)
        if self.assigned.get(text) == name:
            return name
        if text in self.assigned:
            self.lines.append(f"{name} = {self.assigned[text]}")
            return name
        self.lines.append(f"{name} = {self._text(x, self._reference, wide=True)}")
        self.assigned[text] = name
        return name

    def _elements(self, parts: Sequence[Any]) -> list[str]:
        """Return the texts of the elements of a list.

        Calls of up to `MAX_ELEMENT_CHARS` are written in the list. If the list is then too long for a line, each gets a variable.
        """
        found = [self._reference(each, MAX_ELEMENT_CHARS) for each in parts]
        return found if sum(map(len, found)) <= MAX_LINE_CHARS else [self._reference(each, 0) for each in parts]

    def _reference(self, x: Any, max_chars: int = MAX_NESTED_CHARS) -> str:
        """Return the text by which another expression refers to an expression: its variable, or the expression itself.

        max_chars: the characters from which a call gets a variable.
        """
        if not isinstance(x, Expression):
            return self._text(x, self._reference)
        text = self._written_out(x)
        if text in self.assigned:
            return self.assigned[text]
        if name := next((name for name, each in self.variables.items() if each is x), ""):
            return self._assign(name, x)
        nested = self._text(x, self._reference)
        if x.variable or (isinstance(x, Call) and (self.uses[text] > 1 or len(nested) > max_chars)):
            return self._assign(self._new_name(x), x)
        return nested

    def _new_name(self, x: Expression[Any]) -> str:
        """Return a free name for a variable: the given one, or the last word of the function's name."""
        called: Any = x
        while isinstance(called, Call):
            called = called.function
        name = called.name if isinstance(called, Attribute) else getattr(called, "__name__", str(called))
        wanted = x.variable or name.lower().rpartition(".")[2].rpartition("_")[2]
        found = next(n for n in (wanted, *(f"{wanted}_{i}" for i in range(2, 1000))) if n not in self.used_names)
        self.used_names.add(found)
        return found

    def _text(self, x: Any, part: Callable[[Any], str], wide: bool = False) -> str:
        """Return an expression as text. part: returns the text of what is inside it. wide: a long one takes several lines."""
        match x:
            case Input():
                return self.inputs[x.identity]
            case Attribute(owner=owner, name=name):
                return f"{part(owner)}.{name}"
            case Item(owner=owner, index=index):
                return f"{part(owner)}[{self._index(index, part)}]"
            case Container(parts=parts):
                return self._text(parts, part, wide)
            case Call(function=function, args=args, kwargs=kwargs):
                called = part(function) if isinstance(function, Expression) else self._imported(function)
                given = [part(each) for each in args]
                given += [f"{name}={part(each)}" for name, each in kwargs.items() if not isinstance(each, ScreenOnly)]
                return _bracketed(f"{called}(", given, ")", wide)
            case list() | tuple() if not hasattr(x, "_fields"):
                start, end = "[]" if isinstance(x, list) else "()"
                elements = self._elements(x) if part == self._reference else [part(each) for each in x]
                return _bracketed(start, elements, "," * (len(x) == 1 and start == "(") + end, wide)
            case dict():
                return _bracketed("{", [f"{part(key)}: {part(each)}" for key, each in x.items()], "}", wide)
            case _:
                return self._literal(x, part)

    def _literal(self, x: Any, part: Callable[[Any], str]) -> str:
        """Return a literal, a class or a function as text, with the imports that it needs."""
        if isinstance(x, type) or (callable(x) and hasattr(x, "__qualname__")):
            return self._imported(x)
        if is_dataclass(x) and hasattr(type(x), "__module__"):
            given = [f"{f.name}={part(getattr(x, f.name))}" for f in fields(x) if f.init and getattr(x, f.name) != f.default]
            return _bracketed(f"{self._imported(type(x))}(", given, ")", False)
        if isinstance(x, tuple):
            return f"{self._imported(type(x))}({', '.join(map(part, x))})"
        if isinstance(x, frozenset | set):
            return f"{type(x).__name__}({part(sorted(x))})"
        if hasattr(x, "ndim") and x.ndim:
            raise TypeError("an array cannot be an argument of a Call; pass the call that makes it")
        return python_literal(x)

    def _index(self, index: Any, part: Callable[[Any], str]) -> str:
        if isinstance(index, tuple):
            return ", ".join(self._index(each, part) for each in index)
        if isinstance(index, slice):
            ends = [index.start, index.stop] if index.step is None else [index.start, index.stop, index.step]
            return ":".join("" if end is None else part(end) for end in ends)
        return part(index)

    def _imported(self, function: Any) -> str:
        """Return the name by which a notebook calls a function or class, and note its import."""
        if isinstance(function, str):
            module, __, name = function.rpartition(".")
        else:
            module, name = function.__module__, function.__qualname__
        if module == "builtins":
            return name
        first = name.partition(".")[0]
        line = f"from {module} import {first}"
        if module in QUALIFIED_MODULES or self.imports.get(first, line) != line:
            package, __, leaf = module.rpartition(".")
            self.imports[leaf] = f"from {package} import {leaf}"
            return f"{leaf}.{name}"
        self.imports[first] = line
        return name


def _children(x: Any) -> Iterator[Any]:
    """Yield the expressions and containers inside an expression or container."""
    match x:
        case Call(function=function, args=args, kwargs=kwargs):
            yield function
            yield from args
            yield from (each for each in kwargs.values() if not isinstance(each, ScreenOnly))
        case Attribute(owner=owner):
            yield owner
        case Item(owner=owner, index=index):
            yield owner
            yield from index if isinstance(index, tuple) else (index,)
        case Container(parts=parts):
            yield parts
        case list() | tuple():
            yield from x
        case dict():
            yield from x.values()
        case slice():
            yield from (x.start, x.stop, x.step)


def _parts(x: Any) -> Iterator[Any]:
    """Yield an expression and all that is inside it."""
    yield x
    for part in _children(x):
        yield from _parts(part)


def _bracketed(start: str, parts: Sequence[str], end: str, wide: bool) -> str:
    """Return parts between brackets: in one line or, if `wide` allows it and they are long, in several."""
    if not wide or len(start) + sum(len(each) + 2 for each in parts) <= MAX_LINE_CHARS:
        return f"{start}{', '.join(parts)}{end}"
    lines = [parts[0]]
    for each in parts[1:]:
        if len(lines[-1]) + len(each) <= MAX_LINE_CHARS - 6:
            lines[-1] += f", {each}"
        else:
            lines.append(each)
    return start + "\n    " + ",\n    ".join(lines) + ",\n" + end.lstrip(",")


def _names_in(code: str) -> set[str]:
    """Return the names that lines of Python import or assign."""
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name)
    return found


# ---------------------------------------------------------------- literals


def python_literal(value: Any) -> str:
    """Return a value as a Python expression. Typed text is written so that invisible characters show."""
    if hasattr(value, "tolist"):  # an array or scalar of NumPy
        return python_literal(value.tolist())
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        inside = ", ".join(map(python_literal, value)) + ("," if isinstance(value, tuple) and len(value) == 1 else "")
        return f"({inside})" if isinstance(value, tuple) else f"[{inside}]"
    if isinstance(value, float) and value != value:
        return 'float("nan")'
    return repr(value) if not isinstance(value, str) else _string_literal(value)


def _string_literal(text: str) -> str:
    """Return a string literal. Text with invisible or right-to-left characters is written with escapes."""
    written = repr(text)
    return written if written.isascii() or all(_is_unambiguous(c) for c in written) else ascii(text)


def _is_unambiguous(character: str) -> bool:
    """Return whether a character is displayed in its own place: neither right-to-left nor a combining mark."""
    from unicodedata import bidirectional, combining

    return character.isprintable() and not combining(character) and bidirectional(character) not in ("R", "AL", "AN")


def with_sorted_imports(text: str) -> str:
    """Return a snippet with its imports moved to the top and merged by module."""
    froms: dict[str, set[str]] = {}
    imports, rest = [], []
    for line in text.strip("\n").splitlines():
        if line.startswith("from "):
            module, __, names = line[5:].partition(" import ")
            froms.setdefault(module, set()).update(name.strip() for name in names.split(","))
        elif line.startswith("import "):
            imports.append(line)
        else:
            rest.append(line)
    head = [*dict.fromkeys(imports), *(f"from {module} import {', '.join(sorted(froms[module]))}" for module in sorted(froms))]
    return "\n".join([*head, "", *_single_blank(rest)]) + "\n"


def _single_blank(lines: list[str]) -> list[str]:
    """Return the lines without leading, trailing and repeated blank lines."""
    kept = [line for i, line in enumerate(lines) if line.strip() or (i and lines[i - 1].strip())]
    return "\n".join(kept).strip("\n").splitlines()
