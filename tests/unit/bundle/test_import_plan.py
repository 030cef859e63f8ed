"""Imports into stores that exist: what is there stays, nothing comes twice, one undo for all."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from memtui.bundle import archive
from memtui.bundle.bundle_reader import read_document
from memtui.bundle.bundle_writer import pack_stores
from memtui.bundle.exporting import encode_jsonl, export_memories
from memtui.bundle.import_plan import ImportPlan, plan_import
from memtui.changes import Act, Change
from memtui.errors import BundleError, RefError, Refused
from memtui.library import Library
from memtui.library.planning import planned_import
from memtui.model import Memory, to_record
from memtui.progress import Cancelled, Progress
from memtui.stores.ambient import backup as ambient
from memtui.stores.format import ExportRequest
from memtui.testing.fixtures import contents
from tests.long_run import share
from tests.samples import SAMPLES
from tests.unit.library.stores_for_tests import agent_memory, fact, write_facts

NAMES = (
    *("agent-memory", "ambient", "engram", "simple-memory", "workspace"),
    *("claude-code", "codex", "gemini", "hermes", "mcp-memory", "openclaw", "beads"),
    "project-instructions",
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
    assert contents(tmp_path / "store") == contents(tmp_path / "source")


def test_what_differs_is_listed_and_left(tmp_path: Path) -> None:
    there = agent_memory(tmp_path / "there", {"alice": ["Alice sails"]})
    here = agent_memory(tmp_path / "here", {"alice": ["Alice rows"]})
    before = contents(here)
    library = opened(tmp_path, here)
    plan = merged(library, bundle(tmp_path, opened(tmp_path, there)))
    assert plan.counts == {"new": 0, "same": 0, "conflicts": 1, "refused": 0}
    assert plan.imports[0].conflicts[0].differs == ("content",)
    assert contents(here) == before


def test_an_import_never_supersedes(tmp_path: Path) -> None:
    """The rule that a text like "now works at" replaces the fact before it is not asked."""
    here = agent_memory(tmp_path / "here", {"alice": ["Alice works at the harbour office"]})
    there = agent_memory(tmp_path / "there", {})
    write_facts(there, "alice", [fact(77, "Alice now works at the town hall archive")])
    library = opened(tmp_path, here)
    assert merged(library, bundle(tmp_path, opened(tmp_path, there))).counts["new"] == 1
    assert {m.status for m in library.memories("agent-memory")} == {"active"}


@pytest.mark.slow
def test_an_ambient_backup_into_agent_memory_names_what_is_lost(tmp_path: Path) -> None:
    source = sample(tmp_path, "ambient", "source")
    memories, now = list(source.memories("ambient")), datetime(2026, 11, 21, tzinfo=UTC)
    made = ambient.backup(ExportRequest(memories, source.stores, now))
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
    before = contents(tmp_path / "store")
    looks: list[int] = []

    def stopped() -> bool:
        looks.append(1)
        return len(looks) > 2

    with pytest.raises(Cancelled):
        plan_import(read_document(file), library, "agent-memory", cancelled=stopped)
    assert contents(tmp_path / "store") == before


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


# ---- which store, and what is new ---------------------------------------------------------------

TIME = datetime(2026, 3, 1, 10, tzinfo=UTC)


def a_fact(id: str, content: str, store: str = "agent-memory", **fields: object) -> Memory:
    memory = Memory(f"{store}:{id}", id, store, "fact", content=content, created=TIME)
    return replace(memory, **{"entity": "people/alice", "type": "person", **fields})


def lines(folder: Path, *memories: Memory) -> Path:
    file = folder / "in.jsonl"
    file.write_text("".join(encode_jsonl(memories)), encoding="ascii")
    return file


def two_stores(tmp_path: Path, *labels: str) -> Library:
    roots = [agent_memory(tmp_path / name, {name: [f"{name} sails"]}) for name in ("one", "two")]
    library = Library.open(roots, state=tmp_path / "state", labels=labels)
    library.load()
    return library


@pytest.mark.parametrize(
    ("label", "into", "target"),
    [
        ("agent-memory", "", "agent-memory"),
        ("agent-memory-2", "", "agent-memory-2"),
        (
            "agent-memory-3",
            "",
            "several open stores have the format of agent-memory-3, agent-memory",
        ),
        ("agent-memory-3", "agent-memory-2", "agent-memory-2"),
        ("ambient", "", "no open store has the format of ambient"),
        ("ambient-2", "", "no open store has the format of ambient-2, ambient"),
        ("agent-memoryx", "", "no open store has the format of agent-memoryx, "),
    ],
)
def test_a_memory_goes_to_the_store_of_its_label_or_format(
    tmp_path: Path, label: str, into: str, target: str
) -> None:
    library = two_stores(tmp_path, "agent-memory", "agent-memory-2")
    document = read_document(lines(tmp_path, a_fact("1", "Alice rows", label)))
    if " " in target:
        with pytest.raises(Refused) as caught:
            plan_import(document, library, into)
        assert (caught.value.what, caught.value.do) == (target, "choose the store to import into")
    else:
        plan = plan_import(document, library, into)
        assert [(part.source, part.target) for part in plan.imports] == [(label, target)]
        assert [part.store for part in plan.parts] == [str(library.store(target).root)]


def test_the_only_store_of_a_format_takes_what_another_label_had(tmp_path: Path) -> None:
    library = opened(tmp_path, agent_memory(tmp_path / "one", {"bob": ["Bob rows"]}))
    plan = plan_import(read_document(lines(tmp_path, a_fact("1", "x", "agent-memory-9"))), library)
    assert plan.imports[0].target == "agent-memory"
    assert plan.title == "import 1 memory"


def test_a_store_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    library = opened(tmp_path, engram(tmp_path / "here", "PRAGMA user_version = 99"))
    file = lines(tmp_path, a_fact("1", "Alice rows", "engram"))
    with pytest.raises(Refused) as caught:
        plan_import(read_document(file), library)
    assert caught.value.where == "engram"
    assert "99" in caught.value.what


@pytest.mark.parametrize("target", ["agent-memory", "ambient", "engram", "simple-memory"])
def test_two_memories_of_one_id_are_compared_with_each_other(tmp_path: Path, target: str) -> None:
    """Only the first of them comes in: the other is the same, or its text would be lost unseen."""
    library = sample(tmp_path, target)
    twice = [a_fact("1", "Alice rows"), a_fact("1", "Alice rows"), a_fact("1", "Alice sails")]
    document = read_document(lines(tmp_path, *twice, a_fact("2", "Alice dives")))
    plan = plan_import(document, library, target)
    assert plan.counts == {"new": 2, "same": 1, "conflicts": 1, "refused": 0}
    (conflict,) = plan.imports[0].conflicts
    assert (conflict.memory.content, conflict.existing) == ("Alice sails", "agent-memory:1")
    assert conflict.differs == ("content",)
    assert [item.memory.content for item in plan.imports[0].new] == ["Alice rows", "Alice dives"]


def test_each_field_that_differs_is_named(tmp_path: Path) -> None:
    library = opened(tmp_path, agent_memory(tmp_path / "one", {"alice": ["Alice rows"]}))
    (there,) = library.memories("agent-memory")
    other = replace(
        there,
        content="Alice sails",
        entity="people/bob",
        status="retired",
        created=TIME,
        tags=("t",),
    )
    plan = plan_import(read_document(lines(tmp_path, there, other)), library)
    assert plan.counts == {"new": 0, "same": 1, "conflicts": 1, "refused": 0}
    (conflict,) = plan.imports[0].conflicts
    assert conflict.existing == there.ref
    assert conflict.differs == ("content", "entity", "status", "created")
    assert not plan.has_edits


def test_what_a_store_rejects_is_listed_and_the_rest_comes(tmp_path: Path) -> None:
    library = opened(tmp_path, agent_memory(tmp_path / "one", {"alice": ["Alice rows"]}))
    memories = [a_fact("1", "Alice sails", entity="nobody/at/all"), a_fact("2", "Alice dives")]
    plan = merged(library, lines(tmp_path, *memories))
    assert plan.counts == {"new": 1, "same": 0, "conflicts": 0, "refused": 1}
    (refused,) = plan.imports[0].refused
    assert (refused.memory.id, refused.why) == (
        "1",
        "an entity of agent-memory is a type and a name",
    )
    assert {m.content for m in library.memories("agent-memory")} == {"Alice rows", "Alice dives"}


def test_progress_is_reported_every_fifty_memories(tmp_path: Path) -> None:
    library = opened(tmp_path, agent_memory(tmp_path / "one", {"alice": ["Alice rows"]}))
    file = lines(tmp_path, *(a_fact(f"{n}", f"Alice rows {n} miles") for n in range(101)))
    reports: list[Progress] = []
    plan_import(read_document(file), library, report=reports.append)
    assert reports == [Progress("planning agent-memory", done, 101) for done in (0, 50, 100)]


def test_what_is_lost_most_often_is_named_first(tmp_path: Path) -> None:
    library = sample(tmp_path, "ambient")
    memories = [
        a_fact("1", "One", confidence=0.5),
        a_fact("2", "Two", title="A title of two", source="letters"),
        a_fact("3", "Three", source="letters"),
    ]
    lost = plan_import(read_document(lines(tmp_path, *memories)), library, "ambient").lost
    assert list(lost.values()) == sorted(lost.values(), reverse=True)
    alike = [[name for name in lost if lost[name] == count] for count in set(lost.values())]
    assert len(alike) > 1
    assert all(names == sorted(names) for names in alike)


def test_the_same_text_from_another_format_is_not_added_again(tmp_path: Path) -> None:
    """It is found by the id it was given; a text that differs since is listed."""
    library = sample(tmp_path, "workspace")
    here = [a_fact("1", "Alice rows"), a_fact("2", "Bob rows")]
    merged(library, lines(tmp_path, *here))
    plan = merged(library, lines(tmp_path, here[0], a_fact("3", "Carol rows")))
    assert (plan.counts["new"], plan.counts["same"]) == (1, 1)


# ---- stores that plan an import by themselves ---------------------------------------------------


def engram(folder: Path, *statements: str) -> Path:
    """The sample store, with its database changed."""
    shutil.copytree(SAMPLES / "engram", folder)
    with closing(sqlite3.connect(folder / "engram.db")) as db, db:
        for statement in statements:
            db.execute(statement)
    return folder


@pytest.mark.parametrize("form", ["bundle", "engram"])
def test_a_whole_engram_is_imported_by_engrams_own_keys(tmp_path: Path, form: str) -> None:
    """With what is no memory: its sessions."""
    there = engram(
        tmp_path / "there",
        "UPDATE observations SET content = 'They wrote it anew' WHERE id = 1",
        "INSERT INTO sessions (id, project, directory) VALUES ('theirs', 'p', '/p')",
        "INSERT INTO observations (session_id, sync_id, type, title, content, project)"
        " VALUES ('theirs', 'obs-new', 'decision', 'New', 'A new one', 'p')",
    )
    file = tmp_path / "in"
    file.write_bytes(b"".join(export_memories(opened(tmp_path, there), form, None).pieces))
    library = opened(tmp_path, engram(tmp_path / "here"))
    count = library.snapshot.count
    reports: list[Progress] = []
    plan = plan_import(read_document(file), library, report=reports.append)
    (part,) = plan.imports
    assert reports == [Progress("planning engram", 0, 0)]
    assert (part.source, part.target) == ("engram", "engram")
    assert part.reason.startswith("1 new, ")
    assert [item.memory.content for item in part.new] == ["A new one"]
    assert [(c.existing, c.differs) for c in part.conflicts] == [("engram:1", ("content",))]
    assert (len(part.same), part.refused) == (count - 1, ())
    library.apply(planned_import(plan))
    with closing(sqlite3.connect(tmp_path / "here" / "engram.db")) as db:
        assert db.execute("SELECT count(*) FROM sessions WHERE id = 'theirs'").fetchone() == (1,)


def test_a_part_of_an_engram_is_imported_memory_by_memory(tmp_path: Path) -> None:
    there = opened(tmp_path, engram(tmp_path / "there", "UPDATE observations SET title = 'Anew'"))
    chosen = [m for m in there.memories("engram") if m.title == "Anew"][:3]
    file = tmp_path / "in.zip"
    file.write_bytes(b"".join(export_memories(there, "bundle", chosen).pieces))
    plan = plan_import(read_document(file), opened(tmp_path, engram(tmp_path / "here")))
    (part,) = plan.imports
    assert part.reason == ""
    assert [(c.memory.id, c.differs) for c in part.conflicts] == [
        (m.id, ("title",)) for m in chosen
    ]


FOLLOWS = {"place", "origin", "also", "extra", "updated"}
"""Fields that say where a memory lies, or when its file was written."""
FOLLOWS_ALL = {
    "claude-code": {"kind", "importance", "links"},  # an index line without its file is a fact
    "mcp-memory": {"kind", "links"},
    "beads": {"source"},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", share(NAMES, 0, 6))
def test_what_was_deleted_since_comes_back_as_it_was(tmp_path: Path, name: str) -> None:
    file = bundle(tmp_path, sample(tmp_path, name, "source"), part=True)
    library = sample(tmp_path, name)
    label = library.stores[0].label
    before = {memory.id: memory for memory in library.memories(label)}
    for memory in before.values():
        with suppress(RefError, Refused):
            library.apply(library.plan([Change(Act.DELETE, label, memory.ref, {})]))
            library.refresh()
    left = {memory.id for memory in library.memories(label)}
    counts = merged(library, file).counts
    library.refresh()
    assert counts["refused"] == 0
    assert counts["new"] + counts["same"] + counts["conflicts"] == len(before)
    came = {memory.id: memory for memory in library.memories(label)}
    assert len(came.keys() - left) >= (15 if name != "engram" else 0)
    follows = FOLLOWS | FOLLOWS_ALL.get(name, set())
    for id in came.keys() & before.keys():
        was, now = (to_record(each[id]) for each in (before, came))
        assert {k: v for k, v in now.items() if k not in follows} == {
            k: v for k, v in was.items() if k not in follows
        }
