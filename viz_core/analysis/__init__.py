"""Numbers about configs and captures; nothing here draws."""
