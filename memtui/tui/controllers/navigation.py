"""Navigation: mark, follow, back and forward, next new; open history, source, help, settings."""

from __future__ import annotations

from collections.abc import Hashable
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from memtui.errors import ConfigError, MemtuiError
from memtui.model import Memory, Place
from memtui.query import Query, TimeCondition
from memtui.tui import terminal
from memtui.tui.view_state import window_of

if TYPE_CHECKING:
    from memtui.insight.versions import VersionHistory
    from memtui.library import Library
    from memtui.tui.actions import ActionHandlers
    from memtui.tui.jobs import Job
    from memtui.tui.screens.browse import BrowseScreen


class NavigationActions:
    """Moves between memories, marks them, opens what only shows; nothing is written."""

    def __init__(self, screen: BrowseScreen) -> None:
        self._screen = screen
        self.jumps = JumpList()

    def handlers(self) -> ActionHandlers:
        screen = self._screen
        return {
            "mark": screen.memories.toggle_mark,
            "mark.range": screen.memories.toggle_range,
            "mark.down": partial(screen.memories.mark_towards, 1),
            "mark.up": partial(screen.memories.mark_towards, -1),
            "mark.all": screen.queried.mark_all,
            "fresh": self._next_fresh,
            "source": self._source,
            "pager": self._page,
            "history": self._history,
            "back": partial(self._jump, -1),
            "forward": partial(self._jump, 1),
            "detail.raw": screen.detail.toggle_raw,
            "detail.fields": screen.detail.toggle_fields,
            "help": self._help,
            "theme": self._theme,
            "settings": self._settings,
            "reload": screen.worker.refresh,
            "redraw": screen.app.redraw,
            "suspend": self._suspend,
            "palette": self._palette,
            "quit": screen.app.leave,
        }

    def note_shown(self, memory: Memory | None) -> None:
        """Record in the jump list that the list's cursor is on this memory."""
        screen = self._screen
        if memory is not None:
            is_typing = screen.is_typing
            self.jumps.visit(memory.ref, screen.view, screen.memories.cursor, is_typing=is_typing)
        self._show_trail()

    async def follow(self, ref: str) -> None:
        """Show the memory with this ref in the detail; the list stays where it is."""
        before, memory = self._screen.detail.memory, await self._get(ref)
        if memory is not None and before is not None and memory.ref != before.ref:
            self.jumps.follow(ref, before.headline[:200])
            self._show_trail()
            self._screen.detail_controller.show(memory)

    async def _jump(self, step: int) -> None:
        """Go back or forward; memories that are gone are left out."""
        screen = self._screen
        while (jump := self.jumps.go(step)) is not None:
            self._show_trail()
            under = screen.memories.memory
            is_elsewhere = bool(jump.trail) or (under is not None and under.ref == jump.ref)
            if not is_elsewhere and screen.go_to(jump.ref):
                return
            if (memory := await self._get(jump.ref)) is not None:
                screen.detail_controller.show(memory)
                return
        self._show_trail()

    def _show_trail(self) -> None:
        jump = self.jumps.current
        self._screen.detail.set_trail(jump.trail if jump else ())

    async def _get(self, ref: str) -> Memory | None:
        """Return the memory with this ref; if there is none, a toast says why."""
        screen = self._screen
        if (memory := screen.worker.find_memory(ref)) is not None:
            return memory
        try:
            return await screen.acts.library(
                lambda library, _: library.get(ref), group="follow", only_reads=True
            )
        except MemtuiError as error:
            screen.app.notify(str(error), severity="warning")
            return None

    def _next_fresh(self) -> None:
        if not self._screen.memories.next_fresh():
            what = "search" if self._screen.view.text else "filters"
            key = (
                ("escape", "to leave it") if what == "search" else ("filter.clear", "to clear them")
            )
            keys = self._screen.app.press(key)
            self._screen.app.notify(f"New memories are hidden by the {what}. {keys}".rstrip())

    def find_fresh(self, last_seen: datetime) -> None:
        """Find the memories that are new since the last session."""
        screen, since = self._screen, TimeCondition(last_seen.isoformat(), last_seen)

        def find(library: Library, _: Job) -> frozenset[int]:
            found = library.find(Query(since=since))
            window = window_of(found.slots)
            slots = found.slots if window is None else window[: len(window.here)]
            return frozenset(map(int, slots))

        def show(slots: frozenset[int]) -> None:
            screen.memories.fresh |= slots
            screen.memories.redraw()
            screen.status_text.show_news()
            screen.update_keys()

        screen.worker.run("fresh", find, show, only_reads=True)

    def _source(self) -> None:
        from memtui.files import drafts

        memory = self._screen.detail.memory
        if memory is not None:
            found = self._screen.found
            place = drafts.find_line(memory, found.words if found else ())
            terminal.open_source(self._screen.app, place)

    def _page(self) -> None:
        memory = self._screen.detail.memory
        if memory is not None:
            terminal.page_text(self._screen.app, memory.full_text)

    async def _history(self) -> None:
        from memtui.tui.dialogs.history import HistoryScreen

        screen, memory = self._screen, self._screen.detail.memory
        if memory is None:
            return

        def read(library: Library, job: Job) -> VersionHistory:
            from memtui.library.change_authors import with_authors

            found = library.history(memory, job.is_cancelled)
            return with_authors(library, found, screen.transcripts.sessions(job), job.is_cancelled)

        found = await screen.acts.library(
            read,
            group="history",
            present=True,
            only_reads=True,
        )
        confirm = None
        if not screen.refusal("edit"):
            confirm = partial(screen.editing.changes.confirm_former_text, memory)
        chosen = await screen.acts.show(HistoryScreen(found, confirm))
        if isinstance(chosen, str):
            await self.follow(chosen)
        elif chosen is not None:
            await screen.editing.changes.apply(chosen)

    def _suspend(self) -> None:
        if self._screen.worker.is_writing:
            self._screen.app.notify("A change is being written; try again.", severity="warning")
        elif why := terminal.suspend():
            self._screen.app.notify(why, severity="warning")

    async def _palette(self) -> None:
        from memtui.tui.dialogs.help import command_choices, with_recent

        screen = self._screen
        choices = command_choices(screen.refusal, screen.app.key_overrides, screen.recent_commands)
        action_id = await screen.acts.pick("Commands", choices, accept="run")
        if action_id is not None:
            screen.recent_commands = with_recent(screen.recent_commands, action_id)
            screen.action_act(action_id)

    def _help(self) -> None:
        from memtui.tui.dialogs.help import HelpScreen

        screen, library = self._screen, self._screen.worker.library
        names = {} if library is None else library.names.by_label
        badges = dict.fromkeys((one.product.badge, one.product.name) for one in names.values())
        screen.app.push_screen(HelpScreen(screen.pane, screen.app.key_overrides, badges))

    async def _theme(self) -> None:
        from memtui.tui.dialogs.picker import ThemePicker

        app = self._screen.app
        if chosen := await self._screen.acts.show(ThemePicker(app.theme, app.themes)):
            app.keep_theme(chosen[0])

    def _settings(self) -> None:
        """Open config.toml in the editor; what is saved there is used at once."""
        from memtui.config import SCHEMA, make_file

        app = self._screen.app
        path = app.launch.config_file
        if path is None:
            app.report_refusal("there is no settings file in this session")
            return
        try:
            make_file(path)
        except ConfigError as error:
            app.report_error(error)
            return
        before = app.settings
        terminal.open_source(app, Place(str(path), 1))
        faults = [str(problem) for problem in app.reload_settings()]
        late = [
            one.key
            for one in SCHEMA
            if one.at_start and getattr(before, one.field) != getattr(app.settings, one.field)
        ]
        if late:
            faults.append(f"From the next start: {', '.join(late)}.")
        for fault in faults:
            app.notify(fault, title="Settings", severity="warning", timeout=12)


MAX_JUMPS = 200


class Jump(NamedTuple):
    """A memory that was shown."""

    ref: str
    trail: tuple[str, ...] = ()
    """Headlines of the memories that references were followed from to reach it."""


class JumpList:
    """Steps from one row to the next make one entry; every other move makes a new one."""

    def __init__(self) -> None:
        self._jumps: list[Jump] = []
        self._at = -1
        self._where: Hashable = None
        self._index = -1

    @property
    def current(self) -> Jump | None:
        return self._jumps[self._at] if self._at >= 0 else None

    @property
    def can_go_back(self) -> bool:
        return self._at > 0

    @property
    def can_go_forward(self) -> bool:
        return self._at < len(self._jumps) - 1

    def visit(self, ref: str, where: Hashable, index: int, *, is_typing: bool = False) -> None:
        """Record the memory under the list's cursor.

        `where`: what the list shows; another list makes a new entry. What a list shows while a
        query is typed is one entry.
        """
        if is_typing:
            where = True
        is_step = where == self._where and (is_typing or abs(index - self._index) <= 1)
        self._where, self._index = where, index
        if self.current is not None and self.current.ref == ref:
            return
        if is_step and self._jumps and not self._jumps[self._at].trail:
            self._jumps[self._at] = Jump(ref)
        else:
            self._add(Jump(ref))

    def follow(self, ref: str, headline: str) -> None:
        """Record that a reference was followed from the current memory, which has this headline."""
        trail = self.current.trail if self.current else ()
        self._add(Jump(ref, (*trail, headline)))

    def _add(self, jump: Jump) -> None:
        self._jumps = [*self._jumps[: self._at + 1], jump][-MAX_JUMPS:]
        self._at = len(self._jumps) - 1

    def go(self, step: int) -> Jump | None:
        """Go back (-1) or forward (1); None at the end of the list."""
        if not 0 <= self._at + step < len(self._jumps):
            return None
        self._at += step
        return self._jumps[self._at]
