"""The query language: text, filters and an order in one immutable value, parsed in one place.

    auth type:decision importance:high since:7d -redis "exact words" entity:alice

Words are looked for together and apart; memories with all of them come first. `"…"` is a phrase,
`-` leaves out, `word*` and `w?rd` are wildcards, `word~` is fuzzy, `~word` asks for meaning only.
A filter is `field:value` or `field:one,other`; `-field:value` leaves out. Filters on different
fields must all hold. Without a status filter only current memories (active, proposed) are shown.

Parsing a search line never fails: what means nothing is taken as plain words, and `Query.hint`
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
    """One thing to look for in the text of memories."""

    text: str
    """Without its marks: no quotes, no `~`, no trailing `*` of a prefix."""
    kind: TermKind = TermKind.WORD
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Condition:
    """A filter: the field has (or, negated, has not) one of the values."""

    field: str
    """One of `FIELDS`."""
    values: tuple[str, ...]
    """Lower case; the empty string is the empty type."""
    negated: bool = False


@dataclass(frozen=True, slots=True)
class TimeCondition:
    """A point in time as it was written (`7d`, `2026-03-01`) and what it meant then."""

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
    """What a person wants to see."""

    terms: tuple[Term, ...] = ()
    conditions: tuple[Condition, ...] = ()
    since: TimeCondition | None = None
    until: TimeCondition | None = None
    sort: Sort | None = None
    """None: by relevance when there is text to look for, else newest first."""
    hint: str = ""
    """Why something was taken as plain words; empty when all was understood."""

    @property
    def order(self) -> Sort:
        if self.sort is not None:
            return self.sort
        return Sort.RELEVANCE if any(not term.negated for term in self.terms) else Sort.NEW

    @property
    def words(self) -> tuple[str, ...]:
        """What to highlight: the text of every term that is looked for."""
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
    """Parse `7d`, `24h`, `30m`, `2w`, `1y`, an ISO date or date and time (UTC unless it says).

    Raises QueryError.
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
    """Parse the values of one filter: `decision,bug`. Raises QueryError on an unknown value."""
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
    """What has been understood so far."""

    now: datetime
    terms: list[Term]
    conditions: list[Condition]
    hints: list[str]
    since: TimeCondition | None = None
    until: TimeCondition | None = None
    sort: Sort | None = None

    def take(self, field: str, value: str, negated: bool) -> None:
        """Understand one `field:value`. Raises QueryError."""
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
    """Understand a search line. Never raises.

    `typing`: the last word is still being written, so it matches as a prefix.
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
                parts.take(field, value, negated)
                continue
            except QueryError as error:
                if typing and token.end() == len(text):
                    parts.hints.append(f"{field}: …")
                    continue
                parts.hints.append(str(error))
        word = token[0][1:] if negated else token[0]
        if value.startswith('"') and (value == '"' or not value.endswith('"')):
            word += '"'  # else what is written behind it would be taken into the quotes
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
    """The condition as it is typed: `type:decision,bug`, `entity:"the shop,alice"`."""
    values = ",".join(value or UNTYPED for value in part.values)
    values = f'"{values}"' if re.search(r"\s", values) else values
    return f"{'-' * part.negated}{part.field}:{values}"


def format_query(query: Query) -> str:
    """The search line that parses to this query (its hint apart)."""
    pieces = []
    for term in query.terms:
        text = _TERM_FORMATS[term.kind].format(term.text)
        bare = '"' in text  # quotes have no escape: it was not in quotes, and need not be
        if term.kind is TermKind.WORD and not bare and re.search(r"[:\s~*?]|^-", term.text):
            text = f'"{term.text}"'
        pieces.append(f"{'-' * term.negated}{text}")
    pieces += [format_condition(part) for part in query.conditions]
    pieces += [f"since:{query.since.text}"] if query.since else []
    pieces += [f"until:{query.until.text}"] if query.until else []
    pieces += [f"sort:{query.sort}"] if query.sort else []
    return " ".join(pieces)


def filter_values(query: Query, field: str) -> tuple[str, ...]:
    """The values a field is filtered by; empty when it is not."""
    found = (c.values for c in query.conditions if c.field == field and not c.negated)
    return next(found, ())


def with_filter_values(query: Query, field: str, values: Iterable[str]) -> Query:
    """The query with this field filtered by exactly these values (none = no filter)."""
    wanted = tuple(dict.fromkeys(value.casefold() for value in values))
    kept = tuple(c for c in query.conditions if c.field != field or c.negated)
    added = (Condition(field, wanted),) if wanted else ()
    return replace(query, conditions=kept + added)


def without_filters(query: Query) -> Query:
    """Only the text and the order are left."""
    return replace(query, conditions=(), since=None, until=None)


def entity_matches(entity: str, wanted: str) -> bool:
    """Whether an entity path is the wanted one, lies below it, or holds it as a part."""
    path = entity.casefold()
    return path == wanted or path.startswith(wanted + "/") or wanted in path.split("/")
