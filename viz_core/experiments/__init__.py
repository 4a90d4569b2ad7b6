"""Experiments on runs: each runs the model again, changed on purpose, and compares."""
