"""The plans of the shipped checkpoints: everything that their training and evaluation depend on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeVar

from viz_core.config import TransformerConfig
from viz_core.messages import LazyText, lazy
from viz_core.text import Vocabulary

T = TypeVar("T", str, Sequence[str])

N_SENTENCES, N_MEASURED = 2_000_000, 1_000  # training sentences, and held-out sentences for the evaluation
THRESHOLD_SEED = 2
"""Seed of the held-out sentences on which the coverage threshold is chosen; it is evaluated on those of `HELD_OUT_SEED`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSettings:
    """The training settings. The learning rate rises linearly to `peak_rate` in `warmup_steps` steps, then falls linearly to 0."""

    steps: int = 4000
    batch_size: int = 64
    peak_rate: float = 2e-3
    warmup_steps: int = 400
    betas: tuple[float, float] = (0.9, 0.98)
    max_grad_norm: float = 1.0  # maximum gradient norm
    seed: int = 0
    bfloat16: bool = False  # matrix products in bfloat16
    n_processes: int = 1  # processes that share each batch
    muon_rate: float = 0.0  # Muon's peak learning rate for the matrices of the layers; 0: Adam for all parameters
    alignment_weight: float = 0.0  # weight of the alignment loss of two cross-attention heads; 0: no supervision

    def learning_rate(self, step: int) -> float:
        """Return the learning rate of a step, counted from 0."""
        return self.peak_rate * min((step + 1) / self.warmup_steps, (self.steps - step) / max(1, self.steps - self.warmup_steps))

    def with_steps(self, steps: int) -> "TrainingSettings":
        """Return the settings with another number of steps, a tenth of them warm-up."""
        return replace(self, steps=steps, warmup_steps=max(1, steps // 10))


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointPlan:
    """The plan of one checkpoint: its config, its training settings, and a note about it.

    Each training starts from the seed of its settings, so it does not depend on other plans. The vocabulary follows from the
    training sentences, so `config` has no vocabulary sizes; `config_with_vocabulary` adds them.
    """

    title: LazyText
    note: LazyText
    config: TransformerConfig
    settings: TrainingSettings = field(default_factory=TrainingSettings)

    @property
    def is_translation(self) -> bool:
        """Whether it translates English into Chinese; otherwise it is an English language model."""
        return self.config.has_cross_attention

    def vocabulary(self, english: Sequence[str], chinese: Sequence[str]) -> dict[str, Vocabulary]:
        """Return the vocabulary of each side of the architecture, from the words of the training sentences."""
        if self.is_translation:
            return {"source": Vocabulary(tuple(english)), "target": Vocabulary(tuple(chinese))}
        return {self.config.output_side: Vocabulary(tuple(english))}

    def config_with_vocabulary(self, vocabulary: Mapping[str, Vocabulary]) -> TransformerConfig:
        """Return the config with the vocabulary sizes."""
        sizes = {f"{side}_vocab_size": words.vocab_size for side, words in vocabulary.items()}
        return replace(self.config, **sizes)  # type: ignore[arg-type]

    @property
    def examples(self) -> tuple[tuple[str, str], ...]:
        """The example sentences as (source, target); a side that the architecture lacks is ""."""
        return EXAMPLES if self.is_translation else tuple(self.as_pair(source) for source, __ in EXAMPLES)

    def as_pair(self, english: T) -> tuple[T, T]:
        """Return (source, target) of a language model: the English on its own side, an empty text on the other."""
        nothing: T = english[:0]
        return (english, nothing) if self.config.has_encoder else (nothing, english)


# Dropout is applied to the attention weights alone, which makes attention sharper. The translator has none.
_TRANSLATOR = TransformerConfig(
    d_model=128, n_heads=8, d_ff=512, n_encoder_layers=3, n_decoder_layers=3, dropout=0.0, dropout_sites=("weights",)
)
_SMALL = replace(_TRANSLATOR, dropout=0.1, d_model=64, n_heads=4, d_ff=256, n_encoder_layers=2, n_decoder_layers=2)
_ENGLISH = replace(_SMALL, architecture="decoder-only")
_LONG = TrainingSettings(
    steps=24_000,
    batch_size=128,
    peak_rate=1.5e-3,
    warmup_steps=1_500,
    bfloat16=True,
    n_processes=2,
    muon_rate=1.2e-2,
    alignment_weight=0.3,
)
_SHORT = TrainingSettings(steps=4_500, peak_rate=2e-3, warmup_steps=500, bfloat16=True, muon_rate=1.5e-2)
PLANS: Mapping[str, CheckpointPlan] = MappingProxyType({
    "translator": CheckpointPlan(
        title=lazy("Translator, English → Chinese"),
        note=lazy("It has the documents' architecture, with Post-LN and sinusoidal positions, at the size that everyday sentences "
                  "need."),
        config=_TRANSLATOR,
        settings=_LONG,
    ),
    "translator-small": CheckpointPlan(
        title=lazy("Small translator"),
        note=lazy("The same architecture with two layers a side and half the width: fewer steps to walk through, and more "
                  "mistakes."),
        config=_SMALL,
        settings=_SHORT,
    ),
    "translator-pre": CheckpointPlan(
        title=lazy("Small translator, Pre-LN"),
        note=lazy("Each sub-layer reads a normalised input, and the residual stream itself is never normalised."),
        config=replace(_SMALL, norm="pre"),
        settings=_SHORT,
    ),
    "translator-learned": CheckpointPlan(
        title=lazy("Small translator, learned positions"),
        note=lazy("A learned vector for each of 64 positions instead of waves. The longest training sentences have 31 tokens, so "
        "the vectors of all later positions still have their initial values."),
        config=replace(_SMALL, position="learned", max_len=64),
        settings=_SHORT,
    ),
    "translator-nopos": CheckpointPlan(
        title=lazy("Small translator without positions"),
        note=lazy("To its encoder a sentence is a bag of words: it cannot know who chased whom."),
        config=replace(_SMALL, position="none"),
        settings=_SHORT,
    ),
    "english": CheckpointPlan(
        title=lazy("English, next word"),
        note=lazy("A decoder-only model with a causal mask: it predicts each word from the words before it."),
        config=_ENGLISH,
        settings=_SHORT,
    ),
    "english-open": CheckpointPlan(
        title=lazy("English without causal mask"),
        note=lazy("The default of SimpleGPT (003): every word may attend to the next one, which is the answer. So the loss is "
                  "near 0, and the model generates nonsense, since it then has no next word to copy."),
        config=replace(_ENGLISH, causal=False),
        settings=_SHORT,
    ),
})
"""By name, in the order of the list in the app; the first is the default. `write_index` writes this order for the app."""

EXAMPLES = (
    ("The animal didn't cross the street because it was too tired.", "动物 没有 穿过 街道 因为 动物 太 累 了 。"),
    ("The animal didn't cross the street because it was too wide.", "动物 没有 穿过 街道 因为 街道 太 宽 了 。"),
    ("the cat sat on the mat", "猫 坐 在 垫子 上"),
    ("The trophy did not fit in the suitcase because it was too big.", "奖杯 不 能 装 进 行李箱 因为 奖杯 太 大 了 。"),
    ("The trophy did not fit in the suitcase because it was too small.", "奖杯 不 能 装 进 行李箱 因为 行李箱 太 小 了 。"),
    ("yesterday the man gave a book to her", "昨天 男人 给 了 她 一 本 书"),
    ("where is my dog ?", "我 的 狗 在 哪里 ？"),
    ("I love you", "我 爱 你"),
)
PROMPTS = ("the animal did not cross the", "there is a")
