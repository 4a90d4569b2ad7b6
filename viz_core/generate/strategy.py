"""Decoding strategies: `Greedy`, `Sampling` and `Beam`, with the argument names of `transformers`."""

import math
from dataclasses import dataclass

from viz_core.messages import LazyText, lazy
from viz_core.messages.errors import SettingError


def _at_least(minimum: int) -> LazyText:
    return lazy("a whole number of at least {least}", least=minimum)


def _is_int_from(value: object, minimum: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= minimum


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


@dataclass(frozen=True, slots=True)
class Greedy:
    """Greedy decoding: always the most probable token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Sampling from the distribution that is left after temperature, `top_k` and then `top_p`.

    temperature: the divisor of the logits; below 1 the distribution becomes more peaked, and near 0 it approaches `Greedy`. 0
    itself is rejected, since logits cannot be divided by it. top_k: the number of most probable tokens to keep; None, or more
    than the vocabulary has, keeps all. top_p: of these the most probable are kept until their probabilities sum to top_p; 1 keeps
    all. seed: of the random numbers. Raises `SettingError`, a `ValueError` that names the field, the value and the remedy.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.temperature == 0 and not isinstance(self.temperature, bool):
            raise SettingError("temperature_zero", field="temperature", value=self.temperature)
        if not _is_number(self.temperature) or self.temperature < 0:
            raise SettingError("value", field="temperature", value=self.temperature, fits=lazy("a number above 0, such as 0.7"))
        if self.top_k is not None and not _is_int_from(self.top_k, 1):
            raise SettingError("value", field="top_k", value=self.top_k,
                               fits=lazy("a whole number of at least 1, or None for all tokens"))
        if not _is_number(self.top_p) or not 0 < self.top_p <= 1:
            raise SettingError("value", field="top_p", value=self.top_p, fits=lazy("a number above 0 and up to 1"))
        if not _is_int_from(self.seed, 0):
            raise SettingError("value", field="seed", value=self.seed, fits=_at_least(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Beam:
    """Beam search: `num_beams` hypotheses are extended in parallel, and the one with the best score is chosen.

    length_penalty: the score is the sum of log-probabilities / length ** length_penalty; the length includes <eos>. As the sums
    are negative, a penalty above 0 favours long texts and one below 0 short ones; 0 compares the sums. Raises `SettingError`, a
    `ValueError` that names the field, the value and the remedy.
    """

    num_beams: int = 4
    length_penalty: float = 1.0

    def __post_init__(self) -> None:
        if not _is_int_from(self.num_beams, 1):
            raise SettingError("value", field="num_beams", value=self.num_beams, fits=_at_least(1))
        if not _is_number(self.length_penalty):
            raise SettingError("value", field="length_penalty", value=self.length_penalty, fits=lazy("a number, such as 1.0"))


Strategy = Greedy | Sampling | Beam


def check_max_new_tokens(max_new_tokens: int) -> int:
    """Return `max_new_tokens`. Raises `SettingError` unless it is a whole number of at least 1."""
    if not _is_int_from(max_new_tokens, 1):
        raise SettingError("value", field="max_new_tokens", value=max_new_tokens, fits=_at_least(1))
    return max_new_tokens
