"""The table of fields: what `field:value` may name, how its values are parsed and evaluated.

A new field is one entry of `_TABLE`, and where none of the `Matching` kinds fits, an evaluator in
`memtui.search.filters`.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache

from msgspec import Struct

from memtui.errors import QueryError, find_nearest
from memtui.model import IMPORTANCES, KINDS, STATUSES, UNTYPED
from memtui.query.parsed_query import Condition, Range, Sort
from memtui.query.periods import TIME_EXAMPLES, parse_time_end, parse_time_range


class Matching(StrEnum):
    """How the values of a field are compared with memories."""

    VALUE = "value"
    """One of few values, compared as a whole, or with `*`."""
    PATH = "path"
    """A path: itself, below it, or one of its parts."""
    TAG = "tag"
    TIME = "time"
    NUMBER = "number"
    TEXT = "text"
    """A part of the field's text, read from the memory."""
    FLAG = "flag"
    """A property that the memory has."""
    ORDER = "order"
    """No filter: `sort:` and `prefer:`."""
    SESSION = "session"
    """A property of what was said in a session, which no memory has."""


class Field(Struct, frozen=True):
    """One field of the query language."""

    name: str
    matching: Matching
    about: str
    """One line of help."""
    values: tuple[str, ...] = ()
    """All values it can have; () if they depend on the stores."""
    examples: tuple[str, ...] = ()
    """Completions of a field without fixed values."""


ROLES = ("user", "assistant")
"""Values of `role:`."""
SORT_NAMES = tuple(str(sort) for sort in Sort if not sort.startswith("-"))
_TABLE = (
    Field("type", Matching.VALUE, "the type of its program, else its kind"),
    Field("importance", Matching.VALUE, "high, medium or low; >=medium", IMPORTANCES),
    Field("status", Matching.VALUE, "without it: active and proposed", (*STATUSES, "all")),
    Field("entity", Matching.PATH, "what it is about, and what is below that"),
    Field("store", Matching.VALUE, "the label of the store"),
    Field("kind", Matching.VALUE, "fact, event, episode, note...", KINDS),
    Field("tag", Matching.TAG, "one of its tags"),
    Field("pinned", Matching.VALUE, "yes or no", ("yes", "no")),
    Field("since", Matching.TIME, "changed at this time or later", (), TIME_EXAMPLES),
    Field("until", Matching.TIME, "changed at this time or earlier", (), TIME_EXAMPLES),
    Field("after", Matching.TIME, "changed after this day, month or year", (), TIME_EXAMPLES),
    Field("before", Matching.TIME, "changed before this day, month or year", (), TIME_EXAMPLES),
    Field("created", Matching.TIME, "when it was created: 2026-05, >7d, a..b", (), TIME_EXAMPLES),
    Field("updated", Matching.TIME, "its last change: 2026-05, >7d, a..b", (), TIME_EXAMPLES),
    Field("confidence", Matching.NUMBER, "0 to 1: >0.7, 0.5..0.8", (), (">0.5", ">=0.8", "<0.5")),
    Field("id", Matching.TEXT, "its id or ref begins so"),
    Field("title", Matching.TEXT, "its title, or first line, has this text"),
    Field("content", Matching.TEXT, "its text has this text"),
    Field("file", Matching.TEXT, "the path of its file has this text"),
    Field("source", Matching.TEXT, "its source has this text"),
    Field("linked", Matching.TEXT, "linked to or from this memory or entity"),
    Field(
        "is",
        Matching.FLAG,
        "pinned, stale, unused (where its store counts uses), superseded, linked or marked",
        ("pinned", "stale", "unused", "superseded", "linked", "marked"),
    ),
    Field(
        "has",
        Matching.FLAG,
        "links, tags, history (other versions), a secret, or what its project no longer has",
        ("links", "tags", "history", "secret", "outdated"),
    ),
    Field(
        "sort",
        Matching.ORDER,
        "the order; several keys with commas, - reverses",
        (*SORT_NAMES, *(f"-{name}" for name in SORT_NAMES if name != Sort.RELEVANCE)),
    ),
    Field("prefer", Matching.ORDER, "rank this type higher, without a filter"),
    Field("project", Matching.SESSION, "what was said in sessions of this project"),
    Field("program", Matching.SESSION, "what was said in sessions of this program"),
    Field("session", Matching.SESSION, "what was said in the session whose id begins so"),
    Field("role", Matching.SESSION, "what you or the agent said in sessions", ROLES),
)
FIELDS = {entry.name: entry for entry in _TABLE}
"""Name -> field, in the order in which they are listed and completed."""
REGEX = "regex"
"""The field of the condition that `/regex/` makes."""
ALL_HOLD = frozenset({REGEX, "is", "has"})
"""Repeated filters on these fields are ANDed, not ORed."""

_TRUE = {"yes", "true", "1", "on"}
_FALSE = {"no", "false", "0", "off"}
_IS_CONDITIONS = {
    "pinned": ("pinned", "yes"),
    "superseded": ("status", "superseded"),
    "untyped": ("type", ""),
}
"""Values of `is:` that other filters express; `untyped` is read in filters that were saved before
memories without a type had their kind there."""
_REVERSED = {"-new": Sort.OLD, "-old": Sort.NEW}
_VALUES = re.compile(r'(?:"[^"]*(?:"|$)|[^",])+')
_COMPARISONS = (">=", "<=", ">", "<", "=")
STALE_DAYS = 180
"""Days without a change after which a current memory that is not pinned is stale: half a year, six
half-lives of the ranking's recency. No format has a rule for it."""
LONGEST_REGEX = 500
"""Characters of a pattern; a longer one is not typed by a person."""
LONGEST_NAME = max(map(len, FIELDS))


def parse_condition(
    name: str, text: str, *, negated: bool = False, now: datetime | None = None
) -> Condition:
    """Return the condition of one filter.

    Args:
        name: One of `FIELDS` that is a filter, or `sort`.
        text: Values separated by commas: `decision,"a, b"`; `untyped` is the empty type.
        negated: Whether the filter excludes these values.
        now: What relative times are counted from; None: the present.

    Raises:
        QueryError: There is no value, or one that the field cannot have.
    """
    entry = FIELDS[name]
    parts = (part.replace('"', "") for part in _VALUES.findall(text))
    values = tuple(dict.fromkeys(part.strip().casefold() for part in parts))
    values = tuple(value for value in values if value)
    if not values:
        example = (*entry.examples, *entry.values, "...")[0]
        raise QueryError(f"{name}: needs a value", do=f"such as {name}:{example}")
    if entry.matching is Matching.TIME:
        moment = now or datetime.now(UTC)
        ranges = tuple(_parse_time_of(name, value, moment) for value in values)
        return Condition(name, values, negated, ranges)
    if entry.matching is Matching.NUMBER:
        return Condition(name, values, negated, tuple(map(_parse_number_range, values)))
    if name == "pinned":
        values = tuple("yes" if v in _TRUE else "no" if v in _FALSE else v for v in values)
    if name == "type":
        values = tuple("" if value == UNTYPED else value for value in values)
    if name == "importance":
        values = tuple(dict.fromkeys(v for value in values for v in _compare(entry, value)))
    for value in values:
        if name != "is" or value not in _IS_CONDITIONS:
            _check_value(entry, value)
    if name == "is" and len(values) == 1 and values[0] in _IS_CONDITIONS:
        name, value = _IS_CONDITIONS[values[0]]
        values = (value,)
    if (name, values) == ("is", ("stale",)):
        limit = (now or datetime.now(UTC)) - timedelta(days=STALE_DAYS)
        return Condition(name, values, negated, (Range(high=limit.timestamp()),))
    return Condition(name, values, negated)


def _check_value(entry: Field, value: str) -> None:
    """Raises QueryError if the field has fixed values and this is none of them."""
    if not entry.values or value in entry.values:
        return
    near = find_nearest(value[:LONGEST_VALUE], entry.values)
    others = [other for other in _TABLE if other.matching is Matching.FLAG and other is not entry]
    flags = {v: f"{other.name}:{v}" for other in others for v in other.values}
    if entry.matching is Matching.FLAG and (not near or value in flags):
        near = flags.get(find_nearest(value[:LONGEST_VALUE], flags), "")
    advice = f"did you mean {near}?" if near else f"one of: {', '.join(entry.values)}"
    raise QueryError(f"{entry.name} has no value {value[:LONGEST_VALUE]!r}", do=advice)


LONGEST_VALUE = 40
"""Characters of a value that are compared with the known ones, and shown in an error."""


def _compare(entry: Field, value: str) -> Sequence[str]:
    """The values of an ordered field that a comparison or a range stands for, highest first."""
    first, dots, last = value.partition("..")
    if dots:
        above = _rank(entry, first) if first.strip("*") else len(entry.values) - 1
        below = _rank(entry, last) if last.strip("*") else 0
        return entry.values[min(above, below) : max(above, below) + 1]
    sign = next((sign for sign in _COMPARISONS if value.startswith(sign)), "")
    if not sign:
        return (value,)
    at = _rank(entry, value[len(sign) :])
    found = {
        ">=": entry.values[: at + 1],
        ">": entry.values[:at],
        "<=": entry.values[at:],
        "<": entry.values[at + 1 :],
        "=": entry.values[at : at + 1],
    }[sign]
    if not found:
        raise QueryError(f"no {entry.name} is {value}")
    return found


def _rank(entry: Field, value: str) -> int:
    """The place of a value, the highest first. Raises QueryError."""
    _check_value(entry, value.strip())
    return entry.values.index(value.strip())


def _parse_time_of(name: str, value: str, now: datetime) -> Range:
    """The range of a time filter. Raises QueryError."""
    if name in ("created", "updated"):
        return parse_time_range(value, now)
    if name == "until":
        return Range(high=math.nextafter(parse_time_end(value, now).time.timestamp(), math.inf))
    sign = {"since": ">=", "after": ">", "before": "<"}[name]
    if value[:1] in "<>=" or ".." in value:
        raise QueryError(f"{name}: takes one time", do=f"created:{value} takes comparisons")
    return parse_time_range(sign + value, now)


def _parse_number_range(value: str) -> Range:
    """A number, a comparison or a range. Raises QueryError."""
    try:
        first, dots, last = value.partition("..")
        if dots:
            low = _number(first) if first.strip("*") else -math.inf
            high = _number(last) if last.strip("*") else math.inf
            return Range(low, math.nextafter(high, math.inf))
        sign = next((sign for sign in _COMPARISONS if value.startswith(sign)), "")
        number = _number(value[len(sign) :])
    except ValueError as error:
        raise QueryError(f"{value!r} is not a number", do="use >0.7 or 0.5..0.8") from error
    above = math.nextafter(number, math.inf)
    return {
        ">": Range(low=above),
        ">=": Range(low=number),
        "<": Range(high=number),
        "<=": Range(high=above),
    }.get(sign, Range(number, above))


def _number(text: str) -> float:
    """A finite number. Raises ValueError."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def parse_sort(text: str) -> tuple[Sort, ...]:
    """Return the keys of `sort:`, the most significant first. Raises QueryError."""
    keys = parse_condition("sort", text).values
    return tuple(dict.fromkeys(_REVERSED.get(key) or Sort(key) for key in keys))


def parse_regex(pattern: str, *, negated: bool = False) -> Condition:
    """Return the condition of `pattern`; with `negated`, the texts without a match pass.

    Raises:
        QueryError: It is no regular expression, or longer than `LONGEST_REGEX`.
    """
    if len(pattern) > LONGEST_REGEX:
        raise QueryError(f"the regular expression is longer than {LONGEST_REGEX} characters")
    try:
        with warnings.catch_warnings(action="ignore"):
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise QueryError(f"/{pattern}/ is not a regular expression", do=str(error)) from error
    return Condition(REGEX, (pattern,), negated)


@lru_cache(maxsize=512)
def suggest_field(name: str) -> str:
    """Return the field a misspelt name probably means; '' if none is near enough.

    One edit away for names of up to five letters, two for longer ones, and at least four letters,
    so that `note:`, `todo:` or `std:` stay text.
    """
    if not 3 <= len(name) <= LONGEST_NAME + 2:
        return ""
    from rapidfuzz.distance import OSA  # 15 ms, for lines with a colon

    most = 1 if len(name) <= 5 else 2
    near = [
        (distance, known)
        for known in FIELDS
        if len(known) >= 4
        and abs(len(known) - len(name)) <= most
        and (distance := OSA.distance(name, known)) <= most
    ]
    return min(near)[1] if near else ""
