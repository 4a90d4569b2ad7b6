"""The page on Pre-LN and Post-LN: where the LayerNorm is placed, and how it is computed."""
