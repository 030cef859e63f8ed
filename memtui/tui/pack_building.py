"""What the context screen asks for, and the job that builds it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from memtui.context import (
    ContextSettings,
    Pack,
    PackDraft,
    draft_pack,
    find_recipe,
    list_recipes,
)
from memtui.progress import Cancelled
from memtui.query import Query

if TYPE_CHECKING:
    from memtui.context import PackEntry
    from memtui.library import Library, SearchResult
    from memtui.model import Memory
    from memtui.stores.base import Store
    from memtui.tui.jobs import Failed, Job


@dataclass(frozen=True, slots=True)
class PackRequest:
    """The task, recipe and settings of a pack."""

    recipe: str
    task: str = ""
    budget: int | None = None
    """Tokens; None: the recipe's own, which most have not."""
    page_in: frozenset[str] = frozenset()
    """Refs or ids of memories whose whole text is given."""
    types: tuple[str, ...] = ()
    """Types that the recipe `typed` prefers."""
    other: str = ""
    """Name of a recipe to compare with."""

    def same_pack(self, other: PackRequest) -> bool:
        """Whether both requests give the same pack, apart from what it is compared with."""
        return replace(self, other="") == replace(other, other="")


@dataclass(frozen=True, slots=True)
class BuiltPack:
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
    """Of the library's snapshot that it was built from."""
    types: Mapping[str, int]
    """The types of all memories in use, with their number."""


class PackHost(Protocol):
    """What the context screen calls, implemented by `controllers.context.ContextActions`."""

    def build(
        self,
        request: PackRequest,
        former: BuiltPack | None,
        done: Callable[[BuiltPack], object],
        failed: Failed,
    ) -> None: ...
    def as_of(self) -> str: ...
    def stop(self) -> None: ...
    def is_stale(self, built: BuiltPack) -> bool: ...
    def choose(self, entry: PackEntry | None) -> None: ...
    def refusal(self, action_id: str) -> str: ...
    def act(self, action_id: str) -> None: ...
    def ask_types(self, built: BuiltPack, answered: Callable[[tuple[str, ...]], None]) -> None: ...
    def ask_id(self, answered: Callable[[str], None]) -> None: ...
    def ask_other(
        self, named: Sequence[tuple[str, str]], answered: Callable[[str], None]
    ) -> None: ...
    def copy(self, pack: Pack, *, exact: bool) -> None: ...
    def save(self, pack: Pack) -> None: ...


class _CancellableSource:
    """A library whose searches raise once the job is stopped."""

    def __init__(self, library: Library, job: Job) -> None:
        self._library, self._job = library, job

    @property
    def stores(self) -> Sequence[Store]:
        return self._library.stores

    def _go_on(self) -> None:
        if self._job.is_cancelled():
            raise Cancelled("stopped; nothing was built")

    def find(self, query: Query) -> SearchResult:
        self._go_on()
        return self._library.find(query, self._job.is_cancelled)

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

    Args:
        library: Where the memories are.
        job: Is asked whether to go on.
        request: What is asked for.
        former: The last answer, whose draft may still hold.
        settings: Constants and the person's own recipes.
        now: The time from which ages are counted.

    Raises:
        Cancelled: the job was stopped.
        Refused: there is no such recipe.
    """
    source = _CancellableSource(library, job)
    revision = library.snapshot.revision

    def choose(name: str) -> PackDraft:
        recipe = find_recipe(name, settings)
        return draft_pack(
            recipe,
            request.task,
            source,
            settings,
            now,
            types=request.types,
            page_in=request.page_in,
        )

    if former is not None and former.revision == revision:
        types = former.types
        is_same = _unbudgeted(former.request) == _unbudgeted(request)
        chosen = former.draft if is_same else choose(request.recipe)
    else:
        types, chosen = dict(source.find(Query()).facets.type), choose(request.recipe)
    is_recipe = request.other in {recipe.name for recipe in list_recipes(settings)}
    other = choose(request.other).pack(request.budget) if is_recipe else None
    if job.is_cancelled():
        raise Cancelled("stopped; nothing was built")
    pack, unlimited = chosen.pack(request.budget), chosen.fit(None)
    return BuiltPack(request, pack, unlimited, chosen, other, revision, types)


def _unbudgeted(request: PackRequest) -> PackRequest:
    return replace(request, budget=None, other="")
