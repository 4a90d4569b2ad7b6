"""The position schemes (positional encodings), one entry each: where they act in the model, their names and their line styles.

To add a scheme, add its entry here; `tests/architecture/test_position_schemes.py` then names every other place that lacks it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from viz_core.messages import Message, translate_fields

Position = Literal["sinusoidal", "learned", "rope", "alibi", "t5", "none"]
AppliedTo = Literal["embedding", "queries and keys", "scores", "nowhere"]  # the tensors that the scheme changes


@dataclass(frozen=True, slots=True, kw_only=True)
@translate_fields
class PositionScheme:
    """One position scheme: where it acts in the model, its names and its line style.

    applied_to: the tensors that it changes; all but "embedding" act in every self-attention, never in cross-attention.
    parameter_name: the submodule of each stack that holds the learned table; "" for none.
    has_table: whether positions are rows of a table of max_len rows, so that longer sentences are refused.
    has_base: whether the frequencies depend on `position_base`.
    """

    title: Message  # at the start of a line
    name: Message  # in the middle of a sentence
    summary: Message  # one clause on what it does
    source: str
    applied_to: AppliedTo
    parameter_name: str = ""
    has_table: bool = False
    has_base: bool = False
    line_dash: str  # Plotly's line dash and marker symbol
    marker_symbol: str


POSITION_SCHEMES: Mapping[Position, PositionScheme] = MappingProxyType(
    {
        "sinusoidal": PositionScheme(
            title="Sinusoidal",
            name="sinusoidal",
            summary="a fixed wave for each feature is added to the input",
            source="Vaswani et al. 2017, section 3.5",
            applied_to="embedding",
            has_table=True,
            has_base=True,
            line_dash="solid",
            marker_symbol="circle",
        ),
        "learned": PositionScheme(
            title="Learned",
            name="learned",
            summary="a trained vector for each position is added to the input",
            source="Gehring et al. 2017, section 3.1",
            applied_to="embedding",
            parameter_name="pos_embedding",
            has_table=True,
            line_dash="dash",
            marker_symbol="square",
        ),
        "rope": PositionScheme(
            title="RoPE",
            name="RoPE",
            summary="queries and keys are rotated in each self-attention",
            source="Su et al. 2021, section 3.2",
            applied_to="queries and keys",
            has_base=True,
            line_dash="dot",
            marker_symbol="diamond",
        ),
        "alibi": PositionScheme(
            title="ALiBi",
            name="ALiBi",
            summary="−m · distance is added to the scores in each self-attention",
            source="Press et al. 2022, section 3",
            applied_to="scores",
            line_dash="dashdot",
            marker_symbol="triangle-up",
        ),
        "t5": PositionScheme(
            title="T5 bias",
            name="T5's bias",
            summary="a learned number for each head and range of distances is added to the scores",
            source="Raffel et al. 2020, section 2.1",
            applied_to="scores",
            parameter_name="relative_bias",
            line_dash="longdashdot",
            marker_symbol="triangle-down",
        ),
        "none": PositionScheme(
            title="None",
            name="no positions",
            summary="nothing is added",
            source="Haviv et al. 2022",
            applied_to="nowhere",
            line_dash="longdash",
            marker_symbol="x",
        ),
    }
)
