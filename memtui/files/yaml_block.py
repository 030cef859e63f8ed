"""Read a small, hostile piece of YAML: no types beyond plain ones, no bombs, one kind of error.

Dates stay text, so that a reader keeps how they were written and a thirteenth month harms nobody.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

LARGEST_BLOCK = 64 * 1024
"""Characters. No frontmatter written for people is larger (reliability: refuse over 64 KB)."""

MOST_VALUES = 10_000
"""Values after aliases are followed: nine aliases of nine, five deep, make 59,049."""

MOST_BRACKETS = 200
MOST_MARKS = 50
"""Opening brackets in all, and `- ` or `? ` on one line: together with the size they bound how
deep the C parser recurses (it crashes the process far beyond ten thousand levels)."""

_MARK = re.compile(r"[-?][ \t]")
_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class BadYaml(ValueError):
    """The text is not YAML that a person would have written here; the message says why."""


class _TextDates(_SafeLoader):  # type: ignore[misc]  # the C loader has no types
    """The safe loader without its rule for dates."""


_TextDates.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in rules if tag != "tag:yaml.org,2002:timestamp"]
    for first, rules in _SafeLoader.yaml_implicit_resolvers.items()
}


def read(text: str) -> dict[str, Any]:
    """The mapping that the text holds ({} for an empty one). Raises BadYaml, nothing else."""
    value = _load(_TextDates, text)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadYaml("it is not a list of fields")
    if _too_much(value):
        raise BadYaml("its aliases unfold to too much")
    return {str(key): item for key, item in value.items()}


def meaning(scalar: str) -> Any:
    """What another YAML program would read in a bare word: a date, a number, the text itself."""
    try:
        return _load(_SafeLoader, scalar)
    except BadYaml:
        return None


def _load(loader_class: Any, text: str) -> Any:
    if len(text) > LARGEST_BLOCK:
        raise BadYaml("it is too long")
    if text.count("[") + text.count("{") > MOST_BRACKETS or any(
        len(_MARK.findall(line)) > MOST_MARKS for line in text.split("\n")
    ):
        raise BadYaml("it is nested too deeply")
    try:
        loader = loader_class(text)
        try:
            return loader.get_single_data()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"line {mark.line + 1}: " if mark else ""
        raise BadYaml(f"{place}{error.problem}") from None
    except Exception as error:  # PyYAML lets ValueError, TypeError, RecursionError and more out
        raise BadYaml(type(error).__name__) from None


def _too_much(value: Any) -> bool:
    """Whether there are too many values once every alias is followed, endless ones among them."""
    waiting, seen = [value], 0
    while waiting and seen <= MOST_VALUES:
        seen += 1
        item = waiting.pop()
        if isinstance(item, dict):
            waiting += [*item.keys(), *item.values()]
        elif isinstance(item, list | tuple | set):
            waiting += item
    return seen > MOST_VALUES
