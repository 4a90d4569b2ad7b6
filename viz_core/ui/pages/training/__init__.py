"""The Training page: a model that trains while the visitor watches, and experiments that vary one factor."""
