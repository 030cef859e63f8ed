"""Items of a Markdown file are found, named and changed, and nothing else of the file is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.changes import TextEdit
from memtui.errors import Conflict, Refused
from memtui.files.merging import rebase
from memtui.stores.listed_texts import TEXT_KEY, text_key
from memtui.stores.markdown.items import (
    add_item,
    name_items,
    parse_items,
    remove_item,
    replace_item,
    without_blanks,
)
from memtui.stores.sidecar import Sidecar, parse_sidecar

LINES = (
    *(
        "- a",
        "  nested",
        "",
        "# Heading",
        "prose",
        "  - deeper",
        "* star",
        "1. one",
        "```",
        "\ttab",
    ),
    *("<!-- note", "-->", "---", "   ", "- é 日本", "lazy\r", "- [t](f.md) — hook", "    code"),
)
texts = st.lists(
    st.sampled_from(LINES) | st.text(alphabet="ab -*#\t`\n<!>1.", max_size=8), max_size=14
).map("\n".join)
wanted_texts = st.text(alphabet="ab \n-#`é", max_size=14).map(without_blanks).filter(bool)


@given(texts)
def test_an_unchanged_item_gives_the_same_bytes(text: str) -> None:
    for item in parse_items(text):
        assert replace_item(text, item, item.text) == text


@given(texts, wanted_texts, st.integers(0, 20))
def test_an_edit_changes_one_item_or_is_refused(text: str, wanted: str, number: int) -> None:
    items = parse_items(text)
    if not items:
        return
    item = items[number % len(items)]
    try:
        made = replace_item(text, item, wanted)
    except Refused:
        return
    assert made.startswith(text[: item.start])
    assert made.endswith(text[item.end :])
    after = [other.text for other in parse_items(made)]
    before = [other.text for other in items]
    at = items.index(item)
    assert after == [*before[:at], wanted, *before[at + 1 :]]


@pytest.mark.slow
@given(texts, wanted_texts)
def test_an_added_item_leaves_every_byte(text: str, wanted: str) -> None:
    try:
        made = add_item(text, wanted)
    except Refused:
        return
    at = 0
    for line in text.split("\n"):  # every line is there, in the same order
        at = made.index(line, at) + len(line)
    assert len(parse_items(made)) == len(parse_items(text)) + 1


@given(texts)
def test_a_removed_item_takes_only_its_own_lines(text: str) -> None:
    for item in parse_items(text):
        assert remove_item(text, item) == text[: item.start] + text[item.end :]


@given(texts)
def test_names_are_unique_and_do_not_change_by_looking(text: str) -> None:
    names = [id for id, _ in name_items(parse_items(text), "f#", Sidecar(), "f")]
    assert len(set(names)) == len(names)
    assert names == [id for id, _ in name_items(parse_items(text), "f#", Sidecar(), "f")]


def test_an_edited_item_keeps_its_name() -> None:
    (old, _), (same, _) = name_items(parse_items("- a\n- b\n"), "f#", Sidecar(), "f")
    line = f'{{"id": "{old}", "set": {{"{TEXT_KEY}": "{text_key("c")}", "shard": "f"}}}}\n'
    sidecar = parse_sidecar(line)
    names = [id for id, _ in name_items(parse_items("- b\n- c\n"), "f#", sidecar, "f")]
    assert names == [same, old]


def edited(before: str, after: str, now: str) -> str | None:
    return rebase(now, [TextEdit("f", before, after, by_lines=True)])


@pytest.mark.parametrize(
    ("now", "merged"),
    [
        ("- a\n- B\n- c\n", "- A\n- B\n- c\n"),
        ("- new\n- a\n- b\n- c\n", "- new\n- A\n- b\n- c\n"),
        ("- a\n- b\n- c\n- d\n", "- A\n- b\n- c\n- d\n"),
        ("- a\n", "- A\n"),
    ],
)
def test_lines_that_another_program_changed_stay(now: str, merged: str) -> None:
    assert edited("- a\n- b\n- c\n", "- A\n- b\n- c\n", now) == merged


def test_a_change_of_the_same_line_is_a_conflict() -> None:
    with pytest.raises(Conflict):
        edited("- a\n- b\n", "- A\n- b\n", "- other\n- b\n")


@given(st.lists(st.sampled_from("abcdefgh"), unique=True), st.integers(0, 8), st.integers(0, 8))
def test_two_additions_are_both_kept(base: list[str], mine: int, theirs: int) -> None:
    def text(lines: list[str]) -> str:
        return "".join(f"- {line}\n" for line in lines)

    mine, theirs = min(mine, len(base)), min(theirs, len(base))
    after = text([*base[:mine], "mine", *base[mine:]])
    now = text([*base[:theirs], "theirs", *base[theirs:]])
    merged = edited(text(base), after, now) or ""
    assert sorted(merged.split("\n")) == sorted(f"{text([*base, 'mine', 'theirs'])}".split("\n"))
