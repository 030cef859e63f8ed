"""A journal that is not as memtui wrote it is set aside in one line, and a new one is begun."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from memtui.changes import Act, Change, StoreEdits, text_edit
from memtui.errors import MemtuiError, SaveError
from memtui.journal import Journal
from memtui.journal.database import FILE
from memtui.library import Library
from memtui.testing.fixtures import memories, sample
from tests.formats import FORMATS
from tests.long_run import count, share

KNOWN = next(known for known in FORMATS if known.name == "agent-memory")
GARBAGE = (
    None,
    "",
    "text",
    -1,
    2**62,
    float("inf"),
    b"\xff\x00",
    "[1, 2]",
    '{"a": {}}',
    '"\ud800"',
)
COLUMNS = {
    "actions": "title time changed state former wanted owner note redo stores",
    "edits": "part target fields before after in_effect checksum",
    "targets": "file record key",
    "texts": "target digest base head tail data",
    "writes": "action path pre post done",
    "folders": "action path",
}


class Place:
    """A store with a journal of some changes, which can be had as it was."""

    def __init__(self, folder: Path) -> None:
        self.store, self.state = folder / "store", folder / "state"
        self._saved = folder / "saved"
        sample(KNOWN, self.store)
        library = self.opened()
        label = library.stores[0].label
        refs = [m.ref for m in memories(library).values() if not library.refusal(Act.EDIT, m)][:3]
        for number in range(3):
            for ref in refs:
                fields = {"content": f"{library.get(ref).content} {number} {'boat ' * 40}"}
                library.apply(library.plan([Change(Act.EDIT, label, ref, fields)]))
        library.apply(library.plan([Change(Act.PIN, label, refs[0])]))
        library.undo()
        self.ref = refs[0]
        self._open = library
        library.close()
        with closing(sqlite3.connect(self.state / FILE)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            db.execute("PRAGMA journal_mode=DELETE").fetchall()
        for each in (self.store, self.state):
            shutil.copytree(each, self._saved / each.name)

    def opened(self) -> Library:
        library = Library.open([self.store], state=self.state)
        library.load()
        return library

    def reset(self) -> None:
        for each in (self.store, self.state):
            shutil.rmtree(each)
            shutil.copytree(self._saved / each.name, each)

    @property
    def file(self) -> Path:
        return self.state / FILE

    def use(self) -> list[str]:
        """Do what a person does with a journal; returns what it was refused with, in one line."""
        said = []
        for together in ((_history, _log, _look), (_undo, _redo), (_undo_all,)):
            library = self.opened()
            for work in together:
                try:
                    work(library, self.ref)
                except MemtuiError as error:
                    said.append(str(error))
                if library.journal_fault:
                    said.append(library.journal_fault)
            library.close()
        assert not [line for line in said if "\n" in line or "Traceback" in line]
        return said

    def require_usable(self) -> None:
        """What is changed now can be undone."""
        library = self.opened()
        before = library.get(self.ref).content
        change = Change(Act.EDIT, library.stores[0].label, self.ref, {"content": "A new text"})
        library.apply(library.plan([change]))
        library.undo()
        assert library.get(self.ref).content == before
        library.close()


def _history(library: Library, ref: str) -> None:
    library.history(library.get(ref))


def _log(library: Library, _: str) -> None:
    for action in library.log(void=True):
        assert action.title is not None
        _ = action.edits, action.inverted()


def _look(library: Library, _: str) -> None:
    library.find_reverted(0)


def _undo(library: Library, _: str) -> None:
    library.undo()


def _redo(library: Library, _: str) -> None:
    library.redo()


def _undo_all(library: Library, _: str) -> None:
    for _step in range(3):
        library.undo()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("damaged"))


def mutated(data: bytes, rng: random.Random) -> bytes:
    """The file with some bytes changed, cut off, zeroed, doubled or moved."""
    kind = rng.randrange(6)
    at = rng.randrange(len(data))
    if kind == 0:
        return data[:at]
    if kind == 1:
        end = min(len(data), at + rng.randrange(1, 9000))
        return data[:at] + bytes(end - at) + data[end:]
    if kind == 2:
        page, other = (rng.randrange(len(data) // 4096) * 4096 for _ in range(2))
        return data[:page] + data[other : other + 4096] + data[page + 4096 :]
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 3, 30])):
        changed[rng.randrange(len(data) if kind < 5 else 100)] = rng.randrange(256)
    return bytes(changed)


def test_a_text_that_is_not_utf_8_is_damage(tmp_path: Path) -> None:
    one = Journal(tmp_path)
    with one.begin("first", [StoreEdits("/s", (text_edit("/s/a.md", None, "x"),))]):
        pass
    one.close()
    with closing(sqlite3.connect(tmp_path / FILE)) as db, db:
        db.execute("UPDATE actions SET title = CAST(x'22ff22' AS TEXT)")
    assert one.log() == []
    assert "the journal was damaged and is now journal.sqlite.damaged-" in one.fault


@pytest.mark.slow
def test_no_mutated_journal_ends_in_an_internal_error(place: Place) -> None:
    rng = random.Random(27)
    for _ in range(count(12, 500)):
        place.reset()
        place.file.write_bytes(mutated(place.file.read_bytes(), rng))
        said = place.use()
        if not any("newer memtui" in line for line in said):
            place.require_usable()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "column"),
    share([(table, name) for table in COLUMNS for name in COLUMNS[table].split()], 0, 2),
)
def test_no_value_in_a_column_ends_in_an_internal_error(
    place: Place, table: str, column: str
) -> None:
    number = sum(map(ord, table + column))
    for value in share(GARBAGE, number, 10):
        place.reset()
        with closing(sqlite3.connect(place.file)) as db, db:
            schema = "PRAGMA writable_schema"
            db.execute(f"{schema}=ON")
            db.execute("UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '')")
            db.execute(f"{schema}=RESET")
            if isinstance(value, str) and not value.isprintable():
                value = value.encode("utf-8", "surrogatepass")
            db.execute(f"UPDATE OR IGNORE {table} SET {column} = ?", (value,))
        place.use()
        place.require_usable()


@pytest.mark.slow
def test_a_null_title_is_said_in_one_line_and_the_rest_goes_on(place: Place) -> None:
    place.reset()
    with closing(sqlite3.connect(place.file)) as db, db:
        db.execute("PRAGMA writable_schema=ON")
        db.execute("UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '')")
        db.execute("PRAGMA writable_schema=RESET")
        db.execute("UPDATE actions SET title = NULL WHERE id = 2")
    library = place.opened()
    assert library.log() == []
    assert "was damaged and is now journal.sqlite.damaged-" in library.journal_fault
    library.close()
    assert list(place.state.glob("journal.sqlite.damaged-*"))
    place.require_usable()


@pytest.mark.parametrize("path", ["\ud800", "/a\0b/c", "", "/", "../.."])
def test_a_write_of_what_no_file_can_be_is_passed_over(place: Place, path: str) -> None:
    place.reset()
    with closing(sqlite3.connect(place.file)) as db, db:
        db.execute("UPDATE writes SET path = ?, done = 1", (json.dumps(path),))
    journal = Journal(place.state)
    assert (journal.recover(), len(journal.log()), journal.fault) == ([], 10, "")
    journal.close()


Spoil = Callable[[Path], None]


def _no_table(file: Path) -> None:
    with closing(sqlite3.connect(file)) as db:
        db.execute("DROP TABLE edits")


def _no_version(file: Path) -> None:
    with closing(sqlite3.connect(file)) as db:
        db.execute("PRAGMA user_version = 0")


def _other_tables(file: Path) -> None:
    with closing(sqlite3.connect(file)) as db:
        db.executescript("PRAGMA user_version = 1; DROP TABLE actions; DROP TABLE writes;")


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _log_is_folder(file: Path) -> None:
    Path(f"{file}-wal").mkdir()


def _empty(file: Path) -> None:
    file.write_bytes(b"")


def _text(file: Path) -> None:
    file.write_bytes(b"this is no database\n" * 400)


@pytest.mark.parametrize(
    "spoil", [_no_table, _no_version, _other_tables, _folder, _log_is_folder, _text]
)
def test_what_is_no_journal_is_set_aside(place: Place, spoil: Spoil) -> None:
    place.reset()
    spoil(place.file)
    library = place.opened()
    assert library.log() == []
    assert "was damaged and is now" in library.journal_fault
    library.close()
    place.require_usable()


def test_an_empty_file_is_a_new_journal(place: Place) -> None:
    place.reset()
    _empty(place.file)
    place.require_usable()
    assert not list(place.state.glob("*damaged*"))


def test_a_journal_without_the_right_to_read_it_leaves_memtui_usable(place: Place) -> None:
    """It is set aside; root reads it all the same."""
    place.reset()
    place.file.chmod(0)
    place.require_usable()


def test_a_newer_journal_is_kept_as_it_is(place: Place) -> None:
    place.reset()
    with closing(sqlite3.connect(place.file)) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(SaveError, match="newer memtui"):
        Journal(place.state).log()
    assert not list(place.state.glob("*damaged*"))


DAMAGES = (
    """UPDATE targets SET key = '{"edit": "Nothing"}'""",
    """UPDATE targets SET key = '[]'""",
    """UPDATE targets SET key = '{"edit": "TextEdit", "more": 1}'""",
    """UPDATE targets SET key = '{"edit": "TextEdit", "array": []}'""",
    """UPDATE targets SET file = '"/b"'""",
    """UPDATE targets SET file = '1'""",
    """UPDATE targets SET file = 'no JSON'""",
    """UPDATE edits SET fields = '{"items": "", "by_lines": true}'""",
    """UPDATE edits SET fields = '1'""",
    "UPDATE edits SET part = 1",
    "UPDATE edits SET part = -1",
    "UPDATE edits SET in_effect = 2",
    "UPDATE edits SET checksum = checksum + 1",
    "UPDATE edits SET target = 99",
    "UPDATE edits SET before = NULL",
    "UPDATE edits SET after = before",
    "UPDATE texts SET head = head + 1",
    "UPDATE texts SET tail = tail + 1",
    "UPDATE texts SET data = x'0131'",
    "UPDATE texts SET data = x'00'",
    "UPDATE texts SET digest = x'00'",
    "UPDATE texts SET base = id",
    "UPDATE texts SET base = 99",
    "UPDATE texts SET base = 'x'",
    "DELETE FROM texts",
    "UPDATE actions SET stores = '[]'",
    "UPDATE actions SET stores = '[1]'",
    "UPDATE actions SET stores = '1'",
    "UPDATE actions SET title = '1'",
    "UPDATE actions SET note = '[]'",
    "UPDATE actions SET state = 'other'",
    "UPDATE actions SET time = 'x'",
    "UPDATE actions SET changed = 1e300",
)


@pytest.mark.parametrize("damage", DAMAGES)
def test_no_edit_of_a_damaged_row_is_told(tmp_path: Path, damage: str) -> None:
    """Undo of an edit that is not the one that was made would destroy a file."""
    journal = Journal(tmp_path)
    for before, after in ((None, "1" * 90), ("1" * 90, "1" * 200)):
        edits = (text_edit("/a", before, after),)
        with journal.begin("x", [StoreEdits("/s", edits)]):
            pass
    assert [step.edit.before for step in journal.steps()] == ["1" * 90, None]
    journal.close()
    with closing(sqlite3.connect(tmp_path / FILE)) as db, db:
        db.execute(damage)
    journal = Journal(tmp_path)
    assert journal.steps() == []
    assert "was damaged and is now" in journal.fault
    journal.close()
