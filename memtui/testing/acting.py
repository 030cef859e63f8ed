"""Make a change for any act of any format, and check that it took effect.

Nothing here knows a format. What an act needs (another memory to link to, a type that the store
uses) is taken from the store's own memories.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from memtui.changes import Act, Change
from memtui.errors import RefError, Refused
from memtui.library import Library
from memtui.library.planning import Planned
from memtui.model import CURRENT, Memory
from memtui.query import parse_query
from memtui.testing.fixtures import memories

MARK = "gullfeather"
"""A word that no sample holds."""
TRIES = 40
"""Number of candidates tried before an act is given up for a kind of memory."""
BEFOREHAND = {Act.UNPIN: Act.PIN, Act.UNLINK: Act.LINK, Act.RESTORE: Act.RETIRE}
"""The act that must come first if the sample holds nothing that an act applies to."""
RELATION = "related"
RATING = 5


def allowed(library: Library, act: Act) -> dict[str, list[Memory]]:
    """Kind -> the memories that the store allows the act on."""
    found: dict[str, list[Memory]] = {}
    for memory in memories(library).values():
        if not library.refusal(act, memory):
            found.setdefault(memory.kind, []).append(memory)
    return found


def holders(library: Library, *parts: Memory) -> set[str]:
    """Refs of the documents that hold one of these memories as a line."""
    files = {part.origin.file for part in parts if part.kind != "document"}
    every = memories(library).values()
    return {one.ref for one in every if one.kind == "document" and one.origin.file in files}


def first_plan(
    library: Library, act: Act, among: Sequence[Memory]
) -> tuple[Change, Planned, list[str]]:
    """The first change of this act on one of these that does something, and its plan.

    Raises LookupError with what was said to all that were tried.
    """
    refusals: list[str] = []
    for change in islice(_changes(library, act, among), TRIES):
        try:
            planned = library.plan([change])
        except (Refused, RefError) as error:
            refusals.append(str(error))
            continue
        if planned.has_edits:
            return change, planned, refusals
        refusals.append(f"{planned.outcome}: {planned.reason}")
    raise LookupError("\n".join(dict.fromkeys(refusals)))


def _changes(library: Library, act: Act, among: Sequence[Memory]) -> Iterator[Change]:
    everything = list(memories(library).values())
    if act is Act.ADD:
        yield from _additions(among)
        return
    for memory in _in_question(act, among):
        for fields in _fields(act, memory, everything):
            yield Change(act, memory.store, memory.ref, fields, force=True)


def _in_question(act: Act, among: Sequence[Memory]) -> Sequence[Memory]:
    if act is Act.PIN:
        return [memory for memory in among if not memory.pinned]
    if act is Act.UNPIN:
        return [memory for memory in among if memory.pinned]
    if act is Act.UNLINK:
        return [memory for memory in among if memory.links]
    return among


def _additions(among: Sequence[Memory]) -> Iterator[Change]:
    fields_seen = set()
    for memory in among:
        if memory.entity and memory.entity not in fields_seen:
            fields_seen.add(memory.entity)
            fields = {
                "content": f"The {MARK} quill in the attic was sharpened with a penknife",
                "title": f"A {MARK} quill",
                "entity": memory.entity,
                "type": memory.type,
            }
            yield Change(Act.ADD, memory.store, "", {k: v for k, v in fields.items() if v})


def _fields(act: Act, memory: Memory, everything: Sequence[Memory]) -> Iterator[dict[str, object]]:
    like = [m for m in everything if m.kind == memory.kind and m.ref != memory.ref]
    near = [m for m in like if m.entity == memory.entity] or like
    if act in (Act.EDIT, Act.SUPERSEDE):
        yield {"content": f"{memory.content.rstrip()} {MARK}"}
    elif act is Act.RETYPE:
        for word in dict.fromkeys(m.type for m in like if m.type and m.type != memory.type):
            yield {"type": word}
    elif act is Act.TAG:
        yield {"tags": [*memory.tags, MARK]}
    elif act is Act.LINK:
        for other in near[:2]:
            yield {"relation": RELATION, "target": other.id}
    elif act is Act.UNLINK:
        for link in memory.links:
            yield {"relation": link.relation, "target": link.target}
    elif act is Act.MERGE:
        for other in near[:2]:
            yield {"others": [other.id]}
    elif act is Act.RATE:
        yield {"rating": RATING}
    else:
        yield {}


def effect(library: Library, change: Change, planned: Planned, before: Memory | None) -> str:
    """What of the change is not to be seen in the library; empty when it took effect."""
    now = memories(library)
    if change.act is Act.ADD:
        new = now.get(planned.refs[0])
        added = new is not None and MARK in new.content and new.status in CURRENT
        return "" if added and planned.refs[0] in _found(library) else f"it added {new}"
    assert before is not None
    memory = now.get(change.ref)
    if change.act is Act.DELETE:
        return "" if memory is None else "it is still there"
    if change.act is Act.SUPERSEDE:
        return _succeeded(library, now, planned, change)
    if memory is None:
        return "it is no longer there"
    if change.act is Act.EDIT and (planned.refs[0] not in _found(library)):
        return "search does not find the new text"
    return "" if _holds(change, memory, before, now) else f"it is {memory}"


def _found(library: Library) -> list[str]:
    """Refs of what search finds by the mark."""
    found = library.find(parse_query(f"{MARK} status:all", library.now()))
    return [library.snapshot.rows[slot].ref for slot in found.slots]


def _succeeded(library: Library, now: dict[str, Memory], planned: Planned, change: Change) -> str:
    new, old = now.get(planned.refs[0]), now.get(change.ref)
    if new is None or new.ref == change.ref or MARK not in new.content or new.status not in CURRENT:
        return f"its successor is {new}"
    if old is None or old.status in CURRENT:
        return f"what was superseded is {old}"
    older = [relative.id for relative in library.lineage(new).supersedes]
    return "" if older == [old.id] else f"its successor says it supersedes {older}"


def _holds(change: Change, memory: Memory, before: Memory, now: dict[str, Memory]) -> bool:
    fields = change.fields
    links = [(link.relation, link.target) for link in memory.links]
    requested = (fields.get("relation"), fields.get("target"))
    match change.act:
        case Act.EDIT:
            return bool(memory.content.rstrip() == fields["content"])
        case Act.RETYPE:
            return bool(memory.type == fields["type"])
        case Act.RETIRE | Act.HIDE | Act.DECLINE:
            return memory.status not in CURRENT
        case Act.RESTORE:
            return memory.status in CURRENT and before.status not in CURRENT
        case Act.ACCEPT:
            return memory.status == "active" and before.status == "proposed"
        case Act.PIN | Act.UNPIN:
            return memory.pinned is (change.act is Act.PIN) is not before.pinned
        case Act.TAG:
            return MARK in memory.tags and set(before.tags) <= set(memory.tags)
        case Act.LINK:
            return requested in links
        case Act.UNLINK:
            return requested not in links
        case Act.MERGE:
            others = [now.get(f"{memory.store}:{id}") for id in fields["others"]]
            return all(other is None or other.status not in CURRENT for other in others)
        case Act.RATE:
            return memory.extra.get("rating") == RATING != before.extra.get("rating")
        case Act.ARCHIVE:
            return memory.extra.get("archived") is True
        case Act.REVIEW:
            return memory.extra != before.extra
        case _:
            return False
