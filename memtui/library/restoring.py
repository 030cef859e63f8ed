"""Give back what was there at a time: memories that an agent deleted, and texts that it changed.

Where only what is gone is given back, nothing of today is deleted: where an agent only took lines
out of a file, or the whole file away, these lines are put back, byte for byte; otherwise each
memory is put into its store as it is now, by the rules of its format, or, where these refuse it,
with its lines beside those of today. Where the texts of a time are wanted, the first change since
is taken back in each file, byte for byte; what was written after that change stays. The result is
read by the format before anything is written.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from difflib import SequenceMatcher
from enum import Enum
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
from memtui.stores.base import Store
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
            way = _Way.LINES if only_deleted else _Way.CHANGE
            edits, memories = _file_edits(library, store, state, memories, way)
            found.edits[label] = edits
        in_file = Counter(each.origin.file for each in past.memories(label))
        refused: list[NotRestored] = []
        for memory in stoppable(memories, cancelled):
            own = state.files.get(memory.origin.file) if in_file[memory.origin.file] == 1 else None
            if (why_not := _add_memory(found, library, store, memory, own)) is not None:
                refused.append(why_not)
        if refs is None and only_deleted and refused:
            edits, left = _beside_edits(library, store, state, found, refused)
            found.edits[label] += edits
            refused = left
        found.refused += refused
    left_out = {each.memory.ref for each in found.refused}
    changes = tuple(
        ChangedMemory(former, library.seen(former.ref), past.at, library.now())
        for memories in wanted.values()
        for former in memories
        if former.ref not in left_out
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


class _Way(Enum):
    """How the file of today gets what it held then."""

    LINES = "put back the lines of a file that has only lost some"
    CHANGE = "take the change back"
    BESIDE = "put the lines that are gone beside those that came"


def _file_edits(
    library: Library,
    store: Store,
    state: KeptState,
    wanted: list[Memory],
    way: _Way,
) -> tuple[list[Edit], list[Memory]]:
    """Edits of the store's files that give memories back without the loss of anything that was
    written since; and the memories that they do not give back."""
    reader = FormerReader(store)
    if not reader.is_possible:
        return [], wanted
    edits: dict[str, Edit] = {}
    unchanged: set[str] = set()
    taken: dict[str, str] = {}
    """File -> its text after the change that is taken back."""
    masked = {f for f, kept in state.files.items() if kept.is_masked and not os.path.lexists(f)}
    for file, kept in state.files.items():
        if kept.text is None or kept.is_masked:
            continue
        then = decode(kept.text)
        after = None if kept.next is None else decode(kept.next)
        if way is _Way.LINES and not _only_lost_lines(then, after):
            continue
        with suppress(Conflict, StoreError):
            now = read_text_file(Path(file), store.root.parent) if os.path.lexists(file) else None
            kind = Kind.FILE if now is None else Kind.LINES
            target = _join_lines(after or "", then) if way is _Way.BESIDE else then
            target = _without_lines_of(masked, target, after or "")
            text = rebase(now, [text_edit(file, after, target, kind)], file)
            if text == now:  # it is read again as soon as the file that names it is back
                unchanged.add(file)
            else:
                edits[file] = text_edit(file, now, text, kind)
                if way is _Way.CHANGE and after is not None:
                    taken[file] = after
    came = reader.read([(file, encode(text)) for file, text in taken.items()]) if taken else {}
    present = [
        each
        for each in library.memories(store.label)
        if each.origin.file in edits and not (each.origin.file in taken and _is_in(came, each, way))
    ]
    replaced = {memory.ref for memory in wanted}
    needed = [*wanted, *(each for each in present if each.ref not in replaced)]
    while True:
        read = _read_with(reader, edits.values())
        missing = [each for each in needed if not _is_in(read, each, way)]
        faulty = edits.keys() & {each.origin.file for each in missing}
        if not faulty:
            break
        edits = {file: edit for file, edit in edits.items() if file not in faulty}
    left = [each for each in wanted if each in missing and each.origin.file not in unchanged]
    return list(edits.values()), left


def _beside_edits(
    library: Library,
    store: Store,
    state: KeptState,
    found: _Found,
    refused: list[NotRestored],
) -> tuple[list[Edit], list[NotRestored]]:
    """Edits that put memories, which cannot be added one by one, beside what is there; and those
    that are not given back."""
    files = {each.memory.origin.file for each in refused}
    files -= {edit.path for edit in found.edits[store.label]}
    files -= {diff.path for diff in library.plan(found.changes).diffs()}
    own = replace(state, files={name: kept for name, kept in state.files.items() if name in files})
    edits, left = _file_edits(library, store, own, [each.memory for each in refused], _Way.BESIDE)
    still = {each.ref for each in left}
    return edits, [each for each in refused if each.memory.ref in still]


def _join_lines(after: str, then: str) -> str:
    """The lines of both texts, those that are gone before those that came in their place."""
    old, new = then.split("\n"), after.split("\n")
    joined: list[str] = []
    for kind, start, end, first, last in SequenceMatcher(None, old, new, False).get_opcodes():
        joined += old[start:end]
        if kind != "equal":
            joined += new[first:last]
    return "\n".join(joined)


def _without_lines_of(files: Collection[str], text: str, after: str) -> str:
    """A text without the lines, gone since, that name one of the files that stay away."""
    names, there = {os.path.basename(file) for file in files}, {*after.split("\n")}
    lines = text.split("\n") if names else ()
    away = {line for line in lines if line not in there and any(name in line for name in names)}
    return "\n".join(line for line in lines if line not in away) if away else text


def _only_lost_lines(before: str, after: str | None) -> bool:
    """Whether the later text is the former one without some of its lines, or there is none."""
    lines = iter(before.split("\n"))
    return after is None or all(line in lines for line in after.split("\n"))


def _read_with(reader: FormerReader, edits: Iterable[Edit]) -> dict[str, Memory]:
    """The memories that are read once these edits are made, by id."""
    texts = {edit.path: encode(edit.after) for edit in edits}
    return reader.read([*reader.read_beside(texts), *texts.items()])


def _is_in(read: Mapping[str, Memory], memory: Memory, way: _Way) -> bool:
    """Whether a memory is read with its text, or, as the text of a whole note, with more lines; of
    lines beside others also as a part of another memory of its file."""
    found = [read[memory.id]] if memory.id in read else []
    if way is _Way.BESIDE:
        found += [each for each in read.values() if each.origin.file == memory.origin.file]
    return any(_only_lost_lines(each.full_text, memory.full_text) for each in found)


# ---- single memories -----------------------------------------------------------------------------


def _add_memory(
    found: _Found, library: Library, store: Store, former: Memory, own: KeptText | None
) -> NotRestored | None:
    """Plan to give back one memory by the rules of its format; returns why it cannot be.

    `own`: what the file held that it had for itself.
    """
    now, text = library.seen(former.ref), None
    try:
        if DOT * 3 in former.full_text:
            raise Refused("a secret in it was masked when it was kept")
        if now is not None:
            found.changes += library.plan_restore_text(now, former).changes
            return None
        if own is not None and own.text is not None and not own.is_masked:
            text = None if os.path.lexists(former.origin.file) else decode(own.text)
        change = map_memory(former, store.format, store, text).change
        planned = library.plan([change])
        if not planned.has_edits:
            raise Refused(planned.reason or "its format cannot take it back")
        found.changes.append(change)
    except (Refused, Conflict) as error:
        return NotRestored(former, error.what)
    return None


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
