"""Writing, opened up: how a decoder reads on, how the next word is chosen, and what is kept from step to step.

    strategy   Greedy, Sampling, Beam: how the next word is chosen, with the field's argument names
    readers    a decoder that reads on, with a key-value cache or without
    cache      the key-value cache: what it keeps, and one step with it
    draw       one word drawn: logits, temperature, top-k, top-p, the drawn number, the word
    beam       beam search, with every candidate of every step
    forcing    the losses of given words: under teacher forcing, and where the model reads its own words
    trail      one text with everything that was known at each step
    growing    one text with the cache and without: rows, times, differences

`viz_core.generate` is the one place where a checkpoint writes; it is built on these.
"""
