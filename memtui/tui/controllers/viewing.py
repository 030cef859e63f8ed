"""Actions on the shown memory: compare two, next match, secrets, copying to the clipboard."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from memtui import text
from memtui.model import Memory, to_record
from memtui.tui import clipboard
from memtui.tui.view_state import Choice

if TYPE_CHECKING:
    from memtui.tui.actions import ActionHandlers
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


class ViewingActions:
    """Compares two memories, steps through matches and copies."""

    def __init__(self, screen: BrowseScreen) -> None:
        self._screen = screen

    def handlers(self) -> ActionHandlers:
        return {
            "compare": self._compare,
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

    # Copying

    async def _copy(self, form: str) -> None:
        """Copy the marked memories, or the one that is shown, in one of `COPY_FORMS`."""
        screen = self._screen
        current, marked = screen.detail.memory, screen.memories.marked
        chosen = [current] if current is not None else []
        if marked:  # thousands may be: they are read in a job
            read = screen.worker.reader(marked)
            chosen = await screen.acts.library(
                lambda _, job: read(job.report, job.is_cancelled) or chosen, group="copy-read"
            )
        if chosen:
            clipboard.send(screen.app, _prepare(form, chosen))

    async def _copy_as(self) -> None:
        choices = [Choice(form, form, note=about) for form, about in COPY_FORMS.items()]
        form = await self._screen.acts.pick("Copy as", choices, accept="copy")
        if form is not None:
            await self._copy(form)


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


def _prepare(form: str, memories: Sequence[Memory]) -> clipboard.ClipboardText:
    """Memories in one of `COPY_FORMS`."""
    count = len(memories)
    what = text.counted(count, "memory") if count > 1 else "the memory"
    if form == "text":
        what = what if count > 1 else "the memory's text"
    elif form != "text exactly":
        what = f"{what} as {_FORM_NAMES[form]}"
    exact, masks = form != "text", form != "text exactly"
    return clipboard.clean(_write(form, memories), what, exact=exact, masks=masks)
