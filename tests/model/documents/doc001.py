"""Document 001: sequence-first encoder-decoder in Pre-LN, with a final norm on each side and a generator apart.

Ids are (S, B), activations (S, B, D), the position table (max_len, 1, D). Attention scores have axes [i, j, b, h]:
query, key, batch, head. Masks come from the caller, 1 where attention is allowed: (B, Tq, Tk), or (B, Tk) for every
query alike. `forward` returns hidden states; the generator is a linear layer and a softmax.

The text names attention and feed-forward without showing them: biased linear layers, ReLU and a fill of -inf are taken.
"""

import copy
import math

import torch
from torch import nn


def get_positional_encoding(d_model, max_len=5000):
    encodings = torch.zeros(max_len, d_model)
    position = torch.arange(0, max_len, dtype=torch.float32).unsqueeze(1)  # (max_len, 1)
    two_i = torch.arange(0, d_model, 2, dtype=torch.float32)
    rate = torch.exp(two_i * -(math.log(10000.0) / d_model))
    encodings[:, 0::2] = torch.sin(position * rate)
    encodings[:, 1::2] = torch.cos(position * rate)
    return encodings.unsqueeze(1).requires_grad_(False)  # (max_len, 1, d_model)


class EmbeddingsWithPositionalEncoding(nn.Module):
    def __init__(self, d_model, n_vocab, max_len=5000):
        super().__init__()
        self.linear = nn.Embedding(n_vocab, d_model)
        self.d_model = d_model
        self.register_buffer("positional_encodings", get_positional_encoding(d_model, max_len))

    def forward(self, x):  # (S, B)
        return self.linear(x) * math.sqrt(self.d_model) + self.positional_encodings[: x.shape[0]]  # (S, B, D)


class MultiHeadAttention(nn.Module):
    def __init__(self, heads, d_model):
        super().__init__()
        self.heads, self.d_k = heads, d_model // heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.output = nn.Linear(d_model, d_model)

    def split(self, x):
        return x.view(*x.shape[:2], self.heads, self.d_k)  # (S, B, h, d_k)

    def forward(self, *, query, key, value, mask=None):
        q, k, v = self.split(self.query(query)), self.split(self.key(key)), self.split(self.value(value))
        scores = torch.einsum("ibhd,jbhd->ijbh", q, k) / math.sqrt(self.d_k)
        if mask is not None:
            # Repair: the text asks for (B, S, S) in the encoder and hands it (B, S); both mean what they say here.
            mask = mask.unsqueeze(1) if mask.dim() == 2 else mask  # (B, 1, Tk) or (B, Tq, Tk)
            scores = scores.masked_fill(mask.permute(1, 2, 0).unsqueeze(-1) == 0, float("-inf"))
        z = torch.einsum("ijbh,jbhd->ibhd", scores.softmax(dim=1), v)
        return self.output(z.reshape(*z.shape[:2], -1))


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.layer1 = nn.Linear(d_model, d_ff)
        self.layer2 = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.layer2(torch.relu(self.layer1(x)))


class TransformerLayer(nn.Module):
    """One class for both sides: with `src_attn` it is a decoder layer."""

    def __init__(self, *, d_model, self_attn, src_attn=None, feed_forward):
        super().__init__()
        self.size = d_model
        self.self_attn, self.src_attn, self.feed_forward = self_attn, src_attn, feed_forward
        self.norm_self_attn = nn.LayerNorm([d_model])
        if src_attn is not None:
            self.norm_src_attn = nn.LayerNorm([d_model])
        self.norm_ff = nn.LayerNorm([d_model])
        self.is_save_ff_input = False

    def forward(self, *, x, mask, src=None, src_mask=None):
        z = self.norm_self_attn(x)
        x = x + self.self_attn(query=z, key=z, value=z, mask=mask)
        if src is not None:
            z = self.norm_src_attn(x)
            x = x + self.src_attn(query=z, key=src, value=src, mask=src_mask)
        z = self.norm_ff(x)
        if self.is_save_ff_input:
            self.ff_input = z.clone()
        return x + self.feed_forward(z)


class Encoder(nn.Module):
    def __init__(self, layer, n_layers):
        super().__init__()
        self.layers = nn.ModuleList(copy.deepcopy(layer) for _ in range(n_layers))
        self.norm = nn.LayerNorm([layer.size])

    def forward(self, x, mask):
        for layer in self.layers:
            x = layer(x=x, mask=mask)
        return self.norm(x)


class Decoder(nn.Module):
    def __init__(self, layer, n_layers):
        super().__init__()
        self.layers = nn.ModuleList(copy.deepcopy(layer) for _ in range(n_layers))
        self.norm = nn.LayerNorm([layer.size])

    def forward(self, x, memory, src_mask, tgt_mask):
        for layer in self.layers:
            x = layer(x=x, mask=tgt_mask, src=memory, src_mask=src_mask)
        return self.norm(x)


class EncoderDecoder(nn.Module):
    def __init__(self, encoder, decoder, src_embed, tgt_embed, generator):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder
        self.src_embed, self.tgt_embed = src_embed, tgt_embed
        self.generator = generator
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)

    def encode(self, src, src_mask):
        return self.encoder(self.src_embed(src), src_mask)

    def decode(self, memory, src_mask, tgt, tgt_mask):
        return self.decoder(self.tgt_embed(tgt), memory, src_mask, tgt_mask)

    def forward(self, src, tgt, src_mask, tgt_mask):
        return self.decode(self.encode(src, src_mask), src_mask, tgt, tgt_mask)  # (T, B, D)

    def generate(self, decoder_output):
        return self.generator(decoder_output)  # (T, B, n_tgt_vocab)


def build(n_src_vocab, n_tgt_vocab, d_model, heads, d_ff, n_encoder_layers, n_decoder_layers, max_len=5000):
    """Puts the parts together from outside, as the document's classes expect."""
    attention, feed_forward = MultiHeadAttention(heads, d_model), FeedForward(d_model, d_ff)
    encoder_layer = TransformerLayer(d_model=d_model, self_attn=attention, feed_forward=feed_forward)
    decoder_layer = TransformerLayer(
        d_model=d_model, self_attn=attention, src_attn=copy.deepcopy(attention), feed_forward=feed_forward
    )
    return EncoderDecoder(
        Encoder(encoder_layer, n_encoder_layers),
        Decoder(decoder_layer, n_decoder_layers),
        EmbeddingsWithPositionalEncoding(d_model, n_src_vocab, max_len),
        EmbeddingsWithPositionalEncoding(d_model, n_tgt_vocab, max_len),
        nn.Sequential(nn.Linear(d_model, n_tgt_vocab), nn.Softmax(dim=-1)),
    ).eval()
