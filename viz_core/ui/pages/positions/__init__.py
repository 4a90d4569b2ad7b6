"""The Positions page: sinusoidal encodings, every scheme on the typed sentence, and experiments with word order."""
