"""The position schemes (positional encodings), one entry each: where they act in the model, their names and their line styles.

To add a scheme, add its entry here; `tests/architecture/test_position_schemes.py` then names every other place that lacks it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from viz_core.messages import NO_TEXT, LazyText, lazy

Position = Literal["sinusoidal", "learned", "rope", "alibi", "t5", "none"]
T5_NUM_BUCKETS = 32  # rows of T5's table of distances, as in the published models
EQUALS = LazyText("=")  # the operation of a stage that is a formula alone
AppliedTo = Literal["embedding", "queries and keys", "scores", "nowhere"]  # the tensors that the scheme changes


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionStage:
    """What the stage table says about a tensor that a scheme adds. The fields are those of `viz_core.stages.specs.StageSpec`."""

    formula: str
    inputs: str
    meaning: LazyText
    aliases: tuple[str, str, str, str] = ("–", "–", "–", "–")  # documents, torch, Hugging Face, TransformerLens
    operation: LazyText = EQUALS


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionScheme:
    """One position scheme: where it acts in the model, its names, its texts, its stages and its line style.

    applied_to: the tensors that it changes; all but "embedding" act in every self-attention, never in cross-attention.
    parameter_name: the submodule of each stack that holds the learned table; "" for none.
    has_table: whether positions are rows of a table of max_len rows, so that longer sentences are refused.
    has_base: whether the frequencies depend on `position_base`.
    explanation: a paragraph in Markdown for the page Positions; "" if the page's own function for the scheme writes one.
    bias_explanation: what the numbers are that it adds to the scores; "" for a scheme that adds none.
    stages: the tensors that it adds, by local name: those of `viz_core.stages.specs.POSITION_TENSORS`.
    """

    title: LazyText  # at the start of a line
    name: LazyText  # in the middle of a sentence
    summary: LazyText  # one clause on what it does
    explanation: LazyText = NO_TEXT
    bias_explanation: LazyText = NO_TEXT
    source: str
    applied_to: AppliedTo
    parameter_name: str = ""
    has_table: bool = False
    has_base: bool = False
    stages: Mapping[str, PositionStage] = field(default_factory=lambda: MappingProxyType({}))
    line_dash: str  # Plotly's line dash and marker symbol
    marker_symbol: str


POSITION_SCHEMES: Mapping[Position, PositionScheme] = MappingProxyType(
    {
        "sinusoidal": PositionScheme(
            title=lazy("Sinusoidal"),
            name=lazy("sinusoidal"),
            summary=lazy("a fixed wave for each feature is added to the input"),
            explanation=lazy("**Each feature of the word's vector gets a fixed wave added** before the first layer. Nothing is "
            "learned, and every position is different. Waves, Matrix, Clock and Similarity show the details."),
            source="Vaswani et al. 2017, section 3.5",
            applied_to="embedding",
            has_table=True,
            has_base=True,
            stages={
                "pos_embed": PositionStage(
                    formula=r"P_{1,t,2i} = \sin\frac{t}{@base^{2i/d_\text{model}}}, \quad "
                    r"P_{1,t,2i+1} = \cos\frac{t}{@base^{2i/d_\text{model}}}",
                    inputs="ids",
                    meaning=lazy("A fixed wave for each feature encodes the position; it is the same for every sentence."),
                    aliases=(
                        "pe (000, 003, 004), positional_encodings (001), encoding (002)",
                        "–",
                        "embed_positions (Marian)",
                        "@tl_pos",
                    ),
                    operation=lazy("sine, cosine →"),
                ),
            },
            line_dash="solid",
            marker_symbol="circle",
        ),
        "learned": PositionScheme(
            title=lazy("Learned"),
            name=lazy("learned"),
            summary=lazy("a trained vector for each position is added to the input"),
            source="Gehring et al. 2017, section 3.1",
            applied_to="embedding",
            parameter_name="pos_embedding",
            has_table=True,
            stages={
                "pos_embed": PositionStage(
                    formula=r"P_{1td} = W^P_{td}",
                    inputs="ids",
                    meaning=lazy("A learned row for each position, the same for every sentence."),
                    aliases=("E_pos (004)", "–", "position_embeddings (BERT), wpe (GPT-2), embed_positions (BART)", "@tl_pos"),
                    operation=lazy("look up →"),
                ),
            },
            line_dash="dash",
            marker_symbol="square",
        ),
        "rope": PositionScheme(
            title=lazy("RoPE"),
            name=lazy("RoPE"),
            summary=lazy("queries and keys are rotated in each self-attention"),
            explanation=lazy("**Each pair of features of a query or key is a clock hand, rotated by its position.** Move both "
                             "words along: each hand turns, but the angle between them stays the same, and so does their score."),
            source="Su et al. 2021, section 3.2",
            applied_to="queries and keys",
            has_base=True,
            stages={
                "q_rot": PositionStage(
                    formula=r"(\hat Q_{2i}, \hat Q_{2i+1}) = R(t\,\theta_i)\,(Q_{2i}, Q_{2i+1}), \quad \theta_i = @base^{-2i/d_k}",
                    inputs="q",
                    meaning=lazy("Each pair of query features, rotated by an angle that grows with the position."),
                    aliases=("RoPE, named only (004)", "–", "q_embed of apply_rotary_pos_emb (Llama)", "@rot_q"),
                    operation=lazy("rotate →"),
                ),
                "k_rot": PositionStage(
                    formula=r"(\hat K_{2i}, \hat K_{2i+1}) = R(s\,\theta_i)\,(K_{2i}, K_{2i+1}), \quad \theta_i = @base^{-2i/d_k}",
                    inputs="k",
                    meaning=lazy("Keys, rotated the same way, so that q·k depends on the two positions only through their "
                                 "distance t − s."),
                    aliases=("RoPE, named only (004)", "–", "k_embed of apply_rotary_pos_emb (Llama)", "@rot_k"),
                    operation=lazy("rotate →"),
                ),
            },
            line_dash="dot",
            marker_symbol="diamond",
        ),
        "alibi": PositionScheme(
            title=lazy("ALiBi"),
            name=lazy("ALiBi"),
            summary=lazy("−m · distance is added to the scores in each self-attention"),
            explanation=lazy("**A penalty that grows with distance is added to the scores:** the steeper a head's slope, the "
                             "closer its attention stays to the query. Nothing is added to the words, and nothing is learned."),
            bias_explanation=lazy("ALiBi subtracts a penalty from each score that grows with the distance between query and key."),
            source="Press et al. 2022, section 3",
            applied_to="scores",
            stages={
                "bias": PositionStage(
                    formula=r"A_{1hts} = -m_h\,|t - s|",
                    inputs="@q",
                    meaning=lazy("ALiBi: a penalty that grows with distance, steeper in some heads."),
                    aliases=("–", "attn_mask (float)", "alibi (BLOOM)", "@alibi"),
                    operation=lazy("slope × distance →"),
                ),
            },
            line_dash="dashdot",
            marker_symbol="triangle-up",
        ),
        "t5": PositionScheme(
            title=lazy("T5 bias"),
            name=lazy("T5's bias"),
            summary=lazy("a learned number for each head and range of distances is added to the scores"),
            explanation=lazy("**Each head learns a number for each range of distances, and adds it to its scores.** Short "
                             "distances have a number each; longer ones share one, and all layers of a stack share the whole "
                             "table. T5 itself does not divide its scores by √d_k."),
            bias_explanation=lazy("T5 adds a number to each score that this head learned for the distance between query and key."),
            source="Raffel et al. 2020, section 2.1",
            applied_to="scores",
            parameter_name="relative_bias",
            stages={
                "score_bias": PositionStage(
                    formula=r"A^\text{stack}_{1hts} = W^A_{\text{bucket}(t - s),\,h}",
                    inputs="ids",
                    meaning=lazy("T5: a learned number for each head and each bucket of distances, computed once and shared by all "
                    "layers."),
                    aliases=("–", "–", "position_bias (T5)", "–"),
                    operation=lazy("look up the distance →"),
                ),
                "bias": PositionStage(
                    formula=r"A_{1hts} = A^\text{stack}_{1hts}",
                    inputs="score_bias",
                    meaning=lazy("T5: the learned numbers of the distances, the same in every layer of the stack."),
                    aliases=("–", "attn_mask (float)", "position_bias (T5)", "–"),
                ),
            },
            line_dash="longdashdot",
            marker_symbol="triangle-down",
        ),
        "none": PositionScheme(
            title=lazy("None"),
            name=lazy("no positions"),
            summary=lazy("nothing is added"),
            explanation=lazy("**The model gets no information about positions.** Without a mask it cannot notice the order: if you "
            "shuffle the words, its outputs are the same vectors, shuffled in the same way. A causal mask gives it some "
            "information, because the first word attends to one word and the last attends to all. The section Experiments "
            "measures both."),
            source="Haviv et al. 2022",
            applied_to="nowhere",
            line_dash="longdash",
            marker_symbol="x",
        ),
    }
)
