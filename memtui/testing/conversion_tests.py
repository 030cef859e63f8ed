"""What memories of another format lose in a store is named before, and nothing else is lost."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from memtui.bundle.bundle_reader import ImportDocument
from memtui.bundle.import_plan import MappedMemory, plan_import
from memtui.errors import AmbiguousPlace
from memtui.library.planning import planned_import
from memtui.model import Link, Memory
from memtui.stores.format import Format, IncomingStore
from memtui.stores.importing import uuid_of
from memtui.testing.fixtures import FormatFixtures, contents, memories, open_library

DAY = datetime(2026, 11, 1, tzinfo=UTC)
PLAIN = Memory(ref="x:a1", id="a1", store="x", kind="fact", content="rye grinds coarse")
FULL = replace(
    PLAIN,
    id="b2",
    ref="x:b2",
    type="policy",
    title="Rye",
    content="Grind it coarse.\n\nAlways.",
    entity="mill/Stones/rye",
    created=DAY,
    updated=DAY + timedelta(hours=5),
    importance="high",
    confidence=0.5,
    tags=("grain",),
    pinned=True,
    supersedes=("a1",),
    links=(Link("see", "a1"),),
    source="s1",
    extra={"own": 1, "tags": ["grain"]},
)
PROPOSED = replace(
    PLAIN,
    id="c3",
    ref="x:c3",
    status="proposed",
    kind="episode",
    content="oats roll flat",
    created=DAY + timedelta(hours=1),
)
DELETED = replace(
    PLAIN,
    id="d4",
    ref="x:d4",
    content="corn cracks loudly",
    status="deleted",
    kind="document",
    importance="low",
    superseded_by=("b2",),
    entity="mill",
)
FIELDS = (
    *("kind", "type", "title", "content", "entity", "importance", "status", "created", "updated"),
    *("tags", "pinned", "confidence", "source", "supersedes", "superseded_by", "links"),
)


def named(item: MappedMemory) -> set[str]:
    """The fields of `Memory` that are said to be lost or changed."""
    return {name.partition(" ")[0] for name in item.lost} & set(FIELDS)


def find_lost(before: Memory, after: Memory) -> set[str]:
    """The fields that do not say any more what they said."""
    return {name for name in FIELDS if not _is_kept(name, before, after)}


def _is_kept(name: str, before: Memory, after: Memory) -> bool:
    old, new = getattr(before, name), getattr(after, name)
    if name == "content":
        return old.strip() in new
    if name == "title":
        is_in_title = after.title == old or after.title.startswith(f"{old} — ")
        return old.strip() in after.content or is_in_title
    if name == "tags":
        return set(old) <= set(new)
    if name in ("created", "updated"):
        if old is None or (name == "updated" and old == before.created):
            return True
        return isinstance(new, datetime) and abs((new - old).total_seconds()) < 1
    if name in ("supersedes", "superseded_by"):
        return len(old) <= len(new)
    if name == "links":
        found = {(link.relation, link.target) for link in new}
        return all(
            {(link.relation, link.target), (link.relation, uuid_of(before.store, link.target))}
            & found
            for link in old
        )
    return old in ("", None) or old == new


class ConversionTests(FormatFixtures):
    """A store that takes memories of other formats."""

    def test_what_memories_of_other_formats_lose_is_named(
        self, known: Format, place: Path, state: Path
    ) -> None:
        if known.transfer.convert is None:
            pytest.skip("it takes the fields as they are")
        library = open_library(place, state)
        label, before = library.stores[0].label, contents(place)
        incoming = IncomingStore("x", "x", (PLAIN, FULL, PROPOSED, DELETED))
        document, entity = ImportDocument(Path(), "copy", (incoming,)), ""
        try:
            plan_import(document, library, label)
        except AmbiguousPlace:
            entity = next(iter(library.stores[0].projects))
        plan = plan_import(document, library, label, entity=entity)
        assert plan.counts["new"] == len(incoming.memories)
        library.apply(planned_import(plan))
        found = memories(open_library(place))
        refs = {id(one.changes[0]): one.refs[0] for one in plan.plans if one.refs}
        for item in plan.imports[0].new:
            lost = find_lost(item.memory, found[refs[id(item.change)]])
            assert lost <= named(item), item.memory.ref
        library.undo()
        if known.database is None:
            assert contents(place) == before
