"""What a report holds: the answer of a query, by program and project, as values for a page.

All text is the store's own, with secrets masked; the page makes it safe to show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from memtui.insight.comparison import diff_words
from memtui.insight.lineage import Lineage, Relative
from memtui.insight.timeline import Timeline
from memtui.model import CURRENT, HIDDEN, Memory
from memtui.stores.effects import describe_reading
from memtui.text import ago, counted, date, mask_secrets, number, one_line

if TYPE_CHECKING:
    from memtui.insight.comparison import Difference
    from memtui.library import Library, SearchResult
    from memtui.library.review_files import Queue
    from memtui.upkeep.proposals import Proposal

MAX_TEXT = 4_000
"""Characters of one memory; the rest is counted."""
MAX_VALUES = 8
"""Values of one field with a bar."""
MAX_CHANGES = 500
"""Changes since a date, the newest; the rest is counted."""


class Fact(Struct, frozen=True):
    """One line on a memory: `supersedes: Ports of the services`."""

    label: str
    value: str
    ref: str = ""
    """The memory that the value names; empty if it names none."""


class Entry(Struct, frozen=True):
    """One memory."""

    ref: str
    heading: str
    text: str
    """Empty where the heading says all of it."""
    marks: tuple[str, ...]
    """Type, importance, status and age, as far as they are worth saying."""
    is_current: bool
    warning: str
    """What the reader should know first: a finding, or that an agent still reads it."""
    facts: tuple[Fact, ...]
    left_out: int
    """Characters of the text that are not shown."""


class Project(Struct, frozen=True):
    """The memories of one project of a program, in the order of the query."""

    name: str
    entries: tuple[Entry, ...]


class Program(Struct, frozen=True):
    """The memories of one program."""

    name: str
    badge: str
    projects: tuple[Project, ...]

    @property
    def total(self) -> int:
        """How many memories it holds."""
        return sum(len(project.entries) for project in self.projects)


class ChangeNote(Struct, frozen=True):
    """One memory that is not as it was."""

    kind: str
    heading: str
    about: str
    """Where, when and by whom."""
    pieces: tuple[tuple[str, str], ...]
    """The text word by word as (`same` | `gone` | `new`, piece) pairs."""


class Waiting(Struct, frozen=True):
    """One proposal of the review."""

    title: str
    reason: str


class Report(Struct, frozen=True):
    """All that the page shows."""

    title: str
    query: str
    made: datetime
    shown: int
    total: int
    """Memories in the open stores."""
    programs: tuple[Program, ...]
    counts: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
    """Heading, and the values of a field with their counts, most frequent first."""
    timeline: Timeline
    since: datetime | None
    """The time from which changes are told; None: they are not."""
    changes: tuple[ChangeNote, ...]
    waiting: tuple[tuple[str, tuple[Waiting, ...]], ...] | None
    """Heading, and its proposals; None: the review is not told."""
    left_out: tuple[str, ...]
    """What the page does not hold."""


def collect(
    library: Library,
    found: SearchResult,
    title: str,
    query: str,
    *,
    since: datetime | None = None,
    changes: Sequence[Difference] = (),
    queue: Queue | None = None,
) -> Report:
    """Collect a report from an answer of the library.

    Args:
        library: the open stores.
        found: the memories to show.
        title: of the page.
        query: as it was typed.
        since: the time from which `changes` are.
        changes: what changed, to be told in full.
        queue: what waits in the review; None leaves it out.
    """
    now = library.now()
    memories = library.memories_of(found)
    shown = {memory.ref for memory in memories}
    proposals = [
        each
        for each in (queue.proposals if queue else ())
        if not query or shown.intersection(each.refs)
    ]
    warnings = {ref: each.title for each in proposals for ref in each.refs}
    entry = _EntryMaker(library, now, shown, warnings)
    grouped: dict[str, dict[str, list[Entry]]] = {}
    badges: dict[str, str] = {}
    for memory in memories:
        name = library.names.by_label[memory.store]
        badges[name.name] = name.product.badge
        project = next(iter(library.entity_levels(memory.store, memory.entity)), "")
        grouped.setdefault(name.name, {}).setdefault(project, []).append(entry.make(memory))
    programs = tuple(
        Program(
            name, badges[name], tuple(Project(each, tuple(rows)) for each, rows in projects.items())
        )
        for name, projects in sorted(grouped.items(), key=lambda pair: pair[0].casefold())
    )
    total = len(library.snapshot.columns.live_slots())
    return Report(
        title,
        query,
        now,
        len(memories),
        total,
        programs,
        tuple(_counts(found, library.names.of)),
        library.timeline(found),
        since,
        tuple(_changes(changes[:MAX_CHANGES], library)),
        None if queue is None else tuple(_waiting(proposals)),
        tuple(_left_out(total - len(memories), entry, len(changes), library)),
    )


class _EntryMaker:
    """Makes the entries of one report, and counts what they leave out."""

    def __init__(
        self, library: Library, now: datetime, shown: set[str], warnings: Mapping[str, str]
    ) -> None:
        self._library, self._now = library, now
        self._shown, self._warnings = shown, warnings
        self._stores = {store.label: store for store in library.stores}
        self.masked = 0
        self.cut = 0

    def make(self, memory: Memory) -> Entry:
        whole = memory.content.strip("\n")
        text = mask_secrets(whole)
        is_line = not memory.title and "\n" not in text  # the heading is all of it
        title = mask_secrets(memory.title)
        heading = one_line(text if is_line else replace(memory, title=title, content=text).headline)
        self.masked += text != whole
        left_out = max(0, len(text) - MAX_TEXT)
        self.cut += bool(left_out)
        reading = describe_reading(
            memory,
            self._stores[memory.store],
            self._library.names.by_label[memory.store].product.name,
        )
        warning = self._warnings.get(memory.ref, "")
        if HIDDEN in memory.extra:
            warning = reading
        marks = [memory.shown_type]
        marks += [memory.importance] if memory.importance != "medium" else []
        marks += [memory.status] if memory.status != "active" else []
        marks += ["pinned"] if memory.pinned else []
        marks += [ago(memory.when, self._now)] if memory.when else []
        return Entry(
            memory.ref,
            heading[:MAX_TEXT] or memory.shown_type,
            "" if is_line or one_line(text) == heading else text[:MAX_TEXT],
            tuple(marks),
            memory.status in CURRENT,
            mask_secrets(warning),
            tuple(self._facts(memory, reading)),
            left_out,
        )

    def _facts(self, memory: Memory, reading: str) -> Iterator[Fact]:
        file = memory.origin.file
        root = str(self._stores[memory.store].root)
        place = file.removeprefix(root).lstrip("/") if file.startswith(root) else file
        if reading:
            yield Fact("effect", reading)
        for label, time in (("created", memory.created), ("updated", memory.updated)):
            if time:
                yield Fact(label, date(time, zoned=True))
        plain = [
            ("entity", self._library.entity_name(memory)),
            ("learned from", memory.source),
            ("tags", ", ".join(memory.tags)),
            ("file", f"{place}:{memory.origin.line}" if memory.origin.line else place),
        ]
        yield from (Fact(label, mask_secrets(value)) for label, value in plain if value)
        yield from self._relations(self._library.lineage(memory))

    def _relations(self, lineage: Lineage) -> Iterator[Fact]:
        for label, relatives in (
            ("superseded by", lineage.successors),
            ("supersedes", lineage.supersedes),
        ):
            yield from (self._relation(label, relative) for relative in relatives)
        for relative in lineage.links:
            relation = relative.link.relation if relative.link else "links to"
            yield self._relation(relation.replace("_", " "), relative)

    def _relation(self, label: str, relative: Relative) -> Fact:
        if relative.memory is None:
            return Fact(label, mask_secrets(one_line(relative.id)))
        ref = relative.memory.ref
        words = mask_secrets(one_line(relative.memory.headline))
        return Fact(label, words, ref if ref in self._shown else "")


def _counts(
    found: SearchResult, store_name: Callable[[str], str]
) -> Iterator[tuple[str, tuple[tuple[str, int], ...]]]:
    facets = found.facets
    for heading, values in (
        ("Program", {store_name(label): count for label, count in facets.store.items()}),
        ("Entity", facets.entity),
        ("Type", facets.type),
        ("Importance", facets.importance),
        ("Status", facets.status),
    ):
        pairs = [(value, count) for value, count in values.items() if count]
        if len(pairs) > 1:
            rest = sum(count for _, count in pairs[MAX_VALUES:])
            more = [(f"{number(len(pairs) - MAX_VALUES)} more", rest)] if rest else []
            yield heading, (*pairs[:MAX_VALUES], *more)


def _changes(changes: Sequence[Difference], library: Library) -> Iterator[ChangeNote]:
    for each in changes:
        memory = each.memory
        about = [library.names.of(memory.store), library.entity_name(memory)]
        about += [date(each.time)] if each.time else []
        about += [f"by {each.by}"] if each.by else []
        # Masked before they are compared: a piece of a secret is not known as one.
        texts = [mask_secrets(side.full_text) if side else "" for side in (each.before, each.after)]
        pieces = diff_words(*texts) if each.kind == "changed" else []
        yield ChangeNote(
            str(each.kind),
            mask_secrets(one_line(memory.headline)),
            " · ".join(part for part in about if part),
            tuple(pieces),
        )


def _waiting(proposals: Sequence[Proposal]) -> Iterator[tuple[str, tuple[Waiting, ...]]]:
    from memtui.upkeep.proposals import RULES

    kinds = dict.fromkeys(proposal.kind for proposal in proposals)
    for kind in kinds:
        yield (
            RULES[kind].heading,
            tuple(
                Waiting(mask_secrets(one.title), mask_secrets(one.reason))
                for one in proposals
                if one.kind is kind
            ),
        )


def _left_out(hidden: int, entries: _EntryMaker, changes: int, library: Library) -> Iterator[str]:
    if hidden:
        yield f"{counted(hidden, 'memory')} that the query does not show"
    if entries.masked:
        yield f"secrets in {number(entries.masked)} of the memories: their letters are dots"
    if entries.cut:
        yield f"the end of {counted(entries.cut, 'long text')}"
    if changes > MAX_CHANGES:
        yield f"{number(changes - MAX_CHANGES)} earlier changes"
    unreadable = sum(len(library.unreadable(store.label)) for store in library.stores)
    if unreadable:
        yield f"{counted(unreadable, 'file')} that could not be read"
