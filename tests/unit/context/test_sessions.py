"""`session` and `loaded`: what a program puts into a session by itself, and where it is cut."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memtui.library import Library
from memtui.stores import registry
from memtui.stores.base import LoadedEntry, LoadedText, LoadLimit, StoreView
from tests.unit.context.packs_for_tests import (
    NOW,
    ListStore,
    library_of,
    memory,
    pack_of,
    sample_library,
)

KEY = "00112233445566ff"


def _event(number: int, content: str, age: timedelta, **more: Any) -> dict[str, Any]:
    return {
        "id": f"{number:08d}-0000-4000-8000-000000000000",
        "type": "decision",
        "timestamp": int((NOW - age).timestamp() * 1000),
        "content": content,
        "importance": "high",
        **more,
    }


def _write(root: Path, name: str, active: timedelta, events: Sequence[Any], **top: Any) -> None:
    file = root / "projects" / KEY / name
    file.parent.mkdir(parents=True, exist_ok=True)
    last = int((NOW - active).timestamp() * 1000)
    record = {"projectKey": KEY, "lastActive": last, **top, "events": list(events)}
    text = json.dumps(record, indent=2)
    file.write_text(text, encoding="utf-8")


def _library(root: Path) -> Library:
    library = Library.open([root], now=lambda: NOW)
    library.load()
    library.index()
    return library


@pytest.fixture
def ambient(tmp_path: Path) -> Path:
    own = [
        *(_event(n, f"old {n}", timedelta(days=40)) for n in range(9)),
        _event(20, "quiet", timedelta(days=2), importance="low"),
        _event(21, "noon", timedelta(days=1, minutes=1)),
        _event(22, "Error: x\nResolution: y \ud83d", timedelta(hours=23), type="error-resolution"),
    ]
    branch = [
        *(_event(30 + n, f"step {n}", timedelta(minutes=5), importance="low") for n in range(17)),
        own[-1],
    ]
    _write(tmp_path, "project.json", timedelta(0), own, projectName="kiosk")
    _write(tmp_path, "tasks/feat--till.json", timedelta(0), branch, branchName="feat/till")
    _write(tmp_path, "tasks/idle.json", timedelta(days=91), branch, branchName="idle")
    return tmp_path


def test_the_block_of_a_project_and_branch_is_ambients_own(ambient: Path) -> None:
    pack = pack_of(_library(ambient), "session", "kiosk/feat/till")
    olds = "\n".join(f"- old {n} (decision, Oct 12 12:00 PM)" for n in range(1, 9))
    steps = "\n".join(f"- step {n} (decision, 5m ago)" for n in range(3, 17))
    last = "- Error: x\nResolution: y \ud83d (error-resolution, 23h ago)"
    assert pack.text == (
        f"[Project: kiosk]\n{olds}\n- noon (decision, Nov 20 11:59 AM)\n{last}\n\n"
        f"[Task: feat/till]\n{steps}\n{last}"
    )


def test_a_file_that_was_idle_for_ninety_days_gives_nothing(ambient: Path) -> None:
    pack = pack_of(_library(ambient), "session", "kiosk/idle")
    assert pack.text.startswith("[Project: kiosk]\n")
    assert "[Task" not in pack.text


def test_without_a_name_the_session_is_that_of_the_newest_memory(ambient: Path) -> None:
    assert "[Task: feat/till]" in pack_of(_library(ambient), "session").text


def test_another_store_gives_the_same_block_of_its_memories() -> None:
    library = library_of(
        memory("1", "one", entity="kiosk", type="decision", created=NOW - timedelta(days=3)),
        memory("2", "two", entity="kiosk", importance="low", created=NOW - timedelta(days=2)),
        memory("3", "three", entity="kiosk/till", created=NOW - timedelta(hours=2)),
        memory("4", "four", entity="other", created=NOW),
    )
    pack = pack_of(library, "session", "kiosk/till")
    assert pack.text == (
        "[Project: kiosk]\n- one (decision, 2026-11-18)\n- three (fact, 2h ago)\n"
        "\n[Task: kiosk/till]\n- three (fact, 2h ago)\n"
    )


@dataclass
class LoadingStore(ListStore):
    """Loads one text up to three lines."""

    def session_start(self, view: StoreView, entity: str, now: datetime) -> Sequence[LoadedText]:
        text = "# Index\n- one\n- two\n- three\n- four\n"
        places = ((name, text.index(f"- {name}")) for name in ("one", "two", "three", "four"))
        entries = tuple(LoadedEntry(f"s:{n}", at, at + len(n) + 3) for n, at in places)
        limit = LoadLimit(lines=3, units=1000, source="its manual")
        return (LoadedText("INDEX.md", text, limit=limit, entries=entries, note="at start"),)


def test_what_is_past_the_limit_is_cut_and_named() -> None:
    held = [memory(name, name) for name in ("one", "two", "three", "four")]
    library = Library([LoadingStore(held)], now=lambda: NOW)
    library.load()
    pack = pack_of(library, "loaded")
    assert pack.text == "# Index\n- one\n- two\n"
    assert [(one.entry.ref, one.reason) for one in pack.dropped] == [
        ("s:three", "past the limit"),
        ("s:four", "past the limit"),
    ]
    assert pack.notes == (
        "list · INDEX.md · ▰▰▰▰▰ 5 of 3 lines: cut in line 4; the limit is 3 lines or "
        "1,000 UTF-16 units (its manual)",
    )


def test_a_store_whose_program_loads_nothing_says_so() -> None:
    pack = pack_of(library_of(memory("1", "x")), "loaded")
    assert pack.sections == ()
    assert pack.notes == ("list: memtui knows of nothing that it loads by itself",)


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("agent-memory", "# "),
        ("ambient", "[Project: "),
        ("engram", "## Memory from Previous Sessions\n\n### Recent "),
        ("workspace", "# "),
    ],
)
def test_what_the_programs_of_the_sample_stores_load(
    name: str, begins: str, tmp_path: Path
) -> None:

    pack = pack_of(sample_library(name, tmp_path), "loaded")
    assert pack.text.startswith(begins)
    assert pack.refs


def _loaded_at(home: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, tuple[str, ...]]:
    monkeypatch.setenv("HOME", str(home))
    for name in ("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    found = registry.detect_within(home)
    names, roots = zip(*((known.name, root) for known, root in found), strict=True)
    library = Library.open(roots, formats=names, state=home / ".state", now=lambda: NOW)
    library.load()
    pack = pack_of(library, "loaded")
    return pack.text, pack.notes


def _put(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("files", "settings", "off", "note"),
    [
        (
            {
                ".claude/projects/-srv-a/memory/MEMORY.md": "- kept\n",
                ".claude/CLAUDE.md": "stays\n",
            },
            ".claude/settings.json",
            '{"autoMemoryEnabled": false}',
            "Claude Code: auto memory off",
        ),
        (
            {".hermes/memories/MEMORY.md": "kept\n", ".hermes/memories/USER.md": "stays\n"},
            ".hermes/config.yaml",
            "memory:\n  memory_enabled: false\n",
            "Hermes: MEMORY.md off",
        ),
        (
            {".qwen/memories/MEMORY.md": "- kept\n", "GEMINI.md": "- stays\n"},
            ".qwen/settings.json",
            '{"memory": {"enableManagedAutoMemory": false}}',
            "Qwen Code: auto memory off",
        ),
        (
            {".codex/memories/memory_summary.md": "v1\n- kept\n"}
            | {".codex/memories/MEMORY.md": "# Task Group: a\n", "GEMINI.md": "- stays\n"}
            | {".codex/config.toml": "[features]\nmemories = true\n"},
            ".codex/config.toml",
            "[memories]\nuse_memories = false\n[features]\nmemories = true\n",
            "Codex: use of memories off",
        ),
        (
            {".codex/memories/memory_summary.md": "v1\n- kept\n"}
            | {".codex/memories/MEMORY.md": "# Task Group: a\n", "GEMINI.md": "- stays\n"}
            | {".codex/config.toml": "[features]\nmemories = true\n"},
            ".codex/config.toml",
            "",
            "Codex: memories off by default",
        ),
        (
            {".qwen/team-memory/MEMORY.md": "- kept\n", "GEMINI.md": "- stays\n"}
            | {".qwen/settings.json": '{"memory": {"enableTeamMemory": true}}'},
            ".qwen/settings.json",
            "{}",
            "Qwen Code: team memory off by default",
        ),
    ],
)
def test_memory_that_is_off_is_not_loaded(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    files: dict[str, str],
    settings: str,
    off: str,
    note: str,
) -> None:
    for name, text in files.items():
        _put(tmp_path / name, text)
    text, _ = _loaded_at(tmp_path, monkeypatch)
    assert "kept" in text
    _put(tmp_path / settings, off)
    text, notes = _loaded_at(tmp_path, monkeypatch)
    assert "kept" not in text
    assert "stays" in text
    assert note in notes


def test_what_a_program_does_not_add_is_no_part_of_what_it_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Auto Memory of Gemini CLI proposes patches; GEMINI.md is loaded whether or not it is on."""
    _put(tmp_path / ".gemini/GEMINI.md", "## Gemini Added Memories\n- kept\n")
    text, notes = _loaded_at(tmp_path, monkeypatch)
    assert "kept" in text
    assert notes == ()


def test_a_memory_folder_that_the_settings_replace_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, other = tmp_path / ".claude/projects/-srv-a/memory", tmp_path / "notes"
    _put(usual / "MEMORY.md", "- former\n")
    _put(other / "MEMORY.md", "- [A](a.md) — present\n")
    _put(other / "a.md", "text\n")
    settings = tmp_path / ".claude/settings.json"
    _put(settings, '{"autoMemoryDirectory": "~/notes"}')
    text, _ = _loaded_at(tmp_path, monkeypatch)
    assert "present" in text
    assert "former" not in text
    (known, root), *_ = registry.detect_within(tmp_path / ".claude")
    [remark] = known.open(root, "store").remarks()
    assert remark.text == f"no session loads it: autoMemoryDirectory in {settings} names {other}"
    _put(settings, '{"autoMemoryDirectory": "notes"}')
    text, _ = _loaded_at(tmp_path, monkeypatch)
    assert "former" in text, "a relative path is passed over"


def test_hermes_loads_no_file_that_it_cannot_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _put(tmp_path / ".hermes/memories/USER.md", "Name: Gil\n")
    (tmp_path / ".hermes/memories/MEMORY.md").write_bytes(b"One \xe4 entry\n")
    text, _ = _loaded_at(tmp_path, monkeypatch)
    assert "Gil" in text
    assert "entry" not in text


def test_a_rule_for_certain_files_is_not_loaded_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _put(tmp_path / ".claude/projects/-srv-a/memory/MEMORY.md", "- a\n")
    rules = {"ts": 'paths: "src/**/*.ts"', "every": 'paths: ["**"]', "none": "paths:"}
    for name, front in rules.items():
        _put(tmp_path / f".claude/rules/{name}.md", f"---\n{front}\n---\n- rule {name}\n")
    text, _ = _loaded_at(tmp_path, monkeypatch)
    assert [name for name in rules if f"rule {name}" in text] == ["every", "none"]
