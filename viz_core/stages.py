"""THE stage table: every intermediate of the model, declared once.

A stage is a named tensor on the way from token id to loss. Its name is module path + short name ("leaf"), so
`model.get_submodule(prefix)` finds the parameters that made it; ids and masks stand outside the module tree.
Formulas are LaTeX in index notation: the indices are the axis letters in lower case (b sentence, t query token,
s key token, d feature, h head, k query/key feature, v value feature, f hidden feature, w word).

Step by step, Shapes, tooltips, exports, size estimates and tests all read this table.
"""

import math
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

from viz_core.activations import ACTIVATIONS
from viz_core.config import STACKS, Side, TransformerConfig, side_of
from viz_core.formats import latex
from viz_core.language import Message, translating
from viz_core.language import translate as _
from viz_core.presets import DOCUMENTS

Kind = Literal["signed", "probability", "mask", "ids"]
# The keys of `Stage.aliases`, each with its title.
LIBRARIES = {"documents": _("documents"), "torch": "torch", "hugging_face": "Hugging Face", "transformer_lens": "TransformerLens"}
BYTES = {"float32": 4, "int64": 8, "bool": 1}
DTYPES: dict[str, str] = {"mask": "bool", "ids": "int64"}  # by kind; everything else is float32
AXES = {
    "B": _("sentence"),
    "T": _("query token"),
    "S": _("key token"),
    "D": _("feature of the residual stream (d_model)"),
    "H": _("head"),
    "K": _("query/key feature of one head (d_k)"),
    "V": _("value feature of one head (d_v)"),
    "F": _("hidden feature of the feed-forward network (d_ff)"),
    "W": _("word of the vocabulary"),
    "1": _("broadcast"),
}
# Names as a sentence has them; code and links hold the keys.
SIDE_NAMES: dict[str, str] = {"source": _("source"), "target": _("target")}
STACK_NAMES: dict[str, str] = {"encoder": _("encoder"), "decoder": _("decoder")}
ARCHITECTURE_NAMES: dict[str, str] = {
    "encoder-decoder": _("encoder-decoder"), "encoder-only": _("encoder-only"), "decoder-only": _("decoder-only"),
}
# The titles of `Stage.block`, without the numbers that an identifier ends in; and of several layers taken together.
BLOCKS = {
    "inputs": _("Inputs"),
    "masks": _("Masks"),
    "encoder_embedding": _("Encoder embedding"),
    "encoder_layer": _("Encoder layer {}"),
    "encoder_layers": _("Encoder layers {}–{}"),
    "encoder_final_norm": _("Encoder final norm"),
    "decoder_embedding": _("Decoder embedding"),
    "decoder_layer": _("Decoder layer {}"),
    "decoder_layers": _("Decoder layers {}–{}"),
    "decoder_final_norm": _("Decoder final norm"),
    "output": _("Output"),
}
# The titles of `Stage.sublayer`, where it is not the block itself.
SUBLAYERS = {
    "self_attn": _("Self-attention"),
    "cross_attn": _("Cross-attention"),
    "ffn": _("Feed-forward"),
    "norm_self_attn": _("LayerNorm · self-attention"),
    "norm_cross_attn": _("LayerNorm · cross-attention"),
    "norm_ffn": _("LayerNorm · feed-forward"),
    "norm_embed": _("LayerNorm · embedding"),
    "final_norm": _("LayerNorm · final"),
    "resid": _("Residual stream"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One intermediate: what it is, how it is computed, and its names in the documents and other libraries.

    `inputs` are the full names of the stages it is computed from (parameters come with the module at `prefix`),
    `sides` names the side (source or target) of each token axis, `mask` names the mask that applies to its cells,
    `owner` is the model source that computes it ("file" or "file.Class"), `shape` is filled in by `plan`.
    """

    name: str
    axes: tuple[str, ...]
    symbol: str
    formula: str
    inputs: tuple[str, ...]
    meaning: str
    owner: str
    kind: Kind = "signed"
    sides: Mapping[str, Side] = field(default_factory=lambda: MappingProxyType({}))
    mask: str | None = None
    aliases: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    shape: tuple[int, ...] | None = None

    @property
    def prefix(self) -> str:
        """Path of the module that computes it ("" for the model itself)."""
        return self.name.rpartition(".")[0]

    @property
    def leaf(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def dtype(self) -> str:
        return DTYPES.get(self.kind, "float32")

    @property
    def block(self) -> str:
        """The chapter of the walk: inputs, masks, encoder_embedding, encoder_layer_0, … output; see `block_title`."""
        first, *rest = self.name.split(".")
        if first not in ("encoder", "decoder"):
            return {"ids": "inputs", "masks": "masks"}.get(first, "output")
        if rest[0] == "layers":
            return f"{first}_layer_{rest[1]}"
        return f"{first}_final_norm" if rest[0] == "final_norm" else f"{first}_embedding"

    @property
    def sublayer(self) -> str:
        """The section of the chapter: self_attn, resid, norm_ffn, … or the block where it has one section; see `sublayer_title`."""
        module = self.prefix.rpartition(".")[2]
        return module if module in SUBLAYERS else "resid" if self.leaf.startswith("resid") else self.block

    @property
    def inside_norm(self) -> bool:
        """Whether it is a step inside a LayerNorm, folded away until opened."""
        return self.leaf in ("mean", "var", "normalized")

    @property
    def nbytes(self) -> int:
        """Bytes of the recorded array; needs `shape`."""
        if self.shape is None:
            raise ValueError(f"stage {self.name!r} has no shape yet; take it from plan(...) or from a Capture.")
        return math.prod(self.shape) * BYTES[self.dtype]


def block_title(block: str) -> str:
    """A block as a page writes it: encoder_layer_0 → "Encoder layer 0", encoder_layers_0_5 → "Encoder layers 0–5"."""
    kind, *numbers = re.split(r"_(?=\d)", block)
    return BLOCKS[kind].format(*numbers)


def sublayer_title(sublayer: str) -> str:
    """A section as a page writes it: norm_ffn → "LayerNorm · feed-forward"."""
    return SUBLAYERS[sublayer] if sublayer in SUBLAYERS else block_title(sublayer)


@lru_cache(maxsize=32)  # a class uses many depths at once, and the table of a deep model takes longer than its page
def stages(config: TransformerConfig) -> tuple[Stage, ...]:
    """All stages that `run` records for this config, in execution order."""
    return tuple(_walk(config))


@lru_cache(maxsize=32)
def _by_name(config: TransformerConfig) -> Mapping[str, Stage]:
    return MappingProxyType({s.name: s for s in stages(config)})


def stage_of(config: TransformerConfig, name: str) -> Stage:
    """One row of the table. `KeyError` where this config has no such stage."""
    if name not in _by_name(config):
        raise KeyError(f"there is no stage {name!r} in this model; stages(config) lists them.")
    return _by_name(config)[name]


def plan(config: TransformerConfig, batch: int, source_len: int = 0, target_len: int = 0) -> tuple[Stage, ...]:
    """The stage table with shapes, before anything runs: B sentences of S source and T target tokens."""
    length: dict[str, int] = {
        "B": batch, "D": config.d_model, "H": config.n_heads, "K": config.d_k, "V": config.d_v, "F": config.ff_width,
        "W": config.output_vocab_size, "1": 1, "source": source_len, "target": target_len,
    }
    return tuple(replace(s, shape=tuple(length[s.sides.get(a, a)] for a in s.axes)) for s in stages(config))


def tour(config: TransformerConfig) -> tuple[str, ...]:
    """Eight stops that take one token from its id to its logits (fewer where the model has no layer or no head)."""
    side = STACKS[config.output_side]
    layer = f"{side}.layers.0"
    mixing = f"{layer}.cross_attn.weights" if config.has_cross_attention else f"{layer}.self_attn.z"
    stops = (
        f"ids.{config.output_side}", f"{side}.tok_embed", f"{side}.embed",
        f"{layer}.self_attn.raw_scores", f"{layer}.self_attn.weights", mixing, f"{layer}.ffn.post_act",
        "logits" if config.has_head else f"{layer}.resid_post",
    )
    names = {s.name for s in stages(config)}
    return tuple(s for s in stops if s in names)


# ---------------------------------------------------------------- the rows


def always(config: TransformerConfig) -> bool:
    return True


@dataclass(frozen=True, slots=True)
@translating
class Leaf:
    """One row of the table. `inputs` are local short names, or the module's inputs x, memory, mask, ids.

    `_fill_in` replaces placeholders such as @base in formulas, inputs and names.
    """

    name: str
    axes: str
    symbol: str
    formula: str
    inputs: str
    meaning: Message
    names: tuple[str, str, str, str] = ("–", "–", "–", "–")  # documents, torch, Hugging Face, TransformerLens
    when: Callable[[TransformerConfig], bool] = always
    kind: Kind = "signed"
    masked: bool = False


EMBEDDING = (
    Leaf("tok_embed", "B T D", "E", r"E_{btd} = W^E_{x_{bt},\,d}",
         "ids", "Each id looks up its row of the embedding table.",
         ("word_embedding (000), linear (001), tok_emb (002), embedding (003), @src_embedding (004)", "nn.Embedding",
          "word_embeddings (BERT), wte (GPT-2), embed_tokens (BART, Llama)", "@tl_embed")),
    Leaf("tok_embed_scaled", "B T D", r"\tilde E", r"\tilde E_{btd} = E_{btd}\,\sqrt{d_\text{model}}",
         "tok_embed", "The rows times √d_model, so that added positions do not dominate small rows.",
         ("linear(x) * math.sqrt(self.d_model) (001), embedding(x) * sqrt(d_model) (003), "
          "@src_embedding(@src_seq) * math.sqrt(self.d_model) (004)", "–", "embed_tokens(input_ids) * self.embed_scale (Marian)", "–"),
         lambda c: c.scale_embedding),
    Leaf("pos_embed", "1 T D", "P",
         r"P_{1,t,2i} = \sin\frac{t}{@base^{2i/d_\text{model}}}, \quad P_{1,t,2i+1} = \cos\frac{t}{@base^{2i/d_\text{model}}}",
         "ids", "A fixed wave for each feature encodes the position; it is the same for every sentence.",
         ("pe (000, 003, 004), positional_encodings (001), encoding (002)", "–", "embed_positions (Marian)", "@tl_pos"),
         lambda c: c.position == "sinusoidal"),
    Leaf("pos_embed", "1 T D", "P", r"P_{1td} = W^P_{td}",
         "ids", "A learned row for each position, the same for every sentence.",
         ("E_pos (004)", "–", "position_embeddings (BERT), wpe (GPT-2), embed_positions (BART)", "@tl_pos"),
         lambda c: c.position == "learned"),
    Leaf("segment_embed", "B T D", "G", r"G_{btd} = W^G_{0,\,d}",
         "ids", "A learned row for the text that the token belongs to; here it is always the first of two.",
         ("–", "–", "token_type_embeddings (BERT)", "@tl_segment"), lambda c: c.n_segments > 0),
    Leaf("embed", "B T D", "X", r"X_{btd} = @sum",
         "@terms", "One vector per token before the first layer: its content, plus its position if one is added.",
         ("out (000), linear(x) * math.sqrt(self.d_model) + pe (001), tok_emb+pos_emb (002), x (003), @src_emb (004)",
          "@torch_sum", "@hf_sum", "@tl_sum")),
)

SCORE_BIAS = (
    Leaf("score_bias", "1 H T S", r"A^\text{stack}", r"A^\text{stack}_{1hts} = W^A_{\text{bucket}(t - s),\,h}",
         "ids", "T5: a learned number for each head and each bucket of distances, computed once and shared by all layers.",
         ("–", "–", "position_bias (T5)", "–"), lambda c: c.position == "t5"),
)

ATTENTION = (
    Leaf("q", "B H T K", "Q", r"Q_{bhtk} = \sum_d @x_{btd}\,W^Q_{d,hk}@b^Q_{hk}",
         "x", "Queries: what each token is looking for, one vector per head.",
         ("Q (000), q (002, 004)", "q, by in_proj_weight", "query_layer (BERT), query_states (GPT-2, BART, Llama)", "@attn.hook_q")),
    Leaf("k", "B H S K", "K", r"K_{bhsk} = \sum_d @y_{bsd}\,W^K_{d,hk}@b^K_{hk}@where",
         "memory", "Keys: what each token offers for queries to match, one vector per head.",
         ("K (000), k (002, 004)", "k, by in_proj_weight", "key_layer (BERT), key_states (GPT-2, BART, Llama)", "@attn.hook_k")),
    Leaf("q_rot", "B H T K", r"\hat Q",
         r"(\hat Q_{2i}, \hat Q_{2i+1}) = R(t\,\theta_i)\,(Q_{2i}, Q_{2i+1}), \quad \theta_i = @base^{-2i/d_k}",
         "q", "Each pair of query features, rotated by an angle that grows with the position.",
         ("RoPE, named only (004)", "–", "q_embed of apply_rotary_pos_emb (Llama)", "@rot_q"), lambda c: c.rotates),
    Leaf("k_rot", "B H S K", r"\hat K",
         r"(\hat K_{2i}, \hat K_{2i+1}) = R(s\,\theta_i)\,(K_{2i}, K_{2i+1}), \quad \theta_i = @base^{-2i/d_k}",
         "k", "Keys, rotated the same way, so that q·k depends on the two positions only through their distance t − s.",
         ("RoPE, named only (004)", "–", "k_embed of apply_rotary_pos_emb (Llama)", "@rot_k"), lambda c: c.rotates),
    Leaf("v", "B H S V", "V", r"V_{bhsv} = \sum_d @y_{bsd}\,W^V_{d,hv}@b^V_{hv}@where",
         "memory", "Values: what each token passes on when it is attended to, one vector per head.",
         ("V (000), v (002, 004)", "v, by in_proj_weight", "value_layer (BERT), value_states (GPT-2, BART, Llama)", "@attn.hook_v")),
    Leaf("raw_scores", "B H T S", "R", r"R_{bhts} = \sum_k @Q_{bhtk}\,@K_{bhsk}",
         "@q @k", "How well each query matches each key: their dot product.",
         ("torch.matmul(Q, K.transpose(-1, -2)) (000), q@k.transpose(2,3) (002), score_j, scores (004)", "–",
          "torch.matmul(query, key.transpose(2, 3))", "–")),
    Leaf("scores", "B H T S", r"\bar R", r"\bar R_{bhts} = R_{bhts} \,/\, \sqrt{d_k}, \quad d_k = @d_k",
         "raw_scores", "The dot products divided by √d_k, so that wide heads do not saturate the softmax.",
         ("energy (000), score (002), scaled_score_j, scores (004)", "torch.bmm(q_scaled, k.transpose(-2, -1))",
          "attn_weights, before the mask", "–"), lambda c: c.scale_scores),
    Leaf("scores", "B H T S", r"\bar R", r"\bar R_{bhts} = R_{bhts}",
         "raw_scores", "The dot products, unscaled: the division by √d_k is switched off.", when=lambda c: not c.scale_scores),
    Leaf("bias", "1 H T S", "A", r"A_{1hts} = -m_h\,|t - s|",
         "@q", "ALiBi: a penalty that grows with distance, steeper in some heads.",
         ("–", "attn_mask (float)", "alibi (BLOOM)", "@alibi"), lambda c: c.position == "alibi"),
    Leaf("bias", "1 H T S", "A", r"A_{1hts} = A^\text{stack}_{1hts}",
         "score_bias", "T5: the learned numbers of the distances, the same in every layer of the stack.",
         ("–", "attn_mask (float)", "position_bias (T5)", "–"), lambda c: c.position == "t5"),
    Leaf("masked_scores", "B H T S", "S", r"S_{bhts} = \begin{cases} @scores & M_{b1ts} \\ @fill & \text{otherwise}\end{cases}",
         "@scores mask", "Masked cells are overwritten, usually with a number so low that their weight is 0.",
         ("energy.masked_fill (000), score.masked_fill (002), scores.masked_fill (004)",
          "torch.baddbmm(attn_mask, q_scaled, k.transpose(-2, -1))", "attn_weights + attention_mask",
          "@attn.hook_attn_scores"), masked=True),
    Leaf("weights", "B H T S", r"\alpha", r"\alpha_{bhts} = \frac{\exp S_{bhts}}{\sum_{s'} \exp S_{bhts'}}@empty",
         "masked_scores mask", "The softmax of each row: how much of each key's value a query takes. A row with at least one allowed key sums to 1.",
         ("attention (000), self.softmax(score) (002), attn_weights (004)", "attn_output_weights", "@attentions[@n]", "@attn.hook_pattern"),
         kind="probability", masked=True),
    Leaf("z", "B H T V", "Z", r"Z_{bhtv} = \sum_s \alpha_{bhts}\,V_{bhsv}",
         "weights v", "The weighted mean of the values, one vector per head.",
         ("out (000), self.softmax(score)@v (002), attention_output, head_i (004)", "torch.bmm(attn_output_weights, v)",
          "torch.matmul(attn_weights, value)", "@attn.hook_z")),
    Leaf("concat", "B T D", "C", r"C_{bt,(hv)} = Z_{bhtv}",
         "z", "The heads concatenated: H · V = d_model features.",
         ("view(N, query_len, self.embed_size) (000), view(batch,time,dimension) (002), concat_attention (004)",
          "attn_output.transpose(0, 1).reshape(tgt_len * bsz, embed_dim)", "attn_output.reshape(*input_shape, -1)", "–")),
    Leaf("out", "B T D", "O", r"O_{btd} = \sum_{hv} C_{bt,(hv)}\,W^O_{hv,d}@b^O_d",
         "concat", "The output projection mixes the results of the heads.",
         ("fc_out (000), w_combine (002), W_o (004)", "@mha(…)[0]", "output.dense (BERT), c_proj (GPT-2), out_proj (BART), o_proj (Llama)",
          "@hook_out")),
)

FFN = (
    Leaf("pre_act", "B T F", "U", r"U_{btf} = \sum_d @x_{btd}\,W^1_{df}@b^1_f",
         "x", "Each token by itself, projected to d_ff hidden units.",
         ("fc1 (000, 002), linear1 (003, 004)", "linear1", "intermediate.dense (BERT), c_fc (GPT-2), fc1 (BART)", "@mlp.hook_pre")),
    Leaf("post_act", "B T F", "G", r"G_{btf} = @act(U_{btf})",
         "pre_act", "The non-linearity decides which hidden units are active.",
         ("relu (000), F.relu (002, 003, 004)", "activation", "intermediate_act_fn (BERT), act (GPT-2), activation_fn (BART)",
          "@mlp.hook_post")),
    Leaf("out", "B T D", "Y", r"Y_{btd} = \sum_f G_{btf}\,W^2_{fd}@b^2_d",
         "post_act", "The hidden units, projected back to d_model features.",
         ("fc2 (000, 002), linear2 (003, 004)", "linear2", "output.dense (BERT), c_proj (GPT-2), fc2 (BART)", "@hook_mlp_out")),
)

NORM = (
    Leaf("mean", "B T 1", r"\mu", r"\mu_{bt} = \tfrac{1}{d_\text{model}} \sum_d @x_{btd}",
         "x", "The mean of one token's features.", ("mean (002)", "–", "–", "–")),
    Leaf("var", "B T 1", r"\sigma^2", r"\sigma^2_{bt} = \tfrac{1}{d_\text{model}} \sum_d (@x_{btd} - \mu_{bt})^2",
         "x mean", _("The variance of one token's features, divided by d_model (biased), as in {value}.", value=DOCUMENTS["002"]), ("var (002)", "–", "–", "@tl_var")),
    Leaf("normalized", "B T D", r"\hat x", r"\hat x_{btd} = (@x_{btd} - \mu_{bt}) \,/\, \sqrt{\sigma^2_{bt} + \varepsilon}, \quad \varepsilon = @eps",
         "x mean var", "The features of each token, with mean 0 and, apart from ε, variance 1.", ("output (002)", "–", "–", "@tl_normalized")),
    Leaf("out", "B T D", "N", r"N_{btd} = \gamma_d\,\hat x_{btd} + \beta_d",
         "normalized", "Scaled by γ and shifted by β, which are learned for each feature.", ("@documents", "@torch", "@hf", "@tl_out")),
)

OUTPUT = (
    Leaf("logits", "B T W", r"\ell", r"\ell_{btw} = \sum_d @x_{btd}\,@W_out@head_bias",
         "x", "A score for every word of the vocabulary, at every position.",
         ("fc_out (000), generator (001), fc (002), lm_head (003), final_linear (004)", "–", "logits", "logits")),
    Leaf("probs", "B T W", "p", r"p_{btw} = \frac{\exp \ell_{btw}}{\sum_{w'} \exp \ell_{btw'}}",
         "logits", "The softmax of the logits: the predicted distribution of the next word.",
         ("probabilities (004)", "F.softmax", "–", "–"), kind="probability"),
    Leaf("loss", "", r"\mathcal{L}", r"\mathcal{L} = -\frac{1}{n} \sum_{y_{bt} \neq \text{pad}} \ln p_{b,t,y_{bt}}, \quad n = \#\{y_{bt} \neq \text{pad}\}",
         "logits labels", "The mean negative log-likelihood of the right next word, over all answers that are not padding.",
         ("CrossEntropyLoss (003)", "F.cross_entropy", "loss", "@tl_loss")),
)


# ---------------------------------------------------------------- the walk

Walk = Generator[Stage, None, str]  # yields stages and returns the name of its output

def _walk(c: TransformerConfig) -> Iterator[Stage]:
    """The same order as `Transformer.forward`."""
    yield from _ids(c)
    yield from _masks(c)
    last = ""
    if c.has_encoder:
        last = yield from _stack(c, "encoder", "source", None)
    if c.has_decoder:
        last = yield from _stack(c, "decoder", "target", last or None)
    if c.has_head:
        sides: dict[str, Side] = {"T": c.output_side}
        fill = {
            "@x": _symbol(last), "@W_out": "W^E_{wd}" if c.tie_output else r"W^\text{out}_{dw}",
            "@head_bias": r" + b^\text{out}_w" if c.head_bias else "",
            "@tl_loss": "–" if c.has_encoder else "loss",  # only HookedTransformer computes one
        }
        yield from _expand(c, OUTPUT, "", {"x": last, "labels": "ids.labels"}, sides, "transformer.Transformer", fill)


def _ids(c: TransformerConfig) -> Iterator[Stage]:
    both = c.has_cross_attention
    labels = Leaf("labels", "B T", "y", r"y_{bt}", "", "The answers: the word to predict at each position.",
                  ("下一个 token 的 id (003)", "target of F.cross_entropy", "labels" if both else "shift_labels", "–"), kind="ids")
    source = Leaf("source", "B T", "x", r"x_{bt}", "", "The source words as ids; shorter sentences are padded.",
                  ("src (000, 001, 002), x (003), src_seq (004)", "–", "input_ids", "tokens"), kind="ids")
    if c.has_encoder:
        yield from _expand(c, (source,), "ids", {}, {"T": "source"}, "transformer.Transformer")
    if c.has_decoder:
        shifted = Leaf("target", "B T", "x", r"x_{bt} = y_{b,t-1}, \quad x_{b0} = \langle\text{bos}\rangle", "labels",
                       "The decoder's input: the answers, shifted right behind <bos>.",
                       ("tgt (000, 001), trg (002), tgt_seq (004)", "–", "decoder_input_ids" if both else "input_ids",
                        "decoder_input" if both else "tokens"), kind="ids")
        yield from _expand(c, (labels, shifted), "ids", {"labels": "ids.labels"}, {"T": "target"}, "transformer.Transformer")
    elif c.has_head:
        own = replace(labels, formula=r"y_{bt} = x_{b,t+1}", inputs="ids",
                      meaning=_("The answers: the next token of each position; the last position has none and is padded."))
        yield from _expand(c, (own,), "ids", {"ids": "ids.source"}, {"T": "source"}, "transformer.Transformer")


def _masks(c: TransformerConfig) -> Iterator[Stage]:
    """The parts (padding, causal), then the masks that attention uses."""
    padded = {side: side in c.sides and c.masks_padding(side) for side in STACKS}
    own = c.output_side
    cross = c.has_cross_attention
    padding_names = {
        "source": ("src_mask (000), k.ne(pad_idx_k) (002), ¬src_padding_mask (004)", "¬src_key_padding_mask", "attention_mask",
                   "one_zero_attention_mask"),
        "target": ("k.ne(pad_idx_k) (002), ¬tgt_padding_mask (004)", f"¬{_torch_side(c, 'decoder')}_key_padding_mask",
                   "decoder_attention_mask" if cross else "attention_mask", "–" if cross else "attention_mask"),
    }
    for side in STACKS:
        if padded[side]:
            part = Leaf(f"{side}_padding", "B 1 1 S", "P", r"P^\text{%s}_{b11s} = [\,x_{bs} \neq \text{pad}\,]" % side, "ids",
                        _("Which {side} tokens are words, not padding.", side=SIDE_NAMES[side]), padding_names[side], kind="mask")
            yield from _expand(c, (part,), "masks", {"ids": f"ids.{side}"}, {"S": side}, "masks")
    if c.is_causal:
        part = Leaf("causal", "1 1 T S", "C", r"C_{11ts} = [\,s \le t\,]", "ids", "No token may attend to a later one.",
                    ("tgt_mask (000), torch.tril (002), ¬seq_mask (004)", "¬attn_mask", "causal_mask (GPT-2, Llama)",
                     "–" if cross else "attn.mask"), kind="mask")
        yield from _expand(c, (part,), "masks", {"ids": f"ids.{own}"}, {"T": own, "S": own}, "masks")

    used: list[tuple[str, Side, Side, str, tuple[str, str, str, str]]] = []
    if c.has_encoder:
        used.append(("source", "source", "source", _("Which tokens may attend to which in the encoder. True = may attend."),
                     ("src_mask (000, 001, 002), mask (003), ¬src_padding_mask (004)", "¬(mask ∨ src_key_padding_mask)",
                      "causal_mask" if c.is_causal and not cross else "attention_mask of create_bidirectional_mask", "–")))
    if c.has_decoder:
        used.append(("target", "target", "target", _("Which tokens may attend to which in the decoder's self-attention. True = "
                                                     "may attend."),
                     ("tgt_mask (000, 001), trg_mask (002), ¬tgt_mask (004)",
                      "¬(tgt_mask ∨ tgt_key_padding_mask)" if cross else "¬(mask ∨ src_key_padding_mask)",
                      "attention_mask of create_causal_mask" if cross else "causal_mask (GPT-2, Llama)", "–")))
    if c.has_cross_attention:
        used.append(("cross", "target", "source", _("Which source tokens each target token may attend to. True = may attend."),
                     ("src_mask (000, 001), src_trg_mask (002), ¬src_mask (004)", "¬memory_key_padding_mask",
                      "encoder_attention_mask", "–")))
    for name, queries, keys, meaning, names in used:
        terms: dict[str, str] = {}  # factor of the AND -> stage
        if padded[keys]:
            terms[r"P^\text{%s}_{b11s}" % keys] = f"masks.{keys}_padding"
        if c.mask_padded_queries and padded[queries]:
            terms[r"P^\text{%s}_{b11t}" % queries] = f"masks.{queries}_padding"
        if c.is_causal and queries == keys == own:
            terms["C_{11ts}"] = "masks.causal"
        formula = "M_{b1ts} = " + (r" \wedge ".join(terms) or r"1 \quad\text{(nothing is masked)}")
        inputs = tuple(dict.fromkeys(terms.values())) or tuple(dict.fromkeys((f"ids.{queries}", f"ids.{keys}")))
        leaf = Leaf(name, "B 1 T S", "M", formula, " ".join(inputs), meaning, names, kind="mask")
        yield from _expand(c, (leaf,), "masks", {i: i for i in inputs}, {"T": queries, "S": keys}, "masks")


def _stack(c: TransformerConfig, path: str, side: Side, memory: str | None) -> Walk:
    """Embedding, layers, final norm of one side; returns the name of its output."""
    added = ["tok_embed_scaled" if c.scale_embedding else "tok_embed"]
    added += ["pos_embed"] * c.has_position_table + ["segment_embed"] * (c.n_segments > 0)
    indexed = {"tok_embed": "E_{btd}", "tok_embed_scaled": r"\tilde E_{btd}", "pos_embed": "P_{1td}", "segment_embed": "G_{btd}"}
    fill = _stack_names(c, path) | {
        "@base": _base(c), "@sum": " + ".join(indexed[a] for a in added), "@terms": " ".join(added)
    }
    yield from _expand(c, EMBEDDING, path, {"ids": f"ids.{side}"}, {"T": side}, "transformer.Stack", fill)
    x = f"{path}.embed"
    if c.norm_embedding:
        x = yield from _norm(c, f"{path}.norm_embed", x, side)
    yield from _expand(c, SCORE_BIAS, path, {"ids": f"ids.{side}"}, {"T": side, "S": side}, "transformer.Stack", fill)
    for i in range(c.n_layers(side)):
        x = yield from _layer(c, f"{path}.layers.{i}", x, side, memory)
    if c.has_final_norm:
        x = yield from _norm(c, f"{path}.final_norm", x, side)
    return x


def _layer(c: TransformerConfig, path: str, x: str, side: Side, memory: str | None) -> Walk:
    pre = Leaf("resid_pre", "B T D", r"x^\text{pre}", r"x^\text{pre}_{btd} = @x_{btd}", "x", "The residual stream as it enters the layer.",
               ("x (000, 001, 002, 003, 004)", "@src", "@hidden_states[@n]", "@hook_resid_pre"))
    yield from _expand(c, (pre,), path, {"x": x}, {"T": side}, "layers.Layer", _layer_names(c, path) | {"@x": _symbol(x)})
    x = f"{path}.resid_pre"
    sublayers = [("self_attn", "resid_mid")] + [("cross_attn", "resid_cross")] * (memory is not None) + [("ffn", "resid_post")]
    for module, resid in sublayers:
        before = x
        if c.norm == "pre":
            x = yield from _norm(c, f"{path}.norm_{module}", x, side)
        if module == "ffn":
            fill = _layer_names(c, path) | _bias("12", c.ffn_bias) | {"@act": ACTIVATIONS[c.activation].latex, "@x": _symbol(x)}
            yield from _expand(c, FFN, f"{path}.ffn", {"x": x}, {"T": side}, "layers.FeedForward", fill)
        else:
            cross = memory if module == "cross_attn" else None
            yield from _attention(c, f"{path}.{module}", x, side, cross)
        x = f"{path}.{resid}"
        yield from _expand(c, (_residual(c, module, resid, before),), path, {"before": before, "f": f"{path}.{module}.out"},
                           {"T": side}, "layers.Layer", _layer_names(c, path))
        if c.norm == "post":
            x = yield from _norm(c, f"{path}.norm_{module}", x, side)
    return x


def _residual(c: TransformerConfig, module: str, resid: str, before: str) -> Leaf:
    name = {"self_attn": "O", "cross_attn": "O", "ffn": "Y"}[module]
    symbol = _symbol(resid)
    note = _(", before the norm") if c.norm == "post" else ""
    if c.residual:
        names = ("x + self.dropout (000, 001), x+_x (002), x + sublayer(x) (003), x + Sublayer(x) (004)",
                 f"x + self._{'ff' if module == 'ffn' else 'sa' if module == 'self_attn' else 'mha'}_block(…)",
                 "hidden_states + input_tensor (BERT), residual + hidden_states (BART, Llama)",
                 f"@hook_{resid}" if resid != "resid_cross" else "@hook_resid_mid_cross")
        return Leaf(resid, "B T D", symbol, rf"{symbol}_{{btd}} = {_symbol(before)}_{{btd}} + {name}_{{btd}}", "before f",
                    _("The residual stream plus the sub-layer's output{note}.", note=note), names)
    return Leaf(resid, "B T D", symbol, rf"{symbol}_{{btd}} = {name}_{{btd}}", "f",
                _("The sub-layer's output alone{note}: the residual connection is switched off.", note=note))


def _attention(c: TransformerConfig, path: str, x: str, side: Side, memory: str | None) -> Iterator[Stage]:
    cross = memory is not None
    keys: Side = "source" if cross else side
    rotated, biased = c.rotates and not cross, c.biases_scores and not cross
    leaves = [leaf for leaf in ATTENTION if not cross or leaf.name not in ("q_rot", "k_rot", "bias")]
    symbols = {"Q": r"\hat Q", "K": r"\hat K"} if rotated else {"Q": "Q", "K": "K"}
    formula = {"@Q": symbols["Q"], "@K": symbols["K"]}
    inputs = {"@q": "q_rot" if rotated else "q", "@k": "k_rot" if rotated else "k", "@scores": "scores bias" if biased else "scores"}
    names = _layer_names(c, path)
    # The longest placeholders first, so that "@scores" is not read as "@s".
    fill = {
        "@scores": r"\bar R_{bhts} + A_{1hts}" if biased else r"\bar R_{bhts}", "@fill": _fill(c), "@d_k": str(c.d_k),
        "@empty": r"\quad (0 \text{ where a query may see nothing})" if c.empty_row == "zero" else "", "@base": _base(c),
        "@x": _symbol(x), "@y": "y" if cross else _symbol(x), "@where": r", \quad y = \text{the encoder's output}" if cross else "",
    } | names | formula | _bias("QKVO", c.attention_bias)
    leaves = [replace(leaf, inputs=_fill_in(leaf.inputs, inputs)) for leaf in leaves]
    about = {"x": x, "memory": memory or x, "score_bias": f"{path.split('.')[0]}.score_bias", "mask": "masks.cross" if cross else f"masks.{side}"}
    yield from _expand(c, leaves, path, about, {"T": side, "S": keys}, "attention.Attention", fill)


def _norm(c: TransformerConfig, path: str, x: str, side: Side) -> Walk:
    fill = {"@eps": latex(c.norm_eps, 6), "@x": _symbol(x)} | _norm_names(c, path)
    yield from _expand(c, NORM, path, {"x": x}, {"T": side}, "layers.LayerNorm", fill)
    return f"{path}.out"


def _expand(
    c: TransformerConfig, leaves: Iterable[Leaf], path: str, about: Mapping[str, str], sides: Mapping[str, Side], owner: str,
    fill: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Stage]:
    """Rows of the table at one place of the model: local inputs become full names, placeholders are filled in."""
    rows = [leaf for leaf in leaves if leaf.when(c)]
    local = {leaf.name: f"{path}.{leaf.name}" if path else leaf.name for leaf in rows}
    known = local | dict(about)  # a module's input x never shares a name with its leaves
    for leaf in rows:
        axes = tuple(leaf.axes.split())
        yield Stage(
            name=local[leaf.name], axes=axes, symbol=leaf.symbol, formula=_fill_in(leaf.formula, fill), owner=owner, kind=leaf.kind,
            inputs=tuple(known[i] for i in _fill_in(leaf.inputs, fill).split()), meaning=leaf.meaning,
            sides=MappingProxyType({a: s for a, s in sides.items() if a in axes}), mask=about["mask"] if leaf.masked else None,
            aliases=MappingProxyType(dict(zip(LIBRARIES, (_fill_in(n, fill) for n in leaf.names), strict=True))),
        )


def _fill_in(text: str, fill: Mapping[str, str]) -> str:
    for placeholder, value in fill.items():
        text = text.replace(placeholder, value)
    return text


def _bias(letters: str, on: bool) -> dict[str, str]:
    """Placeholders of the bias terms, which the switched-off ones leave empty."""
    index = {"Q": "{hk}", "K": "{hk}", "V": "{hv}", "O": "d", "1": "f", "2": "d"}
    return {f"@b^{a}_{index[a]}": f" + b^{a}_{index[a]}" if on else "" for a in letters}


def _fill(c: TransformerConfig) -> str:
    return r"-\infty" if c.mask_fill == "-inf" else latex(c.fill, 6)


def _base(c: TransformerConfig) -> str:
    """The position base, ready to be raised to a power."""
    base = latex(c.position_base, 6)
    return f"({base})" if "^" in base else base


def _symbol(name: str) -> str:
    """The symbol of the tensor between two sub-layers: X the embedding, N a norm's output, x^pre, x^mid, … the stream."""
    leaf = name.rpartition(".")[2]
    return {"embed": "X", "out": "N"}.get(leaf) or r"x^\text{%s}" % leaf.removeprefix("resid_")


# ---------------------------------------------------------------- names in the libraries
#
# TransformerLens has a model per architecture: HookedTransformer (decoder-only), HookedEncoder (encoder-only, BERT) and
# HookedEncoderDecoder (T5). torch has no decoder without a memory: a causal encoder is one.


def _torch_side(c: TransformerConfig, side: str) -> str:
    return "tgt" if side == "decoder" and c.has_cross_attention else "src"


def _block(c: TransformerConfig, side: str, n: int | str) -> str:
    """The path of a layer in TransformerLens."""
    return f"{side}.{n}" if c.has_cross_attention else f"blocks.{n}"


def _hidden(c: TransformerConfig, side: str) -> str:
    """Hugging Face's tuple of the input of each layer and the output of the last."""
    return f"{side}_hidden_states" if c.has_cross_attention else "hidden_states"


def _stack_names(c: TransformerConfig, side: str) -> dict[str, str]:
    both, bert = c.has_cross_attention, not c.has_decoder
    starts = c.n_layers(side_of(side)) > 0 and not c.norm_embedding
    first = f"{_block(c, side, 0)}.hook_resid_pre" if starts else "–"
    return {
        "@src": "src" if side == "encoder" else "tgt",
        "@torch_sum": "–" if c.norm_embedding else _torch_side(c, side),
        "@hf_sum": "embeddings, before LayerNorm (BERT)" if c.norm_embedding else f"{_hidden(c, side)}[0]" if starts else "–",
        "@tl_embed": "embed.hook_embed" if bert else "–" if both and side == "decoder" else "hook_embed",
        "@tl_pos": "embed.hook_pos_embed" if bert else "–" if both else "hook_pos_embed",
        "@tl_segment": "embed.hook_token_type_embed" if bert else "–",
        "@tl_sum": "hook_full_embed" if bert and not c.norm_embedding else first,
    }


def _layer_names(c: TransformerConfig, path: str) -> dict[str, str]:
    """Placeholders of the names in the layer that `path` lies in."""
    side, __, n, *rest = path.split(".")
    cross, both = rest == ["cross_attn"], c.has_cross_attention
    block = _block(c, side, n)
    return {
        "@hook_out": f"{block}.hook_{'cross_attn' if cross else 'attn'}_out", "@hook": f"{block}.hook", "@mlp": f"{block}.mlp",
        "@attn": f"{block}.{'cross_attn' if cross else 'attn'}", "@mha": "multihead_attn" if cross else "self_attn",
        "@attentions": "cross_attentions" if cross else f"{side}_attentions" if both else "attentions",
        "@hidden_states": _hidden(c, side), "@src": _torch_side(c, side), "@n": n,
        "@alibi": "–" if both else f"{block}.attn.alibi",
        "@rot_q": "–" if both else f"{block}.attn.hook_rot_q", "@rot_k": "–" if both else f"{block}.attn.hook_rot_k",
    }


def _norm_names(c: TransformerConfig, path: str) -> dict[str, str]:
    """torch and the documents count their norms: the last of a layer with cross-attention is the third."""
    side, module = path.split(".")[0], path.rpartition(".")[2]
    third = c.has_cross_attention and side == "decoder"
    documents, torch, hf, ln = {
        "norm_self_attn": ("norm1 (000, 002, 003, 004), norm_self_attn (001)", "norm1",
                           "attention.output.LayerNorm (BERT), ln_1 (GPT-2), self_attn_layer_norm (BART)", "ln1"),
        "norm_cross_attn": ("norm2 (000, 002, 004), norm_src_attn (001)", "norm2",
                            "crossattention.output.LayerNorm (BERT), ln_cross_attn (GPT-2), encoder_attn_layer_norm (BART)", "ln2"),
        "norm_ffn": ("norm3 (000, 002, 004), norm_ff (001)" if third else "norm2 (000, 002, 003, 004), norm_ff (001)",
                     "norm3" if third else "norm2", "output.LayerNorm (BERT), ln_2 (GPT-2), final_layer_norm (BART)", "ln2"),
        "norm_embed": ("–", "–", f"{_hidden(c, side)}[0], embedding_output (BERT), layernorm_embedding (BART)", "embed.ln"),
        "final_norm": ("self.norm (001)", "norm", f"{_hidden(c, side)}[-1], ln_f (GPT-2)", "ln_final"),
    }[module]
    if module == "norm_ffn" and c.norm == "post":
        after = int(path.split(".")[2]) + 1
        tied = c.has_final_norm and after == c.n_layers(side_of(side))
        hf = hf if tied else f"{_hidden(c, side)}[{after}], {hf}"  # the last entry is what the final norm returns
    # HookedEncoderDecoder has RMSNorm instead, HookedEncoder no final norm, HookedTransformer's embed.ln no positions.
    lacks = {"final_norm": not c.has_decoder, "norm_embed": c.has_decoder and c.has_position_table}
    if c.has_cross_attention or lacks.get(module, False):
        return {"@documents": documents, "@torch": torch, "@hf": hf, "@tl_var": "–", "@tl_normalized": "–", "@tl_out": "–"}
    where = f"{_block(c, side, path.split('.')[2])}.{ln}" if ".layers." in path else ln
    return {
        "@documents": documents, "@torch": torch, "@hf": hf, "@tl_var": f"{where}.hook_scale² − ε",
        "@tl_normalized": f"{where}.hook_normalized (LNPre)" if c.has_decoder else "–",
        "@tl_out": f"{where}.hook_normalized" + (" (LN)" if c.has_decoder else ""),
    }
