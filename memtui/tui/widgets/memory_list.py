"""Memory list pane: a windowed list over slot numbers, fast for any number of memories."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.cache import FIFOCache
from textual.content import Content
from textual.geometry import Region
from textual.strip import Strip

from memtui import text
from memtui.config import Settings
from memtui.model import Memory
from memtui.tui import appearance, key_bindings
from memtui.tui.appearance import marked_segments
from memtui.tui.layout import (
    BADGE_WIDTH,
    ENTITY_MAX,
    NAME_MAX,
    NAMES_FROM,
    SIGNS_WIDTH,
    TYPE_MAX,
    Pane,
    RowColumns,
    row_columns,
)
from memtui.tui.messages import MemoryShown
from memtui.tui.view_state import CursorPosition, follow_slots, window_of
from memtui.tui.widgets.list_window import CACHED_STRIPS, ListWindow

if TYPE_CHECKING:
    from memtui.library.result_window import ResultWindow, Run
    from memtui.library.store_names import StoreName

NEVER: Callable[[int], bool] = lambda _: False  # noqa: E731
TIME_WIDTH = {"ago": 4, "date": 10}
"""Columns of a time, by the setting `list.dates`."""
ROWS = {"compact": (1, 0), "comfortable": (1, 1), "roomy": (2, 1)}
"""Rows of text and blank rows per memory, by the setting `list.density`."""
PASSAGE_WIDTH = 48
PASSAGE_SIGN = " › "
"""Columns of the passage that a search has found, and what separates it from the title."""
MAX_SEARCHED_CHARS = 20_000
"""Characters of a text that are searched for that passage: 0.2 milliseconds."""
MAX_READ = 400
"""Characters of a text that are read: more than a row can show."""


PAGE_MOVES = ("move.page_down", "move.page_up")
HELD_MOVES, HELD_SECONDS = 40, 0.15
"""After so many moves by a page, no further apart, a list of millions is gone through faster."""
HELD_STEPS = 200
"""Then it has so many steps."""


class Offer(NamedTuple):
    """A line below the explanation of an empty list: what can be dropped."""

    words: str
    found: str
    """How many memories it finds."""


class MarkedRange(NamedTuple):
    """Rows that are marked from one of them to the cursor."""

    first: int
    """Serial of the row where it began."""
    before: frozenset[int]
    """Serials of what was marked already."""
    end: int | None = None
    """Line that it reaches, where each step is asked for; None: it follows the cursor."""


class MemoryList(ListWindow):
    """Shows each memory with its program, marks, time, type, headline and entity."""

    BINDINGS = [*key_bindings.bindings(Pane.MEMORIES)]

    def __init__(self, now: Callable[[], datetime]) -> None:
        super().__init__(id=Pane.MEMORIES, title="2 Memories")
        self._now = now
        self._rows: Sequence[Memory]
        self._approximate = NEVER
        self.slots: Sequence[int] = ()
        self._words: tuple[str, ...] = ()
        self._passages: FIFOCache[str, text.Passage | None] = FIFOCache(CACHED_STRIPS)
        """Ref -> the passage that matched, while the same words are searched for."""
        self._types = TYPE_MAX
        self._entities = ENTITY_MAX
        self._names: Mapping[str, StoreName] = {}
        self._entity_name: Callable[[Memory], str] = attrgetter("entity")
        self._empty: tuple[str, ...] = ()
        self._offers: Sequence[Offer] = ()
        self.offer = 0
        """Number of the offer under the cursor."""
        self.marked: set[int] = set()
        """Serials of marked rows; unlike slots they are the same in later lists."""
        self._range: MarkedRange | None = None
        self.fresh: set[int] = set()
        """Serials of new rows."""
        self._findings: Collection[str] = ()
        self.is_chosen = False
        """The user moved the cursor, so it stays on its memory while the list changes."""
        self.is_elsewhere = False
        """The detail shows a memory that the list does not have, until the cursor is moved."""
        self._text_rows = 1
        self._dates = "ago"
        self._total = ""
        self._page_moves, self._page_moved = 0, 0.0
        """Moves by a page in a row, and when the last one was."""

    def on_mount(self) -> None:
        self.use_settings(self.app.settings)

    def use_settings(self, settings: Settings) -> None:
        """Take density and dates from the settings."""
        self._dates = settings.dates
        self._text_rows, blank = ROWS[settings.density]
        self.line_height = self._text_rows + blank
        self.reset(cursor=self.cursor, top=self.top)

    # Content

    def show(
        self,
        rows: Sequence[Memory],
        slots: Sequence[int],
        words: tuple[str, ...],
        *,
        cursor: int = 0,
        top: int = 0,
        types: int = TYPE_MAX,
        entities: int = ENTITY_MAX,
        names: Mapping[str, StoreName] | None = None,
        entity_name: Callable[[Memory], str] = attrgetter("entity"),
        approximate: Callable[[int], bool] = NEVER,
        total: str = "",
    ) -> None:
        """Show memories; the cost does not depend on their number.

        `words` are highlighted. `types`, `entities`: columns that they want; 0 leaves them out.
        `names`: of the stores by label, for the badges; None leaves them out. `entity_name`: gives
        an entity as rows show it. `approximate`: whether the time of a slot is that of its file,
        for want of a better one. `total`: how many were found, if there are more than rows.
        """
        self._total = total
        self._approximate = approximate
        self._names, self._entity_name = names or {}, entity_name
        if not self.is_chosen:  # another list
            self._range = None
        self._rows, self.slots, self._words = rows, slots, words
        self._passages.clear()
        self._types, self._entities = types, entities
        self.reset(cursor=cursor, top=top)
        self._post_shown()

    def show_findings(self, refs: Collection[str]) -> None:
        """Set the memories that have open review proposals."""
        self._findings = refs
        self.redraw()

    @property
    def window(self) -> ResultWindow | None:
        """The list, if its rows are asked for by pages."""
        return window_of(self.slots)

    @property
    def _here(self) -> range:
        """The lines whose rows are here."""
        return range(len(self.slots)) if (window := self.window) is None else window.here

    def fill(self, run: Run) -> None:
        """Show rows that were on their way."""
        if (window := self.window) is None:
            return
        was_here = self.slot >= 0
        shift = window.take(run)
        self.reset(cursor=self.cursor + shift, top=self.top + shift)
        if self.is_marking:
            self._mark_range()
        if was_here:
            self._update_subtitle()
        else:
            self._post_shown()

    def stretch(self, length: int, total: str) -> None:
        """Take this for the length of the list, and these words for how many were found."""
        if (window := self.window) is not None:
            shift = window.stretch(length)
            self.reset(cursor=self.cursor + shift, top=self.top + shift)
        self._total = total
        self._update_subtitle()

    def explain(self, *lines: str, offers: Sequence[Offer] = ()) -> None:
        """Set the lines to show while the list is empty, and below them what to choose from."""
        self._empty, self._offers, self.offer = lines, offers, 0
        if not self.line_count():
            self.redraw()

    @property
    def slot(self) -> int:
        """Slot under the cursor; -1 if there is none."""
        return int(self.slots[self.cursor]) if 0 <= self.cursor < len(self.slots) else -1

    @property
    def memory(self) -> Memory | None:
        slot = self.slot
        return self._rows[slot] if slot >= 0 else None

    @property
    def why_none(self) -> str:
        """Why there is no memory under the cursor."""
        is_coming = self.line_count() > 0 and self.memory is None
        return "this memory is on its way" if is_coming else "no memory is selected"

    @property
    def position(self) -> CursorPosition:
        """The cursor's position, to restore it in another list."""
        return CursorPosition(self.slot, self.memory, self.cursor, self.top)

    def toggle_mark(self) -> None:
        """Mark or unmark the memory under the cursor, then move to the next; or end a range."""
        if self.is_marking:
            self.toggle_range()
        elif self.slot >= 0:
            self.marked ^= {self.slot}
            self.is_chosen = True
            self.redraw()
            self.go(self.cursor + 1)
            self._update_subtitle()

    def mark_towards(self, step: int) -> None:
        """Move the cursor, and mark from where the first of such steps began to where it is."""
        begun = self._range
        if begun is None or begun.end not in (None, self.cursor):
            begun = MarkedRange(self.slot, frozenset(self.marked), self.cursor)
        self.go(self.cursor + step)
        self._range = begun if begun.end is None else begun._replace(end=self.cursor)
        self._mark_range()

    def toggle_range(self) -> None:
        """Mark all from here to where the cursor goes, or end that; the marks stay."""
        begun = MarkedRange(self.slot, frozenset(self.marked))
        self._range = None if self.is_marking else begun
        self._mark_range()

    @property
    def is_marking(self) -> bool:
        """Whether every move of the cursor marks."""
        return self._range is not None and self._range.end is None

    def _mark_range(self) -> None:
        if self._range is not None:
            try:
                ends = sorted((self.slots.index(self._range.first), self.cursor))
            except ValueError:  # it has gone
                self._range = None
            else:
                passed = (int(slot) for slot in self.slots[ends[0] : ends[1] + 1])
                self.marked = {*self._range.before, *(slot for slot in passed if slot >= 0)}
                self.is_chosen = True
        self.refresh()  # the drawn lines are kept by their marks
        self._update_subtitle()

    def mark_all(self) -> None:
        """Mark all shown memories, or unmark all if they are marked already."""
        self.mark(() if self.has_all_marked else {int(slot) for slot in self.slots})

    @property
    def has_all_marked(self) -> bool:
        """Whether all shown memories are marked, as far as they are here."""
        return {int(slot) for slot in self.slots if slot >= 0} <= self.marked

    def mark(self, slots: Collection[int]) -> None:
        """Mark these rows too; none removes all marks."""
        self._range = None
        self.marked = self.marked.union(slots) if slots else set()
        self.redraw()
        self._update_subtitle()

    def follow(self, again: Mapping[int, int]) -> None:
        """Move marks to the rows of memories that were read again; see `RowsChanged.again`."""
        self.marked = follow_slots(self.marked, again)
        self.fresh = follow_slots(self.fresh, again)
        if (now := self._range) is not None:
            before = frozenset(follow_slots(now.before, again))
            self._range = now._replace(first=again.get(now.first, now.first), before=before)

    def unmark(self) -> None:
        """Remove all marks."""
        self.mark(())

    def go_to(self, ref: str, slot: int = -1) -> bool:
        """Move to the memory with this ref, which has this slot; False if it is not in the list.

        In a list that is asked for by pages it is looked for among those that are here.
        """
        try:
            if self.window is None:
                index = self.slots.index(slot)
            else:
                index = next(at for at in self._here if self._rows[self.slots[at]].ref == ref)
        except (StopIteration, ValueError):
            return False
        self.is_chosen = True
        self.go(index)
        return True

    def looked_at(self) -> None:
        """Note that the memory under the cursor is no longer new."""
        self.fresh.discard(self.slot)
        self.redraw()

    def next_fresh(self) -> bool:
        """Move to the next new memory; False if there is none."""
        here = self._here
        for step in range(1, len(here) + 1):
            index = here[(self.cursor - here.start + step) % len(here)]
            if self.slots[index] in self.fresh:
                self.go(index)
                return True
        return False

    # Drawing

    def clock_advanced(self, before: datetime) -> None:
        """Draw the rows anew if an age in view is another than it was then."""
        slots = map(int, self.slots[self.top : self.top + self.page])
        shown = [self._rows[slot] for slot in slots if slot >= 0]
        if any(self._time(memory, before) != self._time(memory) for memory in shown):
            self.redraw()

    def line_count(self) -> int:
        return len(self.slots)

    def draw_key(self, index: int) -> Hashable:
        slot = int(self.slots[index])
        return slot, slot in self.marked, slot in self.fresh

    def cursor_moved(self) -> None:
        self.is_chosen, self.is_elsewhere = True, False
        if self.is_marking:
            self._mark_range()
        self._post_shown()

    def clicked(self, index: int, *, again: bool, double: bool) -> None:
        self._return()
        if double:
            self.call_later(self.run_action, "screen.act('open')")

    def _post_shown(self) -> None:
        self._update_subtitle()
        # Posted to the screen directly; bubbling through the panes would take a frame longer.
        self.screen.post_message(MemoryShown())

    def _update_subtitle(self) -> None:
        count = len(self.slots)
        marks = f"{text.number(len(self.marked))} marked" if self.marked else ""
        place = f"{text.number(self.cursor + 1)} of {self._total or text.number(count)}"
        if (window := self.window) is not None and not window.run.is_numbered:
            place = f"about {100 * self.cursor // max(1, count - 1)} %"
        above = 0
        if self.fresh:
            here = self._here
            slots = self.slots[here.start : max(here.start, min(self.top, here.stop))]
            above = len(self.fresh.intersection(slots))
        key = key_bindings.spell_first_key("fresh", self.app.key_overrides)
        new = f"{text.number(above)} new above, {key}".rstrip(", ") if above else ""
        mode = "marking a range" if self.is_marking else ""
        self.say_below(Content(" · ".join(filter(None, (mode, new, marks, place * bool(count))))))

    def render_lines(self, crop: Region) -> list[Strip]:
        middle = self.top + self.page // 2
        if (window := self.window) is not None and window.missing and window.wants_more(middle):
            window.missing(middle)
        return super().render_lines(crop)

    def action_move(self, action_id: str) -> None:
        if self._offers and not self.line_count():
            step = -1 if action_id == "move.up" else 1
            self.offer = max(0, min(self.offer + step, len(self._offers) - 1))
            self.redraw()
            return
        self._page_moves = self._page_moves + 1 if action_id in PAGE_MOVES else 0
        super().action_move(action_id)
        self._return()

    def _return(self) -> None:
        """Show the memory under the cursor again, though the cursor has not moved."""
        if self.is_elsewhere:
            self.is_elsewhere = False
            self._post_shown()

    def _step(self, lines: int) -> None:
        now = monotonic()
        if now - self._page_moved > HELD_SECONDS:
            self._page_moves = 0
        self._page_moved = now
        if self.window is not None and self._page_moves > HELD_MOVES:
            step = max(abs(lines), len(self.slots) // HELD_STEPS)
            lines = step if lines > 0 else -step
        super()._step(lines)

    def draw(self, index: int, width: int, *, selected: bool) -> Strip:
        slot, palette = int(self.slots[index]), self.palette
        ground = palette.cursor(focused=self.has_focus) if selected else Style.null()
        if slot < 0:
            edge = palette.accent if self.has_focus else palette.faint
            left = SIGNS_WIDTH + TIME_WIDTH[self._dates] + self._name_cells(width)
            line = "·" * max(1, (width - left) // 3)
            words = text.pad(" " * (left - 1) + line, width - 1)
            return Strip(
                [
                    Segment("▌" if selected else " ", edge + ground),
                    Segment(words, palette.faint + ground),
                ]
            )
        memory = self._rows[slot]
        quiet = memory.status in appearance.INACTIVE_STATUSES
        strong = palette.faint if quiet else palette.text
        cells: list[Segment] = []

        def put(words: str, style: Style) -> None:
            cells.append(Segment(words, style + ground))

        put("▌" if selected else " ", palette.accent if self.has_focus else palette.faint)
        if cells_of_name := self._name_cells(width):
            name = self._names.get(memory.store)
            words = "" if name is None else name.product.badge
            if name is not None and cells_of_name > BADGE_WIDTH:
                words = text.one_line(name.name)
            ink = palette.faint if name is None else palette.product(name.product.colour)
            put(text.column(words, cells_of_name - 1) + " ", palette.faint if quiet else ink)
        if slot in self.marked:
            put(appearance.MARKED_GLYPH, palette.marked)
        elif slot in self.fresh:
            put(appearance.NEW_GLYPH, palette.fresh)
        else:
            put(" ", palette.faint)
        plain = memory.importance != "high"  # only high importance stands out
        sign = palette.faint if plain or quiet else palette.importance(memory.importance)
        put(appearance.IMPORTANCE_GLYPHS.get(memory.importance, " "), sign)
        if memory.status == "active" and memory.pinned:
            put(appearance.PINNED_GLYPH, palette.pin)
        else:
            put(appearance.STATUS_GLYPHS.get(memory.status, " "), palette.status(memory.status))
        put(appearance.FINDING_GLYPH if memory.ref in self._findings else " ", palette.warning)
        about = "~" if self._approximate(slot) else ""
        time_width = TIME_WIDTH[self._dates]
        put(f"{about + self._time(memory):>{time_width}} "[: time_width + 1], palette.dim)
        columns = self._columns(width)
        kind = text.one_line(memory.shown_type) if self._types else ""
        ink = palette.faint if quiet else palette.type(memory.shown_type)
        if columns.type:
            put(text.pad(kind, columns.type) + "  ", ink)
        headline = self._texts(memory, columns.text)[0]
        cells.extend(
            marked_segments(headline, self._words, strong + ground, palette.match + ground)
        )
        gap = max(0, columns.text - text.width(headline))
        if columns.entity:
            put(" " * (gap + 2), ground)
            put(text.cut_line(self._entity_name(memory), columns.entity), palette.faint)
        elif kind and not columns.type and gap >= text.width(kind) + 2:
            put(" " * (gap - text.width(kind)), ground)
            put(kind, ink)
        elif selected:
            put(" " * gap, ground)
        return Strip(cells)

    def draw_more(self, index: int, row: int, width: int, *, selected: bool) -> Strip | None:
        if row >= self._text_rows or self.slots[index] < 0:
            return None
        memory, palette = self._rows[int(self.slots[index])], self.palette
        ground = palette.cursor(focused=self.has_focus) if selected else Style.null()
        columns = self._columns(width)
        left = SIGNS_WIDTH + TIME_WIDTH[self._dates] + (columns.type + 2 if columns.type else 0)
        left += self._name_cells(width)
        style = palette.faint if memory.status in appearance.INACTIVE_STATUSES else palette.dim
        words = self._texts(memory, columns.text)[row]
        edge = palette.accent if self.has_focus else palette.faint
        return Strip(
            [
                Segment("▌" if selected else " ", edge + ground),
                Segment(" " * (left - 1), ground),
                *marked_segments(words, self._words, style + ground, palette.match + ground),
                Segment(" " * (width - left - text.width(words)), ground),
            ]
        )

    def _time(self, memory: Memory, now: datetime | None = None) -> str:
        if self._dates == "date":
            return text.date(memory.when)[:10]
        return text.cut(text.short_ago(memory.when, now or self._now()), TIME_WIDTH["ago"])

    def _columns(self, width: int) -> RowColumns:
        width -= self._name_cells(width)
        return row_columns(width, TIME_WIDTH[self._dates], self._types, self._entities)

    def _name_cells(self, width: int) -> int:
        """Columns of the programs' names, or of their badges; 0 where one store is open."""
        if not self._names or width < NAMES_FROM:
            return BADGE_WIDTH if self._names else 0
        longest = max(text.width(text.one_line(each.name)) for each in self._names.values())
        return min(longest, NAME_MAX) + 1

    def _texts(self, memory: Memory, room: int) -> list[str]:
        """The rows of text: the headline, then what follows it in the memory.

        In a search it is followed by the passage that matched, unless what there is room for of the
        headline has its words.
        """
        headline = text.one_line(memory.headline, MAX_READ)
        beginning = text.cut(headline, room)
        passage = self._passage(memory, beginning)
        if passage is not None:
            if self._text_rows > 1:
                found = text.excerpt(memory.content, passage, self._words, room)
                return [beginning, found]
            if not memory.title:
                return [text.excerpt(memory.content, passage, self._words, room)]
            title = text.cut(headline, max(room // 3, room - PASSAGE_WIDTH))
            left = max(1, room - text.width(title + PASSAGE_SIGN))
            found = text.excerpt(memory.content, passage, self._words, left)
            title = text.cut(headline, room - text.width(PASSAGE_SIGN + found))
            return [title + PASSAGE_SIGN + found]
        if self._text_rows == 1:
            return [self._title_excerpt(headline, beginning, room)]
        title = memory.title.strip()
        lines = (line.strip() for line in text.mask_secrets(memory.content[:MAX_READ]).split("\n"))
        content = text.one_line(" ".join(line for line in lines if line.lstrip("# ") != title))
        if title:
            return [self._title_excerpt(headline, beginning, room), text.cut(content, room)]
        first, *rest = text.wrap(content or headline, room)
        return [first, text.cut(" ".join(rest), room)]

    def _title_excerpt(self, title: str, beginning: str, room: int) -> str:
        """The beginning of a title, or its matched passage if the matches lie behind it."""
        if beginning == title or text.count_words(beginning, self._words):
            return beginning
        passage = text.find_passage(title, self._words)
        return text.excerpt(title, passage, self._words, room) if passage else beginning

    def _passage(self, memory: Memory, beginning: str) -> text.Passage | None:
        """The passage that matched, if it has words of the search that the beginning lacks."""
        if not self._words:
            return None
        if memory.ref not in self._passages:
            content = memory.content[:MAX_SEARCHED_CHARS]
            self._passages[memory.ref] = text.find_passage(content, self._words)
        passage = self._passages[memory.ref]
        if passage is None or passage.words <= text.count_words(beginning, self._words):
            return None
        return passage

    def draw_empty(self, y: int, width: int) -> Strip:
        lines, offers, first = self._place_empty(width)
        y -= first
        if 0 <= y < len(lines):
            style = self.palette.dim if y else self.palette.text
            left = max(0, (width - text.width(lines[y])) // 2)
            return Strip([Segment(" " * left), Segment(lines[y], style)])
        if not 0 <= (y := y - len(lines) - 1) < len(offers):
            return Strip.blank(width)
        count_width = max(text.width(offer.found) for offer in offers)
        longest = max(text.width(offer.words) for offer in offers)
        room = max(1, min(longest, width - count_width - 4))
        left = max(0, (width - room - count_width - 4) // 2)
        offer, palette = offers[y], self.palette
        ground = palette.cursor(focused=self.has_focus) if y == self.offer else Style.null()
        edge = palette.accent if self.has_focus else palette.faint
        return Strip(
            [
                Segment(" " * left),
                Segment("▌ " if y == self.offer else "  ", edge + ground),
                Segment(text.column(offer.words, room), palette.text + ground),
                Segment(f"  {offer.found:>{count_width}}", palette.dim + ground),
            ]
        )

    def _place_empty(self, width: int) -> tuple[list[str], Sequence[Offer], int]:
        """The lines of an empty list, what it offers below them, and the row of the first line."""
        height = self.size.height
        lines = text.wrap(text.visible("\n".join(self._empty)), width)
        offers = self._offers[: max(0, height - len(lines) - 1)]
        rows = len(lines) + len(offers) + bool(offers)
        return lines, offers, max(0, (height - rows) // 2 - 1)

    def clicked_empty(self, y: int) -> None:
        lines, offers, first = self._place_empty(self.size.width)
        if 0 <= (number := y - first - len(lines) - 1) < len(offers):
            self.offer = number
            self.call_later(self.run_action, "screen.act('open')")
