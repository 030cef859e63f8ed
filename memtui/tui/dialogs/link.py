"""Link dialog: name the relation, search the other memory, choose it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.widgets import Input, Static

from memtui import query as queries
from memtui import text
from memtui.changes import Act, Change
from memtui.errors import MemtuiError
from memtui.library import Library
from memtui.model import Memory
from memtui.tui import previews
from memtui.tui.dialogs.dialog import FittingDialog, labelled_row
from memtui.tui.jobs import Job
from memtui.tui.previews import Preview, preview
from memtui.tui.widgets.inputs import ChoiceInput, FilterInput, LineInput
from memtui.tui.widgets.text_window import OutcomeLine, OutcomeLines, RowList, Tone

MAX_SHOWN = 200
"""Search results shown at most."""
RELATIONS = (
    "related",
    "depends_on",
    "part_of",
    "works_at",
    "supports",
    "conflicts_with",
    "compatible",
    "scoped",
    "derived_from",
    "mentions",
)
"""Relations suggested while typing, after those the memory already has."""
FIRST_RELATION = "related"
TYPE_COLUMNS = 10
TYPE_FROM = 50
"""Columns of the list from which types are shown; below, the text needs them."""


class MemoryChoices(RowList[Memory]):
    """Search results, one memory per line: age, type, headline; of another store its label too."""

    def __init__(self, store: str) -> None:
        super().__init__()
        self._store = store

    def draw_row(self, row: Memory, width: int) -> Sequence[tuple[str, Style]]:
        palette = self.palette
        age = text.short_ago(row.when, self.app.now()) if row.when else ""
        kind = text.pad(text.one_line(row.type or row.kind), TYPE_COLUMNS) + " "
        kind = kind if width >= TYPE_FROM else ""
        room = max(4, width - 8 - text.width(kind))
        label = f"{text.one_line(row.store)}: " if row.store != self._store else ""
        words = text.pad(label + text.one_line(row.headline, text.MAX_READ), room)
        return [
            (f"{age:>5}  ", palette.dim),
            (kind, palette.type(row.type)),
            (words, palette.text),
        ]


class LinkScreen(FittingDialog[Preview]):
    """Dismissed with the plan of the link."""

    AUTO_FOCUS = "FilterInput"
    box_classes = "full"
    heading = "Link to another memory"
    BINDINGS = [
        Binding("enter", "link", "link", priority=True),
    ]

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self._memory = memory
        self.searching = False
        """The list does not yet show the results for the last input."""
        self._links_when_found = False
        """Enter was pressed meanwhile: it is for the row that the search will find."""
        self._list = MemoryChoices(memory.store)
        self._list.can_focus = False  # its keys work in the fields: `tab` is for these
        self._relation: ChoiceInput | LineInput

    def content(self) -> ComposeResult:
        library = self.worker.library
        allowed = library.store(self._memory.store).relations if library else ()
        used = [link.relation for link in self._memory.links]
        known = list(dict.fromkeys([*used, *RELATIONS]))
        headline = text.one_line(self._memory.headline, text.MAX_READ)
        yield Static(Content(headline), classes="line from", markup=False)
        if allowed:
            self._relation = ChoiceInput(list(allowed), allowed[0], name="relation")
        else:
            self._relation = LineInput(FIRST_RELATION, name="relation", known=known)
        yield labelled_row("Relation", self._relation)
        yield labelled_row("To", FilterInput(placeholder="search as you type", compact=True))
        yield self._list
        yield OutcomeLines()

    def keys(self) -> list[tuple[str, str]]:
        relation = [("←→", "relation")][: isinstance(self.focused, ChoiceInput)]
        return [*super().keys(), *relation, ("↑↓", "choose"), ("⇥", "next field")]

    def on_mount(self) -> None:
        self._search("")

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        if isinstance(event.input, FilterInput):
            self._search(event.value)

    def _search(self, words: str) -> None:
        self.searching, self._links_when_found = True, False
        self.worker.run(
            "link",
            partial(self._found, words),
            self.if_open(self._show),
            self.if_open(self._failed),
            only_reads=True,
        )

    def _found(self, words: str, library: Library, _: Job) -> list[Memory]:
        query = queries.parse_query(words, self.app.now(), typing=True)
        own = queries.with_filter_values(query, "store", (self._memory.store.casefold(),))
        memories: dict[str, Memory] = {}
        for search_query in (own, query) if len(library.stores) > 1 else (own,):
            found = library.find(search_query)
            for slot in found.slots[: MAX_SHOWN + 1]:
                memories.setdefault(found.rows[slot].ref, found.rows[slot])
        memories.pop(self._memory.ref, None)
        return list(memories.values())[:MAX_SHOWN]

    def _show(self, memories: list[Memory]) -> None:
        links, self.searching = self._links_when_found, False
        self._list.show_rows(memories)
        if links:
            self.action_link()

    def _failed(self, error: MemtuiError) -> None:
        self.searching = self._links_when_found = False
        self.say(previews.describe_failure(error))

    def action_link(self) -> None:
        """Plan the link; close only if it can be made, so that the input is not lost."""
        if self.searching:
            self._links_when_found = True
        else:
            self.acts.start(self._link())

    async def _link(self) -> None:
        target = self._list.current
        relation = self._relation.raw.strip().replace(" ", "_")
        if target is None:
            self.say(OutcomeLine("search for the memory to link to", Tone.WARNING))
            return
        to = target.id if target.store == self._memory.store else target.ref
        change = Change(
            Act.LINK, self._memory.store, self._memory.ref, {"relation": relation, "target": to}
        )
        try:
            found = await self.acts.library(lambda library, job: preview(library, [change], job))
        except MemtuiError as error:
            self._failed(error)
            return
        if found.planned.has_edits:
            self.dismiss(found)
        else:
            reason = found.planned.reason or "no changes: already linked"
            self.say(OutcomeLine(reason, Tone.WARNING))
