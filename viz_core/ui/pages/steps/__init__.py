"""Step by step: the walk, the arithmetic of a picked cell, and the comparison with torch."""
