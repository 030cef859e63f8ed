"""Finding: analysis, arrays, ranking, the Whoosh index, and the columns that filters need.

The only package that imports numpy and whoosh; importing the package itself imports neither.
"""
