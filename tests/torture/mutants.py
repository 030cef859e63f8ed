"""T25: the save module with one guard taken out must fail a test, or the test proves nothing."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

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
        "files.atomic_replace",
        "        os.fsync(descriptor)\n\n\ndef sync_folder",
        "        pass\n\n\ndef sync_folder",
        "order",
    ),
    Mutant(
        "no folder fsync",
        "files.atomic_replace",
        "    try:\n        os.fsync(descriptor)\n    finally",
        "    try:\n        pass\n    finally",
        "order",
    ),
    Mutant(
        "synced before it is written",
        "files.atomic_replace",
        "        rest = memoryview(data)",
        "        _sync(descriptor)\n        rest = memoryview(data)",
        "order",
    ),
    Mutant(
        "no look at what was displaced",
        "files.atomic_replace",
        "    return data\n\n\ndef put_back",
        "    return expected\n\n\ndef put_back",
        "foreign",
    ),
    Mutant(
        "nothing is merged",
        "files.save_transaction",
        "if now == new and (other == disk or not self._edits.is_complete(other)):",
        "if now == new:",
        "foreign",
    ),
    Mutant(
        "written in place",
        "files.atomic_replace",
        "            return _swap_in(temporary, path)",
        "            discard(temporary)\n            out = _temporary_name(path)\n"
        "            _copy(path, out)\n"
        "            path.write_bytes(b'')\n            failpoint('exchange')\n"
        "            path.write_bytes(data)\n            return out",
        "points",
    ),
    Mutant(
        "no lock",
        "files.locking",
        "            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)\n            return",
        "            return",
        "locked",
    ),
    Mutant(
        "mode is lost",
        "files.atomic_replace",
        "    os.fchmod(descriptor, stat.S_IMODE(like.st_mode))",
        "    pass",
        "mode",
    ),
    Mutant(
        "leftovers stay",
        "journal.recovery",
        "                leftover.unlink()",
        "                pass",
        "points",
    ),
    Mutant(
        "temp stays after an error",
        "files.atomic_replace",
        "    except BaseException:\n        discard(temporary)\n        raise\n    finally",
        "    except BaseException:\n        raise\n    finally",
        "limit",
    ),
)


def run(folder: Path, mutant: Mutant) -> bool:
    """Whether the scenario notices, in a process of its own that imports the changed module."""
    source = (PACKAGE / f"{mutant.module.replace('.', '/')}.py").read_text()
    assert source.count(mutant.old) == 1, f"{mutant.name}: the line to change is gone"
    folder.mkdir(exist_ok=True)
    changed = folder / "changed.py"
    changed.write_text(source.replace(mutant.old, mutant.new))
    given = [f"memtui.{mutant.module}", str(changed), mutant.killer, str(folder / "work")]
    ran = subprocess.run(
        [sys.executable, "-m", "tests.torture.mutants", *given],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert LOADED in ran.stdout, ran.stderr
    return ran.returncode != 0


LOADED = "the changed module has been loaded"


class ChangedModule(MetaPathFinder):
    """Finds one module in another file."""

    def __init__(self, name: str, file: str) -> None:
        self._name, self._file = name, file

    def find_spec(
        self, fullname: str, path: object, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        print(LOADED, flush=True)
        return spec_from_file_location(fullname, self._file)


if __name__ == "__main__":
    name, file, killer, work = sys.argv[1:]
    assert name not in sys.modules
    sys.meta_path.insert(0, ChangedModule(name, file))
    from tests.torture.killer import SCENARIOS

    SCENARIOS[killer](Path(work))
