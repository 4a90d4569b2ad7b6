"""Quantities computed from configs and captures. Nothing here draws."""
