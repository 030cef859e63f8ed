"""From what a look at the folders found to a scan, the sidecar's share included."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from memtui.files.reading import reason, stamp
from memtui.files.sidecar_lines import sidecar_path
from memtui.stores.base import Scan, Shard, Unreadable
from memtui.stores.overlay import kept_shard
from memtui.stores.sidecar import Sidecar


@dataclass(frozen=True, slots=True)
class Found:
    """Files that are read together, and the key of their shard."""

    key: str
    files: tuple[str, ...]
    mark: str = ""
    """Changes whenever one of the files may have changed, or what else is said of them; empty: it
    is not known yet."""


def scan_of(root: Path, sidecar: Sidecar, found: Iterable[Found | Unreadable]) -> Scan:
    """A shard for each find, stamped by its files and by what the sidecar says of it.

    A root that is gone is one fault, whatever a format would say of its folders.
    """
    try:
        os.stat(root)
    except OSError as error:
        return Scan((), (Unreadable(str(root), reason(error)),))
    finds: list[Found] = []
    faults: list[Unreadable] = []
    for each in found:
        if isinstance(each, Unreadable):
            faults.append(each)
        else:
            finds.append(each)
    shards = stamped(sidecar, finds)
    shards += kept_shard(root, sidecar, shards)
    return Scan(tuple(shards), (*faults, *sidecar_faults(root, sidecar)))


def stamped(sidecar: Sidecar, found: Iterable[Found]) -> list[Shard]:
    """The shard of each find."""
    return [
        Shard(each.key, each.files, (each.mark or stamp(each.files)) + sidecar.mark(each.key))
        for each in found
    ]


def sidecar_faults(root: Path, sidecar: Sidecar) -> tuple[Unreadable, ...]:
    """That the sidecar cannot be read, where it cannot."""
    return (Unreadable(str(sidecar_path(root)), sidecar.fault),) if sidecar.fault else ()
