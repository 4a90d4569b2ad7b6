"""The frame of a page: style, presenter's mode, first screen, visibility of parts below it, sidebar, and notices on weights."""
