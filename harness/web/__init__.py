"""Search, pages and their text."""
