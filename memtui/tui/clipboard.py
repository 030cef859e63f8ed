"""Copying a text to the clipboard, and saying what was left out of it."""

from __future__ import annotations

from typing import NamedTuple

from memtui import text
from memtui.tui import output
from memtui.tui.act_runner import ActApp
from memtui.tui.terminal import copy_with_tools


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


def clean(whole: str, what: str, *, exact: bool, masks: bool) -> ClipboardText:
    """A text for the clipboard, with or without hidden characters and secrets."""
    words, left_out = (whole, 0) if exact else output.clean_text(whole)
    shown = text.mask_secrets(words) if masks else words
    return ClipboardText(
        text.without_lone_surrogates(shown), what, left_out, exact, is_masked=shown != words
    )


def copy_text(
    app: ActApp,
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
    send(app, clean(whole, what, exact=exact, masks=masks), exact_id)


def send(app: ActApp, copied: ClipboardText, exact_id: str = "copy.exact") -> None:
    """Copy a text, and say what was left out of it."""
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

    app.copy_to_clipboard(copied.words)
    app.worker.start("copy", lambda _: copy_with_tools(copied.words), done)
