"""A file of another owner is not saved, and its owner never changes.

Run in a process of its own, as a user of no rights where the tests run as root: root may keep any
owner. Who is not root has no file of another user to try it on but those of the system.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import memtui
from tests.bench.corpus import write_facts

OTHER, TEAM, NOBODY = 12345, 54321, 65534
IS_ROOT = os.geteuid() == 0

BECOME = """
import json, os, stat, sys
from pathlib import Path
from memtui.changes import Act, Change
from memtui.cli import output
from memtui.errors import SaveError
from memtui.files import atomic_replace, save_transaction
from memtui.journal import Journal
from memtui.library import Library, changing, planning
import memtui.stores.agent_memory.store, memtui.library.reverted_edits
import memtui.files.revert_detection
place, groups = Path(sys.argv[1]), json.loads(sys.argv[2])
if os.geteuid() == 0:
    os.setgroups(groups)
    os.setgid(65534)
    os.setuid(65534)
said = {}
"""

SAVE = (
    BECOME
    + """
library = Library.open([place / "memory"], state=place / "state")
library.load()
(label,) = (store.label for store in library.stores)
file = next((place / "memory").rglob("items.json"))

def content():
    return json.loads(file.read_text())[0]["content"]

def seen():
    status = file.stat()
    return [content(), status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)]

memory = next(iter(library.memories(label)))
planned = library.plan([Change(Act.EDIT, label, memory.ref, {"content": "changed"})])
said["before"] = seen()
try:
    library.apply(planned)
except SaveError as error:
    said["error"] = str(error)
    said["beside"] = [path.name for path in file.parent.iterdir()]
said["after"] = seen()
print(json.dumps(said))
"""
)


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that other users may enter, which those of pytest are not."""
    with tempfile.TemporaryDirectory(prefix="memtui-owner-") as name:
        place = Path(name)
        place.chmod(0o755)
        (place / "state").mkdir(mode=0o700)
        if IS_ROOT:
            os.chown(place / "state", NOBODY, NOBODY)
        yield place


def run(script: str, place: Path, *groups: int) -> dict[str, Any]:
    found = os.pathsep.join([str(Path(memtui.__file__).parents[1]), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", script, str(place), json.dumps(groups)],
        env={"PYTHONPATH": found, "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(place)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def shared(place: Path, mode: int) -> None:
    """A store that another user owns and everybody may write, as far as it can be made here."""
    write_facts(place / "memory", ["fact"], each=1)
    for path in (place / "memory", *(place / "memory").rglob("*")):
        path.chmod(0o777 if path.is_dir() else mode)
        if IS_ROOT:
            os.chown(path, OTHER, TEAM)


@pytest.mark.slow
@pytest.mark.parametrize("is_member", [True, False])
def test_a_file_of_another_owner_is_not_saved(place: Path, is_member: bool) -> None:
    shared(place, 0o666 if not is_member else 0o664)
    said = run(SAVE, place, *([TEAM] if is_member else []))
    _, *status = said["before"]
    if not IS_ROOT:
        assert "error" not in said, "it is our own"
        assert said["after"] == ["changed", *status]
        return
    assert status[:2] == [OTHER, TEAM]
    assert f"{OTHER}:{TEAM}" in said["error"]
    assert said["after"] == said["before"]
    assert said["beside"] == ["items.json"]


@pytest.mark.slow
def test_a_file_of_another_group_is_not_saved(place: Path) -> None:
    shared(place, 0o660)
    file = next((place / "memory").rglob("items.json"))
    if IS_ROOT:
        os.chown(file, NOBODY, TEAM)  # ours, but of a group that we are not in
    said = run(SAVE, place)
    assert (said["after"] == said["before"]) == IS_ROOT
    assert ("error" in said) == IS_ROOT
