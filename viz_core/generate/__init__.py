"""Text generation: `generate` for ids and `write` for sentences, and what they are made of.

    text_generation   generate, write: the loop over tokens, by which every checkpoint generates
    strategy          Greedy, Sampling, Beam: how the next token is chosen, with the usual argument names
    incremental       reading one token after another, with a key-value cache or without
    kv_cache          the key-value cache: what it keeps, and one step with it
    sampling          one sampled token: logits, temperature, top-k, top-p, the random number, the token
    beam              beam search, with every candidate of every step
    teacher_forcing   the loss of given tokens under teacher forcing, and where the model reads its own tokens
    trace             one text with everything that was known at each step
    cache_trace       one text with the cache and without: rows, times, differences
"""

from viz_core.generate.incremental import encode_source, next_logits
from viz_core.generate.strategy import Beam, Greedy, Sampling, Strategy
from viz_core.generate.text_generation import (
    Continuation,
    Generation,
    available_length,
    decoder_batch,
    generate,
    initial_batch,
    write,
)

__all__ = [
    "Beam", "Continuation", "Generation", "Greedy", "Sampling", "Strategy", "available_length", "decoder_batch", "encode_source",
    "generate", "initial_batch", "next_logits", "write",
]
