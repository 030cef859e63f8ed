"""What the context screen asks for, and the job that builds it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from memtui.context import ContextSettings, Pack, build_pack, find_recipe, list_recipes
from memtui.progress import Cancelled

if TYPE_CHECKING:
    from memtui.context import PackEntry
    from memtui.library import Library, SearchResult
    from memtui.model import Memory
    from memtui.query import Query
    from memtui.stores.base import Store
    from memtui.tui.jobs import Failed, Job

UNLIMITED = 1 << 40
"""Tokens that no pack has: with this budget a recipe's own does not apply."""


@dataclass(frozen=True, slots=True)
class PackRequest:
    """What is asked for."""

    recipe: str
    task: str = ""
    budget: int | None = None
    """Tokens; None: the recipe's own, which most have not."""
    page_in: frozenset[str] = frozenset()
    """Refs or ids of memories whose whole text is given."""
    other: str = ""
    """Name of a recipe to compare with."""

    def same_pack(self, other: PackRequest) -> bool:
        """Whether both ask for the same pack, whatever it is compared with."""
        return replace(self, other="") == replace(other, other="")


@dataclass(frozen=True, slots=True)
class BuiltPack:
    """The answer."""

    request: PackRequest
    pack: Pack
    whole: Pack
    """The same without a budget."""
    other: Pack | None
    """By the other recipe, within the same budget."""
    revision: int
    """Of the library's snapshot that it was built from."""


class PackHost(Protocol):
    """Does what the context screen asks for: `controllers.context.ContextActions`."""

    def build(
        self,
        request: PackRequest,
        former: BuiltPack | None,
        done: Callable[[BuiltPack], object],
        failed: Failed,
    ) -> None: ...
    def stop(self) -> None: ...
    def is_stale(self, built: BuiltPack) -> bool: ...
    def choose(self, entry: PackEntry | None) -> None: ...
    def refusal(self, action_id: str) -> str: ...
    def act(self, action_id: str) -> None: ...
    def ask_id(self, answered: Callable[[str], None]) -> None: ...
    def ask_other(
        self, named: Sequence[tuple[str, str]], answered: Callable[[str], None]
    ) -> None: ...
    def copy(self, pack: Pack, *, exact: bool) -> None: ...
    def save(self, pack: Pack) -> None: ...


class _CancellableSource:
    """A library whose next search ends a job that was stopped."""

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
        former: The last answer, whose pack without a budget may still hold.
        settings: Constants and the person's own recipes.
        now: The time from which ages are counted.

    Raises:
        Cancelled: the job was stopped.
        Refused: there is no such recipe.
    """
    source = _CancellableSource(library, job)
    revision = library.snapshot.revision

    def build(name: str, budget: int | None) -> Pack:
        recipe = find_recipe(name, settings)
        return build_pack(
            recipe, request.task, source, settings, now, budget=budget, page_in=request.page_in
        )

    own_budget = request.recipe in settings.own and settings.own[request.recipe].budget is not None
    holds = former is not None and former.revision == revision
    if holds and former is not None and _unbudgeted(former.request) == _unbudgeted(request):
        whole = former.whole
    else:
        whole = replace(build(request.recipe, UNLIMITED), budget=None)
    pack = whole
    if request.budget is not None or own_budget:
        pack = build(request.recipe, request.budget)
    is_recipe = request.other in {recipe.name for recipe in list_recipes(settings)}
    other = build(request.other, request.budget) if is_recipe else None
    if job.is_cancelled():
        raise Cancelled("stopped; nothing was built")
    return BuiltPack(request, pack, whole, other, revision)


def _unbudgeted(request: PackRequest) -> PackRequest:
    return replace(request, budget=None, other="")
