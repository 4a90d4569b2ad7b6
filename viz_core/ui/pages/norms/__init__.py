"""The page on Pre-LN and Post-LN: the place of the LayerNorm, and its computation."""
