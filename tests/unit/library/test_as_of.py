"""As of a date: against a replay, against what was seen after each change, and with git."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memtui.changes import Act, Change
from memtui.config import HistorySettings
from memtui.errors import RefError, Refused
from memtui.insight.comparison import COMPARED
from memtui.library import Library, time_views
from memtui.library.past_library import library_at
from memtui.library.text_looks import keep_texts
from memtui.library.time_views import compare_times, read_times
from memtui.model import CURRENT, Memory
from memtui.query import Query, parse_query
from memtui.testing.fixtures import sample
from tests.formats import FORMATS
from tests.long_run import share
from tests.samples import SAMPLES
from tests.unit.library.stores_for_tests import fact, write_facts
from tests.unit.library.test_history import committed, git, loaded

START = datetime(2026, 1, 1, tzinfo=UTC)


def iso(day: int) -> str:
    return (START + timedelta(days=day)).strftime("%Y-%m-%dT%H:%M:%SZ")


def believed(library: Library) -> dict[str, str]:
    """Ref -> text of all that is in use."""
    found = library.find(Query())
    memories = [found.rows[slot] for slot in found.slots]
    assert all(memory.status in CURRENT for memory in memories)
    return {memory.ref: memory.content for memory in memories}


def test_fifty_dates_are_as_a_replay_of_the_stores_own_dates(tmp_path: Path) -> None:
    """A history of 120 days is invented as events; the store is written as it is at their end."""
    dice = random.Random(12)
    facts: list[dict[str, Any]] = []
    events: list[tuple[int, str, str]] = []
    """Day, id that begins, id that it ends."""
    alive: list[str] = []
    for number, day in enumerate(sorted(dice.sample(range(120), 60))):
        ended = dice.choice(alive) if alive and dice.random() < 0.5 else None
        made = fact(number, f"fact {number}", createdAt=iso(day), supersedes=ended)
        facts.append(made)
        if ended is not None:
            alive.remove(ended)
            next(f for f in facts if f["id"] == ended)["status"] = "historical"
        alive.append(made["id"])
        events.append((day, made["id"], ended or ""))
    write_facts(tmp_path / "m", "bo", facts)
    library = loaded(tmp_path / "m")
    present = library
    for step in range(50):
        at = START + timedelta(days=step * 2.5)
        expected: set[str] = set()
        for day, begun, ended_id in events:
            if START + timedelta(days=day) <= at:
                expected = (expected | {begun}) - {ended_id}
        past = library_at(present, at)
        assert {ref.partition(":")[2] for ref in believed(past)} == expected, at


def _ambient_dates(store: Path) -> Iterator[tuple[str, float]]:
    for file in store.rglob("*.json"):
        for event in json.loads(file.read_text(encoding="utf-8")).get("events", ()):
            yield event["id"], event["timestamp"] / 1000


def _engram_dates(store: Path) -> Iterator[tuple[str, float]]:
    with closing(sqlite3.connect(store / "engram.db")) as db:
        for id, created in db.execute("SELECT id, created_at FROM observations"):
            yield str(id), datetime.fromisoformat(f"{created}+00:00").timestamp()


def _simple_memory_dates(store: Path) -> Iterator[tuple[str, float]]:
    for name, key in (("facts", "time"), ("episodes", "start")):
        for item in json.loads((store / f"{name}.json").read_text(encoding="utf-8")):
            yield item["id"], datetime.fromisoformat(item[key]).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("name", "dates"),
    [
        ("ambient", _ambient_dates),
        ("engram", _engram_dates),
        ("simple-memory", _simple_memory_dates),
    ],
)
def test_fifty_dates_are_as_the_files_of_the_store_say(
    name: str, dates: Callable[[Path], Iterator[tuple[str, float]]], tmp_path: Path
) -> None:
    """Read from the files without memtui: what had been created by then."""
    store = Path(shutil.copytree(SAMPLES / name, tmp_path / name))
    born = dict(dates(store))
    assert len(born) > 50
    library = loaded(store)
    present = library
    first, last = min(born.values()), max(born.values())
    for step in range(50):
        at = datetime.fromtimestamp(first - 86_400 + step * (last - first + 172_800) / 49, UTC)
        past = library_at(present, at)
        found = past.find(parse_query("status:all", at))
        there = {found.rows[slot].id for slot in found.slots} & born.keys()
        assert there == {id for id, begun in born.items() if begun <= at.timestamp()}, at


def test_what_engram_replaced_and_deleted_ends_when_its_database_says(tmp_path: Path) -> None:
    store = Path(shutil.copytree(SAMPLES / "engram", tmp_path / "engram"))
    with closing(sqlite3.connect(store / "engram.db")) as db:
        ends = db.execute(
            "SELECT old.id, max(r.created_at, new.created_at) FROM memory_relations r"
            " JOIN observations new ON new.sync_id = r.source_id"
            " JOIN observations old ON old.sync_id = r.target_id"
            " WHERE r.relation = 'supersedes' AND r.judgment_status = 'judged'"
            " UNION SELECT id, deleted_at FROM observations WHERE deleted_at IS NOT NULL"
        ).fetchall()
    first: dict[str, str] = {}
    for id, ended in sorted(ends, key=lambda row: row[1], reverse=True):
        first[id] = ended  # one was replaced first and deleted later
    assert len(ends) > len(first) > 1
    present = loaded(store)
    for id, ended in first.items():
        at = datetime.fromisoformat(f"{ended}+00:00")
        ref = f"engram:{id}"
        assert ref in believed(library_at(present, at - timedelta(seconds=1)))
        assert ref not in believed(library_at(present, at))


def test_rows_that_come_in_between_two_times_are_compared_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It failed with a ValueError, and `N` ended the screen."""
    facts = [fact(n, f"came {n}", createdAt=iso(10 * n)) for n in range(3)]
    write_facts(tmp_path, "places", facts[:1])

    library = loaded(tmp_path)

    def busy(*args: Any, **options: Any) -> Any:
        past = library_at(*args, **options)
        write_facts(tmp_path, "places", facts)
        library.refresh()
        return past

    monkeypatch.setattr(time_views, "library_at", busy)
    found = compare_times(library, START + timedelta(days=5))
    assert {each.memory.content for each in found} == {"came 1", "came 2"}


def look(library: Library) -> Library:
    """Look as the screen and commands do, after reading and after each change."""
    keep_texts(library, HistorySettings())
    return library


def _make_some_change(library: Library, dice: random.Random, number: int) -> bool:
    """Do one act that the store allows; False if it refused."""
    acts = [Act.EDIT, Act.SUPERSEDE, Act.RETIRE, Act.DELETE, Act.ADD, Act.RESTORE]
    act = dice.choice(acts)
    found = library.find(parse_query("status:all", library.now()))
    memories = [found.rows[slot] for slot in found.slots]
    wanted = [
        m
        for m in memories
        if not library.refusal(act, m) and m.kind != "note"
        and (m.status in CURRENT) != (act is Act.RESTORE)
    ]  # fmt: skip
    if not wanted:
        return False
    memory = dice.choice(sorted(wanted, key=lambda m: m.ref))
    fields: dict[str, Any] = {}
    if act in (Act.EDIT, Act.SUPERSEDE):
        fields = {"content": f"{memory.content.rstrip()} and {number}"}
    if act is Act.ADD:
        fields = {"content": f"Bo saw ship number {number * 7919} pass", "entity": memory.entity}
    try:
        ref = "" if act is Act.ADD else memory.ref
        planned = library.plan([Change(act, memory.store, ref, fields, force=True)])
    except Refused:
        return False
    if not planned.has_edits:
        return False
    library.apply(planned)
    look(library)
    return True


@pytest.mark.slow
@pytest.mark.parametrize("known", share(FORMATS, 0, 4), ids=lambda known: known.name)
def test_each_moment_between_changes_of_memtui_is_seen_again(known: Any, tmp_path: Path) -> None:
    library = look(loaded(sample(known, tmp_path / "store"), state=tmp_path / "state"))
    dice = random.Random(5)
    seen: list[tuple[datetime, dict[str, str]]] = []
    number = 0
    while len(seen) < 9 and number < 60:
        number += 1
        seen.append((datetime.now(UTC), believed(library)))
        time.sleep(0.02)  # the system counts the times of files in ticks
        if not _make_some_change(library, dice, number):
            seen.pop()
    assert len(seen) > 2
    present = library
    for at, then in seen:
        now_believed = believed(library_at(present, at))
        assert now_believed == then, at


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
def test_nothing_as_of_a_time_is_later_than_it(known: Any, tmp_path: Path) -> None:
    """Neither in what is shown, nor in the order, nor in the bars: files changed later too."""
    library = loaded(sample(known, tmp_path / "store"))
    present = library
    for at in (datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 9, 1, 12, tzinfo=UTC)):
        past = library_at(present, at)
        found = past.find(parse_query("status:all", at))
        rows = [found.rows[slot] for slot in found.slots]
        assert all(memory.when is None or memory.when <= at for memory in rows)
        whens = [memory.when.timestamp() if memory.when else 0 for memory in rows]
        assert whens == sorted(whens, reverse=True)
        days = read_times(found).days
        assert max(days, default=0) <= at.timestamp() // 86_400


@pytest.mark.parametrize("name", ["mcp-memory", "gemini"])
def test_what_was_retired_and_taken_out_of_its_file_is_a_difference(
    name: str, tmp_path: Path
) -> None:
    """Its file has it no more, and memtui keeps it with its text."""
    known = next(one for one in FORMATS if one.name == name)
    library = look(loaded(sample(known, tmp_path / "store"), state=tmp_path / "state"))
    memories = [library.get(ref) for ref in believed(library)]
    memory = next(each for each in memories if not library.refusal(Act.RETIRE, each))
    then = datetime.now(UTC)
    time.sleep(0.02)  # the system counts the times of files in ticks
    library.apply(library.plan([Change(Act.RETIRE, memory.store, memory.ref)]))
    (found,) = compare_times(look(library), then)
    assert (found.memory.ref, str(found.kind), found.by) == (memory.ref, "removed", "memtui")


@pytest.mark.slow
@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
def test_before_an_edit_in_each_file_all_was_as_it_was(known: Any, tmp_path: Path) -> None:
    """Also what a format reads from other files than that of the memory, such as its type."""
    library = look(loaded(sample(known, tmp_path / "store"), state=tmp_path / "state"))
    found = library.find(parse_query("status:all", library.now()))
    before = {found.rows[slot].ref: found.rows[slot] for slot in found.slots}
    then, edited = datetime.now(UTC), dict[str, str]()
    time.sleep(1.1)  # some databases count whole seconds
    for ref, memory in sorted(before.items()):
        is_known = memory.origin.file in edited or memory.status not in CURRENT
        if is_known or library.refusal(Act.EDIT, memory):
            continue
        fields = {"content": f"{memory.content.rstrip()} and more"}
        with suppress(Refused):
            planned = library.plan([Change(Act.EDIT, memory.store, ref, fields, force=True)])
            if planned.has_edits:
                library.apply(planned)
                edited[memory.origin.file] = ref
        if len(edited) == 4:
            break
    assert edited
    past = library_at(look(library), then)
    assert past.snapshot.slot_of.keys() == before.keys()
    for ref, memory in before.items():
        now_known = past.get(ref)
        assert {n: getattr(now_known, n) for n in COMPARED} == {
            n: getattr(memory, n) for n in COMPARED
        }
    assert {each.memory.ref for each in compare_times(library, then)} == {*edited.values()}


def test_a_text_of_then_is_found_and_the_text_of_now_is_not(tmp_path: Path) -> None:
    write_facts(tmp_path / "m", "bo", [fact(1, "Bo has a red boat"), fact(2, "Bo is old")])
    library = look(loaded(tmp_path / "m", state=tmp_path / "state"))
    library.index()
    memory = library.resolve("00000001")
    then = datetime.now(UTC)
    time.sleep(0.02)  # the system counts the times of files in ticks
    change = Change(Act.EDIT, memory.store, memory.ref, {"content": "Bo has a green boat"})
    library.apply(library.plan([change]))
    look(library)
    past = library_at(library, then)
    assert past.find(parse_query("red", then)).total == 1
    assert past.find(parse_query("green", then)).total == 0
    assert past.get(memory.ref).content == "Bo has a red boat"
    assert library.find(parse_query("green", then)).total == 1


@pytest.mark.slow
@pytest.mark.parametrize("known", share(FORMATS, 1, 4), ids=lambda known: known.name)
def test_what_was_done_and_undone_since_then_leaves_the_past_as_it_was(
    known: Any, tmp_path: Path
) -> None:
    library = look(loaded(sample(known, tmp_path / "store"), state=tmp_path / "state"))
    before, then = believed(library), datetime.now(UTC)
    time.sleep(0.02)  # the system counts the times of files in ticks
    dice, undone = random.Random(5), 0
    for number in range(12):
        if _make_some_change(library, dice, number):
            library.undo()
            look(library)
            undone += 1
    assert undone > 2
    assert believed(library) == before
    assert believed(library_at(library, then)) == before


# A document of the workspace that is made again was made, for all one knows, at its file's time.
@pytest.mark.slow
@pytest.mark.parametrize(
    "known",
    share([one for one in FORMATS if one.name != "workspace"], 2, 4),
    ids=lambda known: known.name,
)
def test_what_was_undone_and_redone_since_then_was_done_then(known: Any, tmp_path: Path) -> None:
    library = look(loaded(sample(known, tmp_path / "store"), state=tmp_path / "state"))
    dice = random.Random(5)
    done = sum(_make_some_change(library, dice, number) for number in range(8))
    before, then = believed(library), datetime.now(UTC)
    time.sleep(0.02)  # the system counts the times of files in ticks
    assert done > 1
    for step in (library.undo, library.redo):
        for _ in range(done):
            step()
            look(library)
        past = believed(library_at(library, then))  # an id may be that of another text
        assert sorted(past.values()) == sorted(before.values())
    assert believed(library) == before


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
def test_what_was_made_after_a_time_is_not_there_even_if_memtui_changed_it(
    known: Any, tmp_path: Path
) -> None:
    library = look(loaded(sample(known, tmp_path / "store"), state=tmp_path / "state"))
    memories = [library.get(ref) for ref in believed(library)]
    made = [m for m in memories if m.created and not library.refusal(Act.EDIT, m)]
    if not made:
        pytest.skip("its memories do not say when they were made; a file's time is none")
    memory = max(made, key=lambda each: each.created or START)
    assert memory.created is not None
    change = Change(Act.EDIT, memory.store, memory.ref, {"content": "Bo has a green boat"})
    library.apply(library.plan([change]))
    past = believed(library_at(library, memory.created - timedelta(days=1)))
    assert memory.ref not in past


def test_the_past_refuses_to_write(tmp_path: Path) -> None:
    write_facts(tmp_path / "m", "bo", [fact(1, "Bo has a boat")])
    library = look(loaded(tmp_path / "m", state=tmp_path / "state"))
    past = library_at(library, datetime.now(UTC))
    memory = past.resolve("00000001")
    assert "as of" in past.refusal(Act.EDIT, memory)
    with pytest.raises(Refused, match="as of"):
        past.plan([Change(Act.RETIRE, memory.store, memory.ref)])
    for act in (past.undo, past.redo):
        with pytest.raises(Refused, match="as of"):
            act()


def test_a_memory_of_today_that_was_not_known_then_is_named_as_such(tmp_path: Path) -> None:
    facts = [fact(1, "Bo is old", createdAt=iso(1)), fact(2, "Bo sails", createdAt=iso(9))]
    write_facts(tmp_path / "m", "bo", facts)
    library = loaded(tmp_path / "m")
    past = library_at(library, START + timedelta(days=5))
    for name in ("00000002", library.resolve("00000002").ref):
        with pytest.raises(RefError, match="was not known at 2026-01-06") as caught:
            past.resolve(name)
        assert caught.value.do == "give a time after 2026-01-10 00:00"
    with pytest.raises(RefError, match="no memory is named"):
        past.resolve("00000003")


def test_git_knows_the_text_and_the_memories_of_then(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    home = tmp_path / "memory"
    write_facts(home, "bo", [fact(1, "Bo has one boat"), fact(2, "Bo is old")])
    write_facts(home, "ida", [fact(3, "Ida is young")])
    committed(tmp_path, "2026-05-01T10:00:00Z")
    write_facts(home, "bo", [fact(1, "Bo has two boats", status="historical")])
    committed(tmp_path, "2026-05-03T10:00:00Z")
    library = loaded(home)
    present = library
    assert believed(library_at(present, datetime(2026, 5, 2, tzinfo=UTC))) == {
        "agent-memory:00000001-0000-4000-8000-000000000000": "Bo has one boat",
        "agent-memory:00000002-0000-4000-8000-000000000000": "Bo is old",
        "agent-memory:00000003-0000-4000-8000-000000000000": "Ida is young",
    }
    assert list(believed(library_at(present, datetime(2026, 5, 4, tzinfo=UTC))).values()) == [
        "Ida is young"
    ]


def test_a_view_of_the_past_follows_no_later_change(tmp_path: Path) -> None:
    write_facts(tmp_path / "m", "bo", [fact(1, "Bo has a boat")])
    library = loaded(tmp_path / "m", state=tmp_path / "state")
    past = library_at(library, datetime.now(UTC))
    before = believed(past)
    library.apply(library.plan([Change(Act.RETIRE, past.stores[0].label, next(iter(before)))]))
    assert believed(past) == before
    memory: Memory = past.get(next(iter(before)))
    assert past.lineage(memory).supersedes == ()
    assert past.statistics(past.find(Query())).total == 1
