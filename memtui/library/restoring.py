"""Give back what was there at a time: memories that an agent deleted, and texts that it changed.

Where an agent only took lines out of a file, or the whole file away, these lines are put back, byte
for byte, and what was written since stays. Otherwise each memory is put into its store as it is
now, by the rules of its format. Nothing of today is deleted, and the result is read by the format
before anything is written.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from memtui.bundle.import_plan import map_memory
from memtui.changes import Act, Change, Edit, Kind, Plan, StoreEdits, text_edit
from memtui.errors import Conflict, Refused, StoreError
from memtui.files.merging import rebase
from memtui.files.reading import decode, encode, read_text_file
from memtui.files.text_history import KeptText
from memtui.library import kept_texts
from memtui.library.change_authors import ChangedMemory
from memtui.library.former_versions import FormerReader
from memtui.library.guarded_store import effect_of
from memtui.library.kept_texts import KeptState
from memtui.library.library import Library
from memtui.library.past_library import PastLibrary
from memtui.library.planning import Planned
from memtui.model import Memory
from memtui.progress import IsCancelled, never, stoppable
from memtui.stores.base import WritableStore
from memtui.text import counted, date
from memtui.text.secrets import DOT


class NotRestored(Struct, frozen=True):
    """A memory that cannot be given back, and why."""

    memory: Memory
    reason: str


class RestorePlan(Struct, frozen=True):
    """What would be given back, for `Library.apply`, and what cannot be."""

    planned: Planned
    refused: tuple[NotRestored, ...] = ()
    changes: tuple[ChangedMemory, ...] = ()
    """What is taken back."""


def plan_restore(
    library: Library,
    past: PastLibrary,
    refs: Collection[str] | None = None,
    *,
    only_deleted: bool = False,
    cancelled: IsCancelled = never,
) -> RestorePlan:
    """Plan to give back memories as they were at a time.

    Args:
        library: The present.
        past: The library as of the time.
        refs: Which memories; None: all that are gone or have another text.
        only_deleted: Leave out those that are still there.
        cancelled: Asked between memories; Cancelled is raised then.
    """
    wanted: dict[str, list[Memory]] = {}
    for ref, slot in stoppable(past.snapshot.slot_of.items(), cancelled):
        former, now = past.snapshot.rows[slot], library.seen(ref)
        is_same = now is not None and (only_deleted or now.full_text == former.full_text)
        if not is_same and (refs is None or ref in refs):
            wanted.setdefault(former.store, []).append(former)
    found = _Found()
    for label, memories in wanted.items():
        store = library.store(label)
        if store.read_only:
            found.refused += [NotRestored(each, store.read_only) for each in memories]
            continue
        state = kept_texts.state_at(store, library.state_folder, past.at)
        if refs is None:
            edits, memories = _file_edits(
                library, store, state, memories, only_deleted=only_deleted
            )
            found.edits[label] = edits
        in_file = Counter(each.origin.file for each in past.memories(label))
        for memory in stoppable(memories, cancelled):
            own = state.files.get(memory.origin.file) if in_file[memory.origin.file] == 1 else None
            _add_memory(found, library, store, memory, own)
    refused = {each.memory.ref for each in found.refused}
    changes = tuple(
        ChangedMemory(former, library.seen(former.ref), past.at, library.now())
        for memories in wanted.values()
        for former in memories
        if former.ref not in refused
    )
    title = f"{Act.RESTORE} {counted(len(changes), 'memory')} as of {date(past.at)}"
    return replace(_planned(library, title, found), changes=changes)


class _Found(Struct):
    """What is collected until all stores have been looked at."""

    changes: list[Change] = field(default_factory=list)
    edits: dict[str, list[Edit]] = field(default_factory=dict)
    """Label of a store -> edits of whole files."""
    refused: list[NotRestored] = field(default_factory=list)


# ---- whole files ---------------------------------------------------------------------------------


def _file_edits(
    library: Library,
    store: WritableStore,
    state: KeptState,
    wanted: list[Memory],
    *,
    only_deleted: bool,
) -> tuple[list[Edit], list[Memory]]:
    """Edits of the store's files that give memories back without the loss of anything that was
    written since; and the memories that they do not give back."""
    reader = FormerReader(store)
    if not reader.is_possible:
        return [], wanted
    edits: dict[str, Edit] = {}
    unchanged: set[str] = set()
    for file, kept in state.files.items():
        if kept.text is None or kept.is_masked:
            continue
        then = decode(kept.text)
        after = None if kept.next is None else decode(kept.next)
        if only_deleted and not _only_lost_lines(then, after):
            continue
        with suppress(Conflict, StoreError):
            now = read_text_file(Path(file), store.root.parent) if os.path.lexists(file) else None
            kind = Kind.FILE if now is None else Kind.LINES
            text = rebase(now, [text_edit(file, after, then, kind)], file)
            if text == now:  # it is read again as soon as the file that names it is back
                unchanged.add(file)
            else:
                edits[file] = text_edit(file, now, text, kind)
    present = [each for each in library.memories(store.label) if each.origin.file in edits]
    replaced = {memory.ref for memory in wanted}
    needed = [*wanted, *(each for each in present if each.ref not in replaced)]
    while True:
        read = _read_with(reader, edits.values())
        missing = [each for each in needed if not _is_in(read, each)]
        faulty = edits.keys() & {each.origin.file for each in missing}
        if not faulty:
            break
        edits = {file: edit for file, edit in edits.items() if file not in faulty}
    left = [each for each in wanted if each in missing and each.origin.file not in unchanged]
    return list(edits.values()), left


def _only_lost_lines(before: str, after: str | None) -> bool:
    """Whether the later text is the former one without some of its lines, or there is none."""
    lines = iter(before.split("\n"))
    return after is None or all(line in lines for line in after.split("\n"))


def _read_with(reader: FormerReader, edits: Iterable[Edit]) -> dict[str, Memory]:
    """The memories that are read once these edits are made, by id."""
    texts = {edit.path: encode(edit.after) for edit in edits}
    return reader.read([*reader.read_beside(texts), *texts.items()])


def _is_in(read: Mapping[str, Memory], memory: Memory) -> bool:
    """Whether a memory is read with its text, or, as the text of a whole note, with more lines."""
    found = read.get(memory.id)
    return found is not None and _only_lost_lines(found.full_text, memory.full_text)


# ---- single memories -----------------------------------------------------------------------------


def _add_memory(
    found: _Found, library: Library, store: WritableStore, former: Memory, own: KeptText | None
) -> None:
    """Plan to give back one memory by the rules of its format.

    `own`: what the file held that it had for itself.
    """
    now, text = library.seen(former.ref), None
    try:
        if DOT * 3 in former.full_text:
            raise Refused("a secret in it was masked when it was kept")
        if now is not None:
            found.changes += library.plan_restore_text(now, former).changes
            return
        if own is not None and own.text is not None and not own.is_masked:
            text = None if os.path.lexists(former.origin.file) else decode(own.text)
        change = map_memory(former, store.format, store, text).change
        planned = library.plan([change])
        if not planned.has_edits:
            raise Refused(planned.reason or "its format cannot take it back")
        found.changes.append(change)
    except (Refused, Conflict) as error:
        found.refused.append(NotRestored(former, error.what))


def _planned(library: Library, title: str, found: _Found) -> RestorePlan:
    planned = library.plan(found.changes, title)
    plans, parts = list(planned.plans), {part.store: part.edits for part in planned.parts}
    for label, edits in found.edits.items():
        store = library.store(label)
        for edit in edits:
            name = os.path.relpath(edit.path, store.root)
            plans.append(Plan((), (edit,), reason=name, effect=effect_of(None, (edit,), store)))
        if edits:
            parts[str(store.root)] = (*edits, *parts.get(str(store.root), ()))
    made = tuple(StoreEdits(root, edits) for root, edits in parts.items())
    return RestorePlan(replace(planned, plans=tuple(plans), parts=made), tuple(found.refused))
