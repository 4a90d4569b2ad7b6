"""A problem with a setting or an input, as data: the class that the app's own errors have below the pages.

In a notebook it is a `ValueError` whose text says what is wrong. A page reads its code and values instead, and says the
problem in its own words (`viz_core.ui.shell.setup.problem_sentences`).
"""

from functools import partial
from typing import Self


class Problem(ValueError):
    """What is wrong: one English sentence, a code that names the kind of problem, and the values that the sentence is about."""

    def __init__(self, message: str, code: str, **values: object) -> None:
        super().__init__(message)
        self.code = code
        self.values = values

    def __reduce__(self) -> tuple[object, ...]:
        """On its way to another process it keeps its code and values."""
        return partial(type(self), str(self), self.code, **self.values), ()

    def kept(self) -> Self:
        """The same without the frames that it was raised in, which hold models and arrays: for a result that is kept."""
        self.__traceback__ = self.__context__ = self.__cause__ = None
        return self


class SettingError(Problem):
    """A config field whose value is not allowed, or does not fit the other fields. values: "field", "value", and others."""

    @property
    def field(self) -> str:
        """The field that the message begins with."""
        return str(self.values["field"])
