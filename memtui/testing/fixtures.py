"""What the conformance tests work on: a copy of a format's sample, and folder contents."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import re
import shutil
import signal
import sqlite3
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar

import pytest

from memtui import paths
from memtui.files.sidecar_lines import ASKED_FOLDER, FOLDER, KEPT_FOLDER
from memtui.library import Library
from memtui.model import Memory
from memtui.stores import registry
from memtui.stores.format import Format

Limit = Callable[[float], AbstractContextManager[None]]


SAMPLES = Path(__file__).parents[2] / "tests" / "data"
"""The samples of memtui's own formats, in a source checkout."""
_PLANTED: dict[tuple[type, str], Path] = {}
"""The samples with an unknown key, each planted once in a process and then copied."""


class FormatFixtures:
    """The fixtures of all conformance tests; a subclass names the format and its sample."""

    format: ClassVar[Format]
    sample_store: ClassVar[Path]
    """A folder that holds a small store: memories of every kind, at least 15 that can be edited
    where the store is writable."""

    def copy_sample(self, known: Format, place: Path) -> Path:
        """Copy the sample to this place, which does not exist yet. Returns the place."""
        shutil.copytree(self.sample_store, place)
        return place

    @pytest.fixture
    def known(self) -> Format:
        """The format."""
        return self.format

    @pytest.fixture(autouse=True)
    def own_folders(self, state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """What memtui keeps of a store elsewhere lies in the test's folder, beside its journal."""
        monkeypatch.setenv(paths.STATE_VARIABLE, str(state))
        monkeypatch.setenv(paths.DATA_VARIABLE, str(tmp_path / "own" / "data"))

    @pytest.fixture(autouse=True)
    def registered(self, known: Format, monkeypatch: pytest.MonkeyPatch) -> None:
        """The registry knows the format, also where its package is not installed."""
        names = [each.name for each in registry.formats()]
        if known.name not in names:
            every = (*registry.formats(), known)
            monkeypatch.setattr(registry, "formats", lambda: every)

    @pytest.fixture
    def place(self, known: Format, tmp_path: Path) -> Path:
        """A folder that holds a copy of the sample."""
        return self.copy_sample(known, tmp_path / known.name)

    @pytest.fixture
    def planted(
        self, known: Format, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
    ) -> Path:
        """A folder that holds a copy of the sample with a key that no format knows."""
        named = (type(self), known.name)
        if named not in _PLANTED:
            first = self.copy_sample(known, tmp_path_factory.mktemp("planted") / known.name)
            plant_unknown(open_library(first))
            _PLANTED[named] = first
        return Path(shutil.copytree(_PLANTED[named], tmp_path / known.name, symlinks=True))

    @pytest.fixture
    def state(self, tmp_path: Path) -> Path:
        """Where memtui keeps its journal."""
        return tmp_path / "state"

    @pytest.fixture
    def limit(self) -> Limit:
        """Fails what takes longer than so many seconds, also where it hangs in a system call."""
        return time_limit


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Fail what takes longer than this, also where it catches any Exception; 0 is no limit."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        pytest.fail(f"it took longer than {seconds:g} s")

    former = signal.signal(signal.SIGALRM, stop)
    outer, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, outer)
        signal.signal(signal.SIGALRM, former)


_WATCHING: list[list[str]] = []
"""The lists that get the names of files as they are opened."""


def _note_opened(event: str, values: tuple[object, ...]) -> None:
    if event == "open" and _WATCHING and isinstance(values[0], str | bytes):
        for opened in _WATCHING:
            opened.append(os.fsdecode(values[0]))


@contextmanager
def opened_files() -> Iterator[list[str]]:
    """Names of the files that are opened in the block, each as often as it is."""
    if not _AUDITED:
        _AUDITED.append(True)
        sys.addaudithook(_note_opened)
    opened = list[str]()
    _WATCHING.append(opened)
    try:
        yield opened
    finally:
        _WATCHING.remove(opened)


_AUDITED: list[bool] = []
"""Filled once the interpreter calls `_note_opened`, which cannot be taken back."""


@contextmanager
def forked(
    function: Callable[..., None], *arguments: Any
) -> Iterator[tuple[ForkProcess, Connection]]:
    """Run `function(connection, *arguments)` in a forked process, which knows the same formats."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=function, args=(theirs, *arguments))
    process.start()
    theirs.close()
    try:
        yield process, ours
    finally:
        ours.close()
        process.join(60)
        if process.is_alive():
            process.kill()


def every_path(root: Path) -> Iterator[Path]:
    """The folder and everything in it, links not followed."""
    yield root
    for folder, names, files in os.walk(root):
        for name in (*names, *files):
            yield Path(folder, name)


def fingerprint(root: Path) -> dict[str, tuple[object, ...]]:
    """Name -> what stat says (but for the time of the last look) and the hash of the content."""
    return {os.fsdecode(os.fspath(path)): _mark(path) for path in every_path(root)}


def _mark(path: Path) -> tuple[object, ...]:
    found = path.lstat()
    content = ""
    if stat.S_ISREG(found.st_mode):
        content = hashlib.sha256(_bytes(path)).hexdigest()
    return (
        found.st_mode,
        found.st_ino,
        found.st_nlink,
        found.st_uid,
        found.st_size,
        found.st_mtime_ns,
        found.st_ctime_ns,
        content,
    )


def contents(root: Path, *, beside: bool = False) -> dict[str, bytes]:
    """Every file's bytes by its path in the folder; memtui's own `.memtui`, and what it keeps of
    stores in its own folders, only if asked for."""
    found = {}
    if beside:
        for own in (paths.state_folder() / KEPT_FOLDER, paths.data_folder() / ASKED_FOLDER):
            for file in sorted(own.glob("*.jsonl")):
                found[f"{FOLDER}/{own.name}/{file.name}"] = file.read_bytes()
    for folder, names, files in os.walk(root):
        if not beside:
            names[:] = [name for name in names if name != ".memtui"]
        inside = os.path.relpath(folder, root)
        for name in files:
            path = os.path.join(folder, name)
            if stat.S_ISREG(os.lstat(path).st_mode):
                found[name if inside == "." else os.path.join(inside, name)] = _bytes(path)
    return found


def _bytes(path: str | Path) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.readall()
    except PermissionError:
        return b"(no right to read it)"


def differences(before: dict[str, bytes], after: dict[str, bytes]) -> list[str]:
    """Names of files that are not what they were."""
    return sorted(n for n in before.keys() | after.keys() if before.get(n) != after.get(n))


UNKNOWN = "x_unknown"
"""A key that no format knows."""
_IN_JSON = f'"{UNKNOWN}": {{"deep": [1.50, null, "\\u00e9"],  "n": 1e2}}'
_IN_YAML = f"{UNKNOWN}:   'as it is'  # and its comment\n"
_FIRST_KEY = re.compile(r"^\{", re.MULTILINE)
_ID = re.compile(r'("id"\s*:\s*"[^"]*")')


def sample(known: Format, place: Path) -> Path:
    """A copy of the format's invented store at this place. Returns the folder."""
    shipped = SAMPLES / known.name
    if not shipped.is_dir():
        pytest.fail(
            f"the format {known.name!r} is listed in memtui.stores.registry.PACKAGES but has no "
            f"sample: put a small invented store into {shipped}",
            pytrace=False,
        )
    shutil.copytree(shipped, place, ignore=shutil.ignore_patterns("*-wal", "*-shm"))
    return place


def root_of(known: Format, place: Path) -> Path:
    """Where the store lies in its folder."""
    root = known.detect(place)
    assert root is not None, f"{known.name} does not recognise its own sample"
    return root


def open_library(place: Path, state: Path | None = None, cache: Path | None = None) -> Library:
    """All memories of the store at this place."""
    library = Library.open([place], state=state, cache=cache)
    library.load()
    return library


def memories(library: Library) -> dict[str, Memory]:
    """Every memory that is there, of any status, by ref."""
    return {m.ref: m for store in library.stores for m in library.memories(store.label)}


def plant_unknown(library: Library) -> bool:
    """Write a key that no format knows into whatever holds the memories of this library.

    Returns whether any of its files can have keys; Markdown without frontmatter cannot.
    A table may be one whose strange columns make its store read-only, and then it gets none.
    """
    found = list(memories(library).values())
    has_keys = False
    for name in sorted({memory.origin.file for memory in found}):
        path = Path(name)
        start = path.read_bytes()[:16]
        if path.suffix == ".json":
            _rewrite(path, lambda text: _ID.sub(rf"\1, {_escaped(_IN_JSON)}", text))
        elif path.suffix == ".jsonl":
            _rewrite(path, lambda text: _FIRST_KEY.sub(rf"{{{_escaped(_IN_JSON)}, ", text))
        elif path.suffix == ".md" and start.startswith(b"---\n"):
            _rewrite(path, lambda text: text.replace("---\n", f"---\n{_IN_YAML}", 1))
        elif start.startswith(b"SQLite format 3"):
            keys = [memory.origin.key for memory in found if memory.origin.file == name]
            for table in sorted({key.partition(".")[0] for key in keys}):
                _sql(path, f"ALTER TABLE {table} ADD COLUMN {UNKNOWN} TEXT")
                if open_library(library.stores[0].root).stores[0].read_only:
                    _sql(path, f"ALTER TABLE {table} DROP COLUMN {UNKNOWN}")
                else:
                    _sql(path, f"UPDATE {table} SET {UNKNOWN} = 'as it is ' || rowid")
        else:
            continue  # a text without keys
        has_keys = True
    return has_keys


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\")


def _rewrite(path: Path, change: Callable[[str], str]) -> None:
    path.write_bytes(change(path.read_bytes().decode("utf-8")).encode("utf-8"))


def _sql(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)
