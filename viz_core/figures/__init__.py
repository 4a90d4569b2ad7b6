"""Pictures as data: arrays in, Plotly figures or canvas panels out. Nothing here draws on a page."""
