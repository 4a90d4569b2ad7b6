"""Copies the project's parameters into each reference model: every one of them, each exactly once.

A table gives, for each module of the reference that owns parameters, the project's module that they come from. A tuple
of modules is stacked along the first axis (torch's packed `in_proj`). On both sides, heads are contiguous rows.
"""

import torch

PROJECTIONS = ("w_q", "w_k", "w_v", "w_o")
LEAVES = {"gamma": "weight", "beta": "bias", "in_proj_weight": "weight", "in_proj_bias": "bias"}


def fill(reference, parameters, table):
    """Copies `parameters` (name -> tensor) into `reference`; raises if anything on either side has no partner."""
    missing, used = [], []
    with torch.no_grad():
        for name, parameter in reference.named_parameters():
            module, _, leaf = name.rpartition(".")
            if module not in table:
                missing.append(name)
                continue
            sources = table[module] if isinstance(table[module], tuple) else (table[module],)
            names = [f"{source}.{LEAVES.get(leaf, leaf)}" for source in sources]
            value = torch.cat([parameters[n] for n in names])
            if value.shape != parameter.shape:
                raise ValueError(f"{name} is {tuple(parameter.shape)}, {names} is {tuple(value.shape)}")
            parameter.copy_(value)
            used += names
    left = set(parameters) - set(used)
    if missing or left or len(used) != len(set(used)):
        raise ValueError(f"not filled: {missing}; not taken: {sorted(left)}; taken: {sorted(used)}")
    return reference


def attention(mine, theirs, names):
    """One attention, from the reference's names of its query, key, value and output projections."""
    return {f"{mine}.{name}": f"{theirs}.{own}" for name, own in zip(names, PROJECTIONS, strict=True)}


def packed_attention(mine, theirs):
    """One `torch.nn.MultiheadAttention`, whose query, key and value projections share a matrix."""
    return {mine: tuple(f"{theirs}.{own}" for own in PROJECTIONS[:3]), f"{mine}.out_proj": f"{theirs}.w_o"}


def layers(mine, theirs, depth, parts):
    """`parts` once for each of `depth` layers, with the prefixes of both sides in front."""
    table = {}
    for i in range(depth):
        for key, value in parts.items():
            own = tuple(f"{theirs}.{i}.{v}" for v in value) if isinstance(value, tuple) else f"{theirs}.{i}.{value}"
            table[f"{mine}.{i}.{key}"] = own
    return table


def fill_000(reference, parameters):
    names = ("query", "key", "value", "fc_out")
    encoder_layer = attention("attention", "self_attn", names) | {
        "norm1": "norm_self_attn",
        "ffn.fc1": "ffn.w_in",
        "ffn.fc2": "ffn.w_out",
        "norm2": "norm_ffn",
    }
    decoder_layer = (
        attention("self_attention", "self_attn", names)
        | attention("cross_attention", "cross_attn", names)
        | {
            "norm1": "norm_self_attn",
            "norm2": "norm_cross_attn",
            "feed_forward.fc1": "ffn.w_in",
            "feed_forward.fc2": "ffn.w_out",
            "norm3": "norm_ffn",
        }
    )
    table = {
        "encoder.word_embedding": "encoder.tok_embedding",
        "decoder.word_embedding": "decoder.tok_embedding",
        "decoder.fc_out": "head",
    }
    table |= layers("encoder.layers", "encoder.layers", len(reference.encoder.layers), encoder_layer)
    table |= layers("decoder.layers", "decoder.layers", len(reference.decoder.layers), decoder_layer)
    return fill(reference, parameters, table)


def fill_001(reference, parameters):
    names = ("query", "key", "value", "output")
    encoder_layer = attention("self_attn", "self_attn", names) | {
        "norm_self_attn": "norm_self_attn",
        "feed_forward.layer1": "ffn.w_in",
        "feed_forward.layer2": "ffn.w_out",
        "norm_ff": "norm_ffn",
    }
    decoder_layer = encoder_layer | attention("src_attn", "cross_attn", names) | {"norm_src_attn": "norm_cross_attn"}
    table = {
        "src_embed.linear": "encoder.tok_embedding",
        "tgt_embed.linear": "decoder.tok_embedding",
        "encoder.norm": "encoder.final_norm",
        "decoder.norm": "decoder.final_norm",
        "generator.0": "head",
    }
    table |= layers("encoder.layers", "encoder.layers", len(reference.encoder.layers), encoder_layer)
    table |= layers("decoder.layers", "decoder.layers", len(reference.decoder.layers), decoder_layer)
    return fill(reference, parameters, table)


def fill_002(reference, parameters):
    names = ("w_q", "w_k", "w_v", "w_combine")
    feed_forward = {"ffn.fc1": "ffn.w_in", "ffn.fc2": "ffn.w_out"}
    own_attention = attention("attention", "self_attn", names) | {"norm1": "norm_self_attn"}
    cross_attention = attention("cross_attention", "cross_attn", names) | {"norm2": "norm_cross_attn"}
    encoder_layer = own_attention | feed_forward | {"norm2": "norm_ffn"}
    decoder_layer = own_attention | cross_attention | feed_forward | {"norm3": "norm_ffn"}
    table = {
        "encoder.embedding.tok_emb": "encoder.tok_embedding",
        "decoder.embedding.tok_emb": "decoder.tok_embedding",
        "decoder.fc": "head",
    }
    table |= layers("encoder.layers", "encoder.layers", len(reference.encoder.layers), encoder_layer)
    table |= layers("decoder.layers", "decoder.layers", len(reference.decoder.layers), decoder_layer)
    return fill(reference, parameters, table)


def fill_003(reference, parameters):
    layer = attention("self_attn", "self_attn", ("q_proj", "k_proj", "v_proj", "out_proj")) | {
        "norm1": "norm_self_attn",
        "feed_forward.linear1": "ffn.w_in",
        "feed_forward.linear2": "ffn.w_out",
        "norm2": "norm_ffn",
    }
    table = {"encoder.embedding": "encoder.tok_embedding", "lm_head": "head"}
    table |= layers("encoder.layers", "encoder.layers", len(reference.encoder.layers), layer)
    return fill(reference, parameters, table)


def fill_004(reference, parameters):
    """For torch's layers, and for those written by hand."""
    if reference.by_hand:
        names = ("W_q", "W_k", "W_v", "W_o")
        own_attention = attention("self_attn", "self_attn", names)
        masked_attention = attention("masked_self_attn", "self_attn", names)
        cross_attention = attention("enc_dec_attn", "cross_attn", names)
        feed_forward = {"feed_forward.linear1": "ffn.w_in", "feed_forward.linear2": "ffn.w_out"}
    else:
        own_attention = masked_attention = packed_attention("self_attn", "self_attn")
        cross_attention = packed_attention("multihead_attn", "cross_attn")
        feed_forward = {"linear1": "ffn.w_in", "linear2": "ffn.w_out"}
    norm1, norm2, norm3 = {"norm1": "norm_self_attn"}, {"norm2": "norm_cross_attn"}, {"norm3": "norm_ffn"}
    encoder_layer = own_attention | norm1 | feed_forward | {"norm2": "norm_ffn"}
    decoder_layer = masked_attention | norm1 | cross_attention | norm2 | feed_forward | norm3
    encoder, decoder = reference.transformer_encoder, reference.transformer_decoder
    table = {
        "src_embedding": "encoder.tok_embedding",
        "tgt_embedding": "decoder.tok_embedding",
        "final_linear": "head",
    }
    table |= layers("transformer_encoder.layers", "encoder.layers", len(encoder.layers), encoder_layer)
    table |= layers("transformer_decoder.layers", "decoder.layers", len(decoder.layers), decoder_layer)
    return fill(reference, parameters, table)
