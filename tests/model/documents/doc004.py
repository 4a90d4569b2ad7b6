"""Document 004: the book chapter's encoder-decoder in Post-LN, in both of its forms.

`Transformer` stacks torch's own layers (section 3.7): a float look-ahead mask, boolean padding masks, True = blocked.
`EncoderLayer` and `DecoderLayer` are the layers written by hand (sections 3.3 to 3.6), with boolean masks, True =
blocked; `by_hand` swaps them into `Transformer`. Embeddings are scaled by sqrt(d_model), the fill is -inf.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask, float("-inf"))
    weights = F.softmax(scores, dim=-1)
    return torch.matmul(weights, v), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        assert d_model % num_heads == 0
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def split_heads(self, x):
        return x.view(x.size(0), -1, self.num_heads, self.d_k).transpose(1, 2)  # (B, h, T, d_k)

    def forward(self, query, key, value, mask=None):
        q, k, v = (self.split_heads(w(x)) for w, x in ((self.W_q, query), (self.W_k, key), (self.W_v, value)))
        if mask is not None and mask.dim() == 3:
            # Repair: a (T, T) mask broadcasts as it is; printed as (T, 1, T) it fits only T == heads, wrongly.
            mask = mask.unsqueeze(1)  # (B, 1, Tq or 1, Tk)
        output, _ = scaled_dot_product_attention(q, k, v, mask)
        return self.W_o(output.transpose(1, 2).flatten(2))


class PositionWiseFeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.linear2(F.relu(self.linear1(x)))


class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = PositionWiseFeedForward(d_model, d_ff)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x, mask=None):
        x = self.norm1(x + self.self_attn(x, x, x, mask))
        return self.norm2(x + self.feed_forward(x))


class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.masked_self_attn = MultiHeadAttention(d_model, num_heads)
        self.enc_dec_attn = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = PositionWiseFeedForward(d_model, d_ff)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d_model) for _ in range(3))

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        x = self.norm1(x + self.masked_self_attn(x, x, x, tgt_mask))
        x = self.norm2(x + self.enc_dec_attn(x, memory, memory, src_mask))
        return self.norm3(x + self.feed_forward(x))


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        position = torch.arange(0, max_len, dtype=torch.float).unsqueeze(1)
        angle = position * torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe = torch.stack([torch.sin(angle), torch.cos(angle)], dim=-1).flatten(1)  # sine and cosine interleaved
        self.register_buffer("pe", pe.unsqueeze(0))  # (1, max_len, d_model)

    def forward(self, x):
        return x + self.pe[:, : x.size(1), :]


class HandEncoder(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, num_layers):
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(d_model, num_heads, d_ff) for _ in range(num_layers))

    def forward(self, x, src_key_padding_mask=None):
        for layer in self.layers:
            x = layer(x, None if src_key_padding_mask is None else src_key_padding_mask.unsqueeze(1))  # (B, 1, S)
        return x


class HandDecoder(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, num_layers):
        super().__init__()
        self.layers = nn.ModuleList(DecoderLayer(d_model, num_heads, d_ff) for _ in range(num_layers))

    def forward(self, x, memory, tgt_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None):
        blocked = tgt_mask == float("-inf")  # (T, T)
        if tgt_key_padding_mask is not None:
            blocked = blocked | (tgt_key_padding_mask == float("-inf")).unsqueeze(1)  # (B, T, T)
        source = None if memory_key_padding_mask is None else memory_key_padding_mask.unsqueeze(1)  # (B, 1, S)
        for layer in self.layers:
            x = layer(x, memory, source, blocked)
        return x


class Transformer(nn.Module):
    def __init__(
        self, src_vocab_size, tgt_vocab_size, d_model, num_heads, num_encoder_layers, num_decoder_layers, d_ff,
        max_seq_len, by_hand=False,
    ):
        super().__init__()
        self.d_model, self.by_hand = d_model, by_hand
        self.src_embedding = nn.Embedding(src_vocab_size, d_model)
        self.tgt_embedding = nn.Embedding(tgt_vocab_size, d_model)
        self.pos_encoder = PositionalEncoding(d_model, max_seq_len)
        if by_hand:
            self.transformer_encoder = HandEncoder(d_model, num_heads, d_ff, num_encoder_layers)
            self.transformer_decoder = HandDecoder(d_model, num_heads, d_ff, num_decoder_layers)
        else:
            sizes = dict(d_model=d_model, nhead=num_heads, dim_feedforward=d_ff, batch_first=True)
            # Repair: no nested tensors, with which torch's inference path zeroes what the layers compute at padding.
            self.transformer_encoder = nn.TransformerEncoder(
                nn.TransformerEncoderLayer(**sizes), num_encoder_layers, norm=None, enable_nested_tensor=False
            )
            self.transformer_decoder = nn.TransformerDecoder(
                nn.TransformerDecoderLayer(**sizes), num_decoder_layers, norm=None
            )
        self.final_linear = nn.Linear(d_model, tgt_vocab_size)
        self.eval()

    def _generate_square_subsequent_mask(self, sz):
        return torch.zeros(sz, sz).masked_fill(torch.triu(torch.ones(sz, sz), diagonal=1) == 1, float("-inf"))

    def forward(self, src_seq, tgt_seq, src_padding_mask=None, tgt_padding_mask=None):
        src = self.pos_encoder(self.src_embedding(src_seq) * math.sqrt(self.d_model))
        tgt = self.pos_encoder(self.tgt_embedding(tgt_seq) * math.sqrt(self.d_model))
        if tgt_padding_mask is not None:  # Repair: float like the look-ahead mask, since torch deprecates a mix.
            tgt_padding_mask = torch.zeros(tgt_seq.shape).masked_fill(tgt_padding_mask, float("-inf"))
        memory = self.transformer_encoder(src, src_key_padding_mask=src_padding_mask)
        output = self.transformer_decoder(
            tgt, memory,
            tgt_mask=self._generate_square_subsequent_mask(tgt_seq.size(1)),
            tgt_key_padding_mask=tgt_padding_mask,
            memory_key_padding_mask=src_padding_mask,
        )
        return self.final_linear(output)
