"""The runs of a page: the current one, a second one kept as A, and their differences."""
