"""A folder that this user may not read is named, and the rest of the store is shown.

Run in a process of its own, as nobody where the tests run as root: root may read everything.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import memtui
from tests.own_folders import own_folders

from .programs import AgentMemoryPrograms, AmbientProgram

LOOK = """
import json, os, sys
from pathlib import Path
from memtui.acts import Act
from memtui.stores import registry
import memtui.stores.agent_memory.store, memtui.stores.ambient.store  # while Python may be read
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
known, root = registry.detect(Path("."))
store = known.open(root, "s")
scan = store.scan()
readings = [store.read(shard) for shard in scan.shards]
print(json.dumps({
    "read": [memory.id for reading in readings for memory in reading.memories],
    "unreadable": [fault.file for fault in scan.unreadable]
    + [fault.file for reading in readings for fault in reading.unreadable],
    "read_only": store.read_only,
    "refusals": [
        store.refusal(act, memory)
        for reading in readings for memory in reading.memories for act in (Act.EDIT, Act.PIN)
    ],
}))
"""


def look(folder: Path, mode: int = 0o755) -> dict[str, object]:
    """What a user without rights sees of the store in this folder."""
    folder.chmod(mode)
    home = Path(memtui.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", LOOK],
        cwd=folder,
        env={
            **{"PYTHONPATH": str(home), "PYTHONDONTWRITEBYTECODE": "1"},
            **own_folders(folder),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


@pytest.mark.slow
def test_agent_memory(tmp_path: Path) -> None:
    programs = AgentMemoryPrograms(tmp_path / "work")
    programs.add_fact("closed", "person", "nobody may read this folder")
    programs.add_fact("shut", "person", "nobody may read this file")
    good = programs.add_fact("open", "person", "everybody may read this")
    programs.items("closed").parent.chmod(0)
    programs.items("shut").chmod(0)
    programs.home.chmod(0o555)
    try:
        found = look(programs.home)
    finally:
        programs.items("closed").parent.chmod(0o755)
        programs.home.chmod(0o755)
    assert found["read"] == [good]
    assert found["unreadable"] == ["entities/closed", "entities/shut/items.json"]
    assert found["read_only"] == "the folder has no write permission"


@pytest.mark.slow
def test_a_folder_of_somebody_else_in_a_store_of_ones_own(tmp_path: Path) -> None:
    programs = AgentMemoryPrograms(tmp_path / "work")
    programs.add_fact("alice", "person", "everybody may read this")
    programs.items("alice").parent.chmod(0o555)
    try:
        found = look(programs.home, 0o777)
    finally:
        programs.items("alice").parent.chmod(0o755)
    assert found["read_only"] == ""
    assert found["refusals"] == ["the folder of its file has no write permission", ""]


@pytest.mark.slow
def test_ambient(tmp_path: Path) -> None:
    ambient = AmbientProgram(tmp_path / "home")
    event = ambient.event("everybody may read this")
    ambient.project("4d3a12e5f267cd60", "shop", event)
    closed = ambient.branch("4d3a12e5f267cd60", "main", event).parent
    shut = ambient.project("013b1d8a56ed1609", "notes", ambient.event("not this")).parent
    closed.chmod(0)
    shut.chmod(0)
    try:
        found = look(ambient.root)
    finally:
        closed.chmod(0o755)
        shut.chmod(0o755)
    assert found["read"] == [event["id"]]
    assert found["unreadable"] == [
        "projects/013b1d8a56ed1609",
        "projects/4d3a12e5f267cd60/tasks",
    ]


OPEN = """
import os, sys
from pathlib import Path
import memtui.library.opening as opening
from memtui.errors import StoreError
list(opening.registry.formats())
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    opening.detect_store(Path(sys.argv[1]))
except StoreError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.parametrize("closed", [".", "memory", ".."], ids=["itself", "inside", "around"])
def test_a_closed_folder_is_not_called_unknown(tmp_path: Path, closed: str) -> None:
    store = tmp_path / "around" / "store"
    (store / "memory" / "entities").mkdir(parents=True)
    for folder in (tmp_path, *tmp_path.parents[:1], store.parent):
        folder.chmod(0o755)
    shut = (store / closed).resolve()
    shut.chmod(0)
    try:
        done = subprocess.run(
            [sys.executable, "-c", OPEN, str(store)],
            cwd="/",
            env={"PYTHONPATH": str(Path(memtui.__file__).parents[1])},
            capture_output=True,
            text=True,
            check=True,
        )
    finally:
        shut.chmod(0o755)
    assert "there is no permission to read" in done.stdout
