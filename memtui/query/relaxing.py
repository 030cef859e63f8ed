"""Weaker queries for one that finds nothing, each without a part of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from memtui.query.formatting import format_condition, format_node
from memtui.query.parsed_query import Condition, Query, TermKind, has_terms
from memtui.query.parsed_query import with_filter_values as filtered

Relaxed = Mapping[str, Query]
"""What to do (`without type:decision`) -> the query after it."""
MAX_WORDS = 12
"""Words that are left out one by one; of a longer line, as a pasted one, only all together."""


def relax(query: Query, show: Callable[[Condition], str] = format_condition) -> Sequence[Relaxed]:
    """Return weaker queries in steps, none for a line that says nothing that can be looked for; a
    later step drops more at once.

    First each word, filter and group alone, the filter on the current memories, and all filters if
    a word is searched for with several; then all words, or all filters; last both.

    Args:
        query: The query that finds nothing.
        show: How a filter is named.
    """
    if query.matches_nothing:
        return ()
    bare = replace(query, conditions=(), groups=(), since=None, until=None)
    is_filtered = bare != query
    wordless = replace(
        query,
        terms=tuple(term for term in query.terms if term.negated),
        groups=tuple(group for group in query.groups if not has_terms(group)),
    )
    together = {}
    if wordless != query:
        together["without the words"] = wordless
    if is_filtered:
        together["without the filters"] = bare
    first = dict(_without_each(query, show))
    filters = (*query.conditions, *query.groups, query.since, query.until)
    if query.terms and sum(map(bool, filters)) > 1:
        first["without the filters"] = bare
    return (
        first,
        together,
        {"without words and filters": Query(sort=query.sort, then=query.then)},
    )


def _without_each(query: Query, show: Callable[[Condition], str]) -> Iterator[tuple[str, Query]]:
    for term in query.terms if len(query.terms) <= MAX_WORDS else ():
        typed = replace(term, kind=TermKind.WORD) if term.is_open else term
        terms = tuple(other for other in query.terms if other is not term)
        yield f"without {format_node(typed)}", replace(query, terms=terms)
    branch = [part for part in query.conditions if part.field in ("store", "entity")]
    parts = [[part] for part in query.conditions]
    for dropped in [*parts, branch] if len(branch) > 1 else parts:  # the branch: the tree's filter
        left = tuple(part for part in query.conditions if part not in dropped)
        yield f"without {' '.join(map(show, dropped))}", replace(query, conditions=left)
    for group in query.groups:
        groups = tuple(other for other in query.groups if other is not group)
        yield f"without {format_node(group)}", replace(query, groups=groups)
    for name in ("since", "until"):
        if time := getattr(query, name):
            yield f"without {name}:{time.text}", replace(query, **{name: None})
    if not query.has_status:
        yield "with status:all", filtered(query, "status", ("all",))


def count_first(steps: Iterable[Relaxed], count: Callable[[Query], int]) -> dict[str, int]:
    """What each query of the first step that finds anything finds; those that do not are left out.

    Args:
        steps: From `relax`.
        count: Returns how many memories a query finds.
    """
    for step in steps:
        if found := {name: n for name, query in step.items() if (n := count(query))}:
            return found
    return {}
