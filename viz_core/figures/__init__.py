"""Pictures as data: arrays in, Plotly figures, canvas panels or HTML out. Nothing here draws on a page."""
