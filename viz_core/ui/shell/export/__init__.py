"""Export: the Save menus, the scripts that draw PNG and SVG in the browser, and the Python of a picture."""
