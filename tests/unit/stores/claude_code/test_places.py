"""Claude Code's folders are recognised, others are not, and a project's path is never guessed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memtui.library import Library
from memtui.stores import registry
from memtui.stores.claude_code import ProjectPaths, detect
from tests.samples import SAMPLES

SLUG = "-home-ann-src-towerd-io"


def write(file: Path, text: str = "- x\n") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def config(home: Path) -> Path:
    write(home / ".claude" / "projects" / SLUG / "memory" / "MEMORY.md")
    return home / ".claude"


def opened(root: Path) -> Library:
    library = Library.open([root], formats=["claude-code"])
    library.load()
    return library


def test_settings_project_and_single_folder(tmp_path: Path) -> None:
    root = config(tmp_path)
    assert detect(tmp_path) == detect(root) == root
    assert detect(root / "projects" / SLUG) == root / "projects" / SLUG / "memory"
    repo = tmp_path / "repo"
    write(repo / ".claude" / "agent-memory" / "reviewer" / "MEMORY.md")
    assert detect(repo) == detect(repo / ".claude") == repo
    lone = write(tmp_path / "notes" / "MEMORY.md", "- [A](a.md) — b\n").parent
    assert detect(lone) is None, "the index leads nowhere"
    write(lone / "a.md")
    assert detect(lone) == lone


def test_a_repository_with_instructions_only(tmp_path: Path) -> None:
    write(tmp_path / "CLAUDE.md", "Read @docs/style.md\n")
    assert detect(tmp_path) is None, "any folder may hold such a file"
    (tmp_path / ".git").mkdir()
    write(tmp_path / "AGENTS.md", "Short commits.\n")
    write(tmp_path / "docs" / "style.md", "Plain words, see @deeper.md.\n")
    write(tmp_path / "docs" / "deeper.md", "`@not/imported.md`\n")
    assert detect(tmp_path) is None, "its rules are read as instructions"
    library = opened(tmp_path)
    found = {memory.id for memory in library.memories("claude-code")}
    assert found == {"CLAUDE.md", "AGENTS.md", "docs/style.md", "docs/deeper.md"}


def test_imports_in_a_circle_and_of_files_that_are_missing(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    write(tmp_path / "CLAUDE.md", "See @docs/a.md and @docs/none.md\n")
    write(tmp_path / "docs" / "a.md", "See @b.md\n")
    write(tmp_path / "docs" / "b.md", "Back to @../CLAUDE.md and @a.md\n")
    found = {memory.id: memory for memory in opened(tmp_path).memories("claude-code")}
    assert set(found) == {"CLAUDE.md", "docs/a.md", "docs/b.md"}
    assert found["CLAUDE.md"].extra["imports_missing"] == ["docs/none.md"]
    assert "imports_missing" not in found["docs/b.md"].extra


@pytest.mark.parametrize(
    "name", ["agent-memory", "ambient", "engram", "simple-memory", "workspace"]
)
def test_the_stores_of_other_programs_are_left_to_them(name: str) -> None:
    assert detect(SAMPLES / name) is None
    for folder in (SAMPLES / name).rglob("*"):
        assert not folder.is_dir() or detect(folder) is None


def test_the_folder_that_a_setting_names(tmp_path: Path) -> None:
    there = write(tmp_path / "elsewhere" / "MEMORY.md", "- [A](a.md)\n").parent
    write(there / "a.md")
    settings = {"autoMemoryDirectory": "~/elsewhere"}
    write(tmp_path / ".claude" / "settings.json", json.dumps(settings))
    work = tmp_path / "work"
    work.mkdir()
    assert [root for _, root in registry.discover(work, tmp_path, {})] == [there]
    write(tmp_path / ".claude" / "settings.json", '{"autoMemoryDirectory": "relative"}')
    assert registry.discover(work, tmp_path, {}) == []


def transcript(root: Path, *cwds: object) -> None:
    lines = [json.dumps({"type": "user", "cwd": cwd}) for cwd in cwds]
    write(root / "projects" / SLUG / "1.jsonl", "\n".join(lines))


def test_the_path_comes_from_the_transcripts(tmp_path: Path) -> None:
    root = config(tmp_path)
    transcript(root, "/somewhere/else", "/home/ann/src/towerd.io/deep/below")
    assert ProjectPaths(root).of(SLUG) == "/home/ann/src/towerd.io"


def test_else_from_the_settings_else_it_stays_the_slug(tmp_path: Path) -> None:
    root = config(tmp_path)
    transcript(root, "/somewhere/else", 7, None)
    assert ProjectPaths(root).entity(SLUG) == SLUG
    write(tmp_path / ".claude.json", json.dumps({"projects": {"/home/ann/src/towerd-io": {}}}))
    assert ProjectPaths(root).entity(SLUG) == "home/ann/src/towerd-io"
    assert opened(root).snapshot.rows[0].entity == "home/ann/src/towerd-io"


def test_imports_are_followed_five_files_deep(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    write(tmp_path / "CLAUDE.md", "@d/1.md\n")
    for number in range(1, 8):
        write(tmp_path / "d" / f"{number}.md", f"@{number + 1}.md\n")
    found = {memory.id for memory in opened(tmp_path).memories("claude-code")}
    assert found == {"CLAUDE.md", *(f"d/{number}.md" for number in range(1, 6))}


def test_projects_of_one_name_are_told_apart_by_the_folder_above(tmp_path: Path) -> None:
    root = tmp_path / ".claude"
    paths = ["/src/mill/api", "/src/tower/api", "/src/tower/bells"]
    for path in paths:
        slug = path.replace("/", "-")
        write(root / "projects" / slug / "memory" / "MEMORY.md")
        write(root / "projects" / slug / "a.jsonl", json.dumps({"cwd": path}) + "\n")
    library = opened(root)
    (store,) = library.stores
    entities = sorted({memory.entity for memory in library.memories(store.label)})
    assert entities == ["src/mill/api", "src/tower/api", "src/tower/bells"]
    assert [store.entity_levels(entity) for entity in entities] == [
        ("mill/api",),
        ("tower/api",),
        ("bells",),
    ]
    assert store.entity_levels("agents/reviewer") == ("agents", "reviewer")
    assert store.entity_levels("agents-local/x") == ("agents-local", "x")
