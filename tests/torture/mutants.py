"""T25: the save module with one guard taken out must fail a test, or the test proves nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import memtui

PACKAGE = Path(memtui.__file__).parent
ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True)
class Mutant:
    """One line of one module, changed; and the scenario that must notice."""

    name: str
    module: str
    old: str
    new: str
    killer: str


MUTANTS = (
    Mutant(
        "no fsync",
        "atomic_replace.py",
        "        os.fsync(descriptor)\n\n\ndef _sync_folder",
        "        pass\n\n\ndef _sync_folder",
        "order",
    ),
    Mutant(
        "no folder fsync",
        "atomic_replace.py",
        "    try:\n        os.fsync(descriptor)\n    finally",
        "    try:\n        pass\n    finally",
        "order",
    ),
    Mutant(
        "synced before it is written",
        "atomic_replace.py",
        "        rest = memoryview(data)",
        "        _sync(descriptor)\n        rest = memoryview(data)",
        "order",
    ),
    Mutant(
        "no look at what was displaced",
        "atomic_replace.py",
        "        return Displaced(out, displaced)\n\n\ndef remove",
        "        return Displaced(out, expected)\n\n\ndef remove",
        "foreign",
    ),
    Mutant(
        "nothing is merged",
        "save_transaction.py",
        "if displaced is not None and (other == disk or not self._edits.is_complete(other)):",
        "if displaced is not None:",
        "foreign",
    ),
    Mutant(
        "written in place",
        "atomic_replace.py",
        "            out = _swap_in(temporary, path)",
        "            discard(temporary)\n            out = _temporary_name(path)\n"
        "            _copy(path, out)\n"
        "            path.write_bytes(b'')\n            failpoint('exchange')\n"
        "            path.write_bytes(data)",
        "points",
    ),
    Mutant(
        "no lock",
        "locking.py",
        "            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)\n            return",
        "            return",
        "locked",
    ),
    Mutant(
        "mode is lost",
        "ownership.py",
        "    os.fchmod(descriptor, mode)",
        "    pass",
        "mode",
    ),
    Mutant(
        "leftovers stay",
        "journal",
        "                leftover.unlink()",
        "                pass",
        "points",
    ),
    Mutant(
        "temp stays after an error",
        "atomic_replace.py",
        "    except BaseException:\n        discard(temporary)\n        raise\n    finally",
        "    except BaseException:\n        raise\n    finally",
        "limit",
    ),
)


def run(folder: Path, mutant: Mutant) -> bool:
    """Whether the scenario notices: a copy of the package with the change, in its own process."""
    package = folder / "memtui"
    package.mkdir(parents=True)
    for entry in PACKAGE.iterdir():
        if entry.name not in ("files", "journal"):
            (package / entry.name).symlink_to(entry)
    for room in ("files", "journal"):
        (package / room).mkdir()
        for entry in (PACKAGE / room).iterdir():
            (package / room / entry.name).symlink_to(entry)
    target = package / "files" / mutant.module
    if mutant.module == "journal":
        target = package / "journal" / "recovery.py"
    source = target.resolve().read_text()
    assert source.count(mutant.old) == 1, f"{mutant.name}: the line to change is gone"
    target.unlink()
    target.write_text(source.replace(mutant.old, mutant.new))
    ran = subprocess.run(
        [sys.executable, "-m", "tests.torture.killer", mutant.killer, str(folder / "work")],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}",
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert "No module named" not in ran.stderr, ran.stderr
    return ran.returncode != 0
