"""Read small pieces of YAML that may be hostile, with limits on size, depth and aliases.

Only plain types are made. Dates stay text, so that they keep their form and an impossible date is
no error. The only error is BadYaml.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

LARGEST_BLOCK = 64 * 1024
"""Characters. No frontmatter written for people is larger."""

MOST_VALUES = 10_000
"""Values once aliases are followed: nine aliases of nine, five deep, make 59,049."""

MOST_LEVELS = 100
"""Values inside values. Deeper ones would exhaust the stack of whoever walks or prints them."""

LONGEST_NUMBER = 1_000
"""Characters of a whole number; a longer one stays text. Python refuses to print integers of more
than 4,300 digits, which hexadecimal and base 60 make without a word."""

MOST_BRACKETS = 200
MOST_MARKS = 50
"""Opening brackets in all, and `- ` or `? ` on one line: together with the size they bound how
deep the C parser recurses (it crashes the process far beyond ten thousand levels)."""

_MARK = re.compile(r"[-?][ \t]")
_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class BadYaml(ValueError):
    """The text is not YAML, or beyond a limit; the message says why."""


class _TextDates(_SafeLoader):  # type: ignore[misc]  # the C loader has no types
    """The safe loader without its rule for dates, and with integers of any length."""

    def construct_whole_number(self, node: yaml.ScalarNode) -> Any:
        if len(node.value) > LONGEST_NUMBER:
            return node.value
        return self.construct_yaml_int(node)


_TextDates.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in rules if tag != "tag:yaml.org,2002:timestamp"]
    for first, rules in _SafeLoader.yaml_implicit_resolvers.items()
}
_TextDates.add_constructor("tag:yaml.org,2002:int", _TextDates.construct_whole_number)


def read(text: str) -> dict[str, Any]:
    """Return the mapping in the text, {} for an empty one. Raises BadYaml only."""
    value = _load(_TextDates, text)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadYaml("it is not a list of fields")
    return {str(key): item for key, item in value.items()}


def meaning(scalar: str) -> Any:
    """Return what other YAML readers make of an unquoted word: a date, a number, a text."""
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
            node = loader.get_single_node()
            if node is None:
                return None
            _refuse_alias_bomb(node)
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except BadYaml:
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"line {mark.line + 1}: " if mark else ""
        raise BadYaml(f"{place}{error.problem}") from None
    except Exception as error:  # PyYAML lets ValueError, TypeError, RecursionError and more out
        raise BadYaml(type(error).__name__) from None


def _refuse_alias_bomb(root: yaml.Node) -> None:
    """Raise BadYaml where the values are too deep, or too many once every alias is followed.

    Checks the nodes before values are made of them: a merge key copies the pairs of what it names,
    so that lists of aliases below merge keys multiply meanwhile.
    """
    waiting, seen = [(root, 1)], 1
    while waiting:
        node, level = waiting.pop()
        if isinstance(node, yaml.MappingNode):
            below = [part for pair in node.value for part in pair]
        elif isinstance(node, yaml.SequenceNode):
            below = node.value
        else:
            continue
        seen += len(below)
        if seen > MOST_VALUES:
            raise BadYaml("its aliases unfold to too much")
        if level >= MOST_LEVELS:
            raise BadYaml("it is nested too deeply")
        waiting += [(part, level + 1) for part in below]
