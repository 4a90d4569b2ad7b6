"""Training: weights come to be in front of a person, and experiments in which one choice changes."""
