"""Published architectures as switches of our one model, and where in their files each of its parameters lies.

BERT (Devlin et al. 2019), DistilBERT (Sanh et al. 2019) and GPT-2 (Radford et al. 2019) compute what `Transformer`
computes: the first two are Post-LN encoders that normalise the embedding, the last a Pre-LN decoder with a tied head.
Only names differ, and GPT-2 keeps its matrices transposed with q, k and v in one. Nothing is loaded here.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

from viz_core.activations import ACTIVATIONS
from viz_core.config import STACKS, Side, TransformerConfig
from viz_core.language import translate as _

Settings = Mapping[str, Any]  # the contents of config.json

OUR_ACTIVATION = {theirs: ours for ours, known in ACTIVATIONS.items() for theirs in known.huggingface}


class TensorRow(NamedTuple):
    """One module of ours and the one it is read from; `@` is the number of the layer, the same on both sides."""

    ours: str
    theirs: str
    axes: str  # of our weight: W words, P positions, G segments, D = d_model, F = d_ff; a bias has the first
    bias: bool = True
    conv: bool = False  # stored as [in, out], GPT-2's Conv1D, instead of [out, in]
    third: int | None = None  # which third of the stored matrix it is: q, k and v in one


class TensorPart(NamedTuple):
    """The tensor that holds one of our parameters: its name, shape and conversion."""

    name: str
    shape: tuple[int, ...]
    transposed: bool
    third: int | None

    @property
    def numbers(self) -> int:
        """How many our parameter has."""
        return prod(self.shape) // (1 if self.third is None else 3)


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """One model type of the Hugging Face layout."""

    title: str
    side: Side  # the one text that it reads: "source" of an encoder, "target" of a decoder
    config: Callable[[Settings], TransformerConfig]
    plain: Settings  # settings that our model lacks, with the value at which they have no effect
    prefix: str  # before the names of the body where the file also holds a head
    body: tuple[str, ...]  # prefixes of the names of the body
    buffers: str  # pattern of tensors of the body that are no parameters
    embedding: tuple[TensorRow, ...]
    layer: tuple[TensorRow, ...]
    last: tuple[TensorRow, ...] = ()
    head: TensorRow | None = None  # outside the body; used where it is not tied to the embedding
    ends: Callable[[Settings], tuple[Any, Any] | None] = lambda raw: None  # ids of <bos> and <eos>; None: the tokenizer adds them

    def parts(self, config: TransformerConfig) -> Iterator[tuple[str, TensorPart]]:
        """Each of our parameters by its torch name, and its part in their file (body names without the prefix)."""
        c, stack = config, STACKS[self.side]
        sizes = {"W": c.vocab_size(self.side), "P": c.max_len, "G": c.n_segments, "D": c.d_model, "F": c.ff_width}
        for row in self.embedding:
            if "G" not in row.axes or c.n_segments:
                yield from _parts(row, sizes, f"{stack}.")
        for i in range(c.n_layers(self.side)):
            for row in self.layer:
                ours, theirs = row.ours.replace("@", str(i)), row.theirs.replace("@", str(i))
                yield from _parts(row._replace(ours=ours, theirs=theirs), sizes, f"{stack}.")
        for row in self.last:
            yield from _parts(row, sizes, f"{stack}.")
        if self.head is not None and not c.tie_output:
            yield from _parts(self.head, sizes, "")


def _parts(row: TensorRow, sizes: Mapping[str, int], stack: str) -> Iterator[tuple[str, TensorPart]]:
    first, *rest = (sizes[axis] for axis in row.axes.split())
    stored = (first if row.third is None else 3 * first, *rest)
    weight = TensorPart(f"{row.theirs}.weight", stored[::-1] if row.conv else stored, row.conv, row.third)
    yield f"{stack}{row.ours}.weight", weight
    if row.bias:
        yield f"{stack}{row.ours}.bias", TensorPart(f"{row.theirs}.bias", stored[:1], False, row.third)


def activation(raw: Settings, field: str, default: str) -> str:
    """Our name of their activation. `ValueError` for one that the model lacks."""
    name = raw.get(field, default)
    if not isinstance(name, str) or name not in OUR_ACTIVATION:
        raise ValueError(_("{field}={name!r} is not an activation of this model; it has {our_activation}",
                           field=field, name=name, our_activation=", ".join(OUR_ACTIVATION)))
    return OUR_ACTIVATION[name]


def size(raw: Settings, field: str) -> Any:
    """A size that config.json must state; the config checks its value."""
    if field not in raw:
        raise ValueError(_("{field} is missing; a model of this type states it", field=field))
    return raw[field]


def either(raw: Settings, *fields: str, default: int) -> Any:
    """The first id that is stated and not null."""
    return next((raw[field] for field in fields if raw.get(field) is not None), default)


# --- BERT and DistilBERT ----------------------------------------------------------------------------------------------


def _encoder(raw: Settings, vocabulary: int, **switches: Any) -> TransformerConfig:
    """A Post-LN encoder whose embedding is normalised. The head of the file is not used: see `bert`."""
    return TransformerConfig(
        architecture="encoder-only", norm="post", norm_embedding=True, position="learned", scale_embedding=False, head=False,
        source_vocab_size=vocabulary, source_pad_id=either(raw, "pad_token_id", default=0),
        dropout_sites=("embedding", "weights", "sublayer"), **switches,
    )


def bert(raw: Settings) -> TransformerConfig:
    """BERT's masked-word head transforms the hidden state once more before it scores words; ours does not, so no head."""
    return _encoder(
        raw, size(raw, "vocab_size"), d_model=size(raw, "hidden_size"), n_heads=size(raw, "num_attention_heads"),
        n_encoder_layers=size(raw, "num_hidden_layers"), d_ff=size(raw, "intermediate_size"),
        max_len=size(raw, "max_position_embeddings"), n_segments=raw.get("type_vocab_size", 2),
        activation=activation(raw, "hidden_act", "gelu"), norm_eps=raw.get("layer_norm_eps", 1e-12),
        dropout=raw.get("hidden_dropout_prob", 0.1),
    )


def distilbert(raw: Settings) -> TransformerConfig:
    """BERT without segments; ε is not a setting there."""
    return _encoder(
        raw, size(raw, "vocab_size"), d_model=size(raw, "dim"), n_heads=size(raw, "n_heads"),
        n_encoder_layers=size(raw, "n_layers"), d_ff=size(raw, "hidden_dim"), max_len=size(raw, "max_position_embeddings"),
        activation=activation(raw, "activation", "gelu"), norm_eps=1e-12, dropout=raw.get("dropout", 0.1),
    )


BERT = Layout(
    title=_("BERT encoder"), side="source", config=bert,
    plain={"position_embedding_type": "absolute", "is_decoder": False, "add_cross_attention": False},
    prefix="bert.", body=("embeddings.", "encoder."), buffers=r"embeddings\.(position_ids|token_type_ids)",
    embedding=(
        TensorRow("tok_embedding", "embeddings.word_embeddings", "W D", bias=False),
        TensorRow("pos_embedding", "embeddings.position_embeddings", "P D", bias=False),
        TensorRow("seg_embedding", "embeddings.token_type_embeddings", "G D", bias=False),
        TensorRow("norm_embed", "embeddings.LayerNorm", "D"),
    ),
    layer=(
        TensorRow("layers.@.self_attn.w_q", "encoder.layer.@.attention.self.query", "D D"),
        TensorRow("layers.@.self_attn.w_k", "encoder.layer.@.attention.self.key", "D D"),
        TensorRow("layers.@.self_attn.w_v", "encoder.layer.@.attention.self.value", "D D"),
        TensorRow("layers.@.self_attn.w_o", "encoder.layer.@.attention.output.dense", "D D"),
        TensorRow("layers.@.norm_self_attn", "encoder.layer.@.attention.output.LayerNorm", "D"),
        TensorRow("layers.@.ffn.w_in", "encoder.layer.@.intermediate.dense", "F D"),
        TensorRow("layers.@.ffn.w_out", "encoder.layer.@.output.dense", "D F"),
        TensorRow("layers.@.norm_ffn", "encoder.layer.@.output.LayerNorm", "D"),
    ),
)

DISTILBERT = Layout(
    title=_("DistilBERT encoder"), side="source", config=distilbert, plain={},
    prefix="distilbert.", body=("embeddings.", "transformer."), buffers=r"embeddings\.position_ids",
    embedding=(
        TensorRow("tok_embedding", "embeddings.word_embeddings", "W D", bias=False),
        TensorRow("pos_embedding", "embeddings.position_embeddings", "P D", bias=False),
        TensorRow("norm_embed", "embeddings.LayerNorm", "D"),
    ),
    layer=(
        TensorRow("layers.@.self_attn.w_q", "transformer.layer.@.attention.q_lin", "D D"),
        TensorRow("layers.@.self_attn.w_k", "transformer.layer.@.attention.k_lin", "D D"),
        TensorRow("layers.@.self_attn.w_v", "transformer.layer.@.attention.v_lin", "D D"),
        TensorRow("layers.@.self_attn.w_o", "transformer.layer.@.attention.out_lin", "D D"),
        TensorRow("layers.@.norm_self_attn", "transformer.layer.@.sa_layer_norm", "D"),
        TensorRow("layers.@.ffn.w_in", "transformer.layer.@.ffn.lin1", "F D"),
        TensorRow("layers.@.ffn.w_out", "transformer.layer.@.ffn.lin2", "D F"),
        TensorRow("layers.@.norm_ffn", "transformer.layer.@.output_layer_norm", "D"),
    ),
)


# --- GPT-2 ------------------------------------------------------------------------------------------------------------


def gpt2(raw: Settings) -> TransformerConfig:
    """A Pre-LN decoder with a final norm and a head without bias.

    Its one special token, <|endoftext|>, opens a text, closes it and fills shorter ones up, so that only the length of a
    sentence tells its padding. No mask hides it: under the causal mask no token sees the padding on its right anyway.
    """
    return TransformerConfig(
        architecture="decoder-only", norm="pre", position="learned", scale_embedding=False, head_bias=False,
        d_model=size(raw, "n_embd"), n_heads=size(raw, "n_head"), n_decoder_layers=size(raw, "n_layer"),
        d_ff=raw.get("n_inner"), max_len=size(raw, "n_positions"),
        target_vocab_size=size(raw, "vocab_size"), target_pad_id=gpt2_ends(raw)[1], padding_from="lengths",
        mask_target_padding=False,
        activation=activation(raw, "activation_function", "gelu_new"), norm_eps=raw.get("layer_norm_epsilon", 1e-5),
        scale_scores=raw.get("scale_attn_weights", True), tie_output=raw.get("tie_word_embeddings", True),
        dropout=raw.get("resid_pdrop", 0.1), dropout_sites=("embedding", "weights", "sublayer"),
    )


def gpt2_ends(raw: Settings) -> tuple[Any, Any]:
    """The ids that open and close a text: both <|endoftext|>, unless config.json says otherwise."""
    return either(raw, "bos_token_id", "eos_token_id", default=50256), either(raw, "eos_token_id", "bos_token_id", default=50256)


GPT2 = Layout(
    title=_("GPT-2 decoder"), side="target", config=gpt2,
    plain={"add_cross_attention": False, "scale_attn_by_inverse_layer_idx": False},
    prefix="transformer.", body=("wte.", "wpe.", "h.", "ln_f."), buffers=r"h\.\d+\.attn\.(bias|masked_bias)",
    embedding=(TensorRow("tok_embedding", "wte", "W D", bias=False), TensorRow("pos_embedding", "wpe", "P D", bias=False)),
    layer=(
        TensorRow("layers.@.norm_self_attn", "h.@.ln_1", "D"),
        *(TensorRow(f"layers.@.self_attn.w_{x}", "h.@.attn.c_attn", "D D", conv=True, third=i) for i, x in enumerate("qkv")),
        TensorRow("layers.@.self_attn.w_o", "h.@.attn.c_proj", "D D", conv=True),
        TensorRow("layers.@.norm_ffn", "h.@.ln_2", "D"),
        TensorRow("layers.@.ffn.w_in", "h.@.mlp.c_fc", "F D", conv=True),
        TensorRow("layers.@.ffn.w_out", "h.@.mlp.c_proj", "D F", conv=True),
    ),
    last=(TensorRow("final_norm", "ln_f", "D"),),
    head=TensorRow("head", "lm_head", "W D", bias=False),
    ends=gpt2_ends,
)

LAYOUTS = {"bert": BERT, "distilbert": DISTILBERT, "gpt2": GPT2}
