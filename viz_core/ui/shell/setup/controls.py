"""The table of the sidebar's controls: the config field that each sets, its label, help text and options."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from viz_core.config import CHOICES, TransformerConfig
from viz_core.config.activations import ACTIVATIONS
from viz_core.config.norms import NORMS
from viz_core.config.position_schemes import POSITION_SCHEMES
from viz_core.messages import Message, translate_fields
from viz_core.messages import translate as _
from viz_core.presets import DOCUMENTS
from viz_core.stages.specs import always


@dataclass(frozen=True, slots=True)
@translate_fields
class Control:
    """One control of the sidebar: the config field that it sets, and the valid values that it offers, in order."""

    field: str
    label: Message
    help: Message
    options: Callable[[TransformerConfig], Sequence[Any]]
    group: Message = ""  # "" for the controls at the top
    has_effect: Callable[[TransformerConfig], bool] = always  # whether the field has an effect

    def format_value(self, value: Any) -> str:
        """Return a value as text: a choice by its label in `LABELS`, a switch as on or off, a number unchanged."""
        if isinstance(value, bool):
            return _("on") if value else _("off")
        return f"{value:g}" if isinstance(value, float) else LABELS.get(self.field, {}).get(value, str(value))

    def value(self, config: TransformerConfig) -> Any:
        """Return the value of the field in a config, with derived values resolved."""
        return getattr(config, RESOLVED_PROPERTIES.get(self.field, self.field))

    def values_with_current(self, config: TransformerConfig) -> list[Any]:
        """Return the options, including the present value."""
        options = list(self.options(config))
        if self.value(config) not in options:
            options = sorted([*options, self.value(config)])
        return options


# Fields that no parameter depends on: trained weights fit any value of them, though they were trained with one.
NON_PARAMETER_FIELDS = frozenset({
    "position", "position_base", "max_len", "scale_embedding", "scale_scores", "residual", "causal", "activation", "norm_eps",
    "mask_source_padding", "mask_target_padding", "mask_padded_queries", "mask_fill", "empty_row",
})
VOCAB_FIELDS = frozenset({"source_vocab_size", "target_vocab_size", "source_pad_id", "target_pad_id"})  # they define the token ids
RESOLVED_PROPERTIES = {"qk_dim": "qk_width", "d_ff": "ff_width", "causal": "is_causal", "final_norm": "has_final_norm"}
HEAD_SPLIT_FIELDS = ("d_model", "qk_dim")  # they are adapted to n_heads, since they split into equal heads
DERIVED_SIZE = "auto"  # in a link: qk_dim equals d_model
HEAD_WIDTHS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
MAX_D_MODEL = 1024


# The labels of choices. Links and code use the choice itself.
LABELS: dict[str, dict[str, str]] = {
    "architecture": {"encoder-decoder": _("encoder and decoder"), "encoder-only": _("encoder only"), "decoder-only": _("decoder only")},
    "norm": {"post": _("after each sum (Post-LN)"), "pre": _("before each sub-layer (Pre-LN)"), "none": _("none")},
    "norm_kind": {name: norm.title for name, norm in NORMS.items()},
    "position": {name: scheme.title for name, scheme in POSITION_SCHEMES.items()},
    "activation": {name: activation.title for name, activation in ACTIVATIONS.items()},
    "mask_fill": {"-inf": "−∞"},
    "empty_row": {"zero": _("zero"), "softmax": _("softmax of the filled scores")},
    "init": {"xavier_uniform": _("Xavier, uniform"), "xavier_normal": _("Xavier, normal"), "torch": _("torch's defaults")},
}


def _fixed_options(*values: Any) -> Callable[[TransformerConfig], Sequence[Any]]:
    return lambda config: values


def _config_choices(name: str) -> Callable[[TransformerConfig], Sequence[Any]]:
    return lambda config: CHOICES[name]


def _d_model_options(c: TransformerConfig) -> list[int]:
    """Return the options of d_model, which give each head the same number of features."""
    widths = [c.n_heads * w for w in HEAD_WIDTHS if c.n_heads * w <= MAX_D_MODEL]
    needs_even = c.has_rotary_positions and c.qk_dim is None
    return [d for d in widths if not (needs_even and d // c.n_heads % 2)]


def _qk_dim_options(c: TransformerConfig) -> list[int]:
    return [c.n_heads * w for w in HEAD_WIDTHS if c.n_heads * w <= MAX_D_MODEL and not (c.has_rotary_positions and w % 2)]


LAYERS = _fixed_options(*range(1, 13), 16, 24, 32, 48)
VOCABULARIES = _fixed_options(20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 30000)
ON_OFF = _fixed_options(False, True)
PAD_IDS = _fixed_options(0, 1, 2, 3)

POSITION_HELP = _("How word order reaches the model.") + " " + " ".join(f"{scheme.title}: {scheme.summary}." for scheme in POSITION_SCHEMES.values())

CONTROLS: tuple[Control, ...] = (
    Control("n_heads", "n_heads", "The number of attention heads in each layer.", _fixed_options(*range(1, 17))),
    Control("d_model", "d_model", "The number of features in each token's vector; they are split evenly among the heads.", _d_model_options),
    Control("n_encoder_layers", "Encoder layers", "The number of layers in the encoder.", LAYERS, has_effect=lambda c: c.has_encoder),
    Control("n_decoder_layers", "Decoder layers", "The number of layers in the decoder.", LAYERS, has_effect=lambda c: c.has_decoder),
    Control("position", "Positions", POSITION_HELP, _config_choices("position")),
    Control("norm", "LayerNorm", "Where the LayerNorms are: after each residual sum, before each sub-layer, or nowhere.", _config_choices("norm")),
    Control("architecture", "Architecture", "An encoder that reads and a decoder that writes, or only one of the two.", _config_choices("architecture")),
    Control("qk_dim", "qk_dim", "The width of the queries (and of the keys) over all heads together; the values keep d_model.", _qk_dim_options, "Sizes"),
    Control("d_ff", "d_ff", "The number of hidden units in the feed-forward network; usually 4 · d_model.",
            _fixed_options(4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3072, 4096), "Sizes"),
    Control("max_len", "max_len", "The number of rows in the position table; the model cannot read a longer sentence.",
            _fixed_options(5, 10, 20, 50, 100, 200, 512, 1024, 5000), "Sizes", lambda c: c.has_position_table),
    Control("source_vocab_size", "Source vocabulary", "The number of word ids that the encoder knows.", VOCABULARIES, "Sizes", lambda c: c.has_encoder),
    Control("target_vocab_size", "Target vocabulary", "The number of word ids that the decoder knows.", VOCABULARIES, "Sizes", lambda c: c.has_decoder),
    Control("activation", "Activation", "The non-linearity of the feed-forward network.", _config_choices("activation"), "Layers"),
    Control("residual", "Residual connections", "Each sub-layer's output is added to the residual stream. Off: it replaces the stream.", ON_OFF, "Layers"),
    Control("final_norm", "Final norm", "A LayerNorm after the last layer of each stack; usual with Pre-LN.", ON_OFF, "Layers", lambda c: c.norm != "none"),
    Control("norm_embedding", "Norm on the embedding", "A LayerNorm before the first layer, as in BERT.", ON_OFF, "Layers"),
    Control("norm_kind", "Norm", "What a norm computes of the features of each token.", _config_choices("norm_kind"), "Layers",
            lambda c: c.norm != "none" or c.norm_embedding),
    Control("norm_eps", "LayerNorm ε", "Added to the variance, so that LayerNorm never divides by zero.",
            _fixed_options(1e-12, 1e-10, 1e-8, 1e-6, 1e-5, 1e-3, 1e-1), "Layers", lambda c: c.norm != "none" or c.norm_embedding),
    Control("scale_embedding", "Embedding × √d_model", "Scales the token embedding up, before any positions are added.", ON_OFF, "Embedding"),
    Control("position_base", "Position base", "A larger base makes the slowest wave slower; its wavelength stays below 2π times the base.",
            _fixed_options(10.0, 100.0, 1000.0, 10000.0, 100000.0, 1000000.0), "Embedding", lambda c: c.position_scheme.has_base),
    Control("zero_pad_embedding", "Zero padding row", "The embedding of <pad> is initialised to zeros.", ON_OFF, "Embedding"),
    Control("source_pad_id", "Source pad id", "The id of <pad> in the source.", PAD_IDS, "Embedding", lambda c: c.has_encoder),
    Control("target_pad_id", "Target pad id", "The id of <pad> in the target.", PAD_IDS, "Embedding", lambda c: c.has_decoder),
    Control("n_segments", "Segments", "The number of rows in BERT's segment table, which says which of two texts a token is from; 0 for no table.", _fixed_options(0, 2), "Embedding", lambda c: c.has_encoder),
    Control("scale_scores", "Scores ÷ √d_k", "Divides q·k by the square root of a head's width. Off: wide heads can saturate the softmax.", ON_OFF, "Attention and masks"),
    Control("causal", "Causal mask", "No token may attend to a later one; in an encoder-decoder the mask acts in the decoder.", ON_OFF, "Attention and masks"),
    Control("mask_source_padding", "Mask source padding", "Hides source padding from every query.", ON_OFF,
            "Attention and masks", lambda c: c.has_encoder),
    Control("mask_target_padding", "Mask target padding", "Hides target padding from every query.", ON_OFF,
            "Attention and masks", lambda c: c.has_decoder),
    Control("mask_padded_queries", "Mask padded queries", _("Also forbids padded queries to attend to any key, as in {value}.",
                                                            value=DOCUMENTS["002"]), ON_OFF,
            "Attention and masks",
            lambda c: (c.has_encoder and c.mask_source_padding) or (c.has_decoder and c.mask_target_padding)),
    Control("mask_fill", "Mask fill", "The number that replaces a masked score before the softmax.", _fixed_options("-inf", -1e20, -1e9, -1e4), "Attention and masks"),
    Control("empty_row", "Fully masked rows", "The weights of a query that may attend to no key: zero, or the softmax of its filled scores, which is NaN under −∞ and gives equal weights under a finite fill.",
            _config_choices("empty_row"), "Attention and masks"),
    Control("head", "Vocabulary logits", "Whether the encoder ends in a score for every word of the vocabulary.", ON_OFF, "Output", lambda c: not c.has_decoder),
    Control("tie_output", "Tied output", "The output matrix reuses the token embedding.", ON_OFF, "Output", lambda c: c.has_head),
    Control("head_bias", "Output bias", "A learned number for each word, added to its score.", ON_OFF, "Output", lambda c: c.has_head),
    Control("attention_bias", "Attention biases", "Whether the four projections (queries, keys, values, output) add a bias.", ON_OFF, "Weights"),
    Control("ffn_bias", "Feed-forward biases", "Whether both linear layers add a bias.", ON_OFF, "Weights"),
    Control("init", "Initialisation", "The distribution that the untrained matrices are drawn from; torch's defaults are those of nn.Linear and nn.Embedding.", _config_choices("init"), "Weights"),
)
CONTROL_BY_FIELD = {c.field: c for c in CONTROLS}
