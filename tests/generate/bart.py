"""A tiny random BART of `transformers` (Lewis et al. 2020), and our model with its parameters."""

from typing import Any

import torch
from torch import Tensor, nn

from tests.weights.published import shaken, transformers
from viz_core.config import TransformerConfig
from viz_core.model.transformer import Transformer
from viz_core.run import build

WORDS, PAD, START = 31, 0, 2
SIZES = {"d_model": 16, "max_len": 40, "source_vocab_size": WORDS, "target_vocab_size": WORDS}
CONFIG = TransformerConfig(
    **SIZES, n_heads=4, n_encoder_layers=2, n_decoder_layers=2, d_ff=24, activation="gelu", norm="post", norm_embedding=True,
    position="learned", scale_embedding=False, head_bias=False, mask_target_padding=False,
)


def bart(seed: int) -> nn.Module:
    config = transformers.BartConfig(
        vocab_size=WORDS, d_model=16, max_position_embeddings=40, encoder_layers=2, decoder_layers=2, encoder_ffn_dim=24,
        decoder_ffn_dim=24, encoder_attention_heads=4, decoder_attention_heads=4, dropout=0.0, pad_token_id=PAD, bos_token_id=3,
        eos_token_id=1, decoder_start_token_id=START, forced_eos_token_id=None,
    )
    torch.manual_seed(seed)
    config._attn_implementation = "eager"
    model: nn.Module = shaken(transformers.BartForConditionalGeneration(config), seed)
    return model


def ours(theirs: Any) -> Transformer:
    """Our model with their parameters, name by name. Their position tables begin with two rows that no position has."""
    found = {}
    for stack, part in (("encoder", theirs.model.encoder), ("decoder", theirs.model.decoder)):
        for name, x in part.state_dict().items():
            for their_name, our_name in NAMES.items():
                name = name.replace(their_name, our_name)
            found[f"{stack}.{name}"] = x[2:] if "pos_embedding" in name else x
    model = build(CONFIG)
    model.load_state_dict(found | {"head.weight": theirs.lm_head.weight})
    return model


NAMES = {
    "embed_tokens": "tok_embedding", "embed_positions": "pos_embedding", "layernorm_embedding": "norm_embed",
    "encoder_attn_layer_norm": "norm_cross_attn", "self_attn_layer_norm": "norm_self_attn", "final_layer_norm": "norm_ffn",
    "encoder_attn": "cross_attn", "q_proj": "w_q", "k_proj": "w_k", "v_proj": "w_v", "out_proj": "w_o", "fc1": "ffn.w_in",
    "fc2": "ffn.w_out",
}
SOURCE = torch.tensor([[5, 6, 7, 8, 9, 1], [7, 30, 1, 0, 0, 0], [11, 12, 13, 1, 0, 0]])


def written_by(theirs: Any, source: Tensor, longest: int, *, end: int | None, **how: Any) -> list[list[int]]:
    """What their `generate` writes behind its start, up to the id `end`; None: up to the longest."""
    rows = theirs.generate(
        input_ids=source, attention_mask=source.ne(PAD), do_sample=False, max_new_tokens=longest, min_length=0,
        no_repeat_ngram_size=0, forced_bos_token_id=None, forced_eos_token_id=None, eos_token_id=end,
        **how,
    )
    return [until(row, end) for row in rows[:, 1:].tolist()]


def until(row: list[int], end: int | None) -> list[int]:
    return row[: row.index(end)] if end in row else row
