"""memtui's own formats, for tests that hold for each of them."""

from memtui.stores.registry import own_formats

EVERY_FORMAT = tuple(own_formats())
READ_ONLY = ("engram-export", "claude-mem", "mem0")
"""Formats that are read and never written."""
FORMATS = tuple(known for known in EVERY_FORMAT if known.name not in READ_ONLY)
"""Those that can be written too."""
