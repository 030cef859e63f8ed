"""In every format: an agent that puts back what it had read is noticed and put right."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memtui.changes import Act, Change, Plan, StoreEdits, text_edit
from memtui.library import Library
from memtui.library.planning import Planned
from memtui.library.reverted_edits import plan_reapply
from memtui.model import Memory
from tests.samples import SAMPLES

Bytes = dict[str, bytes]


class EditSession:
    """A library over a copy of one sample store, and an agent that reads and writes its files."""

    def __init__(self, folder: Path, store: str) -> None:
        self.root = folder / store
        shutil.copytree(SAMPLES / store, self.root)
        self.library = Library.open([self.root], cache=None, state=folder / "state")
        self.library.refresh()

    def first(self, wanted: Callable[[Memory], bool]) -> Memory:
        (label,) = (store.label for store in self.library.stores)
        return next(m for m in self.library.memories(label) if wanted(m))

    def do(self, act: Act, memory: Memory | None = None, **fields: object) -> None:
        (label,) = (store.label for store in self.library.stores)
        ref = memory.ref if memory else ""
        force = act in (Act.ADD, Act.DELETE)
        self.library.apply(self.library.plan([Change(act, label, ref, fields, force)]))

    def read(self) -> Bytes:
        """Every file of the store's own program."""
        files = (path for path in sorted(self.root.rglob("*")) if path.is_file())
        return {str(p): p.read_bytes() for p in files if ".memtui" not in p.parts}

    def said(self) -> Bytes:
        """The same without the times that Ambient moves whenever it looks at a project."""
        times = re.compile(rb'("lastActive": )\d+')
        return {name: times.sub(rb"\1", data) for name, data in self.read().items()}

    def write(self, files: Bytes) -> None:
        for name in self.read().keys() - files.keys():
            Path(name).unlink()
        for name, data in files.items():
            Path(name).write_bytes(data)
        self.library.refresh()

    def reverted(self) -> list[str]:
        return [each.action.title for each in self.library.find_reverted(0)]

    def put_right(self) -> None:
        found = self.library.find_reverted(0)
        action = self.library.apply(plan_reapply(found))
        assert action.title.startswith("again: ")


def of(kind: str, type: str = "") -> Callable[[Memory], bool]:
    return lambda m: m.kind == kind and m.status == "active" and type in ("", m.type)


TEXT = {"content": "# Mine\n\nThis is what a person wrote."}

CASES = {
    "a fact": ("agent-memory", Act.EDIT, of("fact"), TEXT),
    "a superseded fact": ("agent-memory", Act.SUPERSEDE, of("fact"), TEXT),
    "a summary": ("agent-memory", Act.EDIT, of("note", "summary"), TEXT),
    "a day": ("agent-memory", Act.EDIT, of("note", "daily"), TEXT),
    "what goes without saying": ("agent-memory", Act.EDIT, of("note", "tacit"), TEXT),
    "a deleted day": ("agent-memory", Act.DELETE, of("note", "daily"), {}),
    "an event": ("ambient", Act.EDIT, of("event"), TEXT),
    "a retired event": ("ambient", Act.RETIRE, of("event", "decision"), {}),
    "a fact of simple-memory": ("simple-memory", Act.DELETE, of("fact"), {}),
    "an episode": ("simple-memory", Act.EDIT, of("episode"), TEXT),
    "a document": ("workspace", Act.EDIT, of("document"), TEXT),
    "a retired lesson": ("workspace", Act.RETIRE, lambda m: m.id.startswith("lessons/"), {}),
    "a deleted document": ("workspace", Act.DELETE, of("document", "goal"), {}),
    "a type": ("workspace", Act.RETYPE, of("document", "goal"), {"type": "project"}),
}


@pytest.mark.parametrize("case", CASES)
def test_files_written_from_an_older_reading_are_told_and_put_right(
    tmp_path: Path, case: str
) -> None:
    store, act, wanted, fields = CASES[case]
    session = EditSession(tmp_path, store)
    if act is Act.RETYPE:  # so that the map is there already
        session.do(act, session.first(of("document", "project")), type="preference")
    agent_has_read = session.read()
    session.do(act, session.first(wanted), **fields)
    mine = session.said()
    assert session.reverted() == []
    session.write(agent_has_read)
    assert set(session.reverted()) == {session.library.log(1)[0].title}
    session.put_right()
    assert session.said() == mine
    assert session.reverted() == []
    session.library.undo()
    assert session.read() == agent_has_read


ADDED = {
    "a fact": ("agent-memory", {"content": "She keeps bees on the roof", "entity": "people/maren"}),
    "a new entity": ("agent-memory", {"content": "He keeps bees on the roof", "entity": "zoe"}),
    "a new day": ("agent-memory", {**TEXT, "kind": "note", "id": "2031-01-01.md"}),
    "an event": ("ambient", {"content": "Bees stay on the roof", "entity": "shop-api/main"}),
    "a new project": ("ambient", {"content": "Bees stay on the roof", "entity": "apiary/main"}),
    "a fact of simple-memory": ("simple-memory", {"content": "Louis | keeps | bees"}),
    "an episode": ("simple-memory", {"content": "Louis keeps bees", "title": "Bees"}),
    "a document": ("workspace", {**TEXT, "title": "Bees", "entity": "knowledge"}),
    "a task": ("workspace", {**TEXT, "title": "Bees", "entity": "tasks"}),
}
OF_AN_AGENT = "# Mine\n\nAn agent noted down something else here.\n"


def in_place_of_mine(before: bytes | None, mine: bytes) -> bytes:
    """What an agent writes that had read `before`, with something of its own."""
    try:
        value = json.loads(before if before is not None else mine)
    except ValueError:
        return OF_AN_AGENT.encode()
    records = value if isinstance(value, list) else value["events"]
    if before is None:
        records.clear()
    records.append({"id": "theirs", "type": "decision", "content": "An agent's own"})
    return json.dumps(value, indent=2, ensure_ascii=False).encode()


@pytest.mark.parametrize("theirs", [False, True], ids=["old", "old and their own"])
@pytest.mark.parametrize("case", ADDED)
def test_an_addition_that_vanished_is_told_and_put_right(
    tmp_path: Path, case: str, theirs: bool
) -> None:
    store, fields = ADDED[case]
    session = EditSession(tmp_path, store)
    agent_has_read = session.read()
    session.do(Act.ADD, **fields)
    mine = session.read()
    assert session.reverted() == []
    written = {
        name: in_place_of_mine(agent_has_read.get(name), data)
        for name, data in mine.items()
        if theirs and data != agent_has_read.get(name)
    }
    session.write({**agent_has_read, **written})
    assert set(session.reverted()) == {session.library.log(1)[0].title}
    assert {each.description for each in session.library.peek_reverted() if each.added} == {
        "another program has removed what was added"
    }
    session.put_right()
    assert session.reverted() == []
    words = str(fields["content"]).rpartition("|")[2].rpartition("\n")[2].strip()
    for name, data in mine.items():
        if words.encode() in data:
            now = Path(name).read_bytes()
            assert words.encode() in now
            assert not written or b"An agent" in now


def test_a_record_i_added_and_others_worked_on_is_told_when_it_vanishes(tmp_path: Path) -> None:
    session = EditSession(tmp_path, "simple-memory")
    agent_has_read = session.read()
    session.do(Act.ADD, content="Louis | keeps | bees")
    facts = session.root / "facts.json"
    facts.write_text(facts.read_text().replace('"keeps"', '"breeds"'))
    session.library.refresh()
    session.do(
        Act.EDIT, session.first(lambda m: "breeds" in m.content), content="Louis breeds dogs"
    )
    assert session.reverted() == []
    session.write(agent_has_read)
    assert session.reverted() == [session.library.log(1)[0].title]
    session.put_right()
    assert session.first(lambda m: "breeds" in m.content).content.endswith("dogs")


# ---- how much is read -----------------------------------------------------------------------


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are opened from now on."""
    paths: list[str] = []
    real_open = os.open

    def watched_open(path: Any, *values: Any, **named: Any) -> int:
        paths.append(os.fspath(path))
        return real_open(path, *values, **named)

    monkeypatch.setattr(os, "open", watched_open)
    return paths


def let_stamps_age(folder: Path) -> None:
    """As if everything had been written a second ago: times of files are coarse."""
    for path in folder.rglob("*"):
        if path.is_file():
            status = path.stat()
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns - 10**9))


def test_while_nothing_changes_no_file_and_no_backup_is_read_again(
    tmp_path: Path, opened: list[str]
) -> None:
    session = EditSession(tmp_path, "agent-memory")
    session.do(Act.EDIT, session.first(of("fact")), **TEXT)
    let_stamps_age(tmp_path)
    assert (session.reverted(), session.library.peek_reverted()) == ([], [])
    opened.clear()
    assert (session.reverted(), session.library.peek_reverted()) == ([], [])
    assert not [path for path in opened if "items.json" in path or "/kept/" in path]


def test_what_is_written_into_a_replaced_file_is_found_after_a_quiet_look(tmp_path: Path) -> None:
    session = EditSession(tmp_path, "agent-memory")
    note = session.first(of("note", "daily"))
    path = Path(note.origin.file)
    with path.open("a") as agent:
        session.do(Act.EDIT, note, content="# Mine\n\nThis is what a person wrote.\n")
        let_stamps_age(tmp_path)
        assert session.reverted() == []
        agent.write("- what the agent adds\n")
    assert session.reverted() == []
    assert "what a person wrote" in path.read_text()
    assert path.read_text().endswith("- what the agent adds\n")


# ---- rows of a database ---------------------------------------------------------------------


FUSE: dict[str, Any] = {
    "content": "The new pump has its own fuse.",
    "title": "Fuse",
    "type": "discovery",
    "entity": "pumps/project",
}


def engram(tmp_path: Path) -> tuple[EditSession, Memory]:
    session = EditSession(tmp_path, "engram")
    return session, session.first(of("observation", "decision"))


def sql(session: EditSession, statement: str, *values: object) -> list[tuple[object, ...]]:
    """Another program at work in the database."""
    with closing(sqlite3.connect(session.root / "engram.db")) as connection, connection:
        found = connection.execute(statement, values).fetchall()
    session.library.refresh()
    return found


def put_back(session: EditSession, memory: Memory, **columns: object) -> None:
    names = ", ".join(f"{name} = ?" for name in columns)
    sql(session, f"UPDATE observations SET {names} WHERE id = ?", *columns.values(), memory.id)


@pytest.mark.slow
def test_a_row_that_is_put_back_is_told_and_put_right(tmp_path: Path) -> None:
    session, memory = engram(tmp_path)
    session.do(Act.EDIT, memory, content="Mine now.")
    edited = session.library.log(1)[0].title
    session.do(Act.PIN, session.library.get(memory.ref))
    assert session.reverted() == []
    put_back(session, memory, content=memory.content, revision_count=9, last_seen_at="2026-11-20")
    assert session.reverted() == [edited]  # and not the pinning, which came after it
    session.put_right()
    now = session.library.get(memory.ref)
    assert (now.content, now.pinned) == ("Mine now.", True)
    assert session.reverted() == []
    session.library.undo()
    assert session.library.get(memory.ref).content == memory.content


def test_a_row_that_is_worked_on_further_is_not_told(tmp_path: Path) -> None:
    session, memory = engram(tmp_path)
    session.do(Act.EDIT, memory, content="Mine now.")
    put_back(session, memory, content="Mine now, and more.", duplicate_count=5)
    assert session.reverted() == []


@pytest.mark.slow
def test_a_row_that_comes_back_or_goes_is_told(tmp_path: Path) -> None:
    session, memory = engram(tmp_path)
    session.do(Act.RETIRE, memory)
    session.do(Act.ADD, **FUSE)
    made = session.first(lambda m: m.title == "Fuse")
    assert session.reverted() == []
    put_back(session, memory, deleted_at=None)
    assert session.reverted() == [session.library.log(2)[1].title]
    sql(session, "DELETE FROM observations WHERE id = ?", made.id)
    assert len(session.reverted()) == 2
    session.put_right()
    assert session.library.get(memory.ref).status == "deleted"
    assert session.first(lambda m: m.title == "Fuse").content == made.content
    assert session.reverted() == []


@pytest.mark.slow
def test_what_i_took_out_of_what_i_added_is_not_told(tmp_path: Path) -> None:
    session, _ = engram(tmp_path)
    session.do(Act.ADD, **FUSE)
    session.do(Act.RETIRE, session.first(lambda m: m.title == "Fuse"))
    assert session.reverted() == []
    session.library.undo()
    session.library.undo()
    assert session.reverted() == []


def test_a_row_deleted_for_good_and_written_again_is_told(tmp_path: Path) -> None:
    session, memory = engram(tmp_path)
    (row,) = sql(session, "SELECT * FROM observations WHERE id = ?", memory.id)
    session.do(Act.DELETE, memory)
    assert session.reverted() == []
    sql(session, f"INSERT INTO observations VALUES ({','.join('?' * len(row))})", *row)
    assert len(session.reverted()) == 1
    session.put_right()
    assert sql(session, "SELECT * FROM observations WHERE id = ?", memory.id) == []


# ---- what is not told -----------------------------------------------------------------------


def test_a_store_that_was_taken_away_is_not_told(tmp_path: Path) -> None:
    session = EditSession(tmp_path, "workspace")
    session.do(Act.ADD, content="A new one.", title="New", type="goal")
    session.root.rename(tmp_path / "elsewhere")
    assert session.reverted() == []


def test_reverted_edits_are_looked_for_while_rows_are_numbered(tmp_path: Path) -> None:
    """Leaving memtui waits for this look, and at a million memories the rows are busy for long."""
    session = EditSession(tmp_path, "agent-memory")
    session.do(Act.EDIT, session.first(of("fact")), content="Mine")
    again = Library.open([session.root], cache=None, state=tmp_path / "state")
    with ThreadPoolExecutor() as pool, again.loaded.lock:
        assert pool.submit(again.find_reverted, 0).result(timeout=20) == []


def test_what_is_left_as_another_program_wrote_it_is_not_told_again(tmp_path: Path) -> None:
    session = EditSession(tmp_path, "agent-memory")
    agent_has_read = session.read()
    session.do(Act.EDIT, session.first(of("fact")), **TEXT)
    mine = session.read()
    session.write(agent_has_read)
    found = session.library.find_reverted(0)
    assert found
    session.library.decline_reapplying(found)
    assert session.reverted() == []
    session.library.close()
    again = Library.open([session.root], state=tmp_path / "state")
    assert again.find_reverted(0) == [], "also at the next start"
    for name, data in mine.items():
        Path(name).write_bytes(data)
    again.refresh()
    again.undo()
    again.redo()
    for name, data in agent_has_read.items():
        Path(name).write_bytes(data)
    assert again.find_reverted(0), "what was done anew is told"
    again.close()


def test_a_file_that_memtui_itself_puts_back_is_not_told_as_anothers_write(tmp_path: Path) -> None:
    session = EditSession(tmp_path, "agent-memory")
    fact = session.first(of("fact"))
    file = fact.origin.file
    before = Path(file).read_text()
    session.do(Act.EDIT, fact, **TEXT)
    after = Path(file).read_text()
    whole = text_edit(file, after, before)
    part = StoreEdits(str(session.library.stores[0].root), (whole,))
    session.library.apply(Planned("restore: items.json", (Plan((), (whole,)),), (part,)))
    assert session.reverted() == []
    Path(file).write_text(after)
    assert session.reverted() == ["restore: items.json"], "and not what was edited before"
