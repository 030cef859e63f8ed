"""A store that fails in any of its hooks, or gives memories that are none, harms nobody else."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from memtui.changes import Act, Change
from memtui.errors import MemtuiError, Refused
from memtui.library import Library
from memtui.model import Link, Memory, Place
from memtui.query import parse_query
from memtui.stores import agent_memory
from memtui.stores.base import LoadedText, Reading, Shard, Store

from .stores_for_tests import agent_memory as write_store

GULLS, TERNS = "gulls nest on the north pier", "terns nest on the south pier"


class Failing:
    """A real store of which one hook raises, for one shard where it takes one."""

    def __init__(self, store: Store, hook: str) -> None:
        self._store, self._hook = store, hook
        self.format, self.label, self.root = store.format, store.label, store.root

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name != self._hook:
            return found
        if not callable(found):
            raise ZeroDivisionError("\x1b[31mred")

        def raising(*given: Any) -> Any:
            if given and isinstance(given[0], Shard) and not given[0].key.endswith("/terns"):
                return found(*given)
            raise ZeroDivisionError("\x1b[31mred")

        return raising


HOOKS = ("read_only", "editable", "scan", "look_again", "read", "refusal", "plan", "apply")


def stores(tmp_path: Path) -> tuple[Store, Store]:
    """Two stores of the same two memories: the one that will fail, and another."""
    roots = [tmp_path / name for name in ("bad", "good")]
    for root in roots:
        write_store(root, {"gulls": [GULLS], "terns": [TERNS]})
    bad, good = (agent_memory.FORMAT.open(root, root.name) for root in roots)
    return bad, good


@pytest.mark.parametrize("hook", HOOKS)
def test_a_store_that_raises_in_any_hook_harms_no_other(tmp_path: Path, hook: str) -> None:
    bad, good = stores(tmp_path)
    failing: Any = Failing(bad, hook)
    library = Library([failing, good], cache=tmp_path / "cache", state=tmp_path / "state")
    library.load()
    library.index()
    if hook == "read":  # the index knows nothing of the other hooks; each build is a process
        library.save_index()
    found = {m.store: set[str]() for m in library.snapshot.rows if m}
    for slot in library.find(parse_query("nest", library.now())).slots:
        memory = library.snapshot.rows[slot]
        found[memory.store].add(memory.content)
    assert found["good"] == {GULLS, TERNS}
    assert found.get("bad", set()) == {"scan": set(), "read": {GULLS}}.get(hook, {GULLS, TERNS})
    state, other = library.snapshot.stores
    assert not other.unreadable
    if hook in ("scan", "read"):
        (fault,) = state.unreadable
        assert fault.file == str(bad.root if hook == "scan" else bad.root / ITEMS)
        assert "ZeroDivisionError" in fault.reason
        assert fault.reason.isprintable()
        assert any(fault.file == finding.file for finding in library.check())
    gull = next(m for m in library.memories("good") if m.content == GULLS)
    library.refresh_files([gull.origin.file])
    library.refresh()
    change_all(library)
    assert {m.content for m in library.memories("good")} == {f"{GULLS}, many", f"{TERNS}, many"}


ITEMS = "entities/terns/items.json"


def change_all(library: Library) -> None:
    """Change every memory; what fails in the bad store is refused, not thrown (but for a write)."""
    for label in ("good", "bad"):
        for memory in list(library.memories(label)):
            library.refusal(Act.EDIT, memory)
            assert isinstance(library.store(label).editable, frozenset)
            change = Change(Act.EDIT, label, memory.ref, {"content": f"{memory.content}, many"})
            try:
                library.apply(library.plan([change]))
            except (MemtuiError, ZeroDivisionError):
                assert label == "bad"


class OutOfMemory:
    """A real store; no memory is left for one of its shards."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def read(self, shard: Shard) -> Reading:
        if shard.key.endswith("/terns"):
            raise MemoryError
        return self._store.read(shard)


@pytest.mark.slow
def test_what_could_not_be_read_once_is_read_at_the_next_start(tmp_path: Path) -> None:
    store, _ = stores(tmp_path)
    poor: Any = OutOfMemory(store)
    for opened, expected, unreadable in (
        (poor, {GULLS}, ["there is not enough memory to read it"]),
        (poor, {GULLS}, ["there is not enough memory to read it"]),
        (store, {GULLS, TERNS}, []),
        (store, {GULLS, TERNS}, []),
    ):
        library = Library([opened], cache=tmp_path / "cache")
        library.load()
        assert {memory.content for memory in library.memories("bad")} == expected
        (state,) = library.snapshot.stores
        assert [item.reason for item in state.unreadable] == unreadable
        library.links.build()
        library.index()
        library.save_index()


def test_a_session_start_or_promotion_that_fails_is_not_an_empty_one(tmp_path: Path) -> None:
    store, _ = stores(tmp_path)

    class Broken(OutOfMemory):
        def session_start(self, *_: object) -> Sequence[LoadedText]:
            raise ZeroDivisionError

        rescope = session_start

    broken: Any = Broken(store)
    library = Library([broken])
    library.load()
    (guarded,) = library.stores
    with pytest.raises(Refused, match="ZeroDivisionError"):
        guarded.session_start(library, "", datetime.now(UTC))
    with pytest.raises(Refused, match="ZeroDivisionError"):
        library.plan_rescope(library.memories(guarded.label)[0])


def test_a_store_that_fails_later_keeps_what_it_listed(tmp_path: Path) -> None:
    bad, good = stores(tmp_path)
    failing: Any = Failing(bad, "")
    library = Library([failing, good])
    library.load()
    failing._hook = "scan"
    library.refresh()
    assert library.snapshot.count == 4
    assert [len(state.unreadable) for state in library.snapshot.stores] == [1, 0]
    failing._hook = ""
    library.refresh()
    assert not library.snapshot.stores[0].unreadable


def deep(levels: int) -> Any:
    value: Any = "bottom"
    for _ in range(levels):
        value = [value]
    return value


NO_TEXT: Any = None
SPOILT: dict[str, Callable[[Memory], Any]] = {
    "a content that is none": lambda m: replace(m, content=NO_TEXT),
    "bytes in extra": lambda m: replace(m, extra={"odd": [b"\xff"]}),
    "a set in extra": lambda m: replace(m, extra={"odd": {1, 2}}),
    "a number that cannot be printed": lambda m: replace(m, extra={"odd": 16**5000}),
    "such a number further in": lambda m: replace(m, extra={"odd": {"x": [16**5000]}}),
    "values in values": lambda m: replace(m, extra={"odd": deep(600)}),
    "a circle": lambda m: replace(m, extra=(lambda d: d.update(d=d) or d)({})),
    "a name that is no text": lambda m: replace(m, extra={1: 2}),
    "an unknown status": lambda m: replace(m, status="undecided"),
    "an unknown kind": lambda m: replace(m, kind="thought"),
    "a time without a zone": lambda m: replace(m, created=datetime(2026, 3, 1)),
    "a tag that is a number": lambda m: replace(m, tags=(7,)),
    "a link that leads nowhere": lambda m: replace(m, links=(Link("about", NO_TEXT),)),
    "a place that is none": lambda m: replace(m, origin=Place(NO_TEXT)),
    "no memory at all": lambda m: NO_TEXT,
}


class Spoiling(Failing):
    """A real store of which one memory is not what it should be."""

    def __init__(self, store: Store, spoil: Callable[[Memory], Any]) -> None:
        super().__init__(store, "")
        self._spoil = spoil

    def read(self, shard: Shard) -> Reading:
        reading = self._store.read(shard)
        if not shard.key.endswith("/terns"):
            return reading
        return Reading((*reading.memories, self._spoil(reading.memories[0])), reading.unreadable)


@pytest.mark.parametrize("name", SPOILT)
def test_a_memory_that_is_none_is_listed_and_the_rest_is_kept(tmp_path: Path, name: str) -> None:
    bad, good = stores(tmp_path)
    spoiling: Any = Spoiling(bad, SPOILT[name])
    library = Library([spoiling, good], cache=tmp_path / "cache")
    library.load()
    library.index()
    if name == "no memory at all":  # the index gets none of them; each build is a process
        library.save_index()
    assert sorted(m.content for m in library.memories("bad")) == [GULLS, TERNS]
    (fault,) = library.snapshot.stores[0].unreadable
    assert fault.file == str(bad.root / ITEMS)
    assert fault.reason.isprintable()
    assert not library.snapshot.stores[1].unreadable


def test_commands_go_on_beside_a_record_nested_too_deeply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six hundred levels are read by Python's JSON and exhaust whoever prints them."""
    from memtui.cli.group import memtui

    file = write_store(tmp_path / "store", {"gulls": [GULLS, TERNS]}) / "entities/gulls/items.json"
    facts = json.loads(file.read_text())
    facts[1]["odd"] = deep(600)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(5000)
    try:
        file.write_text(json.dumps(facts))
    finally:
        sys.setrecursionlimit(limit)
    for name in ("CACHE", "STATE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    monkeypatch.setenv("MEMTUI_STORES", str(tmp_path / "store"))
    for command in (["list", "--json"], ["export", "-o", str(tmp_path / "all.zip")]):
        result = CliRunner().invoke(memtui, command)
        assert result.exception is None, command
    listed = json.loads(CliRunner().invoke(memtui, ["list", "--json"]).stdout)["memories"]
    assert [memory["content"] for memory in listed] == [GULLS]
    (store,) = json.loads(CliRunner().invoke(memtui, ["stores", "--json"]).stdout)["stores"]
    assert [item["reason"] for item in store["unreadable"]] == [
        f"the memory {facts[1]['id']}: odd is nested too deeply"
    ]
