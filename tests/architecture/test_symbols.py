"""Every symbol that the app draws by itself is in the fonts that its pages name: DejaVu Sans, which a plain Debian has.

Chinese and Japanese are left out, which need a font of their own.
"""

import ast
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
import regex

from viz_core.figures.theme import FONT
from viz_core.text import display_token

ROOT = Path(__file__).parents[2] / "viz_core"
NAMED = "DejaVu Sans"
EAST_ASIAN = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\u30FC\uFF70\u3000-\u303F\uFF00-\uFF65]")
UNSEEN = regex.compile(r"[\p{Cf}\p{Default_Ignorable_Code_Point}]")  # such as the marks around a right-to-left word


@cache
def covered() -> frozenset[int]:
    """The characters of the font, as fontconfig knows them; empty where it is missing."""
    if shutil.which("fc-list") is None:
        return frozenset()
    listed = subprocess.run(["fc-list", f"{NAMED}:style=Book", "charset"], capture_output=True, text=True, check=True).stdout
    spans = (span.partition("-") for span in listed.partition("charset=")[2].split())
    return frozenset(code for low, __, high in spans for code in range(int(low, 16), int(high or low, 16) + 1))


def literals(path: Path) -> str:
    """The text of the strings of a module without its docstrings; of a script or a style, all but its comments."""
    text = path.read_text("utf-8")
    if path.suffix != ".py":
        return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    tree = ast.parse(text)
    remarks = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    strings = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return "".join(node.value for node in strings if id(node) not in remarks)


needs_font = pytest.mark.skipif(not covered(), reason=f"fontconfig or {NAMED} is missing")


def test_the_page_names_the_font() -> None:
    assert NAMED in str(FONT).split(", ")


@needs_font
def test_every_symbol_is_in_the_font() -> None:
    missing = {}
    for path in sorted(ROOT.rglob("*")):
        if path.suffix in (".py", ".js", ".css") and "corpus" not in path.parts:
            drawn = {c for c in literals(path) if not (c.isascii() or EAST_ASIAN.match(c) or UNSEEN.match(c))}
            missing |= {f"U+{ord(c):04X} {c}": str(path) for c in drawn if ord(c) not in covered()}
    assert not missing


@needs_font
@pytest.mark.parametrize("token", [*map(chr, range(0xA1)), "", "\u200b", "\ufeff", "\u2800", "\u3000", "\ud800", "a\u0301" * 2])
def test_what_is_made_visible_is_in_the_font(token: str) -> None:
    assert {ord(c) for c in display_token(token)} <= covered()
