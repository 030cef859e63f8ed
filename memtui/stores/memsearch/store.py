"""memsearch's folder as a store, declared."""

from __future__ import annotations

from memtui.stores.base import ReadTime
from memtui.stores.markdown.list_folder import ListFolderStore, ListSource, support_of


class MemsearchStore(ListFolderStore):
    """One `.memsearch` folder."""

    format = "memsearch"
    sources = (
        ListSource("PROJECT.md", "project"),
        ListSource("memory/*.md", "daily", "event", ReadTime.INDEXED),
        ListSource("USER.md", "user"),
    )


SUPPORT = support_of(MemsearchStore)
