"""Everything a person can do to a store without changing it, once.

`look_without_rights` runs in a process of its own: for root a closed folder is open."""

from __future__ import annotations

import ctypes
import os
import sys
from multiprocessing.connection import Connection
from pathlib import Path

from memtui.bundle.exporting import export_forms, export_memories
from memtui.changes import Act, Change
from memtui.errors import MemtuiError
from memtui.library import Library
from memtui.query import parse_query
from memtui.testing.samples import memories

_VERSION_3 = 0x20080522
"""Of the structures that capset(2) takes: two words of rights each."""


def look_at(place: Path, state: Path, cache: Path) -> Library:
    """Load, index, search, walk the lineage, count, check, export in every form, look again."""
    library = Library.open([place], state=state, cache=cache)
    library.load()
    library.index()
    library.save_index()
    library.back_up_files()
    now = library.now()
    for text in ("the", "status:all bell", '"in the" -of', "b* ~time", "since:400d type:decision"):
        found = library.find(parse_query(text, now))
        library.statistics(found)
        library.timeline(found)
        if found.slots and found.scores is not None:
            library.explain(found, 0)
    everything = list(memories(library).values())
    for memory in everything:
        library.resolve(memory.ref)
        library.lineage(memory)
        for act in Act:
            library.refusal(act, memory)
    library.lineage(everything[0], backlinks=True)
    library.check()
    for form, kind in export_forms().items():
        if kind.document and not kind.document.holds_other_formats:
            continue
        for chosen in (everything[:5], None):
            b"".join(export_memories(library, form, chosen).pieces)
    library.log()
    library.refresh()
    return library


def without_rights() -> None:
    """Give up what root may do beyond an owner; for anybody else nothing changes."""
    if os.geteuid() == 0 and sys.platform == "linux":
        header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
        nothing = (ctypes.c_uint32 * 6)()
        if ctypes.CDLL(None, use_errno=True).capset(header, nothing):
            raise OSError(ctypes.get_errno(), "capset")


def _try_to_write(library: Library) -> list[str]:
    """What each act answers that would write; empty where it did."""
    answers = []
    for memory in list(memories(library).values())[:3]:
        for act in (Act.EDIT, Act.RETIRE, Act.DELETE, Act.PIN):
            fields = {"content": f"{memory.content} too"} if act is Act.EDIT else {}
            change = Change(act, memory.store, memory.ref, fields, force=True)
            try:
                library.apply(library.plan([change]))
                answers.append("")
            except MemtuiError as error:
                answers.append(str(error))
    return answers


def look_without_rights(connection: Connection, place: Path, state: Path, cache: Path) -> None:
    """Look at a store and try to write to it without root's rights; send what was answered."""
    without_rights()
    library = look_at(place, state, cache)
    store = library.snapshot.stores[0]
    connection.send(
        {
            "count": store.count,
            "read_only": store.read_only,
            "unreadable": [[fault.file, fault.reason] for fault in store.unreadable],
            "answers": _try_to_write(library),
        }
    )
