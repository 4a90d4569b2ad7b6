"""The Home page: a sentence and the model's output, cards of the other pages with thumbnails of this run, and run details."""
