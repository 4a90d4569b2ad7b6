"""What each page shows, a module or a package a page. `pages/` has their first lines."""
