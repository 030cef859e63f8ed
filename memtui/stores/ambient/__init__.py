"""Ambient (averyjennings): events per project and branch in JSON."""

from __future__ import annotations

from memtui.stores.ambient.layout import detect
from memtui.stores.base import Format
from memtui.stores.later import later

FORMAT = Format(
    name="ambient",
    title="Ambient: decisions and events per project and branch",
    places=("~/.ambient/memory",),
    detect=detect,
    open=later("memtui.stores.ambient.store", "Ambient"),
    belongings=("*.json", "*.json.migrated"),
    configure=later("memtui.stores.rule_settings", "configure"),
    adopt=later("memtui.stores.ambient.adopting", "adopt"),
)
