"""Compare two memories, set bookmarks and go to them, open the web addresses in a text."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from memtui import text
from memtui.errors import MemtuiError
from memtui.model import Memory
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
    """What leads from the shown memory to another view of it."""

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
        memory = self._read(ref)
        return text.one_line(memory.headline, 200) if memory else "no longer there"

    def _read(self, ref: str) -> Memory | None:
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
            if not ref or self._read(ref) is None:
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
        said = [OutcomeLine(url), OutcomeLine(host, Tone.QUIET, "host:")]
        if not url.isascii():
            plain = host.encode("idna", "replace").decode("ascii", "replace")
            said.append(OutcomeLine(f"has letters beyond ASCII: {plain}", Tone.WARNING, "!"))
        if "@" in url.split("/")[2]:
            said.append(OutcomeLine("names a user before the host", Tone.WARNING, "!"))
        replies = (Reply("y", "open", "open"), Reply("c", "copy", "copy"))

        def answered(reply: str | None) -> None:
            if reply == "open":
                self._screen.worker.jobs.start("url", lambda _: _open(url), self._opened)
            elif reply == "copy":
                copy_text(self._screen.app, url, "the address")

        self._screen.app.push_screen(ConfirmDialog("Open URL in browser?", said, replies), answered)

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
