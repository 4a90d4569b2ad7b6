"""What a strategy may be, and the sentence about what it may not be."""

import math
import re
from typing import Any

import pytest

from viz_core.generate.strategy import Beam, Sampling, check_max_new_tokens
from viz_core.messages.errors import SettingError


@pytest.mark.parametrize(("kind", "wrong", "sentence"), [
    (Sampling, {"temperature": 0}, "The temperature cannot be 0, because the logits are divided by it; choose"),
    (Sampling, {"temperature": 0.0}, "The temperature cannot be 0"),
    (Sampling, {"temperature": -1}, "temperature cannot be -1; choose a number above 0, such as 0.7."),
    (Sampling, {"temperature": math.nan}, "temperature cannot be nan; "),
    (Sampling, {"temperature": math.inf}, "temperature cannot be inf; "),
    (Sampling, {"temperature": True}, "temperature cannot be True; "),
    (Sampling, {"temperature": False}, "temperature cannot be False; "),
    (Sampling, {"temperature": "hot"}, "temperature cannot be 'hot'; "),
    (Sampling, {"top_k": 0}, "top_k cannot be 0; choose a whole number of at least 1, or None for all tokens."),
    (Sampling, {"top_k": 2.0}, "top_k cannot be 2.0; "),
    (Sampling, {"top_p": 0}, "top_p cannot be 0; choose a number above 0 and up to 1."),
    (Sampling, {"top_p": 1.01}, "top_p cannot be 1.01; "),
    (Sampling, {"seed": -1}, "seed cannot be -1; choose a whole number of at least 0."),
    (Beam, {"num_beams": 0}, "num_beams cannot be 0; choose a whole number of at least 1."),
    (Beam, {"num_beams": True}, "num_beams cannot be True; "),
    (Beam, {"length_penalty": math.inf}, "length_penalty cannot be inf; choose a number, such as 1.0."),
], ids=str)
def test_a_wrong_value_is_named_with_its_remedy(kind: type, wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingError, match=f"^{re.escape(sentence)}"):
        kind(**wrong)


def test_the_limits_themselves_are_allowed() -> None:
    assert Sampling(temperature=1e-3, top_k=1, top_p=1, seed=0).top_k == 1
    assert Beam(num_beams=1, length_penalty=-2).length_penalty == -2


@pytest.mark.parametrize("longest", [0, -3, 2.5, True])
def test_a_text_has_at_least_one_word(longest: Any) -> None:
    with pytest.raises(SettingError, match=f"max_new_tokens cannot be {longest}; choose a whole number of at least 1."):
        check_max_new_tokens(longest)
