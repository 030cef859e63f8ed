"""The history of texts: what is kept, for how long, and what damage does to it."""

from __future__ import annotations

import itertools
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.config import HistorySettings
from memtui.files.text_history import DAY, FILE, Read, StoreKey, TextHistory
from tests import long_run

SETTINGS = HistorySettings()
Look = Callable[..., int]


def reader(texts: Mapping[str, str], at: float) -> Read:
    return lambda name: (texts[name].encode(), at) if name in texts else None


class Folder:
    """A store whose files are a mapping, looked at again and again."""

    def __init__(self, place: Path, name: str = "store") -> None:
        self.root = place / name
        self.root.mkdir(parents=True, exist_ok=True)
        self.key = StoreKey("notes", str(self.root))
        self.history = TextHistory(place / "state")

    def look(
        self, at: float, texts: Mapping[str, str], settings: HistorySettings = SETTINGS
    ) -> int:
        return self.history.look(
            self.key, str(texts), texts, reader(texts, at), settings, at
        )  # each text is its own stamp

    def versions(self, name: str) -> list[str | None]:
        return [
            None if each.text is None else each.text.decode()
            for each in reversed(self.history.versions(self.key, name))
        ]

    def at(self, at: float) -> dict[str, str | None] | None:
        found = self.history.changed_since(self.key, at)
        if found is None or not found.is_whole:
            return None
        return {n: None if t.text is None else t.text.decode() for n, t in found.files.items()}


NAMES = st.sampled_from("abc")
STATES = st.lists(st.dictionaries(NAMES, st.sampled_from(["one", "two", "three"])), max_size=8)


@pytest.mark.slow
@given(states=STATES)
def test_every_state_that_was_seen_is_known(
    tmp_path_factory: pytest.TempPathFactory, states: list[dict[str, str]]
) -> None:
    """Against the states themselves; a file that moves keeps its versions under its new name."""
    folder = Folder(tmp_path_factory.mktemp("history"))
    # Equal texts under different names would be taken for one file that moved.
    states = [{n: f"{n}: {t}" for n, t in state.items()} for state in states]
    for number, state in enumerate(states):
        folder.look(100.0 * (number + 1), state)
    now = states[-1] if states else {}
    for number, state in enumerate(states):
        changed = folder.at(100.0 * (number + 1) + 50)
        assert changed is not None
        known = {n: t for n, t in {**now, **changed}.items() if t is not None}
        assert known == state
    assert folder.at(50.0) is None


def test_an_unchanged_store_is_not_read(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    assert folder.look(1.0, {"a": "x", "b": "y"}) == 2
    assert folder.history.marks() == {folder.key: str({"a": "x", "b": "y"})}
    read: list[str] = []

    def note(name: str) -> tuple[bytes, float] | None:
        read.append(name)
        return b"z", 2.0

    stamps = {"a": "x", "b": "other"}
    assert folder.history.look(folder.key, "2", stamps, note, SETTINGS, 3.0) == 1
    assert read == ["b"]


def test_a_moved_file_and_a_moved_store_keep_their_history(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.look(1.0, {"old/a": "first", "b": "x"})
    folder.look(2.0, {"old/a": "second", "b": "x"})
    folder.look(3.0, {"new/a": "second", "b": "x"})
    assert folder.versions("new/a") == ["first", "second"]
    folder.root.rename(tmp_path / "elsewhere")
    moved = Folder(tmp_path, "elsewhere")
    moved.look(4.0, {"new/a": "third", "b": "x"})
    assert moved.versions("new/a") == ["first", "second", "third"]
    other = Folder(tmp_path, "store")  # another store in the old place begins anew
    other.look(5.0, {"new/a": "fourth", "b": "x"})
    assert other.versions("new/a") == ["fourth"]
    moved.root.rename(tmp_path / "gone")
    alike = Folder(tmp_path, "alike")  # the same names say nothing
    alike.look(6.0, {"new/a": "another text", "b": "another, too"})
    assert alike.versions("new/a") == ["another text"]


def test_what_stands_there_after_an_erasure_is_kept_again(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.look(1.0, {"a": "first"})
    folder.look(2.0, {"a": "the word"})
    folder.history.erase(folder.history.find_texts(lambda text: "word" in text))
    assert folder.versions("a") == ["first"]
    folder.look(3.0, {"a": "the word"})
    assert folder.versions("a") == ["first", "the word"]


def test_old_versions_go_and_the_present_stays(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    for day in range(10):
        folder.look(day * DAY + 1, {"a": f"text {day}", "b": "same"})
    folder.look(12 * DAY, {"a": "text 12", "b": "same"}, HistorySettings(days=5))
    # A text is former from the time at which the next one began.
    assert folder.versions("a") == ["text 6", "text 7", "text 8", "text 9", "text 12"]
    assert folder.versions("b") == ["same"]


@pytest.mark.slow
def test_the_oldest_go_above_the_size(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    texts = [os.urandom(300_000).hex() for _ in range(10)]
    for number, text in enumerate(texts):
        folder.look(number + 1.0, {"a": text}, HistorySettings(megabytes=1))
    kept = folder.versions("a")
    assert kept == texts[-len(kept) :]
    assert 1 <= len(kept) <= 4
    assert (tmp_path / "state" / FILE).stat().st_size < 3 << 20


def test_a_clock_that_goes_back_keeps_the_order(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    for at, text in ((100.0, "first"), (50.0, "second"), (10.0, "third"), (200.0, "fourth")):
        folder.look(at, {"a": text})
    assert folder.versions("a") == ["first", "second", "third", "fourth"]


def test_only_the_person_reads_it(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.look(1.0, {"a": "x"})
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "state" / FILE).stat().st_mode & 0o777 == 0o600


def test_secrets_are_masked_unless_wanted(tmp_path: Path) -> None:
    secret = "ghp_" + "Ab1" * 12
    folder = Folder(tmp_path)
    folder.look(1.0, {"a": f"token: {secret}"})
    (kept,) = folder.history.versions(folder.key, "a")
    assert kept.is_masked
    assert secret.encode() not in (kept.text or b"")
    folder.look(2.0, {"a": f"the token: {secret}"}, HistorySettings(secrets=True))
    kept = folder.history.versions(folder.key, "a")[0]
    assert kept.text == f"the token: {secret}".encode()
    assert not kept.is_masked


@pytest.mark.parametrize("part", [0, 1, 50, 99])
def test_a_damaged_file_is_set_aside_and_a_new_one_begun(tmp_path: Path, part: int) -> None:
    folder = Folder(tmp_path)
    for number in range(20):
        folder.look(number + 1.0, {str(n): f"{n} {number}" * 50 for n in range(20)})
    file = tmp_path / "state" / FILE
    data = bytearray(file.read_bytes())
    if part == 99:
        file.write_bytes(data[: len(data) // 3 * 2])
    elif part == 50:  # in the middle: pages of the tree
        data[4096 : len(data) - 4096] = os.urandom(len(data) - 8192)
        file.write_bytes(data)
    else:
        file.write_bytes(b"" if part == 0 else b"not a database at all" * 50)
    for at in (100.0, 101.0):
        folder.look(at, {"a": f"after {at}"})
    folder.look(102.0, {"a": "last"})
    assert folder.versions("a")[-1] == "last"
    assert bool(folder.history.fault) == (part != 0)  # an empty file is a new database


def test_a_look_without_room_or_permission_says_nothing_to_the_reader(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    folder = Folder(tmp_path)
    assert folder.look(1.0, {"a": "x"}) == 0
    assert folder.versions("a") == []
    assert folder.at(5.0) is None


@pytest.mark.slow
def test_two_processes_look_at_once(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    code = (
        "import sys; from pathlib import Path; from tests.unit.files.test_text_history import *\n"
        "folder, name = Folder(Path(sys.argv[1])), sys.argv[2]\n"
        "for n in range(30): folder.look(n + float(name), {name: f'{name} {n}', 'both': 'x'})"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name], cwd=Path.cwd())
        for name in ("0.25", "0.5", "0.75")
    ]
    assert [each.wait(120) for each in running] == [0, 0, 0]
    with sqlite3.connect(tmp_path / "state" / FILE) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert folder.versions("both")[0] == "x"
    for name in ("0.25", "0.5", "0.75"):
        texts = [text for text in folder.versions(name) if text is not None]
        assert texts
        assert texts == sorted(texts, key=lambda text: int(text.split()[1]))


class Meanwhile:
    """What another process does after a look has begun and before it notes anything."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act

    def __call__(self) -> bool:  # asked whether the look is cancelled
        self._act()
        return False


def look_while(folder: Folder, texts: Mapping[str, str], act: Callable[[], object]) -> None:
    read = reader(texts, 2.0)
    folder.history.look(folder.key, "2", texts, read, SETTINGS, 2.0, Meanwhile(act))


def test_what_another_process_noted_since_a_look_began_stays_before_it(tmp_path: Path) -> None:
    folder, other = Folder(tmp_path), Folder(tmp_path)
    folder.look(1.0, {"a": "first"})
    texts = {"a": "second", "new": "x"}
    look_while(folder, texts, lambda: other.look(5.0, {"a": "of the other", "new": "y"}))
    assert folder.versions("a") == ["first", "of the other", "second"]
    assert folder.versions("new") == ["y", "x"]


def test_a_store_that_another_process_meets_first_is_one_store(tmp_path: Path) -> None:
    folder, other = Folder(tmp_path), Folder(tmp_path)
    look_while(folder, {"a": "second"}, lambda: other.look(1.0, {"a": "first"}))
    assert folder.versions("a") == ["first", "second"]


def test_what_is_forgotten_while_a_look_is_made_stays_forgotten(tmp_path: Path) -> None:
    folder, other = Folder(tmp_path), Folder(tmp_path)
    folder.look(1.0, {"a": "first"})
    look_while(folder, {"a": "second"}, other.history.forget)
    with sqlite3.connect(tmp_path / "state" / FILE) as db:
        assert db.execute("SELECT count(*) FROM texts").fetchone() == (0,)


def test_times_are_in_utc(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.look(1_000_000.0, {"a": "x"})
    (kept,) = folder.history.versions(folder.key, "a")
    assert kept.began == datetime.fromtimestamp(1_000_000, UTC)


LOOKS = """\
import sys
import time
from pathlib import Path
from tests.unit.files.test_text_history import Folder
folder = Folder(Path(sys.argv[1]))
print("ready", flush=True)
for number in range(1000):
    folder.look(number + 1.0, {str(n): f"{n} {number} " * 40 for n in range(300)})
"""


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.0, 0.01, 0.03, 0.06, 0.1, 0.2])
def test_a_look_that_is_killed_leaves_whole_versions(tmp_path: Path, seconds: float) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", LOOKS, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(seconds)  # any time will do
    process.kill()
    process.wait()
    folder = Folder(tmp_path)
    folder.look(5000.0, {str(n): f"{n} last " * 40 for n in range(300)})
    for name in ("0", "150", "299"):
        versions = folder.versions(name)
        assert versions[-1] == f"{name} last " * 40
        numbers = [int((text or "").split()[1]) for text in versions[:-1]]
        assert numbers == sorted(set(numbers))
    assert not folder.history.fault


@pytest.mark.slow
def test_a_full_disk_stops_nobody(tmp_path: Path) -> None:
    """Files may not grow above some size, which SQLite sees as a full disk."""
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from tests.unit.files.test_text_history import *\n"
        "folder = Folder(Path(sys.argv[1])); folder.look(1.0, {'a': 'first'})\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, 120_000))\n"
        "big = {str(n): os.urandom(20_000).hex() for n in range(50)}\n"
        "folder.look(2.0, {'a': 'second', **big}); print(folder.versions('a'))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    assert "first" in found.stdout
    folder = Folder(tmp_path)
    folder.look(3.0, {"a": "third"})
    assert folder.versions("a")[0] == "first"
    assert folder.versions("a")[-1] == "third"


def _look_until(folder: Folder, texts: Mapping[str, str], most: int) -> bool:
    """Look in a process that is killed before its SQL statement of this number; whether it was."""
    child = os.fork()
    if child == 0:
        connect, left = sqlite3.connect, most

        def count(_: str) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

        def connect_counting(*place: Any, **options: Any) -> sqlite3.Connection:
            db: sqlite3.Connection = connect(*place, **options)
            db.set_trace_callback(count)
            return db

        sqlite3.connect = connect_counting  # type: ignore[assignment]
        folder.look(200.0, texts)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


@pytest.mark.slow
def test_a_look_that_is_killed_at_any_statement_loses_no_former_text(tmp_path: Path) -> None:
    first = {name: f"{name} first" for name in "abcd"}
    second = {"a": "a second", "b": "b first", "moved": "c first", "new": "new"}  # d is gone
    last = {name: f"{name} last" for name in ("a", "b", "moved", "new")}
    for most in itertools.count():
        folder = Folder(tmp_path / str(most))
        folder.look(100.0, first)
        was_killed = _look_until(folder, second, most)
        folder.look(300.0, last)
        kept = {name: folder.versions(name) for name in ("a", "b", "moved", "c", "d", "new")}
        moved = [*kept["c"][:1], *kept["moved"]][-3:]  # it may still have had its old name
        assert [text for text in kept["a"] if text != "a second"] == ["a first", "a last"]
        assert kept["b"] == ["b first", "b last"]
        assert moved[0] == "c first"
        assert moved[-1] == "moved last"
        assert kept["d"] == ["d first", None]
        assert kept["new"][-1] == "new last"
        assert not folder.history.fault
        if not was_killed:
            break
    assert most > 20


@pytest.mark.slow
def test_a_day_of_many_changes_is_known_at_every_time(tmp_path: Path) -> None:
    """20,000 changes of 400 files in 500 looks in the long run."""
    folder, random, at = Folder(tmp_path), Random(3), 100.0
    looks = long_run.count(40, 500)
    names = [str(number) for number in range(400)]
    texts: dict[str, str] = {name: f"{name} first" for name in names}
    states: dict[float, dict[str, str]] = {}
    for number in range(looks):
        folder.look(at, texts)
        states[at] = dict(texts)
        at += 86_400 / looks
        for name in random.sample(names, 40):
            if name in texts and random.random() < 0.2:
                del texts[name]
            else:
                texts[name] = f"{name} {number}"
    folder.look(at, texts)
    for time_of_look, state in states.items():
        changed = folder.at(time_of_look + 1)
        assert changed is not None
        assert {n: t for n, t in {**texts, **changed}.items() if t is not None} == state
