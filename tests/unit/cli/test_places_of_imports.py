"""`import` into a program with several projects: the project is named, never picked."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.library.stores_for_tests import agent_memory

Export = Callable[..., Path]


@pytest.fixture
def facts(call: Callable[..., int], tmp_path: Path) -> Path:
    """A file with one fact about Alice."""
    home = agent_memory(tmp_path / "memory", {"alice": ["Alice leads the tide tables team"]})
    file = tmp_path / "facts.jsonl"
    assert call("export", "--store", home, "--format", "jsonl", "-o", file) == 0
    return file


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    """Claude Code's folder with the memory of two projects."""
    home = tmp_path / "claude"
    for project in ("-home-x-blog", "-home-x-webshop"):
        folder = home / "projects" / project / "memory"
        folder.mkdir(parents=True)
        (folder / "MEMORY.md").write_text("- Pages are static\n")
    return home


def topics(claude: Path, project: str) -> list[Path]:
    files = (claude / "projects" / project / "memory").glob("*.md")
    return [file for file in files if file.name != "MEMORY.md"]


def test_claude_code_gets_it_in_the_project_that_is_named(
    call: Callable[..., int], facts: Path, claude: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("import", facts, "--into", claude) == 1
    refused = capsys.readouterr().err
    assert refused.count("\n") == 1
    assert "2 projects could take it (name one with --entity: " in refused
    names = refused.rpartition("--entity: ")[2].strip(")\n").split(", ")
    assert not topics(claude, "-home-x-blog")
    assert not topics(claude, "-home-x-webshop")
    shop = next(name for name in names if "webshop" in name)
    assert call("import", facts, "--into", claude, "--entity", shop) == 0
    assert f"entity (becomes {shop})" in capsys.readouterr().out
    (topic,) = topics(claude, "-home-x-webshop")
    text = topic.read_text()
    assert 'description: "Alice leads' in text or "description: Alice leads" in text
    index = (topic.parent / "MEMORY.md").read_text()
    assert "created" not in index
    assert not topics(claude, "-home-x-blog")


def test_a_name_that_is_no_project_is_refused_too(
    call: Callable[..., int], facts: Path, claude: Path
) -> None:
    assert call("import", facts, "--into", claude, "--entity", "nowhere") == 1


def test_ambient_gets_it_in_the_branch_that_is_named(
    call: Callable[..., int], facts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "ambient"
    for number, name in enumerate(("shop-api", "site")):
        folder = root / "memory" / "projects" / f"{number:016x}"
        (folder / "tasks").mkdir(parents=True)
        head = {"projectName": name, "lastActive": 0, "createdAt": 0, "events": []}
        (folder / "project.json").write_text(json.dumps(head))
    place = ("--into", root / "memory")
    assert call("import", facts, *place, "--entity", "shop-api/main") == 0
    (written,) = (root / "memory" / "projects").glob("*/tasks/*.json")
    assert written.parents[1].name == f"{0:016x}"
    assert "tide tables" in written.read_text()
