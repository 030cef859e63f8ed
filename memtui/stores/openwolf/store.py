"""OpenWolf's folder as a store, declared."""

from __future__ import annotations

from memtui.stores.base import ReadTime
from memtui.stores.markdown.list_folder import ListFolderStore, ListSource, support_of


class OpenWolfStore(ListFolderStore):
    """One `.wolf` folder."""

    format = "openwolf"
    sources = (
        ListSource("cerebrum.md", "cerebrum", reads=ReadTime.AT_ONCE, has_headings=True),
        ListSource("memory.md", "log", "event"),
        ListSource("identity.md", "identity"),
    )


SUPPORT = support_of(OpenWolfStore, "*.json", "anatomy.md", "OPENWOLF.md")
