"""The parts of generation: strategies, the key-value cache, sampling, beam search, teacher forcing and traces of one text."""
