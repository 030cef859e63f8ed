"""Ambient (averyjennings): events per project and branch in JSON."""

from __future__ import annotations

from memtui.stores.ambient.adopting import adopt
from memtui.stores.ambient.layout import detect
from memtui.stores.ambient.store import Ambient
from memtui.stores.base import Format
from memtui.stores.rule_settings import configure

FORMAT = Format(
    name="ambient",
    title="Ambient: decisions and events per project and branch",
    places=("~/.ambient/memory",),
    detect=detect,
    open=Ambient,
    belongings=("*.json", "*.json.migrated"),
    configure=configure,
    adopt=adopt,
)
