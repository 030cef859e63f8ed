"""Opens the context screen, builds its packs and carries out what its keys ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from memtui import text
from memtui.tui.controllers.viewing import copy_text

if TYPE_CHECKING:
    from memtui.context import Pack, PackEntry, Recipe
    from memtui.tui.actions import ActionHandlers
    from memtui.tui.context_packs import BuiltPack, PackRequest
    from memtui.tui.controllers.changes import Selection
    from memtui.tui.jobs import Failed, Job
    from memtui.tui.screens.browse import BrowseScreen


ANY_STORE = ("typed", "prime")
"""Recipes that suit every store."""


class ContextActions:
    """What the context screen needs of the library and the browse screen."""

    def __init__(
        self, screen: BrowseScreen, selection: Selection, refusal: Callable[[str], str]
    ) -> None:
        self._screen = screen
        self._selection = selection
        self._refusal = refusal
        self._last: PackRequest | None = None
        """What was asked for when the screen was left."""
        self._job: Job | None = None

    def handlers(self) -> ActionHandlers:
        return {"context": self.open}

    def open(self) -> None:
        """Show what programs load by themselves, or what they give for the words of the search."""
        from memtui.context import list_recipes, read_settings
        from memtui.tui.context_packs import PackRequest
        from memtui.tui.dialogs.context import LOADED, PackScreen

        screen = self._screen
        settings = screen.app.settings
        self._settings = read_settings(
            settings.recipe_constants, settings.recipes, settings.salience_types
        )
        recipes = self._offered_recipes(list_recipes(self._settings))
        request = self._last
        found = {recipe.name: recipe for recipe in recipes}
        if request is None or request.recipe not in found:
            words = screen.view.text.strip()
            own = (recipe.name for recipe in recipes if self._is_of_program(recipe))
            by_task = (name for name in own if found[name].takes == "task")
            request = PackRequest(next(by_task, ANY_STORE[-1]) if words else LOADED, words)
        dialog = PackScreen(self, recipes, request)

        def closed(ref: str | None) -> None:
            self._last = replace(dialog.request, other="")
            self._selection.subject = None
            self.stop()
            if ref:
                screen.go_to_memory(ref)
            screen.update_keys()

        screen.app.push_screen(dialog, closed)

    def _offered_recipes(self, recipes: Sequence[Recipe]) -> list[Recipe]:
        """The recipes of the programs whose stores are open, those for every store and a person's
        own; first what each program loads by itself."""

        from memtui.tui.dialogs.context import LOADED

        def rank(recipe: Recipe) -> int:
            is_yours = recipe.source == "yours"
            groups = (recipe.name == LOADED, self._is_of_program(recipe), recipe.name in ANY_STORE)
            return (*groups, is_yours, True).index(True)

        return sorted((recipe for recipe in recipes if rank(recipe) < 4), key=rank)

    def _is_of_program(self, recipe: Recipe) -> bool:
        """Whether the recipe comes from the program of an open store."""
        library = self._screen.worker.library
        source = recipe.source.casefold().replace(" ", "-")
        return library is not None and any(store.format in source for store in library.stores)

    # Building

    def build(
        self,
        request: PackRequest,
        former: BuiltPack | None,
        done: Callable[[BuiltPack], object],
        failed: Failed,
    ) -> None:
        """Build a pack in a job, in place of one that is being built."""
        from memtui.tui.context_packs import build_requested

        past = self._screen.worker.past
        settings, now = self._settings, (past.at if past else self._screen.now()).astimezone()
        self._job = self._screen.worker.run(
            "context",
            lambda library, job: build_requested(library, job, request, former, settings, now),
            done,
            failed,
            only_reads=True,
        )

    def as_of(self) -> str:
        """Return the time as of which the library is shown; empty for the present."""
        past = self._screen.worker.past
        return text.date(past.at) if past is not None else ""

    def stop(self) -> None:
        """Stop the job."""
        if self._job is not None:
            self._job.stop()

    def is_stale(self, built: BuiltPack) -> bool:
        """Whether the stores have changed since a pack was built."""
        library = self._screen.worker.library
        return library is not None and library.searched.revision != built.revision

    # Changes

    def choose(self, entry: PackEntry | None) -> None:
        """Make the memory of this entry the target of changes."""
        self._selection.subject = self._screen.worker.find_memory(entry.ref if entry else "")

    def refusal(self, action_id: str) -> str:
        """Return why the chosen memory cannot be changed; empty if it can."""
        if (past := self._screen.worker.past) is not None:
            return past.refused
        if self._selection.subject is None and action_id not in ("undo", "redo"):
            return "this memory is not there any more"
        return self._refusal(action_id)

    # Out of the program

    def copy(self, pack: Pack, *, exact: bool) -> None:
        """Copy the text of a pack."""
        copy_text(
            self._screen.app,
            pack.text,
            "the pack",
            exact=exact,
            masks=not exact,
            exact_id="pack.copy.exact",
        )

    def save(self, pack: Pack) -> None:
        """Ask for a file and write the pack to it as Markdown, hidden characters made visible."""
        from memtui.context import format_markdown
        from memtui.tui.dialogs.prompts import ask_file

        screen = self._screen
        name = f"context-{pack.recipe}-{screen.now().astimezone().date().isoformat()}.md"
        hint = "The exact text, then why each entry is in and what is left out."
        writers = {".md": lambda: text.escaped(format_markdown(pack))}
        ask_file(screen.app, "Save as Markdown", name, writers, hint)
