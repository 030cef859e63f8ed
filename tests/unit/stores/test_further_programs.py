"""What goose, VS Code Copilot, OpenWolf, Claude Remember and memsearch do by their own rules."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.model import READ_BY
from memtui.stores import registry
from memtui.testing.fixtures import memories, open_library
from tests.samples import SAMPLES


def test_goose_gives_the_last_of_texts_with_the_same_tags(tmp_path: Path) -> None:
    folder = tmp_path / "goose" / "memory"
    folder.mkdir(parents=True)
    file = folder / "towers.txt"
    file.write_text("# key\nWith the sexton.\n\nNo tags.\n\n# key\nWith the harbour office.\n\n")
    library = open_library(folder, tmp_path / "state")
    given = {m.content: m.extra["loaded_at_start"] for m in memories(library).values()}
    assert given == {"With the sexton.": False, "No tags.": True, "With the harbour office.": True}
    (text,) = library.stores[0].session_start(library, "", library.now())
    assert text.text.endswith("Category: towers\n- No tags.\n- With the harbour office.\n")
    first = next(m for m in memories(library).values() if m.content == "With the sexton.")
    library.apply(library.plan([Change(Act.DELETE, first.store, first.ref)]))
    assert file.read_text() == "No tags.\n\n# key\nWith the harbour office.\n\n"
    library.apply(library.plan([Change(Act.ADD, "goose", "", {"content": "New.", "entity": "a"})]))
    assert (folder / "a.txt").read_text() == "New.\n\n"
    library.undo()
    library.undo()
    assert file.read_text().startswith("# key\nWith the sexton.\n\nNo tags.")


def test_the_notes_of_a_person_are_cut_as_copilot_cuts_them(tmp_path: Path) -> None:
    notes = tmp_path / "User" / "globalStorage" / "github.copilot-chat" / "memory-tool" / "memories"
    notes.mkdir(parents=True)
    (notes / "a.md").write_text("".join(f"- Rule {number}\n" for number in range(198)))
    (notes / "b.md").write_text("- The last\n")
    library = open_library(tmp_path / "User")
    (use,) = library.loaded.limit_uses(library, library.now())
    assert use.measures == (
        ("lines", 203, 200),
    )  # an empty line ends each file, as Copilot splits it
    assert use.not_loaded == 1


def test_a_workspace_of_vs_code_is_called_by_its_folder(tmp_path: Path) -> None:
    library = open_library(SAMPLES / "vscode-copilot")
    entities = {each.entity for each in memories(library).values()}
    assert entities == {"user", "reports", "reports/session c2Vzc2lv", "town letters"}


@pytest.mark.parametrize(
    ("name", "loaded", "entities"),
    [
        ("openwolf", set(), {"cerebrum/Do-Not-Repeat", "log", "identity"}),
        ("claude-remember", {"now", "recent", "daily/2026-11-18"}, {"handoff", "archive"}),
        ("memsearch", set(), {"daily/2026-11-12", "project", "user"}),
    ],
)
def test_what_a_plugin_keeps_is_read_by_its_files(
    name: str, loaded: set[str], entities: set[str]
) -> None:
    found = memories(open_library(SAMPLES / name)).values()
    assert loaded | entities <= {each.entity for each in found}
    given = {each.entity for each in found if each.extra.get("loaded_at_start")}
    assert loaded <= given
    assert bool(given) == bool(loaded)


FILES = {
    "QWEN.md": "Qwen Code",
    ".qwen/QWEN.local.md": "Qwen Code",
    "WARP.md": "Warp",
    ".rules": "Zed",
    "replit.md": "Replit Agent",
    "CONVENTIONS.md": "aider",
    ".trae/rules/project_rules.md": "Trae",
    ".augment/rules/style.md": "Augment",
    ".amazonq/rules/style.md": "Amazon Q",
    ".continue/rules/style.md": "Continue",
    ".agents/rules/style.md": "Antigravity",
}


def test_instructions_say_who_reads_them(tmp_path: Path) -> None:
    for name in (*FILES, "AGENTS.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"- A rule of {name}\n")
    found = {m.entity: m.extra[READ_BY] for m in memories(open_library(tmp_path)).values()}
    assert {name: list(found[name]) for name in FILES} == {n: [p] for n, p in FILES.items()}
    assert not {"Warp", "Zed"} & {*found["AGENTS.md"]}
    assert {"Codex", "Qwen Code", "Augment"} <= {*found["AGENTS.md"]}


def test_a_rule_of_augment_says_when_it_is_given(tmp_path: Path) -> None:
    rules = tmp_path / ".augment" / "rules"
    rules.mkdir(parents=True)
    (tmp_path / "AGENTS.md").write_text("- Always.\n")
    for type in ("always_apply", "manual", "agent_requested"):
        (rules / f"{type}.md").write_text(f"---\ntype: {type}\n---\n\n- {type}\n")
    scopes = {m.content: m.extra["scope"] for m in memories(open_library(tmp_path)).values()}
    assert scopes["manual"] == "when a person names it"
    assert scopes["always_apply"] == "always"
    assert scopes["agent_requested"] == "the agent decides"


def test_every_known_place_is_tried(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "home" / "app"
    for name, place in (("goose", project), ("vscode-copilot", home / ".vscode-server/data")):
        shutil.copytree(SAMPLES / name, place)
    found = {known.name for known, _ in registry.discover(project, home, {})}
    assert {"goose", "vscode-copilot"} <= found
