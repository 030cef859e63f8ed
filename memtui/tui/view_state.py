"""What is shown, as values: search text, filter chips, order; the place of a list's cursor."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, cast

from msgspec.structs import replace

from memtui import query as queries
from memtui.model import FILE_TIME, FILE_TIME_KEY, UNTYPED, Memory, Place
from memtui.query import Condition, Operator, Query, Sort, TimeCondition

if TYPE_CHECKING:
    from memtui.library.result_window import ResultWindow


ORDERS = (Sort.OLD, Sort.IMPORTANCE, Sort.PRIORITY, Sort.SALIENCE, Sort.USED)
"""Orders to choose from, beside the usual one."""
ORDER_WORDS = {
    Sort.NEW: "newest first",
    Sort.OLD: "oldest first",
    Sort.IMPORTANCE: "by importance",
    Sort.PRIORITY: "by priority",
    Sort.SALIENCE: "by salience",
    Sort.USED: "by use",
    Sort.RELEVANCE: "best match first",
    Sort.LEAST_IMPORTANT: "least important first",
    Sort.LEAST_PRIORITY: "lowest priority first",
    Sort.LEAST_SALIENT: "least salient first",
    Sort.LEAST_USED: "least used first",
}
OPPOSITES = {
    Sort.NEW: Sort.OLD,
    Sort.IMPORTANCE: Sort.LEAST_IMPORTANT,
    Sort.PRIORITY: Sort.LEAST_PRIORITY,
    Sort.SALIENCE: Sort.LEAST_SALIENT,
    Sort.USED: Sort.LEAST_USED,
}
"""An order leaves nothing to its opposite, which cannot be a further key."""


class Chip(NamedTuple):
    """One filter as it is shown."""

    key: str
    """Sent with `ChipRemoved`; empty if it cannot be removed."""
    label: str
    value: str


class ViewState(NamedTuple):
    """The text of the search bar, and the filters and order that are chips."""

    text: str = ""
    chips: Query = Query()

    def query(self, now: datetime, *, typing: bool = False) -> Query:
        """Combine text and chips into one query."""
        # The parser is not imported where there is nothing to parse.
        typed = queries.parse_search(self.text, now, typing=typing) if self.text else Query()
        conditions = {_replaced_by(part): part for part in self.chips.conditions}
        # A typed filter replaces the chip on the same field.
        conditions |= {_replaced_by(part): part for part in typed.conditions}
        return replace(
            typed,
            conditions=tuple(conditions.values()),
            groups=tuple(dict.fromkeys((*self.chips.groups, *typed.groups))),
            since=typed.since or self.chips.since,
            until=typed.until or self.chips.until,
            sort=typed.sort or self.chips.sort,
            then=typed.then if typed.sort else self.chips.then,
        )

    def _parse(self, now: datetime) -> Query:
        return queries.parse_query(self.text, now) if self.text else Query()

    def whole_query(self, now: datetime, *, typing: bool = False) -> Query:
        """As `query`, with the last word as it is typed and not as the beginning of others."""
        typed, query = self._parse(now), self.query(now, typing=typing)
        groups = dict.fromkeys((*self.chips.groups, *typed.groups))
        return replace(query, terms=typed.terms, groups=tuple(groups))

    def relaxed(
        self, now: datetime, show: Callable[[Condition], str], *, typing: bool = False
    ) -> Sequence[Mapping[str, ViewState]]:
        """What to do about a view that finds nothing -> the view after it, in the steps of `relax`.

        `show`: names a filter.
        """
        steps = queries.relax(self.whole_query(now, typing=typing), show)
        return [{words: _view_of(query) for words, query in step.items()} for step in steps]

    def settled(self, now: datetime) -> ViewState:
        """Turn the filters in the text into chips; words, and groups with words, stay in it."""
        query = self.query(now)
        typed = self._parse(now)
        unfiltered = queries.without_filters(typed)
        words = replace(unfiltered, sort=None, then=())
        if not words.terms and [group.operator for group in words.groups] == [Operator.ALL]:
            return self  # alone in the line its filters would be the line's own and replace chips
        understood = unfiltered != typed or bool(typed.sort)
        chips = _chips_of(query)
        if not understood:
            return ViewState(self.text, chips)
        faults = [self.text[slice(*problem.span)] for problem in typed.problems if problem.is_error]
        line = queries.format_query(words)
        is_begun = words.groups != tuple(filter(queries.has_terms, query.groups))
        if is_begun and not words.terms and len(words.groups) == 1:
            # The group last and without its parentheses: what follows a word ends it.
            group = queries.format_query(replace(words, prefer=()))
            preferred = queries.format_query(replace(words, groups=()))
            line = f"{preferred} {group.removeprefix('(').removesuffix(')')}".strip()
        return ViewState(" ".join(filter(None, (line, *faults))), chips)

    def with_values(self, field: str, values: Iterable[str]) -> ViewState:
        """Filter this field by exactly these values."""
        return self._replace(chips=queries.with_filter_values(self.chips, field, values))

    def toggled(self, field: str, value: str) -> ViewState:
        """Filter by this value alone, or remove the filter if it is that already."""
        if queries.filter_values(self.chips, field) == (value.casefold(),):
            return self.with_values(field, ())
        return self.with_values(field, (value,))

    def between(self, since: TimeCondition | None, until: TimeCondition | None) -> ViewState:
        """Filter by a time span."""
        return self._replace(chips=replace(self.chips, since=since, until=until))

    def ordered(self, sort: Sort | None) -> ViewState:
        return self._replace(chips=replace(self.chips, sort=sort, then=()))

    def ordered_then(self, first: Sort, then: Sort) -> ViewState:
        """Add a key to the order; `first`: the present key if the user chose none."""
        sort = self.chips.sort or first
        return self._replace(chips=replace(self.chips, sort=sort, then=(*self.chips.then, then)))

    def without(self, key: str) -> ViewState:
        """Remove the chip with this key."""
        chips = self.chips
        if key == "time":
            return self.between(None, None)
        if key == "sort":
            return self.ordered(None)
        conditions = tuple(part for part in chips.conditions if _key(part) != key)
        groups = tuple(group for group in chips.groups if queries.format_node(group) != key)
        return self._replace(chips=replace(chips, conditions=conditions, groups=groups))

    @property
    def is_filtered(self) -> bool:
        chips = self.chips
        return bool(chips.conditions or chips.groups or chips.since or chips.until)

    def has_typed_filters(self, now: datetime) -> bool:
        """Whether the text contains filters or an order besides words."""
        typed = self._parse(now)
        return bool(typed.since or typed.until or typed.sort or any(typed.all_conditions))

    def chip_list(self, store_name: Callable[[str], str] = str) -> list[Chip]:
        """Every filter and order outside the text, as chips; `store_name`: of a label."""
        chips = [_chip(part, store_name) for part in self.chips.conditions]
        groups = [queries.format_node(group) for group in self.chips.groups]
        chips += [Chip(group, "", group) for group in groups]
        if self.chips.since or self.chips.until:
            chips.append(Chip("time", "", _span(self.chips.since, self.chips.until)))
        if self.chips.sort is not None:
            keys = (self.chips.sort, *self.chips.then)
            chips.append(Chip("sort", "", ", then ".join(ORDER_WORDS[key] for key in keys)))
        return chips


def _chips_of(query: Query) -> Query:
    """The filters and the order of a query."""
    filters = tuple(group for group in query.groups if not queries.has_terms(group))
    return replace(
        query, terms=(), groups=filters, prefer=(), hint="", problems=(), matches_nothing=False
    )


def _view_of(query: Query) -> ViewState:
    """The view that asks this query, its filters as chips."""
    words = replace(queries.without_filters(query), sort=None, then=())
    return ViewState(queries.format_query(words), _chips_of(query))


def day(text: str, *, end: bool = False) -> TimeCondition:
    """The start (or end) of an ISO date, in this machine's zone, as a time condition."""
    now = datetime.now(UTC)  # a date does not depend on it
    return queries.parse_time_end(text, now) if end else queries.parse_time(text, now)


def day_range(query: queries.Query) -> tuple[str, str]:
    """The first and last day that a query asks for, as ISO dates; empty where it does not."""
    since = query.since.time.astimezone().date().isoformat() if query.since else ""
    until = query.until.time.astimezone().date().isoformat() if query.until else ""
    return since, until


def _replaced_by(part: Condition) -> tuple[object, ...]:
    """Return the key by which a typed filter replaces a chip."""
    field_alone = (part.field, part.negated)
    return field_alone if part.field not in queries.ALL_HOLD else (*field_alone, part.values)


def _key(part: Condition) -> str:
    return f"{'-' * part.negated}{part.field}"


def _chip(part: Condition, store_name: Callable[[str], str]) -> Chip:
    shown = store_name if part.field == "store" else str
    values = ", ".join(shown(value) or UNTYPED for value in part.values)
    return Chip(_key(part), f"{'not ' * part.negated}{part.field}", values)


_IS_LENGTH = re.compile(r"\d+[a-z]+").fullmatch
"""Whether a time is a length before now, such as `7d`."""


def _span(since: TimeCondition | None, until: TimeCondition | None) -> str:
    if since and until:
        return since.text if since.text == until.text else f"{since.text} – {until.text}"
    if since:
        return f"{'last' if _IS_LENGTH(since.text) else 'since'} {since.text}"
    return f"until {until.text}" if until else ""


# ---- the cursor of a list that changes -----------------------------------------------------------


def window_of(slots: Sequence[int]) -> ResultWindow | None:
    """The list of these slots if it is asked for by pages; the library is not imported for it."""
    return cast("ResultWindow", slots) if hasattr(slots, "run") else None


SEARCHED_ROWS = 50
"""Rows at the top and around the cursor that are searched for a changed memory."""


class CursorPosition(NamedTuple):
    """The position of the cursor in a list."""

    slot: int
    """Slot of its row; -1 for none."""
    memory: Memory | None
    cursor: int
    top: int


def restore_cursor(
    position: CursorPosition, slots: Sequence[int], rows: Sequence[Memory]
) -> tuple[int, int]:
    """Return cursor and top line for a new list."""
    if not slots:
        return 0, 0
    try:
        cursor = slots.index(position.slot)
    except ValueError:  # it is gone, or was still on its way
        cursor = _find_same_ref(position, slots, rows)
    # At the top of the list, stay there to show new memories.
    if position.cursor == 0 and position.top == 0:
        return cursor, 0
    return cursor, max(0, cursor - (position.cursor - position.top))


def keep_selected(position: CursorPosition, slots: Sequence[int]) -> tuple[int, int]:
    """Return cursor and top line for the results of another query.

    The selected memory stays selected, on its line of the screen where there are enough lines
    above it; if it is not among the results, the cursor goes to the first.
    """
    if position.slot < 0:
        return 0, 0
    try:
        cursor = slots.index(position.slot)
    except ValueError:
        return 0, 0
    return cursor, max(0, cursor - (position.cursor - position.top))


def _find_same_ref(position: CursorPosition, slots: Sequence[int], rows: Sequence[Memory]) -> int:
    """Find a changed memory, which has another slot but the same ref."""
    count = len(slots)
    if position.memory is not None:
        window = window_of(slots)
        here = range(count) if window is None else window.here
        around = range(position.cursor - SEARCHED_ROWS, position.cursor + SEARCHED_ROWS)
        for index in filter(here.__contains__, (*range(SEARCHED_ROWS), *around)):
            if rows[slots[index]].ref == position.memory.ref:
                return int(index)
    return int(min(position.cursor, count - 1))


_OF_FILE = (FILE_TIME_KEY, "load_limit", "cut_line")
"""What `extra` says of a file with all its memories."""


def find_changed(removed: Mapping[int, Memory], added: Mapping[int, Memory]) -> frozenset[int]:
    """Return the slots of added rows whose memory is new or changed; memories are by slot."""
    before = {memory.ref: _without_place(memory) for memory in removed.values()}
    changed = (slot for slot, now in added.items() if before.get(now.ref) != _without_place(now))
    return frozenset(changed)


def map_replaced(removed: Mapping[int, Memory], added: Mapping[int, Memory]) -> dict[int, int]:
    """Map each removed row to the new row of the same memory, -1 if there is none."""
    now = {memory.ref: slot for slot, memory in added.items()}
    return {slot: now.get(memory.ref, -1) for slot, memory in removed.items()}


def follow_slots(slots: Collection[int], again: Mapping[int, int]) -> set[int]:
    """Map slots to the new rows of their memories, dropping those without one."""
    return {again.get(slot, slot) for slot in slots} - {-1}


def _without_place(memory: Memory) -> Memory:
    """The memory without its location, since lines move when text above them changes, and
    without the time of its file and how much of the file is loaded.
    """
    extra = {key: value for key, value in memory.extra.items() if key not in _OF_FILE}
    by_file = memory.extra.get(FILE_TIME_KEY) == FILE_TIME
    updated = None if by_file else memory.updated
    return replace(memory, origin=Place(""), also=(), extra=extra, updated=updated)


class Choice(NamedTuple):
    """One line of a list to choose from."""

    value: str
    words: str
    number: int | None = None
    """Shown at the right, such as how many memories have the value."""
    chosen: bool = False
    note: str = ""
    sign: str = ""
    tail: str = ""
    """Shown there instead: a key."""
    field: str = ""
    """The filter field whose colours its glyph takes."""
