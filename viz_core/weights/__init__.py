"""Weights that mean something: shipped checkpoints, and published ones read into this project's model."""
