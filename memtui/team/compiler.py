"""Turn a query into a condition in SQL and its parameters. Pure: values are only ever parameters.

The answer is that of `memtui.library.finding` for the same memories, except for what `ignored`
names, and for what depends on all memories: words that no memory has are not replaced, and a filter
on an entity finds whole names of a path only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime
from math import isinf
from typing import Any, NamedTuple

from memtui.model import CURRENT, IMPORTANCES, KINDS, STATUSES
from memtui.query import REGEX, Condition, Group, Node, Operator, Query, Range, Sort, Term, TermKind
from memtui.query import has_terms as looks_for_text
from memtui.search import analysis
from memtui.search.filters import make_matcher, match_names, whole_label
from memtui.search.query_terms import QueryTerm, analyze_terms, join_neighbours
from memtui.stores.queryable import Position
from memtui.team.rows import TABLE, Table
from memtui.team.words import ENTITY, STEM, TAG, TYPE, quote, storable


class Sql(NamedTuple):
    """A condition with `%s` for each of its parameters."""

    text: str
    values: tuple[Any, ...] = ()


class Words(NamedTuple):
    """A condition on the words of a memory: the text of a `tsquery`."""

    query: str


class Compiled(NamedTuple):
    """What a query asks of the table."""

    where: Sql
    all_words: Sql | None
    """The same for what has all words of the query; None where it has not several."""
    ignored: tuple[str, ...]
    """The parts that are not in it, in words for people."""


_TEXT = "(m.title || E'\\n' || m.content)"
"""Title and content, which have an index of trigrams."""
_EVERY_TEXT = (
    "concat_ws(E'\\x01', m.title, m.content, array_to_string(m.tags, E'\\n'),"
    " m.entity, m.type, m.source)"
)
"""All that is searched, with a sign between the fields that no phrase holds."""

HARDLY_BEGUN = 3
"""Letters of a word up to which it is not among the words that the first candidates must all have:
the index would read every word that begins so, and the ranking prefers those anyway."""

Part = Sql | Words
TRUE, FALSE = Sql("true"), Sql("false")
_EMPTY = "'{}'"
_ID = re.compile(r"[0-9a-fA-F][0-9a-fA-F-]{3,}|[a-z]{2,5}[-_][0-9a-f]{2,}", re.ASCII)
"""Beginnings of an id, as `memtui.library.finding` knows them."""
_SHARED_REGEX = re.compile(
    r"(?:[^\\\[\](){}^$?*+|.]|\((?!\?)|\)|\\[.*+?()\[\]|/\\dws-]|[.*+?|]|\[[\w -]+\])+"
)
"""Patterns that mean the same to Python and to Postgres."""


def compile_query(
    query: Query, label: str, lifted: Collection[str] = (), table: Table = TABLE
) -> Compiled:
    """Return the condition that holds for the memories of a query.

    Args:
        query: A parsed search line; its order is not part of the condition.
        label: The label of the store, for `store:` and for refs.
        lifted: Fields whose filters are left out.
        table: What is asked.
    """
    return _Compiler(label, table).compile(query, frozenset(lifted))


class _Compiler:
    def __init__(self, label: str, table: Table) -> None:
        self.label, self.table = label, table
        self.ignored: dict[str, None] = {}

    def compile(self, query: Query, lifted: frozenset[str]) -> Compiled:
        parts: list[Part] = [
            self._condition(part) for part in query.conditions if part.field not in lifted
        ]
        if not query.has_status and "status" not in lifted:
            parts.append(_any_of("m.status", sorted(CURRENT)))
        if query.since is not None:
            parts.append(Sql("m.updated >= %s", (query.since.time,)))
        if query.until is not None:
            parts.append(Sql("m.updated <= %s", (query.until.time,)))
        parts += map(self._node, query.groups)
        if query.matches_nothing:
            parts.append(FALSE)
        text, every = self._text(query)
        all_words = None if every is None else _to_sql(_all([*parts, *every]))
        return Compiled(_to_sql(_all([*parts, *text])), all_words, tuple(self.ignored))

    # ---- text -----------------------------------------------------------------------------------

    def _text(self, query: Query) -> tuple[Sequence[Part], Sequence[Part] | None]:
        """The conditions of the terms, and those for all of several words."""
        wanted = query.wanted_terms
        if not wanted:
            return (), None
        terms = analyze_terms(wanted)
        for term in wanted:
            if term.kind is TermKind.MEANING:
                self._ignore(f"~{term.text} (meaning; looked for as words)")
            elif term.kind is TermKind.FUZZY:
                self._ignore(f"{term.text}~ (spelling; looked for as it is)")
        excluded = [_not(self._term(term)) for term in terms.excluded]
        if not (terms.optional or terms.required):
            return [*excluded, *([FALSE] if terms.unusable else [])], None
        if self._is_joined(query):
            return excluded, None
        joined = join_neighbours(terms.optional)
        optional = [
            _any([self._term(term), *map(_joined, joined.get(number, ()))])
            for number, term in enumerate(terms.optional)
        ]
        found = [*map(self._term, terms.required), *excluded]
        known = [part for part, term in zip(optional, terms.optional, strict=True)
                 if not (term.last_is_prefix and len(term.term.text) <= HARDLY_BEGUN)]  # fmt: skip
        every = [*known, *found] if known and len(optional) > 1 else None
        if optional and not terms.required:
            found = [_any(optional), *found]
        ids = self._ids(query)
        if ids is not None:
            found = [_any([_all(found), ids])]
        return found, every

    @staticmethod
    def _is_joined(query: Query) -> bool:
        """Whether groups find memories also without a word outside of them."""
        phrases = any(t.kind is TermKind.PHRASE and not t.negated for t in query.terms)
        return not phrases and any(
            looks_for_text(group) and not group.negated for group in query.groups
        )

    def _term(self, term: QueryTerm) -> Part:
        """A memory holds the term."""
        match term:
            case QueryTerm(parts=()):
                return self._contains(_EVERY_TEXT, term.literal)
            case QueryTerm(kind=TermKind.PHRASE):
                return self._phrase(term)
            case QueryTerm(kind=TermKind.WILDCARD):
                return self._wildcard(term.parts[0])
        ways: list[str] = []
        *before, last = term.parts
        begun = (term.compound or last) if term.last_is_prefix else ""
        if term.has_forms or term.kind is TermKind.FUZZY:
            ways += [_every(map(_forms, term.parts))] if before else _forms_beside(last, begun)
            ways += _forms_beside(term.compound, begun) if term.compound else []
        if begun:
            ways.append(_begins(begun))
            if len(before) > 1:
                return _any([Words(_either(ways)), _begun(before, last)])
            ways += [_every([*map(_forms, before), _begins(last)])] if before else []
        return Words(_either(ways)) if ways else FALSE

    def _phrase(self, term: QueryTerm) -> Part:
        *before, last = term.parts
        ends = _begins(last) if term.last_is_prefix else quote(last)
        words = Words(" <-> ".join([*map(quote, before), ends]))
        if term.literal.replace(" ", "").isalnum():
            return words
        if not term.literal.isascii():
            self._ignore(f'the punctuation of "{term.literal}"')
            return words
        typed = r"\s+".join(_escape(word) for word in term.literal.split())
        edges = [r"(?<!\w)" if term.literal.strip()[0].isalnum() else ""]
        is_closed = term.literal.strip()[-1].isalnum() and not term.last_is_prefix
        edges.append(r"(?!\w)" if is_closed else "")
        exact = Sql(f"{_EVERY_TEXT} ~* %s", (f"{edges[0]}{typed}{edges[1]}",))
        return _all([words, exact])

    def _wildcard(self, pattern: str) -> Part:
        head = re.split(r"[*?]", pattern, maxsplit=1)[0]
        if not head:
            self._ignore(f"{pattern} (a pattern needs letters before * and ?)")
            return TRUE
        like = _like(pattern, "*?")
        lexemes = "unnest(tsvector_to_array(m.words)) as lexeme"
        exact = Sql(f"exists (select from {lexemes} where lexeme like %s)", (like,))
        return _all([Words(_begins(head)), exact])

    def _ids(self, query: Query) -> Sql | None:
        """The memories whose id begins with the only word of the query."""
        if len(query.terms) != 1 or query.groups:
            return None
        term = query.terms[0]
        text = term.text.removeprefix(f"{self.label}:")
        is_id = text != term.text or _ID.fullmatch(term.text)
        if term.negated or term.kind not in (TermKind.WORD, TermKind.PREFIX) or not is_id:
            return None
        return Sql("m.id like %s", (_like(text) + "%",))

    # ---- groups ---------------------------------------------------------------------------------

    def _node(self, node: Node) -> Part:
        if isinstance(node, Condition):
            return self._condition(node)
        if isinstance(node, Term):
            return self._term_alone(node)
        parts = list(map(self._node, node.parts))
        if node.operator is Operator.ANY:
            found = _any(parts)
        elif node.operator is Operator.ALL:
            found = _all(parts)
        else:
            found = self._sequence(node, parts)
        return _not(found) if node.negated else found

    def _term_alone(self, term: Term) -> Part:
        terms = analyze_terms((term,))
        if term.negated:
            return _not(_any(map(self._term, terms.excluded)))
        found = [*terms.optional, *terms.required]
        return _any(map(self._term, found))

    def _sequence(self, group: Group, parts: Sequence[Part]) -> Part:
        """All parts but words hold, and one word if there is no other text."""
        words, others, is_found = list[Part](), list[Part](), False
        for node, part in zip(group.parts, parts, strict=True):
            positive = not node.negated
            if isinstance(node, Term) and positive and node.kind is not TermKind.PHRASE:
                words.append(part)
            else:
                others.append(part)
                is_found = is_found or (positive and looks_for_text(node))
        if words and not is_found:
            others.append(_any(words))
        return _all(others)

    # ---- filters --------------------------------------------------------------------------------

    def _condition(self, part: Condition) -> Part:
        found = self._positive(part)
        if found is None:
            self._ignore(f"{part.field}:{','.join(part.values)}")
            return TRUE
        if part.field == "status" and "all" in part.values:
            found = TRUE
        return _not(found) if part.negated else found

    def _positive(self, part: Condition) -> Part | None:
        """The condition without its negation; None: it is not understood."""
        values = part.values
        match part.field:
            case "type":
                return self._lexemes(TYPE, values)
            case "tag":
                return self._lexemes(TAG, values)
            case "entity":
                return self._lexemes(ENTITY, values)
            case "store":
                is_own = make_matcher([whole_label(value, (self.label,)) for value in values])
                return TRUE if is_own(self.label.casefold()) else FALSE
            case "status":
                return _any_of("m.status", _matching(STATUSES, values))
            case "kind":
                return _any_of("m.kind", _matching(KINDS, values))
            case "importance":
                names = _matching(IMPORTANCES, values)
                return _any_of("m.importance", names, self.table.importance)
            case "pinned":
                names = _matching(("no", "yes"), values)
                return _any([Sql("m.pinned" if v == "yes" else "not m.pinned") for v in names])
            case "since" | "until" | "after" | "before" | "updated":
                return _in_ranges("m.updated", part.ranges, _time)
            case "created":
                return _in_ranges("m.created", part.ranges, _time)
            case "confidence":
                found = _in_ranges("m.confidence", part.ranges, float)
                return _all([Sql("m.confidence is not null"), found])
            case "id":
                begun = [v.removeprefix(f"{self.label.casefold()}:") for v in values]
                likes = [f"{_like(each)}%" for each in begun]
                return Sql("lower(m.id) like any (%s)", (likes,))
            case "ref":
                prefix = f"{self.label}:"
                ids = [ref.removeprefix(prefix) for ref in values if ref.startswith(prefix)]
                return _any_of("m.id", list(map(storable, ids)))
            case "title" | "content" | "source" | "file":
                return self._texts(part)
            case "is" | "has":
                flags = [self._flag(value, part) for value in values]
                known = [flag for flag in flags if flag is not None]
                return _any(known) if len(known) == len(flags) else None
            case field if field == REGEX:
                return self._regex(values[0])
        return None

    def _lexemes(self, sign: str, values: Iterable[str]) -> Part:
        """A memory has one of these values, which stand among its words."""
        found: list[Part] = []
        for value in values:
            head, star, rest = value.partition("*")
            if not star:
                found.append(Words(quote(sign + value)))
            elif not rest:
                found.append(Words(_begins(sign + head)))
            else:
                lexemes = "unnest(tsvector_to_array(m.words)) as lexeme"
                like = (_like(sign + value, "*"),)
                found.append(Sql(f"exists (select from {lexemes} where lexeme like %s)", like))
        return _any(found)

    def _texts(self, part: Condition) -> Part | None:
        column = {
            "title": "coalesce(nullif(m.title, ''), split_part(m.content, E'\\n', 1))",
            "content": "m.content",
            "source": "m.source",
        }.get(part.field)
        if column is None:
            return None
        found: list[Part] = []
        for value in part.values:
            like = f"%{_like(value, '*?')}%"
            within = [Sql(f"{column} ilike %s", (like,))]
            if part.field != "source":  # by way of the index of trigrams
                within.insert(0, Sql(f"{_TEXT} ilike %s", (like,)))
            found.append(_all(within))
        return _any(found)

    def _flag(self, value: str, part: Condition) -> Part | None:
        if not self.table.is_table and value in ("links", "linked"):
            return None
        linked = "exists (select from memtui.links l where l.id = m.id)"
        versions = f"(m.supersedes <> {_EMPTY} or m.superseded_by <> {_EMPTY})"
        match value:
            case "tags":
                return Sql(f"m.tags <> {_EMPTY}")
            case "links":
                return Sql(linked)
            case "history":
                return Sql(versions)
            case "pinned":
                return Sql("m.pinned")
            case "superseded":
                return Sql("m.status = 'superseded'")
            case "linked":
                named = "exists (select from memtui.links l where l.target = m.id)"
                return Sql(f"({linked} or {named} or {versions})")
            case "stale":
                old = _in_ranges("m.updated", part.ranges, _time)
                current = _any_of("m.status", sorted(CURRENT))
                return _all([old, current, Sql("not m.pinned")])
        return None

    def _regex(self, pattern: str) -> Part | None:
        if not _SHARED_REGEX.fullmatch(pattern):
            return None
        return Sql(f"{_TEXT} ~* %s", (storable(f"(?n){pattern}"),))

    # ---- pieces ---------------------------------------------------------------------------------

    def _contains(self, column: str, text: str) -> Sql:
        return Sql(f"strpos(lower({column}), lower(%s)) > 0", (storable(text),))

    def _ignore(self, words: str) -> None:
        self.ignored.setdefault(words)


def _to_sql(part: Part) -> Sql:
    return part if isinstance(part, Sql) else Sql("m.words @@ %s::tsquery", (part.query,))


def _words_of(parts: Sequence[Part]) -> list[str] | None:
    found = [part.query for part in parts if isinstance(part, Words)]
    return found if len(found) == len(parts) else None


def _any(parts: Iterable[Part]) -> Part:
    given = [part for part in parts if part != FALSE]
    if not given or TRUE in given:
        return TRUE if given else FALSE
    if (words := _words_of(given)) is not None:
        return Words(_either(words))
    return _join(" or ", given)


def _all(parts: Iterable[Part]) -> Part:
    given = [part for part in parts if part != TRUE]
    if not given or FALSE in given:
        return FALSE if given else TRUE
    return given[0] if len(given) == 1 else _join(" and ", given)


def _join(operator: str, parts: Iterable[Part]) -> Sql:
    found = [_to_sql(part) for part in parts]
    values = tuple(value for part in found for value in part.values)
    return Sql(f"({operator.join(part.text for part in found)})", values)


def _not(part: Part) -> Part:
    if part in (TRUE, FALSE):
        return FALSE if part == TRUE else TRUE
    found = _to_sql(part)
    return Sql(f"(not {found.text})", found.values)


def _either(queries: Iterable[str]) -> str:
    found = tuple(dict.fromkeys(queries))
    return found[0] if len(found) == 1 else f"({' | '.join(found)})"


def _every(queries: Iterable[str]) -> str:
    found = tuple(dict.fromkeys(queries))
    return found[0] if len(found) == 1 else f"({' & '.join(found)})"


def _begins(word: str) -> str:
    return f"{quote(word)}:*"


def _begun(before: Iterable[str], last: str) -> Sql:
    """Some words, and one that begins so, as `app_conf.p` while it is typed: the last is looked for
    in the rows with the others, since the index would read everything that begins so."""
    query = _every([*map(_forms, before), _begins(last)])
    words = _every(map(_forms, before))
    return Sql("(m.words @@ %s::tsquery and ts_match_vq(m.words, %s::tsquery))", (words, query))


def _forms(word: str) -> str:
    """Any form of an English word."""
    return _either(_forms_beside(word))


def _forms_beside(word: str, begun: str = "") -> list[str]:
    """The forms of an English word that do not begin with `begun`, where that is looked for too. A
    word that is not its own stem is found by its stem alone: the planner would count it twice."""
    stem = analysis.stem(word)
    is_found = bool(begun) and stem.startswith(begun)
    forms = [stem] if analysis.stem(stem) == stem and not is_found else []
    if stem.isascii() and stem.isalpha():
        forms.append(STEM + stem)
    return list(map(quote, forms))


def _joined(each: tuple[str, bool]) -> Words:
    word, is_prefix = each
    return Words(_either([_forms(word), *([_begins(word)] if is_prefix else [])]))


def _like(text: str, wild: str = "") -> str:
    """A text as a pattern of LIKE; of the signs in `wild`, `*` is any text and `?` a character."""
    escaped = re.sub(r"([\\%_])", r"\\\1", storable(text))
    if "*" in wild:
        escaped = escaped.replace("*", "%")
    return escaped.replace("?", "_") if "?" in wild else escaped


def _escape(text: str) -> str:
    """A text as a regular expression of Postgres that finds it."""
    return re.sub(r"([^\w\s])", r"\\\1", storable(text))


def _any_of(column: str, values: Sequence[str], type: str = "text") -> Sql:
    return Sql(f"{column} = any (%s::{type}[])", (list(values),)) if values else FALSE


def _matching(vocabulary: Sequence[str], values: Collection[str]) -> list[str]:
    if "all" in values and vocabulary is STATUSES:
        return list(vocabulary)
    passed = match_names(vocabulary, make_matcher(values))
    return [value for value, is_match in zip(vocabulary, passed, strict=True) if is_match]


def _in_ranges(column: str, ranges: Iterable[Range], value: Callable[[float], Any]) -> Part:
    found: list[Part] = []
    for one in ranges:
        ends = [] if isinf(one.low) else [Sql(f"{column} >= %s", (value(one.low),))]
        ends += [] if isinf(one.high) else [Sql(f"{column} < %s", (value(one.high),))]
        found.append(_all(ends))
    return _any(found)


_FIRST, _LAST = (datetime(year, 1, 1, tzinfo=UTC) for year in (1, 9999))


def _time(seconds: float) -> datetime:
    """A time, as near as dates can hold it; the next one up where it is between microseconds."""
    if not _FIRST.timestamp() < seconds < _LAST.timestamp():
        return _FIRST if seconds < 0 else _LAST
    return datetime.fromtimestamp(seconds, UTC)


# ---- orders --------------------------------------------------------------------------------------


def compile_order(
    order: Sort, after: Position | None, backwards: bool, table: Table = TABLE
) -> tuple[Sql, str]:
    """Return the condition for what comes after a position, and the ORDER BY.

    Args:
        order: One of `PUSHED_ORDERS`.
        after: None: from the first memory on.
        backwards: What comes before, the last first.
    """
    is_ascending = (order is Sort.OLD) == backwards  # as `Position` compares
    below, above = ("<", ">") if is_ascending else (">", "<")
    newer, rising = ("desc", "asc") if is_ascending else ("asc", "desc")
    keys = [f"m.updated {newer}", f"m.id {rising}"]
    if order is Sort.IMPORTANCE:
        keys.insert(0, f"m.importance {rising}")
    by = ", ".join(keys)
    if after is None:
        return TRUE, by
    time = _time(-after.keys[-1])
    text = f"(m.updated {below}= %s and (m.updated {below} %s or m.id {above} %s))"
    values: tuple[Any, ...] = (time, time, after.id)
    if order is Sort.IMPORTANCE:
        value = IMPORTANCES[max(0, min(2, int(after.keys[0])))]
        column, cast = "m.importance", f"%s::{table.importance}"
        text = f"({column} {above}= {cast} and ({column} {above} {cast} or {text}))"
        values = (value, value, *values)
    return Sql(text, values), by
