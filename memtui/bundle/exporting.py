"""An export in any of the forms there are: its bytes, piece by piece, and what to say of it."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memtui.bundle import ambient, archive, text_formats
from memtui.bundle.bundle_writer import pack
from memtui.errors import Refused
from memtui.files.reading import TEMPORARY_MARK
from memtui.files.staging_dir import sync
from memtui.model import CURRENT, Memory
from memtui.progress import Cancelled, IsCancelled, Progress, Report, never, silent
from memtui.text import number

if TYPE_CHECKING:
    from memtui.library import Library


SUFFIXES = {
    "bundle": ".zip",
    "ambient": ".json",
    "jsonl": ".jsonl",
    "csv": ".csv",
    "markdown": ".md",
}
"""The forms, and what their files are called by custom."""
STEP = 256
"""Pieces between two looks at whether the person has stopped it."""


@dataclass(frozen=True, slots=True)
class Export:
    """What is to be written."""

    pieces: Iterable[bytes]
    said: tuple[str, ...] = ()
    """What the person should know: what is left out or cut, and why."""


def export(
    library: Library,
    form: str,
    chosen: Sequence[Memory] | None,
    report: Report = silent,
    cancelled: IsCancelled = never,
    *,
    pretty: bool = True,
    every: bool = True,
) -> Export:
    """These memories in this form; None for all stores whole, which only a bundle can hold.

    `pretty` and `every` are for `ambient`: indented; with what Ambient no longer reads. `engram` is
    Engram's own form, of one Engram store. Raises StoreError, UnreadableFile, BundleError, and
    Cancelled also while it is written.
    """
    said = () if chosen is None else _unchosen(library, chosen)
    if form == "bundle":
        packing = pack(library, chosen, report, cancelled)
        said += tuple(f"left out: {item}" for item in packing.left_out)
        return Export(_watched(archive.pieces(packing.archive), report, cancelled), said)
    memories = chosen if chosen is not None else _all(library)
    if form == "ambient":
        return _ambient(library, chosen, pretty, every, said)
    if form == "engram":
        return _engram(library, memories, said)
    lines = {
        "jsonl": text_formats.jsonl,
        "csv": text_formats.csv_lines,
        "markdown": text_formats.markdown,
    }[form]
    encoded = (line.encode("utf-8", "replace") for line in lines(memories))
    said += _told(without_place(memories, form))
    return Export(_watched(encoded, report, cancelled), said)


def _told(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"left out: {line}" for line in lines)


def _unchosen(library: Library, chosen: Sequence[Memory]) -> tuple[str, ...]:
    return _told(unchosen(_all(library), chosen))


def _all(library: Library) -> list[Memory]:
    return [m for store in library.stores for m in library.memories(store.label)]


def _ambient(
    library: Library,
    chosen: Sequence[Memory] | None,
    pretty: bool,
    every: bool,
    said: tuple[str, ...],
) -> Export:
    memories = _all(library) if chosen is None else chosen
    if chosen is None and not every:
        memories = [memory for memory in memories if memory.status in CURRENT]
        said += _unchosen(library, memories)
    whole = chosen is None
    made = ambient.backup(memories, library.stores, library.now(), whole=whole, every=every)
    said += _told(f"{count} {why}" for why, count in made.left_out.items())
    if made.cut:
        said += (f"texts longer than Ambient keeps, and cut: {made.cut}",)
    formats = {store.label: store.format for store in library.stores}
    foreign = [memory for memory in memories if formats.get(memory.store) != "ambient"]
    said += _told(without_place(foreign, "ambient"))
    return Export([ambient.dumps(made.document, pretty=pretty).encode("utf-8")], said)


def _engram(library: Library, memories: Sequence[Memory], said: tuple[str, ...]) -> Export:
    """The export of the one store that the memories lie in, by that store's own rules."""
    labels = {memory.store for memory in memories} or {store.label for store in library.stores}
    stores = [store for store in library.stores if store.label in labels]
    if len(stores) != 1 or not hasattr(stores[0], "export"):
        raise Refused("this form is for one Engram store", do="choose one with --store")
    store: Any = stores[0]
    ids = {memory.id for memory in memories}
    only = None if ids == {memory.id for memory in library.memories(store.label)} else ids
    text = str(store.export(only=only)) + "\n"
    return Export([text.encode("utf-8")], said + _told(store.left_out(only)))


def _watched(pieces: Iterable[bytes], report: Report, cancelled: IsCancelled) -> Iterator[bytes]:
    for count, piece in enumerate(pieces):
        if count % STEP == 0:
            if cancelled():
                raise Cancelled("stopped; nothing was written")
            report(Progress("writing", count))
        yield piece


_TEMPORARY = re.compile(rf"\..+{re.escape(TEMPORARY_MARK)}[0-9a-f]{{8}}", re.DOTALL)
"""Names of temporary files of exports; those of saves have a longer number."""
_NO_FOLDER_SYNC = frozenset({errno.EACCES, errno.EINVAL, errno.ENOTSUP})
"""Errors of a folder that may be written but not opened, or of a file system without this."""


def write_file(path: Path, pieces: Iterable[bytes]) -> None:
    """Write a file by way of a private temporary one. Raises OSError; then nothing is left.

    What is there and is no regular file (a device, a pipe) is written to directly.
    """
    path = Path(os.path.realpath(path))
    if _is_special(path):
        with open(path, "wb", buffering=0) as out:
            for piece in pieces:
                _write(out.fileno(), piece)
        return
    _clear_leftovers(path.parent)
    temporary, descriptor = _locked_temporary(path)
    try:
        for piece in pieces:
            _write(descriptor, piece)
        os.fsync(descriptor)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)
    try:
        sync(path.parent)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise


def _locked_temporary(path: Path) -> tuple[Path, int]:
    """A new private file beside `path`, open and locked. Raises OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    while True:
        name = f".{path.name[:100]}{TEMPORARY_MARK}{secrets.token_hex(4)}"
        descriptor = os.open(path.parent / name, flags, 0o600)
        with contextlib.suppress(OSError):  # no locks here: then nobody can clear it either
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return path.parent / name, descriptor
        os.close(descriptor)  # another export cleared it before it was locked


def _clear_leftovers(folder: Path) -> None:
    """Remove temporary files of exports that were killed: ours by name, owner and lock."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if _TEMPORARY.fullmatch(name):
                with contextlib.suppress(OSError):
                    _clear(folder / name)


def _clear(leftover: Path) -> None:
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(leftover, flags)
    try:
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(leftover)
    finally:
        os.close(descriptor)


def write_stream(descriptor: int, pieces: Iterable[bytes]) -> None:
    """Write to an open file, such as standard output. Raises OSError."""
    for piece in pieces:
        _write(descriptor, piece)


def _is_special(path: Path) -> bool:
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return False


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


NO_PLACE: Mapping[str, tuple[str, ...]] = {
    "csv": ("links", "extra"),
    "markdown": (
        "tags",
        "links",
        "supersedes",
        "superseded_by",
        "pinned",
        "confidence",
        "source",
        "extra",
    ),
    "ambient": (
        "tags",
        "links",
        "supersedes",
        "superseded_by",
        "status",
        "pinned",
        "confidence",
        "extra",
    ),
}
"""Fields of a memory that a form cannot hold."""
_WORDS = {
    "supersedes": "what they supersede",
    "superseded_by": "what superseded them",
    "pinned": "pins",
    "extra": "fields of their own store",
}


def unchosen(every: Iterable[Memory], chosen: Sequence[Memory]) -> list[str]:
    """Lines about the memories that are not among the chosen ones."""
    refs = {memory.ref for memory in chosen}
    rest = Counter(memory.status for memory in every if memory.ref not in refs)
    current = sum(count for status, count in rest.items() if status in CURRENT)
    retired = [(status, count) for status, count in rest.most_common() if status not in CURRENT]
    lines = []
    if retired:
        total = _counted(sum(count for _, count in retired))
        what = ", ".join(f"{number(count)} {status}" for status, count in retired)
        lines.append(f"{total}, not current ({what}); status:all takes them too")
    if current:
        lines.append(f"{_counted(current)} by the filters")
    return lines


def without_place(memories: Iterable[Memory], form: str) -> list[str]:
    """A line about the fields of these memories that the form cannot hold."""
    names = NO_PLACE.get(form, ())
    found = Counter(name for memory in memories for name in names if _is_set(memory, name))
    if not found:
        return []
    what = ", ".join(
        f"{_WORDS.get(name, name)} ({_counted(found[name])})" for name in names if found[name]
    )
    return [f"{what}: {form} has no place for them"]


def _counted(count: int) -> str:
    return "1 memory" if count == 1 else f"{number(count)} memories"


def _is_set(memory: Memory, name: str) -> bool:
    value = getattr(memory, name)
    return value != "active" if name == "status" else value not in (None, "", (), {}, False)
