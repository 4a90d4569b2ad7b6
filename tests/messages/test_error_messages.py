"""Each error that a user can meet is a row of one table: its code, the names of its values, and its sentence."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest

from viz_core.messages.catalogue import field_names
from viz_core.messages.error_messages import MESSAGES
from viz_core.messages.extract import ROOT

PACKAGE = ROOT / "viz_core"
OF_A_SETTING = {"field", "value"}  # every `SettingError` gives them; its sentence may leave them out
SENTENCES = {code: text.message for code, text in MESSAGES.items()}


@dataclass(frozen=True)
class Raised:
    """One call of `UserError` or `SettingError`."""

    place: str
    code: str
    values: frozenset[str]
    of_a_setting: bool


def called(node: ast.AST, *names: str) -> bool:
    """Whether a node calls one of these functions."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


def raised_errors(sources: Mapping[str, str]) -> Iterator[Raised]:
    """Yield all errors that some modules make, with a code "" where it is no literal. sources: {file: code}."""
    for file, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            if called(node, "UserError", "SettingError"):
                assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
                code = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else ""
                names = frozenset(str(k.arg) for k in node.keywords)
                of_a_setting = node.func.id == "SettingError"
                yield Raised(f"{file}:{node.lineno}", str(code), names - {"others"} if of_a_setting else names, of_a_setting)


def errors_in_table(sources: Mapping[str, str], sentences: Mapping[str, str]) -> Iterator[str]:
    """Yield what is wrong: rows without an error, errors without a row or with wrong values, and rows with the same sentence."""
    raised = list(raised_errors(sources))
    for error in raised:
        if error.code not in sentences:
            yield f"{error.place}: {error.code!r} is no row of MESSAGES; add its sentence there"
            continue
        missing = OF_A_SETTING - error.values if error.of_a_setting else frozenset()
        ignored = OF_A_SETTING if error.of_a_setting else frozenset()
        in_sentence = field_names(sentences[error.code])
        if missing or in_sentence - ignored != error.values - ignored:
            yield f"{error.place}: the sentence of {error.code!r} has the values {sorted(in_sentence)}, and the error gives " \
                  f"{sorted(error.values)}"
    for code in sorted(sentences.keys() - {error.code for error in raised}):
        yield f"MESSAGES: {code!r} is never raised; remove its row"
    first: dict[str, str] = {}
    for code, sentence in sentences.items():
        if (same := first.setdefault(sentence, code)) != code:
            yield f"MESSAGES: {same!r} and {code!r} have the same sentence; keep one"


def errors_without_code(sources: Mapping[str, str]) -> Iterator[str]:
    """Yield the place of each `ValueError` with a translated sentence of its own."""
    for file, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            if called(node, "ValueError") and any(called(part, "_", "lazy", "plural") for part in ast.walk(node)):
                assert isinstance(node, ast.Call)
                yield f"{file}:{node.lineno}: a translated error has no code; raise UserError, and add a row to MESSAGES"


def sources(*names: str) -> dict[str, str]:
    """Return the source of the modules of some packages or files of viz_core, by path; of all of them without names."""
    found = [PACKAGE / name for name in names or (".",)]
    paths = sorted(path for place in found for path in ([place] if place.is_file() else place.rglob("*.py")))
    return {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in paths}


def test_every_error_is_a_row_and_every_row_an_error() -> None:
    found = list(errors_in_table(sources(), SENTENCES))
    assert not found, "\n".join(found)


def test_no_translated_error_lacks_a_code() -> None:
    found = list(errors_without_code(sources()))
    assert not found, "\n".join(found)


def test_a_sentence_has_no_format_of_its_own() -> None:
    """Values are texts when they are put in."""
    wrong = [code for code, sentence in SENTENCES.items() for name in field_names(sentence) if f"{{{name}:" in sentence]
    assert wrong == []


@pytest.mark.parametrize(("line", "fault"), [
    ('UserError("unknown")', "'unknown' is no row"),
    ("UserError(code)", "'' is no row"),
    ('UserError("tokens", count=2)', "and the error gives ['count']"),
    ('UserError("tokens", count=2, limit=1, at=3)', "and the error gives ['at', 'count', 'limit']"),
    ('SettingError("odd", count=2, limit=1)', "and the error gives ['count', 'limit']"),
    ('UserError("empty", **values)', "and the error gives ['None']"),
])
def test_a_wrong_error_is_named(line: str, fault: str) -> None:
    rows = {"tokens": "{count} is more than {limit}.", "odd": "{field} {value}: {count} > {limit}.", "empty": "Nothing."}
    right = ('UserError("tokens", count=2, limit=1)\nSettingError("odd", field="a", value=1, others=["b"], count=2, limit=1)\n'
             'UserError("empty")\n')
    assert list(errors_in_table({"a.py": right}, rows)) == []
    (found,) = errors_in_table({"a.py": right + line}, rows)
    assert found.startswith("a.py:4: ") and fault in found


def test_a_wrong_row_and_an_error_without_a_code_are_named() -> None:
    rows = {"empty": "Nothing.", "unused": "Too much.", "again": "Nothing."}
    assert list(errors_in_table({"a.py": 'UserError("empty")\nUserError("again")'}, rows)) == [
        "MESSAGES: 'unused' is never raised; remove its row", "MESSAGES: 'empty' and 'again' have the same sentence; keep one",
    ]
    assert len(list(errors_without_code({"a.py": 'ValueError(_("No."))\nValueError("No.")\nValueError(_("No.") + "")'}))) == 2
