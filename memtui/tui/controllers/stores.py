"""Choosing the open stores, and announcing new ones in known places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memtui import text

if TYPE_CHECKING:
    from memtui.library.store_catalog import KnownStore, StoreCatalog
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
        self._chooser: StoreChooser | None = None
        """While it is open."""

    def handlers(self) -> ActionHandlers:
        return {"stores": self._choose}

    def begin(self) -> None:
        """Start looking for new stores; if none is open, show the places that were searched."""
        if self._screen.app.launch.catalog is None:
            return
        if self._is_none_open:
            self._screen.acts.start(self._choose())
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
        if self._chooser is not None and self._chooser.has_none:
            if came:
                self._chooser.find()
            return
        if came and self._is_none_open and app.screen is self._screen:
            app.acts.start(self._choose())
            return
        for summary in catalog.describe(came):
            where = text.file_name(str(summary.store.root))
            advice = app.press(("stores", "to open it"))
            app.notify(f"{text.one_line(summary.program)}: {where}. {advice}", title="New store")

    async def _choose(self) -> None:
        """Let the person choose stores, and open them if they are not the open ones."""
        from memtui.library.store_catalog import KnownStore
        from memtui.tui.dialogs.stores import StoreChooser

        screen, app = self._screen, self._screen.app
        if (make := app.launch.catalog) is None:
            app.notify("These stores were opened by a program.", severity="warning")
            return
        self._chooser = chooser = StoreChooser(make, self._fresh)
        keys = await screen.acts.show(chooser)
        self._chooser = None
        self._fresh.clear()
        if keys is None or (catalog := chooser.catalog) is None:
            return
        if screen.worker.is_writing:
            app.notify("A change is being written; try again.", severity="warning")
            return

        def choose(*_: object) -> list[KnownStore]:
            known = catalog.known()
            catalog.choose(known, keys)
            return [store for store in known if store.key in keys]

        chosen = await screen.acts.library(choose, group="stores-choose")
        library = screen.worker.library
        opened = [KnownStore(s.root, s.format).key for s in library.stores] if library else []
        if sorted(opened) != sorted(keys):
            app.reopen(lambda: catalog.open(chosen))
