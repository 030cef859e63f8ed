"""memtui: see, search, correct and carry away what AI agents remember on disk."""

__version__ = "0.1.0"
