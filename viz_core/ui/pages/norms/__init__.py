"""Pre-LN and Post-LN: where the LayerNorm stands, and what it computes."""
