"""Document 002: batch-first encoder-decoder in Post-LN with a hand-written LayerNorm and pad masks on both axes.

Masks are True where attention is allowed and fill with -inf. A pad mask is the AND of real queries and real keys, the
decoder's is multiplied by the causal one. The query of a padded token therefore has no key at all: its softmax is NaN.

Repair throughout: each `forward` is a method, where the printed code nests several of them in constructors.
"""

import math

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_head, empty_row_zero):
        super().__init__()
        self.n_head, self.empty_row_zero = n_head, empty_row_zero
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_combine = nn.Linear(d_model, d_model)
        self.softmax = nn.Softmax(dim=-1)

    # Repair: the length is read from each of q, k and v, since cross-attention has two.
    def split(self, x):
        batch, time, dimension = x.shape
        return x.view(batch, time, self.n_head, dimension // self.n_head).permute(0, 2, 1, 3)

    # Repair: the mask is an argument, as every caller has it; the printed class is always causal.
    def forward(self, q, k, v, mask=None):
        batch, time, dimension = q.shape
        q, k, v = self.split(self.w_q(q)), self.split(self.w_k(k)), self.split(self.w_v(v))  # (B, h, time, n_d)
        score = q @ k.transpose(2, 3) / math.sqrt(dimension // self.n_head)  # (B, h, Tq, Tk)
        if mask is not None:
            score = score.masked_fill(mask == 0, float("-inf"))
        score = self.softmax(score)
        if self.empty_row_zero:  # Repair, off by default: a query without keys attends to nothing instead of NaN.
            score = torch.nan_to_num(score, nan=0.0)
        score = (score @ v).permute(0, 2, 1, 3).contiguous().view(batch, time, dimension)
        return self.w_combine(score)


class PositionalEmbedding(nn.Module):
    # Repair: no `device`, which the printed code passes where a size is expected.
    def __init__(self, d_model, maxlen):
        super().__init__()
        pos = torch.arange(0, maxlen).float().unsqueeze(1)  # (maxlen, 1)
        two_i = torch.arange(0, d_model, 2)
        self.encoding = torch.zeros(maxlen, d_model)
        self.encoding[:, 0::2] = torch.sin(pos / 10000 ** (two_i / d_model))
        self.encoding[:, 1::2] = torch.cos(pos / 10000 ** (two_i / d_model))

    def forward(self, x):
        return self.encoding[: x.shape[1], :]  # (T, D)


class TokenEmbedding(nn.Embedding):
    def __init__(self, vocab_size, d_model):
        super().__init__(vocab_size, d_model, padding_idx=1)


class TransformerEmbedding(nn.Module):
    def __init__(self, vocab_size, d_model, max_len):
        super().__init__()
        # Repair: the arguments are in the order of the definition; the printed callers give d_model, max_len, vocab.
        self.tok_emb = TokenEmbedding(vocab_size, d_model)
        self.pos_emb = PositionalEmbedding(d_model, max_len)

    def forward(self, x):
        return self.tok_emb(x) + self.pos_emb(x)


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-10):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        var = x.var(-1, unbiased=False, keepdim=True)
        return self.gamma * ((x - mean) / torch.sqrt(var + self.eps)) + self.beta


class PositionwiseFeedForward(nn.Module):
    def __init__(self, d_model, hidden):
        super().__init__()  # Repair: missing in the printed code.
        self.fc1 = nn.Linear(d_model, hidden)
        self.fc2 = nn.Linear(hidden, d_model)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


class EncoderLayer(nn.Module):
    def __init__(self, d_model, ffn_hidden, n_head, empty_row_zero):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_head, empty_row_zero)
        self.norm1 = LayerNorm(d_model)
        self.ffn = PositionwiseFeedForward(d_model, ffn_hidden)
        self.norm2 = LayerNorm(d_model)

    def forward(self, x, mask=None):
        x = self.norm1(self.attention(x, x, x, mask) + x)  # Repair: the printed code drops what norm1 returns.
        return self.norm2(self.ffn(x) + x)


class DecoderLayer(nn.Module):
    def __init__(self, d_model, ffn_hidden, n_head, empty_row_zero):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_head, empty_row_zero)
        self.norm1 = LayerNorm(d_model)
        self.cross_attention = MultiHeadAttention(d_model, n_head, empty_row_zero)
        self.norm2 = LayerNorm(d_model)
        self.ffn = PositionwiseFeedForward(d_model, ffn_hidden)
        self.norm3 = LayerNorm(d_model)

    def forward(self, dec, enc, t_mask, s_mask):
        x = self.norm1(self.attention(dec, dec, dec, t_mask) + dec)
        if enc is not None:  # Repair: the residual is x; the printed code adds the attention's result to itself.
            x = self.norm2(self.cross_attention(x, enc, enc, s_mask) + x)
        return self.norm3(self.ffn(x) + x)


class Encoder(nn.Module):
    def __init__(self, voc_size, max_len, d_model, ffn_hidden, n_head, n_layer, empty_row_zero):
        super().__init__()
        self.embedding = TransformerEmbedding(voc_size, d_model, max_len)
        self.layers = nn.ModuleList(EncoderLayer(d_model, ffn_hidden, n_head, empty_row_zero) for _ in range(n_layer))

    def forward(self, x, s_mask):
        x = self.embedding(x)
        for layer in self.layers:
            x = layer(x, s_mask)
        return x


class Decoder(nn.Module):
    def __init__(self, voc_size, max_len, d_model, ffn_hidden, n_head, n_layer, empty_row_zero):
        super().__init__()
        self.embedding = TransformerEmbedding(voc_size, d_model, max_len)
        self.layers = nn.ModuleList(  # Repair: decoder layers; the printed code stacks encoder layers.
            DecoderLayer(d_model, ffn_hidden, n_head, empty_row_zero) for _ in range(n_layer)
        )
        self.fc = nn.Linear(d_model, voc_size)

    def forward(self, dec, enc, t_mask, s_mask):
        dec = self.embedding(dec)
        for layer in self.layers:
            dec = layer(dec, enc, t_mask, s_mask)
        return self.fc(dec)


class Transformer(nn.Module):
    def __init__(
        self, src_pad_idx, trg_pad_idx, enc_voc_size, dec_voc_size, max_len, d_model, n_heads, ffn_hidden, n_layers,
        n_decoder_layers=None, empty_row_zero=False,
    ):
        super().__init__()
        sizes = (max_len, d_model, ffn_hidden, n_heads)
        self.encoder = Encoder(enc_voc_size, *sizes, n_layers, empty_row_zero)
        self.decoder = Decoder(dec_voc_size, *sizes, n_decoder_layers or n_layers, empty_row_zero)
        self.src_pad_idx, self.trg_pad_idx = src_pad_idx, trg_pad_idx
        self.eval()

    def make_pad_mask(self, q, k, pad_idx_q, pad_idx_k):
        len_q, len_k = q.size(1), k.size(1)
        q = q.ne(pad_idx_q).unsqueeze(1).unsqueeze(3).repeat(1, 1, 1, len_k)
        k = k.ne(pad_idx_k).unsqueeze(1).unsqueeze(2).repeat(1, 1, len_q, 1)
        return q & k  # (B, 1, len_q, len_k)

    def make_causal_mask(self, q, k):
        return torch.tril(torch.ones(q.size(1), k.size(1))).bool()

    def forward(self, src, trg):
        src_mask = self.make_pad_mask(src, src, self.src_pad_idx, self.src_pad_idx)
        trg_mask = self.make_pad_mask(trg, trg, self.trg_pad_idx, self.trg_pad_idx) * self.make_causal_mask(trg, trg)
        src_trg_mask = self.make_pad_mask(trg, src, self.trg_pad_idx, self.src_pad_idx)
        return self.decoder(trg, self.encoder(src, src_mask), trg_mask, src_trg_mask)
