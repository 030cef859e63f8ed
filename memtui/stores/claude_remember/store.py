"""Claude Remember's folder as a store, declared."""

from __future__ import annotations

from memtui.stores.base import ReadTime
from memtui.stores.markdown.list_folder import ListFolderStore, ListSource, support_of

_START = ReadTime.NEXT_SESSION


class ClaudeRememberStore(ListFolderStore):
    """One `.remember` folder."""

    format = "claude-remember"
    sources = (
        ListSource("remember.md", "handoff", reads=_START),
        ListSource("now.md", "now", "event", _START),
        ListSource("today-*.md", "daily", "event", _START),
        ListSource("recent.md", "recent", "event", _START),
        ListSource("archive.md", "archive", "event", _START),
        ListSource("archive-*.md", "archive", "event"),
        ListSource("identity.md", "identity", reads=_START),
    )


SUPPORT = support_of(ClaudeRememberStore, "*.json")
