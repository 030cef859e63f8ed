"""Choosing the open stores, and announcing new ones in known places."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from memtui import text

if TYPE_CHECKING:
    from memtui.library.store_catalog import KnownStore, StoreCatalog, StoreSummary, TypedPath
    from memtui.tui.actions import ActionHandlers
    from memtui.tui.dialogs.stores import StoreChooser
    from memtui.tui.jobs import Job
    from memtui.tui.screens.browse import BrowseScreen

LOOK_EVERY = 20.0
"""Seconds between two looks for new stores; one takes up to 20 ms of the processor."""
LOOK_SOON = 3.0
"""The same while no store is open."""


class StoreActions:
    """Choosing the open stores, and looking for new ones."""

    def __init__(self, screen: BrowseScreen) -> None:
        self._screen = screen
        self._catalog: StoreCatalog | None = None
        """The last one that was shown."""
        self._known: set[str] | None = None
        """Keys of the stores that were there at the last look."""
        self._fresh: set[str] = set()
        """Keys of stores that came while memtui ran and were not shown in the chooser yet."""
        self._empty: StoreChooser | None = None
        """The dialog that says that no store was found, while it is open."""

    def handlers(self) -> ActionHandlers:
        return {"stores": self._choose}

    def begin(self) -> None:
        """Start looking for new stores; if none is open, show the places that were searched."""
        if self._screen.app.launch.catalog is None:
            return
        if self._is_none_open:
            self._choose()
        self.look()
        self._screen.set_interval(LOOK_EVERY, self.look)
        self._screen.set_interval(LOOK_SOON, self._look_soon)

    @property
    def _is_none_open(self) -> bool:
        library = self._screen.worker.library
        return library is not None and not library.stores

    def _look_soon(self) -> None:
        if self._is_none_open:
            self.look()

    def look(self) -> None:
        """Look once for new stores."""
        make = self._screen.app.launch.catalog
        if make is None:
            return

        def work(job: Job) -> tuple[StoreCatalog, list[KnownStore]]:
            job.rest()
            catalog = make()
            return catalog, catalog.known() if catalog.is_looking else []

        self._screen.worker.start("stores-look", work, self._looked, only_reads=True)

    def _looked(self, found: tuple[StoreCatalog, list[KnownStore]]) -> None:
        catalog, known = found
        before, self._known = self._known, {store.key for store in known}
        if before is None:
            return
        came = [store for store in known if store.key not in before]
        self._fresh |= {store.key for store in came}
        app = self._screen.app
        if self._empty is not None:
            if came:
                self._find(self._empty)
            return
        if came and self._is_none_open and app.screen is self._screen:
            self._choose()
            return
        for summary in catalog.describe(came):
            where = text.file_name(str(summary.store.root))
            advice = app.press(("stores", "to open it"))
            app.notify(f"{text.one_line(summary.program)}: {where}. {advice}", title="New store")

    def _choose(self) -> None:
        from memtui.tui.dialogs.stores import StoreChooser

        screen = self._screen
        make = screen.app.launch.catalog
        if make is None:
            screen.app.notify("These stores were opened by a program.", severity="warning")
            return
        dialog = StoreChooser(self._fresh, self.ask_for_path)
        screen.app.push_screen(dialog, self._open)
        self._find(dialog)

    def ask_for_path(self) -> None:
        """Ask for a path, and open the stores there beside those that are open."""
        from memtui.library.store_catalog import look_up_path
        from memtui.tui.dialogs.stores import PathDialog

        jobs, app = self._screen.worker, self._screen.app

        def look(typed: str) -> None:
            def show(found: TypedPath) -> None:
                dialog.show(typed, found)

            jobs.start("path", lambda _: look_up_path(typed), dialog.if_open(show), only_reads=True)

        def chosen(path: str | None) -> None:
            library = self._screen.worker.library
            opened = [str(store.root) for store in library.stores] if library else []
            if path:
                app.restart(*opened, path)

        dialog = PathDialog(look)
        app.push_screen(dialog, chosen)

    def _find(self, dialog: StoreChooser) -> None:
        """Find the stores, then what they hold, and show both in the dialog."""
        make, screen = self._screen.app.launch.catalog, self._screen
        assert make is not None
        library = screen.worker.library

        def found(answer: tuple[StoreCatalog, list[StoreSummary]]) -> None:
            catalog, stores = answer
            self._catalog, dialog.places = catalog, catalog.places()
            dialog.set_stores(stores, counted=False)
            self._empty = None if stores else dialog
            show = dialog.if_open(partial(dialog.set_stores, counted=True))
            screen.worker.start(
                "stores-read", lambda _: catalog.summarize(library), show, only_reads=True
            )

        def describe(_: Job) -> tuple[StoreCatalog, list[StoreSummary]]:
            known = make()
            return known, known.describe(known.known())

        screen.worker.start("stores-find", describe, dialog.if_open(found), only_reads=True)

    def _open(self, keys: tuple[str, ...] | None) -> None:
        """Open the stores with these keys, if they are not the open ones."""
        self._fresh.clear()
        self._empty = None
        catalog, library, app = self._catalog, self._screen.worker.library, self._screen.app
        if keys is None or catalog is None:
            return
        if self._screen.worker.is_writing:
            app.notify("A change is being written; try again.", severity="warning")
            return

        def choose(*_: object) -> list[KnownStore]:
            known = catalog.known()
            catalog.choose(known, keys)
            return [store for store in known if store.key in keys]

        async def reopen() -> None:
            from memtui.library.store_catalog import KnownStore

            chosen = await self._screen.acts.library(choose, group="stores-choose")
            opened = [KnownStore(s.root, s.format).key for s in library.stores] if library else []
            if sorted(opened) != sorted(keys):
                app.reopen(lambda: catalog.open(chosen))

        self._screen.acts.start(reopen())
