"""The page on cause and effect: which part of the model makes the difference between two runs."""
