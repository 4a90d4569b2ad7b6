"""How large a model and a run of it are, in closed form, before either exists."""

from dataclasses import dataclass

from viz_core.config import TransformerConfig
from viz_core.limits import MAX_CAPTURE_BYTES, MAX_PARAMETERS
from viz_core.stages import Stage, plan


def parameters(config: TransformerConfig) -> dict[str, int]:
    """Trainable numbers by block, in order: embeddings, layers, final norms, head. Their sum is the model's."""
    c = config
    norm = 2 * c.d_model
    attention = 2 * c.d_model * c.qk_width + 2 * c.d_model**2 + c.attention_bias * (2 * c.qk_width + 2 * c.d_model)
    ffn = 2 * c.d_model * c.ff_width + c.ffn_bias * (c.ff_width + c.d_model)
    counts: dict[str, int] = {}
    sides = [("encoder", c.source_vocab_size, c.n_encoder_layers, 1)] * c.has_encoder
    sides += [("decoder", c.target_vocab_size, c.n_decoder_layers, 2 if c.has_cross_attention else 1)] * c.has_decoder
    for side, vocabulary, n_layers, n_attentions in sides:
        learned = c.max_len * (c.position == "learned")
        counts[f"{side} embedding"] = (vocabulary + learned + c.n_segments) * c.d_model + norm * c.norm_embedding
        layer = n_attentions * attention + ffn + (n_attentions + 1) * norm * (c.norm != "none")
        for i in range(n_layers):
            counts[f"{side} layer {i}"] = layer
        if c.has_final_norm:
            counts[f"{side} final norm"] = norm
    if c.has_head:
        matrix = 0 if c.tie_output else c.d_model * c.output_vocab_size
        counts["head"] = matrix + c.head_bias * c.output_vocab_size
    return counts


@dataclass(frozen=True, slots=True)
class Estimate:
    """Size of a run before it happens. `problem` is None within the budget, else one sentence with the remedy."""

    parameters: int
    capture_bytes: int
    problem: str | None


REMEDIES = {
    "W": "the vocabulary size", "F": "d_ff", "H": "n_heads", "K": "qk_dim", "V": "d_model", "D": "d_model",
    "T": "the number of words in a sentence", "S": "the number of words in a sentence", "B": "the number of sentences",
}  # fmt: skip


def estimate(config: TransformerConfig, batch: int, source_len: int, target_len: int) -> Estimate:
    """Parameters and recorded bytes of a run of B sentences, and what to lower where they pass the budget."""
    table = plan(config, batch, source_len, target_len)
    count, size = sum(parameters(config).values()), sum(s.nbytes for s in table)
    problem = None
    if count > MAX_PARAMETERS:
        problem = (
            f"This model would have {count:,} parameters and the limit is {MAX_PARAMETERS:,}: "
            "lower d_model, d_ff, the number of layers or the vocabulary size."
        )
    elif size > MAX_CAPTURE_BYTES:
        problem = (
            f"This run would record {megabytes(size)} and the limit is {megabytes(MAX_CAPTURE_BYTES)}: "
            f"lower {_remedy(table)}."
        )
    return Estimate(count, size, problem)


def megabytes(n: int) -> str:
    """1234567 -> '1.2 MB'."""
    return f"{n / 2**20:,.1f} MB"


def _remedy(table: tuple[Stage, ...]) -> str:
    """What the heaviest kind of stage grows with."""
    weight: dict[tuple[str, ...], int] = {}
    for s in table:
        weight[s.axes] = weight.get(s.axes, 0) + s.nbytes
    heaviest = max(weight, key=lambda axes: weight[axes])
    causes = list(dict.fromkeys(REMEDIES[a] for a in reversed(heaviest) if a in REMEDIES))
    if "layers" in max(table, key=lambda s: s.nbytes).name:
        causes.append("the number of layers")
    return ", ".join(causes[:-1]) + " or " + causes[-1]
