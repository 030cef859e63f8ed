"""Instructions of a project: rules and sections, who is given them, and which store has a file."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.errors import Refused
from memtui.library import Library
from memtui.model import Memory
from memtui.stores import registry
from memtui.stores.project_instructions.store import scope_of

LABEL = "project-instructions"
AGENTS = """# mill

Grinds rye.

```sh
make stones
```

Then wait.

## Style

- Coarse
  - and slow
- Fine
"""


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def opened(root: Path) -> Library:
    library = Library.open([root], state=root.parent / "state", formats=[LABEL])
    library.load()
    return library


def of(library: Library, entity: str) -> list[Memory]:
    return [m for m in library.snapshot.rows if m.entity == entity]


def do(library: Library, act: Act, memory: Memory, **fields: str) -> str:
    planned = library.plan([Change(act, memory.store, memory.ref, fields)])
    library.apply(planned)
    library.refresh()
    return planned.effects[0]


def test_a_bullet_is_a_rule_and_prose_with_its_code_a_section(tmp_path: Path) -> None:
    write(tmp_path / "p" / "AGENTS.md", AGENTS)
    about, coarse, fine = of(opened(tmp_path / "p"), "AGENTS.md")
    assert (about.type, about.title, about.origin.line) == ("section", "mill", 3)
    assert about.content == "Grinds rye.\n\n```sh\nmake stones\n```\n\nThen wait."
    assert (coarse.type, coarse.content) == ("rule", "Coarse\n- and slow")
    assert fine.extra["section"] == "Style"
    assert (fine.importance, fine.extra["scope"]) == ("high", "always")
    assert "Codex" in fine.extra["read_by"]


def test_a_section_is_edited_and_undone_byte_for_byte(tmp_path: Path) -> None:
    file = write(tmp_path / "p" / "AGENTS.md", AGENTS)
    library = opened(tmp_path / "p")
    about = of(library, "AGENTS.md")[0]
    effect = do(library, Act.EDIT, about, content=about.content.replace("rye", "oats\n\nand rye"))
    assert effect == "Each of Codex, Cursor and 14 others reads the new text from its next session"
    assert file.read_text() == AGENTS.replace("rye", "oats\n\nand rye")
    library.undo()
    assert file.read_text() == AGENTS
    with pytest.raises(Refused, match="one item"):
        do(library, Act.EDIT, about, content="Grinds.\n\n## Not a heading")


@pytest.mark.parametrize("content", ["Grinds rye.", "Coarse", "Only words."])
def test_what_is_retired_comes_back_as_it_stood(tmp_path: Path, content: str) -> None:
    text = "Only words.\n" if content == "Only words." else AGENTS.split("\n\n```")[0]
    text += "\n\n## Style\n\n- Fine\n- Coarse\n"
    file = write(tmp_path / "p" / "AGENTS.md", text)
    library = opened(tmp_path / "p")
    before = next(m for m in of(library, "AGENTS.md") if m.content == content)
    do(library, Act.RETIRE, before)
    assert content not in file.read_text()
    do(library, Act.RESTORE, library.get(before.ref))
    after = library.get(before.ref)
    assert (after.kind, after.type, after.title) == (before.kind, before.type, before.title)
    assert file.read_text().split() == text.split()


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    root, beyond = tmp_path / "p", tmp_path / "beyond"
    write(root / "GEMINI.md", "- a\n")
    write(root / ".cursorrules", "")
    (root / "AGENTS.md").symlink_to("AGENTS.md")
    write(beyond / "rules" / "x.mdc", "- b\n")
    write(beyond / "x.md", "- c\n")
    (root / ".cursor").symlink_to(beyond)
    (root / ".roo" / "rules").mkdir(parents=True)
    (root / ".roo" / "rules" / "up").symlink_to("..")
    (root / ".roo" / "rules" / "out").symlink_to(beyond)
    write(root / ".roo" / "rules" / "y.md", "- d\n")
    library = opened(root)
    assert sorted(m.content for m in library.snapshot.rows) == ["a", "d"]
    faults = {Path(fault.file) for fault in library.snapshot.stores[0].unreadable}
    named = (".cursorrules", "AGENTS.md", ".cursor/rules", ".roo/rules/out")
    assert faults == {root / name for name in named}


@pytest.mark.parametrize(
    ("front", "scope"),
    [
        ({}, "always"),
        ({"alwaysApply": True, "globs": "a"}, "always"),
        ({"alwaysApply": False, "globs": "a/**, b/*.py"}, "files a/**, b/*.py"),
        ({"alwaysApply": False, "globs": None, "description": "On x"}, "the agent decides: On x"),
        ({"alwaysApply": False, "globs": "", "description": ""}, "when a person names it"),
        ({"applyTo": "**"}, "always"),
        ({"applyTo": "src/**/*.ts"}, "files src/**/*.ts"),
        ({"trigger": "always_on", "globs": "x"}, "always"),
        ({"trigger": "glob", "globs": ["x/**"]}, "files x/**"),
        ({"trigger": "model_decision", "description": "On y"}, "the agent decides: On y"),
        ({"trigger": "manual"}, "when a person names it"),
        ({"inclusion": "always"}, "always"),
        ({"inclusion": "fileMatch", "fileMatchPattern": "y/*"}, "files y/*"),
        ({"inclusion": "manual"}, "when a person names it"),
        ({"paths": ["src/**"]}, "files src/**"),
        ({"triggers": ["one", "two"]}, "prompts with one, two"),
    ],
)
def test_the_scope_of_a_file_follows_from_its_frontmatter(
    front: dict[str, object], scope: str
) -> None:
    assert scope_of(front) == scope


def test_a_new_rule_goes_below_its_heading_and_makes_the_file(tmp_path: Path) -> None:
    write(tmp_path / "p" / ".cursorrules", "- a\n")
    library = opened(tmp_path / "p")
    for entity, text in (("AGENTS.md/Style", "Plain"), (".cursorrules", "b")):
        fields = {"content": text, "entity": entity}
        library.apply(library.plan([Change(Act.ADD, LABEL, "", fields)]))
        library.refresh()
    assert (tmp_path / "p" / "AGENTS.md").read_text() == "## Style\n\n- Plain\n"
    assert (tmp_path / "p" / ".cursorrules").read_text() == "- a\n- b\n"
    elsewhere = Change(Act.ADD, LABEL, "", {"content": "c", "entity": "src/main.py"})
    with pytest.raises(Refused, match="file of instructions"):
        library.plan([elsewhere])


def test_rules_that_different_programs_read_are_not_merged(tmp_path: Path) -> None:
    write(tmp_path / "p" / "CLAUDE.md", "- Rye is coarse\n")
    write(tmp_path / "p" / "GEMINI.md", "- Rye is ground coarse\n")
    library = opened(tmp_path / "p")
    one, other = library.snapshot.rows
    with pytest.raises(Refused, match="different programs"):
        library.plan([Change(Act.MERGE, LABEL, one.ref, {"others": [other.ref]})])


def test_a_file_belongs_to_the_store_that_is_richer(tmp_path: Path) -> None:
    root = tmp_path / "p"
    write(root / "CLAUDE.md", "See @docs/a.md\n\n- a\n")
    write(root / "docs" / "a.md", "- b\n")
    write(root / "GEMINI.md", "- c\n")
    library = opened(root)
    entities = [m.entity for m in library.snapshot.rows]
    assert sorted(set(entities)) == ["CLAUDE.md", "GEMINI.md", "docs/a.md"]
    assert of(library, "docs/a.md")[0].extra["read_by"] == ["Claude Code"]
    write(root / ".claude" / "memory" / "x.md", "- d\n")
    assert {m.entity for m in opened(root).snapshot.rows} == {"GEMINI.md"}
    found = [known.name for known, _ in registry.detect_within(root)]
    assert found == ["claude-code", LABEL]


@pytest.mark.slow
def test_a_folder_whose_files_its_project_reads_is_no_project_of_its_own(tmp_path: Path) -> None:
    write(tmp_path / "CLAUDE.md", "- a\n")
    write(tmp_path / ".claude" / "CLAUDE.md", "- b\n")
    roots = [root for _, root in registry.detect_within(tmp_path)]
    assert roots == [tmp_path]
    assert [root for _, root in registry.detect_within(tmp_path / ".claude")]  # if it is named


def test_a_session_is_given_what_is_always_in_scope(tmp_path: Path) -> None:
    root = tmp_path / "p"
    write(root / "AGENTS.md", "- a\n")
    write(root / ".cursor/rules/x.mdc", "---\nalwaysApply: false\nglobs: a/**\n---\n- b\n")
    write(root / ".windsurf/rules/y.md", "- c\n" * 4_000)
    library = opened(root)
    (store,) = library.stores
    texts = store.session_start(library, "", datetime(2026, 11, 21, tzinfo=UTC))
    assert [text.title for text in texts] == ["AGENTS.md", ".windsurf/rules/y.md"]
    assert (texts[0].cut_line, texts[1].cut_line) == (None, 3_001)


def test_two_stores_at_one_root_keep_their_own_retired_memories(tmp_path: Path) -> None:
    root = tmp_path / "p"
    write(root / ".cursorrules", "- a\n- b\n")
    write(root / ".claude" / "memory" / "MEMORY.md", "- c\n- d\n")
    library = Library.open([root, root], formats=[LABEL, "claude-code"], state=tmp_path / "state")
    library.load()
    one = next(each for each in library.snapshot.rows if each.content == "b")
    library.apply(library.plan([Change(Act.RETIRE, one.store, one.ref)]))
    (root / ".cursorrules").unlink()
    write(root / "GEMINI.md", "- e\n")
    again = Library.open([root, root], formats=[LABEL, "claude-code"])
    again.load()
    found = sorted((each.store, each.content) for each in again.snapshot.rows)
    assert found == [
        ("claude-code", "c"),
        ("claude-code", "d"),
        (LABEL, "b"),
        (LABEL, "e"),
    ]


def test_what_is_retired_stays_in_the_store_of_its_file(tmp_path: Path) -> None:
    """OpenClaw and the instructions keep it in one sidecar, at the root that they share."""
    root = tmp_path / "p"
    notes = {"AGENTS.md": "Be brief.\n", "SOUL.md": "I am Ida.\n", "MEMORY.md": "- Rye is in\n"}
    rules = {".cursor/rules/a.mdc": "- Grind slowly\n", "GEMINI.md": "- Grind twice\n"}
    for name, text in {**notes, **rules}.items():
        write(root / name, text)

    def both() -> Library:
        library = Library.open([root] * 2, state=tmp_path / "state", formats=["openclaw", LABEL])
        library.load()
        return library

    def texts() -> dict[str, set[str]]:
        """Label of a store -> what it holds, whatever its status."""
        library = both()
        found = [(store.label, library.memories(store.label)) for store in library.stores]
        return {label: {m.content.strip() for m in memories} for label, memories in found}

    before = texts()
    assert before == {
        "openclaw": {"Be brief.", "I am Ida.", "Rye is in"},
        LABEL: {"Grind slowly", "Grind twice"},
    }
    library = both()
    for memory in [one for one in library.snapshot.rows if one.kind == "fact"]:
        do(library, Act.RETIRE, memory)
    assert texts() == before


def test_an_imported_file_that_comes_later_is_read(tmp_path: Path) -> None:
    root = tmp_path / "mill"
    write(root / "CLAUDE.md", "See @docs/a.md\n\n- coarse\n")
    library = opened(root)
    write(root / "docs" / "a.md", "- fine\n")
    library.refresh()
    assert {m.content for m in library.memories(LABEL)} >= {"coarse", "fine"}


def readers_of(library: Library) -> dict[str, list[str]]:
    return {m.entity: m.extra["read_by"] for m in library.snapshot.rows}


def test_claude_code_reads_agents_md_where_no_file_of_its_own_is_in_the_folder_or_above(
    tmp_path: Path,
) -> None:
    write(tmp_path / "mill" / "AGENTS.md", "- rye\n")
    write(tmp_path / "mill" / "stones" / "AGENTS.md", "- two\n")
    library = opened(tmp_path / "mill" / "stones")
    assert "Claude Code" in readers_of(library)["AGENTS.md"]
    write(tmp_path / "mill" / "CLAUDE.local.md", "- oats\n")
    library.refresh()
    assert "Claude Code" not in readers_of(library)["AGENTS.md"]
    assert "Claude Code" not in readers_of(opened(tmp_path / "mill"))["AGENTS.md"]


def test_what_a_person_wrote_for_all_projects_is_none_of_a_project(tmp_path: Path) -> None:
    (tmp_path / ".claude" / "projects").mkdir(parents=True)
    write(tmp_path / ".claude" / "CLAUDE.md", "- for all\n")
    write(tmp_path / "mill" / "AGENTS.md", "- rye\n")
    assert "Claude Code" in readers_of(opened(tmp_path / "mill"))["AGENTS.md"]


@pytest.mark.parametrize(
    ("front", "scope"),
    [
        (
            "description: When deploying: ask\nglobs:\nalwaysApply: false\n",
            "the agent decides: When",
        ),
        ("description: Ask first\n", "the agent decides: Ask first"),
        ("globs: *.tsx,*.ts\nalwaysApply: false\n", "files *.tsx, *.ts"),
        ("description: a: b\nalwaysApply: true\n", "always"),
        ("globs:\n", "when a person names it"),
    ],
)
def test_a_rule_of_cursor_is_given_always_only_where_it_says_so(
    tmp_path: Path, front: str, scope: str
) -> None:
    """Its frontmatter is read line by line; a colon in a description made a rule one for all."""
    write(tmp_path / "p" / ".cursor" / "rules" / "x.mdc", f"---\n{front}---\n- grind\n")
    (rule,) = opened(tmp_path / "p").snapshot.rows
    assert rule.extra["scope"].startswith(scope)


@pytest.mark.parametrize("pattern", ["**/rules/a.md", "{root}/.claude/rules/**", "{root}/x/*.md"])
def test_what_settings_exclude_claude_code_does_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    """Patterns are compared with absolute paths (anthropics/claude-code#93858)."""
    monkeypatch.setenv("HOME", str(tmp_path))
    root = tmp_path / "p"
    write(root / "CLAUDE.md", "- base\n")
    write(root / ".claude" / "rules" / "a.md", "- left out\n")
    settings = write(
        root / ".claude" / "settings.local.json",
        json.dumps({"claudeMdExcludes": [pattern.format(root=root), "rules/a.md", 7]}),
    )
    library = opened(root)
    (store,) = library.stores
    text = "".join(each.text for each in store.session_start(library, "", library.now()))
    is_out = "{root}/x" not in pattern
    assert ("left out" in text) is not is_out
    assert readers_of(library)[".claude/rules/a.md"] == ([] if is_out else ["Claude Code"])
    said = f"claudeMdExcludes in {settings} keeps Claude Code from reading it"
    assert [each.text for each in store.remarks()] == [said][:is_out]
    (rule,) = of(library, ".claude/rules/a.md")
    effect = do(library, Act.EDIT, rule, content="still there")
    assert effect.startswith("No program reads" if is_out else "Claude Code reads")


def test_two_programs_are_named_without_others(tmp_path: Path) -> None:
    write(tmp_path / "p" / "CLAUDE.md", "- rye\n")
    (tmp_path / "p" / "GEMINI.md").symlink_to("CLAUDE.md")
    library = opened(tmp_path / "p")
    (rule,) = library.snapshot.rows
    effect = do(library, Act.EDIT, rule, content="oats")
    assert effect.startswith("Each of Claude Code and Gemini CLI reads")


def test_what_codex_is_not_given_of_a_long_file_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / ".codex"))
    file = write(tmp_path / "p" / "AGENTS.md", "- grind slowly\n" * 2_200)
    [remark] = opened(tmp_path / "p").stores[0].remarks()
    said = "Codex is given 32,768 of its 33,000 bytes (project_doc_max_bytes)"
    assert (remark.path, remark.text) == (str(file), said)
    write(tmp_path / ".codex" / "config.toml", "project_doc_max_bytes = 40000\n")
    assert opened(tmp_path / "p").stores[0].remarks() == []
    write(tmp_path / ".codex" / "AGENTS.md", "- grind slowly\n" * 3_000)
    assert opened(tmp_path / ".codex").stores[0].remarks() == [], "its own is given whole"


def test_what_cline_keeps_beside_its_rules_is_no_rule(tmp_path: Path) -> None:
    for name in ("a.md", "more/b.md", "workflows/deploy.md", "hooks/h.md", "skills/s.md"):
        write(tmp_path / "p" / ".clinerules" / name, "- grind\n")
    found = [row.entity for row in opened(tmp_path / "p").snapshot.rows]
    assert found == [".clinerules/a.md", ".clinerules/more/b.md"]


@pytest.mark.parametrize("written", ["cx/", "link"])
def test_the_home_of_codex_is_known_however_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    write(tmp_path / "cx" / "AGENTS.md", "- npm for everything\n")
    (tmp_path / "link").symlink_to("cx")
    monkeypatch.setenv("CODEX_HOME", f"{tmp_path}/{written}")
    assert readers_of(opened(tmp_path / "cx"))["AGENTS.md"] == ["Codex"]


def test_claude_code_reads_agents_md_that_its_own_file_imports(tmp_path: Path) -> None:
    write(tmp_path / "p" / "AGENTS.md", "- rye\n")
    write(tmp_path / "p" / "CLAUDE.md", "@AGENTS.md\n")
    assert readers_of(opened(tmp_path / "p"))["AGENTS.md"][-1] == "Claude Code"


def test_codex_reads_the_override_instead(tmp_path: Path) -> None:
    write(tmp_path / "p" / "AGENTS.md", "- rye\n")
    write(tmp_path / "p" / "AGENTS.override.md", "- oats\n")
    readers = readers_of(opened(tmp_path / "p"))
    assert readers["AGENTS.override.md"] == ["Codex"]
    assert "Codex" not in readers["AGENTS.md"]


def test_links_to_one_file_are_one_memory_with_the_readers_of_all_names(tmp_path: Path) -> None:
    write(tmp_path / "p" / "CLAUDE.md", "- rye\n")
    (tmp_path / "p" / "AGENTS.md").symlink_to("CLAUDE.md")
    (tmp_path / "p" / "GEMINI.md").symlink_to("CLAUDE.md")
    library = opened(tmp_path / "p")
    (rule,) = library.snapshot.rows
    assert rule.id.startswith("CLAUDE.md#")
    assert {"Claude Code", "Codex", "Gemini CLI"} <= set(rule.extra["read_by"])


def test_the_global_instructions_of_codex_are_its_own_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CODEX_HOME", raising=False)
    write(tmp_path / ".codex" / "AGENTS.md", "- npm for everything\n")
    write(tmp_path / ".claude" / "CLAUDE.md", "- for all\n")
    write(tmp_path / ".claude" / "projects" / "-x" / "memory" / "a.md", "a\n")
    project = tmp_path / "p"
    project.mkdir()
    for folder in (project, tmp_path):
        found = [root for known, root in registry.discover(folder, tmp_path) if known.name == LABEL]
        assert found == [tmp_path / ".codex"], "the other file is of Claude Code's own store"
    assert readers_of(opened(tmp_path / ".codex")) == {"AGENTS.md": ["Codex"]}
