"""Export and import: lossless bundles, exchange documents, JSON lines, CSV and Markdown."""
