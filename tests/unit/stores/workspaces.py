"""A small invented workspace, written file by file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from memtui.stores.workspace import FORMAT, LOG_PATH, MAP_PATH
from memtui.stores.workspace.store import WorkspaceStore

from .json_stores.opened import LABEL, NOW, Opened

TYPES: dict[str, Any] = {
    "exact_paths": {"ABOUT.md": "identity", "GOALS.md": "goal"},
    "glob_paths": {"knowledge/designs/*.md": "project", "projects/*/README.md": "project"},
    "task_rules": {
        "goal_priorities": ["high"],
        "goal_states": ["active"],
        "preference_tags": ["style"],
        "project_tags": ["infra"],
    },
}


def put(root: Path, path: str, text: str | bytes) -> Path:
    """Write one file of the workspace, bytes as they are."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def put_map(root: Path, types: object = TYPES) -> Path:
    return put(root, MAP_PATH, json.dumps(types, indent=2) + "\n")


def put_log(root: Path, text: str) -> Path:
    return put(root, LOG_PATH, text)


def make(folder: Path) -> Path:
    """A workspace with one document of each sort; its root."""
    root = folder / "pip"
    put_map(root)
    put(root, "ABOUT.md", "# About Pip\n\nPip keeps the [goals](GOALS.md).\n")
    put(root, "GOALS.md", "# Goals\n\nShip the lighthouse.\n")
    put(root, "README.md", "# Pip\n\nSee [[lantern]] and [design](knowledge/designs/lamp.md).\n")
    put(root, "journal/2026-11-02-fog.md", "# Fog\n\nNo ships today.\n")
    put(root, "knowledge/designs/lamp.md", "# Lamp\n\nTwo lenses.\n")
    put(root, "knowledge/lantern.md", "---\ntitle: Lantern\ntags: [light, oil]\n---\n\nBrass.\n")
    put(root, "tasks/paint.md", "---\nstate: todo\npriority: medium\n---\n# Paint the door\n")
    put(root, "lessons/ropes.md", "---\nstatus: active\n---\n# Rule\n\nCoil ropes.\n")
    return root


def opened(root: Path) -> Opened:
    return Opened(WorkspaceStore(root, LABEL, lambda: NOW), root.parent / "state")


def detected(path: Path) -> Path | None:
    return FORMAT.detect(path)
