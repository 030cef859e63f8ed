"""Markdown as a form of memory, for every format that keeps it: documents and list items."""
