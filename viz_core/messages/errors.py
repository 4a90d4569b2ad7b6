"""Errors in what a user set or typed, raised by all layers below the pages.

In a notebook they are `ValueError`s with an English message. A page reads the code and the values instead, and writes its own
message from them (`viz_core.ui.shell.setup.error_messages`).
"""

from functools import partial
from typing import Self


class UserError(ValueError):
    """An error in a setting or an input: an English sentence, a code for the kind of error, and the values in the sentence."""

    def __init__(self, message: str, code: str, **values: object) -> None:
        super().__init__(message)
        self.code = code
        self.values = values

    def __reduce__(self) -> tuple[object, ...]:
        """Keep code and values when the error is pickled."""
        return partial(type(self), str(self), self.code, **self.values), ()

    def without_traceback(self) -> Self:
        """Remove the traceback, context and cause, whose frames hold models and arrays, and return the error, to cache it."""
        self.__traceback__ = self.__context__ = self.__cause__ = None
        return self


class SettingError(UserError):
    """An error in a config field whose value is not allowed or does not fit other fields. values: "field", "value", and more."""

    @property
    def field(self) -> str:
        """The name of the field."""
        return str(self.values["field"])
