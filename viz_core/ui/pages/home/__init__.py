"""Home: one's own sentence and what became of it, the other pages with small pictures of this run, and details of the model."""
