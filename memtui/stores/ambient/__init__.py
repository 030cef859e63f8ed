"""Ambient (averyjennings): events per project and branch in JSON."""

from __future__ import annotations

from memtui.stores.ambient.layout import detect
from memtui.stores.base import Format
from memtui.stores.format_setup import lazy_function

FORMAT = Format(
    name="ambient",
    title="Ambient: decisions and events per project and branch",
    places=("~/.ambient/memory",),
    detect=detect,
    open=lazy_function("memtui.stores.ambient.store", "Ambient"),
    belongings=("*.json", "*.json.migrated"),
    configure=lazy_function("memtui.stores.format_setup", "configure"),
    convert=lazy_function("memtui.stores.ambient.importing", "convert"),
)
