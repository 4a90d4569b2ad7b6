"""Pretrained weights: shipped checkpoints, and published checkpoints loaded into this project's model."""
