"""What a strategy may be, and the sentence about what it may not be."""

import math
import re
from typing import Any

import pytest

from viz_core.generate.strategy import Beam, Sampling, check_max_new_tokens
from viz_core.messages.errors import SettingError


@pytest.mark.parametrize(("kind", "wrong", "sentence"), [
    (Sampling, {"temperature": 0}, "temperature=0 would divide by zero; use Greedy(), which it would become, or a temperature "),
    (Sampling, {"temperature": 0.0}, "temperature=0.0 would divide by zero"),
    (Sampling, {"temperature": -1}, "temperature=-1 is not a temperature; use a number above 0, such as 0.7."),
    (Sampling, {"temperature": math.nan}, "temperature=nan is not"),
    (Sampling, {"temperature": math.inf}, "temperature=inf is not"),
    (Sampling, {"temperature": True}, "temperature=True is not"),
    (Sampling, {"temperature": False}, "temperature=False is not"),
    (Sampling, {"temperature": "hot"}, "temperature='hot' is not"),
    (Sampling, {"top_k": 0}, "top_k=0 leaves no token to sample; use a whole number of at least 1, or None for all tokens."),
    (Sampling, {"top_k": 2.0}, "top_k=2.0 leaves"),
    (Sampling, {"top_p": 0}, "top_p=0 is not a share of the probability; use a number above 0 and up to 1."),
    (Sampling, {"top_p": 1.01}, "top_p=1.01 is not"),
    (Sampling, {"seed": -1}, "seed=-1 is not a seed; use a whole number of at least 0."),
    (Beam, {"num_beams": 0}, "num_beams=0 keeps no beam; use a whole number of at least 1."),
    (Beam, {"num_beams": True}, "num_beams=True keeps"),
    (Beam, {"length_penalty": math.inf}, "length_penalty=inf is not a power; use a number, such as 1.0."),
], ids=str)
def test_a_wrong_value_is_named_with_its_remedy(kind: type, wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingError, match=f"^{re.escape(sentence)}"):
        kind(**wrong)


def test_the_limits_themselves_are_allowed() -> None:
    assert Sampling(temperature=1e-3, top_k=1, top_p=1, seed=0).top_k == 1
    assert Beam(num_beams=1, length_penalty=-2).length_penalty == -2


@pytest.mark.parametrize("longest", [0, -3, 2.5, True])
def test_a_text_has_at_least_one_word(longest: Any) -> None:
    with pytest.raises(SettingError, match=f"max_new_tokens={longest} allows no new token; use a whole number of at least 1."):
        check_max_new_tokens(longest)
