"""Context: what programs load, or what an agent would get for a task, with the reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct
from rich.segment import Segment
from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.widgets import Input

from memtui import text
from memtui.context import (
    Pack,
    PackEntry,
    Recipe,
    draft_pack,
    format_markdown,
    read_recipes,
    task_query,
)
from memtui.errors import MemtuiError
from memtui.progress import Cancelled
from memtui.tui.appearance import Palette, wrapped
from memtui.tui.clipboard import copy_text
from memtui.tui.dialogs.dialog import FittingDialog, Key, labelled_row
from memtui.tui.dialogs.prompts import ask_file
from memtui.tui.key_queue import KeyHold
from memtui.tui.view_state import Choice
from memtui.tui.widgets.inputs import LineInput
from memtui.tui.widgets.text_window import RowList, TextWindow

if TYPE_CHECKING:
    from memtui.library import Library, SearchResult
    from memtui.library.store_names import StoreNames
    from memtui.model import Memory
    from memtui.query import Query
    from memtui.stores.base import Store
    from memtui.tui.actions import ActionHandlers
    from memtui.tui.jobs import Failed, Job
    from memtui.tui.screens.browse import BrowseScreen

LOADED = "loaded"
"""The recipe of what each program loads by itself, which suits every store."""
LONGEST = 20_000
"""Characters of an entry that are drawn; the pack has all of them."""
WIDE_FROM = 110
"""Columns from which the reasons stand beside the pack, not below it."""
CHECK_SECONDS = 0.2
"""Seconds between two looks at whether the stores have changed."""


NOTHING = "This recipe finds nothing for it."


class RowKind(StrEnum):
    CONTENTS = "contents"
    """The name of a section, above them all."""
    SECTION = "section"
    FRAME = "frame"
    """Text around the entries, as its program writes it."""
    ENTRY = "entry"
    LEFT_OUT = "left out"
    NOTE = "note"
    """A line for people; no text of the pack."""


class PackRow(Struct, frozen=True):
    """One row of the screen."""

    kind: RowKind
    words: str
    about: str = ""
    """Why it is in or not."""
    entry: PackEntry | None = None


def lay_out_pack(pack: Pack, width: int) -> list[PackRow]:
    """Lay out a pack in rows of a width; where there are several sections, their names first.

    What is left out of a section follows it.
    """
    rows: list[PackRow] = []
    left = list(pack.dropped)

    def add(kind: RowKind, words: str, about: str = "", entry: PackEntry | None = None) -> None:
        shown = text.visible(words[:LONGEST].removesuffix("\n"))
        if len(words) > LONGEST:
            shown += f"\n… {text.number(len(words) - LONGEST)} more characters"
        lines = (part for line in shown.split("\n") for part in text.wrap(line, width) or [""])
        rows.extend(PackRow(kind, line, about, entry) for line in lines)

    def add_left_out(title: str | None) -> None:
        for one in [one for one in left if title in (None, one.section)]:
            left.remove(one)
            add(RowKind.LEFT_OUT, one.entry.text, one.reason, one.entry)

    heads = [(text.one_line(section.title), section) for section in pack.sections]
    if len(heads) > 1:
        rows += [PackRow(RowKind.CONTENTS, head, section.rule) for head, section in heads]
    if not pack.refs and not pack.dropped:
        add(RowKind.NOTE, NOTHING)
    if pack.head:
        add(RowKind.FRAME, pack.head)
    for head, section in heads:
        tokens = text.counted(section.tokens, "token")
        rows.append(PackRow(RowKind.SECTION, f"{head} · {tokens}", section.rule))
        if section.shown_heading:
            add(RowKind.FRAME, section.shown_heading, section.rule)
        for entry in section.entries:
            add(RowKind.ENTRY, entry.text, entry.why, entry)
        if section.ending:
            add(RowKind.FRAME, section.ending)
        add_left_out(section.title)
    add_left_out(None)
    if pack.tail:
        add(RowKind.FRAME, pack.tail)
    for note in pack.notes:
        add(RowKind.NOTE, note, "A note about this pack; the agent does not get it.")
    return rows


class PackList(RowList[PackRow]):
    """The text of a pack in rows."""

    is_lit = False

    def __init__(self) -> None:
        super().__init__(id="pack")
        self._pack: Pack | None = None
        self._width = 0

    def show(self, pack: Pack | None, empty: str, *, is_other: bool) -> None:
        """Show a pack, or these words; `is_other`: of another task or recipe, from its top."""
        self._pack, self.empty = pack, empty
        if is_other:
            self.top = self.cursor = 0
        self._lay_out()
        if is_other and self.rows and self.rows[0].kind is not RowKind.CONTENTS:
            self.go(next((at for at, row in enumerate(self.rows) if row.entry is not None), 0))

    def _lay_out(self) -> None:
        self._width = self.size.width
        rows = lay_out_pack(self._pack, max(8, self._width - 4)) if self._pack is not None else []
        self.show_rows(rows, cursor=self.cursor)
        self.post_message(self.Moved())

    def on_resize(self) -> None:
        if self._width != self.size.width:
            self._lay_out()

    def go_to_section(self) -> None:
        """Go from the name of a section to the section."""
        heads = [at for at, row in enumerate(self.rows) if row.kind is RowKind.SECTION]
        self.go(heads[self.cursor])

    def draw_row(self, row: PackRow, width: int) -> Sequence[tuple[str, Style]]:
        palette = self.palette
        style = {
            RowKind.CONTENTS: palette.accent,
            RowKind.SECTION: palette.heading,
            RowKind.FRAME: palette.dim,
            RowKind.ENTRY: palette.text,
            RowKind.LEFT_OUT: palette.faint,
            RowKind.NOTE: palette.warning,
        }[row.kind]
        sign = {RowKind.LEFT_OUT: "×", RowKind.NOTE: "·"}.get(row.kind, " ")
        words = text.cut(row.words, width - 3)
        if row.kind is RowKind.SECTION:
            words += " " + "─" * max(0, width - 4 - text.width(words))
        return [(f"{sign} ", palette.warning), (words, style)]


def explain_row(row: PackRow | None, palette: Palette, width: int) -> Iterator[list[Segment]]:
    """Explain why the row is in the pack or not."""
    if row is None:
        return
    if row.entry is not None:
        word = "Not in" if row.kind is RowKind.LEFT_OUT else "In"
        head = f"{word}: {row.entry.ref or 'text'} · {text.counted(row.entry.tokens, 'token')}"
        yield from wrapped(text.one_line(head), palette.heading, width)
    if row.about:
        yield from wrapped(text.one_line(row.about), palette.dim, width)
    if row.kind is RowKind.LEFT_OUT and row.entry is not None and row.entry.why:
        yield from wrapped(text.one_line(row.entry.why), palette.text, width)


class PackScreen(FittingDialog[str]):
    """Dismissed with the ref of a memory to go to, None on escape."""

    AUTO_FOCUS = ""
    box_classes = "full pack"
    leave = "back"
    BINDINGS = [
        ("escape,q,ctrl+c", "leave"),
        ("tab", "app.focus_next"),
        ("shift+tab", "app.focus_previous"),
    ]

    def __init__(
        self,
        host: ContextActions,
        recipes: Mapping[str, Recipe],
        usual: str,
        recipe: str,
        task: str,
    ) -> None:
        """`usual`: the recipe for a task where none was chosen; `recipe`: chosen; may be empty."""
        super().__init__()
        self._host, self._recipes = host, recipes
        self._usual, self._chosen = usual, recipe
        self.pack: Pack | None = None
        self.working = False
        self._revision = -1
        self._error = ""
        self._shown = ("", "")
        """Recipe and task of the pack."""
        self._key_hold = KeyHold(self.app.key_queue)
        self._task_line = LineInput(task, name="task")
        self._list = PackList()
        self._why = TextWindow(id="pack-why")

    @property
    def words(self) -> str:
        """The task, or the project for a recipe that takes one."""
        return self._task_line.raw.strip()

    @property
    def recipe(self) -> str:
        """The recipe that was chosen, else the usual one for a task, or what programs load."""
        return self._chosen or (self._usual if self.words else LOADED)

    def content(self) -> ComposeResult:
        yield labelled_row("Task", self._task_line)
        with Container(id="pack-body"):
            yield self._list
            yield self._why

    def on_mount(self) -> None:
        self._fit()
        if self.words:
            self._go_to_task()
        else:
            self._list.focus()
        self._build()
        self.set_interval(CHECK_SECONDS, self._rebuild_if_stale)

    def on_resize(self) -> None:
        self._fit()
        self.call_after_refresh(self._explain)

    def _fit(self) -> None:
        super()._fit()
        width, height = self.app.size
        self.set_class(width >= WIDE_FROM, "-beside")
        self._why.display = height >= 16

    # Building

    def _build(self) -> None:
        """Build the pack, in place of one that is being built."""
        self.working, self._error, shown = True, "", (self.recipe, self.words)

        def done(found: tuple[Pack, int]) -> None:
            self.working = False
            self.pack, self._revision = found
            self._show(is_other=shown != self._shown)
            self._shown = shown

        def failed(error: MemtuiError) -> None:
            self.working, self._error = False, str(error) or "stopped"
            self._show(is_other=False)

        self._host.build(*shown, self.if_open(done), self.if_open(failed))
        self._say()

    def _rebuild_if_stale(self) -> None:
        # What failed or was stopped waits for the person.
        if not (self.working or self._error) and self._host.is_stale(self._revision):
            self._build()

    def _show(self, *, is_other: bool) -> None:
        pack = self.pack if self.pack is not None and (self.pack.text or self.pack.notes) else None
        self._list.show(pack, self._error or NOTHING, is_other=is_other)
        self._say()
        self._key_hold.let_go()

    def _say(self) -> None:
        """Show the title, the size and the keys."""
        recipe, box, room = self._recipes[self.recipe], self.query_one(".box"), self.app.size.width
        when = f" as of {at}" if (at := self._host.as_of()) else ""
        about = f"Context{when} · {recipe.name}: {recipe.description}"
        box.border_title = Content(text.cut_line(about, max(8, room - 8)))
        takes_task = recipe.takes == "task" or not self._chosen
        self._task_line.placeholder = (
            "a task, in words that you would tell the agent" if takes_task else "a project"
        )
        size = "building…" if self.working else self._error
        if self.pack is not None and not size:
            tokens = text.counted(self.pack.tokens, "token")
            size = f"{tokens} (estimated) · {text.counted(len(self.pack.refs), 'memory')}"
        box.border_subtitle = Content(text.cut(size, max(8, room - 8)))
        self._explain()

    @on(PackList.Moved)
    def _explain(self) -> None:
        width = max(20, self._why.size.width - 2)
        self._why.show(list(explain_row(self._list.current, self._why.palette, width)))
        self.update_keys()

    # Keys

    def keys(self) -> list[tuple[str, str]]:
        if self._task_line.has_focus:
            return [("enter", "to the pack"), ("⇥", "next field")]
        return super().keys()

    def _has_text(self) -> bool:
        return self.pack is not None and bool(self.pack.text)

    def _go_to_task(self) -> None:
        self._task_line.focus()
        self._task_line.select_all()  # typing replaces the words

    def action_leave(self) -> None:
        """Stop the work, leave the task line, then the screen."""
        is_first = self.working and self.pack is None
        if self.working:
            self._host.stop()
        if self._task_line.has_focus and self.pack is not None:
            self._list.focus()
        elif is_first or not self.working:
            self.dismiss(None)

    @on(Input.Changed)
    def _typed(self) -> None:
        if self._chosen == LOADED and self.words:  # a task is for another recipe
            self._chosen = ""
        if (self.recipe, self.words) != self._shown:
            self._build()

    @on(Input.Submitted)
    def _entered(self) -> None:
        self._list.focus()
        if self.working:  # the next keys are for the pack that is being built
            self._key_hold.take()

    def _opens(self) -> str:
        row = self._list.current
        if row is not None and row.kind is RowKind.CONTENTS:
            return "show"
        return "go to" if row is not None and row.entry is not None and row.entry.ref else ""

    @on(PackList.Opened)
    def _open(self) -> None:
        row = self._list.current
        if row is not None and row.kind is RowKind.CONTENTS:
            self._list.go_to_section()
        elif row is not None and row.entry is not None and row.entry.ref:
            self.dismiss(row.entry.ref)

    async def _choose_recipe(self) -> None:
        choices = [
            Choice(name, name, note=f"{recipe.description} ({recipe.source})")
            for name, recipe in self._recipes.items()
        ]
        name = await self.acts.pick("Recipes", choices)
        if name is None:
            return
        self._chosen = name
        if name == LOADED:
            self._task_line.value = ""
        self._build()

    KEYS = (
        Key("enter", "go to", _open, _opens),
        Key("slash", "task", _go_to_task, id="search"),
        Key("m", "more", _choose_recipe),
        Key("y", "copy", lambda self: self._host.copy(self.pack, exact=False), _has_text,
            why="the pack is empty", id="copy"),
        Key("Y", "", lambda self: self._host.copy(self.pack, exact=True), _has_text,
            why="the pack is empty", id="copy.exact"),
        Key("ctrl+s", "save", lambda self: self._host.save(self.pack), _has_text),
    )  # fmt: skip


# ---- building, copying, saving -------------------------------------------------------------------


ANY_STORE = ("typed", "prime")
"""Recipes with a task that suit every store."""


class ContextActions:
    """Opens the page, and builds, copies and saves its packs."""

    def __init__(self, screen: BrowseScreen) -> None:
        self._screen = screen
        self._last = ("", "")
        """Recipe and task when the screen was left."""
        self._job: Job | None = None

    def handlers(self) -> ActionHandlers:
        return {"context": self.open}

    async def open(self) -> None:
        """Show what programs load by themselves, or what they give for the words of the search."""
        screen = self._screen
        every = sorted(read_recipes(screen.app.settings.recipes).values(), key=self._rank)
        self._recipes = recipes = {recipe.name: recipe for recipe in every}
        by_task = [recipe.name for recipe in every if recipe.takes == "task"]
        recipe, task = self._last
        if recipe not in recipes:
            recipe, task = "", screen.view.text.strip()
        dialog = PackScreen(self, recipes, by_task[0], recipe, task)
        ref = await screen.acts.show(dialog)
        self._last = dialog.recipe, dialog.words
        self.stop()
        if ref:
            screen.go_to_memory(ref)

    def _rank(self, recipe: Recipe) -> int:
        """Order recipes: what programs load, those of the programs whose stores are open, those for
        every store, a person's own, and the rest."""
        library = self._screen.worker.library
        source = recipe.source.casefold().replace(" ", "-")
        is_own = library is not None and any(store.format in source for store in library.stores)
        groups = (recipe.name == LOADED, is_own, recipe.name in ANY_STORE)
        return (*groups, recipe.source == "yours", True).index(True)

    def build(
        self, recipe: str, words: str, done: Callable[[tuple[Pack, int]], object], failed: Failed
    ) -> None:
        """Build a pack in a job, in place of one that is being built; `words`: task or project.

        `done` gets the pack and the revision of the stores that it was built from.
        """
        past, chosen = self._screen.worker.past, self._recipes[recipe]
        now = (past.at if past else self._screen.now()).astimezone()

        def work(library: Library, job: Job) -> tuple[Pack, int]:
            revision = library.searched.revision
            if library.queried:
                library = library.hold(task_query(words), cancelled=job.is_cancelled)
            source = _CancellableSource(library, job.is_cancelled)
            draft = draft_pack(chosen, words, source, now, remarks=library.unheld)
            return draft.pack(), revision

        self._job = self._screen.worker.run("context", work, done, failed, only_reads=True)

    def stop(self) -> None:
        """Stop the job."""
        if self._job is not None:
            self._job.stop()

    def as_of(self) -> str:
        """Return the time as of which the library is shown; empty for the present."""
        past = self._screen.worker.past
        return text.date(past.at) if past is not None else ""

    def is_stale(self, revision: int) -> bool:
        """Whether the stores have changed since this revision."""
        library = self._screen.worker.library
        return library is not None and library.searched.revision != revision

    def copy(self, pack: Pack, *, exact: bool) -> None:
        """Copy the text of a pack."""
        copy_text(self._screen.app, pack.text, "the pack", exact=exact, masks=not exact)

    def save(self, pack: Pack) -> None:
        """Ask for a file and write the pack to it as Markdown, hidden characters made visible."""

        screen = self._screen
        name = f"context-{pack.recipe}-{screen.now().astimezone().date().isoformat()}.md"
        hint = "The exact text, then why each entry is in and what is left out."
        writers = {".md": lambda: text.escaped(format_markdown(pack))}
        ask_file(screen.app, "Save as Markdown", name, writers, hint)


class _CancellableSource:
    """A library whose searches raise once the job is stopped."""

    def __init__(self, library: Library, is_cancelled: Callable[[], bool]) -> None:
        self._library, self._is_cancelled = library, is_cancelled

    @property
    def stores(self) -> Sequence[Store]:
        return self._library.stores

    @property
    def names(self) -> StoreNames:
        return self._library.names

    def _go_on(self) -> Library:
        if self._is_cancelled():
            raise Cancelled("stopped; nothing was built")
        return self._library

    def find_loaded(self, query: Query) -> SearchResult:
        return self._go_on().find_loaded(query, self._is_cancelled)

    def get(self, ref: str) -> Memory:
        return self._go_on().get(ref)

    def resolve(self, text: str) -> Memory:
        return self._go_on().resolve(text)

    def memories(self, store: str) -> Iterable[Memory]:
        return self._go_on().memories(store)
