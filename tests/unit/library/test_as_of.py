"""As of a date: against a replay, against what was seen after each change, and with git."""

from __future__ import annotations

import random
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memtui.changes import Act, Change
from memtui.errors import Refused
from memtui.library import Library
from memtui.library.past_library import PastViews
from memtui.library.time_views import read_times
from memtui.model import CURRENT, Memory
from memtui.query import Query, parse_query
from memtui.stores.registry import FORMATS
from memtui.testing.fixtures import sample
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
    views = PastViews(library)
    for step in range(50):
        at = START + timedelta(days=step * 2.5)
        expected: set[str] = set()
        for day, begun, ended_id in events:
            if START + timedelta(days=day) <= at:
                expected = (expected | {begun}) - {ended_id}
        past = views.at(at)
        assert {ref.partition(":")[2] for ref in believed(past)} == expected, at


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
    return True


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
def test_each_moment_between_changes_of_memtui_is_seen_again(known: Any, tmp_path: Path) -> None:
    library = loaded(sample(known, tmp_path / "store"), state=tmp_path / "state")
    dice = random.Random(5)
    seen: list[tuple[datetime, dict[str, str]]] = []
    number = 0
    while len(seen) < 9 and number < 60:
        number += 1
        seen.append((datetime.now(UTC), believed(library)))
        time.sleep(0.002)
        if not _make_some_change(library, dice, number):
            seen.pop()
    assert len(seen) > 2
    views = PastViews(library)
    for at, then in seen:
        now_believed = believed(views.at(at))
        assert now_believed == then, at


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
def test_nothing_as_of_a_time_is_later_than_it(known: Any, tmp_path: Path) -> None:
    """Neither in what is shown, nor in the order, nor in the bars: files changed later too."""
    library = loaded(sample(known, tmp_path / "store"))
    views = PastViews(library)
    for at in (datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 9, 1, 12, tzinfo=UTC)):
        past = views.at(at)
        found = past.find(parse_query("status:all", at))
        rows = [found.rows[slot] for slot in found.slots]
        assert all(memory.when is None or memory.when <= at for memory in rows)
        whens = [memory.when.timestamp() if memory.when else 0 for memory in rows]
        assert whens == sorted(whens, reverse=True)
        days = read_times(found).days
        assert max(days, default=0) <= at.timestamp() // 86_400


def test_a_text_of_then_is_found_and_the_text_of_now_is_not(tmp_path: Path) -> None:
    write_facts(tmp_path / "m", "bo", [fact(1, "Bo has a red boat"), fact(2, "Bo is old")])
    library = loaded(tmp_path / "m", state=tmp_path / "state")
    library.index()
    memory = library.resolve("00000001")
    then = datetime.now(UTC)
    time.sleep(0.002)
    change = Change(Act.EDIT, memory.store, memory.ref, {"content": "Bo has a green boat"})
    library.apply(library.plan([change]))
    past = PastViews(library).at(then)
    assert past.find(parse_query("red", then)).total == 1
    assert past.find(parse_query("green", then)).total == 0
    assert past.get(memory.ref).content == "Bo has a red boat"
    assert library.find(parse_query("green", then)).total == 1


def test_the_past_refuses_to_write(tmp_path: Path) -> None:
    write_facts(tmp_path / "m", "bo", [fact(1, "Bo has a boat")])
    library = loaded(tmp_path / "m", state=tmp_path / "state")
    past = PastViews(library).at(datetime.now(UTC))
    memory = past.resolve("00000001")
    assert "as of" in past.refusal(Act.EDIT, memory)
    with pytest.raises(Refused, match="as of"):
        past.plan([Change(Act.RETIRE, memory.store, memory.ref)])
    for act in (past.undo, past.redo):
        with pytest.raises(Refused, match="as of"):
            act()


def test_git_knows_the_text_and_the_memories_of_then(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    home = tmp_path / "memory"
    write_facts(home, "bo", [fact(1, "Bo has one boat"), fact(2, "Bo is old")])
    write_facts(home, "ida", [fact(3, "Ida is young")])
    committed(tmp_path, "2026-05-01T10:00:00Z")
    write_facts(home, "bo", [fact(1, "Bo has two boats", status="historical")])
    committed(tmp_path, "2026-05-03T10:00:00Z")
    library = loaded(home)
    views = PastViews(library)
    assert believed(views.at(datetime(2026, 5, 2, tzinfo=UTC))) == {
        "agent-memory:00000001-0000-4000-8000-000000000000": "Bo has one boat",
        "agent-memory:00000002-0000-4000-8000-000000000000": "Bo is old",
        "agent-memory:00000003-0000-4000-8000-000000000000": "Ida is young",
    }
    assert list(believed(views.at(datetime(2026, 5, 4, tzinfo=UTC))).values()) == ["Ida is young"]


def test_a_view_of_the_past_follows_no_later_change(tmp_path: Path) -> None:
    write_facts(tmp_path / "m", "bo", [fact(1, "Bo has a boat")])
    library = loaded(tmp_path / "m", state=tmp_path / "state")
    past = PastViews(library).at(datetime.now(UTC))
    before = believed(past)
    library.apply(library.plan([Change(Act.RETIRE, past.stores[0].label, next(iter(before)))]))
    assert believed(past) == before
    memory: Memory = past.get(next(iter(before)))
    assert past.lineage(memory).supersedes == ()
    assert past.statistics(past.find(Query())).total == 1
