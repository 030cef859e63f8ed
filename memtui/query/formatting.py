"""Format a query, and its parts, as a search line."""

from __future__ import annotations

import re

from memtui.model import UNTYPED
from memtui.query.parsed_query import Condition, Node, Query, Term, TermKind
from memtui.query.parser import has_flag
from memtui.query.query_fields import REGEX

_TERM_FORMATS = {
    TermKind.WORD: "{}",
    TermKind.PREFIX: "{}*",
    TermKind.PHRASE: '"{}"',
    TermKind.WILDCARD: "{}",
    TermKind.FUZZY: "{}~",
    TermKind.MEANING: "~{}",
}


def format_condition(part: Condition) -> str:
    """Return a condition as it is typed: `type:decision,bug`, `entity:"the shop",alice`."""
    sign = "-" * part.negated
    if part.field == REGEX:
        return f"{sign}/{part.values[0]}/"
    values = ",".join(_quote(value or UNTYPED) for value in part.values)
    return f"{sign}{part.field}:{values}"


def format_node(node: Node, *, in_words: bool = False) -> str:
    """Return a `node` of a query as it is typed; `in_words`: excluded terms with NOT."""
    if isinstance(node, Condition):
        return format_condition(node)
    if isinstance(node, Term):
        text = _TERM_FORMATS[node.kind].format(node.text)
        marked = node.kind is TermKind.PHRASE or (not in_words and text[0].isalpha() and text[1:])
        return text if not node.negated else f"-{text}" if marked else f"NOT {text}"
    joint = f" {node.operator} " if node.operator else " "
    inner = joint.join(format_node(part, in_words=in_words) for part in node.parts)
    closing = " )" if "(" in inner.rpartition(" ")[2] else ")"
    return f"{'-' * node.negated}({inner}{closing}"


def format_query(query: Query) -> str:
    """Return the search line that parses to this query; the hint is left out."""
    line = _format_line(query, in_words=False)
    # In a line with a flag, as in a pasted command, `-word` excludes nothing.
    return _format_line(query, in_words=True) if has_flag(line) else line


def _format_line(query: Query, *, in_words: bool) -> str:
    parts: tuple[Node, ...] = (*query.terms, *query.groups)
    pieces = [format_node(part, in_words=in_words) for part in parts]
    pieces += [format_condition(part) for part in query.conditions]
    pieces += [f"since:{_quote(query.since.text)}"] if query.since else []
    pieces += [f"until:{_quote(query.until.text)}"] if query.until else []
    keys = [str(key) for key in (query.sort, *query.then) if key is not None]
    pieces += [f"sort:{','.join(keys)}"] if keys else []
    pieces += [f"prefer:{','.join(map(_quote, query.prefer))}"] if query.prefer else []
    return " ".join(pieces)


def _quote(text: str) -> str:
    return f'"{text}"' if re.search(r"[\s(),]|^[:/\\]", text) else text
