"""Opens the context screen, builds its packs in jobs, and copies and saves them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from memtui import text
from memtui.progress import Cancelled
from memtui.tui.clipboard import copy_text

if TYPE_CHECKING:
    from memtui.context import Pack, Recipe
    from memtui.library import Library, SearchResult
    from memtui.library.store_names import StoreNames
    from memtui.model import Memory
    from memtui.query import Query
    from memtui.stores.base import Store
    from memtui.tui.actions import ActionHandlers
    from memtui.tui.jobs import Failed, Job
    from memtui.tui.screens.browse import BrowseScreen


ANY_STORE = ("typed", "prime")
"""Recipes with a task that suit every store."""


class ContextActions:
    """What the context screen needs of the library and the browse screen."""

    def __init__(self, screen: BrowseScreen) -> None:
        self._screen = screen
        self._last = ("", "")
        """Recipe and task when the screen was left."""
        self._job: Job | None = None

    def handlers(self) -> ActionHandlers:
        return {"context": self.open}

    def open(self) -> None:
        """Show what programs load by themselves, or what they give for the words of the search."""
        from memtui.context import read_recipes
        from memtui.tui.dialogs.context import PackScreen

        screen = self._screen
        every = sorted(read_recipes(screen.app.settings.recipes).values(), key=self._rank)
        self._recipes = recipes = {recipe.name: recipe for recipe in every}
        by_task = [recipe.name for recipe in every if recipe.takes == "task"]
        recipe, task = self._last
        if recipe not in recipes:
            recipe, task = "", screen.view.text.strip()
        dialog = PackScreen(self, recipes, by_task[0], recipe, task)

        def closed(ref: str | None) -> None:
            self._last = dialog.recipe, dialog.words
            self.stop()
            if ref:
                screen.go_to_memory(ref)

        screen.app.push_screen(dialog, closed)

    def _rank(self, recipe: Recipe) -> int:
        """Order recipes: what programs load, those of the programs whose stores are open, those for
        every store, a person's own, and the rest."""
        from memtui.tui.dialogs.context import LOADED

        library = self._screen.worker.library
        source = recipe.source.casefold().replace(" ", "-")
        is_own = library is not None and any(store.format in source for store in library.stores)
        groups = (recipe.name == LOADED, is_own, recipe.name in ANY_STORE)
        return (*groups, recipe.source == "yours", True).index(True)

    def build(
        self, recipe: str, words: str, done: Callable[[tuple[Pack, int]], object], failed: Failed
    ) -> None:
        """Build a pack in a job, in place of one that is being built; `words`: task or project.

        `done` gets the pack and the revision of the stores that it was built from.
        """
        from memtui.context import draft_pack, task_query

        past, chosen = self._screen.worker.past, self._recipes[recipe]
        now = (past.at if past else self._screen.now()).astimezone()

        def work(library: Library, job: Job) -> tuple[Pack, int]:
            revision = library.searched.revision
            if library.queried:
                library = library.hold(task_query(words), cancelled=job.is_cancelled)
            source = _CancellableSource(library, job.is_cancelled)
            draft = draft_pack(chosen, words, source, now, remarks=library.unheld)
            return draft.pack(), revision

        self._job = self._screen.worker.run("context", work, done, failed, only_reads=True)

    def stop(self) -> None:
        """Stop the job."""
        if self._job is not None:
            self._job.stop()

    def as_of(self) -> str:
        """Return the time as of which the library is shown; empty for the present."""
        past = self._screen.worker.past
        return text.date(past.at) if past is not None else ""

    def is_stale(self, revision: int) -> bool:
        """Whether the stores have changed since this revision."""
        library = self._screen.worker.library
        return library is not None and library.searched.revision != revision

    def copy(self, pack: Pack, *, exact: bool) -> None:
        """Copy the text of a pack."""
        copy_text(self._screen.app, pack.text, "the pack", exact=exact, masks=not exact)

    def save(self, pack: Pack) -> None:
        """Ask for a file and write the pack to it as Markdown, hidden characters made visible."""
        from memtui.context import format_markdown
        from memtui.tui.dialogs.prompts import ask_file

        screen = self._screen
        name = f"context-{pack.recipe}-{screen.now().astimezone().date().isoformat()}.md"
        hint = "The exact text, then why each entry is in and what is left out."
        writers = {".md": lambda: text.escaped(format_markdown(pack))}
        ask_file(screen.app, "Save as Markdown", name, writers, hint)


class _CancellableSource:
    """A library whose searches raise once the job is stopped."""

    def __init__(self, library: Library, is_cancelled: Callable[[], bool]) -> None:
        self._library, self._is_cancelled = library, is_cancelled

    @property
    def stores(self) -> Sequence[Store]:
        return self._library.stores

    @property
    def names(self) -> StoreNames:
        return self._library.names

    def _go_on(self) -> Library:
        if self._is_cancelled():
            raise Cancelled("stopped; nothing was built")
        return self._library

    def find_loaded(self, query: Query) -> SearchResult:
        return self._go_on().find_loaded(query, self._is_cancelled)

    def get(self, ref: str) -> Memory:
        return self._go_on().get(ref)

    def resolve(self, text: str) -> Memory:
        return self._go_on().resolve(text)

    def memories(self, store: str) -> Iterable[Memory]:
        return self._go_on().memories(store)
