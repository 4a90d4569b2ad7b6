"""The Shapes page: a table of every tensor, the effect of a change of size, and the cost of the model."""
