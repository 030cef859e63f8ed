"""Export, import, export: the same bytes, for every format, wherever the store lies."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from memtui.bundle import archive
from memtui.bundle.bundle_reader import ImportDocument, read_document, verify_document
from memtui.bundle.bundle_writer import PLACE_FACTS, pack_stores
from memtui.bundle.restoring import plan_restore, restore
from memtui.errors import BundleError, Refused
from memtui.library import Library
from memtui.search.salience import count_accesses
from memtui.stores.sqlite.rebuild import rebuild
from tests.samples import SAMPLES

NAMES = (
    *("agent-memory", "ambient", "engram", "simple-memory", "workspace", "beads"),
    *("claude-code", "codex", "gemini", "hermes", "mcp-memory", "openclaw"),
    "project-instructions",
    *("markdown-folder", "memfs", "memory-bank", "serena", "vault"),
    *("engram-export", "claude-mem", "mem0", "conport"),
)
DATABASES = ("engram", "claude-mem", "mem0", "conport")
"""Bundled as SQLite copies them, so the files differ in their pages."""


def opened(*roots: Path) -> Library:
    library = Library.open(roots)
    library.load()
    return library


def exported(file: Path, *roots: Path) -> bytes:
    data = b"".join(archive.encode_archive(pack_stores(opened(*roots), None).archive))
    file.write_bytes(data)
    return data


def restored(file: Path, place: Path) -> ImportDocument:
    document = read_document(file)
    restore(plan_restore(document, place))
    return document


Files = dict[str, tuple[bytes, int]]


def files(folder: Path) -> Files:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_sample_store_comes_back_exactly(tmp_path: Path, name: str) -> None:
    source = tmp_path / "here"
    shutil.copytree(SAMPLES / name, source)
    first = exported(tmp_path / "a.zip", source)
    document = restored(tmp_path / "a.zip", tmp_path / "elsewhere" / "deep")
    assert exported(tmp_path / "b.zip", tmp_path / "elsewhere" / "deep") == first
    assert document.count == opened(source).snapshot.count
    assert verify_document(document)
    if name not in DATABASES:
        there = files(opened(tmp_path / "elsewhere" / "deep").stores[0].root)
        there.pop(PLACE_FACTS, None)
        here = files(opened(source).stores[0].root)
        for transcript in source.glob("projects/*/*.jsonl"):  # Claude Code's are no memories
            here.pop(str(transcript.relative_to(source)))
        here.pop(".claude/settings.json", None)  # the sign of an agent in the vault
        assert there == here


CLAUDE_TOPIC = "---\nname: Amber\ndescription: no red\ntype: feedback\n---\n\nNo red lamps.\n"
CLAUDE_PLACES = {
    "a repository with instructions only": {".git/HEAD": "ref: x\n", "CLAUDE.md": "Use amber.\n"},
    "settings with agents only": {
        ".claude/projects/": "",
        ".claude/agent-memory/reviewer/amber.md": CLAUDE_TOPIC,
    },
    "a project with memories": {
        ".claude/memory/MEMORY.md": "- [Amber](amber.md)\n",
        ".claude/memory/amber.md": CLAUDE_TOPIC,
        "AGENTS.md": "Read @docs/lamps.md\n",
        "docs/lamps.md": "Lamps are amber.\n",
    },
    "one memory folder": {"projects/-x/memory/amber.md": CLAUDE_TOPIC},
}


@pytest.mark.parametrize("kind", CLAUDE_PLACES)
def test_a_folder_known_by_its_place_is_recognised_elsewhere(tmp_path: Path, kind: str) -> None:
    for name, text in CLAUDE_PLACES[kind].items():
        path = tmp_path / "here" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir() if name.endswith("/") else path.write_text(text)
    inner = {"settings with agents only": ".claude", "one memory folder": "projects/-x/memory"}
    source = tmp_path / "here" / inner.get(kind, "")
    is_alone = kind == "a repository with instructions only"
    wanted = "project-instructions" if is_alone else "claude-code"
    assert opened(source).stores[0].format == wanted
    first = exported(tmp_path / "a.zip", source)
    restored(tmp_path / "a.zip", tmp_path / "there")
    assert exported(tmp_path / "b.zip", tmp_path / "there") == first
    assert opened(tmp_path / "there").snapshot.count == opened(source).snapshot.count > 0


@pytest.mark.slow
def test_all_of_them_together(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES, tmp_path / "here")
    first = exported(tmp_path / "a.zip", *(tmp_path / "here" / name for name in NAMES))
    restored(tmp_path / "a.zip", tmp_path / "there")
    labels = [store.label for store in opened(*(tmp_path / "here" / name for name in NAMES)).stores]
    again = exported(tmp_path / "b.zip", *(tmp_path / "there" / label for label in labels))
    assert again == first


def odd_agent_memory(root: Path) -> None:
    """Bytes that every reader is tempted to mend: marks, CRLF, halves, bad UTF-8, broken files."""
    home = root / "memory"
    for slug, data in {
        "marked": b'\xef\xbb\xbf[{"id":"a1","content":"BOM"}]',
        "crlf": b'[\r\n  {"id": "b1", "content": "two\\nlines", "n": 1.50}\r\n]\r\n',
        "half": b'[{"id": "c1", "content": "\\ud83d"}]',
        "bytes": b'[{"id": "d1", "content": "caf\xe9"}]',
        "empty": b"",
        "broken": b'[{"id": "e1", "content": ',
        "Twin": b'[{"id": "f1", "content": "capital"}]',
        "twin": b'[{"id": "f2", "content": "small"}]',
        "50% r\xc3\xa9sum\xc3\xa9 #1".encode("latin-1").decode("utf-8"): b"[]",
    }.items():
        file = home / "entities" / slug / "items.json"
        file.parent.mkdir(parents=True)
        file.write_bytes(data)
        os.utime(file, ns=(1_700_000_000_123_456_789, 1_700_000_000_123_456_789))
    (home / "2026-11-18.md").write_bytes(b"# note\r\nwithout a last line end")
    (root / "MEMORY.md").write_bytes(b"")
    (home / ".memtui").mkdir()
    (home / ".memtui" / "sidecar.jsonl").write_text('{"id": "a1", "set": {"pinned": true}}\n')


def test_odd_bytes_names_and_times_survive(tmp_path: Path) -> None:
    odd_agent_memory(tmp_path / "here")
    before = files(tmp_path / "here")
    first = exported(tmp_path / "a.zip", tmp_path / "here")
    restored(tmp_path / "a.zip", tmp_path / "there")
    assert files(tmp_path / "there") == before
    assert exported(tmp_path / "b.zip", tmp_path / "there") == first


@pytest.mark.slow
def test_a_database_of_another_name_and_its_sidecar_survive(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    shutil.copy(SAMPLES / "engram" / "engram.db", here / "old.db")
    (here / ".memtui").mkdir()
    (here / ".memtui" / "old.db.jsonl").write_text('{"id": "1", "set": {"rating": 4}}\n')
    first = exported(tmp_path / "a.zip", here / "old.db")
    restored(tmp_path / "a.zip", tmp_path / "there")
    assert (tmp_path / "there" / ".memtui" / "sidecar.jsonl").exists()
    assert exported(tmp_path / "b.zip", tmp_path / "there") == first


@pytest.mark.slow
@pytest.mark.parametrize("name", ["engram", "simple-memory", "agent-memory"])
def test_counted_accesses_go_with_the_store_and_do_not_hold_it(name: str, tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / name, tmp_path / "here")
    library = Library.open([tmp_path / "here"], state=tmp_path / "state")
    library.load()
    chosen = next(iter(library.memories(library.stores[0].label)))
    library.count_accesses([chosen.ref])
    counted = count_accesses(library.get(chosen.ref))
    first = exported(tmp_path / "a.zip", tmp_path / "here")
    restored(tmp_path / "a.zip", tmp_path / "there")
    there = Library.open([tmp_path / "there"], state=tmp_path / "state")
    there.load()
    same = next(m for m in there.memories(there.stores[0].label) if m.id == chosen.id)
    assert count_accesses(same) == counted > 0
    assert exported(tmp_path / "b.zip", tmp_path / "there") == first
    if name != "agent-memory":  # its own program's file is a file like any other
        there.count_accesses([same.ref])


HOSTILE_ROWS = {
    "attach": '{"kind":"table","name":"x","sql":"ATTACH \'evil.db\' AS e"}',
    "pragma": '{"kind":"table","name":"x","sql":"PRAGMA writable_schema=1"}',
    "drop": '{"kind":"trigger","name":"x","sql":"DROP TABLE x"}',
    "module": '{"kind":"virtual","name":"x","sql":"CREATE VIRTUAL TABLE x USING rtree(a,b,c)"}',
    "no kind": '{"kind":"magic","name":"x","sql":"CREATE TABLE x(y)"}',
    "two statements": '{"kind":"table","name":"x","sql":"CREATE TABLE x(y); DROP TABLE x"}',
    "master": '{"table":"sqlite_master","columns":["type"]}',
    "row without a table": "[1]",
    "no JSON": "{",
    "select": '{"kind":"table","name":"x","sql":"CREATE TABLE x AS SELECT load_extension(\'e\')"}',
}


@pytest.mark.parametrize("name", HOSTILE_ROWS)
def test_rows_of_a_stranger_run_nothing(tmp_path: Path, name: str) -> None:
    head = '{"database":{"application_id":0,"encoding":"UTF-8","page_size":4096,"user_version":0}}'
    with pytest.raises(BundleError):
        rebuild([head, HOSTILE_ROWS[name]], tmp_path / "new.db")
    assert list(tmp_path.iterdir()) == []


def test_a_full_text_index_is_filled_from_the_rows_of_its_table(tmp_path: Path) -> None:
    """Older bundles hold a database as rows, without those of its indexes."""
    settings = {"application_id": 0, "encoding": "UTF-8", "page_size": 4096, "user_version": 0}
    index = "CREATE VIRTUAL TABLE notes_fts USING fts5(text, content='notes')"
    records = (
        {"database": settings},
        {"kind": "table", "name": "notes", "sql": "CREATE TABLE notes(text)"},
        {"kind": "virtual", "name": "notes_fts", "sql": index},
        {"table": "notes", "columns": ["text"]},
        ["Bees swarm in May"],
    )
    rebuild(map(json.dumps, records), tmp_path / "new.db")
    with contextlib.closing(sqlite3.connect(tmp_path / "new.db")) as db:
        found = db.execute("SELECT text FROM notes_fts WHERE notes_fts MATCH 'swarm'").fetchall()
    assert found == [("Bees swarm in May",)]


def test_a_place_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    exported(tmp_path / "a.zip", SAMPLES / "simple-memory")
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "mine.txt").write_text("mine")
    with pytest.raises(Refused):
        plan_restore(read_document(tmp_path / "a.zip"), tmp_path / "there")


def test_an_import_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    exported(tmp_path / "a.zip", SAMPLES / "simple-memory", SAMPLES / "engram")
    plan = plan_restore(read_document(tmp_path / "a.zip"), tmp_path / "there")
    (tmp_path / "there" / "engram").mkdir(parents=True)
    (tmp_path / "there" / "engram" / "engram.db").write_bytes(b"somebody was faster")
    with pytest.raises(Refused, match="this place is not empty"):
        restore(plan)
    assert {*files(tmp_path / "there")} == {"engram/engram.db"}
    assert {path.name for path in tmp_path.iterdir()} == {"a.zip", "there"}


def test_an_import_into_an_empty_folder_keeps_its_mode(tmp_path: Path) -> None:
    exported(tmp_path / "a.zip", SAMPLES / "simple-memory")
    (tmp_path / "there").mkdir()
    (tmp_path / "there").chmod(0o750)
    (tmp_path / "link").symlink_to(tmp_path / "there")
    restored(tmp_path / "a.zip", tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there").stat().st_mode & 0o777 == 0o750
    assert (tmp_path / "there" / "facts.json").stat().st_mode & 0o777 == 0o600
