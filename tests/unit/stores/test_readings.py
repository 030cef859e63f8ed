"""What is read of the samples, whole and damaged, does not change unnoticed.

`readings.json` has a digest of each field of all memories and of what else a store answers.
`python -m tests.unit.stores.test_readings` records it anew; `... NAME` prints the values of a
sample, for comparing those of two states of the program. Every difference should be one that a
person would want.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memtui.changes import Act
from memtui.errors import MemtuiError
from memtui.files.sidecar_lines import sidecar_path
from memtui.library import Library
from memtui.library.opening import detect_store, open_stores
from memtui.model import Memory
from memtui.stores.base import Store
from memtui.stores.format import Format
from memtui.stores.registry import own_formats
from tests.samples import NOW, SAMPLES, UNDATED

RECORDED = Path(__file__).with_name("readings.json")
NAMES = sorted(
    path.name for path in SAMPLES.iterdir() if path.is_dir() and path.name != "test-tower"
)
NEXT = 4
"""With so many memories each memory is compared."""
STEP = 11
"""One of so many values of a damaged copy is another one."""
ODD: tuple[Any, ...] = (
    *(
        None,
        "",
        " ",
        0,
        -1,
        3,
        10**15,
        1e300,
        True,
        [],
        {},
        ["x"],
        [7],
        {"x": 1},
        "x",
        "two\nlines",
    ),
    *("2026-02-03", "2026-02-03T04:05:06.789+02:00", "2026-13-45", "99999-01-01", "\u00e9\x07"),
)
ODD_LINES = (
    *("", "---", "- ", "* item", "# ", "## Heading", "§", "```", "key: [", "tags: x", "a: 1"),
    *("created: 2026-13-45", "status: closed", "[[link]]", "<!-- x -->", "- [fact] x #y (z)"),
)


def damage(root: Path) -> None:
    """Change a part of the values in all files, in the same way each time."""
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        chance = random.Random(path.relative_to(root).as_posix())
        if path.suffix in (".db", ".sqlite"):
            _damage_rows(path, chance)
        elif path.suffix in (".json", ".jsonl", ".md", ".mdc"):
            text = path.read_text(encoding="utf-8")
            damaged = _damage_lines if path.suffix.startswith(".md") else _damage_json
            path.write_text(damaged(text, chance), encoding="utf-8")


def _damage_lines(text: str, chance: random.Random) -> str:
    lines = text.split("\n")
    for at in range(len(lines)):
        if chance.randrange(STEP) == 0:
            other = chance.choice(lines)
            lines[at] = chance.choice([other, chance.choice(ODD_LINES), f"  {lines[at]}", ""])
    return "\n".join(lines)


def _damage_json(text: str, chance: random.Random) -> str:
    with suppress(ValueError):
        return json.dumps(_damaged(json.loads(text), chance, 0), indent=1)
    lines = text.split("\n")
    for at, line in enumerate(lines):
        with suppress(ValueError):
            lines[at] = json.dumps(_damaged(json.loads(line), chance, 1))
    return "\n".join(lines)


def _damaged(value: Any, chance: random.Random, depth: int) -> Any:
    if depth > 1 and chance.randrange(STEP) == 0:
        return chance.choice(ODD)
    if isinstance(value, dict):
        return {key: _damaged(item, chance, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_damaged(item, chance, depth + 1) for item in value]
    return value


def _damage_rows(path: Path, chance: random.Random) -> None:
    plain = [value for value in ODD if not isinstance(value, list | dict)]
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA ignore_check_constraints = 1")
        listed = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'"
        for (table,) in database.execute(f"{listed} ORDER BY name").fetchall():
            columns = [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]
            with suppress(sqlite3.Error):  # a table without rowid, or one of the full-text index
                for (row,) in database.execute(f'SELECT rowid FROM "{table}"').fetchall():
                    column, value = chance.choice(columns), chance.choice(plain)
                    update = f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?'
                    if chance.randrange(3) == 0 and "_fts" not in table:
                        with suppress(sqlite3.Error):
                            database.execute(update, (value, row))


def opened(name: str, place: Path, *, damaged: bool) -> Library:
    """A library over a copy of a sample; its files have one time."""
    shutil.copytree(SAMPLES / name, place)
    if damaged:
        damage(place)
    for path in place.rglob("*"):
        os.utime(path, (UNDATED.timestamp(), UNDATED.timestamp()))
    stores = open_stores([detect_store(place)])
    library = Library(stores, now=lambda: NOW)
    library.load()
    return library


def values(library: Library, place: Path) -> dict[str, list[Any]]:
    """What each of them is called -> its values."""
    (store,) = library.stores
    memories = list(library.memories(store.label))
    found = {
        name: [getattr(memory, name) for memory in memories] for name in Memory.__struct_fields__
    }
    entities = list(dict.fromkeys(["", *(memory.entity for memory in memories)]))
    files = list(dict.fromkeys(memory.origin.file for memory in memories))
    faults = library.snapshot.stores[0].unreadable
    assert not [each for each in faults if "memtui failed" in each.reason]
    found["unreadable"] = [each.file for each in faults]
    shards = store.scan().shards
    found["shards"] = [(shard.key, shard.files) for shard in shards]
    assert store.look_again(shards[::2]) == [*shards[::2]]
    found["of the store"] = [
        *(store.read_only, sorted(store.editable), store.relations, store.place_facts())
    ]
    detect = format_of(store).detect
    found["detected"] = [str(detect(path)) for path in sorted([place, *place.rglob("*")])]
    found["levels"] = [store.entity_levels(entity) for entity in entities]
    kinds = {(memory.kind, memory.type, memory.status): memory for memory in memories}
    found["possible acts"] = [
        [act for act in Act if not store.refusal(act, memory)] for memory in (None, *kinds.values())
    ]
    found["texts of a session"] = [
        [(text, text.cut_line) for text in session(library, store, entity)] for entity in entities
    ]
    found["limits"] = list(store.limit_uses(library, NOW))
    with suppress(MemtuiError):
        found["accesses"] = list(store.plan_accesses(memories, NOW))
    found["rules"] = list(rules_of(store, memories))
    inside = [Path(os.path.relpath(file, store.root)).as_posix() for file in files]
    found["read by"] = [(store.read_time(path), store.reader(path)) for path in inside]
    folder, beside = (
        json.dumps(str(path))[1:-1] for path in (place, sidecar_path(store.root).with_suffix(""))
    )
    return {
        name: json.loads(
            json.dumps(plain(each)).replace(beside, "/beside").replace(folder, "/place")
        )
        for name, each in found.items()
    }


def format_of(store: Store) -> Format:
    return next(known for known in own_formats() if known.name == store.format)


def rules_of(store: Store, memories: list[Memory]) -> Iterator[Any]:
    """What the format's rules of upkeep say of each memory, and of it with its next ones."""
    rules = format_of(store).upkeep
    for at, older in enumerate(memories):
        yield rules.scope(older), rules.merge_key(older), sorted(rules.subjects(older))
        yield rules.is_replaceable(older), [rules.is_forward(link) for link in older.links]
        for newer in memories[at : at + NEXT]:
            yield bool(rules.contradicts(older, newer)), bool(rules.replaces(older, newer))


def plain(value: Any) -> Any:
    return msgspec.to_builtins(value, str_keys=True, enc_hook=str)


def session(library: Library, store: Store, entity: str) -> Iterator[Any]:
    try:
        for text in store.session_start(library, entity, NOW):
            yield text._replace(note="")
    except MemtuiError as error:
        yield type(error).__name__


def digests(found: dict[str, list[Any]]) -> dict[str, str]:
    return {
        name: hashlib.sha256(json.dumps(each).encode()).hexdigest()[:8]
        for name, each in found.items()
    }


@pytest.mark.parametrize("name", NAMES)
def test_what_is_read_of_a_sample_whole_and_damaged(name: str, tmp_path: Path) -> None:
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    for kind, is_damaged in (("whole", False), ("damaged", True)):
        place = tmp_path / kind / name
        found = digests(values(opened(name, place, damaged=is_damaged), place))
        known = recorded[name][kind]
        differing = sorted(key for key in {*found, *known} if found.get(key) != known.get(key))
        assert not differing, f"{kind}; if a person wants this: python -m {__spec__.name}"


if __name__ == "__main__":
    every: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[1:] or NAMES:
            for kind, is_damaged in (("whole", False), ("damaged", True)):
                place = Path(folder, kind, name)
                found = values(opened(name, place, damaged=is_damaged), place)
                every.setdefault(name, {})[kind] = found if sys.argv[1:] else digests(found)
    if sys.argv[1:]:
        print(json.dumps(every, indent=1))
    else:
        lines = [f"{json.dumps(name)}: {json.dumps(each)}" for name, each in every.items()]
        RECORDED.write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")
