"""Imports into stores that exist: what is there stays, nothing comes twice, one undo for all."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memtui.bundle import archive
from memtui.bundle.bundle_reader import read_document
from memtui.bundle.bundle_writer import pack_stores
from memtui.bundle.exporting import encode_jsonl, export_memories
from memtui.bundle.import_plan import ImportPlan, plan_import
from memtui.errors import BundleError, Refused
from memtui.library import Library
from memtui.library.planning import planned_import
from memtui.model import to_record
from memtui.progress import Cancelled
from memtui.stores.ambient import backup as ambient
from tests.unit.library.stores_for_tests import agent_memory, fact, write_facts

SAMPLES = Path(__file__).parents[3] / "sample-data"
NAMES = (
    *("agent-memory", "ambient", "engram", "simple-memory", "workspace"),
    *("claude-code", "codex", "gemini", "hermes", "mcp-memory", "openclaw"),
    *("markdown-folder", "serena"),
)


def opened(tmp_path: Path, *roots: Path) -> Library:
    library = Library.open(roots, state=tmp_path / "state")
    library.load()
    return library


def sample(tmp_path: Path, name: str, place: str = "store") -> Library:
    shutil.copytree(SAMPLES / name, tmp_path / place)
    return opened(tmp_path, tmp_path / place)


def bundle(tmp_path: Path, library: Library, *, part: bool = False, most: int = 0) -> Path:
    """A bundle of the library, whole or (part) as a selection of all its memories, or of so many
    (most) of each kind, type and status."""
    file = tmp_path / "export.zip"
    chosen = None
    if part or most:
        alike: Counter[tuple[str, ...]] = Counter()
        chosen = []
        for memory in (m for s in library.stores for m in library.memories(s.label)):
            alike[like := (memory.kind, memory.type, memory.status)] += 1
            if not most or alike[like] <= most:
                chosen.append(memory)
    file.write_bytes(b"".join(archive.encode_archive(pack_stores(library, chosen).archive)))
    return file


def merged(library: Library, file: Path) -> ImportPlan:
    plan = plan_import(read_document(file), library, library.stores[0].label)
    if plan.has_edits:
        library.apply(planned_import(plan))
    return plan


def texts(folder: Path) -> dict[str, bytes]:
    """The store's own files, without memtui's notes beside them."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".memtui" not in path.parts
    }


@pytest.mark.parametrize("part", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_a_second_import_adds_nothing(tmp_path: Path, name: str, part: bool) -> None:
    library = sample(tmp_path, name)
    plan = plan_import(read_document(bundle(tmp_path, library, part=part)), library)
    assert plan.counts == {"new": 0, "same": library.snapshot.count, "conflicts": 0, "refused": 0}
    assert not plan.has_edits


def test_undo_of_an_import_gives_the_same_bytes(tmp_path: Path) -> None:
    here = agent_memory(tmp_path / "here", {"alice": ["Alice leads the tide tables team"]})
    there = agent_memory(tmp_path / "there", {})
    write_facts(there, "bob", [fact(90, "Bob winds the clocks")])
    write_facts(there, "alice", [fact(91, "Alice sails on Sundays")])
    file = bundle(tmp_path, opened(tmp_path, there))
    library = opened(tmp_path, here)
    before = {p: p.read_bytes() for p in here.rglob("*") if p.is_file()}
    assert merged(library, file).counts["new"] == 2
    assert "Sundays" in (here / "entities" / "alice" / "items.json").read_text()
    library.undo()
    assert {p: p.read_bytes() for p in here.rglob("*") if p.is_file()} == before


def test_native_memories_keep_id_time_and_status(tmp_path: Path) -> None:
    there = agent_memory(tmp_path / "there", {})
    old = fact(51, "The bell weighs two tons", status="historical", weight=1.5)
    write_facts(there, "bell", [old, fact(52, "It weighs three tons", supersedes=old["id"])])
    library = opened(tmp_path, agent_memory(tmp_path / "here", {"alice": ["Alice sails"]}))
    merged(library, bundle(tmp_path, opened(tmp_path, there)))
    came = library.get(f"agent-memory:{old['id']}")
    assert came.status == "superseded"
    assert came.extra["weight"] == 1.5
    assert came.extra["createdAt"] == old["createdAt"]


def test_a_part_of_a_workspace_brings_its_documents_as_they_are(tmp_path: Path) -> None:
    source = sample(tmp_path, "workspace", "source")
    shutil.copytree(SAMPLES / "workspace", tmp_path / "store")
    for folder in ("knowledge", "lessons"):
        shutil.rmtree(tmp_path / "store" / folder)
    library = opened(tmp_path, tmp_path / "store")
    assert merged(library, bundle(tmp_path, source, part=True)).counts["conflicts"] == 0
    assert texts(tmp_path / "store") == texts(tmp_path / "source")


def test_what_differs_is_listed_and_left(tmp_path: Path) -> None:
    there = agent_memory(tmp_path / "there", {"alice": ["Alice sails"]})
    here = agent_memory(tmp_path / "here", {"alice": ["Alice rows"]})
    before = texts(here)
    library = opened(tmp_path, here)
    plan = merged(library, bundle(tmp_path, opened(tmp_path, there)))
    assert plan.counts == {"new": 0, "same": 0, "conflicts": 1, "refused": 0}
    assert plan.imports[0].conflicts[0].differs == ("content",)
    assert texts(here) == before


def test_an_import_never_supersedes(tmp_path: Path) -> None:
    """The rule that a text like "now works at" replaces the fact before it is not asked."""
    here = agent_memory(tmp_path / "here", {"alice": ["Alice works at the harbour office"]})
    there = agent_memory(tmp_path / "there", {})
    write_facts(there, "alice", [fact(77, "Alice now works at the town hall archive")])
    library = opened(tmp_path, here)
    assert merged(library, bundle(tmp_path, opened(tmp_path, there))).counts["new"] == 1
    assert {m.status for m in library.memories("agent-memory")} == {"active"}


def test_an_ambient_backup_into_agent_memory_names_what_is_lost(tmp_path: Path) -> None:
    source = sample(tmp_path, "ambient", "source")
    made = ambient.backup(
        list(source.memories("ambient")), source.stores, datetime(2026, 11, 21, tzinfo=UTC)
    )
    file = tmp_path / "backup.json"
    file.write_text(ambient.dumps(made.document, pretty=True), encoding="utf-8")
    library = sample(tmp_path, "agent-memory")
    plan = merged(library, file)
    assert plan.lost["type (becomes a tag)"] == plan.counts["new"] > 100
    assert plan.lost["importance (follows from age and uses)"] > 0
    first = plan.imports[0].new[0].memory
    came = next(m for m in library.memories("agent-memory") if m.id == first.id)
    assert came.content == first.content
    assert came.extra["sourceRef"] == first.ref
    assert first.type in came.tags
    assert came.created is not None
    assert first.created is not None
    assert came.created == first.created.replace(microsecond=0)


def test_json_lines_go_back_where_they_came_from(tmp_path: Path) -> None:
    library = sample(tmp_path, "simple-memory")
    file = tmp_path / "m.jsonl"
    memories = list(library.memories("simple-memory"))
    file.write_text("".join(encode_jsonl(memories)), encoding="ascii")
    assert plan_import(read_document(file), library).counts["same"] == len(memories)


def test_engrams_own_export_with_its_verdicts(tmp_path: Path) -> None:
    library = sample(tmp_path, "engram")
    file = tmp_path / "engram.json"
    file.write_bytes(b"".join(export_memories(library, "engram", None).pieces))
    plan = plan_import(read_document(file), library)
    assert (plan.counts["new"], plan.counts["conflicts"]) == (0, 0)
    assert plan.counts["same"] > 100


def test_stopping_leaves_nothing(tmp_path: Path) -> None:
    file = bundle(tmp_path, sample(tmp_path, "ambient", "source"))
    library = sample(tmp_path, "agent-memory")
    before = texts(tmp_path / "store")
    looks: list[int] = []

    def stopped() -> bool:
        looks.append(1)
        return len(looks) > 2

    with pytest.raises(Cancelled):
        plan_import(read_document(file), library, "agent-memory", cancelled=stopped)
    assert texts(tmp_path / "store") == before


def test_nowhere_to_go_is_said(tmp_path: Path) -> None:
    file = bundle(tmp_path, sample(tmp_path, "ambient", "source"))
    with pytest.raises(Refused, match="no open store has the format of ambient"):
        plan_import(read_document(file), sample(tmp_path, "agent-memory"))


def _record(**values: object) -> Callable[[Path], str]:
    def text(root: Path) -> str:
        library = opened(root, agent_memory(root / "any", {"alice": ["Alice sails"]}))
        memory = replace(next(iter(library.memories("agent-memory"))))
        return json.dumps({**to_record(memory), **values}) + "\n"

    return text


BAD_TEXTS: dict[str, Callable[[Path], str]] = {
    "empty": lambda _: "",
    "prose": lambda _: "remember the milk",
    "number": lambda _: "7",
    "deep": lambda _: "[" * 100_000,
    "unknown version": lambda _: '{"version": 9, "projects": {}}',
    "project key": lambda _: '{"version": 1, "projects": {"../../x": {"project": {"events": []}}}}',
    "branch key": lambda _: (
        '{"version": 1, "projects": {"0123456789abcdef": {"tasks": {"../x": {"events": []}}}}}'
    ),
    "content": _record(content=7),
    "status": _record(status="\x1b[2J"),
    "kind": _record(kind="virus"),
    "time": _record(created="yesterday"),
    "naive time": _record(created="2026-11-21T10:00:00"),
    "extra key": _record(evil=1),
    "extra": _record(extra=[1]),
}


@pytest.mark.parametrize("name", BAD_TEXTS)
def test_what_is_no_export_is_refused_whole(tmp_path: Path, name: str) -> None:
    file = tmp_path / "bad.json"
    file.write_text(BAD_TEXTS[name](tmp_path), encoding="utf-8")
    with pytest.raises(BundleError):
        read_document(file)


@pytest.mark.parametrize(
    ("line", "fault"),
    [('{"id": "x"}', "line 4: a record has no field"), ("{", "no JSON at line 4")],
)
def test_a_fault_in_json_lines_is_named_with_its_line(
    tmp_path: Path, line: str, fault: str
) -> None:
    library = sample(tmp_path, "agent-memory")
    first, second = list(encode_jsonl(library.memories(library.stores[0].label)))[:2]
    file = tmp_path / "in.jsonl"
    file.write_text(f"{first}{second}\n{line}\n", encoding="utf-8")
    with pytest.raises(BundleError, match=fault):
        read_document(file)
