"""Training: the training step and its optimizers, and how the shipped checkpoints are made."""
