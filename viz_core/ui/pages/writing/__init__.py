"""Writing: how a model writes a sentence word by word, what it costs, and what its own words do to it."""
