"""The page Documents: the five texts side by side, the errors in them, and links to their concepts."""
