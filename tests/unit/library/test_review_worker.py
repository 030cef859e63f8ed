"""A scan by a process of its own: it finds the same, and nothing is lost when it ends badly."""

from __future__ import annotations

import json
import os
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memtui import child_processes
from memtui.config import ReviewSettings
from memtui.errors import MemtuiError, Refused, WorkerError
from memtui.library import Library, review
from memtui.library.opening import reopen_stores, stores_within
from memtui.library.review import ReviewQueue
from memtui.library.review_files import Decision
from memtui.progress import Cancelled, Progress
from memtui.testing import hostile_values
from memtui.upkeep.proposals import ProposalKind, to_record
from tests.samples import SAMPLES
from tests.torture.processes import is_alive
from tests.unit.library.stores_for_tests import agent_memory, fact, write_facts
from tests.unit.library.test_review_cache import FACTS, TOKEN


@pytest.fixture(autouse=True)
def _always_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(review, "SCANNED_HERE", 0)


def opened(folder: Path, *roots: Path, formats: tuple[str, ...] = ()) -> Library:
    library = Library.open(roots, cache=folder / "cache", state=folder / "state", formats=formats)
    library.load()
    return library


def hostile(home: Path) -> Path:
    """A store whose texts are hostile, half a surrogate pair among them."""
    root = agent_memory(home, FACTS)
    facts = [fact(100 + at, text) for at, text in enumerate(hostile_values.ALL.values())]
    (root / "entities" / "mallory").mkdir()
    (root / "entities" / "mallory" / "items.json").write_text(json.dumps(facts))
    return root


def running() -> list[int]:
    return [child.pid for child in child_processes._running]


def found_in(folder: Path, name: str) -> list[tuple[Path, str]]:
    """The sample stores of a folder, copied, with their formats."""
    shutil.copytree(SAMPLES / name, folder / name)
    return stores_within(folder / name)


@pytest.mark.slow
def test_another_process_opens_the_same_stores(tmp_path: Path) -> None:
    found = [
        each
        for folder in sorted(SAMPLES.iterdir())
        if folder.is_dir()
        for each in stores_within(folder)
    ]
    library = Library.open([root for root, _ in found], formats=[name for _, name in found])
    again = reopen_stores(library.sources)
    assert len(again) == len(library.stores) >= 12
    for store, other in zip(library.stores, again, strict=True):
        assert (store.format, store.root, store.label) == (other.format, other.root, other.label)
        assert getattr(store, "profile", None) == getattr(other, "profile", None)
    chosen = {store.label for store in library.stores[:3]}
    assert {source.label for source in library.only(chosen).sources} == chosen


@pytest.mark.slow
def test_it_finds_what_a_scan_in_this_process_finds(tmp_path: Path) -> None:
    found = found_in(tmp_path, "test-tower")
    roots = [*(root for root, _ in found), hostile(tmp_path / "hostile")]
    settings = ReviewSettings(duplicate=0.6, off=("orphan",))
    here = ReviewQueue(opened(tmp_path / "one", *roots), settings).scan()
    assert len({one.kind for one in here.proposals}) >= 8

    library = opened(tmp_path / "other", *roots)
    queue = ReviewQueue(library, settings)
    reports: list[Progress] = []
    aside = queue.scan_aside(reports.append)
    assert list(map(to_record, aside.proposals)) == list(map(to_record, here.proposals))
    assert reports
    assert all(queue.plan([one]).has_edits for one in aside.proposals if one.changes)
    assert ReviewQueue(library, settings).last() == aside
    assert ReviewQueue(library).last() is None
    assert not running()


def test_a_killed_process_costs_nothing_that_was_found_before(tmp_path: Path) -> None:
    root = agent_memory(tmp_path / "home", FACTS)
    before = ReviewQueue(opened(tmp_path, root)).scan()
    (root / "entities/bob/items.json").unlink()
    library = opened(tmp_path, root)

    def kill() -> bool:
        os.kill(running()[0], signal.SIGKILL)
        return False

    with pytest.raises(WorkerError, match="status -9"):
        ReviewQueue(library).scan_aside(cancelled=kill)
    assert ReviewQueue(library).last() == before
    assert not running()


def test_a_cancelled_process_is_gone(tmp_path: Path) -> None:
    library = opened(tmp_path, agent_memory(tmp_path / "home", FACTS))
    started: list[int] = []

    def cancelled() -> bool:
        started[:] = started or running()
        return True

    with pytest.raises(Cancelled):
        ReviewQueue(library).scan_aside(cancelled=cancelled)
    assert not any(map(is_alive, started))
    assert not list((tmp_path / "cache").glob("reviews/*"))


@pytest.mark.slow
def test_a_fault_in_the_process_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = opened(tmp_path, agent_memory(tmp_path / "home", FACTS))
    monkeypatch.setattr(library, "sources", (library.sources[0].__class__("/", "no", "x"),))
    with pytest.raises(WorkerError, match="there is no format 'no'"):
        ReviewQueue(library).scan_aside()


@pytest.mark.slow
def test_two_at_once_find_the_same(tmp_path: Path) -> None:
    root = hostile(tmp_path / "home")
    queues = [ReviewQueue(opened(tmp_path, root)) for _ in range(2)]
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(ReviewQueue.scan_aside, queues)
    assert first == second == ReviewQueue(opened(tmp_path, root)).last()


def test_nothing_is_scanned_where_nothing_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = agent_memory(tmp_path / "home", FACTS)
    before = ReviewQueue(opened(tmp_path, root)).scan()

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a scan where nothing changed")

    monkeypatch.setattr(review, "scan", refused)
    monkeypatch.setattr(review, "run_worker", refused)
    library = opened(tmp_path, root)
    queue = ReviewQueue(library)
    assert queue.scan_aside() == queue.scan() == before
    only = queue.scan([ProposalKind.SECRET])
    assert only.proposals == tuple(one for one in before.proposals if one.kind == "secret")
    queue.decisions.decide(only.proposals, Decision.DECLINED)
    assert len(queue.scan().proposals) == len(before.proposals) - len(only.proposals)
    write_facts(root, "carol", [fact(50, f"Carol's key is {TOKEN}")])
    for each in (library, opened(tmp_path, root)):
        each.refresh()
        with pytest.raises(AssertionError, match="nothing changed"):
            ReviewQueue(each).scan_aside()


@pytest.mark.parametrize("change", ["edit", "delete"])
def test_a_stale_proposal_is_never_accepted(tmp_path: Path, change: str) -> None:
    """What was found is kept while memories change: its texts must not be written over them."""
    root = agent_memory(tmp_path / "home", FACTS)
    ReviewQueue(opened(tmp_path, root)).scan()
    (items,) = root.rglob("alice/items.json")
    text = items.read_text()
    if change == "edit":
        items.write_text(text.replace("each night", "each morning").replace("office now", "hall"))
    else:
        items.write_text("[]\n")
    after = items.read_bytes()
    library = opened(tmp_path, root)
    queue = ReviewQueue(library)
    stale = queue.last()
    assert stale is not None
    writing = [one for one in stale.proposals if one.changes]
    assert {"secret", "duplicate"} <= {str(one.kind) for one in writing}
    for one in writing:
        with pytest.raises(MemtuiError) as refused:
            library.apply(queue.plan([one]))
        if change == "edit":
            assert isinstance(refused.value, Refused)
            assert "changed since the scan" in str(refused.value)
    assert items.read_bytes() == after
    fresh = [one for one in queue.scan().proposals if one.changes]
    for one in fresh:
        assert queue.plan([one]).has_edits
