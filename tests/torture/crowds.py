"""T4, T5: several programs write one file at once, and nobody's work is lost."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from memtui.changes import Edit, Kind, record_edit, text_edit
from memtui.errors import Conflict, SaveError, UnreadableFile
from memtui.files.json.editing import new_record, set_member
from memtui.files.json.locating import load_records
from memtui.files.reading import decode, encode, read_bytes
from memtui.files.revert_detection import EditState, find_statuses
from memtui.files.save_hooks import NullRecorder
from memtui.files.save_transaction import commit
from memtui.journal.recovery import recover_late_writes
from tests.torture.processes import fork, wait

START = 20


def two_writers(folder: Path, edits: int, seed: int) -> str:
    """T4. Two memtui add and edit records of one file, as fast as they can."""
    path, state = folder / "store" / "items.json", folder / "state"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps([{"id": f"s{i}", "n": 0} for i in range(START)], indent=2) + "\n")

    def work(who: str) -> Callable[[], None]:
        def run() -> None:
            rng, own = random.Random(f"{seed}{who}"), f"s{0 if who == 'a' else 1}"
            for number in range(edits):
                # half of the edits add, half count up a record that only this writer edits
                add = number % 2 == 0 and rng.random() < 0.2
                while not _once(path, state, f"{who}{number}" if add else None, own):
                    pass
            (folder / who).write_text("done")

        return run

    children = [fork(work("a")), fork(work("b"))]
    assert [wait(child) for child in children] == [0, 0]
    records = {record.value["id"]: record.value for record in load_records(path.read_text())}
    for who, own in (("a", "s0"), ("b", "s1")):
        added = sum(name.startswith(who) for name in records)
        assert records[own]["n"] + added == edits, f"{who} lost {edits - records[own]['n'] - added}"
    assert sorted(os.listdir(path.parent)) == ["items.json"]
    return f"T4 two memtui on one file: 2 x {edits:,} edits, 0 lost, 0 torn"


def _once(path: Path, state: Path, new: str | None, own: str) -> bool:
    """One edit; False when it has to be planned again."""
    records = load_records(decode(read_bytes(path)))
    if new is not None:
        edit = record_edit(str(path), (), "id", new, None, new_record(records[-1].raw, {"id": new}))
    else:
        record = next(record for record in records if record.value["id"] == own)
        after = set_member(record.raw, "n", record.value["n"] + 1)
        edit = record_edit(str(path), (), "id", own, record.raw, after)
    try:
        commit([edit], NullRecorder(state))
    except Conflict:
        return False
    return True


# ---- programs that take no lock --------------------------------------------------------------


def _rename(path: Path, text: str) -> None:
    temporary = path.with_name("items.json.tmp")
    temporary.write_text(text)
    os.replace(temporary, path)


def truncate(path: Path, text: str) -> None:
    path.write_text(text)


def _recreate(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    path.write_text(text)


REWRITING: dict[str, Callable[[Path, str], None]] = {
    "rename": _rename,
    "truncate": truncate,
    "delete and create": _recreate,
}


def foreign(folder: Path, style: str, ours: int, theirs: int, seed: int) -> str:
    """T5. A program adds records and knows nothing of us, while we edit others."""
    path, state = folder / "store" / "items.json", folder / "state"
    path.parent.mkdir(parents=True)
    start = [{"id": f"s{i}", "content": "old"} for i in range(START)]
    path.write_text(json.dumps(start, indent=2) + "\n")

    def agent() -> None:
        rng = random.Random(f"{seed} agent")
        if style == "jq script":
            _jq_script(path, theirs)
            return
        for number in range(theirs):
            records = _agent_reads(path)
            records.append({"id": f"f{number}", "content": "theirs"})
            REWRITING[style](path, json.dumps(records, indent=2) + "\n")
            time.sleep(rng.uniform(0, 0.004))

    child = fork(agent)
    rng, wanted, conflicts, undone = random.Random(seed), {}, 0, 0
    for number in range(ours):
        name = f"s{rng.randrange(START)}"
        edit = _ours(path, name, f"mine {number}")
        try:
            commit([edit], NullRecorder(state))
            wanted[name] = edit
        except Conflict:
            conflicts += 1
        except SaveError as error:
            if "keeps writing" not in str(error):
                raise
        if number % 10 == 9:
            undone += _applied_again(wanted, state)
    assert wait(child) == 0
    while again := _applied_again(wanted, state):
        undone += again
    records = {r.value["id"]: r.value for r in load_records(decode(read_bytes(path)))}
    lost = [number for number in range(theirs) if f"f{number}" not in records]
    assert not lost, f"{style}: {len(lost)} of theirs are lost: {lost[:5]}"
    assert not [n for n, e in wanted.items() if records[n]["content"] not in (e.after or "")]
    assert sorted(os.listdir(path.parent)) == ["items.json"], os.listdir(path.parent)
    return (
        f"T5 foreign writer ({style}): {theirs} of theirs and {ours - conflicts} of ours, 0 lost;"
        f" {undone} undone by it, all noticed and applied again"
    )


def _agent_reads(path: Path) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(path.read_text())
    return found


def _ours(path: Path, name: str, content: str) -> Edit:
    """Plan on what is there; a file caught empty is read again, as the library's refresh does."""
    while True:
        with suppress(UnreadableFile, StopIteration):
            records = load_records(decode(read_bytes(path)))
            record = next(r for r in records if r.value["id"] == name)
            after = set_member(record.raw, "content", content)
            return record_edit(str(path), (), "id", name, record.raw, after)


def _applied_again(wanted: dict[str, Edit], state: Path) -> int:
    """Find which of our edits the agent has undone, and make them again."""
    count = 0
    for (edit,), stand in find_statuses([(edit,) for edit in wanted.values()]):
        if stand.state is not EditState.HELD and edit.kind is Kind.RECORD:
            fresh = _ours(Path(edit.path), edit.id, json.loads(edit.after or "{}")["content"])
            with suppress(Conflict):
                commit([fresh], NullRecorder(state))
            wanted[edit.id] = fresh
            count += 1
    return count


_ADD_FACTS = """
n=0
while [ "$n" -lt "$2" ]; do
  jq --arg id "f$n" '. += [{"id": $id, "content": "theirs"}]' "$1" > "$1.tmp" && mv "$1.tmp" "$1"
  n=$((n + 1))
done
"""


def _jq_script(path: Path, count: int) -> None:
    """As agent-memory's own script does it: read, write beside, rename, no lock."""
    if shutil.which("jq"):
        subprocess.run(["sh", "-ec", _ADD_FACTS, "add-fact", str(path), str(count)], check=True)
        return
    for number in range(count):
        records = _agent_reads(path)
        records.append({"id": f"f{number}", "content": "theirs"})
        time.sleep(0.003)
        _rename(path, json.dumps(records, indent=2) + "\n")


def appending(folder: Path, ours: int, theirs: int, seed: int) -> str:
    """T5. An agent appends lines to a note while we change its first line."""
    path, state = folder / "store" / "2026-11-21.md", folder / "state"
    path.parent.mkdir(parents=True)
    path.write_text("# 0\n")

    def agent() -> None:
        rng = random.Random(f"{seed} agent")
        for number in range(theirs):
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.write(descriptor, f"- {number}\n".encode())
            os.close(descriptor)
            time.sleep(rng.uniform(0, 0.004))

    child = fork(agent)
    made, late = 0, []
    for number in range(ours):
        if number % 20 == 19:  # the app looks 0.3 s and 2 s after each of its saves
            late += recover_late_writes(path, NullRecorder(state))
        text = decode(read_bytes(path))
        _, _, rest = text.partition("\n")
        edit = text_edit(str(path), text, f"# {number}\n{rest}")
        with suppress(Conflict):
            commit([edit], NullRecorder(state))
            made = number
    assert wait(child) == 0
    late += recover_late_writes(path, NullRecorder(state))
    assert all(one.is_recovered for one in late)
    lines = path.read_text().split("\n")
    assert lines[0] == f"# {made}"
    lost = set(range(theirs)) - {int(line[2:]) for line in lines if line.startswith("- ")}
    assert not lost, f"append: {len(lost)} lines are lost: {sorted(lost)[:5]}"
    assert encode("\n".join(lines)).count(b"\n") == theirs + 1
    return (
        f"T5 foreign writer (append): {theirs} of theirs and {ours} of ours, 0 lost"
        f" ({len(late)} written late, found and brought back)"
    )


def broken_by_others(folder: Path) -> str:
    """T6 in small: what another program has destroyed is not written, and can be given back."""
    from memtui.files.backups import last_good

    state, broken = folder / "state", (b"", b"\0" * 100, b'[{"id": "s0"', b"[]\n[]")
    at_work = []
    for number, data in enumerate(broken):
        path = folder / "store" / str(number) / "items.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps([{"id": f"s{i}", "content": "old"} for i in range(3)]))
        edits = [_ours(path, f"s{i}", "mine") for i in range(3)]
        commit([edits[0]], NullRecorder(state))
        path.write_bytes(data)
        # each waits a while for the file to become whole: all of them together
        save = partial(commit, [edits[1]], NullRecorder(state))
        at_work.append((path, data, fork(save)))
    for path, data, child in at_work:
        assert wait(child) == 1, f"{data!r} was not refused"
        assert path.read_bytes() == data
        copy = last_good(path, state)
        assert copy is not None
        assert len(load_records(decode(copy.read()))) == 3
    return f"T6 broken files: {len(broken)} refused, the last good copy holds every record"
