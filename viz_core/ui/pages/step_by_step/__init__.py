"""The page Step by step: one stage at a time, where two runs diverge, and the comparison with torch."""
