"""Folders of notes are recognised by their program's marks, and read by its rules."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.changes import Act, Change
from memtui.errors import Refused, StoreError
from memtui.library import Library
from memtui.library.opening import detect_store
from memtui.model import Link
from memtui.stores import registry
from memtui.stores.markdown_folder import detect, profile_of
from memtui.stores.markdown_folder.rules import observations, parse_patterns, relations
from memtui.stores.markdown_folder.store import MarkdownFolder
from tests.samples import SAMPLES

OTHERS = ("agent-memory", "ambient", "engram", "simple-memory", "workspace", "claude-code")


def write(file: Path, text: str = "Text.\n") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def opened(root: Path, state: Path | None = None) -> Library:
    library = Library.open([root], state=state)
    library.load()
    return library


@pytest.mark.parametrize(
    ("folder", "profile"),
    [
        ("serena", "serena"),
        ("memory-bank", "memory-bank"),
        ("markdown-folder", "basic-memory"),
        ("memfs", "memfs"),
        ("vault", "vault"),
    ],
)
def test_each_program_is_recognised(folder: str, profile: str) -> None:
    root = detect(SAMPLES / folder)
    assert root is not None
    assert profile_of(root).name == profile


@pytest.mark.parametrize("name", OTHERS)
def test_the_stores_of_other_programs_are_left_to_them(name: str) -> None:
    for folder in (SAMPLES / name, *(SAMPLES / name).rglob("*")):
        assert not folder.is_dir() or detect(folder) is None, folder


def test_an_imported_note_keeps_what_its_text_cannot_say(tmp_path: Path) -> None:
    write(tmp_path / "vault" / "a.md")
    root = write(tmp_path / "vault" / ".obsidian" / "app.json", "{}").parents[1]
    library = opened(root, tmp_path / "state")
    (store,) = library.stores
    links = (Link("see", "a.md"),)
    fields = {"id": "b.md", "content": "B", "document": "# B\n", "links": links, "pinned": True}
    library.apply(library.plan([Change(Act.ADD, store.label, "", fields)]))
    memory = library.get(f"{store.label}:b.md")
    assert (memory.pinned, [(link.relation, link.target) for link in memory.links]) == (True, [])


def test_other_folders_are_opened_only_when_they_are_named(tmp_path: Path) -> None:
    write(tmp_path / "work" / "README.md")
    assert registry.discover(tmp_path / "work", tmp_path, {}) == []
    assert registry.detect_within(tmp_path) == []
    found = detect_store(tmp_path / "work")
    assert (found.format.name, found.root) == ("markdown-folder", tmp_path / "work")
    assert profile_of(found.root).name == "plain"


def test_a_workspace_with_notes_of_serena_is_both(tmp_path: Path) -> None:
    write(tmp_path / "ABOUT.md")
    (tmp_path / "journal").mkdir()
    write(tmp_path / ".serena" / "memories" / "core.md")
    names = [known.name for known, _ in registry.discover(tmp_path, tmp_path / "home", {})]
    assert names == ["workspace", "markdown-folder"]
    found = registry.detect(tmp_path)
    assert found is not None
    assert found[0].name == "workspace"


def test_places_that_settings_name(tmp_path: Path) -> None:
    notes = write(tmp_path / "kb" / "a.md", "---\npermalink: a\n---\n").parent
    projects = {"projects": {"main": str(notes), "bad": 7, "relative": "x"}}
    write(tmp_path / ".basic-memory" / "config.json", json.dumps(projects))
    agent = tmp_path / ".letta" / "agents" / "agent-1" / "memory"
    write(agent / "system" / "persona.md")
    found = registry.discover(tmp_path / "empty", tmp_path, {})
    assert [root for _, root in found] == [notes, agent]


def test_another_profile_can_be_chosen(tmp_path: Path) -> None:
    write(tmp_path / "a.md", "- [rule] no bells #night\n")
    store = MarkdownFolder(tmp_path, "notes")
    assert len(store.read(store.scan().shards[0]).memories) == 1
    stamp = store.scan().shards[0].stamp
    store = MarkdownFolder(tmp_path, "notes", "basic-memory")
    assert store.scan().shards[0].stamp != stamp, "it is read again"
    assert [m.kind for m in store.read(store.scan().shards[0]).memories] == ["document", "fact"]
    with pytest.raises(StoreError, match="no format"):
        detect_store(tmp_path, "markdown-folder:nothing")


# ---- Serena -------------------------------------------------------------------------------------


def test_serenas_patterns_references_and_names() -> None:
    library = opened(SAMPLES / "serena")
    ids = {memory.id for memory in library.memories("markdown-folder")}
    assert not any(id.startswith("_archive") for id in ids), "what Serena ignores is not a memory"
    core = library.get("markdown-folder:core.md")
    targets = {link.target for link in core.links}
    assert targets == {
        "architecture/overview.md",
        "architecture/strike_loop.md",
        "conventions/style.md",
    }
    assert core.title == "core"
    style = library.get("markdown-folder:conventions/style.md")
    assert "read-only" in library.refusal(Act.EDIT, style)
    assert library.refusal(Act.PIN, style) == ""
    assert library.refusal(Act.EDIT, core) == ""


def test_a_pattern_that_could_take_for_ever_is_left_out_and_named() -> None:
    patterns = parse_patterns('read_only_memory_patterns: ["(a+)+$", "a*a*a*a*$", "x/.*", "("]\n')
    assert patterns.is_read_only("x/y")
    assert not patterns.is_read_only("a" * 300 + "!")
    assert "left out" in patterns.fault
    assert parse_patterns(": [").fault


# ---- basic-memory -------------------------------------------------------------------------------

GRAMMAR = """# Coffee
- [method] Pour over is clean #brewing #calm (weekdays)
- [ ] buy beans
- [x] clean the mill
- [-] dropped
- [a page](https://example.org)
- [[Water]]
- plain words
- tagged only #tea
- relates_to [[Tea]] (both hot)
- "made in a" [[Kitchen]]
- [tip] see [[Mill]]
```
- [code] is none #x
```
"""


def test_the_grammar_of_observations_and_relations() -> None:
    found = [(o.category, o.text, o.tags, o.context, o.line) for o in observations(GRAMMAR)]
    assert found == [
        ("method", "Pour over is clean #brewing #calm", ("brewing", "calm"), "weekdays", 2),
        ("Note", "tagged only #tea", ("tea",), "", 9),
        ("tip", "see [[Mill]]", (), "", 12),
    ]
    assert relations(GRAMMAR) == [
        ("links_to", "Water", ""),
        ("relates_to", "Tea", "both hot"),
        ("made in a", "Kitchen", ""),
    ]


@given(st.lists(st.text(alphabet='ab -[]()#x"`', max_size=20), max_size=8).map("\n".join))
def test_any_text_has_observations_with_keys_of_their_own(text: str) -> None:
    keys = [each.key for each in observations(text)]
    assert len(set(keys)) == len(keys)
    assert all(each.text for each in observations(text))
    relations(text)


def test_an_observation_is_a_fact_of_its_note() -> None:
    library = opened(SAMPLES / "markdown-folder")
    note = library.get("markdown-folder:quiet-hours.md")
    facts = [m for m in library.memories("markdown-folder") if m.entity == "quiet-hours"]
    assert [(m.type, m.tags) for m in facts] == [("rule", ("night",)), ("exception", ("night",))]
    assert ("decided_by", "people/yael-ben-haroush.md") in {
        (link.relation, link.target) for link in note.links
    }
    assert not library.refusal(Act.EDIT, facts[0])
    assert (facts[0].origin.line or 0) > 8


# ---- memfs --------------------------------------------------------------------------------------


def test_memfs_demands_a_description_and_keeps_read_only_files(tmp_path: Path) -> None:
    write(tmp_path / "m" / "system" / "a.md", "---\ndescription: A\nread_only: true\n---\n\nA.\n")
    library = opened(tmp_path / "m", tmp_path / "state")
    memory = library.get("markdown-folder:system/a.md")
    assert memory.importance == "high"
    with pytest.raises(Refused, match="read-only"):
        library.plan([Change(Act.EDIT, memory.store, memory.ref, {"content": "B."})])
    fields = {"content": "Write to the town.", "entity": "system", "title": "Letters"}
    library.apply(library.plan([Change(Act.ADD, memory.store, "", fields)]))
    text = (tmp_path / "m" / "system" / "letters.md").read_text()
    assert text == "---\ndescription: Letters\n---\n# Letters\n\nWrite to the town.\n"


REFUSED = {
    "an unknown key": "---\ndescription: A\ntags: [x]\n---\n\nA.\n",
    "no description": "---\nread_only: false\n---\n\nA.\n",
    "an empty description": "---\ndescription: ''\n---\n\nA.\n",
    "no frontmatter": "A.\n",
}


@pytest.mark.parametrize("why", REFUSED)
def test_memfs_refuses_what_the_hook_of_letta_refuses(tmp_path: Path, why: str) -> None:
    files = {
        write(tmp_path / "m" / folder / "a.md", REFUSED[why]): folder
        for folder in ("system", "reference", "towns")
    }
    write(tmp_path / "m" / "system" / "0.md", "---\ndescription: 0\nlimit: 5\n---\n\n0.\n")
    library = opened(tmp_path / "m", tmp_path / "state")
    for file, folder in files.items():
        memory = library.get(f"markdown-folder:{folder}/a.md")
        change = Change(Act.EDIT, memory.store, memory.ref, {"content": "B."})
        if folder == "towns":  # the hook does not look there
            library.apply(library.plan([change]))
            assert file.read_text() == REFUSED[why].replace("A.\n", "B.\n")
            continue
        with pytest.raises(Refused, match="Letta"):
            library.plan([change])
        assert file.read_text() == REFUSED[why]
        library.plan([Change(Act.PIN, memory.store, memory.ref, {"pinned": True})])
    known = library.get("markdown-folder:system/0.md")
    library.plan([Change(Act.EDIT, known.store, known.ref, {"content": "B."})])


def test_a_format_and_a_profile_are_named(tmp_path: Path) -> None:
    write(tmp_path / "a.md", "- [rule] no bells #night\n")
    library = Library.open([tmp_path], formats=["markdown-folder:basic-memory"])
    library.load()
    assert library.snapshot.count == 2
    for name in ("markdown-folder:nothing", "nothing"):
        with pytest.raises(StoreError, match="there is no format"):
            Library.open([tmp_path], formats=[name])
    with pytest.raises(StoreError, match="no store of the format"):
        Library.open([tmp_path], formats=["ambient"])


def test_a_folder_of_stores_is_no_store_itself() -> None:
    found = [known.name for known, _ in registry.detect_within(SAMPLES)]
    assert sorted(set(found)) == sorted(known.name for known in registry.own_formats())
    assert found.count("markdown-folder") == 5


def test_tags_of_a_note_go_where_its_file_has_a_place_for_them(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    (root / ".obsidian").mkdir(parents=True)
    with_keys = write(root / "keys.md", "---\ntags: [old]\n---\nText.\n")
    without = write(root / "plain.md", "Text.\n")
    library = opened(root, tmp_path / "state")
    (store,) = library.stores
    for name in ("keys.md", "plain.md"):
        change = Change(Act.EDIT, store.label, f"{store.label}:{name}", {"tags": ("bells",)})
        library.apply(library.plan([change]))
    assert "bells" in with_keys.read_text()
    assert "old" not in with_keys.read_text()
    assert without.read_text() == "Text.\n"
    assert library.get(f"{store.label}:keys.md").tags == ("bells",)
    assert library.get(f"{store.label}:plain.md").tags == ("bells",)
