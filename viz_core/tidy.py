"""Arrays as tidy tables: one row a cell, one column an axis, with the tokens beside the positions; and tables as CSV."""

import unicodedata
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
import regex

# The column of each axis letter of the stage table, where no token stands on it.
COLUMNS = {"B": "sentence", "H": "head", "D": "feature", "K": "feature", "V": "feature", "F": "unit", "W": "word"}
# What spreadsheets leave out or trim before they look whether a text is a formula: control characters, spaces, the byte order mark,
# and all else that leaves no mark.
_UNSEEN = regex.compile(r"[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]*")
_CONTROL = regex.compile(r"\p{Cc}")
BEGINS_A_FORMULA = "=+-@"  # and what is the same to Unicode's compatibility forms, such as the full-width ＝
QUOTE = "'"  # before a text that a spreadsheet would compute
ROWS = 20_000  # written at a time, so that other visitors' work goes on between them


def tidy(x: np.ndarray, axes: Sequence[str], tokens: Mapping[str, Sequence[Sequence[str]]]) -> pd.DataFrame:
    """An array with these axis letters as one row a cell, in the order of its memory, with its number in the column "value".

    tokens: of each token axis, those of every sentence. An axis "1" has no column. Where an array has both token axes, T is the
    query and S the key, each with a column of its own for the words; else they are the position and the token.
    """
    where = np.unravel_index(np.arange(x.size), x.shape) if x.ndim else ()
    at = dict(zip(axes, where, strict=True))
    sentence = at.get("B", np.zeros(x.size, dtype=np.int64))
    both = "T" in axes and "S" in axes
    found: dict[str, object] = {}
    for axis, i in at.items():
        if axis in tokens:
            name = {"T": "query", "S": "key"}[axis] if both else "position"
            found[name] = i
            found[f"{name}_token" if both else "token"] = _words(tokens[axis], sentence, i)
        elif axis != "1":
            found[COLUMNS[axis]] = i
    return pd.DataFrame(found | {"value": np.ascontiguousarray(x).ravel()})


def _words(rows: Sequence[Sequence[str]], sentence: np.ndarray, position: np.ndarray) -> "pd.Categorical[str]":
    """The token of each cell; rows are of one length."""
    return labels([word for row in rows for word in row], np.minimum(sentence, len(rows) - 1) * len(rows[0]) + position)


def labels(names: Sequence[str], at: np.ndarray) -> "pd.Categorical[str]":
    """The name of each cell, of which `at` says the number: stored once a word and as a number a cell."""
    words = sorted(set(names))
    number = {word: n for n, word in enumerate(words)}
    codes = np.array([number[name] for name in names], dtype=np.int64)
    return pd.Categorical.from_codes(codes[at], categories=pd.Index(words, dtype=object))


def csv_of(frame: pd.DataFrame, progress: Callable[[float], object] = lambda share: None) -> bytes:
    r"""A table as CSV in UTF-8, with the byte order mark that tells a spreadsheet so; floats with all their digits.

    A text that begins as a formula does (=, +, -, @, also in full width or behind what leaves no mark), or with an apostrophe, has
    an apostrophe before it, so that no spreadsheet computes what somebody typed. Control characters, which spreadsheets leave out
    or take for the end of a cell, are written as their numbers: \x00, \x0a. To read it back with pandas:
    pd.read_csv(file, dtype={"token": str}, keep_default_na=False), or words such as NA would be read as no value.

    progress: called with the share that is written.
    """
    safe = frame.copy(deep=False)
    for name, column in frame.items():
        if isinstance(column.dtype, pd.CategoricalDtype):
            safe[name] = column.map(_quoted)  # two words may be written alike, which categories must not be
        elif not pd.api.types.is_numeric_dtype(column.dtype):
            safe[name] = pd.Series([_quoted(value) for value in column], index=column.index, dtype=object)
    safe.columns = [_quoted(name) for name in frame.columns]
    parts = []
    for start in range(0, max(1, len(safe)), ROWS):
        text: str = safe.iloc[start : start + ROWS].to_csv(index=False, header=not start, lineterminator="\r\n")
        parts.append(text.encode("utf-8" if start else "utf-8-sig"))
        progress(min(1.0, (start + ROWS) / max(1, len(safe))))
    return b"".join(parts)


def _quoted(value: object) -> object:
    """A text that is safe in a file: half of a surrogate pair, which UTF-8 has no bytes for, is written as its number."""
    if not isinstance(value, str):
        return value
    text = _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", value.encode("utf-8", "backslashreplace").decode())
    return f"{QUOTE}{text}" if _is_computed(value) else text


def _is_computed(text: str) -> bool:
    """Whether some spreadsheet takes a text for a formula, or for one that is quoted already."""
    seen = _UNSEEN.sub("", text, count=1)[:1]
    first = unicodedata.normalize("NFKC", seen)[:1]
    return bool(first) and (first in BEGINS_A_FORMULA or first == QUOTE)
