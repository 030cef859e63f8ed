"""Copying uses the system's own tool where there is one, and says so only if something took it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memtui.tui.terminal import copy_with_tools

from .stage import Stage, stage

HOSTILE = "森 \x1b[2J 'quoted' $(x)\nline\u200b"
VARIABLES = ("DISPLAY", "WAYLAND_DISPLAY", "TMUX", "STY", "TERM_PROGRAM", "WSL_DISTRO_NAME")


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A terminal of which nothing is known."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    return monkeypatch


def tool(folder: Path, name: str, script: str) -> dict[str, str]:
    """A program of this name, first in the path."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin"}


@pytest.mark.parametrize(
    ("name", "variable"),
    [("wl-copy", "WAYLAND_DISPLAY"), ("xclip", "DISPLAY"), ("xsel", "DISPLAY")],
)
def test_the_tool_of_the_system_gets_the_text(tmp_path: Path, name: str, variable: str) -> None:
    environ = tool(tmp_path / "bin", name, f"cat > {tmp_path}/taken")
    assert copy_with_tools(HOSTILE, {**environ, variable: "x", "TMUX": "x"})
    assert (tmp_path / "taken").read_text() == HOSTILE


def test_a_tool_that_fails_did_not_take_it(tmp_path: Path) -> None:
    environ = tool(tmp_path / "bin", "xclip", "exit 1")
    assert not copy_with_tools("a", {**environ, "DISPLAY": ":9", "TERM": "linux"})


def test_a_terminal_is_no_proof() -> None:
    assert not copy_with_tools("a", {"PATH": "", "TERM": "xterm-256color", "TMUX": "x"})


def said(on: Stage) -> str:
    return [toast.message for toast in on.app._notifications][-1]


async def test_the_toast_says_what_took_the_text(
    root: Path, tmp_path: Path, plain: pytest.MonkeyPatch
) -> None:
    async with stage(root, toasts=True) as on:
        await on.press("y")
        assert said(on) == "Sent the memory's text to the terminal's clipboard."
        plain.setenv("DISPLAY", "x")
        plain.setenv("PATH", tool(tmp_path / "bin", "xclip", "cat > /dev/null")["PATH"])
        await on.press("y")
        assert said(on) == "Copied the memory's text."


@pytest.mark.slow
async def test_memories_are_copied_as_markdown_json_and_references(
    root: Path, plain: pytest.MonkeyPatch
) -> None:
    async with stage(root, (80, 24)) as on:
        await on.press("space", "space", "ctrl+y")
        await on.sees("Copy as")
        await on.press("end", "enter")
        refs = on.app.clipboard.split("\n")
        assert len(refs) == 2
        assert all(ref.startswith("agent-memory:") for ref in refs)
        await on.press("ctrl+y", "end", "up", "enter")
        assert [record["ref"] for record in json.loads(on.app.clipboard)] == refs
        await on.press("ctrl+y", "home", "down", "down", "enter")
        assert on.app.clipboard.startswith("# Memories\n")
        assert all(f"`{ref}`" in on.app.clipboard for ref in refs)
