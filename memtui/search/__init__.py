"""Search over memories: text analysis, word indexes, filters, counts, ranking and embeddings.

The only package that imports numpy and whoosh; importing the package itself imports neither.
"""
