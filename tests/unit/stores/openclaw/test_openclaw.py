"""Promoted lines, daily logs, the bootstrap cap; items are changed and all other bytes stay."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.changes import Act, Change
from memtui.errors import MemtuiError, Refused
from memtui.library import Library
from memtui.query import parse_query
from memtui.stores import registry
from memtui.stores.markdown.items import MarkdownList
from memtui.stores.openclaw import detect
from memtui.stores.openclaw.store import BOOTSTRAP_CHARACTERS, OpenClawStore, recalls_tag
from memtui.stores.sidecar import Sidecar
from memtui.testing.fixtures import contents
from tests.samples import SAMPLES

SAMPLE = SAMPLES / "openclaw"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SAMPLE, tmp_path / "workspace"))


def load(root: Path) -> Library:
    library = Library.open([root], state=root.parent / "state")
    library.load()
    return library


def test_promoted_lines_that_nobody_recalled_are_found_and_deleted(root: Path) -> None:
    library = load(root)
    found = library.find(parse_query("type:promoted tag:recalls=0", library.now()))
    chosen = [library.snapshot.rows[slot] for slot in found.slots]
    assert len(chosen) == 3
    assert {memory.source for memory in chosen} >= {"memory/2026-10-25.md:8-8"}
    assert all(memory.confidence and memory.confidence > 0.7 for memory in chosen)
    before = contents(root)
    label = library.stores[0].label
    library.apply(library.plan([Change(Act.DELETE, label, memory.ref) for memory in chosen]))
    text = (root / "MEMORY.md").read_text()
    assert "recalls=0" not in text
    assert text.count("recalls=") == 3
    assert text.count("<!-- openclaw-memory-promotion") == 6, "comments are never written"
    library.undo()
    assert contents(root) == before


def test_a_fact_is_added_below_its_heading_and_a_new_heading_is_made(root: Path) -> None:
    library = load(root)
    label = library.stores[0].label
    for entity, text in (("memory/People", "Zoë is new"), ("memory/Weather", "Fog on Mondays")):
        library.apply(
            library.plan([Change(Act.ADD, label, "", {"content": text, "entity": entity})])
        )
    text = (root / "MEMORY.md").read_text()
    assert "next door\n- Zoë is new\n\n## Front desk" in text
    assert text.endswith("\n\n## Weather\n\n- Fog on Mondays\n")
    found = {memory.content: memory.entity for memory in library.memories(label)}
    assert found["Zoë is new"] == "memory/People"
    assert found["Fog on Mondays"] == "memory/Weather"


def test_a_new_day_gets_a_log(root: Path) -> None:
    library = load(root)
    label = library.stores[0].label
    fields = {"content": "First snow", "entity": "daily/2026-11-21"}
    library.apply(library.plan([Change(Act.ADD, label, "", fields)]))
    log = root / "memory" / "2026-11-21.md"
    assert log.read_text() == "# 2026-11-21\n\n- First snow\n"
    added = next(memory for memory in library.memories(label) if memory.content == "First snow")
    assert (added.kind, added.created) == ("event", datetime(2026, 11, 21, tzinfo=UTC))
    for entity in ("daily/..", "daily/2026-13-01", "daily/2026-11-21/x", "elsewhere"):
        with pytest.raises(MemtuiError):
            library.plan([Change(Act.ADD, label, "", {"content": "x", "entity": entity})])


def test_a_session_is_given_what_is_within_the_cap(root: Path) -> None:
    text = (root / "MEMORY.md").read_text()
    lines = "".join(
        f"- line {number} of a long list that grows and grows\n" for number in range(400)
    )
    (root / "MEMORY.md").write_text(text + lines)
    library = load(root)
    store = OpenClawStore(root, library.stores[0].label)
    day = datetime(2026, 11, 20, 12, tzinfo=UTC)
    given = {text.title: text for text in store.session_start(library, "", day)}
    assert list(given)[-3:] == ["MEMORY.md", "memory/2026-11-19.md", "memory/2026-11-20.md"]
    assert given["MEMORY.md"].cut == BOOTSTRAP_CHARACTERS
    for entry in given["MEMORY.md"].entries:
        memory = library.get(entry.ref)
        assert memory.content in given["MEMORY.md"].text[entry.start : entry.end]
        assert memory.extra["loaded_at_start"] is (entry.end <= BOOTSTRAP_CHARACTERS)


def test_the_state_of_the_program_is_neither_read_nor_written(root: Path) -> None:
    state = root / "memory" / ".dreams" / "notes.md"
    state.write_text("- a gullfeather\n")
    library = load(root)
    assert not any("gullfeather" in memory.content for memory in library.memories("openclaw"))


def test_workspaces_are_found_and_other_folders_are_not(root: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(SAMPLE, home / ".openclaw" / "workspace")
    shutil.copytree(SAMPLE, home / ".openclaw" / "workspace-desk")
    (tmp_path / "empty").mkdir()
    found = [path.name for _, path in registry.discover(tmp_path / "empty", home, {})]
    assert found == ["workspace", "workspace-desk"]
    assert detect(root / "memory") == root
    (root / "SOUL.md").unlink()
    (root / "IDENTITY.md").unlink()
    (root / "HEARTBEAT.md").unlink()
    assert detect(root) is None
    for sample in SAMPLE.parent.iterdir():
        assert sample.name == "openclaw" or detect(sample) is None, sample.name


def test_a_workspace_in_the_folder_of_openclaw_needs_only_memory(tmp_path: Path) -> None:
    """`skipBootstrap`, and people who removed SOUL.md: the workspace was not found, silently."""
    workspace = tmp_path / ".openclaw" / "workspace"
    (workspace / "memory").mkdir(parents=True)
    assert detect(workspace) is None
    (workspace / "memory" / "2026-08-01.md").write_text("- paid the rent\n")
    assert [root for _, root in registry.discover(tmp_path / "none", tmp_path, {})] == [workspace]


def test_workspaces_that_the_settings_name_are_found(root: Path, tmp_path: Path) -> None:
    home, other = tmp_path / "home", tmp_path / "home" / "deep" / "other"
    shutil.copytree(SAMPLE, other)
    agents = {"defaults": {"workspace": str(root)}, "list": [{"workspace": "~/deep/other"}, 7]}
    (home / ".openclaw").mkdir()
    (home / ".openclaw" / "openclaw.json").write_text(json.dumps({"agents": agents}))
    found = [path for _, path in registry.discover(tmp_path / "none", home, {})]
    assert found == [root, other]


def test_promotions_that_are_not_well_formed_are_plain_text() -> None:
    assert recalls_tag("a [score=0.5 recalls=2 avg=0.4 source=memory/a.md:1-1]")
    for text in (
        "a",
        "a [score=x recalls=2 avg=1 source=b]",
        "a [score=1.1.1 recalls=2 avg=1 source=b]",
    ):
        assert not recalls_tag(text)


# ---- lists at random ----------------------------------------------------------------------------

LINE = st.sampled_from(
    [
        "# Top",
        "## One",
        "## Two",
        "- a",
        "- b c",
        "  deeper",
        "",
        "plain",
        "<!-- c -->",
        "* d",
        "1. e",
        "---",
    ]
)
FILES = st.lists(LINE, min_size=1, max_size=12).map("\n".join).filter(str.strip)
WANTED = st.sampled_from(["new", "new\nlines", "é漢 🙂", "- nested", "# heading", "x\n\ny", "a"])


def opened(text: str) -> MarkdownList:
    return MarkdownList("MEMORY.md", Path("/x/MEMORY.md"), text, Sidecar())


@given(FILES, st.sampled_from(["", "\n"]), WANTED, st.sampled_from(["", "One", "Three", "Top"]))
def test_an_item_is_added_to_its_section(text: str, end: str, wanted: str, section: str) -> None:
    file = opened(text + end)
    try:
        after = file.insert(section, wanted)
    except Refused:
        return
    now = opened(after).items
    before = [item.text for item in file.items]
    assert sorted(item.text for item in now) == sorted([*before, wanted])
    assert not section or any(i.text == wanted and i.group == section for i in now)
    lines = iter(after.split("\n"))
    assert all(line in lines for line in text.rstrip("\n").split("\n")), "every line is there"


@given(FILES, st.data())
def test_items_are_removed_and_every_other_line_stays(text: str, data: st.DataObject) -> None:
    file = opened(text)
    if not file.items:
        return
    gone = data.draw(st.lists(st.sampled_from(list(file.items)), unique=True, min_size=1))
    after = file.remove(gone)
    lines = iter(text.split("\n"))
    assert all(line in lines for line in after.rstrip("\n").split("\n") if line)
    for line in text.split("\n"):
        if line.startswith(("#", "<!--")):
            assert line in after


@pytest.mark.parametrize(
    ("act", "fault"),
    [
        (Act.DELETE, "it tells the agent who it is"),
        (Act.RETIRE, "it tells the agent who it is"),
        (Act.SUPERSEDE, "it tells the agent who it is"),
        (Act.RETYPE, "an item has no type"),
    ],
)
def test_a_note_is_edited_and_nothing_else(root: Path, act: Act, fault: str) -> None:
    library = load(root)
    label = library.stores[0].label
    with pytest.raises(Refused, match=fault):
        library.plan([Change(act, label, f"{label}:SOUL.md", {"content": "x", "type": "x"})])
    before = contents(root)
    text = (root / "SOUL.md").read_text()
    change = Change(Act.EDIT, label, f"{label}:SOUL.md", {"content": f"{text}More.\n"})
    library.apply(library.plan([change]))
    assert (root / "SOUL.md").read_text() == f"{text}More.\n"
    library.apply(library.plan([Change(Act.PIN, label, f"{label}:SOUL.md", {})]))
    assert library.get(f"{label}:SOUL.md").pinned
    assert contents(root).keys() - before.keys() <= {".memtui/sidecar.jsonl"}


def test_an_item_is_restored_only_when_it_is_gone(root: Path) -> None:
    library = load(root)
    label = library.stores[0].label
    item = next(m for m in library.memories(label) if m.id.startswith("MEMORY.md#"))
    with pytest.raises(Refused, match="it is active already"):
        library.plan([Change(Act.RESTORE, label, item.ref, {})])
    library.apply(library.plan([Change(Act.RETIRE, label, item.ref, {})]))
    with pytest.raises(Refused, match="restore it first"):
        library.plan([Change(Act.EDIT, label, item.ref, {"content": "x"})])
    library.apply(library.plan([Change(Act.RESTORE, label, item.ref, {})]))
    assert library.get(item.ref).status == "active"


def test_an_empty_memory_file_is_named_and_an_empty_note_is_nothing(root: Path) -> None:
    for name in ("MEMORY.md", "USER.md"):
        (root / name).write_text("")
    library = load(root)
    (unreadable,) = library.snapshot.stores[0].unreadable
    assert unreadable.file == str(root / "MEMORY.md")
    assert f"{library.stores[0].label}:USER.md" not in {m.ref for m in library.snapshot.rows}


@pytest.mark.parametrize(
    ("id", "fault"),
    [
        ("elsewhere.md#a", "cannot be added here"),
        ("memory/.deep/2026-11-01.md#a", "cannot be added here"),
        ("memory/2026-11-01.txt#a", "cannot be added here"),
        ("OTHER.md", "notes cannot be added here"),
    ],
)
def test_an_import_has_a_place(root: Path, id: str, fault: str) -> None:
    library = load(root)
    label = library.stores[0].label
    with pytest.raises(Refused, match=fault):
        library.plan([Change(Act.ADD, label, "", {"id": id, "content": "x"})])


def test_an_imported_item_goes_to_its_day_and_a_note_to_its_file(root: Path) -> None:
    (root / "USER.md").unlink()
    library = load(root)
    label = library.stores[0].label
    for fields in (
        {"id": "memory/2026-11-02.md#a", "content": "Wind"},
        {"id": "USER.md", "content": "# Ann\n"},
    ):
        library.apply(library.plan([Change(Act.ADD, label, "", fields)]))
    assert "- Wind\n" in (root / "memory" / "2026-11-02.md").read_text()
    assert library.get(f"{label}:memory/2026-11-02.md#a").kind == "event"
    assert (root / "USER.md").read_text() == "# Ann\n"


def test_tags_of_a_note_are_kept_beside_it(root: Path) -> None:
    library = load(root)
    label = library.stores[0].label
    before = (root / "SOUL.md").read_text()
    library.apply(library.plan([Change(Act.EDIT, label, f"{label}:SOUL.md", {"tags": ["self"]})]))
    assert library.get(f"{label}:SOUL.md").tags == ("self",)
    assert (root / "SOUL.md").read_text() == before


@pytest.mark.parametrize("head", ["", "---\ntitle: mine\n---\n"])
def test_all_of_the_file_counts_towards_what_a_session_is_given(root: Path, head: str) -> None:
    file = root / "MEMORY.md"
    file.write_text(head + file.read_text())
    library = load(root)
    label = library.stores[0].label
    items = [each for each in library.memories(label) if each.origin.file == str(file)]
    limit = f"{len(file.read_text()):,} of {BOOTSTRAP_CHARACTERS:,} characters"
    assert {each.extra["load_limit"] for each in items} == {limit}


def test_folders_of_notes_and_both_root_files_are_read(tmp_path: Path) -> None:
    for name, text in {
        "SOUL.md": "# Soul\n",
        "USER.md": "# User\n",
        "MEMORY.md": "- Pat is the landlord\n",
        "memory.md": "- The key is at the neighbour\n",
        "memory/2026-08-01_bank.md": "- Called the bank\n",
        "memory/important/2026-03-04-v3.md": "- Moved to v3\n",
        "memory/people/pat.md": "- Phone in the book\n",
        "memory/.dreams/x.md": "- Not a memory\n",
    }.items():
        (tmp_path / "w" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "w" / name).write_text(text)
    library = load(tmp_path / "w")
    found = {m.content: m for m in library.snapshot.rows if m.kind != "document"}
    assert {text: f"{m.created:%F}" if m.created else "" for text, m in found.items()} == {
        "Pat is the landlord": "",
        "The key is at the neighbour": "",
        "Called the bank": "2026-08-01",
        "Moved to v3": "2026-03-04",
        "Phone in the book": "",
    }
    assert found["Phone in the book"].entity == "notes/people/pat"
    edit = Change(Act.EDIT, "openclaw", found["Moved to v3"].ref, {"content": "Moved to v4"})
    library.apply(library.plan([edit]))
    assert (tmp_path / "w/memory/important/2026-03-04-v3.md").read_text() == "- Moved to v4\n"
