"""memtui's own formats, for tests that hold for each of them."""

from memtui.stores.registry import own_formats
from tests.long_run import is_long

EVERY_FORMAT = tuple(own_formats())
READ_ONLY = ("engram-export", "claude-mem", "mem0")
"""Formats that are read and never written."""
FORMATS = tuple(known for known in EVERY_FORMAT if known.name not in READ_ONLY)
"""Those that can be written too."""
_ENGINES = ("agent-memory", "mcp-memory", "engram", "hermes", "markdown-folder")
"""JSON files, JSON lines, rows of a database, lists in Markdown, documents."""
ONE_OF_EACH_ENGINE = tuple(known for known in FORMATS if is_long() or known.name in _ENGINES)
"""For tests of what the formats share: journal, masks, transfer. The long run takes all formats."""
