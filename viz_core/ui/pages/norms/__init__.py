"""The page on Pre-LN and Post-LN: where the norm is placed, and how it is computed."""
