"""Ambient's own backup as a store: its files as Ambient would write them, and what they say."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from memtui.bundle.ambient import VERSION
from memtui.bundle.archive_paths import home_of
from memtui.bundle.bundle_reader import Incoming
from memtui.errors import BundleError
from memtui.model import Memory, Place
from memtui.stores.ambient import FORMAT, layout
from memtui.stores.ambient.project_files import stringified, task_key


def incoming(document: Mapping[str, Any]) -> Incoming:
    """The store that a backup holds. Raises BundleError."""
    if document.get("version") != VERSION or not isinstance(document["projects"], dict):
        raise BundleError("this is no Ambient backup of a known version")
    texts: dict[str, str] = {}
    for key, project in document["projects"].items():
        if not layout.PROJECT_KEY.fullmatch(key) or not isinstance(project, dict):
            raise BundleError("a project's key is not 16 hex digits")
        folder = f"{layout.PROJECTS}/{key}"
        if project.get("project") is not None:
            texts[f"{folder}/{layout.PROJECT}"] = _file(project["project"])
        for branch, task in (project.get("tasks") or {}).items():
            if not branch or task_key(branch) != branch or branch in (".", ".."):
                raise BundleError("a branch's key cannot be a file name")
            texts[f"{folder}/{layout.TASKS}/{branch}.json"] = _file(task)
    files = {name: _loader(text) for name, text in texts.items()}
    return Incoming(FORMAT.name, FORMAT.name, _memories(texts), whole=True, files=files)


def _file(value: Any) -> str:
    if not isinstance(value, dict) or not isinstance(value.get("events"), list):
        raise BundleError("a project or branch of the backup has no events")
    return stringified(value)


def _loader(text: str) -> Callable[[], bytes]:
    return lambda: text.encode("utf-8")


def _memories(texts: Mapping[str, str]) -> list[Memory]:
    """What the adapter reads in these files."""
    with tempfile.TemporaryDirectory(prefix="memtui-import-") as folder:
        root = Path(folder)
        for name, text in texts.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("utf-8"))
        store = FORMAT.open(root, FORMAT.name)
        home = home_of(root, ())
        found = [memory for shard in store.scan().shards for memory in store.read(shard).memories]
        return [replace(m, origin=Place(home.name(m.origin.file)), also=()) for m in found]
