"""From the places that a look at the folders found to a scan, the sidecar's share included."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from memtui.files.reading import stamp
from memtui.files.sidecar_lines import sidecar_path
from memtui.stores.base import Scan, Shard, Unreadable
from memtui.stores.sidecar import Sidecar, kept_shard


class Place(Protocol):
    """Files that are read together, and the key of their shard."""

    @property
    def key(self) -> str: ...

    @property
    def files(self) -> tuple[str, ...]: ...


def scan_of(root: Path, sidecar: Sidecar, found: Iterable[Place | Unreadable]) -> Scan:
    """A shard for each place, stamped by its files and by what the sidecar says of it."""
    shards: list[Shard] = []
    faults: list[Unreadable] = []
    for place in found:
        if isinstance(place, Unreadable):
            faults.append(place)
        else:
            mark = stamp(place.files) + sidecar.mark(place.key)
            shards.append(Shard(place.key, place.files, mark))
    if sidecar.fault:
        faults.append(Unreadable(str(sidecar_path(root)), sidecar.fault))
    shards += kept_shard(root, sidecar, shards)
    return Scan(tuple(shards), tuple(faults))
