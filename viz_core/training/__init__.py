"""Tasks and the training loop: how the shipped weights were made, from nothing."""
