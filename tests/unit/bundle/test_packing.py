"""What a bundle takes of a store: which files, under which names, and what it could not read."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from memtui.bundle import bundle_writer
from memtui.bundle.bundle_writer import (
    PackedStores,
    StoreLayout,
    pack_stores,
    parse_entry_name,
    quote_name,
    quote_names,
)
from memtui.errors import BundleError, StoreError
from memtui.files.reading import UnreadableFile
from memtui.library import Library
from memtui.progress import Cancelled, Progress
from tests.samples import SAMPLES
from tests.unit.library.stores_for_tests import agent_memory, fact, write_facts


def opened(*roots: Path, labels: tuple[str, ...] = ()) -> Library:
    library = Library.open(roots, labels=labels)
    library.load()
    return library


@pytest.fixture
def home(tmp_path: Path) -> Path:
    root = agent_memory(tmp_path / "here", {"alice": ["Alice rows"], "bob": ["Bob sails"]})
    (root / "2026-03-01.md").write_text("# A note\n")
    return root


def names(packed: PackedStores, folder: str = "files/agent-memory/") -> list[str]:
    return sorted(n.removeprefix(folder) for n in packed.entries if n.startswith(folder))


# ---- which files --------------------------------------------------------------------------------


def test_a_whole_store_brings_what_its_program_needs(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bundle_writer.LARGEST_BELONGING == 16 << 20
    monkeypatch.setattr(bundle_writer, "LARGEST_BELONGING", 100)
    for name in ("status.json", "logs/a/b.log", "entities/alice/summary.md", "entities/x/.git/a"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(name)
    (home / "other.txt").write_text("not of the program")
    (home / "logs" / "just.log").write_bytes(bytes(100))
    (home / "logs" / "large.log").write_bytes(bytes(101))
    os.utime(home / "status.json", ns=(7, 1_700_000_000_123_456_789))
    packed = pack_stores(opened(home), None)
    assert names(packed) == [
        "2026-03-01.md",
        *("entities/alice/items.json", "entities/alice/summary.md", "entities/bob/items.json"),
        *("logs/a/b.log", "logs/just.log", "status.json"),
    ]
    (about,) = packed.stores
    assert about["files"]["status.json"] == {"mtime_ns": 1_700_000_000_123_456_789}
    assert sorted(about["files"]) == names(packed)
    assert (about["whole"], about["memories"], about["root"]) == (True, 4, "")
    assert packed.entries["files/agent-memory/status.json"] == b"status.json"
    assert (packed.left_out, packed.as_bytes) == ([], [])


def test_a_part_brings_only_the_files_that_are_memories(home: Path) -> None:
    library = opened(home)
    chosen = [m for m in library.memories("agent-memory") if "Bob" not in m.content]
    packed = pack_stores(library, chosen)
    assert names(packed) == ["2026-03-01.md"]
    (about,) = packed.stores
    assert (about["whole"], about["memories"]) == (False, 2)
    records = [
        json.loads(line) for line in packed.entries["memories/agent-memory.jsonl"].split(b"\n")[:-1]
    ]
    assert sorted(record["origin"]["file"] for record in records) == [
        "2026-03-01.md",
        "entities/alice/items.json",
    ]
    assert [record["ref"] for record in records] == sorted(record["ref"] for record in records)


def test_a_store_of_which_nothing_is_chosen_is_not_in_a_part(home: Path) -> None:
    library = opened(home, SAMPLES / "engram")
    chosen = list(library.memories("engram"))[:2]
    packed = pack_stores(library, chosen)
    assert [about["label"] for about in packed.stores] == ["engram"]
    assert list(packed.entries) == ["memories/engram.jsonl"]
    assert packed.stores[0]["files"] == {}


def test_a_database_is_packed_without_what_was_deleted(tmp_path: Path) -> None:
    """With what is in its log."""
    shutil.copytree(SAMPLES / "engram", tmp_path / "here")
    with closing(sqlite3.connect(tmp_path / "here" / "engram.db")) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE more (v)")
        db.executemany("INSERT INTO more VALUES (?)", [("kept in the log",), ("since deleted",)])
        db.execute("DELETE FROM more WHERE v = 'since deleted'")
        db.commit()
        packed = pack_stores(opened(tmp_path / "here", labels=("my-notes",)), None)
    assert sorted(packed.entries) == ["files/my-notes/engram.db", "memories/my-notes.jsonl"]
    data = packed.entries["files/my-notes/engram.db"]
    assert (b"kept in the log" in data, b"since deleted" in data) == (True, False)
    first = json.loads(packed.entries["memories/my-notes.jsonl"].split(b"\n")[0])
    assert first["origin"]["file"] == "engram.db"


def test_what_the_place_of_a_store_tells_has_no_time(tmp_path: Path) -> None:
    """Or no two bundles of the store were alike."""
    memory = tmp_path / "projects" / "-x" / "memory"
    memory.mkdir(parents=True)
    (memory / "MEMORY.md").write_text("# Lamps are amber\n")
    (about,) = pack_stores(opened(memory), None).stores
    assert about["files"][bundle_writer.PLACE_FACTS] == {"mtime_ns": 0}


def test_progress_is_reported_for_each_store(home: Path) -> None:
    library = opened(home, SAMPLES / "simple-memory")
    reports: list[Progress] = []
    pack_stores(library, None, reports.append)
    assert reports == [
        Progress("packing agent-memory", 0, 2),
        Progress("packing simple-memory", 1, 2),
    ]
    for chosen in (None, []):
        with pytest.raises(Cancelled, match="nothing was written"):
            pack_stores(library, chosen, cancelled=lambda: True)


# ---- what cannot be read ------------------------------------------------------------------------


def test_a_broken_file_is_packed_and_named(home: Path) -> None:
    broken = home / "entities" / "bob" / "items.json"
    broken.write_text("{")
    library = opened(home)
    packed = pack_stores(library, None)
    assert packed.entries["files/agent-memory/entities/bob/items.json"] == b"{"
    assert [line.partition(": ")[0] for line in packed.as_bytes] == [str(broken)]
    assert packed.left_out == []
    part = pack_stores(library, list(library.memories("agent-memory")))
    assert [line.partition(": ")[0] for line in part.left_out] == [str(broken)]
    assert part.as_bytes == []


def test_a_file_that_is_none_is_left_out_and_named_once(home: Path) -> None:
    strange = home / "entities" / "bob" / "items.json"
    strange.unlink()
    os.mkfifo(strange)
    packed = pack_stores(opened(home), None)
    assert "entities/bob/items.json" not in names(packed)
    assert [line.partition(": ")[0] for line in packed.left_out] == [str(strange)]
    assert packed.as_bytes == []


@pytest.mark.parametrize("is_alone", [False, True])
def test_a_database_that_cannot_be_read_is_named(
    home: Path, tmp_path: Path, is_alone: bool
) -> None:
    """The others are packed; nothing is when there is no other."""
    shutil.copytree(SAMPLES / "engram", tmp_path / "engram")
    roots = [tmp_path / "engram"] if is_alone else [tmp_path / "engram", home]
    library = opened(*roots)
    file = tmp_path / "engram" / "engram.db"
    file.write_bytes(b"SQLite format 3\0" + b"\xff" * 8192)
    if is_alone:
        with pytest.raises(UnreadableFile):
            pack_stores(library, None)
        return
    packed = pack_stores(library, None)
    assert [about["label"] for about in packed.stores] == ["agent-memory"]
    assert [line.partition(": ")[0] for line in packed.left_out] == [str(file)]


# ---- other programs write meanwhile -------------------------------------------------------------


@pytest.mark.parametrize("is_before", [True, False])
@pytest.mark.parametrize("writes", [1, 2, 3])
def test_a_store_that_is_written_to_is_packed_again(
    home: Path, writes: int, is_before: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three times at most; its files and its memories are those of one moment."""
    library = opened(home)
    refresh, left = library.refresh, list(range(writes))

    def write() -> None:
        if left:
            number = left.pop()
            write_facts(home, f"new-{number}", [fact(90 + number, f"New {number}")])

    def refresh_while_a_program_writes() -> bool:
        if is_before:
            write()
        found = refresh()
        if not is_before:
            write()
        return found

    monkeypatch.setattr(library, "refresh", refresh_while_a_program_writes)
    if writes == 3:
        with pytest.raises(StoreError) as caught:
            pack_stores(library, None)
        assert caught.value.what == "another program keeps writing to this store"
        assert (caught.value.where, caught.value.do) == (str(home), "try again later")
        return
    packed = pack_stores(library, None)
    assert [about["memories"] for about in packed.stores] == [3 + writes]
    assert len([name for name in packed.entries if "/new-" in name]) == writes


# ---- names --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a b/c#d.md", "a b/c#d.md"),
        ("é\n", "%C3%A9%0A"),
        ("50%", "50%25"),
        ("a\\b", "a%5Cb"),
        ("..", "%2E%2E"),
        ("a/./.b", "a/%2E/.b"),
        ("\udcff", "%FF"),
    ],
)
def test_a_path_is_quoted(path: str, name: str) -> None:
    assert quote_name(path) == name
    if "." not in path.split("/") and path != "..":
        assert parse_entry_name(name) == path


def test_no_two_names_differ_only_in_case() -> None:
    paths = ["a/Twin", "a/twin", "a/TWIN", "A/other", "é"]
    found = quote_names(paths)
    assert sorted(found) == sorted(paths)
    assert len({name.casefold() for name in found.values()}) == len(paths)
    assert {parse_entry_name(name): path for path, name in found.items()} == {p: p for p in paths}
    assert (found["a/TWIN"], found["a/Twin"]) == ("a/TWIN", "%61/%54%77%69%6E")


@pytest.mark.parametrize("name", ["", "/", "/a", "a/", "a//b", "./a", "a/..", "..", ".", "a%00"])
def test_a_name_that_leads_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(BundleError, match="leads out of its store"):
        parse_entry_name(name)


@pytest.mark.parametrize(
    ("file", "in_folder", "in_home", "in_database"),
    [
        ("/h/s/a.md", "a.md", "s/a.md", "a.md"),
        ("/h/s/.memtui/sidecar.jsonl", ".memtui/sidecar.jsonl", "s/.memtui/sidecar.jsonl", "*"),
        ("/h/s/.memtui/access.json", ".memtui/access.json", "s/.memtui/access.json", "*"),
        ("/h/b.md", "", "b.md", ""),
        ("/h/s", "", "s", ""),
        ("/h/sa.md", "", "sa.md", ""),
        ("/h/s/x.db", "x.db", "s/x.db", "engram.db"),
        ("", "", "", ""),
    ],
)
def test_files_are_named_from_the_base_of_their_store(
    file: str, in_folder: str, in_home: str, in_database: str
) -> None:
    root = Path("/h/s")
    assert StoreLayout(root, "", root).name(file) == in_folder
    assert StoreLayout(Path("/h"), "s", root).name(file) == in_home
    database = StoreLayout(root, "", root, root / "x.db", "engram.db")
    assert database.name(file) == (in_folder if in_database == "*" else in_database)
