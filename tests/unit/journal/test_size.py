"""The journal stores differences, keeps within a bound, and reads only what is asked for."""

from __future__ import annotations

import itertools
import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from memtui.changes import Edit, StoreEdits, record_edit, text_edit
from memtui.files.save_transaction import commit
from memtui.journal import ActionState, Journal, JournalAction, database, journal
from memtui.journal.database import FILE
from memtui.journal.edit_rows import TextReader

RECORDED = Path(__file__).parent / "recorded"


def noted(journal: Journal, title: str, *edits: Edit, store: str = "store") -> JournalAction:
    """An action that is recorded as done; no file is written."""
    with journal.begin(title, [StoreEdits(store, edits)]) as recording:
        pass
    found = journal.get(recording.action)
    assert found is not None
    return found


def words(rng: random.Random, size: int) -> str:
    return " ".join("".join(rng.choices("abcdefghij", k=7)) for _ in range(size // 8)) + "\n"


def used(state: Path) -> int:
    with closing(sqlite3.connect(state / FILE)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return (state / FILE).stat().st_size


def versions(count: int, size: int = 25_000) -> list[str]:
    """Texts that differ in a word each."""
    rng = random.Random(8)
    found = [words(rng, size)]
    for number in range(count - 1):
        at = rng.randrange(size - 100)
        found.append(f"{found[-1][:at]} word{number} {found[-1][at:]}")
    return found


def edits_of(texts: list[str], path: str = "/x/notes.md") -> list[Edit]:
    return [text_edit(path, old, new) for old, new in itertools.pairwise(texts)]


def stored(state: Path, columns: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(state / FILE)) as db:
        return db.execute(f"SELECT {columns} FROM texts ORDER BY id").fetchall()


def test_of_each_file_one_text_is_whole_and_the_others_are_what_differs(tmp_path: Path) -> None:
    one, text = Journal(tmp_path), "x" * 4_000 + "|" + "y" * 5_000
    for at, (old, new) in enumerate(itertools.pairwise("ABCD")):
        before, after = (text.replace("|", each) for each in (old, new))
        noted(one, str(at), text_edit("/x/a.md", before, after))
    # A quote is before the text in JSON and behind it, and a byte says how the rest is written.
    assert stored(tmp_path, "base, head, tail, length(data)")[:3] == [
        (2, 4_001, 5_001, 2),
        (3, 4_001, 5_001, 2),
        (4, 4_001, 5_001, 2),
    ]
    one.forget([2])  # B and C are of the others too
    assert stored(tmp_path, "id, base") == [(1, 2), (2, 3), (3, 4), (4, None)]
    one.forget([1])
    assert stored(tmp_path, "id, base") == [(3, 4), (4, None)]


def test_a_text_in_the_middle_is_deleted_and_what_was_a_difference_to_it_stays(
    tmp_path: Path,
) -> None:
    one, texts = Journal(tmp_path), [f"{'x' * 4_000}{letter}{'y' * 5_000}" for letter in "ABC"]
    kept = [noted(one, "first", text_edit("/x/a.md", None, texts[0]))]
    middle = noted(one, "middle", text_edit("/x/a.md", texts[1], None))
    kept.append(noted(one, "last", text_edit("/x/a.md", texts[2], None)))
    one.forget([middle.id])
    assert stored(tmp_path, "id, base, length(data) < 5") == [(1, 3, 1), (3, None, 0)]
    assert [action.edits[0].after or action.edits[0].before for action in kept] == [
        texts[0],
        texts[2],
    ]


@pytest.mark.slow
def test_a_word_in_a_large_file_costs_little_more_than_the_word(tmp_path: Path) -> None:
    one, edits = Journal(tmp_path), edits_of(versions(61))
    noted(one, "first", edits[0])
    one.close()
    before = used(tmp_path)
    for edit in edits[1:]:
        noted(one, "next", edit)
    one.close()
    assert (used(tmp_path) - before) / 59 < 1500
    found = [action.edits for action in reversed(Journal(tmp_path).log())]
    assert found == [(edit,) for edit in edits]


def test_texts_that_change_at_both_ends_and_come_back_are_exact(tmp_path: Path) -> None:
    rng, one = random.Random(3), Journal(tmp_path)
    texts = ["", "a", "", "é\udcff\u2028" * 90, "x" * 40_000, "x" * 39_000 + "y" * 9_000, ""]
    texts += [words(rng, rng.choice([40, 3000, 70_000])) for _ in range(9)]
    texts += [texts[4], "head\n" + texts[4] + "tail\n", texts[3]]
    edits = [edit for edit in edits_of(texts) if edit.before != edit.after]
    edits += [text_edit("/x/notes.md", texts[-1], None), text_edit("/x/notes.md", None, texts[5])]
    for edit in edits:
        noted(one, "x", edit)
    assert [a.edits[0] for a in reversed(Journal(tmp_path).log())] == edits


def test_what_is_forgotten_in_any_order_leaves_the_other_texts_exact(tmp_path: Path) -> None:
    one, edits = Journal(tmp_path), edits_of(versions(12, 3000))
    left = {noted(one, "x", edit).id: edit for edit in edits}
    for number in random.Random(5).sample(sorted(left), len(left)):
        one.forget([number])
        del left[number]
        assert {a.id: a.edits[0] for a in one.log()} == left
    one.close()
    with closing(sqlite3.connect(tmp_path / FILE)) as db:
        for table in ("texts", "targets", "edits"):
            assert db.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


@pytest.mark.slow
def test_the_oldest_go_when_there_is_too_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound = 400_000
    monkeypatch.setattr(journal, "MAX_BYTES", bound)
    rng, one = random.Random(2), Journal(tmp_path)
    at_work = one.begin("at work", [StoreEdits("s", (text_edit("/w", None, words(rng, 9000)),))])
    for number in range(60):
        noted(one, f"n{number}", text_edit(f"/x/{number}", None, words(rng, 30_000)))
    titles = [action.title for action in one.log(1000)]
    kept = [title for title in titles if title != "at work"]
    assert kept == [f"n{n}" for n in range(59, 59 - len(kept), -1)]
    assert 5 < len(kept) < 40
    assert titles[-1] == "at work", "what is not settled is kept"
    with at_work:
        pass
    one.close()
    assert used(tmp_path) < bound * 1.3
    huge = noted(one, "huge", text_edit("/huge", None, words(rng, 2_000_000)))
    assert [action.title for action in one.undoable(9)] == ["huge"]
    assert huge.edits
    noted(one, "small", text_edit("/small", None, "x"))
    one.close()
    assert used(tmp_path) < bound


def test_a_listing_reads_no_text_and_a_history_only_those_of_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Journal(tmp_path)
    for edit in edits_of(versions(9, 900)):
        noted(one, "other", edit)
    records = [json.dumps({"id": "a", "n": n}) for n in range(3)]
    for old, new in itertools.pairwise(records):
        noted(one, "mine", record_edit("/x/items.json", (), "id", "a", old, new))
    moment = one.log(1)[0].changed
    noted(one, "late", record_edit("/x/items.json", (), "id", "b", None, records[0]))
    read: list[int] = []
    reads = TextReader._read
    monkeypatch.setattr(TextReader, "_read", lambda self, id: read.append(id) or reads(self, id))
    assert len(one.log()) == 11
    assert one.undoable(3)[0].stores == ("store",)
    assert read == []
    steps = one.steps(files=["/x/items.json"])
    assert [step.edit.after for step in steps] == [records[0], records[2], records[1]]
    assert len(read) == 4
    read.clear()
    assert [step.edit.before for step in one.steps(since=moment)] == [None]
    assert len(read) == 1


# ---- journals of version 1 -----------------------------------------------------------------------


def recorded(folder: Path) -> Path:
    """The state folder of a journal that an earlier memtui wrote; its files are in `memory`."""
    state, memory = folder / "state", folder / "memory"
    state.mkdir()
    files = json.loads((RECORDED / "version1_files.json").read_text())
    for name, text in files.items():
        (memory / name).parent.mkdir(parents=True, exist_ok=True)
        (memory / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    script = (RECORDED / "version1.sql").read_text().replace("/invented", str(folder))
    with closing(sqlite3.connect(state / FILE)) as db:
        db.executescript(script)
    return state


def test_a_journal_of_version_1_is_listed_recovered_undone_and_redone(tmp_path: Path) -> None:
    state, memory = recorded(tmp_path), tmp_path / "memory"
    old = Journal(state)
    (interrupted,) = old.recover()
    assert interrupted.note.startswith("only a part of it reached the disk")
    assert [(action.title, str(action.state)) for action in old.log()] == [
        ("cut short", "done"),
        ("refused", "void"),
        ("to be undone", "undone"),
        ("sidecar", "done"),
        ("value2", "done"),
        ("value", "done"),
        ("edit fact", "done"),
        ("edit note", "done"),
        ("create", "done"),
    ]
    assert [action.title for action in old.redoable()] == []
    fact = next(action for action in old.log() if action.title == "edit fact")
    assert fact.edits[1].after == '{"id": "b", "content": "new \\u2028 \\"q\\" \\ud83d"}'
    old.close()
    old = Journal(state)
    while actions := old.undoable():
        with old.undoing(actions[0].id) as recording:
            for part in actions[0].inverted():
                commit(part.edits, recording)
    assert not [path for path in memory.rglob("*") if path.is_file()]
    while actions := old.redoable():
        with old.redoing(actions[0].id) as recording:
            for part in actions[0].parts:
                commit(part.edits, recording)
    assert (memory / "notes #1.md").read_text() == "# Notes\nthe boat is teal\n"
    assert {action.state for action in old.log(void=False)} == {
        ActionState.DONE,
        ActionState.UNDONE,
    }


@pytest.mark.parametrize("is_known", [True, False])
def test_a_folder_that_an_old_memtui_made_goes_where_its_journal_says_so(
    tmp_path: Path, is_known: bool
) -> None:
    state, memory = recorded(tmp_path), tmp_path / "memory"
    with closing(sqlite3.connect(state / FILE)) as db, db:
        if is_known:
            db.execute("INSERT INTO folders VALUES (1, ?)", (json.dumps(str(memory)),))
        else:  # the first memtui had no such table
            db.execute("DROP TABLE folders")
    old = Journal(state)
    old.recover()
    while actions := old.undoable():
        with old.undoing(actions[0].id) as recording:
            for part in actions[0].inverted():
                commit(part.edits, recording)
    assert memory.exists() != is_known


def test_of_a_large_journal_of_version_1_only_the_newest_actions_are_converted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "CONVERTED", 900)
    state = recorded(tmp_path)
    with closing(sqlite3.connect(state / FILE)) as db, db:
        db.execute("UPDATE actions SET state = 'intent', wanted = 'done' WHERE id = 1")
        rows = db.execute("SELECT id, length(parts) FROM actions ORDER BY id DESC").fetchall()
    total, kept = 0, set[int]()
    for id, length in rows:
        total += length
        kept |= {id} if total <= 900 or id == 1 else set()
    one = Journal(state)
    assert {action.id for action in one.log()} == kept
    assert 2 < len(kept) < len(rows) - 1
    assert all(action.edits for action in one.log())
    one.close()
    with closing(sqlite3.connect(state / FILE)) as db:
        for table in ("writes", "folders", "edits"):
            found = {id for (id,) in db.execute(f"SELECT action FROM {table}")}
            assert found <= kept, table
        assert db.execute("SELECT name FROM sqlite_master WHERE name LIKE 'old%'").fetchall() == []


def test_no_page_of_the_old_encoding_is_left(tmp_path: Path) -> None:
    state = recorded(tmp_path)
    one = Journal(state)
    one.log()
    one.close()
    assert b'"edits":[{' not in (state / FILE).read_bytes()
