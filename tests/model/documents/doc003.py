"""Document 003: SimpleGPT, an encoder-only language model in Post-LN with a vocabulary head at every position.

Embeddings are scaled by sqrt(d_model), pad id 0 has a zero row, the position table is added once. Nothing is masked by
default (`_create_padding_mask` returns None); a mask may be passed in and goes to every layer.

The text names attention without showing it: biased linear layers, masks with 0 where blocked and a fill of -inf are
taken. The feed-forward's formula leaves biases out; its layers are `nn.Linear` as they come, with biases. The text
calls the norms Pre-LN, its formula and its code are Post-LN: those are followed.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        heads = []
        projected = (project(x).chunk(self.num_heads, dim=-1) for project in (self.q_proj, self.k_proj, self.v_proj))
        for q, k, v in zip(*projected, strict=True):  # each [B, seq_len, d_model / num_heads]
            scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(q.size(-1))  # [B, seq_len, seq_len]
            if mask is not None:
                scores = scores.masked_fill(mask == 0, float("-inf"))
            heads.append(torch.bmm(F.softmax(scores, dim=-1), v))
        return self.out_proj(torch.cat(heads, dim=-1))


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len):
        super().__init__()
        pos = torch.arange(max_len).float()
        pe = torch.zeros(1, max_len, d_model)
        for i in range(0, d_model, 2):
            angle = pos / 10000 ** (i / d_model)
            pe[0, :, i] = torch.sin(angle)
            pe[0, :, i + 1] = torch.cos(angle)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[:, : x.size(1), :]


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.linear2(F.relu(self.linear1(x)))


class TransformerEncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)

    def forward(self, x, mask=None):
        x = self.norm1(x + self.self_attn(x, mask))
        return self.norm2(x + self.feed_forward(x))


class TransformerEncoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, d_ff, max_len, pad_idx):
        super().__init__()
        self.d_model = d_model
        self.embedding = nn.Embedding(vocab_size, d_model, padding_idx=pad_idx)
        self.pos_encoding = PositionalEncoding(d_model, max_len)
        self.layers = nn.ModuleList(TransformerEncoderLayer(d_model, num_heads, d_ff) for _ in range(num_layers))

    def forward(self, x, mask=None):
        x = self.pos_encoding(self.embedding(x) * math.sqrt(self.d_model))
        for layer in self.layers:
            x = layer(x, mask)
        return x


class SimpleGPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, d_ff=None, max_len=512, pad_idx=0):
        super().__init__()
        d_ff = d_ff or 4 * d_model
        self.encoder = TransformerEncoder(vocab_size, d_model, num_heads, num_layers, d_ff, max_len, pad_idx)
        self.lm_head = nn.Linear(d_model, vocab_size)
        self.eval()

    def forward(self, x, mask=None):
        return self.lm_head(self.encoder(x, mask))  # [B, seq_len, vocab_size]

    def count_parameters(self):
        return sum(p.numel() for p in self.parameters())
