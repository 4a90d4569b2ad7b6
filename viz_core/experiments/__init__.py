"""Experiments: each runs the model again with something changed, and compares the runs."""
