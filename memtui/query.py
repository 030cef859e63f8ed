"""The query language: terms, filters and an order, parsed into one immutable value.

    auth type:decision importance:high since:7d -redis "exact words" entity:alice

A memory matches with any of the words; memories with all of them come first. `"…"` is a phrase, `-`
excludes, `word*` and `w?rd` are wildcards, `word~` is fuzzy, `~word` searches by meaning only. A
filter is `field:value` or `field:one,other`; `-field:value` excludes. Filters on different fields
must all hold. Without a status filter only current memories (active, proposed) are shown.

Parsing a search line never fails: what cannot be parsed is taken as plain words, and `Query.hint`
says why. Commands use `parse_condition` and `parse_time`, which raise QueryError instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from enum import StrEnum

from memtui.errors import QueryError
from memtui.model import IMPORTANCES, KINDS, STATUSES, UNTYPED


class TermKind(StrEnum):
    WORD = "word"
    PREFIX = "prefix"
    """The last word while it is being typed, or `word*`."""
    PHRASE = "phrase"
    WILDCARD = "wildcard"
    FUZZY = "fuzzy"
    MEANING = "meaning"


@dataclass(frozen=True, slots=True)
class Term:
    """A word, phrase or pattern to look for in the text of memories."""

    text: str
    """Without its syntax: no quotes, no `~`, no trailing `*` of a prefix."""
    kind: TermKind = TermKind.WORD
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Condition:
    """A filter: the field has one of the values, or none of them if negated."""

    field: str
    """One of `FIELDS`."""
    values: tuple[str, ...]
    """Lower case; the empty string is the empty type."""
    negated: bool = False


@dataclass(frozen=True, slots=True)
class TimeCondition:
    """A time as it was typed (`7d`, `2026-03-01`) and the moment it stood for then."""

    text: str
    time: datetime


class Sort(StrEnum):
    NEW = "new"
    OLD = "old"
    IMPORTANCE = "importance"
    PRIORITY = "priority"
    RELEVANCE = "relevance"


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed search line."""

    terms: tuple[Term, ...] = ()
    conditions: tuple[Condition, ...] = ()
    since: TimeCondition | None = None
    until: TimeCondition | None = None
    sort: Sort | None = None
    """None: by relevance if there is text to look for, else newest first."""
    hint: str = ""
    """Why something was taken as plain words; empty if everything was parsed."""

    @property
    def order(self) -> Sort:
        """The order that was asked for, or the default for this query."""
        if self.sort is not None:
            return self.sort
        return Sort.RELEVANCE if any(not term.negated for term in self.terms) else Sort.NEW

    @property
    def words(self) -> tuple[str, ...]:
        """The text of every term that is not negated, to highlight."""
        return tuple(term.text for term in self.terms if not term.negated)

    @property
    def is_empty(self) -> bool:
        return not (self.terms or self.conditions or self.since or self.until)


FIELDS = ("type", "importance", "status", "entity", "store", "kind", "tag", "pinned")
"""Fields that a condition can name; `since`, `until` and `sort` are written the same way."""

_KNOWN_VALUES = {
    "importance": IMPORTANCES,
    "status": (*STATUSES, "all"),
    "kind": KINDS,
    "pinned": ("yes", "no"),
    "sort": tuple(Sort),
}
_TRUE = {"yes", "true", "1", "on"}
_FALSE = {"no", "false", "0", "off"}
_UNITS = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400, "y": 365 * 86400}
_AGO = re.compile(r"(\d{1,6})([mhdwy])")
_TOKEN = re.compile(
    r"""(?P<minus>-)?
        (?:(?P<field>[A-Za-z]+):)?
        (?P<value>"(?:[^"]*)(?:"|$)|\S+)?""",
    re.VERBOSE,
)


def parse_time(text: str, now: datetime) -> TimeCondition:
    """Parse a time before now or a date.

    Args:
        text: `7d`, `24h`, `30m`, `2w`, `1y`, or an ISO date or date and time (UTC by default).
        now: What a relative time is counted from; aware.

    Raises:
        QueryError: The text is not a time, or no date can hold it.
    """
    if ago := _AGO.fullmatch(text.strip().lower()):
        seconds = int(ago[1]) * _UNITS[ago[2]]
        try:
            return TimeCondition(text, now - timedelta(seconds=seconds))
        except OverflowError as error:
            raise QueryError(f"{text!r} is too long ago", do="use for example 7d") from error
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise QueryError(
            f"{text!r} is not a time", do="use 30m, 24h, 7d, 2w or a date such as 2026-03-01"
        ) from error
    try:
        return TimeCondition(text, time.replace(tzinfo=time.tzinfo or UTC).astimezone(UTC))
    except OverflowError as error:
        raise QueryError(f"{text!r} is out of range", do="use a date after year 1") from error


def parse_condition(field: str, text: str, *, negated: bool = False) -> Condition:
    """Parse the values of one filter.

    Args:
        field: One of `FIELDS`, or `sort`.
        text: Values separated by commas: `decision,bug`; `untyped` is the empty type.
        negated: Whether the filter excludes these values.

    Raises:
        QueryError: There is no value, or one that the field cannot have.
    """
    values = tuple(dict.fromkeys(part.strip().casefold() for part in text.split(",")))
    values = tuple(value for value in values if value)
    if field == "pinned":
        values = tuple("yes" if v in _TRUE else "no" if v in _FALSE else v for v in values)
    if field == "type":
        values = tuple("" if value == UNTYPED else value for value in values)
    elif not values:
        raise QueryError(f"{field}: needs a value")
    known = _KNOWN_VALUES.get(field)
    for value in values:
        if known and value not in known:
            near = get_close_matches(value, known, n=1)
            advice = f"did you mean {near[0]}?" if near else f"one of: {', '.join(known)}"
            raise QueryError(f"{field} has no value {value!r}", do=advice)
    if not values:
        raise QueryError(f"{field}: needs a value")
    return Condition(field, values, negated)


def _parse_term(text: str, negated: bool) -> Term | None:
    if text.startswith('"'):
        text = text.strip('"').strip()
        kind = TermKind.PHRASE if " " in text else TermKind.WORD
    elif text.startswith("~") and len(text) > 1:
        text, kind = text[1:], TermKind.MEANING
    elif fuzzy := re.fullmatch(r"(.+[^~])~[12]?", text):
        text, kind = fuzzy[1], TermKind.FUZZY
    elif text.endswith("*") and not re.search(r"[*?]", text[:-1]):
        text, kind = text[:-1], TermKind.PREFIX
    elif "*" in text.strip("*?") or "?" in text.strip("*?"):
        kind = TermKind.WILDCARD
    else:
        kind = TermKind.WORD
    return Term(text, kind, negated) if re.search(r"\w|[^\x00-\x7f]", text) else None


@dataclass(slots=True)
class _Parts:
    """The parts of a query that are parsed so far."""

    now: datetime
    terms: list[Term]
    conditions: list[Condition]
    hints: list[str]
    since: TimeCondition | None = None
    until: TimeCondition | None = None
    sort: Sort | None = None

    def add_filter(self, field: str, value: str, negated: bool) -> None:
        """Parse one `field:value` and add it. Raises QueryError."""
        value = value.replace('"', "")
        if field == "since":
            self.since = parse_time(value, self.now)
        elif field == "until":
            self.until = parse_time(value, self.now)
        elif field == "sort":
            self.sort = Sort(parse_condition("sort", value).values[0])
        else:
            new = parse_condition(field, value, negated=negated)
            for at, old in enumerate(self.conditions):
                if (old.field, old.negated) == (new.field, new.negated):
                    values = tuple(dict.fromkeys(old.values + new.values))
                    self.conditions[at] = replace(old, values=values)
                    return
            self.conditions.append(new)


def parse_query(text: str, now: datetime, *, typing: bool = False) -> Query:
    """Parse a search line; never raises.

    Args:
        text: The line as it is typed.
        now: What relative times are counted from; aware.
        typing: Whether the last word is still being typed, so that it matches as a prefix.

    Returns:
        The query; its `hint` says what could not be parsed and was taken as plain words.
    """
    parts = _Parts(now, [], [], [])
    last_word: int | None = None
    for token in _TOKEN.finditer(text):
        if not token[0].strip():
            continue
        field, value, negated = (token["field"] or "").lower(), token["value"] or "", bool(token[1])
        last_word = None
        if field in FIELDS or field in ("since", "until", "sort"):
            try:
                parts.add_filter(field, value, negated)
                continue
            except QueryError as error:
                if typing and token.end() == len(text):
                    parts.hints.append(f"{field}: …")
                    continue
                parts.hints.append(str(error))
        word = token[0][1:] if negated else token[0]
        if value.startswith('"') and (value == '"' or not value.endswith('"')):
            word += '"'  # an open quote would take in what is written after it
        term = _parse_term(word, negated)
        if term is None:
            continue
        if term.kind is TermKind.WORD and token.end() == len(text) and not word.endswith('"'):
            last_word = len(parts.terms)
        parts.terms.append(term)
    if typing and last_word is not None and not parts.terms[last_word].negated:
        parts.terms[last_word] = replace(parts.terms[last_word], kind=TermKind.PREFIX)
    return Query(
        terms=tuple(parts.terms),
        conditions=tuple(parts.conditions),
        since=parts.since,
        until=parts.until,
        sort=parts.sort,
        hint="; ".join(parts.hints),
    )


_TERM_FORMATS = {
    TermKind.WORD: "{}",
    TermKind.PREFIX: "{}*",
    TermKind.PHRASE: '"{}"',
    TermKind.WILDCARD: "{}",
    TermKind.FUZZY: "{}~",
    TermKind.MEANING: "~{}",
}


def format_condition(part: Condition) -> str:
    """Format a condition as it is typed: `type:decision,bug`, `entity:"the shop,alice"`."""
    values = ",".join(value or UNTYPED for value in part.values)
    values = f'"{values}"' if re.search(r"\s", values) else values
    return f"{'-' * part.negated}{part.field}:{values}"


def format_query(query: Query) -> str:
    """Format a query as the search line that parses to it; the hint is left out."""
    pieces = []
    for term in query.terms:
        text = _TERM_FORMATS[term.kind].format(term.text)
        bare = '"' in text  # quotes have no escape, so this term was not in quotes
        if term.kind is TermKind.WORD and not bare and re.search(r"[:\s~*?]|^-", term.text):
            text = f'"{term.text}"'
        pieces.append(f"{'-' * term.negated}{text}")
    pieces += [format_condition(part) for part in query.conditions]
    pieces += [f"since:{query.since.text}"] if query.since else []
    pieces += [f"until:{query.until.text}"] if query.until else []
    pieces += [f"sort:{query.sort}"] if query.sort else []
    return " ".join(pieces)


def filter_values(query: Query, field: str) -> tuple[str, ...]:
    """The values of a field's filter that is not negated; () if there is none."""
    found = (c.values for c in query.conditions if c.field == field and not c.negated)
    return next(found, ())


def with_filter_values(query: Query, field: str, values: Iterable[str]) -> Query:
    """Replace the filter of a field; no values remove it. Negated filters stay."""
    wanted = tuple(dict.fromkeys(value.casefold() for value in values))
    kept = tuple(c for c in query.conditions if c.field != field or c.negated)
    added = (Condition(field, wanted),) if wanted else ()
    return replace(query, conditions=kept + added)


def without_filters(query: Query) -> Query:
    """Remove all filters and times; the terms and the order stay."""
    return replace(query, conditions=(), since=None, until=None)


def entity_matches(entity: str, wanted: str) -> bool:
    """Whether an entity path equals the wanted one, is below it, or has it as one of its parts.

    Args:
        entity: The path of a memory's entity, in any case: `people/alice`.
        wanted: The value of the filter, in lower case.
    """
    path = entity.casefold()
    return path == wanted or path.startswith(wanted + "/") or wanted in path.split("/")
