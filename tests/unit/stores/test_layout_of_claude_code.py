"""Programs that keep Claude Code's layout are called by their own names, and follow their rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.errors import Refused
from memtui.library import Library
from memtui.stores import registry
from memtui.testing.fixtures import memories, open_library

INDEX = "- [Deploys](deploys.md) — never on a Friday\n- Ask before a migration.\n"
NOTE = "---\nname: Deploys\ndescription: never on a Friday\ntype: project\n---\n\nOn Mondays.\n"


def write(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text(INDEX)
    (folder / "deploys.md").write_text(NOTE)
    return folder


@pytest.mark.parametrize(
    ("place", "beside", "format", "product"),
    [
        (".agents/memory", "replit.md", "project-memory", "Replit Agent"),
        (".agents/memory", "AGENTS.md", "project-memory", "Agent notes"),
        (".agent/memory", ".agent/rules", "project-memory", "Antigravity"),
        (".agent/memory", "README.md", "project-memory", "Agent notes"),
        (".qwen/team-memory", "QWEN.md", "qwen", "Qwen Code"),
        (".claude/memory", "CLAUDE.md", "claude-code", "Claude Code"),
    ],
)
def test_a_folder_of_a_project_is_named_after_its_program(
    tmp_path: Path, place: str, beside: str, format: str, product: str
) -> None:
    folder = write(tmp_path / "app" / place)
    mark = tmp_path / "app" / beside
    if beside.endswith("rules"):
        mark.mkdir()
    else:
        mark.write_text("# App\n")
    for named in (tmp_path / "app", folder):
        found = [each for each in registry.detect_within(named) if each[0].is_whole]
        assert [known.name for known, _ in found] == [format], named
        assert registry.product_of(found[0][0].name, found[0][1]).name == product


def test_both_folders_of_a_project_are_opened(tmp_path: Path) -> None:
    both = [write(tmp_path / place / "memory") for place in (".agents", ".agent")]
    assert [root for _, root in registry.detect_within(tmp_path)] == both


def test_what_an_unknown_program_loads_is_not_claimed(tmp_path: Path) -> None:
    write(tmp_path / "app" / ".agents" / "memory")
    library = open_library(tmp_path / "app")
    found = memories(library)
    assert [each.title or each.content for each in found.values()] == [
        "Ask before a migration.",
        "Deploys — never on a Friday",
    ]
    claims = {"loaded_at_start", "line_loaded", "load_limit", "cut_line"}
    assert not any(claims & each.extra.keys() for each in found.values())
    assert {each.importance for each in found.values()} == {"medium"}
    store = library.stores[0]
    assert not store.session_start(library, "", library.now())


def test_a_home_of_qwen_is_not_one_of_claude_code(tmp_path: Path) -> None:
    home = tmp_path / "elsewhere"
    write(home / "projects" / "-srv-shop" / "memory")
    (home / "projects" / "-srv-shop" / "chats").mkdir()
    write(home / "memories")
    assert [known.name for known, _ in registry.detect_within(home)] == ["qwen"]
    assert {m.entity for m in memories(open_library(home)).values()} == {"-srv-shop", "user"}


def qwen(tmp_path: Path) -> Library:
    home = tmp_path / ".qwen"
    pinned = write(home / "projects" / "-srv-shop" / "memory") / "pinned"
    pinned.mkdir()
    (pinned / "deploys.md").write_text(NOTE)
    write(home / "memories")
    return open_library(home, tmp_path / "state")


def test_the_users_memories_of_qwen_are_loaded_in_every_session(tmp_path: Path) -> None:
    library = qwen(tmp_path)
    texts = library.stores[0].session_start(library, "-srv-shop", library.now())
    assert [text.title for text in texts] == ["MEMORY.md", "-srv-shop: MEMORY.md"]
    assert "qwen:projects/-srv-shop/memory/pinned/deploys.md" in memories(library)


def test_a_title_is_changed_where_qwen_makes_its_index_of(tmp_path: Path) -> None:
    library = qwen(tmp_path)
    ref = "qwen:projects/-srv-shop/memory/deploys.md"
    change = Change(Act.EDIT, "qwen", ref, {"title": "Releases — only on Mondays"})
    library.apply(library.plan([change]))
    folder = tmp_path / ".qwen" / "projects" / "-srv-shop" / "memory"
    assert (folder / "MEMORY.md").read_text().startswith("- [Releases](deploys.md) — only on Mon")
    assert "name: Releases\ndescription: only on Mondays\n" in (folder / "deploys.md").read_text()
    library.undo()
    assert (folder / "deploys.md").read_text() == NOTE


def test_a_type_that_qwen_passes_over_is_refused(tmp_path: Path) -> None:
    library = qwen(tmp_path)
    fields = {"content": "Knead for ten minutes.", "type": "recipe", "entity": "user"}
    with pytest.raises(Refused, match="passes over"):
        library.plan([Change(Act.ADD, "qwen", "", fields)])
    fields["type"] = "feedback"
    library.apply(library.plan([Change(Act.ADD, "qwen", "", fields)]))
    (added,) = (tmp_path / ".qwen" / "memories").glob("feedback_*.md")
    assert "\ntype: feedback\n" in added.read_text()
