"""The query language: a search line, parsed into one immutable value.

    auth type:decision importance:>=medium since:7d -redis "exact words" (sqlite OR postgres)

A memory matches with any of the words; memories with all of them come first. `"…"` is exact, `-`
and `NOT` exclude, `OR`, `AND` and parentheses group, `word*`, `*part*` and `w?rd` are wildcards,
`/…/` is a regular expression, `word~` is fuzzy, `~word` searches by meaning only. A filter is
`field:value` or `field:one,other`; `-field:value` excludes. Filters on different fields must all
hold. Without a status filter only current memories (active, proposed) are shown. The page is
docs/search.md.

Parsing a search line never fails: what cannot be used is left out, and `Query.hint` says why.
Commands use `parse_condition` and `parse_time`, which raise QueryError instead.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from memtui.query.parsed_query import (
    Condition,
    Group,
    Node,
    Operator,
    Problem,
    Query,
    Range,
    Sort,
    Term,
    TermKind,
    TimeCondition,
    conditions_in,
    entity_matches,
    filter_values,
    has_terms,
    map_conditions,
    positive_terms,
    resolve_marked,
    with_filter_values,
    without_filters,
)

if TYPE_CHECKING:
    from memtui.query.formatting import format_condition, format_node, format_query
    from memtui.query.parser import Token, TokenKind, parse_query, parse_search, tokenize
    from memtui.query.periods import Period, parse_period, parse_time, parse_time_end
    from memtui.query.query_fields import (
        ALL_HOLD,
        FIELDS,
        REGEX,
        SORT_NAMES,
        Field,
        Matching,
        parse_condition,
        parse_sort,
    )
    from memtui.query.relaxing import Relaxed, count_first, relax

_PARSING = ("periods", "query_fields", "parser", "formatting", "relaxing")
"""Modules that are imported on first use of a name, each after those that it imports: the first
paint only needs the values."""


def __getattr__(name: str) -> Any:
    for module in _PARSING if not name.startswith("_") else ():
        value = getattr(import_module(f"memtui.query.{module}"), name, None)
        if value is not None:
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
