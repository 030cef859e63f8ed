"""The tools of other memory servers, names and arguments as theirs, over the stores that are open.

So instructions that a person has already given to an agent go on working. The same rules hold:
without `--write` a tool that stores proposes, and says so; one that deletes retires.
"""

from __future__ import annotations

from collections.abc import Mapping

from memtui.mcp.profiles import ambient, engram, reference
from memtui.mcp.tools import Tool

PROFILES: Mapping[str, tuple[Tool, ...]] = {
    "ambient": ambient.TOOLS,
    "engram": engram.TOOLS,
    "reference": reference.TOOLS,
}
"""Name -> the tools that are offered in place of memtui's own."""
