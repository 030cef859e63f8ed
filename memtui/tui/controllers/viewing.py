"""Actions on the shown memory: compare two, bookmarks, web addresses, copying to the clipboard."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from memtui import text
from memtui.model import Memory, to_record
from memtui.tui import output
from memtui.tui.jobs import Job
from memtui.tui.view_state import Choice

if TYPE_CHECKING:
    from memtui.library import Library
    from memtui.tui.actions import ActionHandlers
    from memtui.tui.app import MemtuiApp
    from memtui.tui.controllers.session import SessionState
    from memtui.tui.screens.browse import BrowseScreen


COPY_FORMS = {
    "text": "the text, without hidden characters",
    "text exactly": "hidden characters and secrets included",
    "markdown": "a chapter per entity",
    "json": "all fields, as --json prints them",
    "reference": "store and id, for commands and queries",
}
"""What can be copied of memories, and what it is."""
_FORM_NAMES = {"markdown": "Markdown", "json": "JSON", "reference": "a reference"}
_URL = re.compile(r"https?://[^\s<>\"'`\\^{|}\x00-\x20\x7f]+", re.IGNORECASE)
TEXT_BROWSERS = {"www-browser", "links", "elinks", "lynx", "w3m"}
"""Browsers that draw on the terminal: `webbrowser.register_X_browsers`, Python 3.11."""
MAX_URLS = 100
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
        if len(found) == MAX_URLS:
            break
    return tuple(found)


def _host(url: str) -> str:
    from urllib.parse import urlsplit

    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


class ViewingActions:
    """Compares two memories, sets bookmarks, opens web addresses and copies."""

    def __init__(self, screen: BrowseScreen, sessions: SessionState) -> None:
        self._screen, self._sessions = screen, sessions

    def handlers(self) -> ActionHandlers:
        return {
            "compare": self._compare,
            "bookmark": self._set_bookmark,
            "bookmark.go": self._go_to_bookmark,
            "url": self._url,
            "match.next": partial(self._screen.detail.step_match, 1),
            "match.previous": partial(self._screen.detail.step_match, -1),
            "secrets": self._toggle_secrets,
            "copy": partial(self._copy, "text"),
            "copy.exact": partial(self._copy, "text exactly"),
            "copy.as": self._copy_as,
        }

    def _toggle_secrets(self) -> None:
        """Show secrets until the key is pressed again, or mask them again."""
        app, is_shown = self._screen.app, text.are_secrets_revealed()
        text.reveal_secrets(not is_shown)
        app.redraw()
        again = app.press(("secrets", "to mask them again"))
        app.notify("Secrets are masked." if is_shown else f"Secrets are shown. {again}", timeout=4)

    def _compare(self) -> None:
        from memtui.tui.dialogs.diff import CompareScreen

        screen = self._screen
        if (count := len(screen.memories.marked)) > 2:
            screen.app.report_refusal(f"mark two memories to compare them, {count} are marked")
            return
        chosen, current = screen.marked_memories(), screen.detail.memory
        if len(chosen) == 1 and current is not None and current.ref != chosen[0].ref:
            chosen = [*chosen, current]
        if len(chosen) != 2:
            marked = f", {len(chosen)} are marked" if chosen else ""
            screen.app.report_refusal(f"mark two memories to compare them{marked}")
            return
        screen.app.push_screen(CompareScreen(chosen[0], chosen[1]))

    # Bookmarks

    def _headline(self, ref: str) -> str:
        memory = self._screen.worker.find_memory(ref)
        return text.one_line(memory.headline, 200) if memory else "no longer there"

    def _ask_letter(self, title: str, chosen: Callable[[str], None]) -> None:
        from memtui.tui.dialogs.picker import BookmarkScreen

        bookmarks = self._sessions.bookmarks.items()
        headlines = {letter: self._headline(ref) for letter, ref in bookmarks}
        self._screen.app.ask(BookmarkScreen(title, headlines), chosen)

    def _set_bookmark(self) -> None:
        screen, memory = self._screen, self._screen.detail.memory
        if memory is None:
            return

        def chosen(letter: str) -> None:
            words = f"Bookmark {letter} set{screen.app.hint('bookmark.go')}"
            notify = partial(screen.app.notify, words, timeout=3)
            self._sessions.set_bookmark(letter, memory.ref, screen.worker, notify)

        self._ask_letter(f"Set bookmark: {self._headline(memory.ref)}", chosen)

    def _go_to_bookmark(self) -> None:
        screen = self._screen
        if not self._sessions.bookmarks:
            screen.app.notify(
                f"No bookmarks yet. {screen.app.press(('bookmark', 'and a letter to set one'))}"
            )
            return

        def chosen(letter: str) -> None:
            ref = self._sessions.bookmarks.get(letter, "")
            if screen.worker.find_memory(ref) is None:
                screen.app.notify(f"No bookmark {letter}.", severity="warning", timeout=3)
            else:
                screen.go_to_memory(ref)

        self._ask_letter("Go to bookmark", chosen)

    # Web addresses

    def _url(self) -> None:
        memory = self._screen.detail.memory
        urls = find_urls(memory.content) if memory is not None else ()
        if not urls:
            self._screen.app.notify("No http or https address in this memory.", timeout=3)
        elif len(urls) == 1:
            self._ask_to_open(urls[0])
        else:
            choices = [Choice(url, url) for url in urls]
            self._screen.app.pick("Open URL", choices, self._ask_to_open)

    def _ask_to_open(self, url: str) -> None:
        """Show the whole address before anything is opened."""
        from memtui.tui.dialogs.prompts import ConfirmDialog
        from memtui.tui.widgets.text_window import OutcomeLine, Tone

        host = _host(url)
        body = [OutcomeLine(url), OutcomeLine(host, Tone.QUIET, "host:")]
        if not url.isascii():
            plain = host.encode("idna", "replace").decode("ascii", "replace")
            body.append(OutcomeLine(f"has letters beyond ASCII: {plain}", Tone.WARNING, "!"))
        if "@" in url.split("/")[2]:
            body.append(OutcomeLine("names a user before the host", Tone.WARNING, "!"))
        replies = {"y": "open", "c": "copy"}

        def answered(reply: str) -> None:
            if reply == "open":
                self._screen.worker.start("url", lambda _: _open(url), self._opened)
            else:
                copy_text(self._screen.app, url, "the address", masks=False)

        self._screen.app.ask(ConfirmDialog("Open URL in browser?", body, replies), answered)

    def _opened(self, why: str) -> None:
        if why:
            self._screen.app.notify(f"Not opened: {why}.", severity="warning", timeout=5)

    # Copying

    def _copy(self, form: str) -> None:
        """Copy the marked memories, or the one that is shown, in one of `COPY_FORMS`."""
        app, worker = self._screen.app, self._screen.worker
        current, marked = self._screen.detail.memory, self._screen.memories.marked
        read_marked = worker.reader(marked)

        def read(_: Library, job: Job) -> ClipboardText | None:
            chosen = read_marked(job.report, job.is_cancelled)
            chosen = chosen or ([current] if current is not None else [])
            return _prepare(form, chosen) if chosen else None

        def copy(copied: ClipboardText | None) -> None:
            if copied is not None:
                _send(app, copied)

        if marked:  # thousands may be: they are read in a job
            worker.run("copy-read", read, copy)
        elif current is not None:
            copy(_prepare(form, [current]))

    def _copy_as(self) -> None:
        choices = [Choice(form, form, note=about) for form, about in COPY_FORMS.items()]
        self._screen.app.pick("Copy as", choices, self._copy, accept="copy")


def _open(url: str) -> str:
    """Open the address in a browser with a window of its own; returns why not, if not.

    A program in $BROWSER that `webbrowser` does not know, such as the one that editors set for a
    remote shell, is started beside memtui; only browsers that draw on the terminal are refused.
    """
    import webbrowser

    from memtui.tui.terminal import start_program

    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return "no browser was found"
    if type(browser) is webbrowser.GenericBrowser:
        if os.path.basename(browser.name) in TEXT_BROWSERS:
            return f"{browser.name} needs a terminal of its own"
        try:
            start_program([browser.name, *(part.replace("%s", url) for part in browser.args)])
        except OSError as error:
            return f"{browser.name}: {error.strerror or error}"
        return ""
    return "" if browser.open(url) else "the browser did not start"


def _write(form: str, memories: Sequence[Memory]) -> str:
    """Memories in one of `COPY_FORMS`."""
    if form == "markdown":
        from memtui.bundle.exporting import encode_markdown

        return "".join(encode_markdown(memories))
    if form == "json":
        import json

        records = [text.mask_record(to_record(memory)) for memory in memories]
        found = records if len(records) > 1 else records[0]
        return json.dumps(found, ensure_ascii=False, indent=2) + "\n"
    if form == "reference":
        return "\n".join(memory.ref for memory in memories)
    return "\n\n".join(memory.content or memory.title for memory in memories)


class ClipboardText(NamedTuple):
    """A text as it goes to the clipboard."""

    words: str
    what: str
    """Names it in the toast."""
    left_out: int = 0
    """Hidden characters that it had."""
    exact: bool = False
    """They were not left out."""
    is_masked: bool = False
    """Secrets in it are masked."""


def _prepare(form: str, memories: Sequence[Memory]) -> ClipboardText:
    """Memories in one of `COPY_FORMS`."""
    count = len(memories)
    what = text.counted(count, "memory") if count > 1 else "the memory"
    if form == "text":
        what = what if count > 1 else "the memory's text"
    elif form != "text exactly":
        what = f"{what} as {_FORM_NAMES[form]}"
    exact, masks = form != "text", form != "text exactly"
    return _clean(_write(form, memories), what, exact=exact, masks=masks)


def _clean(whole: str, what: str, *, exact: bool, masks: bool) -> ClipboardText:
    words, left_out = (whole, 0) if exact else output.clean_text(whole)
    shown = text.mask_secrets(words) if masks else words
    return ClipboardText(
        text.without_lone_surrogates(shown), what, left_out, exact, is_masked=shown != words
    )


def copy_text(
    app: MemtuiApp,
    whole: str,
    what: str,
    *,
    exact: bool = False,
    masks: bool = True,
    exact_id: str = "copy.exact",
) -> None:
    """Copy a text to the clipboard and say so.

    Args:
        app: The app.
        whole: The text.
        what: Names it in the toast.
        exact: Copy hidden characters too.
        masks: Copy secrets as they are shown.
        exact_id: The action that copies the exact text.
    """
    _send(app, _clean(whole, what, exact=exact, masks=masks), exact_id)


def _send(app: MemtuiApp, copied: ClipboardText, exact_id: str = "copy.exact") -> None:
    what, left_out, is_masked = copied.what, copied.left_out, copied.is_masked

    def done(is_taken: bool) -> None:
        message = f"Copied {what}" if is_taken else f"Sent {what} to the terminal's clipboard"
        if left_out or is_masked:
            without = " without " + text.counted(left_out, "hidden character") if left_out else ""
            masked = ", its secrets masked" if is_masked else ""
            key = app.key_of(exact_id)
            app.notify(
                f"{message}{without}{masked}. {key} copies the exact text.",
                severity="warning",
                timeout=6,
            )
        else:
            app.notify(f"{message}{', hidden characters too' if copied.exact else ''}.", timeout=2)

    app.copy_text(copied.words, done)
