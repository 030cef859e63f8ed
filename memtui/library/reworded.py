"""A text that another program has changed, in stores whose ids are digests of the texts.

There a changed text has another id, as if one memory went and another came. It is taken for the
same where it stands in the same place, so that a form that is open about it shows a conflict.
"""

from __future__ import annotations

from memtui.files.text_items import is_similar
from memtui.library.snapshot import Snapshot
from memtui.model import Memory
from memtui.stores.sidecar import is_kept


def find_reworded(memory: Memory, before: Snapshot, now: Snapshot) -> Memory | None:
    """The memory that stands in the place of one that was there before; None if none does.

    The place is between its neighbours in the same list of the same file. A single new text for a
    single one that went is it, whatever it says; elsewhere, and at the end of the list, where
    programs add texts, it has to be similar.
    """
    known, present = (
        {each.ref: each for each in _list_of(memory, snapshot)} for snapshot in (before, now)
    )
    if memory.ref not in known or memory.ref in present:
        return None
    refs, order = list(known), list(present)
    at = refs.index(memory.ref)
    above = next((ref for ref in reversed(refs[:at]) if ref in present), "")
    below = next((ref for ref in refs[at + 1 :] if ref in present), "")
    start = order.index(above) + 1 if above else 0
    end = order.index(below) if below else len(order)
    new = [ref for ref in order[start:end] if ref not in known]
    first = refs.index(above) + 1 if above else 0
    last = refs.index(below) if below else len(refs)
    if below and len(new) == 1 == last - first:
        return present[new[0]]
    new.sort(key=lambda ref: abs(order.index(ref) - start - (at - first)))
    found = (present[ref] for ref in new)
    return next((each for each in found if is_similar(each.content, memory.content)), None)


def _list_of(memory: Memory, snapshot: Snapshot) -> list[Memory]:
    """The memories of its list, in the order of the file."""
    rows = (snapshot.rows[slot] for slot in snapshot.columns.slots_of_store(memory.store))
    found = [
        each
        for each in rows
        if each.origin.file == memory.origin.file
        and (each.entity, each.kind) == (memory.entity, memory.kind)
        and not is_kept(each)
    ]
    return sorted(found, key=lambda each: each.origin.line or 0)
