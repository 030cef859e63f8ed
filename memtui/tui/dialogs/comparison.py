"""Comparison screen: what changed in the stores between two times, with word diffs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from datetime import datetime

from msgspec import Struct
from rich.segment import Segment
from rich.style import Style
from textual import on

from memtui import text
from memtui.errors import MemtuiError
from memtui.insight.comparison import (
    Difference,
    DifferenceKind,
    count_by_store,
    to_markdown,
)
from memtui.library import Library
from memtui.library.planning import Planned
from memtui.library.time_views import compare_times
from memtui.query import Query
from memtui.sessions import Session
from memtui.tui.appearance import Palette, wrapped
from memtui.tui.dialogs.dialog import Key
from memtui.tui.dialogs.list_page import ListPage, PageText
from memtui.tui.dialogs.picker import Picker
from memtui.tui.dialogs.prompts import TimePrompt, ask_file
from memtui.tui.jobs import Job
from memtui.tui.view_state import Choice
from memtui.tui.widgets.diff_view import draw_text_diff
from memtui.tui.widgets.text_window import RowList

SIGNS = {
    DifferenceKind.ADDED: "+",
    DifferenceKind.CHANGED: "~",
    DifferenceKind.SUPERSEDED: "↻",
    DifferenceKind.REMOVED: "−",
    DifferenceKind.RESTORED: "↶",
}
KIND_WIDTH, AGE_WIDTH, STORE_MAX = 10, 5, 16
NARROW = 50
"""Columns below which the sign alone shows the kind of a change."""
LONGEST = 8_000
"""Characters of a text that are compared on the screen."""


class ComparedTimes(Struct, frozen=True):
    """The times that are compared."""

    since: datetime
    until: datetime | None = None
    """None: now."""
    name: str = ""
    """What the first time is, such as `since you last looked`."""


class DifferenceList(RowList[Difference]):
    """One line per changed memory."""

    is_lit = False

    names_stores = False
    """They are in several stores."""

    def draw_row(self, row: Difference, width: int) -> Sequence[tuple[str, Style]]:
        palette = self.palette
        age = text.short_ago(row.time, self.app.now()) if row.time else ""
        names_store = self.names_stores and width >= 60
        store = (
            text.cut_line(self.app.store_name(row.memory.store), STORE_MAX) if names_store else ""
        )
        kind = str(SIGNS[row.kind])
        if width >= NARROW:
            kind += f" {row.kind:<{KIND_WIDTH}} "
        room = max(4, width - len(kind) - AGE_WIDTH - 4 - (len(store) + 1 if store else 0))
        title = text.column(row.memory.headline, room)
        return [
            (kind, kind_style(row.kind, palette)),
            (f"{age:>{AGE_WIDTH}}  ", palette.dim),
            (title, palette.text),
            (f" {store} " if store else " ", palette.faint),
        ]


def kind_style(kind: DifferenceKind, palette: Palette) -> Style:
    if kind in (DifferenceKind.ADDED, DifferenceKind.RESTORED):
        return palette.added
    if kind is DifferenceKind.REMOVED:
        return palette.removed + Style(strike=False)
    return palette.status("superseded") if kind is DifferenceKind.SUPERSEDED else palette.accent


def describe(each: Difference, store: str, palette: Palette, width: int) -> list[list[Segment]]:
    """Return a difference as lines: kind, time, place (in this `store`), author, and the text as a
    word diff."""
    memory = each.memory
    parts = [str(each.kind), text.date(each.time) if each.time else "", store]
    parts += [memory.entity, f"by {each.by}" if each.by else ""]
    summary = " · ".join(text.one_line(part) for part in parts if part)
    lines = wrapped(summary, palette.dim, width)
    if each.fields:
        words = f"changed: {', '.join(each.fields)}"
        lines += wrapped(words, palette.dim, width)
    lines.append([])
    now = (memory.content or memory.title)[:LONGEST]
    then = now
    if each.kind is DifferenceKind.CHANGED and each.before is not None:
        then, now = each.before.full_text[:LONGEST], memory.full_text[:LONGEST]
    lines += [[Segment(" "), *line] for line in draw_text_diff(then, now, palette, width)]
    if each.kind is DifferenceKind.SUPERSEDED and memory.superseded_by:
        names = ", ".join(map(text.one_line, memory.superseded_by))
        lines += [[], *wrapped(f"by {names}", palette.dim, width)]
    return lines


Confirm = Callable[[datetime, Collection[str] | None], Awaitable[Planned | None]]
"""Shows what giving back memories as they were at a time would write; all that are gone if none are
named. Returns it if the person confirms."""


class ComparisonScreen(ListPage[Difference, str | Planned]):
    """Dismissed with the ref of the memory to open, or with what is to be written."""

    AUTO_FOCUS = "DifferenceList"
    rows: DifferenceList

    def __init__(
        self,
        span: ComparedTimes,
        filter_query: Query | None,
        confirm: Confirm | None,
        sessions: Callable[[Job], Sequence[Session]],
    ) -> None:
        """Make the screen.

        Args:
            span: The times.
            filter_query: What the memories that are compared must pass; None: nothing.
            confirm: None where nothing can be written.
            sessions: Those that may say who changed something; called in a job.
        """
        super().__init__(DifferenceList(title="Changes"))
        self._span, self._filter, self._confirm = span, filter_query, confirm
        self._sessions = sessions
        self.found: Sequence[Difference] = ()
        self._kinds: frozenset[str] = frozenset()
        """Kinds that are shown; all if empty."""
        self.working = False

    def on_mount(self) -> None:
        self._ask()

    def _ask(self) -> None:
        span, worker, self.working = self._span, self.worker, True

        def done(found: Sequence[Difference]) -> None:
            self.working, self.found = False, found
            self._show("nothing changed between these times")

        def failed(error: MemtuiError) -> None:
            self.working = False
            self._show(str(error))

        def compared(library: Library, job: Job) -> list[Difference]:
            worker.wait_until_read(job)
            since, until = span.since, span.until
            sessions = self._sessions(job)
            return compare_times(library, since, until, self._filter, job.is_cancelled, sessions)

        worker.run(
            "compare",
            compared,
            self.if_open(done),
            self.if_open(failed),
            present=True,
            only_reads=True,
        )
        self.found = ()
        self._show("comparing …")

    @property
    def _shown(self) -> list[Difference]:
        return [each for each in self.found if not self._kinds or each.kind in self._kinds]

    def _show(self, empty: str) -> None:
        shown, self.rows.empty = self._shown, empty
        self.rows.names_stores = len({each.memory.store for each in shown}) > 1
        self.show_rows(shown)

    def head(self) -> Iterable[str]:
        span = self._span
        until = text.date(span.until) if span.until else "now"
        parts = [f"{span.name or 'changes'}: {text.date(span.since)} to {until}"]
        parts += ["filtered"] if self._filter is not None else []
        if not self.working:
            counts = Counter(each.kind for each in self._shown)
            parts += [f"{text.number(counts[kind])} {kind}" for kind in counts]
            parts = _with_stores(parts, self._shown, self.app.store_name, self.size.width - 2)
        return parts

    def text_of(self, row: Difference, seen: object, palette: Palette, width: int) -> PageText:
        return PageText(describe(row, self.app.store_name(row.memory.store), palette, width))

    # Keys

    @on(DifferenceList.Opened)
    def _open(self) -> None:
        each = self.rows.current
        if each is not None and each.after is not None:
            self.dismiss(each.memory.ref)

    def _opens(self) -> bool:
        each = self.rows.current
        return each is not None and each.after is not None

    def _was_other(self) -> bool:
        each = self.rows.current
        return self._confirm is not None and each is not None and each.before is not None

    def _has_gone(self) -> bool:
        return self._confirm is not None and any(each.after is None for each in self.found)

    async def _restore(self, *, all_gone: bool = False) -> None:
        each, confirm = self.rows.current, self._confirm
        if each is not None and confirm is not None:
            planned = await confirm(self._span.since, None if all_gone else {each.memory.ref})
            if planned is not None:
                self.dismiss(planned)

    async def _ask_since(self) -> None:
        prompt = TimePrompt("Changes since", start=True, accept="compare")
        if (time := await self.acts.show(prompt)) is not None:
            self._span = ComparedTimes(time.time, self._span.until)
            self._ask()

    async def _ask_until(self) -> None:
        prompt = TimePrompt("Changes until", empty="empty: now", accept="compare")
        if (time := await self.acts.show(prompt)) is not None:
            until = time.time if time.text else None
            self._span = ComparedTimes(self._span.since, until, self._span.name)
            self._ask()

    async def _choose_kinds(self) -> None:
        counts = Counter(each.kind for each in self.found)
        choices = [
            Choice(kind, kind, number=counts[kind], chosen=kind in self._kinds)
            for kind in DifferenceKind
            if counts[kind]
        ]
        if (kinds := await self.acts.show(Picker("Kinds of change", choices))) is not None:
            self._kinds = frozenset(kinds)
            self._show("")

    def _save(self) -> None:
        span, shown = self._span, self._shown
        until = span.until or self.app.now()
        name = f"changes-{until.date().isoformat()}.md"
        writers = {".md": lambda: to_markdown(shown, span.since, until)}
        ask_file(self.app, "Save as Markdown", name, writers)

    KEYS = (
        Key("enter", "open", _open, _opens),
        Key("t", "since", _ask_since),
        Key("u", "until", _ask_until),
        Key("r", "restore", _restore, _was_other),
        Key("R", "restore all gone", lambda self: self._restore(all_gone=True), _has_gone),
        Key("f", "kinds", _choose_kinds, lambda self: self.found),
        Key("x", "save", _save, lambda self: self.found),
    )


def _with_stores(
    parts: list[str], shown: Sequence[Difference], name: Callable[[str], str], width: int
) -> list[str]:
    """Add the number in each of several stores, as many as fit into `width` cells."""
    stores = count_by_store(shown)
    if len(stores) < 2:
        return parts
    named = [
        f"{text.one_line(name(store))} {text.number(sum(kinds.values()))}"
        for store, kinds in stores.items()
    ]
    more: list[str] = []
    while named and text.width(" · ".join([*parts, *named, *more])) > width:
        named.pop()
        more = [text.counted(len(stores) - len(named), "more store")]
    return [*parts, *named, *more]
