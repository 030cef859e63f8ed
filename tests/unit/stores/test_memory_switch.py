"""Whether a program keeps memory, as its files of settings say it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memtui.stores import registry
from memtui.stores.base import MemorySwitch

CLAUDE, QWEN = "autoMemoryEnabled", "memory.enableManagedAutoMemory"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def write(file: Path, text: str | dict[str, object] = "A note.\n") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return file


def switches(folder: Path) -> list[MemorySwitch]:
    found = registry.detect(folder)
    assert found is not None
    format, root = found
    return list(format.open(root, "store").memory_switches())


def test_claude_code_keeps_memory_until_a_setting_or_the_variable_says_otherwise(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home / ".claude/projects/-srv-app/memory/user_tabs.md")
    assert switches(home / ".claude") == [MemorySwitch("auto memory", True, CLAUDE)]
    settings = write(home / ".claude/settings.json", {CLAUDE: False})
    assert switches(home / ".claude") == [MemorySwitch("auto memory", False, CLAUDE, str(settings))]
    variable = "CLAUDE_CODE_DISABLE_AUTO_MEMORY"
    write(settings, {CLAUDE: False, "env": {variable: "0"}})
    (switch,) = switches(home / ".claude")
    assert switch == MemorySwitch("auto memory", True, variable, str(settings))
    monkeypatch.setenv(variable, "1")
    (switch,) = switches(home / ".claude")
    assert switch == MemorySwitch("auto memory", False, variable, f"${variable}")


def test_a_project_that_has_turned_it_off_is_named(home: Path) -> None:
    project = home / "belfry"
    slug = "".join(each if each.isalnum() else "-" for each in str(project))
    write(home / f".claude/projects/{slug}/memory/user_tabs.md")
    own = write(project / ".claude/settings.local.json", {CLAUDE: False})
    assert switches(home / ".claude") == [
        MemorySwitch("auto memory", True, CLAUDE),
        MemorySwitch(f"auto memory in {project}", False, CLAUDE, str(own)),
    ]


def test_the_settings_of_a_project_prevail_over_those_of_its_user(home: Path) -> None:
    user = write(home / ".claude/settings.json", {CLAUDE: False})
    write(home / "belfry/.claude/memory/tabs.md")
    assert switches(home / "belfry")[0].source == str(user)
    own = write(home / "belfry/.claude/settings.json", {CLAUDE: True})
    assert switches(home / "belfry") == [MemorySwitch("auto memory", True, CLAUDE, str(own))]


def test_qwen_code_reads_settings_with_comments_and_has_a_team_s_memory_off(home: Path) -> None:
    write(home / ".qwen/memories/MEMORY.md")
    text = '{ // mine\n "a": "http://b", /* */ "memory": {"enableManagedAutoMemory": false}}'
    settings = write(home / ".qwen/settings.json", text)
    assert switches(home / ".qwen") == [MemorySwitch("auto memory", False, QWEN, str(settings))]
    write(home / "belfry/.qwen/team-memory/MEMORY.md")
    team = MemorySwitch("team memory", False, "memory.enableTeamMemory")
    assert switches(home / "belfry") == [team]
    own = write(home / "belfry/.qwen/settings.json", {"memory": {"enableTeamMemory": True}})
    assert switches(home / "belfry") == [team._replace(is_on=True, source=str(own))]


def test_codex_keeps_none_by_default_and_a_half_can_be_turned_off(home: Path) -> None:
    write(home / ".codex/memories/memory_summary.md", "v1\n")
    write(home / ".codex/memories/MEMORY.md")
    assert switches(home / ".codex") == [MemorySwitch("memories", False, "features.memories")]
    text = "[features]\nmemories = true\n[memories]\nuse_memories = false\n"
    config = str(write(home / ".codex/config.toml", text))
    assert switches(home / ".codex") == [
        MemorySwitch("memories", True, "features.memories", config),
        MemorySwitch("use of memories", False, "memories.use_memories", config),
    ]


def test_hermes_has_a_switch_for_each_file_and_gemini_one_for_proposals(home: Path) -> None:
    write(home / ".hermes/memories/MEMORY.md")
    config = str(write(home / ".hermes/config.yaml", "memory:\n  memory_enabled: false\n"))
    assert switches(home / ".hermes") == [
        MemorySwitch("MEMORY.md", False, "memory.memory_enabled", config),
        MemorySwitch("USER.md", True, "memory.user_profile_enabled"),
    ]
    write(home / ".gemini/GEMINI.md")
    key = "experimental.autoMemory"
    assert switches(home / ".gemini") == [MemorySwitch("Auto Memory", False, key, loads=False)]
    linked = write(home / "dotfiles/gemini.json", {"experimental": {"autoMemory": True}})
    (home / ".gemini/settings.json").symlink_to(linked)
    (switch,) = switches(home / ".gemini")
    assert switch.is_on
    assert switch.source == str(home / ".gemini/settings.json")


@pytest.mark.parametrize("text", ["{", "[]", '{"autoMemoryEnabled": "no"}', ""])
def test_settings_that_cannot_be_read_say_nothing(home: Path, text: str) -> None:
    write(home / ".claude/projects/-srv-app/memory/user_tabs.md")
    write(home / ".claude/settings.json", text)
    assert switches(home / ".claude") == [MemorySwitch("auto memory", True, CLAUDE)]
