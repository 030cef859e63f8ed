"""Databases that are only read: what their rows say, and that nothing of them is run or locked."""

from __future__ import annotations

import pickle
import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from memtui.changes import Act
from memtui.library import Library
from memtui.model import Memory
from memtui.stores.base import LoadedText, Reading
from memtui.stores.claude_mem import FORMAT as CLAUDE_MEM
from memtui.stores.format import Format
from memtui.stores.mem0 import FORMAT as MEM0
from tests.samples import SAMPLES


def read(known: Format, place: Path) -> list[Memory]:
    root = known.detect(place)
    assert root is not None
    store = known.open(root, "s")
    scan = store.scan()
    assert scan.unreadable == ()
    readings: list[Reading] = [store.read(shard) for shard in scan.shards]
    assert [fault for reading in readings for fault in reading.unreadable] == []
    return [memory for reading in readings for memory in reading.memories]


def copied(name: str, place: Path) -> Path:
    return Path(shutil.copytree(SAMPLES / name, place))


# ---- claude-mem ----------------------------------------------------------------------------------


def test_an_observation_of_claude_mem(tmp_path: Path) -> None:
    found = {m.id: m for m in read(CLAUDE_MEM, copied("claude-mem", tmp_path / "c"))}
    observed = found["observations/1"]
    assert (observed.title, observed.type) == ("Keys of the plan are local times", "discovery")
    assert observed.content.endswith(
        "- plan.py builds keys with strftime\n- tests cover the spring only"
    )
    assert (observed.entity, observed.tags) == ("towerd", ("how-it-works", "gotcha"))
    assert observed.extra["files_read"] == '["src/plan.py", "tests/test_plan.py"]'
    summary = found["sessions/1"]
    assert summary.content.startswith("## Investigated\n\nRead plan.py")
    assert found["prompts/1"].entity == "towerd", "the project of its session"


def test_what_a_running_worker_has_not_checkpointed_is_read(tmp_path: Path) -> None:
    place = copied("claude-mem", tmp_path / "c")
    with closing(sqlite3.connect(place / "claude-mem.db")) as worker:
        worker.execute("UPDATE observations SET title = 'Written a moment ago' WHERE id = 1")
        worker.commit()
        assert (place / "claude-mem.db-wal").stat().st_size
        before = [(place / f"claude-mem.db{end}").read_bytes() for end in ("", "-wal")]
        assert "Written a moment ago" in {m.title for m in read(CLAUDE_MEM, place)}
        assert [(place / f"claude-mem.db{end}").read_bytes() for end in ("", "-wal")] == before


def test_a_session_is_given_the_last_observations_of_its_project(tmp_path: Path) -> None:
    place = copied("claude-mem", tmp_path / "c")
    with closing(sqlite3.connect(place / "claude-mem.db")) as made, made:
        columns = [row[1] for row in made.execute("PRAGMA table_info(observations)")]
        old = dict(zip(columns, made.execute("SELECT * FROM observations").fetchone(), strict=True))
        for number in range(100, 160):
            new = {**old, "id": number, "title": f"Seen {number}", "content_hash": f"h{number}"}
            new["created_at"] = f"2027-01-02T10:00:{number - 100:02}.000Z"
            new = {name: value for name, value in new.items() if name in columns}
            marks = ", ".join("?" * len(new))
            made.execute(
                f"INSERT INTO observations ({', '.join(new)}) VALUES ({marks})", [*new.values()]
            )
        made.execute("UPDATE observations SET concepts = '[]' WHERE id = 159")
    library = Library.open([place])
    library.load()
    (store,) = library.stores

    def given() -> LoadedText:
        now = datetime(2027, 1, 3, tzinfo=UTC)
        (block,) = store.session_start(library, "towerd", now)
        return block

    titles = [line.rpartition(" ")[2] for line in given().text.splitlines() if "Seen" in line]
    assert titles == [str(number) for number in range(109, 159)], "159 has no concept"
    refs = [entry.ref for entry in given().entries]
    assert refs[-1] == f"{store.label}:observations/158"
    (place / "settings.json").write_text('{"CLAUDE_MEM_CONTEXT_OBSERVATIONS": "2"}')
    assert given().text.count("Seen") == 2


def test_a_schema_that_computes_is_not_run(tmp_path: Path) -> None:
    place = copied("claude-mem", tmp_path / "c")
    with closing(sqlite3.connect(place / "claude-mem.db")) as made, made:
        made.execute("ALTER TABLE observations RENAME TO o")
        made.execute("CREATE VIEW observations AS SELECT * FROM o")
    root = CLAUDE_MEM.detect(place)
    assert root is not None
    store = CLAUDE_MEM.open(root, "s")
    assert "computes something" in store.scan().unreadable[0].reason


def test_every_act_is_refused_with_the_reason(tmp_path: Path) -> None:
    for known, name in ((CLAUDE_MEM, "claude-mem"), (MEM0, "mem0")):
        root = known.detect(copied(name, tmp_path / name))
        assert root is not None
        store = known.open(root, "s")
        assert {store.refusal(act, None) for act in Act} == {store.read_only}
        assert "only" in store.read_only


# ---- mem0 ----------------------------------------------------------------------------------------


def test_the_versions_of_a_memory_of_mem0_are_its_lineage(tmp_path: Path) -> None:
    found = read(MEM0, copied("mem0", tmp_path / "m"))
    by_text = {memory.content: memory for memory in found}
    old, new = by_text["Lives in Altenau"], by_text["Lives in Brinsel since May"]
    assert (old.status, old.superseded_by) == ("superseded", (new.id,))
    assert (new.status, new.supersedes) == ("active", (old.id,))
    assert new.updated is not None
    assert old.when is not None
    assert new.updated > old.when
    gone = [m for m in found if m.content == "Gave the key of the attic to Dayo"]
    assert [memory.status for memory in gone] == ["superseded", "deleted"]


class _Runs:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return Path.touch, (str(self.mark),)


def test_the_pickled_points_of_a_local_qdrant_are_counted_and_not_read(tmp_path: Path) -> None:
    mark, place = tmp_path / "ran", tmp_path / "collection" / "mem0"
    place.mkdir(parents=True)
    with closing(sqlite3.connect(place / "storage.sqlite")) as made, made:
        made.execute("CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)")
        made.execute("INSERT INTO points VALUES ('pickled', ?)", (pickle.dumps(_Runs(mark)),))
    named = MEM0.configured
    assert named is not None
    assert place in list(named(tmp_path, tmp_path, {"MEM0_DIR": str(tmp_path)}))

    assert read(MEM0, place) == []
    (remark,) = MEM0.open(place / "storage.sqlite", "s").remarks()
    assert remark.text == "1 point of a local Qdrant: Python pickles, which memtui does not read"
    assert not mark.exists()
