"""A file of another owner is saved where that is agreed to, and its owner never changes silently.

Run in a process of its own, as a user of no rights where the tests run as root: root may keep any
owner. Who is not root has no file of another user to try it on but those of the system.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import memtui
from memtui.errors import ForeignOwner
from memtui.files.ownership import copy_owner
from tests.bench.corpus import write_facts

OTHER, TEAM, NOBODY = 12345, 54321, 65534
IS_ROOT = os.geteuid() == 0

BECOME = """
import json, os, stat, sys
from pathlib import Path
from memtui.changes import Act, Change
from memtui.cli import output
from memtui.errors import ForeignOwner
from memtui.files import atomic_replace, ownership, save_transaction
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
    output.confirm_owner(library, lambda: library.apply(planned))
except ForeignOwner as error:
    said["error"] = str(error)
    said["refused"] = seen()
    said["beside"] = [path.name for path in file.parent.iterdir()]
    library.accept_ownership(error.path)
    library.apply(planned)
said["after"] = seen()
library.undo()
said["undone"] = seen()
print(json.dumps(said))
"""
)

LIKE_THE_SYSTEM = (
    BECOME
    + """
like = os.stat("/")
descriptor = os.open(place / "new", os.O_RDWR | os.O_CREAT, 0o600)
try:
    ownership.copy_owner(descriptor, Path("/"), like, agreed=False)
except ForeignOwner as error:
    said["error"] = str(error)
said["mode"] = ownership.copy_owner(descriptor, Path("/"), like, agreed=True)
said["like"] = stat.S_IMODE(like.st_mode)
said["keeps_group"] = os.fstat(descriptor).st_gid == like.st_gid
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
def test_a_file_of_another_owner_is_saved_after_a_yes_only(place: Path, is_member: bool) -> None:
    shared(place, 0o666 if not is_member else 0o664)
    said = run(SAVE, place, *([TEAM] if is_member else []))
    content, *status = said["before"]
    if not IS_ROOT:
        assert "error" not in said, "it is our own"
        assert said["after"] == ["changed", *status]
        return
    assert status[:2] == [OTHER, TEAM]
    assert f"{OTHER}:{TEAM}" in said["error"]
    assert said["refused"] == said["before"]
    assert said["beside"] == ["items.json"]
    group = TEAM if is_member else NOBODY
    assert said["after"] == ["changed", NOBODY, group, status[2]]
    assert said["undone"] == [content, NOBODY, group, status[2]]


@pytest.mark.slow
def test_another_group_is_given_no_more_than_everybody_had(place: Path) -> None:
    (place / "state").rename(place / "folder")
    said = run(LIKE_THE_SYSTEM, place / "folder")
    assert "it belongs to root" in said["error"]
    mode, like = said["mode"], said["like"] & ~stat.S_ISUID
    if not said["keeps_group"]:
        assert mode & 0o070 <= (like & 0o007) << 3
        like &= ~stat.S_ISGID
    assert mode & ~0o070 == like & ~0o070


@pytest.mark.slow
def test_a_private_group_loses_access_rather_than_another_gaining_it(place: Path) -> None:
    shared(place, 0o660)
    file = next((place / "memory").rglob("items.json"))
    if IS_ROOT:
        os.chown(file, NOBODY, TEAM)  # ours, but of a group that we are not in
    said = run(SAVE, place)
    group, mode = (NOBODY, 0o600) if IS_ROOT else (file.stat().st_gid, 0o660)
    assert said["after"][0] == "changed"
    assert said["after"][2:] == [group, mode]
    assert ("error" in said) == IS_ROOT


@pytest.mark.parametrize(
    ("mode", "has_group", "agreed", "result"),
    [
        (0o6775, True, True, 0o2775),
        (0o6775, False, True, 0o0755),
        (0o0660, False, True, 0o0600),
        (0o0604, False, True, 0o0604),
        (0o0664, False, True, 0o0644),
        (0o0664, True, False, None),
        (0o0664, False, False, None),
    ],
)
def test_the_mode_of_a_file_whose_owner_cannot_be_kept(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mode: int,
    has_group: bool,
    agreed: bool,
    result: int | None,
) -> None:
    """As the system answers a user without rights, who may be in the group."""
    asked: list[tuple[int, int]] = []

    def fchown(_: int, owner: int, group: int) -> None:
        asked.append((owner, group))
        if owner != -1 or not has_group:
            raise PermissionError

    monkeypatch.setattr(os, "fchown", fchown)
    path = tmp_path / "items.json"
    like = os.stat_result((stat.S_IFREG | mode, 0, 0, 1, OTHER, TEAM, 0, 0, 0, 0))
    with path.open("w") as file:
        if result is None:
            with pytest.raises(ForeignOwner, match=f"it belongs to {OTHER}:{TEAM}") as caught:
                copy_owner(file.fileno(), path, like, agreed=agreed)
            assert (caught.value.where, caught.value.path) == (str(path), path)
        else:
            assert oct(copy_owner(file.fileno(), path, like, agreed=agreed)) == oct(result)
        own = os.fstat(file.fileno())
        assert copy_owner(file.fileno(), path, own, agreed=False) == stat.S_IMODE(own.st_mode)
    assert asked == [(OTHER, TEAM), (-1, TEAM)]
