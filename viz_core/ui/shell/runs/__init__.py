"""The runs of a page: the current one, a second one kept as A, their differences, and generated targets."""
