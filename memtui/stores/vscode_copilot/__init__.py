"""GitHub Copilot in VS Code: what its memory tool keeps for a person, a workspace and a session.

A store is a folder `User` of VS Code. The person's files lie in `globalStorage`, those of a
workspace in `workspaceStorage/<id>`, whose `workspace.json` names the folder; beside `repo/` each
session has a folder, which Copilot removes some time after its last use. What GitHub keeps itself
(`copilot-memory`) is not on the disk. (Source: microsoft/vscode-copilot-chat@31acd00a,
src/extension/tools/node/memoryTool.tsx, memoryContextPrompt.tsx.)
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from memtui.stores.format import Candidate, Detection, Format, Product
from memtui.stores.scanning import folders_in, has_entry, is_markdown, restored_as

TOOL = "memory-tool/memories"
OF_USER = f"globalStorage/github.copilot-chat/{TOOL}"
OF_WORKSPACE = f"GitHub.copilot-chat/{TOOL}"
WORKSPACES = "workspaceStorage"
_BUILDS = ("Code", "Code - Insiders")
_BASES = ("~/.config/{}", "~/Library/Application Support/{}")
_SERVERS = ("~/.vscode-server/data", "~/.vscode-server-insiders/data", "~/.vscode-remote/data")


@Detection
def detect(path: Path) -> Iterator[Candidate]:
    """The folder `User` that this path is, or directly holds."""
    for folder in (path, path / "User"):
        if restored := restored_as(folder, "vscode-copilot"):
            yield restored
        elif has_entry(folder / OF_USER, is_markdown):
            yield Candidate(folder, f"notes in {TOOL}")
        elif (name := _workspace_with_notes(folder)) != "":
            yield Candidate(folder, f"notes of the workspace {name}")


def _workspace_with_notes(folder: Path) -> str:
    """The first workspace with notes; "" if there is none."""
    if not os.path.isdir(folder / WORKSPACES):
        return ""
    for entry in folders_in(folder / WORKSPACES, folder):
        own = Path(getattr(entry, "path", ""), OF_WORKSPACE)
        if has_entry(own, lambda each: has_entry(Path(each.path), is_markdown)):
            return own.parents[2].name
    return ""


FORMAT = Format(
    name="vscode-copilot",
    title="GitHub Copilot in VS Code: notes of its memory tool",
    product=Product("VS Code Copilot", "VC", 7),
    places=(
        *(f"{base.format(build)}/User" for base in _BASES for build in _BUILDS),
        *(f"{server}/User" for server in _SERVERS),
    ),
    detect=detect,
)
