"""What the cache gives is what the files give, whatever values they hold."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memtui.context import RECIPES, draft_pack
from memtui.insight.links import Node, NodeKind
from memtui.library import Library
from memtui.library.past_library import library_at
from memtui.model import to_record
from memtui.query import parse_query
from memtui.stores.format import Format
from memtui.testing import hostile_values
from memtui.testing.fixtures import sample
from tests.formats import ONE_OF_EACH_ENGINE
from tests.long_run import count
from tests.unit.library.stores_for_tests import fact, write_facts

ROUNDS = count(1, 60)
NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
TIMES: tuple[Any, ...] = (
    "99999-99-99",
    "0000-00-00",
    "2026-01-01",
    "2020-05-05T00:00:00",
    "2026-01-01T00:00:00+99:99",
    "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59-23:59",
)
NUMBERS: tuple[Any, ...] = (float("nan"), float("inf"), True, False, None, -1, 10**30, 10**400)
NESTED: tuple[Any, ...] = (
    [],
    {},
    [None, 1, {"a": 1}],
    {"created": "99999-99-99", "source": "x", "confidence": 1},
    [{"relation": "r", "target": "t", "valid_from": "2020-01-01", "valid_to": "2021-01-01"}],
    [{"content": "old", "created_at": "2020-01-01"}],
    {"valence": 10**400},
    json.loads("[" * 150 + "]" * 150),
)
TEXTS = ('","created":"99999-99-99', '","superseded_by":["x"]', "\ud800", "x" * 5000, "a, b")
VALUES = (*TIMES, *NUMBERS, *NESTED, *TEXTS, *hostile_values.ALL.values())
KEYS = (
    "created",
    "updated",
    "created_at",
    "updated_at",
    "source",
    "tags",
    "status",
    "confidence",
    "importance",
    "ended_links",
    "versions",
    "superseded_by",
    "supersedes",
    "links",
    "salience",
    "access_count",
    "last_accessed",
    "affect",
    "expires",
    "deleted_at",
    "superseded_at",
    "session",
    "pinned",
    "rating",
    "injections",
    "type",
    "title",
    "content",
    "entity",
)
QUERIES = (
    "status:all",
    "confidence:>0.4 status:all",
    "has:links status:all",
    "has:history status:all",
    "is:linked status:all",
    "the status:all",
    "sort:used status:all",
    "source:a status:all",
    "99999 status:all",
    ": status:all",
    "linked:alice status:all",
    "has:secret status:all",
)


def plant(value: Any, chance: random.Random) -> Any:
    """Put a hostile value into one or two of the objects in a JSON value."""
    objects: list[dict[str, Any]] = []
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            objects.append(each)
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
    for _ in range(2 if objects else 0):
        found = chance.choice(objects)
        key = chance.choice([*found, *KEYS])
        if key != "id":
            found[key] = chance.choice(VALUES)
    return value


def spoil(file: Path, chance: random.Random) -> None:
    text = file.read_text("utf-8", "surrogateescape")
    if file.suffix == ".md" and text.startswith("---\n"):
        planted = [(chance.choice(KEYS), chance.choice(VALUES)) for _ in range(3)]
        lines = [f"{key}: {json.dumps(value)}\n" for key, value in planted]
        text = f"---\n{''.join(lines)}{text[4:]}"
    elif file.suffix == ".json":
        text = json.dumps(plant(json.loads(text), chance))
    elif file.suffix == ".jsonl":
        lines = text.splitlines()  # of which one may be cut off
        whole = [at for at, line in enumerate(lines) if line.endswith("}")]
        for at in whole:
            lines[at] = json.dumps(plant(json.loads(lines[at]), chance))
        text = "\n".join(lines)
    file.write_text(text, "utf-8", "surrogateescape")


def seen(library: Library) -> Iterator[tuple[str, Any]]:
    """All that the library says, under a name each."""
    found = [memory for store in library.stores for memory in library.memories(store.label)]
    yield "memories", sorted(json.dumps(to_record(m), sort_keys=True) for m in found)
    nodes = [Node(NodeKind.MEMORY, memory.ref) for memory in found]
    with library.links.reading() as index:
        edges = [edge for at in nodes for edge in (*index.outgoing(at), *index.incoming(at))]
        yield "links", sorted(f"{edge} {edge.is_valid(NOW)}" for edge in edges)
        yield "ended links", sorted(str(index.last_links(at, NOW)) for at in nodes)
    library.index()
    for text in QUERIES:
        hits = library.find(parse_query(text, NOW))
        yield text, [hits.rows[slot].ref for slot in hits.slots]
    every = library.find(parse_query("status:all", NOW))
    yield "timeline", library.timeline(every)
    yield "statistics", json.dumps(library.statistics(every).as_record(), sort_keys=True)
    yield "check", sorted(map(str, library.check()))
    past = library_at(library, datetime(2026, 3, 10, tzinfo=UTC))
    then = past.find(parse_query("status:all", NOW))
    yield "as of", sorted(json.dumps(to_record(then.rows[at]), sort_keys=True) for at in then.slots)
    with past.links.reading() as index:
        yield "links as of", sorted(str(edge) for at in nodes for edge in index.outgoing(at))


@pytest.mark.slow
@pytest.mark.parametrize("known", ONE_OF_EACH_ENGINE, ids=lambda known: known.name)
def test_the_cache_says_what_the_files_say(known: Format, tmp_path: Path) -> None:
    for number in range(ROUNDS):
        chance = random.Random(number)
        place = sample(known, tmp_path / f"{number}")
        for file in sorted(place.rglob("*")):
            if file.suffix in (".md", ".json", ".jsonl"):
                spoil(file, chance)
        fresh = Library.open([place], now=lambda: NOW)
        fresh.load()
        expected = dict(seen(fresh))
        for _ in range(3):  # writes the cache, reads rows, reads links too
            library = Library.open([place], cache=tmp_path / "cache", now=lambda: NOW)
            library.load()
            for name, value in seen(library):
                assert value == expected[name], (number, name)


def test_a_note_with_an_impossible_date_is_linked_from_the_cache_too(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    note = "---\na: 1\ncreated: 99999-99-99\n---\n# Note\n"
    (vault / "note.md").write_text(note, encoding="utf-8")
    (vault / "other.md").write_text("# Other\n\n[[note]]\n", encoding="utf-8")
    for _ in range(2):
        library = Library.open([vault], cache=tmp_path / "cache", labels=["vault"])
        library.load()
        with library.links.reading() as index:
            edges = index.incoming(Node(NodeKind.MEMORY, "vault:note.md"))
        assert [edge.source.name for edge in edges] == ["vault:other.md"]


def test_keys_that_only_memtui_writes_may_hold_anything_in_a_foreign_file(tmp_path: Path) -> None:
    ended = [{"relation": "knows", "target": "bo", "valid_from": "2019", "valid_to": "2020-01-01"}]
    facts = [fact(1, "Alice", ended_links=ended), fact(2, "Bo", affect={"valence": 10**400})]
    write_facts(tmp_path / "home", "alice", facts)
    library = Library.open([tmp_path / "home"], now=lambda: NOW)
    library.load()
    with library.links.reading() as index:
        node = Node(NodeKind.MEMORY, library.resolve("00000001").ref)
        (edge,) = (one for one in index.outgoing(node) if one.relation == "knows")
    assert not edge.is_valid(NOW)
    for recipe in RECIPES.values():
        if recipe.name not in ("session", "loaded"):
            draft_pack(recipe, "alice", library, NOW).pack(None)
