"""All versions of a memory: replacements, edits, a store's own versions, git; restoring."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from memtui.changes import Act, Change
from memtui.insight.versions import VersionHistory, merge_versions
from memtui.library import Library
from memtui.library.former_search import find_former
from memtui.model import FILE_TIME, FILE_TIME_KEY, Memory
from memtui.query import Query, Term
from memtui.testing import hostile_values
from memtui.testing.fixtures import sample
from tests.formats import FORMATS
from tests.samples import SAMPLES
from tests.unit.library.stores_for_tests import fact, write_facts
from tests.unit.stores.engram.invented import build


def loaded(*roots: Path, state: Path | None = None) -> Library:
    library = Library.open(list(roots), state=state)
    library.load()
    return library


def git(folder: Path, *arguments: str, date: str = "2026-05-01T10:00:00Z", by: str = "Ada") -> None:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        "GIT_AUTHOR_DATE": date,
        "GIT_COMMITTER_DATE": date,
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_SYSTEM": "/dev/null",
    }
    command = ["git", "-c", f"user.name={by}", "-c", "user.email=a@example.org", *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env=environment)


def committed(folder: Path, date: str, by: str = "Ada") -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "change", date=date, by=by)


def texts(found: VersionHistory) -> list[tuple[str, str, str]]:
    return [(v.memory.content, str(v.origin), v.author) for v in found.versions]


def test_git_tells_each_text_of_the_record_alone(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    home = tmp_path / "memory"
    write_facts(home, "bo", [fact(1, "Bo has one boat")])
    committed(tmp_path, "2026-05-01T10:00:00Z")
    write_facts(home, "bo", [fact(1, "Bo has one boat"), fact(2, "Bo is old")])
    committed(tmp_path, "2026-05-02T10:00:00Z", by="Neighbour")  # another record of the file
    write_facts(home, "bo", [fact(1, "Bo has two boats"), fact(2, "Bo is old")])
    committed(tmp_path, "2026-05-03T10:00:00Z", by="Grace \x1b[31m")
    write_facts(home, "bo", [fact(1, "Bo has three boats"), fact(2, "Bo is old")])
    library = loaded(home)
    found = library.history(library.resolve("00000001"))
    assert texts(found) == [
        ("Bo has one boat", "git", "Ada"),
        ("Bo has two boats", "git", "Grace \x1b[31m"),
        ("Bo has three boats", "store", ""),
    ]
    assert not found.left_out
    assert found.before == (-1, 0, 1)
    assert [v.is_present for v in found.versions] == [False, False, True]


@pytest.mark.slow
def test_a_hostile_repository_runs_nothing(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    home = tmp_path / "memory"
    write_facts(home, "bo", [fact(1, "Bo has one boat")])
    committed(tmp_path, "2026-05-01T10:00:00Z")
    write_facts(home, "bo", [fact(1, "Bo has two boats")])
    committed(tmp_path, "2026-05-02T10:00:00Z")
    trap, ran = tmp_path / "trap.sh", tmp_path / "ran"
    trap.write_text(f"#!/bin/sh\ntouch {ran}\n")
    trap.chmod(0o755)
    for key in ("core.fsmonitor", "core.pager", "diff.external", "diff.x.textconv", "gpg.program",
                "core.sshCommand", "core.editor", "pager.log", "filter.x.clean", "filter.x.smudge",
                "core.alternateRefsCommand", "credential.helper"):  # fmt: skip
        git(tmp_path, "config", key, str(trap))
    for key in ("log.showSignature", "log.mailmap"):
        git(tmp_path, "config", key, "true")
    git(tmp_path, "config", "core.hooksPath", str(tmp_path))
    (tmp_path / ".gitattributes").write_text("* diff=x filter=x\n")
    for hook in ("post-checkout", "post-index-change", "pre-auto-gc"):
        shutil.copy(trap, tmp_path / hook)
    library = loaded(home)
    found = library.history(library.resolve("00000001"))
    assert [text for text, _, _ in texts(found)] == ["Bo has one boat", "Bo has two boats"]
    assert len(find_former(library, Query(terms=(Term("one"),))).found) == 1
    assert not ran.exists()


def test_it_can_be_cancelled_and_says_so(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    write_facts(tmp_path / "memory", "bo", [fact(1, "Bo has one boat")])
    committed(tmp_path, "2026-05-01T10:00:00Z")
    library = loaded(tmp_path / "memory")
    found = library.history(library.resolve("00000001"), cancelled=lambda: True)
    assert texts(found) == [("Bo has one boat", "store", "")]
    assert found.left_out == "cancelled"


EDITED_IN_PLACE = [known for known in FORMATS if known.name != "codex"]
"""Codex rewrites its memories itself: memtui only leaves it a note that asks for the change."""


@pytest.mark.parametrize("known", EDITED_IN_PLACE, ids=lambda known: known.name)
def test_edits_of_memtui_are_versions_in_every_format_and_can_be_restored(
    known: object, tmp_path: Path
) -> None:
    place = sample(known, tmp_path / "store")  # type: ignore[arg-type]
    library = loaded(place, state=tmp_path / "state")
    memory = next(
        m
        for m in library.snapshot.rows
        if not library.refusal(Act.EDIT, m)
        and "content" in library.store(m.store).editable
        and m.kind != "note"
        and m.status == "active"
        and not m.extra.get("versions")
        and not m.supersedes
    )
    for more in (" and more", " and more again"):
        memory = library.get(memory.ref)
        fields = {"content": memory.content.rstrip() + more}
        change = Change(Act.EDIT, memory.store, memory.ref, fields)
        library.apply(library.plan([change]))
    now = library.get(memory.ref)
    found = library.history(now)
    own = [v for v in found.versions if v.memory.ref == now.ref]
    contents = [v.memory.content for v in own]
    assert len(own) == 3, contents
    assert contents[-1] == now.content
    library.apply(library.plan_restore_text(now, own[0].memory))
    assert library.get(memory.ref).content == contents[0]
    library.undo()
    assert library.get(memory.ref).content == now.content


@pytest.mark.parametrize(
    ("schema", "edits"), [("july", ["second", "third"]), ("july", ["second"]), ("v3", ["second"])]
)
def test_a_text_that_was_undone_is_a_version_since_it_was_written(
    schema: str, edits: list[str], tmp_path: Path
) -> None:
    library = loaded(build(tmp_path / "engram", schema), state=tmp_path / "state")
    ref, begun = "engram:1", datetime.now(UTC).replace(microsecond=0)
    first = library.get(ref).content
    for content in edits:
        library.apply(library.plan([Change(Act.EDIT, "engram", ref, {"content": content})]))
    for _ in edits:
        library.undo()
    versions = library.history(library.get(ref)).versions
    own = [version for version in versions if version.memory.ref == ref]
    assert [v.memory.content for v in own] == [first, *edits, *edits[-2::-1], first]
    assert own[0].time == library.get(ref).created
    times = [version.time for version in own[1:] if version.time is not None]
    assert times == sorted(times)
    assert min(times) >= begun


def test_versions_that_the_store_keeps(tmp_path: Path) -> None:
    known = next(known for known in FORMATS if known.database is not None)
    place = sample(known, tmp_path / "store")
    file = next(place.glob("*.db"))
    with closing(sqlite3.connect(file)) as db, db:
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
        if "observation_versions" not in tables:
            db.execute(
                "CREATE TABLE observation_versions (id INTEGER PRIMARY KEY, observation_id INTEGER,"
                " title TEXT, content TEXT, version INTEGER, created_at TEXT,"
                " UNIQUE (observation_id, version))"
            )
        (number,) = db.execute(
            "SELECT id FROM observations WHERE deleted_at IS NULL ORDER BY id DESC LIMIT 1"
        ).fetchone()
        db.execute("DELETE FROM observation_versions WHERE observation_id = ?", (number,))
        for version, text, when in (
            (1, "as it was first", "2026-10-01 10:00:00"),
            (2, hostile_values.ESC + "[2J then", "2026-10-02 10:00:00"),
        ):
            db.execute(
                "INSERT INTO observation_versions (observation_id, title, content, version,"
                " created_at) VALUES (?, 'A title', ?, ?, ?)",
                (number, text, version, when),
            )
    library = loaded(place)
    memory = library.resolve(str(number))
    own = [v for v in library.history(memory).versions if v.memory.ref == memory.ref]
    assert [v.memory.content for v in own] == ["as it was first", "\x1b[2J then", memory.content]
    assert [v.time.isoformat()[:10] for v in own[1:] if v.time] == ["2026-10-01", "2026-10-02"]
    assert [v.note for v in own] == ["version 1", "version 2", ""]


def test_a_chain_and_its_fork_follow_what_they_replaced(tmp_path: Path) -> None:
    ids = [f"{n:08x}-0000-4000-8000-000000000000" for n in range(1, 5)]
    facts = [
        fact(1, "one boat", status="historical"),
        fact(2, "two boats", supersedes=ids[0]),
        fact(3, "no boat", supersedes=ids[0]),
        fact(4, "a raft", supersedes="gone"),
    ]
    write_facts(tmp_path / "m", "bo", facts)
    library = loaded(tmp_path / "m")
    found = library.history(library.resolve(ids[0]))
    assert [v.memory.content for v in found.versions] == ["one boat", "two boats", "no boat"]
    assert found.before == (-1, 0, 0)
    assert library.history(library.resolve(ids[3])).missing == ("gone",)


def test_nothing_is_written_by_looking(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "agent-memory", tmp_path / "m")
    library = loaded(tmp_path / "m", state=tmp_path / "state")
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "m").rglob("*")}
    library.history(library.resolve("41fc1ac1"))
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "m").rglob("*")} == before
    assert not (tmp_path / "state").exists()


def test_a_clock_that_is_put_back_does_not_reorder_what_memtui_wrote(tmp_path: Path) -> None:
    home, state = tmp_path / "memory", tmp_path / "state"
    write_facts(home, "bo", [fact(1, "Bo has one boat")])
    library = loaded(home, state=state)
    memory = library.resolve("00000001")
    for words in ("two boats", "three boats", "four boats"):
        change = Change(Act.EDIT, memory.store, memory.ref, {"content": f"Bo has {words}"})
        library.apply(library.plan([change]))
    library.close()
    with closing(sqlite3.connect(state / "journal.sqlite")) as journal, journal:
        journal.execute("UPDATE actions SET changed = changed - 864000 WHERE id = 2")
    library = loaded(home, state=state)
    found = library.history(library.resolve("00000001"))
    assert [content for content, _, _ in texts(found)] == [
        *("Bo has one boat", "Bo has two boats", "Bo has three boats", "Bo has four boats"),
    ]


def test_a_text_without_former_ones_has_the_time_of_its_last_change() -> None:
    """Its creation only where nothing but the time of its file tells of a change."""
    made, changed = datetime(2026, 9, 22, tzinfo=UTC), datetime(2026, 11, 17, tzinfo=UTC)
    memory = Memory(
        ref="s:1", id="1", store="s", kind="observation", content="a", created=made, updated=changed
    )
    assert [version.time for version in merge_versions(memory, [])] == [changed]
    by_file = replace(memory, extra={FILE_TIME_KEY: FILE_TIME})
    assert [version.time for version in merge_versions(by_file, [])] == [made]
