"""Functions that turn arrays and captures into Plotly figures, canvas panels or HTML. They do not draw on a page."""
