"""The Whoosh indexes of memories and of sessions: their fields, how they are written and read.

`whoosh_patches` has what is replaced and subclassed in Whoosh. Both indexes are written list by
list. That of memories (`memory_index`, in `segments`) is read as arrays, without Whoosh; that of
sessions (`session_index`), of which little is asked, by Whoosh.
"""
