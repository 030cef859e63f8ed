"""The packs of the context screen: what is asked for, the job that builds it, its items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from difflib import SequenceMatcher
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from memtui.context import (
    ContextSettings,
    DroppedEntry,
    Pack,
    PackDraft,
    PackEntry,
    Section,
    draft_pack,
    find_recipe,
    list_projects,
    list_recipes,
    task_query,
)
from memtui.library import Library, SearchResult
from memtui.library.store_names import StoreNames
from memtui.model import Memory
from memtui.progress import Cancelled
from memtui.query import Query
from memtui.stores.base import Store
from memtui.tui.jobs import Job


class PackRequest(Struct, frozen=True):
    """The task, recipe and settings of a pack."""

    recipe: str
    task: str = ""
    entity: str = ""
    """The project or branch, for recipes that take one; empty: all, or the newest."""
    budget: int | None = None
    """Tokens; None: the recipe's own, which most have not."""
    page_in: frozenset[str] = frozenset()
    """Refs or ids of memories whose whole text is given."""
    types: tuple[str, ...] = ()
    """Types that the recipe `typed` prefers."""
    other: str = ""
    """Name of a recipe to compare with."""


class BuiltPack(Struct, frozen=True):
    """The result of a `PackRequest`."""

    request: PackRequest
    pack: Pack
    whole: Pack
    """The same without a budget."""
    draft: PackDraft
    """What both are made of."""
    other: Pack | None
    """By the other recipe, within the same budget."""
    revision: int
    """Revision of the snapshot that was searched for it."""
    types: Mapping[str, int]
    """The types of all memories in use, with their number."""
    projects: Mapping[str, tuple[str, ...]]
    """The projects and branches to choose from, each with the programs that know it."""


class _CancellableSource:
    """A library whose searches raise once the job is stopped."""

    def __init__(self, library: Library, job: Job) -> None:
        self._library, self._job = library, job

    @property
    def stores(self) -> Sequence[Store]:
        return self._library.stores

    @property
    def names(self) -> StoreNames:
        return self._library.names

    def _go_on(self) -> None:
        if self._job.is_cancelled():
            raise Cancelled("stopped; nothing was built")

    def find_loaded(self, query: Query) -> SearchResult:
        self._go_on()
        return self._library.find_loaded(query, self._job.is_cancelled)

    def get(self, ref: str) -> Memory:
        self._go_on()
        return self._library.get(ref)

    def resolve(self, text: str) -> Memory:
        self._go_on()
        return self._library.resolve(text)

    def memories(self, store: str) -> Iterable[Memory]:
        self._go_on()
        return self._library.memories(store)


def build_requested(
    library: Library,
    job: Job,
    request: PackRequest,
    former: BuiltPack | None,
    settings: ContextSettings,
    now: datetime,
) -> BuiltPack:
    """Build the pack, the same without a budget, and the one it is compared with.

    `former`: the last answer, whose draft may still hold. Raises Cancelled, and Refused where there
    is no such recipe.
    """
    revision = library.searched.revision
    if library.queried:
        library = library.hold(task_query(request.task), cancelled=job.is_cancelled)
    source = _CancellableSource(library, job)

    def choose(name: str) -> PackDraft:
        recipe = find_recipe(name, settings)
        return draft_pack(
            recipe,
            request.entity if recipe.takes == "entity" else request.task,
            source,
            settings,
            now,
            types=request.types,
            page_in=request.page_in,
            remarks=library.unheld,
        )

    if former is not None and former.revision == revision:
        types, projects = former.types, former.projects
        is_same = _unbudgeted(former.request) == _unbudgeted(request)
        chosen = former.draft if is_same else choose(request.recipe)
    else:
        types, projects = dict(source.find_loaded(Query()).facets.type), list_projects(source, now)
        chosen = choose(request.recipe)
    is_recipe = request.other in {recipe.name for recipe in list_recipes(settings)}
    other = choose(request.other).pack(request.budget) if is_recipe else None
    if job.is_cancelled():
        raise Cancelled("stopped; nothing was built")
    pack, unlimited = chosen.pack(request.budget), chosen.fit(None)
    return BuiltPack(request, pack, unlimited, chosen, other, revision, types, projects)


def _unbudgeted(request: PackRequest) -> PackRequest:
    return replace(request, budget=None, other="")


BUDGET_STEPS = 40
"""Steps of the budget from the smallest to the whole pack, about."""


def step_budget(budget: int | None, most: int, step: int) -> int | None:
    """The budget one step up or down, of 10, 20, 50, 100 and so on tokens.

    `most`: tokens of the pack without a budget; from them on there is none.
    """
    size = 10
    for factor in (2, 2.5, 2) * 6:
        if most <= size * BUDGET_STEPS:
            break
        size = int(size * factor)
    now = -(-most // size) if budget is None else budget // size
    tokens = max(1, now + step) * size
    return tokens if tokens < most else None


class ItemKind(StrEnum):
    """The kinds of item; frames and entries together are the text of the pack."""

    SECTION = "section"
    """A line of the screen that names a section; no text of the pack."""
    FRAME = "frame"
    """Text around the entries: head, headings, endings, tail."""
    ENTRY = "entry"
    NOTE = "note"
    """A line of the screen about the whole pack; no text of it."""


class PackItem(Struct, frozen=True):
    """One item of the list."""

    kind: ItemKind
    text: str
    """Exactly as it stands in the pack; of a section its title."""
    section: Section | None = None
    entry: PackEntry | None = None
    is_in: bool = True
    is_over_budget: bool = False
    """It would be in without a budget."""
    reason: str = ""
    """Why it is not in."""

    @property
    def ref(self) -> str:
        """Ref of the memory; empty if the item has none."""
        return self.entry.ref if self.entry else ""


def list_items(pack: Pack, whole: Pack) -> list[PackItem]:
    """Lay out a pack with the entries that the budget leaves out of the `whole`, in their places.

    The texts of the frames and entries that are in, joined, are the text of the pack.
    """
    items = _list_items(pack, whole)
    if "".join(_texts(items)) != pack.text:  # the stores changed between the two
        items = _list_items(pack, pack)
    return [*items, *(PackItem(ItemKind.NOTE, note) for note in pack.notes)]


def _texts(items: Sequence[PackItem]) -> Iterator[str]:
    kinds = (ItemKind.FRAME, ItemKind.ENTRY)
    return (item.text for item in items if item.is_in and item.kind in kinds)


def _list_items(pack: Pack, whole: Pack) -> list[PackItem]:
    items = [PackItem(ItemKind.FRAME, pack.head)] if pack.head else []
    left = list(pack.sections)
    for full in whole.sections:
        trimmed = left.pop(0) if left and _is_part(left[0], full) else None
        items += _section_items(full, trimmed, pack)
        items += _next_items(full.title, full, whole.dropped)
    titles = {section.title for section in whole.sections}
    for title in dict.fromkeys(d.section for d in whole.dropped if d.section not in titles):
        empty = Section(title, ())
        items.append(PackItem(ItemKind.SECTION, title, empty, is_in=False))
        items += _next_items(title, empty, whole.dropped)
    if pack.tail:
        items.append(PackItem(ItemKind.FRAME, pack.tail))
    return items


def _is_part(trimmed: Section, full: Section) -> bool:
    """Whether a section is what a budget left of another."""
    own = {(entry.ref, entry.text) for entry in full.entries}
    return trimmed.title == full.title and all((e.ref, e.text) in own for e in trimmed.entries)


def _section_items(full: Section, trimmed: Section | None, pack: Pack) -> Iterator[PackItem]:
    shown, is_in = trimmed or full, trimmed is not None
    yield PackItem(ItemKind.SECTION, full.title, trimmed or Section(full.title, ()), is_in=is_in)
    if shown.shown_heading:
        yield PackItem(ItemKind.FRAME, shown.shown_heading, shown, is_in=is_in)
    left = list(trimmed.entries) if trimmed else []
    reasons = {(d.section, d.entry.ref, d.entry.text): d.reason for d in pack.dropped}
    for entry in full.entries:
        if left and (left[0].ref, left[0].text) == (entry.ref, entry.text):
            yield PackItem(ItemKind.ENTRY, entry.text, shown, left.pop(0))
        else:
            reason = reasons.get((full.title, entry.ref, entry.text), "over the budget")
            yield PackItem(
                ItemKind.ENTRY,
                entry.text,
                shown,
                entry,
                is_in=False,
                is_over_budget=True,
                reason=reason,
            )
    if shown.ending:
        yield PackItem(ItemKind.FRAME, shown.ending, shown, is_in=is_in)


def _next_items(
    title: str, section: Section, dropped: Sequence[DroppedEntry]
) -> Iterator[PackItem]:
    for one in dropped:
        if one.section == title:
            entry = one.entry
            yield PackItem(
                ItemKind.ENTRY, entry.text, section, entry, is_in=False, reason=one.reason
            )


def find_next_left_out(items: Sequence[PackItem], at: int) -> PackItem | None:
    """The entry that would come next in the section of this item and is not in.

    Where a recipe names the next ones of all sections together, the first of these; None if there
    is none.
    """
    is_own = True
    for item in items[at + 1 :]:
        if item.kind is ItemKind.SECTION:
            is_own = not item.is_in
        elif item.entry is not None and not item.is_in and is_own:
            return item
    return None


class PackDifference(StrEnum):
    """How an entry differs between two packs; the values are the signs on the screen."""

    SAME = " "
    CHANGED = "~"
    MOVED = "↕"
    ONLY_LEFT = "-"
    ONLY_RIGHT = "+"


class ComparedEntry(Struct, frozen=True):
    """One line of two packs side by side."""

    difference: PackDifference
    left: PackEntry | None
    right: PackEntry | None

    @property
    def entry(self) -> PackEntry | None:
        """The one at the right, else the one at the left."""
        return self.right or self.left


def compare_packs(left: Pack, right: Pack) -> list[ComparedEntry]:
    """The entries of two packs, those of the same memory in one line where the order allows it."""
    left_entries, right_entries = _entries(left), _entries(right)
    left_keys, right_keys = [_key(e) for e in left_entries], [_key(e) for e in right_entries]
    lines: list[ComparedEntry] = []
    matcher = SequenceMatcher(None, left_keys, right_keys, autojunk=False)
    in_left, in_right = set(left_keys), set(right_keys)
    for kind, left_start, left_end, right_start, right_end in matcher.get_opcodes():
        left_run = left_entries[left_start:left_end]
        right_run = right_entries[right_start:right_end]
        if kind == "equal":
            for one, other in zip(left_run, right_run, strict=True):
                is_same = one.text == other.text
                sign = PackDifference.SAME if is_same else PackDifference.CHANGED
                lines.append(ComparedEntry(sign, one, other))
            continue
        for one in left_run:
            is_moved = _key(one) in in_right
            sign = PackDifference.MOVED if is_moved else PackDifference.ONLY_LEFT
            lines.append(ComparedEntry(sign, one, None))
        for one in right_run:
            is_moved = _key(one) in in_left
            sign = PackDifference.MOVED if is_moved else PackDifference.ONLY_RIGHT
            lines.append(ComparedEntry(sign, None, one))
    return lines


def _entries(pack: Pack) -> list[PackEntry]:
    return [entry for section in pack.sections for entry in section.entries if entry.text.strip()]


def _key(entry: PackEntry) -> str:
    """Return the ref of an entry, or its text if it has none."""
    return entry.ref or entry.text
