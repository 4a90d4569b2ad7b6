"""The Masks page: the reason for each cell, construction and conventions of masks, and experiments with wrong masks."""
