"""What a page draws with: each component's Python, script and style side by side. Nothing here knows of setups, links or runs."""
