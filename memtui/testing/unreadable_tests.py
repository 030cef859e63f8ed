"""A file that cannot be read is listed, does not stop the rest, is never written (P7)."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.errors import MemtuiError
from memtui.library import Library
from memtui.model import Memory
from memtui.stores.format import Format
from memtui.testing.fixtures import FormatFixtures, contents, memories, open_library

Limit = Callable[[float], AbstractContextManager[None]]
SECONDS = 60.0
"""Limit for opening a store with one file of another kind. What hangs never ends; a busy machine
needs some of it."""


def truncated(path: Path, _: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])


def emptied(path: Path, _: Path) -> None:
    path.write_bytes(b"")


def garbage(path: Path, _: Path) -> None:
    path.write_bytes(b"\x00\xff\xfe not text \xc3" * 50)


def utf_16(path: Path, _: Path) -> None:
    """As PowerShell writes a text, its byte order mark included."""
    path.write_bytes(path.read_bytes().decode("utf-8", "replace").encode("utf-16"))


def unmarked_utf_16(path: Path, _: Path) -> None:
    path.write_bytes(path.read_bytes().decode("utf-8", "replace").encode("utf-16-le"))


def pipe(path: Path, _: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def socket_file(path: Path, _: Path) -> None:
    path.unlink()
    folder = os.getcwd()
    os.chdir(path.parent)  # the name of a socket may have 108 bytes only
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(folder)


def folder(path: Path, _: Path) -> None:
    path.unlink()
    path.mkdir()


def endless(path: Path, _: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def circle(path: Path, _: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def nowhere(path: Path, _: Path) -> None:
    path.unlink()
    path.symlink_to("nothing-of-this-name")


def outside(path: Path, beyond: Path) -> None:
    """A link that leads out of the store, to a file that would read well."""
    path.rename(beyond)
    path.symlink_to(beyond)


def nowhere_outside(path: Path, beyond: Path) -> None:
    """Whoever writes through it makes a file where somebody else wants it."""
    path.unlink()
    path.symlink_to(beyond)


WIDE = (utf_16, unmarked_utf_16)
DAMAGE = (truncated, emptied, garbage, *WIDE)
NO_FILE = (pipe, socket_file, folder, endless, circle, nowhere, outside, nowhere_outside)


def largest_file(library: Library) -> Path:
    """The file that holds most memories, of several that the store has."""
    sizes: dict[str, int] = {}
    for memory in memories(library).values():
        sizes[memory.origin.file] = sizes.get(memory.origin.file, 0) + 1
    return Path(max(sizes, key=lambda name: (sizes[name], name)))


def elsewhere(found: dict[str, Memory], victim: Path) -> dict[str, Memory]:
    """The memories that have nothing to do with this file."""
    return {
        ref: memory
        for ref, memory in found.items()
        if str(victim) not in {memory.origin.file, *(place.file for place in memory.also)}
    }


def root_of_damaged(known: Format, place: Path) -> Path:
    return known.detect(place) or place


def told(found: dict[str, Memory]) -> dict[str, tuple[str, str, str]]:
    return {ref: (m.title, m.content, m.status) for ref, m in found.items()}


MAX_ADDED = 4
"""Maximum number of entities that get a new memory: of the damaged file, and of the others."""


def _entities(found: Iterable[Memory]) -> list[str]:
    return sorted({memory.entity for memory in found if memory.entity})[:MAX_ADDED]


def try_everything(
    library: Library, others: dict[str, Memory], in_the_file: Iterable[Memory]
) -> None:
    """Change another memory, and add some where the file and the others have some: what fails
    says so."""
    label = library.stores[0].label
    changes = [
        Change(Act.EDIT, label, ref, {"content": f"{memory.content.rstrip()} once more"})
        for ref, memory in list(others.items())[:1]
    ]
    entities = dict.fromkeys([*_entities(in_the_file), *_entities(others.values())])
    for number, entity in enumerate(entities):
        text = f"Gulls were counted {number} times near {entity.replace('/', ' ')}"
        changes.append(Change(Act.ADD, label, "", {"content": text, "entity": entity}, force=True))
    for change in changes:
        with suppress(MemtuiError):
            library.apply(library.plan([change]))


def _missing_lines(before: bytes, after: bytes) -> list[bytes]:
    """The lines of which not every character stands in the text after, in their order."""
    found, at = [], 0
    for line in before.split(b"\n"):
        place = at
        for byte in line:
            place = after.find(bytes([byte]), place) + 1
            if not place:
                found.append(line)
                break
        else:
            at = place
    return found


class UnreadableFileTests(FormatFixtures):
    """A file that cannot be read is listed, does not stop the rest, is never written (P7)."""

    @pytest.mark.parametrize("damage", [*DAMAGE, *NO_FILE], ids=lambda damage: damage.__name__)
    def test_one_bad_file(
        self,
        known: Format,
        place: Path,
        tmp_path: Path,
        state: Path,
        damage: Callable[[Path, Path], None],
        limit: Limit,
    ) -> None:
        whole = open_library(place)
        victim, beyond = largest_file(whole), tmp_path / "beyond"
        every = memories(whole)
        untouched = elsewhere(every, victim)
        is_text = b"\0" not in victim.read_bytes()
        damage(victim, beyond)
        before, bytes_beyond = contents(place), beyond.read_bytes() if beyond.exists() else None
        if known.database is not None and damage in NO_FILE:  # without its file it is no store
            with limit(SECONDS):
                assert known.detect(place) is None or damage is outside
            return
        with limit(SECONDS):
            library = Library([known.open(root_of_damaged(known, place), known.name)], state=state)
            library.load()
        now = memories(library)
        faults = library.snapshot.stores[0].unreadable
        named = {fault.file for fault in faults}
        read = any(memory.origin.file == str(victim) for memory in now.values())
        assert str(victim) in named or read or damage is folder
        assert all(fault.reason.isprintable() for fault in faults)
        if damage in WIDE and is_text:
            assert any("UTF-16" in fault.reason for fault in faults if fault.file == str(victim))
            assert not read, "garbage is no memory"
        assert told(untouched).items() <= told(now).items()
        library.check()
        try_everything(library, untouched, (m for r, m in every.items() if r not in untouched))
        after = contents(place)
        if str(victim) in named:
            name = str(victim.relative_to(place))
            if read:
                missing_lines = _missing_lines(before[name], after[name])
                assert not missing_lines, "of a file that is read in part, nothing is lost"
            else:
                assert after.get(name) == before.get(name), "what cannot be read is never written"
            is_read_only = bool(library.stores[0].read_only)
            is_changed = not untouched or after != before
            assert is_changed or is_read_only, "the others can still be changed"
        assert (beyond.read_bytes() if beyond.exists() else None) == bytes_beyond, (
            "nothing outside is written"
        )
