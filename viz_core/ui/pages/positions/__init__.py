"""Positions: the waves, the schemes on the typed sentence, and experiments with word order."""
