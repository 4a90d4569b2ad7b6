"""The content of the pages, one package for each. The scripts in `pages/` call them."""
