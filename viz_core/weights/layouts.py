"""Published architectures as switches of our one model, and where in their files each of its parameters lies.

BERT (Devlin et al. 2019), DistilBERT (Sanh et al. 2019), RoBERTa (Liu et al. 2019) and GPT-2 (Radford et al. 2019) compute
what `Transformer` computes: the first three are Post-LN encoders that normalise the embedding, the last a Pre-LN decoder with a
tied head. Only names differ; RoBERTa's table of positions has rows in front that no token uses, and GPT-2 keeps its matrices
transposed with q, k and v in one. Nothing is loaded here.

config.json is read by the functions that are named after what a setting is (`size`, `number`, `switch`, …), so that a message
names the setting and the value as they stand in the file.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple, TypeGuard

from viz_core.activations import ACTIVATIONS
from viz_core.config import STACKS, Side, TransformerConfig
from viz_core.language import translate as _
from viz_core.weights.files import without_surrogates

Settings = Mapping[str, Any]  # the contents of config.json
Ends = tuple[int | None, int | None]  # the ids that open and close a text; None where the model has none

MAX_SIZE = 10**9  # of a setting of config.json: far more than any model has, and a number that can be multiplied and written
MAX_EPSILON = 1000  # of a norm, where published models have 1e-12 to 1e-5
MAX_SHOWN = 40  # characters of a value of config.json that a sentence repeats

OUR_ACTIVATION = {theirs: ours for ours, known in ACTIVATIONS.items() for theirs in known.huggingface}


class TensorRow(NamedTuple):
    """One module of ours and the one it is read from; `@` is the number of the layer, the same on both sides."""

    ours: str
    theirs: str
    axes: str  # of our weight: W words, P positions, G segments, D = d_model, F = d_ff; a bias has the first
    bias: bool = True
    conv: bool = False  # stored as [in, out], GPT-2's Conv1D, instead of [out, in]
    third: int | None = None  # which third of the stored matrix it is: q, k and v in one
    skips: bool = False  # the stored rows up to that of the padding id are no positions: RoBERTa's


class TensorPart(NamedTuple):
    """The tensor that holds one of our parameters: its name, shape and conversion."""

    name: str
    shape: tuple[int, ...]
    transposed: bool
    third: int | None
    skipped: int = 0  # rows in front that our parameter lacks
    file: int = 0  # the number of the file that holds it

    @property
    def numbers(self) -> int:
        """How many our parameter has."""
        return prod((self.shape[0] - self.skipped, *self.shape[1:])) // (1 if self.third is None else 3)


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """One model type of the Hugging Face layout."""

    title: str
    side: Side  # the one text that it reads: "source" of an encoder, "target" of a decoder
    config: Callable[[Settings], TransformerConfig]
    plain: Settings  # settings that our model lacks, with the value at which they have no effect
    aliases: Mapping[str, str]  # other names of sizes, which `transformers` lets win, and the names that are read here
    prefix: str  # before the names of the body where the file also holds a head
    body: tuple[str, ...]  # prefixes of the names of the body
    buffers: str  # pattern of tensors of the body that are no parameters
    embedding: tuple[TensorRow, ...]
    layer: tuple[TensorRow, ...]
    last: tuple[TensorRow, ...] = ()
    head: TensorRow | None = None  # outside the body; used where it is not tied to the embedding
    ends: Callable[[Settings], Ends | None] = lambda raw: None  # ids of <bos> and <eos>; None: the tokenizer adds them
    facts: Callable[[Settings], Mapping[str, str]] = lambda raw: {}  # what the card says of this file besides its sizes

    @property
    def skips_padding(self) -> bool:
        """Whether a token with the padding id has no position of its own: positions count the other tokens."""
        return any(row.skips for row in self.embedding)

    def parts(self, config: TransformerConfig) -> Iterator[tuple[str, TensorPart]]:
        """Each of our parameters by its torch name, and its part in their file (body names without the prefix)."""
        c, stack = config, STACKS[self.side]
        sizes = {"W": c.vocab_size(self.side), "P": c.max_len, "G": c.n_segments, "D": c.d_model, "F": c.ff_width}
        for row in self.embedding:
            if "G" not in row.axes or c.n_segments:
                yield from _parts(row, sizes, f"{stack}.", c.pad_id(self.side) + 1)
        for i in range(c.n_layers(self.side)):
            for row in self.layer:
                ours, theirs = row.ours.replace("@", str(i)), row.theirs.replace("@", str(i))
                yield from _parts(row._replace(ours=ours, theirs=theirs), sizes, f"{stack}.")
        for row in self.last:
            yield from _parts(row, sizes, f"{stack}.")
        if self.head is not None and not c.tie_output:
            yield from _parts(self.head, sizes, "")


def _parts(row: TensorRow, sizes: Mapping[str, int], stack: str, skipped: int = 0) -> Iterator[tuple[str, TensorPart]]:
    """skipped: the rows in front of a table whose row `skips`."""
    first, *rest = (sizes[axis] for axis in row.axes.split())
    skipped = skipped if row.skips else 0
    stored = (first + skipped if row.third is None else 3 * first, *rest)
    weight = TensorPart(f"{row.theirs}.weight", stored[::-1] if row.conv else stored, row.conv, row.third, skipped)
    yield f"{stack}{row.ours}.weight", weight
    if row.bias:
        yield f"{stack}{row.ours}.bias", TensorPart(f"{row.theirs}.bias", stored[:1], False, row.third)


# --- Settings of config.json ------------------------------------------------------------------------------------------


def as_written(value: Any) -> str:
    """A value as it stands in config.json, shortened: "12", null, [5, 7]."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except RecursionError:  # a list in a list in a list …
        text = MAX_SHOWN * "["
    text = without_surrogates(text)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def is_whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def activation(raw: Settings, field: str, default: str) -> str:
    """Our name of their activation. `ValueError` for one that the model lacks."""
    name = raw.get(field, default)
    if not isinstance(name, str) or name not in OUR_ACTIVATION:
        raise ValueError(_("{field}={name} is not an activation of this model; it has {our_activation}",
                           field=field, name=as_written(name), our_activation=", ".join(OUR_ACTIVATION)))
    return OUR_ACTIVATION[name]


def size(raw: Settings, field: str, least: int = 1, default: int | None = None) -> int:
    """A size; config.json must state it where there is no default."""
    value = raw.get(field, default)
    if field not in raw and default is None:
        raise ValueError(_("{field} is missing; a model of this type states it", field=field))
    if not is_whole(value) or not least <= value <= MAX_SIZE:
        raise ValueError(_("{field}={value} is not a size; it is a whole number from {least} to {most:,}",
                           field=field, value=as_written(value), least=least, most=MAX_SIZE))
    return int(value)


def heads(raw: Settings, field: str, width: str) -> int:
    """The number of heads. width: the setting whose features they share, equally."""
    count = size(raw, field)
    if size(raw, width) % count:
        raise ValueError(_("{width}={features} does not split into {field}={count} equal heads; save the model again",
                           width=width, features=raw[width], field=field, count=count))
    return count


def number(raw: Settings, field: str, default: float, below: float) -> float:
    """A number from 0 up to, not including, `below`."""
    value = raw.get(field, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < below:
        raise ValueError(_("{field}={value} cannot be used; it is a number of at least 0 and less than {below}",
                           field=field, value=as_written(value), below=f"{below:g}"))
    return float(value)


def switch(raw: Settings, field: str, default: bool) -> bool:
    value = raw.get(field, default)
    if not isinstance(value, bool):
        raise ValueError(_("{field}={value} is not a switch; it is true or false", field=field, value=as_written(value)))
    return value


def padding(raw: Settings, default: int) -> int:
    """The id that fills shorter texts; the default where config.json says nothing or null."""
    value, words = raw.get("pad_token_id"), size(raw, "vocab_size")
    value = default if value is None else value
    if not is_whole(value) or not 0 <= value < words:
        raise ValueError(_("pad_token_id={value} is outside the vocabulary; vocab_size={words} has the ids 0 to {last}",
                           value=as_written(value), words=words, last=words - 1))
    return int(value)


def ending(raw: Settings, field: str, default: int) -> int | None:
    """The id of a special token that a text can lack, or the first one of a list.

    None where config.json says null, or an id that the vocabulary lacks and that the model therefore never reads or writes.
    """
    value = raw.get(field, default)
    ids = value if isinstance(value, list) else [] if value is None else [value]
    if not all(map(is_whole, ids)):
        raise ValueError(_("{field}={value} is not the id of a token; it is a whole number, a list of such numbers or null",
                           field=field, value=as_written(value)))
    words = size(raw, "vocab_size")
    return next((int(id) for id in ids if 0 <= id < words), None)


# --- BERT, DistilBERT and RoBERTa -------------------------------------------------------------------------------------


def _encoder(raw: Settings, pad_id: int, **switches: Any) -> TransformerConfig:
    """A Post-LN encoder whose embedding is normalised. The head of the file is not used: see `bert`."""
    return TransformerConfig(
        architecture="encoder-only", norm="post", norm_embedding=True, position="learned", scale_embedding=False, head=False,
        source_vocab_size=size(raw, "vocab_size"), source_pad_id=pad_id, dropout_sites=("embedding", "weights", "sublayer"),
        **switches,
    )


def bert(raw: Settings) -> TransformerConfig:
    """BERT's masked-word head transforms the hidden state once more before it scores words; ours does not, so no head."""
    return _bert(raw, padding(raw, 0), size(raw, "max_position_embeddings"))


def _bert(raw: Settings, pad_id: int, max_len: int) -> TransformerConfig:
    return _encoder(
        raw, pad_id, d_model=size(raw, "hidden_size"), n_heads=heads(raw, "num_attention_heads", "hidden_size"),
        n_encoder_layers=size(raw, "num_hidden_layers", 0), d_ff=size(raw, "intermediate_size"), max_len=max_len,
        n_segments=size(raw, "type_vocab_size", 0, default=2), activation=activation(raw, "hidden_act", "gelu"),
        norm_eps=number(raw, "layer_norm_eps", 1e-12, MAX_EPSILON), dropout=number(raw, "hidden_dropout_prob", 0.1, below=1),
    )


def distilbert(raw: Settings) -> TransformerConfig:
    """BERT without segments; ε is not a setting there."""
    return _encoder(
        raw, padding(raw, 0), d_model=size(raw, "dim"), n_heads=heads(raw, "n_heads", "dim"),
        n_encoder_layers=size(raw, "n_layers", 0), d_ff=size(raw, "hidden_dim"), max_len=size(raw, "max_position_embeddings"),
        activation=activation(raw, "activation", "gelu"), norm_eps=1e-12, dropout=number(raw, "dropout", 0.1, below=1),
    )


def roberta(raw: Settings) -> TransformerConfig:
    """BERT whose first token has the position behind the padding id, so that the rows up to it are not for tokens."""
    pad_id, rows = padding(raw, 1), size(raw, "max_position_embeddings")
    if rows <= pad_id + 1:
        raise ValueError(_("max_position_embeddings={rows} leaves no position for a token, since the first one has number "
                           "{first}, pad_token_id + 1; save the model again", rows=rows, first=pad_id + 1))
    return _bert(raw, pad_id, rows - pad_id - 1)


def roberta_facts(raw: Settings) -> Mapping[str, str]:
    return {"positions": _("the first token has row {first} of the model's table of positions, since RoBERTa counts from "
                           "pad_token_id + 1; the rows before it are not used", first=padding(raw, 1) + 1)}


BERT = Layout(
    title=_("BERT encoder"), side="source", config=bert,
    plain={"position_embedding_type": "absolute", "is_decoder": False, "add_cross_attention": False, "is_causal": False},
    aliases={},
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
    title=_("DistilBERT encoder"), side="source", config=distilbert, plain={"is_causal": False},
    aliases={"hidden_size": "dim", "num_attention_heads": "n_heads", "num_hidden_layers": "n_layers"},
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


ROBERTA = replace(
    BERT, title=_("RoBERTa encoder"), config=roberta, prefix="roberta.", facts=roberta_facts,
    embedding=tuple(row._replace(skips=row.ours == "pos_embedding") for row in BERT.embedding),
)


# --- GPT-2 ------------------------------------------------------------------------------------------------------------

ENDOFTEXT = 50256  # <|endoftext|> of the published vocabulary, which a config.json that says nothing means


def gpt2(raw: Settings) -> TransformerConfig:
    """A Pre-LN decoder with a final norm and a head without bias.

    Its one special token, <|endoftext|>, opens a text, closes it and fills shorter ones up, so that only the length of a
    sentence tells its padding. No mask hides it: under the causal mask no token sees the padding on its right anyway.
    """
    eos = gpt2_ends(raw)[1]
    return TransformerConfig(
        architecture="decoder-only", norm="pre", position="learned", scale_embedding=False, head_bias=False,
        d_model=size(raw, "n_embd"), n_heads=heads(raw, "n_head", "n_embd"), n_decoder_layers=size(raw, "n_layer", 0),
        d_ff=None if raw.get("n_inner") is None else size(raw, "n_inner"), max_len=size(raw, "n_positions"),
        target_vocab_size=size(raw, "vocab_size"), target_pad_id=0 if eos is None else eos, padding_from="lengths",
        mask_target_padding=False,
        activation=activation(raw, "activation_function", "gelu_new"),
        norm_eps=number(raw, "layer_norm_epsilon", 1e-5, MAX_EPSILON),
        scale_scores=switch(raw, "scale_attn_weights", True), tie_output=switch(raw, "tie_word_embeddings", True),
        dropout=number(raw, "resid_pdrop", 0.1, below=1), dropout_sites=("embedding", "weights", "sublayer"),
    )


def gpt2_ends(raw: Settings) -> Ends:
    """The ids that open and close a text, both <|endoftext|> unless config.json says otherwise; one that closes it opens it too."""
    bos, eos = ending(raw, "bos_token_id", ENDOFTEXT), ending(raw, "eos_token_id", ENDOFTEXT)
    return eos if bos is None else bos, eos


GPT2 = Layout(
    title=_("GPT-2 decoder"), side="target", config=gpt2,
    plain={"add_cross_attention": False, "scale_attn_by_inverse_layer_idx": False, "is_causal": True},
    aliases={"hidden_size": "n_embd", "max_position_embeddings": "n_positions", "num_attention_heads": "n_head",
             "num_hidden_layers": "n_layer"},
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

LAYOUTS = {
    "bert": BERT, "distilbert": DISTILBERT, "roberta": ROBERTA, "xlm-roberta": ROBERTA, "camembert": ROBERTA, "gpt2": GPT2,
}
