"""memtui: browse, search, edit and back up what AI agents remember on disk."""

__version__ = "0.1.0"
