"""JSON texts: where each value lies, how it is written, and edits of single values."""
