"""The library: all stores as one, filled from cache or files, kept up with what changes."""

from __future__ import annotations

import os
import shutil
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.errors import RefError, StoreError
from memtui.files import backups
from memtui.files.backups import last_good
from memtui.library import Library
from memtui.query import parse_query
from memtui.testing.reading_tests import opened_during
from tests.samples import SAMPLES
from tests.torture.processes import in_child
from tests.unit.library.stores_for_tests import agent_memory, fact, write_facts

NOW = datetime(2026, 3, 30, tzinfo=UTC)


def take_away_when_read(folder: Path) -> None:
    """The folder is there when it is listed, and away once a file of it is opened.

    For a process of its own: an audit hook cannot be removed.
    """

    there = [folder]

    def look(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and there and str(arguments[0]).startswith(str(folder)):
            there.pop().rename(folder.with_name("away"))

    sys.addaudithook(look)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return agent_memory(
        tmp_path / "memory",
        {
            "alice": ["Alice leads the tide tables team", "Alice prefers short meetings"],
            "atlas": ["Atlas stores soundings in PostgreSQL", "Atlas exports GeoJSON nightly"],
        },
    )


def open_library(home: Path, cache: Path | None = None) -> Library:
    library = Library.open([home], cache=cache, now=lambda: NOW)
    library.load()
    return library


def contents(library: Library, text: str = "") -> list[str]:
    found = library.find(parse_query(text, NOW))
    return [library.snapshot.rows[slot].content for slot in found.slots]


def test_every_memory_is_there_once_newest_first(home: Path) -> None:
    assert contents(open_library(home)) == [
        "Atlas exports GeoJSON nightly",
        "Atlas stores soundings in PostgreSQL",
        "Alice prefers short meetings",
        "Alice leads the tide tables team",
    ]


def test_two_stores_of_one_format_get_two_labels(home: Path, tmp_path: Path) -> None:
    other = agent_memory(tmp_path / "other", {"bo": ["Bo keeps the tide gauges running"]})
    library = Library.open([home, other, home], now=lambda: NOW)
    library.load()
    assert [state.label for state in library.snapshot.stores] == ["agent-memory", "agent-memory-2"]
    assert len(contents(library)) == 5
    assert contents(library, "store:agent-memory-2") == ["Bo keeps the tide gauges running"]


def test_a_path_without_a_store_is_refused_with_advice(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no memory store is recognised"):
        Library.open([tmp_path])
    with pytest.raises(StoreError, match="there is nothing here"):
        Library.open([tmp_path / "missing"])


def test_a_warm_start_opens_no_file_of_the_store(home: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = open_library(home, cache)
    first.index()

    def look() -> None:
        second = open_library(home, cache)
        second.index()
        assert contents(second) == contents(first)
        assert contents(second, "soundings") == contents(first, "soundings")

    assert opened_during(look, home) == []


def test_a_warm_start_reads_only_what_changed(home: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    open_library(home, cache).index()
    changed = write_facts(home, "atlas", [fact(9, "Atlas moved its soundings to Parquet")])
    assert opened_during(lambda: open_library(home, cache), home) == [str(changed)]
    assert contents(open_library(home, cache), "soundings") == [
        "Atlas moved its soundings to Parquet"
    ]


def written(folder: Path) -> dict[Path, tuple[int, ...]]:
    """What every writing changes; that a file was read, the system notes by itself."""
    stats = {path: path.stat() for path in folder.rglob("*")}
    return {
        path: (s.st_ino, s.st_mode, s.st_nlink, s.st_size, s.st_mtime_ns, s.st_ctime_ns)
        for path, s in stats.items()
    }


def test_the_cache_is_private_and_the_store_stays_as_it_was(home: Path, tmp_path: Path) -> None:
    before = written(home)
    cache = tmp_path / "cache"
    open_library(home, cache).index()
    assert written(home) == before
    assert (cache / "stores").stat().st_mode & 0o777 == 0o700
    modes = {path: path.stat().st_mode & 0o777 for path in cache.rglob("*") if path.is_file()}
    assert modes
    assert {path.name for path, mode in modes.items() if mode != 0o600} == set()


ZEROS = b"\0" * 8
"""For the whole length of a file, as a power cut may leave it."""


@pytest.mark.parametrize("name", ["header.json", "rows.jsonl", "columns.npy", "CURRENT"])
@pytest.mark.parametrize("damage", [b"", b"\x80\x05N.", b"{}", ZEROS])
def test_a_damaged_cache_is_made_again(
    home: Path, tmp_path: Path, name: str, damage: bytes
) -> None:
    cache = tmp_path / "cache"
    expected = contents(open_library(home, cache))
    open_library(home, cache).index()
    for file in cache.rglob(name):
        size = file.stat().st_size
        file.write_bytes((damage * size)[:size] if damage is ZEROS else damage)
    library = open_library(home, cache)
    library.index()
    assert contents(library) == expected
    assert contents(library, "soundings") == ["Atlas stores soundings in PostgreSQL"]
    ref = library.resolve(library.snapshot.rows[0].ref).ref  # by the list of all refs
    assert ref == library.snapshot.rows[0].ref


def test_a_store_that_was_unreadable_when_it_was_cached_is_read_once_it_is_mended(
    tmp_path: Path,
) -> None:
    file = write_facts(tmp_path / "home", "bo", [])
    file.write_text("[{", encoding="utf-8")
    assert contents(open_library(tmp_path / "home", tmp_path / "cache")) == []
    write_facts(tmp_path / "home", "bo", [fact(8, "Bo repaired the gauge")])
    library = open_library(tmp_path / "home", tmp_path / "cache")
    assert contents(library) == ["Bo repaired the gauge"]


def test_refresh_sees_new_changed_and_removed_files(home: Path, tmp_path: Path) -> None:
    library = open_library(home, tmp_path / "cache")
    library.index()
    assert library.refresh() is False
    write_facts(
        home, "alice", [fact(1, "Alice leads the tide tables team"), fact(7, "Alice sails")]
    )
    write_facts(home, "bo", [fact(8, "Bo repaired the gauge at Port Ellis")])
    (home / "entities" / "atlas" / "items.json").unlink()
    assert library.refresh() is True
    assert set(contents(library)) == {
        "Alice leads the tide tables team",
        "Alice sails",
        "Bo repaired the gauge at Port Ellis",
    }
    assert contents(library, "gauge") == ["Bo repaired the gauge at Port Ellis"]
    assert contents(library, "soundings") == []
    assert library.refresh() is False


def test_a_slot_stays_readable_after_its_memory_changed(home: Path) -> None:
    library = open_library(home)
    slot = library.find(parse_query("", NOW)).slots[0]
    write_facts(home, "atlas", [])
    library.refresh()
    assert library.snapshot.rows[slot].content == "Atlas exports GeoJSON nightly"


def test_one_id_in_two_entities_gets_two_refs(home: Path) -> None:
    write_facts(home, "bo", [fact(1, "Bo copied a fact of Alice")])
    library = open_library(home)
    refs = [library.snapshot.rows[slot].ref for slot in library.find(parse_query("", NOW)).slots]
    assert len(refs) == len(set(refs)) == 5
    assert all(library.get(ref).ref == ref for ref in refs)


def test_who_has_the_plain_ref_does_not_depend_on_which_file_changed_last(
    home: Path, tmp_path: Path
) -> None:
    """A ref must name the same fact in an open session, in the next start, and without a cache."""

    def named(library: Library) -> dict[str, str]:
        rows = library.snapshot.rows
        slots = library.find(parse_query("", NOW)).slots
        return {rows[slot].ref: rows[slot].content for slot in slots if rows[slot].id == id}

    write_facts(home, "bo", [fact(1, "Bo copied a fact of Alice")])
    library = open_library(home, tmp_path / "cache")
    id = str(fact(1, "")["id"])
    assert len(named(library)) == 2
    for slug, text in (("alice", "Alice leads"), ("aaron", "Aaron was here"), ("bo", "Bo again")):
        write_facts(home, slug, [fact(1, text)])
        library.refresh()
        assert named(library) == named(open_library(home))
    library.close()
    warm = open_library(home, tmp_path / "cache")
    for slug in ("aaron", "bo"):
        (home / "entities" / slug / "items.json").unlink()
        warm.refresh()
        assert named(warm) == named(open_library(home))
    assert list(named(warm).values()) == ["Alice leads"]


def test_an_unreadable_file_is_named_and_the_rest_shown(home: Path) -> None:
    (home / "entities" / "alice" / "items.json").write_text("[{", encoding="utf-8")
    library = open_library(home)
    assert len(contents(library)) == 2
    (fault,) = library.snapshot.stores[0].unreadable
    assert fault.file.endswith("alice/items.json")
    assert fault.reason


def test_memories_are_named_by_ref_id_or_prefix(home: Path) -> None:
    library = open_library(home)
    memory = library.resolve("00000001")
    assert memory.content == "Alice leads the tide tables team"
    assert library.resolve(memory.ref) == library.resolve(memory.id) == memory
    assert library.resolve(memory.ref[:-20]) == memory
    for wrong in ("000", "00000", "ffffffff"):
        with pytest.raises(RefError):
            library.resolve(wrong)


def test_all_words_come_before_some_words(home: Path) -> None:
    library = open_library(home)
    library.index()
    assert contents(library, "what does atlas export nightly?") == [
        "Atlas exports GeoJSON nightly",
        "Atlas stores soundings in PostgreSQL",
    ]


def test_search_works_before_the_index_is_there_and_says_so(home: Path) -> None:
    library = open_library(home)
    found = library.find(parse_query("atlas nightly", NOW))
    assert found.is_scan
    assert library.snapshot.rows[found.slots[0]].content == "Atlas exports GeoJSON nightly"
    library.index()
    assert not library.find(parse_query("atlas nightly", NOW)).is_scan


def test_an_id_finds_its_memory_first(home: Path) -> None:
    library = open_library(home)
    library.index()
    assert contents(library, "00000002")[0] == "Alice prefers short meetings"


def test_nothing_found_names_the_filter_that_hides_matches(home: Path) -> None:
    library = open_library(home)
    library.index()
    found = library.find(parse_query("atlas type:company", NOW))
    (hidden,) = found.hidden
    assert (found.total, hidden.filter, hidden.count) == (0, "type:company", 2)
    assert hidden.advice == "2 more without type:company"


def test_the_parts_of_a_score_add_up_to_it(home: Path) -> None:
    library = open_library(home)
    library.index()
    found = library.find(parse_query("alice tide", NOW))
    assert found.scores is not None
    library.now = lambda: NOW + timedelta(days=30)  # asked for later
    for position, score in enumerate(found.scores):
        assert sum(part.value for part in library.explain(found, position)) == pytest.approx(score)


def test_facets_lift_their_own_filter(home: Path) -> None:
    write_facts(home, "shop", [fact(20, "Shop sells charts", entityType="company")])
    library = open_library(home)
    facets = library.find(parse_query("type:company", NOW)).facets
    assert facets.type == {"person": 4, "company": 1}
    assert facets.entity == {"companies/shop": 1}


@pytest.mark.slow
def test_the_index_on_disk_follows_changes_and_the_next_start_reads_nothing(
    home: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    library = open_library(home, cache)
    library.index()
    library.save_index()
    write_facts(home, "bo", [fact(8, "Bo repaired the gauge at Port Ellis")])
    library.refresh()
    assert contents(library, '"gauge at Port"') == ["Bo repaired the gauge at Port Ellis"]
    library.save_index()
    assert contents(library, '"gauge at Port"') == ["Bo repaired the gauge at Port Ellis"]
    assert opened_during(lambda: open_library(home, cache), home) == []
    assert len(contents(open_library(home, cache))) == 5


def test_a_change_while_the_index_is_saved_is_found(home: Path, tmp_path: Path) -> None:
    library = open_library(home, tmp_path / "cache")
    library.index()

    def change_meanwhile() -> bool:
        if "Bo repaired the gauge at Port Ellis" not in contents(library):
            write_facts(home, "bo", [fact(8, "Bo repaired the gauge at Port Ellis")])
            library.refresh()
        return False

    library.save_index(change_meanwhile)
    assert contents(library, "g*uge") == ["Bo repaired the gauge at Port Ellis"]


@pytest.mark.slow
def test_the_index_of_another_process_for_other_rows_is_not_used(
    home: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    library = open_library(home, cache)
    library.index()
    library.save_index()
    assert contents(library, "t*bles") != []
    before = contents(library, "t*bles")
    write_facts(home, "bo", [fact(8, "Bo repaired the gauge at Port Ellis")])
    shutil.rmtree(home / "entities" / "alice")
    other = open_library(home, cache)
    other.index()
    other.save_index()
    assert contents(library, "t*bles") == before
    library.refresh()
    assert contents(library, "t*bles") == contents(other, "t*bles") == []


def test_a_file_that_was_read_whole_can_be_offered_again_when_an_agent_empties_it(
    home: Path, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    library = Library.open([home], state=state, now=lambda: NOW)
    library.load()
    library.back_up_files()
    file = home / "entities" / "alice" / "items.json"
    before = file.read_bytes()
    file.write_bytes(b"")
    library.refresh()
    library.back_up_files()
    copy = last_good(file, state)
    assert copy is not None
    assert copy.read() == before


def test_a_new_session_copies_only_what_changed(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied: list[str] = []
    copy = backups.save_copy

    def noted(path: Path, data: bytes, state: Path) -> backups.Backup | None:
        copied.append(path.parent.name)
        return copy(path, data, state)

    monkeypatch.setattr(backups, "save_copy", noted)

    def session() -> list[str]:
        del copied[:]
        library = Library.open([home], state=tmp_path / "state", now=lambda: NOW)
        library.load()
        library.back_up_files()
        return sorted(copied)

    assert len(session()) > 1
    assert session() == []
    write_facts(home, "alice", [fact(9, "Alice mended the tide gauge")])
    assert session() == ["alice"]
    shutil.rmtree(tmp_path / "state" / "kept")
    assert len(session()) > 1


def test_a_file_broken_between_being_read_and_being_copied_is_no_good_copy(
    home: Path, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    library = Library.open([home], state=state, now=lambda: NOW)
    library.load()
    library.back_up_files()
    file = home / "entities" / "alice" / "items.json"
    before = file.read_bytes()
    write_facts(home, "alice", [fact(9, "Alice mended the tide gauge")])
    library.refresh()
    file.write_bytes(before[:-20])
    library.back_up_files()
    copy = last_good(file, state)
    assert copy is not None
    assert copy.read() == before


def test_a_word_that_no_memory_has_is_answered_with_one_that_some_have(home: Path) -> None:
    library = open_library(home)
    library.index()
    found = library.find(parse_query("soundigns", NOW))
    assert found.hint == 'no "soundigns"; showing "soundings"'
    assert "soundings" in contents(library, "soundigns")[0]
    assert library.find(parse_query("soundings", NOW)).hint == ""


def test_a_folder_that_was_away_while_it_was_read_is_read_when_it_is_back(home: Path) -> None:
    def look() -> None:
        library = Library.open([home], now=lambda: NOW)
        folder = home / "entities" / "atlas"
        take_away_when_read(folder)
        library.load()
        assert contents(library, "status:all atlas") == []
        folder.with_name("away").rename(folder)
        assert library.refresh()
        assert len(contents(library, "atlas")) == 2
        assert library.snapshot.stores[0].unreadable == ()

    assert in_child(look) == 0


def test_a_link_that_leads_nowhere_is_no_change_at_every_look(home: Path) -> None:
    (home / "entities" / "bo").mkdir()
    (home / "entities" / "bo" / "items.json").symlink_to("nothing.json")
    library = open_library(home)
    assert [file.reason for file in library.snapshot.stores[0].unreadable] == ["it is not there"]
    assert not library.refresh()
    write_facts(home, "nothing", [fact(9, "Bo keeps the gauges")])
    (home / "entities" / "bo" / "nothing.json").write_bytes(
        (home / "entities" / "nothing" / "items.json").read_bytes()
    )
    assert library.refresh()
    assert contents(library, "entity:bo") == ["Bo keeps the gauges"]


def test_the_bytes_on_disk_are_those_of_the_stores_with_a_result(tmp_path: Path) -> None:
    stores = [tmp_path / "tea", tmp_path / "gauges"]
    agent_memory(stores[0], {"tea": ["gyokuro is poured"]})
    agent_memory(stores[1], {"gauges": ["soundings every dawn"] * 9})
    library = Library.open(stores, now=lambda: NOW)
    library.load()
    small, both = (
        library.statistics(library.find(parse_query(query, NOW)), counted=False).bytes
        for query in (f"store:{library.stores[0].label}", "")
    )
    assert 0 < small < both


@pytest.mark.parametrize("format", ["hermes", "memory-bank"])
def test_a_change_does_not_move_memories_of_the_same_time(tmp_path: Path, format: str) -> None:
    """Neither among those without a time, nor at the next start, with a cache or without one."""
    store = tmp_path / "store"
    shutil.copytree(SAMPLES / format, store)

    def refs(library: Library) -> list[str]:
        found = library.find(parse_query("status:all", NOW))
        return [found.rows[slot].ref for slot in found.slots]

    def opened(cache: str) -> Library:
        library = Library.open([store], cache=tmp_path / cache, state=tmp_path / "state")
        library.load()
        return library

    for path in store.rglob("*"):
        os.utime(path, (1_780_000_000, 1_780_000_000))
    library = opened("cache")
    before = refs(library)
    change = Change(Act.PIN, library.stores[0].label, before[0])
    library.apply(library.plan([change]))
    library.refresh()
    assert library.get(before[0]).pinned
    assert refs(library) == before
    assert refs(opened("cache")) == before
    assert refs(opened("other")) == before
