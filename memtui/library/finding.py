"""From a query to what a person sees: text by index or by reading, a hint when nothing is left."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from difflib import get_close_matches
from typing import Any, Literal

from memtui.errors import RefError, Refused
from memtui.library.results import SearchResult, Similar
from memtui.library.semantic import Meaning
from memtui.library.snapshot import Rows
from memtui.model import Memory
from memtui.query import Query, Sort, Term, TermKind
from memtui.search import expansion, finder, fusion, similar_words
from memtui.search.columns import Columns
from memtui.search.documents import to_document
from memtui.search.finder import RankedHits
from memtui.search.hits import Match
from memtui.search.matching import ExactLookup
from memtui.search.postings import ProvisionalIndex, Segment
from memtui.search.ranking import DEFAULTS, ScorePart, Weights
from memtui.text import one_line, visible

_ID = re.compile(r"[0-9a-fA-F][0-9a-fA-F-]{3,}|[a-z]{2,5}[-_][0-9a-f]{2,}", re.ASCII)
"""What may be the beginning of an id: uuid, number, `obs-1f…`, `fact_7b2`."""


@dataclass(frozen=True, slots=True)
class Searchable:
    """All that a query is asked of, at one moment."""

    rows: Rows
    columns: Columns
    segments: tuple[Segment, ...]
    indexed: bool
    """Whether the segments cover every row; else `draft` does."""
    draft: ProvisionalIndex
    exact: ExactLookup | None = None
    weights: Weights = DEFAULTS
    meaning: Meaning | None = None


def find(
    query: Query,
    where: Searchable,
    slots_of: Callable[[], Mapping[str, int]],
    now: datetime,
    cancelled: Callable[[], bool],
) -> SearchResult:
    """What the query finds. Raises Cancelled."""
    match = _match(query, where, cancelled)
    named = _named(query, where, slots_of)
    hits = finder.find_hits(query, where.columns, match, now, where.weights, named)
    words = query.words if match is None else (*query.words, *match.words)
    how = "all" if match is None else "index" if where.indexed else "scan"
    return SearchResult(
        query=query,
        slots=hits.slots,
        total=len(hits.slots),
        scores=hits.scores,
        facets=hits.facets,
        how=how,  # type: ignore[arg-type]
        words=words,
        hint=query.hint
        or _hint(query, hits)
        or _meaning_hint(query, match)
        or _spelling_hint(match, where),
        behind=hits,
        rows=where.rows,
        columns=where.columns,
    )


def _match(query: Query, where: Searchable, cancelled: Callable[[], bool]) -> Match | None:
    """Where the text is, and what is near to it where there are vectors. Raises Cancelled."""
    size = len(where.columns)
    wanted = query.order is Sort.RELEVANCE or fusion.is_meaning_only(query.terms)
    if where.meaning is None or not query.terms or not wanted:
        return _match_text(query.terms, query, where, cancelled)
    cosines = where.meaning.cosines(query, where.segments, size)
    if cosines is None:
        return _match_text(query.terms, query, where, cancelled)
    words = fusion.drop_meaning_terms(query.terms)
    barred = tuple(term for term in query.terms if term.negated)
    return finder.add_meaning(
        query,
        _match_text(words, query, where, cancelled),
        _match_text(barred, query, where, cancelled),
        cosines,
        where.columns,
        where.weights,
        where.meaning.choice.fusion,
    )


def _match_text(
    terms: tuple[Term, ...], query: Query, where: Searchable, cancelled: Callable[[], bool]
) -> Match | None:
    size = len(where.columns)
    asked = replace(query, terms=terms)
    segments = where.segments
    if terms and not where.indexed:
        segments = where.draft.cover(where.rows, size, cancelled)
    alive = where.columns.alive
    return finder.match_text(asked, segments, size, where.exact, cancelled, alive)


def _meaning_hint(query: Query, match: Match | None) -> str:
    if match is None or match.meaning is not None or not any(map(fusion.is_meaning, query.terms)):
        return ""
    return "~ asks for meaning, which needs vectors (memtui embed); looked for as words"


def _spelling_hint(match: Match | None, where: Searchable) -> str:
    """Another spelling for a word that no memory has."""
    for word in match.missing if match is not None else ():
        if near := expansion.suggest_word(word, where.segments, where.columns.alive):
            return f"no memory has {one_line(word)!r}; did you mean {one_line(near)}?"
    return ""


def similar(
    slot: int,
    where: Searchable,
    near: Any | None,
    limit: int,
    cancelled: Callable[[], bool],
) -> Similar:
    """What is like the memory in this slot. `near`: how near each slot is to it, where known.

    Raises Cancelled.
    """
    how: Literal["vectors", "words"] = "vectors"
    words: tuple[str, ...] = ()
    if near is None:
        how, alive = "words", where.columns.alive
        telling = similar_words.find_distinctive_words(
            to_document(where.rows[slot]), where.segments, alive
        )
        near = similar_words.score_by_words(telling, where.segments, len(where.columns), cancelled)
        words = tuple(word for word, _ in telling)
    slots, scores = similar_words.find_nearest_current(near, where.columns, slot, limit)
    return Similar(slots, scores, how, words, where.rows)


def explain(
    found: SearchResult, slot: int, weights: Weights, now: datetime
) -> tuple[ScorePart, ...]:
    """The parts of the score of this slot, as it was when it was found."""
    if found.behind is None:
        return ()
    return finder.explain_hit(found.query, found.behind, found.columns, slot, now, weights)


def _named(query: Query, where: Searchable, slots_of: Callable[[], Mapping[str, int]]) -> list[int]:
    """Slots of memories whose id begins with the one word that was asked for."""
    if len(query.terms) != 1 or query.terms[0].negated:
        return []
    term = query.terms[0]
    if term.kind not in (TermKind.WORD, TermKind.PREFIX):
        return []
    if ":" not in term.text and not _ID.fullmatch(term.text):
        return []
    return [
        slot
        for ref, slot in slots_of().items()
        if (ref == term.text or ref.partition(":")[2].startswith(term.text))
        and slot < len(where.columns)  # it may have come meanwhile
    ]


_FACET_NAMES = ("status", "type", "importance", "entity", "store", "kind")


def _hint(query: Query, hits: RankedHits) -> str:
    """Which filter hides matches, when nothing is left of them."""
    if len(hits.slots):
        return ""
    for name in _FACET_NAMES:
        hidden: Mapping[str, int] = getattr(hits.facets, name)
        if hidden and (name == "status" or any(c.field == name for c in query.conditions)):
            count = sum(hidden.values())
            if name == "entity":
                count -= sum(hits.facets.entity_repeats.values())
            return f"{name} hides {count} {'match' if count == 1 else 'matches'}"
    return ""


SHORTEST_PREFIX = 4
"""Characters of an id that must be given at least (design: The commands)."""


def exact_slot(ref: str, slots: Mapping[str, int]) -> int:
    """The slot of exactly this ref. Raises RefError."""
    try:
        return slots[ref]
    except KeyError:
        raise RefError(f"no memory has the ref {visible(ref)!r}") from None


def slot_of(text: str, slots: Mapping[str, int]) -> int:
    """The slot that a full ref, a full id or an unambiguous id prefix names. Raises RefError."""
    if text in slots:
        return slots[text]
    label, colon, rest = text.partition(":")
    exact: list[str] = []
    begins: list[str] = []
    for ref in slots:
        store, _, id = ref.partition(":")
        for wanted in {text, rest if colon and store == label else text}:
            if id == wanted:
                exact.append(ref)
            elif id.startswith(wanted):
                begins.append(ref)
    if len(exact) == 1:
        return slots[exact[0]]
    if len(text if not colon else rest) < SHORTEST_PREFIX and not exact:
        raise RefError(
            f"{visible(text)!r} is too short to name a memory",
            do=f"give at least {SHORTEST_PREFIX} characters of its id",
        )
    found = exact or begins
    if not found:
        near = get_close_matches(text, slots, n=1)
        advice = f"did you mean {visible(near[0])}?" if near else "memtui list shows the ids"
        raise RefError(f"no memory has the id {visible(text)!r}", do=advice)
    if len(found) > 1:
        shown = ", ".join(visible(ref) for ref in found[:3])
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""
        raise RefError(f"{visible(text)!r} names {shown}{more}", do="give more characters")
    return slots[found[0]]


def link_target(
    text: str, memory: Memory, among: Iterable[Memory], resolve: Callable[[str], Memory]
) -> str:
    """The id of the memory, or the path of the entity, that `text` names as the end of a link.

    Tried in this order: the target of a link that this memory has, whatever it names; the ref or
    id of a memory; the path of an entity or, where only one has it, its last part; the beginning
    of a memory's id. `among` are the memories of its store. Raises RefError where nothing has that
    name, Refused where it is a memory of another store.
    """
    name = text.removeprefix(f"{memory.store}:")
    among = list(among)
    if any(link.target == name for link in memory.links) or any(m.id == name for m in among):
        return name
    entities = {other.entity for other in among if other.entity}
    named = [path for path in entities if path == name] or [
        path for path in entities if path.rpartition("/")[2] == name
    ]
    if len(named) == 1:
        return named[0]
    try:
        other = resolve(text)
    except RefError as error:
        if named:
            paths = ", ".join(visible(path) for path in sorted(named)[:3])
            raise RefError(f"{visible(name)!r} names {paths}", do="give the whole path") from None
        raise RefError(f"{error.what}, and no entity is called so", do=error.do) from None
    if other.store != memory.store:
        raise Refused("both ends of a link must lie in one store", where=visible(other.ref))
    return other.id
