"""Ambient (averyjennings): events per project and branch in JSON."""

from __future__ import annotations

from memtui.stores.ambient.layout import detect
from memtui.stores.format import ExchangeDocument, Format, TransferSupport, lazy_function

FORMAT = Format(
    name="ambient",
    title="Ambient: decisions and events per project and branch",
    places=("~/.ambient/memory",),
    detect=detect,
    open=lazy_function("memtui.stores.ambient.store", "Ambient"),
    configure=lazy_function("memtui.stores.format", "configure"),
    upkeep=lazy_function("memtui.stores.ambient.adding", "upkeep_rules"),
    transfer=TransferSupport(
        belongings=("*.json", "*.json.migrated"),
        convert=lazy_function("memtui.stores.ambient.importing", "convert"),
    ),
    document=ExchangeDocument(
        description="the JSON that Ambient's own import reads",
        name="an Ambient backup",
        member="projects",
        export=lazy_function("memtui.stores.ambient.backup", "export"),
        read=lazy_function("memtui.stores.ambient.backup", "read"),
        holds_other_formats=True,
        unsupported_fields=(
            *("tags", "links", "supersedes", "superseded_by"),
            *("status", "pinned", "confidence", "extra"),
        ),
    ),
)
