"""A workspace that somebody made to do harm: nothing raises, nothing takes long."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.errors import UnreadableFile
from memtui.model import Memory, from_record, to_record
from memtui.stores import workspace
from memtui.stores.markdown.documents import parse_document
from memtui.stores.workspace import rules
from memtui.stores.workspace.store import memory_of
from tests.growth import assert_straight

LONG = 300_000
"""Characters of a hostile document."""


def read(text: str, path: str = "tasks/2026-01-01-a.md") -> Memory:
    document = parse_document(path, f"/w/{path}", text, None)
    document_type = rules.NO_TYPES.of(path, document.frontmatter)
    return memory_of(document, document_type, label="s", by_stem=lambda _: "")


@pytest.mark.parametrize("head", ["", "---\n", "---\na: "])
@pytest.mark.parametrize(
    "piece",
    [
        "[",
        "](",
        "[[a|",
        "`",
        "```\n",
        "~~~\n",
        "# ",
        "a\n=",
        "\n",
        "\r\n",
        "---\n",
        "- ",
        "{",
        "](<",
    ],
)
def test_no_text_holds_the_reader_up(head: str, piece: str) -> None:
    assert_straight(lambda size: read(head + piece * (size // len(piece))), LONG)


FRONT = ["---\n", "state: done\n", "tags: [a, 1]\n", "created: 2026-13-01\n", "title: 1e999\n"]
ODD = ["date: 0001-01-01T00:00:00+14:00\n", "priority: {a: .nan}\n", "? x\n", "- ", "&a ", "*a "]
PROSE = ["# ", "[[", "]]", "](", ")", "`", "```\n", "\n", "\r\n", "a", ": ", "|\n", "!!set "]
STRANGE = ["\ufeff", "\udc80", "\x1b[31m"]
PIECES = st.sampled_from([*FRONT, *ODD, *PROSE, *STRANGE])


@given(st.lists(PIECES, max_size=30).map("".join))
def test_any_document_becomes_a_memory_that_can_be_kept(text: str) -> None:
    memory = read(text)
    assert from_record(json.loads(json.dumps(to_record(memory)))) == memory


@given(st.text() | st.recursive(st.none() | st.text(), st.lists).map(json.dumps))
def test_any_log_is_added_up(text: str) -> None:
    workspace.parse_log(text)
    workspace.parse_log(f'{{"hits": {text}}}\n{text}')


VALUES = st.recursive(
    st.none() | st.booleans() | st.text(max_size=5) | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
MAPS = st.dictionaries(st.sampled_from(["exact_paths", "glob_paths", "task_rules", "x"]), VALUES)


@pytest.mark.slow
@given(st.text() | MAPS.map(json.dumps))
def test_any_map_types_or_is_named_as_broken(text: str) -> None:
    with contextlib.suppress(UnreadableFile):
        types = rules.parse_type_map(text)
        assert types.of("tasks/a.md", {"tags": text}).type in ("", *rules.TYPES)


def test_more_patterns_than_can_be_tried_on_each_document_are_named() -> None:
    patterns = {f"**/a*{number}*/x*.md": "goal" for number in range(3000)}
    types = rules.parse_type_map(json.dumps({"glob_paths": patterns}))
    assert types.faults == ("glob_paths holds more than 1000 patterns; 2000 are left out",)
    assert types.by_path("a/a999/x.md").type == "goal"
    assert types.by_path("a/a1000/x.md").type == "goal", "by the pattern of 100"
    assert types.by_path("b/x.md").type == ""
