"""Copy memories to the clipboard: as text, Markdown, JSON or references."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from memtui import text
from memtui.model import Memory, to_record
from memtui.tui import actions, key_bindings, sanitizing

if TYPE_CHECKING:
    from memtui.tui.actions import ActionHandlers
    from memtui.tui.app_interface import AppInterface
    from memtui.tui.clipboard import CopyOutcome
    from memtui.tui.screen_interface import ScreenInterface

FORMS = {
    "text": "the text, without hidden characters",
    "text exactly": "hidden characters included",
    "markdown": "a chapter per entity",
    "json": "all fields, as --json prints them",
    "reference": "store and id, for commands and queries",
}
"""What can be copied of memories, and what it is."""


class CopyActions:
    """Copies the marked memories, or the one that is shown."""

    def __init__(self, screen: ScreenInterface) -> None:
        self._screen = screen

    def handlers(self) -> ActionHandlers:
        return {
            "copy": partial(self._copy, "text"),
            "copy.exact": partial(self._copy, "text exactly"),
            "copy.as": self._pick,
        }

    def _copy(self, form: str) -> None:
        current = self._screen.detail.memory
        chosen = self._screen.marked_memories() or ([current] if current is not None else [])
        if not chosen:
            return
        what = text.counted(len(chosen), "memory") if len(chosen) > 1 else "the memory"
        if form == "text":
            what = what if len(chosen) > 1 else "the memory's text"
        elif form != "text exactly":
            what = f"{what} as {'a ' if form == 'reference' else ''}{FORM_NAMES.get(form, form)}"
        exact = form != "text"
        copy_text(self._screen.app, written(form, chosen), what, exact=exact)

    def _pick(self) -> None:
        from memtui.tui.dialogs.picker import Choice, Picker

        choices = [Choice(form, form, note=about) for form, about in FORMS.items()]

        def picked(values: tuple[str, ...] | None) -> None:
            if values:
                self._copy(values[0])

        picker = Picker("Copy as", choices, several=False, accept="copy")
        self._screen.app.push_screen(picker, picked)


FORM_NAMES = {"markdown": "Markdown", "json": "JSON"}


def written(form: str, memories: Sequence[Memory]) -> str:
    """Memories in one of `FORMS`."""
    if form == "markdown":
        from memtui.bundle.exporting import encode_markdown

        return "".join(encode_markdown(memories))
    if form == "json":
        import json

        records = [to_record(memory) for memory in memories]
        found = records if len(records) > 1 else records[0]
        return json.dumps(found, ensure_ascii=False, indent=2) + "\n"
    if form == "reference":
        return "\n".join(memory.ref for memory in memories)
    return "\n\n".join(memory.content or memory.title for memory in memories)


def copy_text(
    app: AppInterface, whole: str, what: str, *, exact: bool = False, exact_id: str = "copy.exact"
) -> None:
    """Copy a text to the clipboard and say so, or why it could not be copied.

    Args:
        app: Knows the clipboard.
        whole: The text.
        what: What it is, for the toast.
        exact: Hidden characters too.
        exact_id: The action that copies the same exactly.
    """
    words, left_out = (whole, 0) if exact else sanitizing.clean_text(whole)

    def done(outcome: CopyOutcome) -> None:
        if outcome.refused:
            app.notify(f"Not copied: {outcome.refused}.", severity="warning", timeout=8)
            return
        message = f"Copied {what}" if outcome.taken else f"Sent {what} to the terminal's clipboard"
        if left_out:
            key = key_bindings.first_key(actions.BY_ID[exact_id], app.key_overrides)
            app.notify(
                f"{message} without {text.counted(left_out, 'hidden character')}. "
                f"{key} copies the exact text.",
                severity="warning",
                timeout=6,
            )
        else:
            app.notify(f"{message}{', hidden characters too' if exact else ''}.", timeout=2)

    app.copy_text(text.without_lone_surrogates(words), done)
