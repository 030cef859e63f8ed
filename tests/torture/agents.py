"""T6: two agents add facts to one file by a script that takes no lock, and break it.

The script is made in the manner of agent-memory's own: jq reads the file and writes another beside
it, which gets the file's name. Both agents use the same name for it, so that one moves away what
the other is still writing. From then on jq reads nothing and writes nothing: the file stays empty.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path

from memtui.files.backups import last_good
from memtui.files.json.locating import load_records
from memtui.files.reading import decode
from memtui.library import Library, broken_files
from memtui.tui.jobs import FileWatcher
from memtui.tui.library_worker import REFRESH_EVERY

SEEDS = 60
"""Facts in the file before the agents come."""
FACTS = 400
"""Facts that each agent means to add; none has ever come that far."""
NOTICED = 2.0
"""Seconds after which a broken file should be noticed; told, not tested: this machine is shared."""

_ADD_FACTS = """
file=$1 agent=$2 count=$3
n=0
while [ "$n" -lt "$count" ]; do
  fact=$(printf '{"id": "%s-%s", "fact": "noted by %s", "status": "active"}' $agent $n $agent)
  jq --argjson fact "$fact" '. += [$fact]' "$file" > "$file.tmp" && mv "$file.tmp" "$file"
  [ -s "$file" ] || exit 1
  n=$((n + 1))
  sleep 0.0$((n % 4))
done
"""


class Agents:
    """The two of them at work on one file."""

    def __init__(self, path: Path, day: int) -> None:
        command = ["sh", "-c", _ADD_FACTS, "add-fact", str(path)]
        self._at_work = [
            subprocess.Popen([*command, f"{name}{day}", str(FACTS)], stderr=subprocess.DEVNULL)
            for name in ("ann", "ben")
        ]
        self._path = path

    @property
    def done(self) -> bool:
        return all(agent.poll() is not None for agent in self._at_work)

    def end(self) -> None:
        """Both stop; what they had beside the file goes."""
        for agent in self._at_work:
            agent.kill()
            agent.wait()
        self._path.with_name("items.json.tmp").unlink(missing_ok=True)


def two_agents(folder: Path, breaks: int) -> str:
    """Let them break the file so many times; each time it is noticed and given back."""
    if not shutil.which("jq"):
        return "T6 two agents with jq: there is no jq here"
    path, state = folder / "memory" / "entities" / "port" / "items.json", folder / "state"
    path.parent.mkdir(parents=True)
    facts = [{"id": f"s{i}", "fact": f"seed {i}", "status": "active"} for i in range(SEEDS)]
    path.write_text(json.dumps(facts, indent=2) + "\n")
    library = Library.open([folder / "memory"], state=state)
    library.load()
    library.back_up_files()
    assert library.snapshot.count == SEEDS
    longest, seen = 0.0, 0
    touched = threading.Event()
    watcher = FileWatcher([folder / "memory"], lambda _: touched.set())
    try:
        for day in range(breaks):
            agents = Agents(path, day)
            waited, facts_seen = _broken_once(agents, path, library, state, touched)
            longest, seen = max(longest, waited), seen + facts_seen
    finally:
        watcher.end()
    late = "" if longest <= NOTICED else f" (more than the {NOTICED:.0f} s it should take)"
    return (
        f"T6 two agents with jq: they broke their file {breaks} times, noticed after at most"
        f" {longest:.1f} s{late}, {seen} facts seen and 0 lost by the last good copy"
    )


def _broken_once(
    agents: Agents, path: Path, library: Library, state: Path, touched: threading.Event
) -> tuple[float, int]:
    """Until the file is broken and given back: seconds until it was noticed, facts seen before."""
    try:
        while not (fault := _fault(library)):
            if agents.done and _is_whole(path):
                _collide(path)
            touched.wait(REFRESH_EVERY)  # what the screen does: a hint, or a look each second
            touched.clear()
            still = _trace(path)
            library.refresh()
            library.back_up_files()
            held = _ids_of(library)
            if held and still == _trace(path):
                missing = held - _kept(path, state)
                assert not missing, f"seen and not kept: {sorted(missing)[:5]}"
        noticed = time.time()
        waited = noticed - path.stat().st_mtime
    finally:
        agents.end()
    kept = _kept(path, state)
    library.apply(broken_files.plan_restore_copy(library.stores[0], str(path), state))
    library.refresh()
    assert not _fault(library), fault
    restored = _ids_of(library)
    assert restored == kept
    return waited, len(restored)


def _fault(library: Library) -> str:
    return "".join(f.reason for state in library.snapshot.stores for f in state.unreadable)


def _ids_of(library: Library) -> set[str]:
    return {m.id for m in library.memories(library.stores[0].label)}


def _kept(path: Path, state: Path) -> set[str]:
    copy = last_good(path, state)
    assert copy is not None, "no good copy was kept"
    return {record.value["id"] for record in load_records(decode(copy.read()))}


def _trace(path: Path) -> tuple[int, ...]:
    with suppress(OSError):
        status = os.stat(path)
        return status.st_ino, status.st_mtime_ns, status.st_size
    return ()


def _is_whole(path: Path) -> bool:
    try:
        json.loads(path.read_bytes())
    except ValueError:
        return False
    return True


def _collide(path: Path) -> None:
    """They never met: what happens when they do, done by hand."""
    temporary = path.with_name("items.json.tmp")
    temporary.write_bytes(path.read_bytes()[:-40])
    os.replace(temporary, path)
