"""Describe a format to the registry: how its stores are found, opened, exported and imported.

A format is one value of `Format`, which is all that is imported to find stores. What it can do with
them is one value of `FormatSupport`, imported with the first store that is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct, field

from memtui.changes import Plan
from memtui.files.reading import decode
from memtui.model import Link, Memory
from memtui.stores.base import Store

if TYPE_CHECKING:
    from memtui.files.revert_detection import EditSequence, EditStatus


class Product(NamedTuple):
    """The program that writes a store, as people know it."""

    name: str
    """In its own spelling: `Claude Code`."""
    badge: str
    """Two letters that stand for it where there is no room for the name."""
    colour: int
    """The number of its colour among those that a theme gives types, see `memtui.tui.themes`."""


class Candidate(NamedTuple):
    """A place that may be a store, and why it is one or not, as parts of a sentence for people."""

    root: Path
    found: str
    """What speaks for it: `SOUL.md, USER.md`."""
    missing: str = ""
    """What it would need besides, as `not_its_own` says it of what is another's; "": it is a
    store."""
    opens_when_named: bool = False
    """Whether it is opened all the same if a person names it."""
    is_unread: bool = False
    """Whether it is a folder of notes in a place of the program, which does not read them."""


def not_its_own(why: str) -> str:
    """What is missing in a place that is of something else: `a place of its own: it lies in x/`."""
    return f"a place of its own: {why}"


class Detection:
    """The `detect` of a format that gives reasons, made of a function that yields candidates.

    The candidates are asked for one by one, and none after the first that is a store.
    """

    def __init__(self, candidates: Callable[[Path], Iterator[Candidate]]) -> None:
        self.candidates = candidates

    def __call__(self, path: Path) -> Path | None:
        return next((each.root for each in self.candidates(path) if not each.missing), None)


def package_of(name: str) -> str:
    """The package of one of memtui's own formats."""
    return f"memtui.stores.{name.replace('-', '_')}"


class Format(Struct, frozen=True):
    """One kind of store."""

    name: str
    """Unique, lower case, e.g. `agent-memory`; also the default label of its stores."""
    title: str
    """One line for people: which program writes it."""
    places: tuple[str, ...]
    """Where its program keeps it by default; `~` and `$VARIABLES` are expanded."""
    detect: Callable[[Path], Path | None]
    """The store's root if this path is, or directly holds, a store of this format; else None.
    Costs a few stat calls; never raises. A `Detection` also says what convinced it."""
    load: Callable[[], FormatSupport] | str = ""
    """Gives what the format can do when a store of it is opened: a function, or the name of a
    module that has it as `SUPPORT`. Empty: the module `store` of memtui's own package for it."""
    nearby: tuple[str, ...] = (".",)
    """Paths that are tried, relative to a folder that is searched for stores; `agents/*`: each
    folder in `agents`."""
    configured: Callable[[Path, Path, Mapping[str, str]], Iterable[Path]] | None = None
    """Further places that the settings of its program name. Given the folder memtui was started in,
    the home folder and the environment; reads known files only, walks nothing. None: there are
    none."""
    linked: Callable[[Path], Iterable[Path]] | None = None
    """Folders of a store at this root that links lead to out of it, and that are stores of their
    own. None: there are none."""
    fallback: Callable[[Path], Path | None] | None = None
    """The root if a person names this path and no format recognises it; never used in a search for
    stores. None: there is none."""
    claims: tuple[str, ...] = ()
    """Patterns (`fnmatch`, relative to the root) of the files with instructions for agents that a
    store reads itself, so that they are not those of its project."""
    is_whole: bool = True
    """Whether a store's folder is its own, so that no other store is looked for in its folders."""
    product: Product | Callable[[Path, str], Product] | None = None
    """The program that writes it. Where several do: a function of the root and of the chosen
    profile (empty: as it is recognised), which costs a few stat calls. None: the title up to its
    colon is its name."""
    profiles: tuple[str, ...] = ()
    """Names of the variants that a person can choose instead of the one that is recognised, see
    `FormatSupport.open_profile`."""
    is_database: bool = False
    """Whether a store is one SQLite file, see `FormatSupport.database`."""
    document: ExchangeDocument | None = None
    """The export file of the format's own program; None: it has none that memtui handles."""

    def open(self, root: Path, label: str, profile: str = "") -> Store:
        """Open the store at a detected root under a label. Reads nothing yet. May raise
        StoreError."""
        support = self.support
        if profile and support.open_profile is not None:
            return support.open_profile(root, label, profile)
        return support.open(root, label)

    def detect_named(self, path: Path, *, falls_back: bool = True) -> Path | None:
        """As `detect`, for a path that a person or the settings of a program name: also what is
        opened only then. `falls_back`: and what `fallback` takes for a store."""
        root = self.detect(path)
        if root is None and isinstance(self.detect, Detection):
            named = (each.root for each in self.detect.candidates(path) if each.opens_when_named)
            root = next(named, None)
        if root is None and falls_back and self.fallback is not None:
            root = self.fallback(path)
        return root

    @property
    def support(self) -> FormatSupport:
        """What the format can do; the first call imports it."""
        if not isinstance(self.load, str):
            return self.load()
        found: FormatSupport = import_module(self.load or f"{package_of(self.name)}.store").SUPPORT
        return found

    @property
    def database(self) -> DatabaseSupport | None:
        """For a store in one SQLite file; None for text files."""
        return self.support.database if self.is_database else None

    @property
    def transfer(self) -> TransferSupport:
        """What bundles and imports need beyond the shards."""
        return self.support.transfer

    @property
    def upkeep(self) -> UpkeepRules:
        """The rules by which memories are tidied."""
        return self.support.upkeep


# ---- bundles and imports ------------------------------------------------------------------------


class TransferSupport(Struct, frozen=True):
    """What bundles and imports need to know of a format."""

    belongings: tuple[str, ...] = ()
    """Patterns (`fnmatch`, relative to the root, `*` crosses folders) of files that hold no memory
    but that the program needs: a bundle takes them along with the shards' files."""
    identity: str = ""
    """Key of `Memory.extra` that names a memory across stores, if the id is only a row number."""
    convert: Callable[[Memory], ConvertedMemory] | None = None
    """What a memory of another format becomes here; None: its fields as they are."""
    local_keys: tuple[str, ...] = ()
    """Keys of `Memory.extra` that name files beside the store: left out of a bundle's records."""


class ConvertedMemory(Struct, frozen=True):
    """A memory of another format as this one would hold it."""

    fields: Mapping[str, Any]
    """Fields of an ADD, see `memtui.changes.Change`."""
    lost: tuple[str, ...] = ()
    """Names of what cannot be kept, each with the reason where it is not plain."""


class IncomingStore(Struct, frozen=True):
    """One store in a file that is imported."""

    label: str
    format: str
    memories: Sequence[Memory]
    whole: bool = False
    """Whether the store can be restored exactly."""
    files: Mapping[str, Callable[[], bytes]] = field(default_factory=dict)
    """Every file of the store by its path from the base; of a part, those that are memories."""
    times: Mapping[str, int] = field(default_factory=dict)
    """Modification time of each file, in nanoseconds since 1970."""
    root: str = ""
    """Name of the store's root in the base; empty when they are the same."""
    rows: Callable[[], list[str]] | None = None
    """The rows of a database, in bundles of version 1, see `DatabaseSupport.rebuild`."""
    document: str = field(default="")
    """Text of the file, if it is an `ExchangeDocument` that the store imports by itself."""
    home: str | None = None
    """Path of its base below the home folder that it lay in; None if it lay in none."""

    def text_of(self, memory: Memory) -> str | None:
        """The text of the memory's file; None unless the memory is a file."""
        if memory.kind not in ("document", "note") or memory.origin.file not in self.files:
            return None
        return decode(self.files[memory.origin.file]())


# ---- the export file of a format's own program --------------------------------------------------


class ExportRequest(Struct, frozen=True):
    """What is to be written into an exchange document."""

    memories: Sequence[Memory]
    stores: Sequence[Store]
    """All open stores; those of the memories are among them."""
    now: datetime
    complete: Collection[str] = ()
    """Labels of the stores of which `memories` holds every memory, of whatever status."""
    whole: bool = False
    """No filter was set: files are taken with all that they hold."""
    every: bool = True
    """Also take what the format's own program no longer reads, such as expired files."""
    pretty: bool = True
    """Indent the document, where the program has both forms."""


class ExportedDocument(Struct, frozen=True):
    """An exchange document, and what the person should know of it."""

    text: str
    left_out: tuple[str, ...] = ()
    """What is not in it, a line each: `3 of archived branches`."""
    changed: tuple[str, ...] = ()
    """What is in it but not as it was, a line each."""


class ExchangeDocument(Struct, frozen=True):
    """The JSON file that a format's own program exports and imports."""

    description: str
    """One line for people, in the list of export formats."""
    name: str
    """What such a file is called, with its article: `an Ambient backup`."""
    member: str
    """Key of the top-level object by which such a file is recognised."""
    export: Callable[[ExportRequest], ExportedDocument]
    """Raises Refused, StoreError or UnreadableFile."""
    read: Callable[[Mapping[str, Any]], IncomingStore]
    """The store that a parsed document holds. Raises BundleError."""
    suffix: str = ".json"
    holds_other_formats: bool = False
    """Whether memories of stores of other formats can be exported into it too."""
    unsupported_fields: tuple[str, ...] = ()
    """Fields of `Memory` that are lost for memories of other formats."""
    plan_import: Callable[[Store, str], Plan] | None = None
    """Plan the import of a document's text into an open store by the program's own keys. None: it
    is imported memory by memory. Raises BundleError, Refused or StoreError."""


# ---- databases ----------------------------------------------------------------------------------

FindStatuses = Callable[[Sequence["EditSequence"]], list[tuple["EditSequence", "EditStatus"]]]


class DatabaseSupport(Struct, frozen=True):
    """A store in one SQLite file."""

    name: str
    """Default name of the file."""
    read: Callable[[Path], bytes]
    """The database of the store at this root as one file, without what was deleted from it. Raises
    StoreError."""
    rebuild: Callable[[Iterable[str], Path], None]
    """Make a database, which must not exist, of the rows in a bundle of version 1. Raises
    BundleError or SaveError."""
    row_digest: Callable[[str], str | None]
    """Current digest of the row with this recorder name; None if it is not of this format. Used to
    recover after a crash."""
    find_statuses: FindStatuses
    """Whether other programs have reverted edits of rows, as
    `memtui.files.revert_detection.find_statuses` tells of edits of files."""
    copy: Callable[[Path, Path], None]
    """Copy the database as it is now into a new file. Raises sqlite3.Error."""


# ---- rules for tidying --------------------------------------------------------------------------


class Compaction(Struct, frozen=True):
    """When a format summarises old memories that are not important."""

    limits: tuple[tuple[str, int], ...]
    """Part of the entity's path (`project`, `branch`) and the memories it may hold."""
    batch: float
    """Share of the limit that is summarised at once, oldest first."""
    kinds: frozenset[str] = frozenset({"event"})
    summary_type: str = "session-summary"
    source: str = ""


class Expiry(Struct, frozen=True):
    """When the format's program stops reading a memory by itself."""

    days: int
    """Days without activity."""
    archived_days: int
    """Days after a branch was archived."""
    source: str = ""


class UpkeepRules(Struct, frozen=True):
    """What a format's own documents say about tidying its memories.

    The findings of `memtui.upkeep` ask these rules and know no format by name.
    """

    scope: Callable[[Memory], str] = field(default=lambda memory: memory.entity)
    """Memories of different scopes are never merged with one another."""
    merge_key: Callable[[Memory], str] = field(default=lambda _: "")
    """Memories with different keys are never merged; the empty key differs from none."""
    subjects: Callable[[Memory], Collection[str]] = field(default=lambda _: ("",))
    """What a memory says something about: it contradicts only memories that share a subject."""
    contradicts: Callable[[Memory, Memory], str] = field(default=lambda _older, _newer: "")
    """(older, newer) -> why both cannot hold, in words; empty if they can."""
    contradiction_source: str = ""
    is_replaceable: Callable[[Memory], bool] = field(default=lambda _: True)
    """Whether `replaces` needs to be asked about a memory at all."""
    replaces: Callable[[Memory, Memory], str] = field(default=lambda _older, _newer: "")
    """(older, newer) -> why the newer one takes the older one's place; empty if it does not."""
    replacement_source: str = ""
    compaction: Compaction | None = None
    expiry: Expiry | None = None
    shortens_history: bool = False
    """Whether the program itself shortens facts that are long and no longer current."""
    is_forward: Callable[[Link], bool] = field(default=lambda _: False)
    """Whether a link may name what does not exist yet, so that it is not reported as dangling."""


GENERAL_RULES = UpkeepRules()


# ---- what a format can do ------------------------------------------------------------------------


class FormatSupport(Struct, frozen=True):
    """All that memtui can do with the stores of a format, beside finding them."""

    open: Callable[[Path, str], Store]
    """Open the store at a root under a label."""
    open_profile: Callable[[Path, str, str], Store] | None = None
    """The same by one of `Format.profiles`."""
    database: DatabaseSupport | None = None
    transfer: TransferSupport = field(default=TransferSupport())
    upkeep: UpkeepRules = GENERAL_RULES
