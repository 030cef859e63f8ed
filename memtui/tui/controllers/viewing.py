"""Compare two memories, set bookmarks and go to them, open the web addresses in a text.

The detail shows the memory under the cursor: at once, or when the cursor rests after a run. While
moves follow each other (a held key) only the list is drawn. What acts ask for, the memory itself,
is always the one under the cursor.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from memtui.model import Memory

if TYPE_CHECKING:
    from memtui.tui.messages import Related
    from memtui.tui.screen_interface import ScreenInterface
    from memtui.tui.status_text import StatusText

import re
from functools import partial
from typing import TYPE_CHECKING

from memtui import text
from memtui.errors import MemtuiError
from memtui.tui import key_bindings
from memtui.tui.controllers.copying import copy_text

if TYPE_CHECKING:
    from memtui.tui.actions import ActionHandlers
    from memtui.tui.screen_interface import ScreenInterface


_URL = re.compile(r"https?://[^\s<>\"'`\\^{|}\x00-\x20\x7f]+", re.IGNORECASE)
URLS_MOST = 100
"""Addresses of a memory that are offered."""
LONGEST_URL = 2_000
"""Characters; a longer one could not be shown whole."""


def find_urls(content: str) -> tuple[str, ...]:
    """The http and https addresses in a text, without the punctuation that ends a sentence."""
    found: dict[str, None] = {}
    for match in _URL.finditer(content):
        url = match[0].rstrip(".,;:!?*_")
        while url.endswith((")", "]")) and url.count(url[-1]) > url.count("(["[url[-1] == "]"]):
            url = url[:-1].rstrip(".,;:!?*_")
        if len(url) <= LONGEST_URL and not text.has_hidden(url) and _host(url):
            found.setdefault(url)
        if len(found) == URLS_MOST:
            break
    return tuple(found)


def _host(url: str) -> str:
    from urllib.parse import urlsplit

    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


class ViewingActions:
    """Compares two memories, sets bookmarks and opens web addresses."""

    def __init__(self, screen: ScreenInterface) -> None:
        self._screen = screen

    def handlers(self) -> ActionHandlers:
        return {
            "compare": self._compare,
            "bookmark": self._set_bookmark,
            "bookmark.go": self._go_to_bookmark,
            "url": self._url,
            "match.next": partial(self._screen.detail.step_match, 1),
            "match.previous": partial(self._screen.detail.step_match, -1),
        }

    # Compare

    def _compare(self) -> None:
        from memtui.tui.dialogs.diff import CompareScreen

        screen = self._screen
        chosen, current = screen.marked_memories(), screen.detail.memory
        if len(chosen) == 1 and current is not None and current.ref != chosen[0].ref:
            chosen = [*chosen, current]
        if len(chosen) != 2:
            screen.app.notify("Mark two memories to compare them.", timeout=4)
            return
        screen.app.push_screen(CompareScreen(chosen[0], chosen[1]))

    # Bookmarks

    def _headlines(self) -> dict[str, str]:
        return {letter: self._headline(ref) for letter, ref in self._screen.bookmarks.items()}

    def _headline(self, ref: str) -> str:
        memory = self._find_memory(ref)
        return text.one_line(memory.headline, 200) if memory else "no longer there"

    def _find_memory(self, ref: str) -> Memory | None:
        library = self._screen.worker.library
        try:
            return library.get(ref) if library is not None else None
        except MemtuiError:
            return None

    def _set_bookmark(self) -> None:
        from memtui.tui.dialogs.picker import BookmarkScreen

        screen, memory = self._screen, self._screen.detail.memory
        if memory is None:
            return

        def chosen(letter: str | None) -> None:
            if letter:
                screen.bookmarks = {**screen.bookmarks, letter: memory.ref}
                overrides = screen.app.key_overrides
                key = key_bindings.hint("bookmark.go", overrides)
                screen.app.notify(f"Bookmark {letter} set{key}", timeout=3)

        screen.app.push_screen(BookmarkScreen("Set bookmark", self._headlines()), chosen)

    def _go_to_bookmark(self) -> None:
        from memtui.tui.dialogs.picker import BookmarkScreen

        screen = self._screen

        def chosen(letter: str | None) -> None:
            if not letter:
                return
            ref = screen.bookmarks.get(letter, "")
            if not ref or self._find_memory(ref) is None:
                screen.app.notify(f"No bookmark {letter}.", severity="warning", timeout=3)
            else:
                screen.go_to_memory(ref)

        screen.app.push_screen(BookmarkScreen("Go to bookmark", self._headlines()), chosen)

    # Web addresses

    def _url(self) -> None:
        from memtui.tui.dialogs.picker import Choice, Picker

        memory = self._screen.detail.memory
        urls = find_urls(memory.content) if memory is not None else ()
        if not urls:
            self._screen.app.notify("No http or https address in this memory.", timeout=3)
        elif len(urls) == 1:
            self._ask(urls[0])
        else:
            picker = Picker("Open URL", [Choice(url, url) for url in urls], several=False)
            self._screen.app.push_screen(picker, self._picked)

    def _picked(self, values: tuple[str, ...] | None) -> None:
        if values:
            self._ask(values[0])

    def _ask(self, url: str) -> None:
        """Show the whole address before anything is opened."""
        from memtui.tui.dialogs.dialog import ConfirmDialog, Reply
        from memtui.tui.widgets.outcome import OutcomeLine, Tone

        host = _host(url)
        body = [OutcomeLine(url), OutcomeLine(host, Tone.QUIET, "host:")]
        if not url.isascii():
            plain = host.encode("idna", "replace").decode("ascii", "replace")
            body.append(OutcomeLine(f"has letters beyond ASCII: {plain}", Tone.WARNING, "!"))
        if "@" in url.split("/")[2]:
            body.append(OutcomeLine("names a user before the host", Tone.WARNING, "!"))
        replies = (Reply("y", "open", "open"), Reply("c", "copy", "copy"))

        def answered(reply: str | None) -> None:
            if reply == "open":
                self._screen.worker.jobs.start("url", lambda _: _open(url), self._opened)
            elif reply == "copy":
                copy_text(self._screen.app, url, "the address")

        self._screen.app.push_screen(ConfirmDialog("Open URL in browser?", body, replies), answered)

    def _opened(self, why: str) -> None:
        if why:
            self._screen.app.notify(f"Not opened: {why}.", severity="warning", timeout=5)


def _open(url: str) -> str:
    """Open the address in a browser with a window of its own; returns why not, if not."""
    import webbrowser

    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return "no browser was found"
    if type(browser) is webbrowser.GenericBrowser:  # lynx, w3m: they would take the terminal
        return f"{browser.name} needs a terminal of its own"
    return "" if browser.open(url) else "the browser did not start"


REST = 0.06
"""Seconds the cursor must rest before a run of moves is over and references are asked for."""
RUN = 0.1
"""Seconds between two moves up to which they are a run; a held key sends one each 0.03 to 0.09."""


class DetailController:
    """Shows the memory under the cursor in the detail pane."""

    def __init__(self, screen: ScreenInterface, status_text: StatusText) -> None:
        self._screen = screen
        self._status_text = status_text
        self.resting = False
        """The references of the memory under the cursor are still to be asked for."""
        self._moved = 0.0
        self._waits = False

    def show(self, memory: Memory | None) -> None:
        """Show a memory in the detail, and load its references once the cursor rests."""
        screen, now = self._screen, monotonic()
        changed = memory is not screen.detail.memory
        words = screen.found.words if screen.found else ()
        if memory is not None and memory.store not in screen.detail.roots:
            library = screen.worker.library
            stores = library.snapshot.stores if library else ()
            screen.detail.roots = {store.label: store.root for store in stores}
        screen.detail.show(memory, words, later=changed and now - self._moved < RUN)
        if not changed:
            return
        self._moved = now
        self.resting = memory is not None
        if not self._waits:
            self._check_after(REST)

    def _check_after(self, seconds: float) -> None:
        self._waits = True
        self._screen.set_timer(seconds, self._end_run_if_rested)

    def _end_run_if_rested(self) -> None:
        left = self._moved + REST - monotonic()
        if not self._waits:
            return
        if left > 0:
            self._check_after(left)
        else:
            self.end_run()

    def end_run(self) -> None:
        """Show the memory under the cursor completely, now that the cursor rests."""
        self._waits = self.resting = False
        self._screen.detail.catch_up()
        self.relate()

    def relate(self) -> None:
        """Load the references of the memory, in both directions."""
        memory = self._screen.detail.memory
        if memory is not None:
            self._screen.worker.relate(memory)

    def related(self, event: Related) -> None:
        """Show the references that were found for a memory."""
        screen = self._screen
        if event.memory is screen.detail.memory:
            screen.detail.show_references(self._status_text.references(event.lineage))
            screen.update_keys()
