"""T9: the life of a store, step by step at random, against a model that is a dict of bytes.

A Hypothesis state machine drives the real library on a real small store: it adds, edits, undoes,
lets other programs write, kills itself, exports, imports. After every step each file of the store
must hold what the model says. `pieces` and `model` read files with nothing of memtui's own.

To `engram` the rows of the database are what files are to the others; its crashes also leave parts
of a write-ahead log.
"""
