"""Patterns of the type map: what they match, checked against the plainest possible matcher."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.stores.globs import LONGEST_PATTERN, matches
from memtui.testing.fixtures import time_limit

SECONDS = 60.0
"""What tries all ways to match would take longer than anybody lives."""


def plainly(pattern: str, path: str) -> bool:
    """The meaning of a pattern, said as directly as it can be."""

    @cache
    def fits(p: int, s: int) -> bool:
        if p == len(pattern):
            return s == len(path)
        if pattern.startswith("**/", p) and (p == 0 or pattern[p - 1] == "/"):
            starts = [s, *(at + 1 for at in range(s, len(path)) if path[at] == "/")]
            return any(fits(p + 3, start) for start in starts)
        if pattern.startswith("**", p):
            return any(fits(p + 2, start) for start in range(s, len(path) + 1))
        if pattern[p] == "*":
            end = path.find("/", s)
            end = len(path) if end < 0 else end
            return any(fits(p + 1, start) for start in range(s, end + 1))
        if s == len(path):
            return False
        if pattern[p] == "?":
            return path[s] != "/" and fits(p + 1, s + 1)
        return pattern[p] == path[s] and fits(p + 1, s + 1)

    return fits(0, 0)


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("knowledge/designs/*.md", "knowledge/designs/a.md", True),
        ("knowledge/designs/*.md", "knowledge/designs/old/a.md", False),
        ("projects/*/README.md", "projects/pip/README.md", True),
        ("projects/*/README.md", "projects/README.md", False),
        ("**/README.md", "README.md", True),
        ("**/README.md", "a/b/README.md", True),
        ("knowledge/**/*.md", "knowledge/a.md", True),
        ("knowledge/**/*.md", "knowledge/a/b/c.md", True),
        ("knowledge/**", "knowledge/a/b.md", True),
        ("knowledge/**", "knowledge-old/a.md", False),
        ("lessons/?.md", "lessons/a.md", True),
        ("lessons/?.md", "lessons/ab.md", False),
        ("a?b", "a/b", False),
        ("people/[ab].md", "people/[ab].md", True),
        ("people/[ab].md", "people/a.md", False),
        ("*.md", "line\nbreak.md", True),
        ("notes.md", "notes.md.md", False),
    ],
)
def test_what_a_pattern_matches(pattern: str, path: str, expected: bool) -> None:
    assert matches(pattern, path) is expected
    assert plainly(pattern, path) is expected


@given(
    st.text(alphabet="ab/*?", max_size=12),
    st.text(alphabet="ab/", max_size=12),
)
def test_every_pattern_means_what_the_plain_matcher_says(pattern: str, path: str) -> None:
    assert matches(pattern, path) == plainly(pattern, path)


@given(st.text(max_size=30))
def test_a_path_without_wildcards_matches_itself_alone(path: str) -> None:
    plain = path.replace("*", "").replace("?", "")
    assert matches(plain, plain)
    assert not matches(plain, plain + "x")


@pytest.mark.parametrize(
    "pattern",
    ["*a" * 200 + "b", "**a" * 200 + "b", "**/" * 300 + "b", "**/*a*b" * 100 + "c"],
)
def test_a_hostile_pattern_does_not_hold_anybody_up(pattern: str) -> None:
    with time_limit(SECONDS):
        assert not matches(pattern, "a" * 250 + "/" + "ab" * 100 + "!")


def test_a_pattern_longer_than_any_path_matches_nothing() -> None:
    assert not matches("*" * (LONGEST_PATTERN + 1), "a.md")
