"""Memories that a file of instructions, which the same program loads, says already."""

from __future__ import annotations

from pathlib import Path

import pytest

from memtui.library import Library
from memtui.library.review import ReviewQueue
from memtui.testing.fixtures import contents
from memtui.upkeep.proposals import Proposal, ProposalKind

TABS = "Indent with tabs, never with spaces."
TOWERS = "The towers are numbered from the north."
LABEL = "The rules of our tower are:"


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def topic(home: Path, project: Path, name: str, text: str) -> Path:
    """A memory of Claude Code about a project."""
    project.mkdir(parents=True, exist_ok=True)
    slug = "".join(each if each.isalnum() else "-" for each in str(project))
    head = f"---\nname: {name}\ndescription: d\nmetadata:\n  type: feedback\n---\n\n"
    return write(home / f".claude/projects/{slug}/memory/{name}.md", f"{head}{text}\n")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def library_of(home: Path, *stores: Path, formats: tuple[str, ...] = ()) -> Library:
    library = Library.open(list(stores), state=home / "state", formats=formats)
    library.load()
    return library


def found(library: Library) -> list[Proposal]:
    proposals = ReviewQueue(library).scan().proposals
    return [each for each in proposals if each.message.startswith("already in ")]


def test_what_the_person_told_claude_code_for_all_projects_is_found_and_deleted(
    home: Path,
) -> None:
    write(home / ".claude/CLAUDE.md", f"# Rules\n\n- **{TABS}** Also in Makefiles.\n")
    file = topic(home, home / "belfry", "tabs", TABS)
    topic(home, home / "belfry", "towers", TOWERS)
    library = library_of(home, home / ".claude")
    (one,) = found(library)
    assert one.kind is ProposalKind.DUPLICATE
    assert one.title == "already in CLAUDE.md: tabs"
    assert not one.is_hint
    assert one.reason.startswith(f"Claude Code loads {home}/.claude/CLAUDE.md too")
    before = contents(home / ".claude")
    library.apply(ReviewQueue(library).plan([one]))
    assert not file.exists()
    assert not found(library)
    library.undo()
    assert contents(home / ".claude") == before


def test_a_project_s_file_counts_for_its_own_memories_and_those_below(home: Path) -> None:
    mill, belfry = home / "mill", home / "belfry"
    write(mill / "CLAUDE.md", f"{TOWERS}\n\n{TABS}\n")
    for project in (mill / "wheel", belfry):
        topic(home, project, "towers", TOWERS)
    library = library_of(home, home / ".claude", mill)
    (one,) = found(library)
    assert "mill-wheel" in one.refs[1]


@pytest.mark.parametrize(
    "instructions",
    [
        "Do not indent with tabs, never with spaces.",  # another statement around it
        "Indent with tabs.",
        "---\npaths: src/**\n---\n\nIndent with tabs, never with spaces.",  # of certain files
    ],
)
def test_what_only_resembles_it_is_not_found(home: Path, instructions: str) -> None:
    project = home / "belfry"
    write(project / ".claude/rules/style.md", f"{instructions}\n")
    topic(home, project, "tabs", TABS)
    assert not found(library_of(home, home / ".claude", project))


def test_a_file_that_another_program_loads_counts_only_for_that(home: Path) -> None:
    project = home / "belfry"
    write(project / ".git/HEAD", "")
    write(project / "GEMINI.md", f"- {TABS}\n")
    topic(home, project, "tabs", TABS)
    write(home / ".gemini/tmp/belfry/.project_root", str(project))
    write(home / ".gemini/tmp/belfry/memory/style.md", f"- {TABS}\n")
    (one,) = found(library_of(home, home / ".claude", home / ".gemini", project))
    assert one.refs[1].startswith("gemini:")
    assert one.is_hint  # a line of a page, of which others may need it


def test_the_log_of_a_day_and_what_leads_a_list_stay(home: Path) -> None:
    workspace = home / ".openclaw/workspace"
    write(workspace / "SOUL.md", f"{LABEL}\n\n- {TABS}\n- {TOWERS}\n")
    write(workspace / "AGENTS.md", "# Workspace\n")
    write(workspace / "MEMORY.md", f"{LABEL}\n\n- {TABS}\n- Bells ring at noon.\n")
    write(workspace / "memory/2026-03-20.md", f"- {TOWERS}\n")
    (one,) = found(library_of(home, workspace, formats=("openclaw",)))
    assert one.title.endswith(TABS)


def test_codex_is_asked_to_forget_what_its_own_instructions_say(home: Path) -> None:
    write(home / ".codex/AGENTS.md", f"- {TABS}\n")
    write(home / ".codex/memories/memory_summary.md", "v1\n")
    item = f"# Task Group: style\n\n## User preferences\n\n- {TABS}\n"
    write(home / ".codex/memories/MEMORY.md", item)
    formats = ("codex", "project-instructions")
    library = library_of(home, home / ".codex" / "memories", home / ".codex", formats=formats)
    (one,) = found(library)
    assert one.reason.endswith("accepting retires the memory")
    library.apply(ReviewQueue(library).plan([one]))
    (note,) = (home / ".codex/memories/extensions/ad_hoc/notes").iterdir()
    assert "Forget this memory." in note.read_text()
