"""A memory of a project becomes one of all projects of its program, or the other way."""

from __future__ import annotations

from pathlib import Path

import pytest

from memtui.errors import AlreadyThere, Refused
from memtui.library import Library
from memtui.model import Memory
from memtui.testing.fixtures import contents

TABS = "Indent with tabs, never with spaces."


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    return tmp_path / "person"


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def library_of(home: Path, *stores: str) -> Library:
    library = Library.open([home / each for each in stores], state=home.parent / "state")
    library.load()
    return library


def one(library: Library, text: str = TABS) -> Memory:
    (found,) = (m for m in library.numbered_memories().values() if text in m.content)
    return found


def promote(library: Library, memory: Memory, project: str = "", part: str = "") -> None:
    library.apply(library.plan_rescope(memory, project, part))


TOPIC = f"---\nname: tabs\ndescription: d\nmetadata:\n  type: feedback\n---\n\n{TABS}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, f"- {TABS}\n"),
        ("# Mine\n\n- Be brief.\n", f"# Mine\n\n- Be brief.\n- {TABS}\n"),
        ("Be brief.\n", f"Be brief.\n\n- {TABS}\n"),
    ],
)
def test_of_claude_code_it_goes_to_the_claude_md_of_the_user(
    home: Path, before: str | None, after: str
) -> None:
    memory = home / ".claude/projects/-srv-app/memory"
    write(memory / "MEMORY.md", "# Memory\n\n- [Tabs](feedback_tabs.md) — d\n")
    write(memory / "feedback_tabs.md", TOPIC)
    if before is not None:
        write(home / ".claude/CLAUDE.md", before)
    library, files = library_of(home, ".claude"), contents(home)
    promote(library, one(library))
    assert (home / ".claude/CLAUDE.md").read_text() == after
    assert not (memory / "feedback_tabs.md").exists()
    assert "feedback_tabs" not in (memory / "MEMORY.md").read_text()
    with pytest.raises(AlreadyThere):
        library.plan_rescope(one(library), part=TABS)
    library.undo()
    assert contents(home) == files


def test_a_part_of_a_claude_md_goes_to_a_project(home: Path) -> None:
    page = write(
        home / ".claude/CLAUDE.md", f"# Mine\n\n- Be brief.\n- {TABS}\n  In Go too.\n- Ask.\n"
    )
    index = write(home / ".claude/projects/-srv-app/memory/MEMORY.md", "# Memory\n")
    library, files = library_of(home, ".claude"), contents(home)
    for words, why in (("", "3 parts"), ("e", "3 parts"), ("not there", "3 parts")):
        with pytest.raises(Refused, match=why):
            library.plan_rescope(one(library), "-srv-app", words)
    promote(library, one(library), "-srv-app", "tabs")
    assert page.read_text() == "# Mine\n\n- Be brief.\n- Ask.\n"
    (topic,) = (each for each in index.parent.iterdir() if each != index)
    assert topic.read_text().endswith(f"\n\n{TABS}\nIn Go too.\n")
    assert topic.name in index.read_text()
    library.undo()
    assert contents(home) == files


def test_of_gemini_it_goes_below_its_heading_and_back_to_a_project(home: Path) -> None:
    notes = write(home / ".gemini/tmp/belfry/memory/MEMORY.md", f"# Notes\n\n- {TABS}\n- Rest.\n")
    write(home / ".gemini/GEMINI.md", "# Mine\n")
    library, files = library_of(home, ".gemini"), contents(home)
    promote(library, one(library))
    assert f"## Gemini Added Memories\n\n- {TABS}\n" in (home / ".gemini/GEMINI.md").read_text()
    assert notes.read_text() == "# Notes\n\n- Rest.\n"
    with pytest.raises(AlreadyThere):
        library.plan_rescope(one(library))
    promote(library, one(library), "belfry")
    assert one(library).entity == "belfry"
    library.undo()
    library.undo()
    assert contents(home) == files


def test_of_qwen_code_it_goes_to_the_memories_of_the_user(home: Path) -> None:
    memory = home / ".qwen/projects/-srv-app/memory"
    write(memory / "MEMORY.md", "- [Tabs](feedback_tabs.md) — d\n")
    topic = f"---\nname: tabs\ndescription: d\ntype: feedback\n---\n\n{TABS}\n"
    write(memory / "feedback_tabs.md", topic)
    library, files = library_of(home, ".qwen"), contents(home)
    project = one(library).entity
    promote(library, one(library))
    assert one(library).entity == "user"
    assert (home / ".qwen/memories/MEMORY.md").is_file()
    assert not (memory / "feedback_tabs.md").exists()
    promote(library, one(library), project)
    assert one(library).entity == project
    library.undo()
    library.undo()
    assert contents(home) == files


def test_what_a_team_has_goes_to_the_user_where_that_store_is_open(home: Path) -> None:
    memory = home / "app/.qwen/team-memory"
    write(memory / "MEMORY.md", "- [Tabs](feedback_tabs.md) — d\n")
    topic = f"---\nname: tabs\ndescription: d\ntype: feedback\n---\n\n{TABS}\n"
    write(memory / "feedback_tabs.md", topic)
    write(home / ".qwen/memories/MEMORY.md", "# Mine\n")
    with pytest.raises(Refused, match=r"~/\.qwen is not open"):
        promote(alone := library_of(home, "app/.qwen/team-memory"), one(alone))
    library, files = library_of(home, "app/.qwen/team-memory", ".qwen"), contents(home)
    promote(library, one(library))
    assert one(library).entity == "user"
    assert not (memory / "feedback_tabs.md").exists()
    library.undo()
    assert contents(home) == files


def test_of_hermes_it_goes_from_a_profile_to_its_home_and_back(home: Path) -> None:
    main = write(home / ".hermes/memories/MEMORY.md", "The bell is rung at noon.")
    profile = write(home / ".hermes/profiles/work/memories/MEMORY.md", f"{TABS}\n§\nRest.")
    library, files = library_of(home, ".hermes", ".hermes/profiles/work"), contents(home)
    promote(library, one(library))
    assert main.read_text() == f"The bell is rung at noon.\n§\n{TABS}"
    assert profile.read_text() == "Rest."
    with pytest.raises(AlreadyThere):
        library.plan_rescope(one(library))
    promote(library, one(library), "work")
    assert profile.read_text() == f"Rest.\n§\n{TABS}"
    library.undo()
    library.undo()
    after = contents(home)
    assert {name: after[name] for name in files} == files  # locks stay, as those of Hermes do


def test_codex_is_asked_for_it_by_a_note(home: Path) -> None:
    write(home / ".codex/memories/memory_summary.md", "v1\n")
    item = f"# Task Group: style\n\n## User preferences\n\n- {TABS}\n"
    write(home / ".codex/memories/MEMORY.md", item)
    library, files = library_of(home, ".codex/memories"), contents(home)
    promote(library, one(library))
    (note,) = (home / ".codex/memories/extensions/ad_hoc/notes").iterdir()
    assert note.read_text().endswith(f"{TABS}\n\nThis holds for every project.\n")
    library.undo()
    assert contents(home) == files


def test_a_program_without_projects_refuses(home: Path) -> None:
    write(home / ".serena/memories/tabs.md", f"# Tabs\n\n{TABS}\n")
    library = library_of(home, ".serena/memories")
    with pytest.raises(Refused, match="for all projects"):
        library.plan_rescope(one(library))


def test_what_agents_share_in_a_project_is_not_given_to_claude_code(home: Path) -> None:
    write(home / "app/.agents/memory/MEMORY.md", f"- {TABS}\n")
    write(home / ".claude/CLAUDE.md", "# Mine\n")
    write(home / ".claude/projects/-srv-app/memory/MEMORY.md", "- x\n")
    library = library_of(home, "app/.agents/memory", ".claude")
    with pytest.raises(Refused, match="for all projects"):
        library.plan_rescope(one(library))


def test_a_proposal_is_accepted_first(home: Path) -> None:
    patch = f"--- /dev/null\n+++ GEMINI.md\n@@ -0,0 +1,1 @@\n+- {TABS}\n"
    write(home / ".gemini/GEMINI.md", "# Mine\n")
    write(home / ".gemini/tmp/belfry/memory/.inbox/global/extraction.patch", patch)
    library = library_of(home, ".gemini")
    with pytest.raises(Refused, match="accept it first"):
        library.plan_rescope(one(library))
