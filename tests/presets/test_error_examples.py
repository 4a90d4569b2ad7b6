"""The smallest code of each error in the documents prints what the Documents page says it prints."""

import contextlib
import io
import traceback

import pytest

from viz_core.presets import error_examples
from viz_core.presets.concepts import DOCUMENT_ERRORS
from viz_core.presets.error_examples import ErrorExample

EXAMPLES = {name: found for name, found in vars(error_examples).items() if isinstance(found, ErrorExample)}


def printed(code: str) -> str:
    """What the code prints in an empty module; then the first line of its error, if it raises one."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(code, {"__name__": "example"})
        except Exception as error:
            print("".join(traceback.format_exception_only(error)).splitlines()[0])
    return out.getvalue()


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_prints_what_is_shown(name: str) -> None:
    example = EXAMPLES[name]
    assert printed(example.code) == example.printed
    assert 4 <= len(example.code.splitlines()) <= 13


def test_each_belongs_to_one_error() -> None:
    used = [error.example for error in DOCUMENT_ERRORS if error.example is not None]
    assert sorted(used, key=str) == sorted(EXAMPLES.values(), key=str)
    for error in DOCUMENT_ERRORS:
        raises = error.example is not None and "Error: " in error.example.printed
        assert raises == (error.kind == "cannot_run"), error.printed_text
