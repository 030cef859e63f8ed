"""Changing a workspace: only the bytes asked for, types as one entry, undo to the last byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memtui.changes import Act, Outcome
from memtui.errors import Conflict, Refused
from memtui.files.reading import decode
from memtui.model import Link
from memtui.stores.markdown.documents import parse_document, with_body
from memtui.stores.workspace import MAP_PATH
from memtui.stores.workspace.rules import TypeMap, parse_type_map
from memtui.testing.fixtures import contents

from .json_stores.opened import LABEL, Opened
from .workspaces import TYPES, make, opened, put, put_map


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make(tmp_path)


@pytest.fixture
def store(root: Path) -> Opened:
    return opened(root)


def changed_files(before: dict[str, bytes], root: Path) -> set[str]:
    after = contents(root)
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


# ---- text ---------------------------------------------------------------------------------------

ODD_FILES = {
    "plain": b"# One\n\nTwo\n",
    "no last newline": b"# One\n\nTwo",
    "crlf": b"---\r\ntitle: T # why\r\n---\r\n\r\n# One\r\nTwo\r\n",
    "mixed line ends": b"# One\r\nTwo\nThree\r\n",
    "byte order mark": b"\xef\xbb\xbf# One\nTwo\n",
    "mark and frontmatter": b"\xef\xbb\xbf---\ntitle: 'T'\n---\n# One\n",
    "broken frontmatter": b"---\ntitle: [\n---\n# One\n",
    "two blocks": b"---\na: 1\n---\n---\nb: 2\n---\n# One\n",
    "comments and aliases": b"---\n# note\na: &x  1\nb: *x\n\nc: >\n  long\n---\n\n\n# One\n",
    "blank lines and blanks": b"\n  \n# One\n",
    "line separators": "# One\u2028Two\x0b\x85\n".encode(),
}


@pytest.mark.parametrize("data", ODD_FILES.values(), ids=ODD_FILES.keys())
def test_an_edit_of_the_text_keeps_everything_else(root: Path, data: bytes) -> None:
    file = put(root, "odd.md", data)
    store = opened(root)
    content = store.by_id("odd.md").content
    before = contents(root)
    plan = store.do(Act.EDIT, "odd.md", content=content.replace("One", "Uno"))
    assert file.read_bytes() == data.replace(b"One", b"Uno")
    assert changed_files(before, root) == {"odd.md"}
    store.undo(plan)
    assert file.read_bytes() == data


def test_bytes_that_are_not_utf8_survive_an_edit(root: Path) -> None:
    file = put(root, "odd.md", b"caf\xe9 One \xff\n")
    store = opened(root)
    content = store.by_id("odd.md").content
    store.do(Act.EDIT, "odd.md", content=content.replace("One", "Uno"))
    assert file.read_bytes() == b"caf\xe9 Uno \xff\n"


def test_a_text_without_its_last_newline_gets_the_one_the_file_has(store: Opened) -> None:
    store.do(Act.EDIT, "GOALS.md", content="# Goals\n\nRest.")
    assert store.by_id("GOALS.md").content == "# Goals\n\nRest.\n"


@given(st.binary(max_size=200))
def test_taking_any_file_apart_and_putting_it_together_gives_its_bytes(data: bytes) -> None:
    text = decode(data)
    document = parse_document("a.md", "/a.md", text, None)
    assert with_body(document, document.body) == text


PIECES = st.sampled_from(
    ["---\n", "---\r\n", "title: T\n", "tags: [a]\r\n", "# H\n", "\ufeff", "\n", "\r\n", "x", " "]
)


@given(st.lists(PIECES, max_size=12).map("".join), st.text(alphabet="abc \n", min_size=1))
def test_the_head_of_a_document_survives_any_new_body(text: str, body: str) -> None:
    document = parse_document("a.md", "/a.md", text, None)
    new = with_body(document, body)
    assert new.startswith(document.head)
    assert document.head + text[len(document.head) :] == text


@pytest.mark.parametrize("fields", [{"content": ""}, {"content": " \n"}, {"entity": "people"}])
def test_what_cannot_be_written_is_refused(store: Opened, fields: dict[str, str]) -> None:
    with pytest.raises(Refused):
        store.plan(Act.EDIT, "GOALS.md", **fields)


def test_asking_for_what_is_so_already_does_nothing(store: Opened) -> None:
    goals = store.by_id("GOALS.md")
    plan = store.plan(Act.EDIT, "GOALS.md", content=goals.content, title=goals.title, type="goal")
    assert (plan.outcome, plan.edits) == (Outcome.NOTHING, ())


# ---- fields -------------------------------------------------------------------------------------


def test_a_field_changes_on_its_line_and_no_other_byte(root: Path) -> None:
    text = "---\ntitle: 'Old'  # keep\nstate: todo\n# note\ntags:\n- a\n- b\n---\n\n# H\n"
    file = put(root, "tasks/a.md", text)
    store = opened(root)
    plan = store.do(Act.EDIT, "tasks/a.md", title="New", tags=["a", "c"], importance="high")
    expected = text.replace("'Old'", "'New'").replace("- b\n---", "- c\npriority: high\n---")
    assert file.read_text() == expected
    found = store.by_id("tasks/a.md")
    assert (found.title, found.tags, found.importance) == ("New", ("a", "c"), "high")
    store.undo(plan)
    assert file.read_text() == text


def test_a_title_that_is_a_heading_changes_in_the_heading(root: Path, store: Opened) -> None:
    before = contents(root)
    store.do(Act.EDIT, "GOALS.md", title="Aims")
    assert (root / "GOALS.md").read_text() == "# Aims\n\nShip the lighthouse.\n"
    assert changed_files(before, root) == {"GOALS.md"}


def test_a_document_without_frontmatter_gets_none_by_the_way(root: Path, store: Opened) -> None:
    before = contents(root)
    store.do(Act.EDIT, "GOALS.md", tags=["aim"], importance="low")
    found = store.by_id("GOALS.md")
    assert (found.tags, found.importance) == (("aim",), "low")
    assert changed_files(before, root) == set()


def test_a_field_the_line_editor_cannot_change_is_refused(root: Path) -> None:
    put(root, "a.md", "---\ntags: &t\n  - a\n---\n# H\n")
    with pytest.raises(Refused):
        opened(root).plan(Act.EDIT, "a.md", tags=["b"])


@pytest.mark.parametrize(
    ("path", "key", "retired", "restored"),
    [
        ("tasks/paint.md", "state", "cancelled", "backlog"),
        ("lessons/ropes.md", "status", "archived", "active"),
    ],
)
def test_retiring_writes_the_word_the_workspace_has_for_it(
    root: Path, store: Opened, path: str, key: str, retired: str, restored: str
) -> None:
    plan = store.do(Act.RETIRE, path)
    assert plan.supersedes == (f"{LABEL}:{path}",)
    assert store.by_id(path).status == "retired"
    assert f"{key}: {retired}\n" in (root / path).read_text()
    assert store.store.refusal(Act.RETIRE, store.by_id(path))
    store.do(Act.RESTORE, path)
    assert store.by_id(path).status == "active"
    assert f"{key}: {restored}\n" in (root / path).read_text()


def test_what_a_document_cannot_have_is_refused_with_a_reason(store: Opened) -> None:
    goals = store.by_id("GOALS.md")
    for act in (Act.RETIRE, Act.RESTORE, Act.SUPERSEDE, Act.MERGE, Act.ACCEPT, Act.DECLINE):
        assert store.store.refusal(act, goals)
        with pytest.raises(Refused):
            store.plan(act, "GOALS.md", content="x")


def test_pins_and_links_lie_beside_the_workspace(root: Path, store: Opened) -> None:
    before = contents(root)
    store.do(Act.PIN, "GOALS.md")
    plan = store.do(Act.LINK, "GOALS.md", relation="follows", target="ABOUT.md")
    goals = store.by_id("GOALS.md")
    assert goals.pinned
    assert Link("follows", "ABOUT.md") in goals.links
    assert changed_files(before, root) == set()
    store.undo(plan)
    assert store.by_id("GOALS.md").links == ()


# ---- new and gone -------------------------------------------------------------------------------


def test_a_new_document_goes_where_it_is_told(root: Path, store: Opened) -> None:
    before = contents(root)
    plan = store.do(
        Act.ADD, content="Wipe it daily.", title="Lens care", entity="knowledge/care", tags=["lens"]
    )
    assert plan.outcome is Outcome.ADDED
    assert plan.refs == (f"{LABEL}:knowledge/care/lens-care.md",)
    found = store.by_id("knowledge/care/lens-care.md")
    assert (found.title, found.tags, found.entity) == ("Lens care", ("lens",), "knowledge/care")
    assert (root / "knowledge/care/lens-care.md").read_text() == (
        "---\ntags: [lens]\n---\n# Lens care\n\nWipe it daily.\n"
    )
    store.undo(plan)
    assert contents(root) == before


def test_a_new_task_has_a_state_and_a_new_entry_its_day(store: Opened) -> None:
    store.do(Act.ADD, content="Oil the hinge", entity="tasks", importance="high")
    task = store.by_id("tasks/oil-the-hinge.md")
    assert (task.extra["state"], task.importance, task.type) == ("backlog", "high", "goal")
    plan = store.do(Act.ADD, content="Fog again", entity="journal")
    assert plan.refs == (f"{LABEL}:journal/2026-11-20-fog-again.md",)


def test_a_new_document_may_bring_its_type(store: Opened) -> None:
    store.do(Act.ADD, content="Plain words.", title="Style", type="preference")
    assert store.by_id("style.md").type == "preference"


@pytest.mark.parametrize(
    "entity", ["..", "../up", "a/../../b", ".git", "a/.hidden", "node_modules", "a\0b", "a//b"]
)
def test_a_new_document_cannot_lie_outside_or_out_of_sight(store: Opened, entity: str) -> None:
    with pytest.raises(Refused):
        store.plan(Act.ADD, content="x", title="t", entity=entity)


def test_a_new_document_follows_no_link_out(root: Path, store: Opened, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (root / "away").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Refused):
        store.plan(Act.ADD, content="x", title="t", entity="away")


def test_a_document_that_exists_is_never_written_over(root: Path, store: Opened) -> None:
    with pytest.raises(Refused):
        store.plan(Act.ADD, content="x", title="GOALS", entity="")
    plan = store.plan(Act.ADD, content="x", title="Later")
    file = put(root, "later.md", "theirs\n")
    with pytest.raises(Conflict):
        store.do_plan(plan)
    assert file.read_text() == "theirs\n"


def test_deleting_names_who_links_there_and_undo_brings_it_back(root: Path, store: Opened) -> None:
    before = contents(root)
    store.do(Act.PIN, "GOALS.md")
    plan = store.do(Act.DELETE, "GOALS.md")
    assert plan.warnings == ("ABOUT.md names it and will point nowhere",)
    assert not (root / "GOALS.md").exists()
    store.undo(plan)
    assert contents(root) == before
    assert store.by_id("GOALS.md").pinned


# ---- types --------------------------------------------------------------------------------------


def typed(root: Path) -> TypeMap:
    return parse_type_map((root / MAP_PATH).read_text())


def test_a_type_is_one_entry_of_the_map(root: Path, store: Opened) -> None:
    before = contents(root)
    plan = store.do(Act.RETYPE, "README.md", type="project")
    assert store.by_id("README.md").type == "project"
    assert changed_files(before, root) == {MAP_PATH}
    types = json.loads((root / MAP_PATH).read_text())
    assert types["exact_paths"].pop("README.md") == "project"
    assert types == TYPES
    store.undo(plan)
    assert contents(root) == before


def test_a_pattern_names_every_document_it_would_type(root: Path, store: Opened) -> None:
    before = contents(root)
    plan = store.do(Act.RETYPE, pattern="knowledge/**/*.md", type="preference")
    assert plan.refs == (f"{LABEL}:knowledge/lantern.md",)
    assert plan.warnings == ("knowledge/lantern.md: no type -> preference",)
    assert store.by_id("knowledge/lantern.md").type == "preference"
    assert store.by_id("knowledge/designs/lamp.md").type == "project"
    store.undo(plan)
    assert contents(root) == before


def test_taking_a_pattern_away_names_what_loses_its_type(store: Opened) -> None:
    plan = store.do(Act.RETYPE, pattern="knowledge/designs/*.md", type="")
    assert plan.warnings == ("knowledge/designs/lamp.md: project -> no type",)
    assert store.by_id("knowledge/designs/lamp.md").type == ""


def test_several_types_planned_side_by_side_are_all_written(root: Path, store: Opened) -> None:
    plans = [
        store.plan(Act.RETYPE, path, type="goal")
        for path in ("README.md", "knowledge/lantern.md", "lessons/ropes.md")
    ]
    before = contents(root)
    store.do_edits(tuple(edit for plan in plans for edit in plan.edits))
    assert {store.by_id(plan.refs[0].removeprefix("s:")).type for plan in plans} == {"goal"}
    for plan in reversed(plans):
        store.undo(plan)
    assert contents(root) == before


def test_a_rule_that_another_program_adds_meanwhile_is_kept(root: Path, store: Opened) -> None:
    plan = store.plan(Act.RETYPE, "README.md", type="goal")
    put_map(root, {**TYPES, "glob_paths": {**TYPES["glob_paths"], "people/*": "identity"}})
    store.do_plan(plan)
    assert typed(root).by_path("README.md").type == "goal"
    assert typed(root).by_path("people/x").type == "identity"


def test_a_type_that_a_pattern_gives_cannot_be_taken_from_one_document(store: Opened) -> None:
    with pytest.raises(Refused, match="pattern"):
        store.plan(Act.EDIT, "knowledge/designs/lamp.md", type="")
    plan = store.do(Act.EDIT, "GOALS.md", type="")
    assert store.by_id("GOALS.md").type == ""
    store.undo(plan)
    assert store.by_id("GOALS.md").type == "goal"


def test_a_word_the_workspace_ignores_is_refused(store: Opened) -> None:
    with pytest.raises(Refused, match="ignores"):
        store.plan(Act.RETYPE, "README.md", type="decision")


@pytest.mark.parametrize("text", ["{", "", '{"exact_paths": []}'])
def test_a_broken_map_is_never_written(root: Path, text: str) -> None:
    file = put(root, MAP_PATH, text)
    with pytest.raises(Refused):
        opened(root).plan(Act.RETYPE, "README.md", type="goal")
    assert file.read_text() == text


def test_a_workspace_without_a_map_gets_one(root: Path) -> None:
    (root / MAP_PATH).unlink()
    store = opened(root)
    plan = store.do(Act.RETYPE, "README.md", type="goal")
    assert typed(root).exact == {"README.md": "goal"}
    store.undo(plan)
    assert not (root / MAP_PATH).exists()


def test_several_types_planned_side_by_side_make_one_map(root: Path) -> None:
    (root / MAP_PATH).unlink()
    store = opened(root)
    plans = [store.plan(Act.RETYPE, path, type="goal") for path in ("README.md", "ABOUT.md")]
    shared, *others = dict.fromkeys(edit for plan in plans for edit in plan.edits)
    store.do_edits((shared, *others))
    assert typed(root).exact == {"README.md": "goal", "ABOUT.md": "goal"}


def test_a_map_without_that_part_gets_it(root: Path) -> None:
    file = put(root, MAP_PATH, '{\n\t"glob_paths": {}\n}')
    store = opened(root)
    plan = store.do(Act.RETYPE, "README.md", type="goal")
    assert store.by_id("README.md").type == "goal"
    assert json.loads(file.read_text()) == {"glob_paths": {}, "exact_paths": {"README.md": "goal"}}
    store.undo(plan)
    assert file.read_text() == '{\n\t"glob_paths": {}\n}'


@pytest.mark.slow
@settings(max_examples=25)
@given(st.lists(st.sampled_from(["a", "b b", "c: d", "#e", "é", "- f"]), unique=True, min_size=1))
def test_any_tags_that_are_written_read_back(root: Path, tags: list[str]) -> None:
    put(root, "tagged.md", "---\ntitle: T\ntags: [x]\n---\n\nBody\n")
    store = opened(root)
    store.do(Act.EDIT, "tagged.md", tags=tags)
    found = store.by_id("tagged.md")
    assert (list(found.tags), found.content, found.title) == (tags, "Body\n", "T")


def test_a_title_goes_where_the_document_has_one(root: Path) -> None:
    put(root, "notes/bare.md", "Only text.\n")
    put(root, "notes/named.md", "---\nname: Old\n---\n\n# Heading\n")
    put(root, "notes/keyed.md", "---\na: 1\n---\n\nOnly text.\n")
    store = opened(root)
    for path, text in (
        ("README.md", "# New\n\nSee [[lantern]] and [design](knowledge/designs/lamp.md).\n"),
        ("knowledge/lantern.md", "---\ntitle: New\ntags: [light, oil]\n---\n\nBrass.\n"),
        ("notes/named.md", "---\nname: New\n---\n\n# Heading\n"),
        ("notes/keyed.md", "---\na: 1\ntitle: New\n---\n\nOnly text.\n"),
    ):
        store.do(Act.EDIT, path, title="New")
        assert (root / path).read_text() == text
        assert store.by_id(path).title == "New"
    with pytest.raises(Refused, match="the title is the file's name"):
        store.plan(Act.EDIT, "notes/bare.md", title="New")


@pytest.mark.parametrize("front", ["", "---\nstate: todo\n---\n"])
def test_only_tasks_and_lessons_with_frontmatter_have_a_state(root: Path, front: str) -> None:
    folder = "notes" if front else "tasks"
    put(root, f"{folder}/x.md", f"{front}# X\n")
    with pytest.raises(Refused, match="tasks and lessons"):
        opened(root).plan(Act.RETIRE, f"{folder}/x.md")


def test_tags_that_were_kept_beside_stay_beside(root: Path) -> None:
    put(root, "notes/bare.md", "Only text.\n")
    store = opened(root)
    store.do(Act.TAG, "knowledge/lantern.md", tags=["light", "oil", "brass"])
    store.do(Act.TAG, "notes/bare.md", tags=["brass"])
    assert (root / "notes/bare.md").read_text() == "Only text.\n"
    assert store.by_id("notes/bare.md").tags == ("brass",)
    native = parse_document("x", "x", (root / "knowledge/lantern.md").read_text(), None)
    beside = {"light", "oil", "brass"} - set(native.frontmatter["tags"])
    store.do(Act.EDIT, "knowledge/lantern.md", tags=["light", "brass"])
    assert store.by_id("knowledge/lantern.md").tags == ("light", "brass")
    native = parse_document("x", "x", (root / "knowledge/lantern.md").read_text(), None)
    assert set(native.frontmatter["tags"]) == {"light", "brass"} - beside


def test_the_last_entry_of_a_section_leaves_an_empty_section(root: Path) -> None:
    put_map(root, {"exact_paths": {"ABOUT.md": "identity"}})
    store = opened(root)
    plan = store.do(Act.RETYPE, "ABOUT.md", type="goal")
    assert json.loads((root / MAP_PATH).read_text()) == {"exact_paths": {"ABOUT.md": "goal"}}
    store.undo(plan)
    store.do(Act.RETYPE, "ABOUT.md", type="")
    assert json.loads((root / MAP_PATH).read_text()) == {"exact_paths": {}}
