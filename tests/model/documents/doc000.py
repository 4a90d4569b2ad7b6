"""Document 000: batch-first encoder-decoder in Post-LN with its own query/key width.

Masks are 1 where attention is allowed and fill with -1e20. The source mask hides padding (id 0) among the keys, the
target mask is causal only: padded target tokens stay visible. Embeddings are not scaled.

The printed code runs as it is; only the constructor is widened, so that the decoder's depth may differ.
"""

import math

import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, embed_size, max_len):
        super().__init__()
        position = torch.arange(max_len, dtype=torch.float).unsqueeze(1)  # (max_len, 1)
        rate = torch.exp(torch.arange(0, embed_size, 2).float() * (-math.log(10000.0) / embed_size))
        pe = torch.zeros(max_len, embed_size)
        pe[:, 0::2] = torch.sin(position * rate)
        pe[:, 1::2] = torch.cos(position * rate)
        self.register_buffer("pe", pe.unsqueeze(0))  # (1, max_len, embed_size)

    def forward(self, x):
        return x + self.pe[:, : x.size(1), :]


class Attention(nn.Module):
    """Queries and keys at `qk_dim` over all heads, values at the full width."""

    def __init__(self, embed_size, heads, qk_dim):
        super().__init__()
        assert qk_dim % heads == 0 and embed_size % heads == 0
        self.heads, self.head_dim_qk, self.head_dim_v = heads, qk_dim // heads, embed_size // heads
        self.query = nn.Linear(embed_size, qk_dim)
        self.key = nn.Linear(embed_size, qk_dim)
        self.value = nn.Linear(embed_size, embed_size)
        self.fc_out = nn.Linear(embed_size, embed_size)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = query if value is None else value
        n, query_len, embed_size = query.shape
        q = self.query(query).view(n, query_len, self.heads, self.head_dim_qk).transpose(1, 2)  # (N, h, Tq, qk/h)
        k = self.key(key).view(n, key.shape[1], self.heads, self.head_dim_qk).transpose(1, 2)  # (N, h, Tk, qk/h)
        v = self.value(value).view(n, value.shape[1], self.heads, self.head_dim_v).transpose(1, 2)  # (N, h, Tk, D/h)
        energy = q @ k.transpose(-1, -2) / math.sqrt(self.head_dim_qk)  # (N, h, Tq, Tk)
        if mask is not None:
            energy = energy.masked_fill(mask == 0, -1e20)
        out = torch.softmax(energy, dim=-1) @ v  # (N, h, Tq, D/h)
        return self.fc_out(out.transpose(1, 2).contiguous().view(n, query_len, embed_size))


class FeedForward(nn.Module):
    def __init__(self, embed_size, hidden_dim):
        super().__init__()
        self.fc1 = nn.Linear(embed_size, hidden_dim)
        self.fc2 = nn.Linear(hidden_dim, embed_size)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


class EncoderBlock(nn.Module):
    def __init__(self, embed_size, heads, qk_dim, ff_hidden_size):
        super().__init__()
        self.attention = Attention(embed_size, heads, qk_dim)
        self.norm1 = nn.LayerNorm(embed_size)
        self.ffn = FeedForward(embed_size, ff_hidden_size)
        self.norm2 = nn.LayerNorm(embed_size)

    def forward(self, x, mask=None):
        x = self.norm1(x + self.attention(x, mask=mask))
        return self.norm2(x + self.ffn(x))


class DecoderBlock(nn.Module):
    def __init__(self, embed_size, heads, qk_dim, ff_hidden_size):
        super().__init__()
        self.self_attention = Attention(embed_size, heads, qk_dim)
        self.norm1 = nn.LayerNorm(embed_size)
        self.cross_attention = Attention(embed_size, heads, qk_dim)
        self.norm2 = nn.LayerNorm(embed_size)
        self.feed_forward = FeedForward(embed_size, ff_hidden_size)
        self.norm3 = nn.LayerNorm(embed_size)

    def forward(self, x, enc_out, src_mask=None, tgt_mask=None):
        x = self.norm1(x + self.self_attention(x, mask=tgt_mask))
        x = self.norm2(x + self.cross_attention(x, enc_out, enc_out, src_mask))
        return self.norm3(x + self.feed_forward(x))


class Encoder(nn.Module):
    def __init__(self, vocab_size, embed_size, num_layers, heads, qk_dim, ff_hidden_size, max_length):
        super().__init__()
        self.word_embedding = nn.Embedding(vocab_size, embed_size)
        self.position_encoding = PositionalEncoding(embed_size, max_length)
        self.layers = nn.ModuleList(EncoderBlock(embed_size, heads, qk_dim, ff_hidden_size) for _ in range(num_layers))

    def forward(self, x, mask=None):
        out = self.position_encoding(self.word_embedding(x))  # (N, S, D)
        for layer in self.layers:
            out = layer(out, mask)
        return out


class Decoder(nn.Module):
    def __init__(self, vocab_size, embed_size, num_layers, heads, qk_dim, ff_hidden_size, max_length):
        super().__init__()
        self.word_embedding = nn.Embedding(vocab_size, embed_size)
        self.position_encoding = PositionalEncoding(embed_size, max_length)
        self.layers = nn.ModuleList(DecoderBlock(embed_size, heads, qk_dim, ff_hidden_size) for _ in range(num_layers))
        self.fc_out = nn.Linear(embed_size, vocab_size)

    def forward(self, x, enc_out, src_mask=None, tgt_mask=None):
        out = self.position_encoding(self.word_embedding(x))  # (N, T, D)
        for layer in self.layers:
            out = layer(out, enc_out, src_mask, tgt_mask)
        return self.fc_out(out)  # (N, T, tgt_vocab_size)


class Transformer(nn.Module):
    def __init__(
        self, src_vocab_size, tgt_vocab_size, embed_size=256, num_layers=3, heads=8, qk_dim=64,
        ff_hidden_size=512, max_length=100, num_decoder_layers=None,
    ):
        super().__init__()
        sizes = (heads, qk_dim, ff_hidden_size, max_length)
        self.encoder = Encoder(src_vocab_size, embed_size, num_layers, *sizes)
        self.decoder = Decoder(tgt_vocab_size, embed_size, num_decoder_layers or num_layers, *sizes)
        self.eval()

    def make_src_mask(self, src):
        return (src != 0).unsqueeze(1).unsqueeze(2)  # (N, 1, 1, S)

    def make_tgt_mask(self, tgt):
        n, length = tgt.shape
        return torch.tril(torch.ones(length, length)).expand(n, 1, length, length)  # (N, 1, T, T)

    def forward(self, src, tgt):
        src_mask, tgt_mask = self.make_src_mask(src), self.make_tgt_mask(tgt)
        return self.decoder(tgt, self.encoder(src, src_mask), src_mask, tgt_mask)
