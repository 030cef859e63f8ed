"""Accesses are counted on request only, in the store's own file or beside the store."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memtui.errors import Refused
from memtui.library import Library
from memtui.search.salience import count_accesses, find_last_access
from tests.unit.context.packs_for_tests import FORMATS, NOW, SAMPLES, library_of, memory, pack_of

Call = Callable[..., int]


def tree(place: Path) -> dict[str, tuple[bytes, int]]:
    """Every file with its bytes and time."""
    files = (path for path in place.rglob("*") if path.is_file())
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def _open(place: Path, state: Path | None) -> Library:
    library = Library.open([place], state=state, now=lambda: NOW)
    library.load()
    return library


@pytest.mark.parametrize("name", FORMATS)
def test_a_counted_access_is_there_at_once_and_after_a_restart(name: str, tmp_path: Path) -> None:
    place = shutil.copytree(SAMPLES / name, tmp_path / name)
    library = _open(place, tmp_path / "state")
    label = library.stores[0].label
    kinds = ("fact", "event", "observation", "document")
    chosen = next(m for m in library.memories(label) if m.kind in kinds and m.status == "active")
    before = count_accesses(chosen)
    assert library.count_accesses([chosen.ref]) == (1, {})
    library.count_accesses([chosen.ref, chosen.ref])
    for again in (library, _open(place, None)):
        now = again.get(chosen.ref)
        assert count_accesses(now) == before + 2
        assert find_last_access(now) == NOW
        assert now.content == chosen.content
    assert library.log() == []


@pytest.mark.parametrize("name", FORMATS)
def test_building_packs_writes_nothing(name: str, tmp_path: Path) -> None:
    place = shutil.copytree(SAMPLES / name, tmp_path / name)
    library = _open(place, tmp_path / "state")
    before = tree(place)
    for recipe in ("tiers", "plan", "prime", "session", "loaded"):
        pack_of(library, recipe, "deploy")
    assert tree(place) == before


def test_agent_memorys_own_file_is_written_as_its_script_does(tmp_path: Path) -> None:
    place = shutil.copytree(SAMPLES / "agent-memory", tmp_path / "agent-memory")
    file = place / "memory" / "metrics" / "access.json"
    before = json.loads(file.read_text(encoding="utf-8"))
    library = _open(place, tmp_path / "state")
    pack = pack_of(library, "tiers", "who is marit")
    library.count_accesses(pack.refs)
    text = file.read_text(encoding="utf-8")
    after = json.loads(text)
    assert text == json.dumps(after, indent=2, ensure_ascii=False) + "\n"  # jq's own form
    for ref in pack.refs:
        found = library.get(ref)
        slug = found.entity.rpartition("/")[2]
        group, key = ("entities", slug) if found.kind == "note" else ("facts", f"{slug}/{found.id}")
        known = before[group].get(key, {}).get("count", 0)
        assert after[group][key] == {"count": known + 1, "lastAccessed": "2026-11-21T12:00:00Z"}
    assert set(after) == {"entities", "facts"}


def test_without_the_file_it_is_made(tmp_path: Path) -> None:
    place = shutil.copytree(SAMPLES / "agent-memory", tmp_path / "agent-memory")
    file = place / "memory" / "metrics" / "access.json"
    file.unlink()
    library = _open(place, tmp_path / "state")
    fact = next(m for m in library.memories("agent-memory") if m.kind == "fact")
    library.count_accesses([fact.ref])
    assert list(json.loads(file.read_text(encoding="utf-8"))) == ["facts"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"facts": []}', '{"facts": {"a": 1}}'])
def test_a_file_of_another_form_is_read_as_far_as_it_goes(text: str, tmp_path: Path) -> None:
    place = shutil.copytree(SAMPLES / "agent-memory", tmp_path / "agent-memory")
    (place / "memory" / "metrics" / "access.json").write_text(text, encoding="utf-8")
    library = _open(place, tmp_path / "state")
    fact = next(m for m in library.memories("agent-memory") if m.kind == "fact")
    assert count_accesses(fact) == 0
    if text == '{"facts": {"a": 1}}':
        assert library.count_accesses([fact.ref]) == (1, {})
    else:
        counted, faults = library.count_accesses([fact.ref])
        assert counted == 0
        assert isinstance(faults["agent-memory"], Refused)


COUNTING = """
import sys
from pathlib import Path
from memtui.library import Library
place, state, ref = sys.argv[1:]
library = Library.open([Path(place)], state=Path(state))
library.load()
for _ in range(5):
    library.count_accesses([ref])
"""


@pytest.mark.slow
def test_two_processes_count_each_of_their_accesses(tmp_path: Path) -> None:
    place = shutil.copytree(SAMPLES / "simple-memory", tmp_path / "simple-memory")
    library = _open(place, tmp_path / "state")
    fact = next(m for m in library.memories("simple-memory") if m.kind == "fact")
    library.count_accesses([fact.ref])
    before = count_accesses(library.get(fact.ref))
    command = [sys.executable, "-c", COUNTING, str(place), str(tmp_path / "state"), fact.ref]
    workers = [subprocess.Popen(command) for _ in range(2)]
    assert [worker.wait() for worker in workers] == [0, 0]
    library.refresh()
    assert count_accesses(library.get(fact.ref)) == before + 10


def test_a_store_that_can_only_be_read_is_left_out(tmp_path: Path) -> None:
    library = library_of(memory("1", "x"))
    with pytest.raises(Refused, match="read-only"):
        library.count_accesses(["s:1"])
