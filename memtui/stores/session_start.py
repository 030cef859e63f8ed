"""What the program of a store puts into an agent's context by itself when a session starts.

Optional for a store: one that has the method `session_start` is asked by the recipe `loaded`. The
rule of the program (which files, which limits) is the store's; where a limit falls is worked out
here, the same way for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Protocol, TypeGuard

from memtui.dataclass import dataclass
from memtui.model import Memory
from memtui.stores.base import Store, StoreView


@dataclass(frozen=True, slots=True)
class LoadLimit:
    """How much of a text a program loads; whichever of the limits comes first. None: no limit."""

    lines: int | None = None
    bytes: int | None = None
    """Of UTF-8."""
    characters: int | None = None
    source: str = ""
    """Document or program that states the limit."""


NO_LIMIT = LoadLimit()


@dataclass(frozen=True, slots=True)
class LoadedEntry:
    """A memory and where its text stands in the loaded text."""

    ref: str
    start: int
    """Offset of its first character."""
    end: int
    """Offset behind its last character."""


@dataclass(frozen=True, slots=True)
class LoadedText:
    """One text that the program would load: a file, or a block that it builds."""

    title: str
    """For people: `MEMORY.md`, `shop-api/main`."""
    text: str
    """The whole text, as the program would count it, before the limit cuts it."""
    file: str = ""
    """Absolute path of the file; empty for a block that is built from several."""
    limit: LoadLimit = NO_LIMIT
    entries: tuple[LoadedEntry, ...] = ()
    """The memories in the text, in its order; those that are not known by place are left out."""
    is_of_entity: bool = False
    """Whether it is built for one project and branch; the recipe `session` then takes it as is."""
    note: str = ""
    """For people: by which rule the program loads this, with the place in its source."""
    lines: tuple[int, ...] = ()
    """1-based number, in the file, of each line of the text; (): they are the same."""

    @property
    def cut(self) -> int:
        """Offset from which on the text is not loaded; its length if all of it is."""
        return find_cut(self.text, self.limit)

    @property
    def cut_line(self) -> int | None:
        """1-based line of the file from which on the text is not loaded whole; None: all of it
        is."""
        if self.cut >= len(self.text):
            return None
        at = self.text.count("\n", 0, self.cut)
        return self.lines[at] if at < len(self.lines) else at + 1


def loaded_whole(memory: Memory, note: str) -> LoadedText:
    """The text of one memory, loaded without a limit."""
    entry = LoadedEntry(memory.ref, 0, len(memory.content))
    return LoadedText(memory.id, memory.content, memory.origin.file, entries=(entry,), note=note)


@dataclass(frozen=True, slots=True)
class LimitUse:
    """How much of a limit one text uses that is loaded at the start of a session."""

    store: str
    """Label of the store."""
    title: str
    file: str
    measures: tuple[tuple[str, int, int], ...]
    """Unit, what is used, and the limit: `("lines", 61, 200)`."""
    cut_line: int | None = None
    """See `LoadedText.cut_line`."""
    not_loaded: int = 0
    """Memories that begin in the line of the cut or past it."""

    @property
    def share(self) -> float:
        """Used part of the limit that is nearest; over 1: it is exceeded."""
        return max((used / most for _, used, most in self.measures if most), default=0.0)

    def as_record(self) -> dict[str, Any]:
        """The JSON object for `--json`."""
        measures = {unit: {"used": used, "limit": most} for unit, used, most in self.measures}
        return {
            **{name: getattr(self, name) for name in ("store", "title", "file")},
            **measures,
            "cut_line": self.cut_line,
            "not_loaded": self.not_loaded,
        }


def describe_use(use: LimitUse) -> str:
    """How much is used, in words: `61 of 200 lines, 6,311 of 25,000 bytes`."""
    measures = ", ".join(f"{used:,} of {most:,} {unit}" for unit, used, most in use.measures)
    if use.cut_line is None:
        return measures
    not_loaded = f", {use.not_loaded:,} not loaded" if use.not_loaded else ""
    return f"cut at line {use.cut_line:,}{not_loaded}: {measures}"


def limit_uses(store: str, texts: Iterable[LoadedText]) -> tuple[LimitUse, ...]:
    """The use of the limit of each text that has one; `store` is the label."""
    found = []
    for text in texts:
        limit, cut = text.limit, text.cut
        sizes = {
            "lines": (text.text.count("\n") + (text.text[-1:] not in ("", "\n")), limit.lines),
            "bytes": (len(text.text.encode("utf-8", "surrogatepass")), limit.bytes),
            "characters": (len(text.text), limit.characters),
        }
        measures = tuple((unit, used, most) for unit, (used, most) in sizes.items() if most)
        if measures:
            whole_lines = (
                len(text.text) if cut == len(text.text) else text.text.rfind("\n", 0, cut) + 1
            )
            not_loaded = sum(entry.start >= whole_lines for entry in text.entries)
            found.append(
                LimitUse(store, text.title, text.file, measures, text.cut_line, not_loaded)
            )
    return tuple(found)


class LoadsAtSessionStart(Store, Protocol):
    """A store whose program loads memories into each new session by itself."""

    def session_start(self, view: StoreView, entity: str, now: datetime) -> Sequence[LoadedText]:
        """Say what the program would load now.

        Args:
            view: The memories of the open stores, as they were last read.
            entity: The project, branch or entity of the session, as in `Memory.entity`; empty: what
                every session is given, or all there are where the program asks for one.
            now: The time of the session.

        Returns:
            The texts in the order they are loaded; () if nothing would be.
        """
        ...


class LimitsLoading(Store, Protocol):
    """A store whose program limits the size of what it loads."""

    def limit_uses(self, view: StoreView, now: datetime) -> Sequence[LimitUse]:
        """How much of its limit each loaded text uses now; statistics show it."""
        ...


def limits_loading(store: Store) -> TypeGuard[LimitsLoading]:
    """Whether the store says what its program's limits are."""
    return callable(getattr(store, "limit_uses", None))


def loads_at_session_start(store: Store) -> TypeGuard[LoadsAtSessionStart]:
    """Whether the store says what its program loads."""
    return callable(getattr(store, "session_start", None))


def find_cut(text: str, limit: LoadLimit) -> int:
    """The offset from which on a text is over the limit; its length if it is within.

    A byte limit never splits a character. A line counts as loaded up to its line feed.
    """
    cut = len(text)
    if limit.lines is not None:
        cut = min(cut, _line_offset(text, limit.lines))
    if limit.characters is not None:
        cut = min(cut, limit.characters)
    if limit.bytes is not None:
        encoded = text.encode("utf-8", "surrogatepass")
        if len(encoded) > limit.bytes:
            start = encoded[: limit.bytes]
            while start and (encoded[len(start)] & 0xC0) == 0x80:
                start = start[:-1]
            cut = min(cut, len(start.decode("utf-8", "surrogatepass")))
    return cut


def _line_offset(text: str, lines: int) -> int:
    at = 0
    for _ in range(lines):
        found = text.find("\n", at)
        if found < 0:
            return len(text)
        at = found + 1
    return at
