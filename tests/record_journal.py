"""A journal of today with every kind of edit, recorded so that later versions can be tested on it.

python -m tests.record_journal writes tests/unit/journal/recorded/version2.tar.xz

Every act that a format does on its sample is done once; then a bundle is restored, a few edits are
made by hand, and an act is killed half-way. The archive holds the files as they are then, the
journal as SQL, and what the stores held after each action. Record it anew only for a journal of
another version: what is in the repository was written by the version that people have.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import sqlite3
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from memtui.bundle import archive
from memtui.bundle.bundle_reader import read_document
from memtui.bundle.bundle_writer import pack_stores
from memtui.bundle.restoring import plan_restore, restore
from memtui.changes import Act, Edit, Kind, StoreEdits, text_edit, value_edit
from memtui.errors import MemtuiError
from memtui.files import save_hooks
from memtui.files.save_transaction import commit
from memtui.files.sidecar_lines import read_entries, sidecar_files
from memtui.journal import Journal
from memtui.library import Library
from memtui.testing.acting import first_plan
from memtui.testing.fixtures import contents, memories, sample
from tests.formats import FORMATS
from tests.torture import act_kills
from tests.torture.processes import KILLED, in_child

RECORDED = Path(__file__).parent / "unit" / "journal" / "recorded" / "version2.tar.xz"
INVENTED = "/invented"
"""Stands in the recording for the folder that holds `stores` and `state`."""
KILLED_AT = "exchange:2"
MOVING_ON = ("updated_at", "revision_count", "normalized_hash", "last_seen_at", "id", "seq")
"""Columns that undo leaves as a write has moved them; so is the queue of Engram's cloud."""


@contextmanager
def opened(top: Path, *names: str) -> Iterator[Library]:
    """These stores of the folder, else those of all formats, with the folder's journal."""
    places = [top / "stores" / name for name in names or _recorded(top)]
    library = Library.open(places, state=top / "state")
    library.load()
    try:
        yield library
    finally:
        library.close()


def _recorded(top: Path) -> list[str]:
    """The formats with a store in the folder; a recording lacks those that came after it."""
    return [known.name for known in FORMATS if (top / "stores" / known.name).exists()]


def _former_names(stores: Path) -> dict[str, str]:
    """Name of a file in memtui's own folders -> the sidecar in which version 1 had its entries."""
    found = {}
    for place in (stores, *stores.rglob("*")):
        files = sidecar_files(place)
        former = str((files.former or files.asked).relative_to(stores))
        found |= {path.name: former for path in (files.kept, files.asked)}
    return found


def state_of(top: Path) -> dict[str, str]:
    """Each file of the stores with a digest of what it holds.

    Of a line of the sidecar the time does not count, of a database what moves on by itself. What
    lies in memtui's own folders counts to the sidecar, where a memtui of before had it.
    """
    found = {}
    noted: dict[str, dict[str, dict[str, object] | None]] = {}
    former = _former_names(top / "stores")
    for name, data in contents(top / "stores", beside=True).items():
        if name.endswith(("-wal", "-shm")):
            continue
        if name.endswith(".jsonl") and ".memtui/" in name:
            if name.startswith(".memtui/"):
                name = former[name.rpartition("/")[2]]
            known = noted.setdefault(name, {})
            for id, entry in read_entries(data.decode()).items():
                known[id] = (known.get(id) or {}) | (entry or {}) or None
            continue
        if name.endswith(".db"):
            data = _rows(top / "stores" / name)
        found[name] = hashlib.sha256(data).hexdigest()[:16]
    for name, entries in noted.items():
        data = json.dumps(entries, sort_keys=True).encode()
        found[name] = hashlib.sha256(data).hexdigest()[:16]
    return found


def _rows(database: Path) -> bytes:
    found = {}
    with closing(sqlite3.connect(database)) as db:
        db.row_factory = sqlite3.Row
        tables = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        for (table,) in tables:
            if "_fts" in table or table.startswith(("sqlite_", "sync_")):
                continue
            rows = [dict(row) for row in db.execute(f"SELECT * FROM {table}")]
            kept = [{k: v for k, v in row.items() if k not in MOVING_ON} for row in rows]
            found[table] = sorted(json.dumps(row, sort_keys=True) for row in kept)
    return json.dumps(found).encode()


# ---- recording -----------------------------------------------------------------------------------


def record(top: Path) -> list[dict[str, str]]:
    """Do everything in this folder; returns the state before the first and after each action."""
    states = []
    for known in FORMATS:
        sample(known, top / "stores" / known.name)
    rare = list(_rare(top / "stores" / "rare"))
    states.append(state_of(top))
    for known in FORMATS:
        for act in Act:
            if _do(top, known.name, act):
                states.append(state_of(top))

    _restore(top)
    states.append(state_of(top))
    for edits in rare:
        parts = [StoreEdits(str(top / "stores" / "rare"), edits)]
        with closing(Journal(top / "state")) as journal, journal.begin("rare", parts) as recording:
            commit(edits, recording)
        states.append(state_of(top))
    _kill(top)
    return states


def _do(top: Path, name: str, act: Act) -> bool:
    with opened(top, name) as library:
        try:
            planned = first_plan(library, act, list(memories(library).values()))[1]
            library.apply(planned)
        except (LookupError, MemtuiError):
            return False
    return True


def _restore(top: Path) -> None:
    with opened(top, "simple-memory") as library:
        packed = pack_stores(library, None).archive
        bundle = top / "bundle.zip"
        bundle.write_bytes(b"".join(archive.encode_archive(packed)))
        restore(plan_restore(read_document(bundle), top / "stores" / "restored"))
    bundle.unlink()


def _rare(folder: Path) -> Iterator[tuple[Edit, ...]]:
    """Edits that no act on a sample makes; no format knows the folder."""
    folder.mkdir()
    values, entries, late = (str(folder / n) for n in ("values.json", "entries.md", "late.md"))
    Path(values).write_bytes(b'\xef\xbb\xbf{\r\n\t"a": 1.50,\r\n\t"b": {"c": "\xff"}\r\n}')
    yield (
        value_edit(values, ("new",), "", '{"n": [1, 2]}', at=0),
        value_edit(values, ("b", "d"), "", '"\\ud83d"'),
        text_edit(entries, None, "one\n§\ntwo\n", Kind.ENTRIES),
        text_edit(late, None, "no end of line: \udcff"),
    )
    yield (
        value_edit(values, ("a",), "1.50", "", at=1),
        value_edit(values, ("new", "n"), "[1, 2]", "[]"),
        text_edit(entries, "one\n§\ntwo\n", "one\n§\ntwo\n§\nthree\n", Kind.ENTRIES),
    )
    yield (
        text_edit(entries, "one\n§\ntwo\n§\nthree\n", None, Kind.ENTRIES),
        text_edit(late, "no end of line: \udcff", None),
    )


def _kill(top: Path) -> None:
    with opened(top, "claude-code") as library:
        planned = act_kills.ACTS["edit"](library)

    def work() -> None:
        save_hooks.install(save_hooks.kill_at(KILLED_AT))
        with opened(top, "claude-code") as library:
            library.apply(planned)

    assert in_child(work) == KILLED


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        states = record(top)
        for lasting in (top / "state").glob("*"):
            if lasting.name not in ("journal.sqlite", "journal.sqlite-wal"):
                shutil.rmtree(lasting) if lasting.is_dir() else lasting.unlink()
        with closing(sqlite3.connect(top / "state" / "journal.sqlite")) as db:
            version = db.execute("PRAGMA user_version").fetchone()[0]
            script = "\n".join([*db.iterdump(), f"PRAGMA user_version = {version};"])
        print(f"{len(states)} states")
        files = {
            "journal.sql": script.replace(folder, INVENTED).encode(),
            "states.json": json.dumps(_differences(states), indent=1).encode(),
        }
        for name, data in sorted(contents(top / "stores", beside=True).items()):
            if not name.endswith(("-wal", "-shm")):
                files[f"stores/{name}"] = data
        with tarfile.open(RECORDED, "w:xz") as out:
            for name, data in files.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(data)
                out.addfile(entry, io.BytesIO(data))


def _differences(states: list[dict[str, str]]) -> list[dict[str, str | None]]:
    """Of each state what differs from the one before it; None for a file that is gone."""
    found: list[dict[str, str | None]] = []
    before: dict[str, str] = {}
    for state in states:
        changed = {n: state.get(n) for n in before | state if before.get(n) != state.get(n)}
        found.append(dict(sorted(changed.items())))
        before = state
    return found


# ---- reading a recording -------------------------------------------------------------------------


def unpack(top: Path) -> list[dict[str, str]]:
    """Lay the recording out in this folder; returns the recorded states."""
    with tarfile.open(RECORDED) as recorded:
        for entry in recorded:
            content = recorded.extractfile(entry)
            assert content is not None
            (top / entry.name).parent.mkdir(parents=True, exist_ok=True)
            (top / entry.name).write_bytes(content.read())
    script = (top / "journal.sql").read_text().replace(INVENTED, str(top))
    differences = json.loads((top / "states.json").read_text())
    (top / "state").mkdir()
    with closing(sqlite3.connect(top / "state" / "journal.sqlite")) as db:
        db.executescript(script)
        with db:
            _sign(db)
    states: list[dict[str, str]] = []
    now: dict[str, str | None] = {}
    for changed in differences:
        now = now | changed
        states.append({name: digest for name, digest in now.items() if digest is not None})
    return states


def _sign(db: sqlite3.Connection) -> None:
    """Compute the checksums anew: they cover the paths, which are others here."""
    rows = db.execute(
        "SELECT action, position, file, key, fields, part, before, after"
        " FROM edits JOIN targets ON targets.id = edits.target"
    ).fetchall()
    for action, position, file, key, fields, part, before, after in rows:
        signed = "\n".join((file, key, fields)) + f"{part} {before} {after}"
        sql = "UPDATE edits SET checksum = ? WHERE action = ? AND position = ?"
        db.execute(sql, (zlib.crc32(signed.encode()), action, position))


if __name__ == "__main__":
    main()
