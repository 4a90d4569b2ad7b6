"""Tasks and the training loop that made the shipped weights."""
