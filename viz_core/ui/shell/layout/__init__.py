"""The frame of a page: its style, the first screen, the sidebar, and presenter's mode."""
