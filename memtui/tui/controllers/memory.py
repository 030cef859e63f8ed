"""Actions that write nothing: mark, follow, history, source, copy, next new, help."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from memtui import text
from memtui.errors import MemtuiError
from memtui.model import Memory
from memtui.tui import actions, key_bindings, sanitizing, terminal

if TYPE_CHECKING:
    from memtui.insight.lineage import Lineage
    from memtui.tui.actions import ActionHandlers
    from memtui.tui.screen_interface import ScreenInterface


class MemoryActions:
    """What can be done to memories without writing."""

    def __init__(self, screen: ScreenInterface) -> None:
        self._screen = screen
        self._trail: list[str] = []
        """Refs of the memories that references were followed from."""

    def handlers(self) -> ActionHandlers:
        screen = self._screen
        return {
            "mark": screen.memories.toggle_mark,
            "mark.all": screen.memories.mark_all,
            "fresh": self._next_fresh,
            "copy": self._copy,
            "copy.exact": partial(self._copy, exact=True),
            "source": self._source,
            "history": self._history,
            "back": self._back,
            "help": self._help,
            "theme": self._theme,
            "unreadable": self._unreadable,
            "reload": screen.worker.refresh,
            "redraw": screen.app.redraw,
            "suspend": self._suspend,
            "palette": screen.app.action_command_palette,
            "quit": screen.app.leave,
        }

    @property
    def can_go_back(self) -> bool:
        return bool(self._trail)

    def follow(self, ref: str) -> None:
        """Show the memory with this ref in the detail; the list stays where it is."""
        memory = self._screen.detail.memory
        if self._show(ref) and memory is not None:
            self._trail.append(memory.ref)
            self._screen.update_keys()

    def forget_trail(self) -> None:
        self._trail.clear()

    def _back(self) -> None:
        while self._trail:
            if self._show(self._trail.pop()):
                break
        self._screen.update_keys()

    def _show(self, ref: str) -> bool:
        library = self._screen.worker.library
        if library is None:
            return False
        try:
            memory = library.get(ref)
        except MemtuiError as error:
            self._screen.app.notify(str(error), severity="warning")
            return False
        self._screen.show_memory(memory)
        return True

    def _current(self) -> Memory | None:
        return self._screen.detail.memory

    def _next_fresh(self) -> None:
        if not self._screen.memories.next_fresh():
            keys = key_bindings.press(
                self._screen.app.key_overrides, ("filter.clear", "to clear them")
            )
            self._screen.app.notify(f"New memories are hidden by filters. {keys}".rstrip())

    def _copy(self, *, exact: bool = False) -> None:
        chosen = self._screen.marked_memories() or [m for m in (self._current(),) if m]
        parts = [memory.content or memory.title for memory in chosen]
        whole = "\n\n".join(parts)
        words, left_out = (whole, 0) if exact else sanitizing.clean_text(whole)
        app = self._screen.app
        app.copy_to_clipboard(text.without_lone_surrogates(words))
        what = f"{text.number(len(chosen))} memories" if len(chosen) > 1 else "the memory's text"
        if left_out:
            plural = "s" if left_out != 1 else ""
            app.notify(
                f"Copied {what} without {text.number(left_out)} hidden character{plural}. "
                f"{key_bindings.first_key(actions.BY_ID['copy.exact'], app.key_overrides)} copies "
                "the exact text.",
                severity="warning",
                timeout=6,
            )
        else:
            app.notify(f"Copied {what}{', hidden characters too' if exact else ''}.", timeout=2)

    def _source(self) -> None:
        memory = self._current()
        if memory is not None:
            terminal.open_source(self._screen.app, memory.origin)

    def _history(self) -> None:
        from memtui.tui.dialogs.history import HistoryScreen

        screen, memory = self._screen, self._current()
        if memory is None:
            return

        def show(lineage: Lineage) -> None:
            screen.app.push_screen(
                HistoryScreen(lineage, screen.now), lambda ref: self.follow(ref) if ref else None
            )

        screen.worker.ask(
            lambda library: library.lineage(memory), show, None, "history", opens=True
        )

    def _suspend(self) -> None:
        if self._screen.worker.is_writing:
            self._screen.app.notify("A change is being written; try again.", severity="warning")
        elif why := terminal.suspend():
            self._screen.app.notify(why, severity="warning")

    def _help(self) -> None:
        from memtui.tui.dialogs.help import HelpScreen

        screen = self._screen
        screen.app.push_screen(HelpScreen(screen.pane, screen.app.key_overrides))

    def _theme(self) -> None:
        from memtui.tui.dialogs.picker import ThemePicker

        self._screen.app.push_screen(ThemePicker())

    def _unreadable(self) -> None:
        from memtui.tui.dialogs.unreadable import UnreadableScreen

        library = self._screen.worker.library
        if library is not None:
            self._screen.app.push_screen(UnreadableScreen(library.snapshot.stores))
