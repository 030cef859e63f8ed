"""The protocol of a store, and the values that a store answers with.

A **shard** is the unit of reading and caching: a set of files that must be read together because
their memories refer to each other (an entity folder, a project, one document). A shard whose stamp
did not change is not read again.

What a program puts into an agent's context when a session starts, and within which limits, is the
store's rule (`session_start`); where a limit falls is worked out here, the same way for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from msgspec import Struct

from memtui.changes import Act, Change, Edit, Plan
from memtui.errors import Refused
from memtui.files.save_hooks import WriteRecorder as WriteRecorder
from memtui.model import Memory


class Unreadable(Struct, frozen=True):
    """A file that could not be read, and why; the rest of its store is read all the same."""

    file: str
    """Absolute path."""
    reason: str
    """Half a sentence for people."""
    gone: bool = False
    """It was listed and then did not exist. It is tried again at every refresh, because it may come
    back with the same stamp, as when a folder is moved away and back."""


class Remark(NamedTuple):
    """What a person should know of a store beside its memories: what lies there and is not read."""

    path: str
    """Absolute: the file or the folder that it is about."""
    text: str
    """A sentence for people, without a full stop."""


class Shard(NamedTuple):
    """Files that are read together."""

    key: str
    """Stable and unique within the store: `entities/alice`, `2026-11-18.md`."""
    files: tuple[str, ...]
    """Absolute paths: all that the shard's memories depend on."""
    stamp: str
    """Changes whenever one of the files may have changed, see `memtui.files.reading.file_stamp`."""


class Scan(Struct, frozen=True):
    """The shards of a store in reading order, and what could not be listed."""

    shards: tuple[Shard, ...]
    unreadable: tuple[Unreadable, ...] = ()


class Reading(Struct, frozen=True):
    """The memories of one shard, in the store's own order, and the files that could not be read."""

    memories: tuple[Memory, ...]
    unreadable: tuple[Unreadable, ...] = ()


class Written(Struct, frozen=True):
    """What a store wrote, where that differs from the plan, and what did not become of it.

    For example, a row number that was free when the change was planned can be another program's row
    when it is written.
    """

    edits: tuple[Edit, ...]
    """The edits as they were made, one for each that was given; undo reverts these."""
    refs: Mapping[str, str]
    """Planned ref -> written ref, where they differ."""
    warnings: tuple[str, ...] = ()
    """For the person: what else should have been done and was not. The edits were made."""


class SyncState(NamedTuple):
    """How a program gets on that sends its memories to a server and takes others' from there."""

    state: str
    """`up to date`, `queued`, or what stops it: `paused`, `refused`, `blocked`, `failing`."""
    queued: int
    """Changes that wait to be sent."""
    refused: int
    """Changes that were set aside, and are not tried again."""
    reasons: tuple[str, ...]
    """What stops it, in the program's words; untrusted text."""
    last_pull: datetime | None
    """When others' changes were last taken; None: the program does not say so."""
    pulled: int
    """Number of the last change that was taken; 0: none."""


class MemorySwitch(NamedTuple):
    """Whether a program keeps memory, or one part of it, and what says so."""

    name: str
    """What is switched, for people: `auto memory`."""
    is_on: bool
    setting: str
    """Its keys from the outermost, joined by dots: `features.memories`."""
    source: str = ""
    """Absolute path of the file that has the setting, or `$NAME` of a variable of the environment;
    "": none has it, and this is what the program does by default."""
    loads: bool = True
    """Whether sessions load less where it is off; False: it is about what is written."""

    @property
    def state(self) -> str:
        """Whether it is on, for people: `auto memory on`, `memories off by default`."""
        return f"{self.name} {'on' if self.is_on else 'off'}{'' if self.source else ' by default'}"


class ReadTime(StrEnum):
    """When a program reads a file that was changed, as the end of a sentence; soonest last."""

    NEXT_SESSION = "from its next session"
    """What it loads when a session starts; one that runs keeps what it loaded."""
    INDEXED = "once its index is up to date"
    OPENED = "when it next opens the file"
    SEARCHED = "at its next search"
    AT_ONCE = "at once"
    """It reads the file, or asks the database, for every call."""
    IMPORTED = "at its next import"
    """It keeps its own database, and takes from the file what is new or changed there."""
    INBOX = "in its inbox"
    ASKED = "when it is asked"
    """The file is a request to the program, which decides what becomes of it."""
    NEVER = "never"


class StoreView(Protocol):
    """The memories that a store can look up while it plans a change."""

    def get(self, ref: str) -> Memory:
        """Return the memory with this ref. Raises RefError."""
        ...

    def memories(self, store: str) -> Iterable[Memory]:
        """Return all memories of the store with this label, of every status."""
        ...


class Store(Protocol):
    """One place on disk in one format.

    `scan` and `read` are all that a store must have. A class that inherits from this protocol and
    has no more can be read only; the other members say what else its format can do. Methods are
    called from one thread at a time. Paths are absolute.
    """

    format: str
    """Name of the format, as in `Format.name`."""
    label: str
    """Unique among the open stores; the first part of every ref."""
    root: Path
    """Where the store lies, as `Format.detect` gave it."""

    # ---- reading --------------------------------------------------------------------------------

    def scan(self) -> Scan:
        """List the shards without reading them.

        Called whenever something may have changed on disk, so it should cost stat calls only.

        Returns:
            The shards in reading order, with keys that stay the same and stamps that change with
            the files; and the files or folders that cannot be listed.
        """
        ...

    def read(self, shard: Shard) -> Reading:
        """Read one shard that `scan` listed.

        Args:
            shard: The shard; its files may have changed or gone since the scan.

        Returns:
            Its memories, each with a ref `label:id` that is unique in the store and with its
            origin among the shard's files; and the files that could not be read, with the reason.
        """
        ...

    def entity_levels(self, entity: str) -> tuple[str, ...]:
        """An entity as the levels of a tree, the widest first: the parts of its path, or one level
        where `/` is part of a name, and where a path is known by its last part."""
        return tuple(entity.split("/"))

    @property
    def projects(self) -> Mapping[str, tuple[str, ...]]:
        """The entity of each project that a memory from elsewhere can be put into, with the
        project's branches; empty where it keeps the entity that it had."""
        return {}

    # ---- changing -------------------------------------------------------------------------------

    @property
    def read_only(self) -> str:
        """Why nothing can be written here at present, such as missing permissions; "" if it can."""
        return f"memtui can only read {self.format}"

    @property
    def editable(self) -> frozenset[str]:
        """Names of the `Memory` fields that `Act.EDIT` can change."""
        return frozenset()

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations that links can have; (): any word."""
        return ()

    def refusal(self, act: Act, memory: Memory | None) -> str:  # noqa: ARG002
        """Say whether an act is possible, before the person is asked for its details.

        Args:
            act: What is to be done.
            memory: The memory; None for an ADD or if no particular one is meant.

        Returns:
            Why it is not possible, as half a sentence for people; "" if it is.
        """
        return self.read_only

    def plan(self, change: Change, view: StoreView) -> Plan:  # noqa: ARG002
        """Work out the exact edits of a change. Writes nothing.

        Args:
            change: What the person asks for.
            view: The memories of all open stores, as they were last read.

        Returns:
            The edits with what they replace, so that they can be shown, made and undone.

        Raises:
            Refused: The format has no way to do it.
            Conflict: The files are no longer what the view shows.
            RefError: The change names a memory that does not exist.
        """
        raise Refused(self.read_only, where=change.ref or str(self.root))

    def apply(self, edits: Sequence[Edit], recorder: WriteRecorder) -> Written | None:  # noqa: ARG002
        """Make edits that `plan` gave, or that undo such edits.

        Args:
            edits: What to write; files that are no longer as planned must not be overwritten.
            recorder: Is told before and after each write, for recovery after a crash.

        Returns:
            What was written where that differs from the plan, or what was not done beside it; None
            if there is nothing to say.

        Raises:
            Conflict: A file changed since, and the edit cannot be merged into it.
            SaveError: It could not be written. No file is half written in either case.
        """
        raise Refused(self.read_only, where=str(self.root))

    def parts_of(self, memory: Memory) -> Sequence[str]:  # noqa: ARG002
        """The texts of which each can be rescoped alone, of a memory that is a file of many."""
        return ()

    def rescope(self, memory: Memory, project: str, library: OpenStores) -> Sequence[Change]:  # noqa: ARG002
        """The changes that make a memory hold for all projects of its program, or for one.

        Args:
            memory: One of this store; where it has parts, with the text of one of them.
            project: The entity of the project that it is to be of; "": of all.
            library: The open stores; what holds for all may be in another one of the program.

        Raises:
            AlreadyThere: It holds for that.
            Refused: The program keeps nothing apart for all projects.
        """
        why = "its program keeps nothing apart for all projects"
        raise Refused(why, do="copy it to another store")

    def look_again(self, shards: Sequence[Shard]) -> Sequence[Shard]:
        """Stamp these shards anew after a write, without looking at the rest of the store.

        Args:
            shards: Shards of the last scan.

        Returns:
            Those of which all files exist, with the stamps of now. Shards that are new or gone
            are left to the next `scan`.
        """
        keys = {shard.key for shard in shards}
        return [shard for shard in self.scan().shards if shard.key in keys]

    def plan_accesses(self, memories: Sequence[Memory], now: datetime) -> Sequence[Edit]:  # noqa: ARG002
        """The edits that count one access of each of these memories; () if none can be counted.
        Raises Refused."""
        return ()

    is_shared: bool = False
    """Whether other people read it: what is added is published."""

    # ---- what its program does ------------------------------------------------------------------

    def sync_state(self) -> SyncState | None:
        """How its program's synchronisation with a server gets on; None where there is none."""
        return None

    def memory_switches(self) -> Sequence[MemorySwitch]:
        """Whether its program keeps memory at present, the most general first; () where it has no
        switch for it. Asked as `remarks` is."""
        return ()

    def remarks(self) -> Sequence[Remark]:
        """What a person should know of it, such as files that no program reads; asked for lists of
        stores and checks, not at every refresh."""
        return ()

    reads_retired: bool = False
    """Whether the program still reads a memory that is retired in its own way, as what is done."""

    reads_superseded: bool = False
    """Whether the program still reads a memory that is superseded in its own way."""

    reads: ReadTime | None = None
    """When the program reads a change of any file; None: not known."""

    def read_time(self, path: str) -> ReadTime | None:  # noqa: ARG002
        """When the program reads a change of this file, relative to the root."""
        return self.reads

    def reader(self, path: str) -> str:  # noqa: ARG002
        """The program that reads this file, relative to the root, where it is not the one that the
        store is named after; several begin with `each of`."""
        return ""

    def as_loaded(self, path: str, text: str) -> LoadedText | None:  # noqa: ARG002
        """What a session would load of this file if it had this text; None: there is no limit."""
        return None

    def session_start(self, view: StoreView, entity: str, now: datetime) -> Sequence[LoadedText]:  # noqa: ARG002
        """Say what the program puts into the context of a session that starts now.

        Args:
            view: The memories of the open stores, as they were last read.
            entity: The project, branch or entity of the session, as in `Memory.entity`; empty: what
                every session is given, or all there are where the program asks for one.
            now: The time of the session.

        Returns:
            The texts in the order they are loaded; () if the program loads nothing by itself.
        """
        return ()

    def limit_uses(self, view: StoreView, now: datetime) -> Sequence[LimitUse]:  # noqa: ARG002
        """How much of its limit each loaded text uses; `view` and `now` as in `session_start`."""
        return ()

    def place_facts(self) -> Mapping[str, Any]:
        """Facts about the store that its location tells and its files do not, such as a folder's
        name: a bundle stores them as JSON in `.memtui/place.json` of the restored store, where
        `memtui.stores.scanning.read_place_facts` finds it."""
        return {}

    def texts_of_row(
        self,
        memory: Memory,  # noqa: ARG002
        table: str,  # noqa: ARG002
        columns: Mapping[str, Any],
    ) -> Mapping[str, str]:
        """What a memory would say if its row had these columns: its title, content and type, as
        far as they give them."""
        names = ("title", "content", "type")
        return {name: columns[name] for name in names if isinstance(columns.get(name), str)}

    def take_rules(self, other: Any) -> None:  # noqa: ARG002
        """Read as this other store of the format is read; for a copy of some of its files."""
        return


class OpenStores(StoreView, Protocol):
    """The open stores. `memtui.library.Library` implements it; it lies above this package."""

    now: Callable[[], datetime]
    """The clock; aware, in UTC."""

    @property
    def stores(self) -> Sequence[Store]:
        """Every open store, each under its own label."""
        ...

    def store(self, label: str) -> Store:
        """The open store with this label. Raises Refused."""
        ...

    def unreadable(self, store: str) -> Sequence[Unreadable]:
        """Return the files of the `store` with this label that could not be read."""
        ...

    def refresh(self) -> bool:
        """Read what changed on disk. Returns whether something did."""
        ...


# ---- what is loaded when a session starts --------------------------------------------------------


class LoadLimit(NamedTuple):
    """How much of a text a program loads; whichever of the limits comes first. None: no limit."""

    lines: int | None = None
    units: int | None = None
    """UTF-16 code units; the cut is at the end of a line, unless the first is longer."""
    characters: int | None = None
    source: str = ""
    """Document or program that states the limit."""


NO_LIMIT = LoadLimit()
UNITS = "UTF-16 units"


def count_units(text: str) -> int:
    """The UTF-16 code units of a text: what JavaScript calls its length."""
    return len(text) + sum(letter > "\uffff" for letter in text)


class LoadedEntry(NamedTuple):
    """A memory and where its text stands in the loaded text."""

    ref: str
    start: int
    """Offset of its first character."""
    end: int
    """Offset behind its last character."""


class LoadedText(NamedTuple):
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
    entity: str = ""
    """The entity whose sessions get it, as in `Memory.entity`; empty: every session does."""

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


class LoadedBlock:
    """Builds a text of several parts, and notes where memories stand in it."""

    def __init__(self, text: str = "") -> None:
        self.text = text
        self.entries: list[LoadedEntry] = []

    def add(self, text: str, ref: str = "") -> None:
        """Append a text, which is that of a memory if `ref` is given."""
        start, self.text = len(self.text), self.text + text
        if ref:
            self.entries.append(LoadedEntry(ref, start, len(self.text)))

    def loaded(self, title: str, file: str, **more: Any) -> LoadedText:
        """The finished text; `more` are further fields."""
        return LoadedText(title, self.text, file, entries=tuple(self.entries), **more)


def loaded_whole(memory: Memory, note: str) -> LoadedText:
    """The text of one `memory`, loaded without a limit; `note` as in `LoadedText`."""
    entry = LoadedEntry(memory.ref, 0, len(memory.content))
    return LoadedText(memory.id, memory.content, memory.origin.file, entries=(entry,), note=note)


class LimitUse(NamedTuple):
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
        measures = {
            unit.replace(UNITS, "utf16_units"): {"used": used, "limit": most}
            for unit, used, most in self.measures
        }
        return {
            **{name: getattr(self, name) for name in ("store", "title", "file")},
            **measures,
            "cut_line": self.cut_line,
            "not_loaded": self.not_loaded,
        }


def limit_uses(store: str, texts: Iterable[LoadedText]) -> tuple[LimitUse, ...]:
    """The use of the limit of each of the `texts` that has one; `store` is the label."""
    found = []
    for text in texts:
        limit, cut = text.limit, text.cut
        sizes = {
            "lines": (text.text.count("\n") + (text.text[-1:] not in ("", "\n")), limit.lines),
            UNITS: (count_units(text.text), limit.units),
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


def find_cut(text: str, limit: LoadLimit) -> int:
    """The offset from which on the `text` is over the `limit`; its length if it is within.

    A line counts as loaded up to its line feed.
    """
    cut = len(text)
    if limit.lines is not None:
        cut = min(cut, _line_offset(text, limit.lines))
    if limit.characters is not None:
        cut = min(cut, limit.characters)
    if limit.units is not None and count_units(text[:cut].rstrip("\n")) > limit.units:
        cut = _whole_lines(text, _unit_offset(text, limit.units))
    return cut


def _unit_offset(text: str, units: int) -> int:
    """The offset behind the last letter that is whole within so many UTF-16 units."""
    used = 0
    for at, letter in enumerate(text):
        used += 1 + (letter > "\uffff")
        if used > units:
            return at
    return len(text)


def _whole_lines(text: str, at: int) -> int:
    """The end of the last line that ends at this offset or before; the offset in the first one."""
    return at + 1 if text[at : at + 1] == "\n" else text.rfind("\n", 0, at) + 1 or at


def _line_offset(text: str, lines: int) -> int:
    at = 0
    for _ in range(lines):
        found = text.find("\n", at)
        if found < 0:
            return len(text)
        at = found + 1
    return at
