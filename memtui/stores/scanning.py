"""Scan folders for shards and stamp them; keep what was read until its files change."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from memtui.changes import TEXTS
from memtui.errors import Refused, UnreadableFile
from memtui.files.json.locating import BYTE_ORDER_MARK
from memtui.files.reading import IS_EMPTY as IS_EMPTY
from memtui.files.reading import LEADS_OUTSIDE as LEADS_OUTSIDE
from memtui.files.reading import (
    MissingFile,
    decode,
    digest,
    error_text,
    file_stamp,
    read_bytes,
    read_text_file,
    walk,
)
from memtui.files.sidecar_lines import FOLDER, PLACE_FILE, sidecar_path, sidecar_paths
from memtui.model import FILE_TIME, FILE_TIME_KEY, Memory
from memtui.stores.base import Remark, Scan, Shard, StoreView, Unreadable
from memtui.stores.format import Candidate
from memtui.stores.plans import planned_before
from memtui.stores.sidecar import Sidecar, kept_shard, read_sidecar
from memtui.stores.values import parse_object
from memtui.text import and_more, counted


class FoundShard(NamedTuple):
    """Files that are read together, and the key of their shard."""

    key: str
    files: tuple[str, ...]
    mark: str = ""
    """Changes whenever one of the files may have changed, or what else is said of them; empty: it
    is not known yet."""


def time_of_change(path: Path) -> datetime | None:
    """Modification time of a file; None if there is none that Python can hold."""
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except (OSError, OverflowError, ValueError):
        return None


def dated_by_file(memories: Iterable[Memory]) -> Iterator[Memory]:
    """Memories without a time get that of their file; git may know a better one later."""
    times: dict[str, datetime | None] = {}
    for memory in memories:
        file = memory.origin.file
        if memory.when is None and file:
            if file not in times:
                times[file] = time_of_change(Path(file))
            extra = {**memory.extra, FILE_TIME_KEY: FILE_TIME}
            memory = replace(memory, updated=times[file], extra=extra)
        yield memory


def build_scan(
    root: Path,
    sidecar: Sidecar,
    found: Iterable[FoundShard | Unreadable],
    owns: Callable[[str], bool] = lambda _: True,
) -> Scan:
    """Make shards of what was found, stamped by their files and sidecar entries.

    `owns`: see `FileStore.owns_shard`. A root that is gone is one fault, whatever a format would
    say of its folders.
    """
    try:
        os.stat(root)
    except OSError as error:
        return Scan((), (Unreadable(str(root), error_text(error)),))
    faults: list[Unreadable] = []
    shards: list[Shard] = []
    for each in found:
        if isinstance(each, Unreadable):
            faults.append(each)
        else:
            shards += stamp_shards(sidecar, (each,))
    shards += kept_shard(root, sidecar, shards, owns)
    return Scan(tuple(shards), (*faults, *sidecar_faults(root, sidecar)))


def stamp_shards(sidecar: Sidecar, found: Iterable[FoundShard]) -> list[Shard]:
    """Make stamped shards of what was found."""
    return [
        Shard(each.key, each.files, (each.mark or file_stamp(each.files)) + sidecar.mark(each.key))
        for each in found
    ]


def sidecar_faults(root: Path, sidecar: Sidecar) -> tuple[Unreadable, ...]:
    """The fault of a sidecar that cannot be read, if any."""
    return (Unreadable(str(sidecar_path(root)), sidecar.fault),) if sidecar.fault else ()


def as_unreadable(error: UnreadableFile, path: Path) -> Unreadable:
    """The error as an entry of the list of unreadable files."""
    return Unreadable(error.where or str(path), error.what, gone=isinstance(error, MissingFile))


MAX_FAULTS = 20
"""Faults in one file that are listed one by one; the rest are counted."""


def listed_faults(file: Path, reasons: Sequence[str], rest: str) -> list[Unreadable]:
    """The faults in a file; `rest` says of those that are only counted what they are."""
    listed = [Unreadable(str(file), reason) for reason in reasons[:MAX_FAULTS]]
    if len(reasons) > MAX_FAULTS:
        listed.append(Unreadable(str(file), f"{len(reasons) - MAX_FAULTS} more {rest}"))
    return listed


def as_refused(error: UnreadableFile, path: Path) -> Refused:
    """Convert a read error into a `Refused` for writing."""
    return Refused(
        f"the file cannot be read, so it is not written: {error.what}",
        where=str(path),
        do="fix the file first",
    )


def read_text(path: Path, root: Path) -> str:
    """The whole text of a file of the store, to plan a change. Raises Refused if it cannot be
    read."""
    try:
        return read_text_file(path, root)
    except UnreadableFile as error:
        raise as_refused(error, path) from None


def planned_text(path: Path, root: Path, view: StoreView) -> str | None:
    """The text that a file has after the changes planned before this one; None if there is none.

    Raises Refused if it cannot be read.
    """
    for plan in reversed(planned_before(view)):
        for edit in reversed(plan.edits):
            if edit.kind in TEXTS and edit.path == str(path):
                return None if edit.after is None else str(edit.after)
    try:
        return read_text_file(path, root)
    except UnreadableFile as error:
        # Missing perhaps only for the moment in which another program replaces it.
        if isinstance(error, MissingFile) and not os.path.islink(path):
            return None
        raise as_refused(error, path) from None


def read_texts(
    files: Iterable[str], root: Path, faults: list[Unreadable]
) -> Iterator[tuple[Path, str]]:
    """The text of each file of a shard; those that cannot be read are added to `faults`."""
    for file in files:
        path = Path(file)
        try:
            yield path, read_text_file(path, root)
        except UnreadableFile as error:
            faults.append(as_unreadable(error, path))


MAX_LOOKED_AT = 1_000
"""Entries that are checked to tell a store from another folder of the same name."""

Entry = os.DirEntry[str]


def has_entry(folder: Path, fits: Callable[[Entry], bool]) -> bool:
    """Whether one of the folder's first entries satisfies the condition. Never raises."""
    try:
        with os.scandir(folder) as listing:
            return any(map(fits, islice(listing, MAX_LOOKED_AT)))
    except (OSError, ValueError):
        return False


def list_folder(folder: str | Path) -> tuple[list[Entry], list[Unreadable]]:
    """The entries of a folder by name, or the fault why they cannot be listed."""
    try:
        with os.scandir(folder) as listing:
            return sorted(listing, key=attrgetter("name")), []
    except OSError as error:
        return [], [Unreadable(str(folder), f"the folder cannot be listed: {error_text(error)}")]


def folders_in(folder: Path, root: Path) -> Iterator[Entry | Unreadable]:
    """Find the visible folders in a folder, by name; unreadable ones as `Unreadable`, and so the
    folder itself where it is a link out of the root."""
    if not is_link_into(folder, root):
        yield Unreadable(str(folder), LEADS_OUTSIDE)
        return
    entries, faults = list_folder(folder)
    yield from faults
    for entry in entries:
        if not entry.name.startswith("."):
            found = check_folder(entry, root)
            if found is not None:
                yield found


def check_folder(entry: Entry, root: Path) -> Entry | Unreadable | None:
    """The entry if it is a folder that can be read; None if it is no folder."""
    try:
        if not entry.is_dir():
            return None
        leaves = entry.is_symlink() and not is_link_into(entry.path, root)
        why = LEADS_OUTSIDE if leaves else unreadable_reason(entry.path)
    except OSError as error:
        why = error_text(error)
    return Unreadable(entry.path, why) if why else entry


def unreadable_reason(folder: str) -> str:
    """Why this folder cannot be read; empty when it can."""
    may = os.access(folder, os.R_OK | os.X_OK)
    return "" if may else "there is no permission to read this folder"


LARGEST_FACTS = 1 << 20
"""Bytes of a `place.json`: ten thousand projects."""


def read_place_facts(root: Path) -> Mapping[str, Any]:
    """Facts about a restored store from its former location; {} for any other. Never raises.

    See `TransferSupport.place_facts`.
    """
    return read_object(root / FOLDER / PLACE_FILE, LARGEST_FACTS, root)


def read_object(file: Path, most: int, root: Path | None = None) -> dict[str, Any]:
    """The members of a JSON file that holds an object, of at most so many bytes; {} for any other.

    Never raises. A link is followed inside the root, which is the file's folder if none is given.
    """
    return parse_object(read_small(file, most, root).removeprefix(BYTE_ORDER_MARK))


def read_small(file: Path, most: int = 1 << 20, root: Path | None = None) -> str:
    """The text of a file of at most so many bytes; "" for any other. Never raises."""
    try:
        if os.path.getsize(file) > most:
            return ""
        return read_text_file(file, root or file.parent)
    except (OSError, UnreadableFile, ValueError):
        return ""


_MERGE_MARKS = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")


def first_record(text: str) -> str:
    """The first line of a file of records that is neither blank nor a mark of a merge; "" if there
    is none."""
    lines = (line.strip() for line in text.removeprefix(BYTE_ORDER_MARK).split("\n"))
    return next((line for line in lines if line and not line.startswith(_MERGE_MARKS)), "")


def is_markdown(entry: Entry) -> bool:
    """Whether it is a Markdown file."""
    return entry.name.endswith(".md") and entry.is_file()


def restored_as(folder: Path, *kinds: str) -> Candidate | None:
    """The candidate of a folder that memtui restored, whatever its present name, if its facts say
    that it was of one of these kinds; None for any other."""
    is_one = read_place_facts(folder).get("kind") in kinds
    return Candidate(folder, "memtui restored it here") if is_one else None


def place_of(path: Path, name: str, marks: Sequence[str], kind: str) -> Iterator[Candidate]:
    """The folder of this name that a path is or directly holds, if one of these files is in it; or
    one that was restored as this kind."""
    for folder in (path, path / name):
        if restored := restored_as(folder, kind):
            yield restored
        elif folder.name == name:
            present = [mark for mark in marks if os.path.isfile(folder / mark)]
            if present:
                yield Candidate(folder, f"{', '.join(present)} in {name}")


def markdown_names(folder: Path, faults: list[Unreadable]) -> list[str]:
    """Names of the visible Markdown files directly in a folder, in order.

    A folder that cannot be listed is added to `faults`.
    """
    entries, closed = list_folder(folder)
    faults.extend(closed)
    names = (entry.name for entry in entries)
    found = (name for name in names if name.endswith(".md") and not name.startswith("."))
    return [name for name in found if not os.path.isdir(folder / name)]


def notes_below(folder: Path, faults: list[Unreadable]) -> list[str]:
    """Paths of the visible Markdown files in a folder and in its folders, relative to it with
    slashes, its own first. Links to folders are not followed.

    Folders that cannot be listed are added to `faults`.
    """

    def unreadable(path: str, why: str) -> None:
        faults.append(Unreadable(path, f"the folder cannot be listed: {why}"))

    start = len(os.path.join(os.fspath(folder), ""))
    found = walk(folder, (SUFFIX,), SKIPPED, unreadable)
    return [entry.path[start:].replace(os.sep, "/") for entry in found]


def unread_notes(folder: Path, is_read: Callable[[str], bool]) -> list[Remark]:
    """How many Markdown files in a memory folder its program does not read, by their paths."""
    left = [name for name in notes_below(folder, []) if not is_read(name)]
    if not left:
        return []
    is_one = len(left) == 1
    found = f"{counted(len(left), 'note')} below {folder.name}/ "
    found += "is no program's memory: " if is_one else "are no program's memory: "
    return [Remark(str(folder), f"{found}{', '.join(left[:3])}{and_more(len(left) - 3)}")]


SUFFIX = ".md"


class _Skipped(frozenset[str]):
    """Names of files and folders without documents: these, and all that are hidden."""

    def __contains__(self, name: object) -> bool:
        return str(name).startswith(".") or super().__contains__(name)


SKIPPED = _Skipped({"node_modules", "__pycache__"})


def documents(root: Path, faults: list[Unreadable]) -> Iterator[FoundShard]:
    """Find every document below `root`; the key is its relative path with slashes. One stat each.

    Folders that cannot be listed are added to `faults`.
    """

    def unreadable(folder: str, why: str) -> None:
        faults.append(Unreadable(folder, why))

    start = len(os.path.join(os.fspath(root), ""))
    for entry in walk(root, (SUFFIX,), SKIPPED, unreadable):
        path = entry.path[start:]
        if os.sep != "/":
            path = path.replace(os.sep, "/")
        try:
            status = entry.stat()
        except OSError as error:
            yield FoundShard(path, (entry.path,), error_text(error))
        else:
            times = f"{status.st_mtime_ns:x}.{status.st_ctime_ns:x}"
            mark = f"{times}.{status.st_size:x}.{status.st_ino:x}"
            yield FoundShard(path, (entry.path,), mark)


def is_link_into(link: str | Path, folder: str | Path) -> bool:
    """Whether a link leads to a place inside the folder."""
    return Path(os.path.realpath(link)).is_relative_to(os.path.realpath(folder))


Value = TypeVar("Value")


class LastRead(Generic[Value]):
    """Caches one value made from files until one of them changes.

    A save compares the content itself, so a file that hides its change costs no more than that.
    """

    def __init__(self) -> None:
        self._held: tuple[str, str, Value] | None = None

    def get(self, files: Iterable[str | Path], make: Callable[[], Value], key: str = "") -> Value:
        """Return the cached value, or a new one; `key` distinguishes values of the same files."""
        mark = file_stamp(files)
        last = self._held
        if last is None or last[:2] != (key, mark):
            last = (key, mark, make())
            self._held = last
        return last[2]


class SidecarReader:
    """Reads the sidecar of one store again when its file changed."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._last: LastRead[Sidecar] = LastRead()

    def current(self) -> Sidecar:
        return self._last.get(sidecar_paths(self._root), lambda: read_sidecar(self._root))


class ParsedFile(Struct, Generic[Value], frozen=True):
    """The parsed content of a file, or why there is none."""

    value: Value
    digest: str = ""
    """SHA-256 of its bytes; empty when there is no file or it cannot be read."""
    fault: str = ""


class CachedFile(Generic[Value]):
    """One file of a store, parsed again when it changed."""

    def __init__(self, path: Path, root: Path, parse: Callable[[str], Value], empty: Value) -> None:
        self.path = path
        self._root = root
        self._parse = parse
        self._empty = empty
        self._last: LastRead[ParsedFile[Value]] = LastRead()

    def current(self) -> ParsedFile[Value]:
        """The content of the file as it is now. Never raises."""
        return self._last.get([self.path], self._read)

    def _read(self) -> ParsedFile[Value]:
        if not os.path.lexists(self.path):
            return ParsedFile(self._empty)
        try:
            data = read_bytes(self.path, self._root)
            return ParsedFile(self._parse(decode(data)), digest(data))
        except UnreadableFile as error:
            return ParsedFile(self._empty, fault=error.what)
