"""What each file must hold: a dict of bytes, and every change as the pieces that it changed.

A change is learnt once, from the diff that was shown before it was made. Afterwards the model says
by itself what doing it, taking it back and doing it again make of a file in which others may have
written meanwhile, or that it cannot be done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import unified_diff
from typing import Any

from tests.torture.life.pieces import Key, Pieces, Record, taken_apart

BOOK_KEEPING = frozenset({("value", "lastActive")})
"""What its program overwrites all the time: its own value stands, and nobody is stopped by it."""

Files = dict[str, bytes]


class Clash(Exception):
    """Somebody else has changed what would be changed: it must be refused, nothing written."""


@dataclass(frozen=True)
class FileChange:
    """What one file was and became when a change was made for the first time."""

    name: str
    before: bytes | None
    after: bytes | None
    undoes: bool = field(default=False, kw_only=True)

    @property
    def turned(self) -> FileChange:
        return FileChange(self.name, self.after, self.before, undoes=not self.undoes)

    @property
    def _pieces(self) -> tuple[Pieces, Pieces]:
        return taken_apart(self.name, self.before), taken_apart(self.name, self.after)

    @property
    def whole(self) -> bool:
        """Whether the file is changed as one text."""
        old, _ = self._pieces
        return old.kind == "text" or (old.kind == "json" and None in (self.before, self.after))

    @property
    def changed(self) -> dict[Key, tuple[Any, Any]]:
        """Each piece that became another, as it was and as it became; None = not there."""
        old, new = self._pieces
        keys = dict.fromkeys([*old.held, *new.held])
        pairs = {key: (old.held.get(key), new.held.get(key)) for key in keys}
        return {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}

    @property
    def records(self) -> set[str]:
        """The ids of the records that are changed."""
        return {key[-1] for key in self.changed if key[0] == "record"}

    def expected(self, now: bytes | None) -> Expected:
        """What it makes of the file as it is now. Raises Clash."""
        if self.whole:
            perhaps = now not in (self.before, self.after) and self._takes_away_all_of(now)
            wanted = None if perhaps else self._text(now)
            return Expected(self.name, wanted, exact=True, perhaps=perhaps)
        if now == self.before and ".memtui/" not in self.name:
            return Expected(self.name, self.after, exact=True)
        if now is None and ".memtui/" not in self.name:
            return self._of_no_file()
        pieces = taken_apart(self.name, now)
        wanted = dict(pieces.held)
        for key, (was, becomes) in self.changed.items():
            there = pieces.held.get(key)
            if same(there, becomes):
                continue
            if not same(there, was):
                if key in BOOK_KEEPING:
                    continue
                raise Clash(f"{key} of {self.name} is {there}")
            wanted[key] = becomes
        if wanted == pieces.held:
            return Expected(self.name, now, exact=True)
        held = {key: value for key, value in wanted.items() if value is not None}
        wanted_pieces = Pieces(pieces.kind, held, pieces.nameless)
        return Expected(self.name, now, wanted_pieces, undoes=self.undoes)

    def _of_no_file(self) -> Expected:
        """Records that were to be taken out went with the file."""
        lasting = {key: pair for key, pair in self.changed.items() if key not in BOOK_KEEPING}
        if all(key[0] == "record" and not pair[1] for key, pair in lasting.items()):
            return Expected(self.name, None, exact=True)
        raise Clash(f"{self.name} is gone")

    def _takes_away_all_of(self, now: bytes | None) -> bool:
        """Whether nothing is in the file but what is to go with it, whoever wrote it anew."""
        old, _ = self._pieces
        if old.kind != "json" or self.after is not None or now is None:
            return False
        there = taken_apart(self.name, now)
        ours = all(same(old.held.get(key), piece) for key, piece in there.held.items())
        return ours and there.nameless == old.nameless

    def _text(self, now: bytes | None) -> bytes | None:
        if now in (self.before, self.after):
            return self.after
        if None not in (self.before, self.after, now):
            for known in (self.after, self.before):  # lines that somebody has appended stay
                if now.startswith(known) and self.before[-1:] == self.after[-1:] == b"\n":
                    return self.after + now[len(known) :]
        raise Clash(f"the text of {self.name} is another")


def is_subsequence(some: Iterable[bytes], lines: Iterable[bytes]) -> bool:
    left = iter(lines)
    return all(line in left for line in some)


def same(one: Any, other: Any) -> bool:
    """Whether two pieces mean the same, in whatever spelling."""
    if isinstance(one, Record) and isinstance(other, Record):
        return bool(one.value == other.value)
    return bool(one == other)


@dataclass(frozen=True)
class Expected:
    """What a file must hold after a step."""

    name: str
    data: bytes | None
    """Its bytes, or those that it had before where only the pieces are known."""
    pieces: Pieces | None = None
    exact: bool = False
    undoes: bool = False
    """Whether a line of the sidecar is taken out and none appended."""
    perhaps: bool = False
    """Whether refusing the step is right too: nothing of anybody is lost either way."""

    def fault(self, found: bytes | None) -> str:
        """What is wrong with what the file holds; empty when nothing is."""
        if self.exact:
            return "" if found == self.data else _difference(self.name, self.data, found)
        assert self.pieces is not None
        if self.pieces.kind == "notes":
            long, short = self.data or b"", found or b""
            long, short = (long, short) if self.undoes else (short, long)
            if not is_subsequence(short.splitlines(), long.splitlines()):
                return f"{self.name} holds other lines than before"
        there = taken_apart(self.name, found)
        before = taken_apart(self.name, self.data)
        for key in dict.fromkeys([*self.pieces.held, *there.held]):
            wanted, now = self.pieces.held.get(key), there.held.get(key)
            untouched = wanted == before.held.get(key)
            if not (wanted == now if untouched else same(wanted, now)):
                return f"{key} of {self.name} is {now}, not {wanted}"
        stayed = [key for key in before.order if key in there.held]
        if [key for key in there.order if key in before.held] != stayed:
            return f"the records of {self.name} changed their order"
        return "" if there.nameless == self.pieces.nameless else f"{self.name} lost what has no id"


def _difference(name: str, wanted: bytes | None, found: bytes | None) -> str:
    if wanted is None or found is None:
        return f"{name} {'should not be there' if wanted is None else 'is gone'}"
    old, new = ([repr(line) for line in data.splitlines(True)] for data in (wanted, found))
    return "\n".join(unified_diff(old, new, f"{name} as it should be", "as it is", n=1))


@dataclass
class Done:
    """One action of the log."""

    id: int
    changes: tuple[FileChange, ...]
    state: str = "done"
    redo: int = 0
    """Its place among what can be redone; 0 = it cannot."""


@dataclass
class Model:
    """All files and all that was done."""

    files: Files
    log: list[Done] = field(default_factory=list)

    def expect(self, changes: Iterable[FileChange]) -> dict[str, Expected]:
        """What the files that these change must hold afterwards. Raises Clash."""
        return {change.name: change.expected(self.files.get(change.name)) for change in changes}

    def settle(self, found: Mapping[str, bytes], expected: Mapping[str, Expected]) -> None:
        """Check every file and take what was found for known. Raises AssertionError."""
        for name in sorted({*found, *self.files, *expected}):
            here = found.get(name)
            if name in expected:
                fault = expected[name].fault(here)
            else:
                was = self.files.get(name)
                fault = "" if here == was else f"not to be touched: {_difference(name, was, here)}"
            assert not fault, fault
        self.files = dict(found)

    # ---- what can be undone and redone -----------------------------------------------------------

    def add(self, id: int, changes: tuple[FileChange, ...], state: str = "done") -> None:
        self.log.append(Done(id, changes, state))
        if state == "done":
            for done in self.log:
                done.redo = 0

    def to_undo(self) -> Done | None:
        return next((done for done in reversed(self.log) if done.state == "done"), None)

    def to_redo(self) -> Done | None:
        return max((d for d in self.log if d.redo), key=lambda d: d.redo, default=None)

    def undone(self, done: Done) -> None:
        done.state, done.redo = "undone", 1 + max(known.redo for known in self.log)

    def redone(self, done: Done) -> None:
        done.state, done.redo = "done", 0
