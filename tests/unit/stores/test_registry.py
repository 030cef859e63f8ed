"""Stores are found where their programs keep them, each once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memtui.stores import registry


def agent_memory(home: Path) -> Path:
    (home / "entities" / "alice").mkdir(parents=True)
    (home / "entities" / "alice" / "items.json").write_text("[]\n")
    return home


def ambient(root: Path) -> Path:
    (root / "projects" / "4d3a12e5f267cd60").mkdir(parents=True)
    return root


def names(found: list[tuple[registry.Format, Path]]) -> list[tuple[str, Path]]:
    return [(known.name, root) for known, root in found]


def test_every_format_has_a_name_of_its_own() -> None:
    names_used = [known.name for known in registry.formats()]
    assert len(set(names_used)) == len(names_used)


def test_the_current_folder_comes_before_the_known_places(tmp_path: Path) -> None:
    here = agent_memory(tmp_path / "work" / "memory")
    known = ambient(tmp_path / "home" / ".ambient" / "memory")
    found = registry.discover(tmp_path / "work", tmp_path / "home", {})
    assert names(found) == [("agent-memory", here), ("ambient", known)]


def test_a_place_may_be_named_by_a_variable(tmp_path: Path) -> None:
    there = agent_memory(tmp_path / "elsewhere")
    variables = {"MEMORY_HOME": str(there)}
    found = registry.discover(tmp_path / "empty", tmp_path / "home", variables)
    assert names(found) == [("agent-memory", there)]
    assert registry.discover(tmp_path / "empty", tmp_path / "home", {"MEMORY_HOME": ""}) == []


def test_a_store_that_is_found_two_ways_is_listed_once(tmp_path: Path) -> None:
    root = ambient(tmp_path / ".ambient" / "memory")
    (tmp_path / "link").symlink_to(tmp_path / ".ambient")
    assert names(registry.discover(tmp_path, tmp_path, {})) == [("ambient", root)]
    assert names(registry.discover(tmp_path / "link", tmp_path, {}))[0][0] == "ambient"
    assert len(registry.discover(tmp_path / "link", tmp_path, {})) == 1


def test_one_folder_may_hold_two_formats(tmp_path: Path) -> None:
    agent_memory(tmp_path)
    ambient(tmp_path)
    assert [known.name for known, _ in registry.detect_all(tmp_path)] == ["agent-memory", "ambient"]


def test_naming_a_folder_opens_what_standing_in_it_opens(tmp_path: Path) -> None:
    here = tmp_path / "notes"
    for name in (".obsidian/app.json", "a.md", ".gemini/GEMINI.md", "below/.serena/memories/x.md"):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text("- a note\n")
    found = names(registry.detect_within(here))
    assert found == [("gemini", here / ".gemini"), ("markdown-folder", here)]
    assert names(registry.discover(here, tmp_path, {})) == found


def test_a_folder_of_stores_holds_them_all_and_a_store_is_one(tmp_path: Path) -> None:
    here = tmp_path / "all"
    one, other = agent_memory(here / "a"), ambient(here / "b")
    (here / "c").mkdir()
    assert names(registry.detect_within(here)) == [("agent-memory", one), ("ambient", other)]
    assert names(registry.discover(here, tmp_path, {})) == names(registry.detect_within(here))
    assert names(registry.detect_within(here / "a")) == [("agent-memory", one)]
    ambient(one / "inside")
    assert names(registry.detect_within(one)) == [("agent-memory", one)]
    assert registry.detect_within(here / "c") == registry.detect_within(here / "d") == []


@pytest.mark.parametrize("name", ["missing", "file.txt", "nul\0name", "x" * 300])
def test_what_is_no_folder_is_no_store(tmp_path: Path, name: str) -> None:
    if name == "file.txt":
        (tmp_path / name).write_text("text")
    assert registry.detect(tmp_path / name) is None


def test_a_pipe_in_place_of_a_store_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "entities")
    os.mkfifo(tmp_path / "projects")
    assert registry.detect(tmp_path) is None


def build(top: Path, *files: str) -> Path:
    for name in files:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text("x\n")
    return top


def explained(found: list[registry.Explanation], top: Path) -> dict[tuple[str, str], str]:
    """What each place lacks by its format and path; "" for a store that is taken."""
    return {
        (each.format.name, each.candidate.root.relative_to(top).as_posix()): ""
        if each.is_taken
        else each.candidate.missing
        for each in found
    }


def test_every_place_says_what_it_lacks(tmp_path: Path) -> None:
    work = build(
        tmp_path / "work",
        "bank/activeContext.md",
        "bank/progress.md",
        "vault/.obsidian/app.json",
        "vault/a.md",
        "templates/memory-bank/activeContext.md",
        "templates/memory-bank/progress.md",
        "agent/SOUL.md",
        "agent/USER.md",
        "lone/memory_summary.md",
        "other/MEMORY.md",
        "other/entities/a.txt",
    )
    found = explained(registry.explain(work, tmp_path, {}), work)
    taken = {key for key, missing in found.items() if not missing}
    assert taken == {("markdown-folder", "bank")}
    assert found["markdown-folder", "vault"].startswith("a mark of an agent")
    assert found["markdown-folder", "templates/memory-bank"] == (
        "a place of its own: it lies in templates/"
    )
    assert found["claude-code", "other"] == (
        "a place of its own: another program keeps entities there"
    )
    assert found["openclaw", "agent"] == "MEMORY.md, or daily logs in memory/"
    assert found["codex", "lone"].startswith("MEMORY.md or raw_memories.md")


def test_a_vault_without_an_agent_opens_when_it_is_named(tmp_path: Path) -> None:
    vault = build(tmp_path / "vault", ".obsidian/app.json", "deep/er/a.md")
    assert registry.discover(vault, tmp_path, {}) == []
    assert registry.discover(tmp_path, tmp_path, {}) == []
    assert names(registry.detect_within(vault)) == [("markdown-folder", vault)]
    (mentioned,) = registry.explain(tmp_path, tmp_path, {})
    assert (mentioned.candidate.root, mentioned.candidate.opens_when_named) == (vault, True)
    build(vault, "AGENTS.md")
    assert ("markdown-folder", vault) in names(registry.discover(vault, tmp_path, {}))


def test_profiles_of_hermes_below_a_repository(tmp_path: Path) -> None:
    work = build(tmp_path / "work", "hermes/a/memories/MEMORY.md", "hermes/a/config.yaml")
    assert names(registry.detect_within(work)) == [("hermes", work / "hermes" / "a")]
