"""Masks: the reason for each cell, how a mask is built and written, and experiments with wrong masks."""
