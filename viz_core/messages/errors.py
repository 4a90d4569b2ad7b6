"""Errors in what a user set, typed or opened: a code and its values; `viz_core.messages.error_messages` has the sentences."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Self

from viz_core.messages import translate as _
from viz_core.messages.error_messages import MESSAGES


class UserError(ValueError):
    """An error in a setting or an input: a code of `MESSAGES`, and the values in its sentence.

    `str(error)` is the sentence, in the language of the visitor at that moment. values: numbers, texts, lazy texts, other errors,
    and lists or tuples of these, which are alternatives.
    """

    def __init__(self, code: str, /, **values: object) -> None:
        super().__init__(code)
        self.code = code
        self.values: dict[str, Any] = values

    def __str__(self) -> str:
        return self.sentence()

    def sentence(self, **shown: object) -> str:
        """Return the sentence. shown: what stands in it instead of a value, such as the label of a control."""
        return MESSAGES[self.code].format(**{name: format_value(value) for name, value in (self.values | shown).items()})

    def __reduce__(self) -> tuple[object, ...]:
        """Keep code and values when the error is pickled."""
        return partial(type(self), self.code, **self.values), ()

    def without_traceback(self) -> Self:
        """Remove the traceback, context and cause, whose frames hold models and arrays, and return the error, to cache it."""
        self.__traceback__ = self.__context__ = self.__cause__ = None
        return self


class SettingError(UserError):
    """An error in a field whose value is not allowed or does not fit other fields. values: "field", "value", and more.

    The sentence has the field's name and the `repr` of the value. others: the names of the fields that it does not fit.
    """

    def __init__(self, code: str, /, *, field: str, value: object, others: Sequence[str] = (), **values: object) -> None:
        super().__init__(code, field=field, value=value, **values)
        self.field, self.others = field, tuple(others)

    def sentence(self, **shown: object) -> str:
        return super().sentence(**{"value": repr(self.values["value"])} | shown)

    def __reduce__(self) -> tuple[object, ...]:
        return partial(type(self), self.code, others=self.others, **self.values), ()


def format_value(value: object) -> str:
    """Return a value of a sentence as text: whole numbers with thousands separators, lists and tuples as alternatives.

    An error in the sentence of another one has no full stop.
    """
    if isinstance(value, ValueError):
        return str(value).rstrip(".")
    if isinstance(value, list | tuple):
        return join_or([format_value(one) for one in value])
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def join_or(alternatives: Sequence[str]) -> str:
    """Return alternatives as text, such as "d_ff, n_heads or d_model"; "nothing" if there are none."""
    if not alternatives:
        return _("nothing")
    *first, last = alternatives
    return _("{first} or {last}", first=", ".join(first), last=last) if first else last
