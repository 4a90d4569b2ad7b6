"""The table of the sidebar's controls: which config field each one sets, its label, its help text and the values it offers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from viz_core.config import CHOICES, TransformerConfig
from viz_core.stages import always


@dataclass(frozen=True, slots=True)
class Control:
    """One switch of the sidebar: the config field it sets and the valid values it offers, in order."""

    field: str
    label: str
    help: str
    options: Callable[[TransformerConfig], Sequence[Any]]
    group: str = ""  # "" for the few that matter first
    when: Callable[[TransformerConfig], bool] = always  # whether it has a meaning

    def value(self, config: TransformerConfig) -> Any:
        """What holds now, derived values resolved."""
        return getattr(config, RESOLVED.get(self.field, self.field))

    def offered(self, config: TransformerConfig) -> list[Any]:
        """The valid values, the present one among them."""
        options = list(self.options(config))
        if self.value(config) not in options:
            options = sorted([*options, self.value(config)])
        return options


# Switches that no parameter depends on: what stays editable with trained weights, though not as they were trained.
WEIGHTLESS = frozenset({
    "position", "position_base", "max_len", "scale_embedding", "scale_scores", "residual", "causal", "activation", "norm_eps",
    "mask_source_padding", "mask_target_padding", "mask_padded_queries", "mask_fill", "empty_row",
})
RESOLVED = {"qk_dim": "qk_width", "d_ff": "ff_width", "causal": "is_causal", "final_norm": "has_final_norm"}
SIZES = ("d_model", "qk_dim")  # they follow n_heads, since they split into equal heads
NO_SIZE = "auto"  # how a link says that qk_dim follows d_model
WIDTHS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
MAX_D_MODEL = 1024


def _of(*values: Any) -> Callable[[TransformerConfig], Sequence[Any]]:
    return lambda config: values


def _choices(name: str) -> Callable[[TransformerConfig], Sequence[Any]]:
    return lambda config: CHOICES[name]


def _widths(c: TransformerConfig) -> list[int]:
    """d_model: every head gets the same number of features."""
    fits = [c.n_heads * w for w in WIDTHS if c.n_heads * w <= MAX_D_MODEL]
    even = c.position == "rope" and c.qk_dim is None
    return [d for d in fits if not (even and d // c.n_heads % 2)]


def _qk_widths(c: TransformerConfig) -> list[int]:
    return [c.n_heads * w for w in WIDTHS if c.n_heads * w <= MAX_D_MODEL and not (c.position == "rope" and w % 2)]


LAYERS = _of(*range(1, 13), 16, 24, 32, 48)
VOCABULARIES = _of(20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 30000)
SWITCH = _of(False, True)
PAD_IDS = _of(0, 1, 2, 3)

CONTROLS: tuple[Control, ...] = (
    Control("architecture", "Architecture", "An encoder that reads and a decoder that writes, or only one of the two.", _choices("architecture")),
    Control("norm", "LayerNorm", "After each sub-layer's sum (post), before each sub-layer (pre), or nowhere.", _choices("norm")),
    Control("position", "Positions", "How word order reaches the model: vectors added to the embedding (sinusoidal, learned), queries and keys turned (rope), a penalty on distance (alibi), or nothing.", _choices("position")),
    Control("n_heads", "n_heads", "How many attention heads look in parallel.", _of(*range(1, 17))),
    Control("d_model", "d_model", "Numbers that stand for one token between the layers; they split evenly into the heads.", _widths),
    Control("n_encoder_layers", "Encoder layers", "How many layers the encoder stacks.", LAYERS, when=lambda c: c.has_encoder),
    Control("n_decoder_layers", "Decoder layers", "How many layers the decoder stacks.", LAYERS, when=lambda c: c.has_decoder),
    Control("qk_dim", "qk_dim", "Width of all queries (and of all keys) over all heads together; values keep d_model.", _qk_widths, "Sizes"),
    Control("d_ff", "d_ff", "Hidden units of the feed-forward network; usually 4 · d_model.",
            _of(4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3072, 4096), "Sizes"),
    Control("max_len", "max_len", "Rows of the position table; a longer sentence cannot be read.",
            _of(5, 10, 20, 50, 100, 200, 512, 1024, 5000), "Sizes", lambda c: c.has_position_table),
    Control("source_vocab_size", "Source vocabulary", "How many word ids the encoder knows.", VOCABULARIES, "Sizes", lambda c: c.has_encoder),
    Control("target_vocab_size", "Target vocabulary", "How many word ids the decoder knows.", VOCABULARIES, "Sizes", lambda c: c.has_decoder),
    Control("activation", "Activation", "The feed-forward network's non-linearity.", _choices("activation"), "Layers"),
    Control("residual", "Residual connections", "Each sub-layer adds to the stream. Off: it replaces the stream.", SWITCH, "Layers"),
    Control("final_norm", "Final norm", "A LayerNorm after the last layer of each stack; usual with pre.", SWITCH, "Layers", lambda c: c.norm != "none"),
    Control("norm_embedding", "Norm on the embedding", "A LayerNorm before the first layer, as BERT has it.", SWITCH, "Layers"),
    Control("norm_eps", "LayerNorm ε", "Added to the variance, so that LayerNorm never divides by zero.",
            _of(1e-12, 1e-10, 1e-8, 1e-6, 1e-5, 1e-3, 1e-1), "Layers", lambda c: c.norm != "none" or c.norm_embedding),
    Control("scale_embedding", "Embedding × √d_model", "Makes the content louder before the positions are added.", SWITCH, "Embedding"),
    Control("position_base", "Position base", "The larger, the slower the slowest wave; its length stays below 2π times this.",
            _of(10.0, 100.0, 1000.0, 10000.0, 100000.0, 1000000.0), "Embedding", lambda c: c.position in ("sinusoidal", "rope")),
    Control("zero_pad_embedding", "Zero padding row", "The embedding of <pad> starts as zeros.", SWITCH, "Embedding"),
    Control("source_pad_id", "Source pad id", "The id of <pad> in the source.", PAD_IDS, "Embedding", lambda c: c.has_encoder),
    Control("target_pad_id", "Target pad id", "The id of <pad> in the target.", PAD_IDS, "Embedding", lambda c: c.has_decoder),
    Control("n_segments", "Segments", "Rows of BERT's segment table (which of two texts a token is from); 0 for none.", _of(0, 2), "Embedding", lambda c: c.has_encoder),
    Control("scale_scores", "Scores ÷ √d_k", "Divides q·k by the root of a head's width. Off: wide heads can saturate the softmax.", SWITCH, "Attention and masks"),
    Control("causal", "Causal mask", "No token may look at a later one; in an encoder-decoder this is the decoder.", SWITCH, "Attention and masks"),
    Control("mask_source_padding", "Mask source padding", "Nobody may look at padding of the source.", SWITCH,
            "Attention and masks", lambda c: c.has_encoder),
    Control("mask_target_padding", "Mask target padding", "Nobody may look at padding of the target.", SWITCH,
            "Attention and masks", lambda c: c.has_decoder),
    Control("mask_padded_queries", "Mask padded queries", "Padding may not look at anyone either (document 002).", SWITCH,
            "Attention and masks",
            lambda c: (c.has_encoder and c.mask_source_padding) or (c.has_decoder and c.mask_target_padding)),
    Control("mask_fill", "Mask fill", "The number that replaces a forbidden score before the softmax.", _of("-inf", -1e20, -1e9, -1e4), "Attention and masks"),
    Control("empty_row", "A query that sees nothing", "Its weights: zeros, or as filled: NaN under −inf, all equal under a finite fill.",
            _choices("empty_row"), "Attention and masks"),
    Control("head", "Vocabulary logits", "Whether the encoder ends in a score for every word.", SWITCH, "Output", lambda c: not c.has_decoder),
    Control("tie_output", "Tied output", "The output matrix is the token embedding's, used a second time.", SWITCH, "Output", lambda c: c.has_head),
    Control("head_bias", "Output bias", "A learned number per word, added to its score.", SWITCH, "Output", lambda c: c.has_head),
    Control("attention_bias", "Attention biases", "Whether the four projections (queries, keys, values, output) add a bias.", SWITCH, "Weights"),
    Control("ffn_bias", "Feed-forward biases", "Whether both linear layers add a bias.", SWITCH, "Weights"),
    Control("init", "Initialisation", "What the untrained matrices are drawn from; torch: what nn.Linear and nn.Embedding draw by default.", _choices("init"), "Weights"),
)
BY_FIELD = {c.field: c for c in CONTROLS}
