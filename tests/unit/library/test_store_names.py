"""Every open store is shown by its program, two of one program by their projects too."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from memtui.library import Library
from memtui.library.store_names import project_of
from memtui.query import parse_query
from memtui.stores import registry
from tests.samples import SAMPLES

PRODUCTS = {
    "agent-memory": ("agent-memory", "AM"),
    "ambient": ("Ambient", "AB"),
    "beads": ("Beads", "BD"),
    "claude-code": ("Claude Code", "CC"),
    "claude-mem": ("claude-mem", "CM"),
    "conport": ("ConPort", "CP"),
    "codex": ("Codex", "CX"),
    "engram": ("Engram", "EN"),
    "engram-export": ("Engram export", "EX"),
    "gemini": ("Gemini CLI", "GM"),
    "hermes": ("Hermes", "HM"),
    "project-instructions": ("Instructions", "IN"),
    "markdown-folder": ("basic-memory", "BM"),
    "mcp-memory": ("MCP memory", "MC"),
    "mem0": ("mem0", "M0"),
    "memfs": ("Letta", "LT"),
    "memory-bank": ("Cline", "CL"),
    "openclaw": ("OpenClaw", "OC"),
    "serena": ("Serena", "SE"),
    "simple-memory": ("Simple Memory", "SM"),
    "vault": ("Obsidian", "OB"),
    "workspace": ("gptme", "WS"),
}
"""Folder of the sample store -> name and badge of its program."""


def of_two(name: str, folder: Path) -> Library:
    """Two copies of a sample store, in two projects."""
    places = [folder / project / name for project in ("harbour", "mill")]
    for place in places:
        shutil.copytree(SAMPLES / name, place)
    return Library.open(
        [root for place in places for _, root in [registry.detect_within(place)[0]]]
    )


@pytest.mark.parametrize("name", PRODUCTS)
def test_two_stores_of_a_program_are_told_apart_by_project(name: str, tmp_path: Path) -> None:
    library = of_two(name, tmp_path)
    one, two = (library.names.by_label[store.label] for store in library.stores)
    program, badge = PRODUCTS[name]
    assert one.product == two.product
    assert (one.product.name, one.product.badge) == (program, badge)
    assert one.name == f"{program} · harbour"
    assert two.name == f"{program} · mill"


def test_every_badge_is_two_letters_of_its_own() -> None:
    library = Library.open([SAMPLES / name for name in PRODUCTS])
    badges = [library.names.by_label[store.label].product.badge for store in library.stores]
    assert len(set(badges)) == len(badges) == len(PRODUCTS)
    assert all(len(badge) == 2 and badge.isupper() for badge in badges)


def test_one_store_of_a_program_has_its_name_and_keeps_its_label() -> None:
    library = Library.open([SAMPLES / name for name in ("serena", "vault")])
    assert [library.names.of(store.label) for store in library.stores] == ["Serena", "Obsidian"]
    assert [store.label for store in library.stores] == ["markdown-folder", "markdown-folder-2"]
    assert library.names.of("MARKDOWN-FOLDER-2") == "Obsidian"
    assert library.names.of("gone") == "gone"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("filter", "labels"),
    [
        ("store:serena", {"serena-store"}),
        ("store:Obsidian", {"markdown-folder"}),
        ("store:markdown-folder", {"markdown-folder"}),
        ("store:ser*", {"serena-store"}),
        ("-store:serena", {"markdown-folder"}),
        ("(store:serena OR store:obsidian)", {"serena-store", "markdown-folder"}),
        ("store:letta", set()),
    ],
)
def test_a_filter_takes_names_and_labels(filter: str, labels: set[str]) -> None:
    roots = [SAMPLES / "serena", SAMPLES / "vault"]
    library = Library.open(roots, labels=["serena-store", ""])
    library.load()
    found = library.find(parse_query(filter, library.now()))
    assert {found.rows[slot].store for slot in found.slots} == labels


def test_a_filter_by_program_finds_all_its_stores(tmp_path: Path) -> None:
    library = of_two("serena", tmp_path)
    library.load()

    def count(query: str) -> int:
        return library.find(parse_query(query, library.now())).total

    assert count("store:serena") == count("") == 2 * count('store:"Serena · mill"')


def test_a_format_without_a_declared_program_has_one_by_its_title(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = next(registry.own_formats())
    bare = type(known)("jotter", "Jotter: jottings", (), known.detect, known.load)
    monkeypatch.setattr(registry, "_declared_formats", lambda: ((bare,), ()))
    product = registry.product_of("jotter", Path("/"))
    assert (product.name, product.badge) == ("Jotter", "JO")
    assert registry.product_of("unknown", Path("/")).name == "unknown"


def test_a_store_that_is_a_checkout_is_named_after_itself(tmp_path: Path) -> None:
    roots = [tmp_path / "code" / name for name in ("harbour", "mill")]
    for root in roots:
        (root / ".git").mkdir(parents=True)
        (root / "AGENTS.md").write_text("- rye\n")
    library = Library.open([roots[0], roots[1]])
    shown = {library.names.of(store.label) for store in library.stores}
    assert shown == {"Instructions · harbour", "Instructions · mill"}
    assert {project_of(root) for root in roots} == {*roots}


def test_a_folder_with_instructions_is_a_project(tmp_path: Path) -> None:
    """It was named after the folder above it, and one below it after it."""
    root, below = tmp_path / "shop", tmp_path / "shop" / "web"
    below.mkdir(parents=True)
    for folder in (root, below):
        (folder / "AGENTS.md").write_text("- Use uv\n")
    library = Library.open([root, below], state=tmp_path / "state")
    names = [library.names.of(store.label) for store in library.stores]
    assert names == ["Instructions · shop", "Instructions · web"]
