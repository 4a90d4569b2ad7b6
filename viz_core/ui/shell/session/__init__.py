"""The session of a visitor: its state, the link, the widgets, and what is restored after a lost connection."""
