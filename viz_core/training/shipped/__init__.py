"""How the shipped checkpoints are trained and evaluated."""
