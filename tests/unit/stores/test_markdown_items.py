"""Items of a Markdown file are found, named and changed, and nothing else of the file is."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.changes import Kind, text_edit
from memtui.errors import Conflict, Refused
from memtui.files.merging import rebase
from memtui.library import Library
from memtui.stores.gemini.store import GeminiStore
from memtui.stores.listed_texts import TEXT_KEY, text_key
from memtui.stores.markdown.items import (
    MarkdownList,
    add_item,
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


def ids_of(text: str, sidecar: Sidecar | None = None) -> list[str]:
    return [item.id for item in MarkdownList("f", Path("f"), text, sidecar or Sidecar()).items]


@given(texts)
def test_names_are_unique_and_do_not_change_by_looking(text: str) -> None:
    names = ids_of(text)
    assert len(set(names)) == len(names)
    assert names == ids_of(text)


def test_an_edited_item_keeps_its_name() -> None:
    old, same = ids_of("- a\n- b\n")
    line = f'{{"id": "{old}", "set": {{"{TEXT_KEY}": "{text_key("c")}", "shard": "f"}}}}\n'
    sidecar = parse_sidecar(line)
    names = ids_of("- b\n- c\n", sidecar)
    assert names == [same, old]


def edited(before: str, after: str, now: str) -> str | None:
    return rebase(now, [text_edit("f", before, after, Kind.LINES)])


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


# ---- what an item is -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("", []),
        ("\n\n", []),
        ("- a", [("- ", "a")]),
        ("   - a\n", [("   - ", "a")]),
        ("    - a\n", [("", "    - a")]),
        ("-a\n", [("", "-a")]),
        ("-\n", [("", "-")]),
        ("* a\n+ b\n12. c\n3) d\n", [("* ", "a"), ("+ ", "b"), ("12. ", "c"), ("3) ", "d")]),
        ("1234567890. a\n", [("", "1234567890. a")]),
        ("- a\n  more\n- b\n", [("- ", "a\nmore"), ("- ", "b")]),
        ("- a\n\tmore\n", [("- ", "a\n\tmore")]),
        ("- a\n more\n", [("- ", "a\n more")]),
        ("- a\nlazy\n", [("- ", "a\nlazy")]),
        ("- a\n\n  more\n\n  last\n", [("- ", "a\n\nmore\n\nlast")]),
        ("- a\n\n\tmore\n", [("- ", "a\n\n\tmore")]),
        ("- a\n\nprose\n", [("- ", "a"), ("", "prose")]),
        ("- a\n\n more\n", [("- ", "a"), ("", " more")]),
        ("- a\n  b\nlazy\n", [("- ", "a\n  b\nlazy")]),
        ("- a\n  \n  b\n", [("- ", "a\n  \n  b")]),
        ("1. a\n   b\n", [("1. ", "a\nb")]),
        ("1. a\n  b\n", [("1. ", "a\n  b")]),
        ("-\ta\n    b\n", [("-\t", "a\nb")]),
        ("one\ntwo\n\nthree\n", [("", "one\ntwo"), ("", "three")]),
        ("one\n- a\n", [("", "one"), ("- ", "a")]),
        ("one\n---\ntwo\n", [("", "one"), ("", "two")]),
        ("- a\n* * *\n- b\n", [("- ", "a"), ("- ", "b")]),
        ("- a\n-- -\n", [("- ", "a")]),
        ("- a\n--\n", [("- ", "a\n--")]),
        ("| a |\n| b |\n", [("", "| a |\n| b |")]),
        ("```\na\n\n- b\n```\nc\n", [("", "```\na\n\n- b\n```"), ("", "c")]),
        ("~~~~\na\n~~~\nb\n  ~~~~\nc\n", [("", "~~~~\na\n~~~\nb\n  ~~~~"), ("", "c")]),
        ("```\na\n\nb\n", [("", "```\na\n\nb")]),
        ("one\n```\na\n```\n", [("", "one"), ("", "```\na\n```")]),
        ("<!-- a -->\n- b\n", [("- ", "b")]),
        ("<!-- a\n- b\n-->\n- c\n", [("- ", "c")]),
        ("<!-- a\n- b\n", [("- ", "b")]),
        ("one\n <!-- a -->\ntwo\n", [("", "one"), ("", "two")]),
        ("- a \t\n", [("- ", "a")]),
    ],
)
def test_the_items_of_a_text(text: str, items: list[tuple[str, str]]) -> None:
    assert [(item.marker, item.text) for item in parse_items(text)] == items


def test_an_item_names_its_line_and_its_heading() -> None:
    text = "- a\n# One #\n- b\n  more\n\n##\n- c\n ### Two three ###\n\n- d\n#no\n"
    found = [(item.line, item.section, item.is_bullet) for item in parse_items(text)]
    assert found == [(1, "", True), (3, "One", True), (7, "", True), (10, "Two three", True)]
    assert parse_items(text)[-1].text == "d\n#no"


@pytest.mark.parametrize(
    ("text", "number", "new", "result"),
    [
        ("- a \n- b\n", 0, "A", "- A \n- b\n"),
        ("- a\n  more\n", 0, "A\nB\n\nC", "- A\n  B\n\n  C\n"),
        ("- a\n more\n", 0, "A\n B", "- A\n B\n"),
        ("- a\n", 0, "A\nB", "- A\nB\n"),
        ("- a\n", 0, "A\n\nB", "- A\n\n  B\n"),
        ("10. a\n", 0, "A\n\nB", "10. A\n\n    B\n"),
        ("- a\n", 0, "A\n# B", "- A\n  # B\n"),
        ("one\n\ntwo", 1, "three\nfour", "one\n\nthree\nfour"),
    ],
)
def test_further_lines_are_indented_as_the_item_is(
    text: str, number: int, new: str, result: str
) -> None:
    assert replace_item(text, parse_items(text)[number], new) == result


@pytest.mark.parametrize(("text", "new"), [("one\n", "a\n\nb"), ("one\n", "- a"), ("- a\n", " ")])
def test_a_text_that_would_be_several_items_is_refused(text: str, new: str) -> None:
    with pytest.raises(Refused, match="one item of the list"):
        replace_item(text, parse_items(text)[0], new)


@pytest.mark.parametrize(
    ("text", "section", "result"),
    [
        ("", "", "- new\n"),
        ("prose\n", "", "prose\n\n- new\n"),
        ("prose\n\n", "", "prose\n\n- new\n"),
        ("\n", "", "\n- new\n"),
        ("* a\n\nprose\n", "", "* a\n* new\n\nprose\n"),
        ("* a", "", "* a\n* new\n"),
        ("1. a\n", "", "1. a\n- new\n"),
        ("# S\n- a\n# T\n- b\n", "S", "# S\n- a\n- new\n# T\n- b\n"),
        ("# S\n- a\n# T\n- b\n", "", "# S\n- a\n# T\n- b\n- new\n"),
        ("# S\n- a\n# T\n- b\n", "U", "# S\n- a\n# T\n- b\n- new\n"),
        ("- a\n# S\nprose\n", "S", "- a\n- new\n# S\nprose\n"),
    ],
)
def test_a_new_bullet_goes_after_the_last_one(text: str, section: str, result: str) -> None:
    assert add_item(text, "new", section) == result


@pytest.mark.parametrize(
    ("before", "title", "section", "result"),
    [
        (None, "", "", "- new\n"),
        (None, "# Notes", "", "# Notes\n\n- new\n"),
        (None, "# Notes", "S", "# Notes\n\n## S\n\n- new\n"),
        (None, "", "S", "## S\n\n- new\n"),
        ("prose", "# Notes", "S", "prose\n\n## S\n\n- new\n"),
        ("prose\n\n", "", "S", "prose\n\n## S\n\n- new\n"),
        ("# S\n- a\n", "", "S", "# S\n- a\n- new\n"),
        ("# T\n\n## S ##\n\n# U\n- a\n", "", "S", "# T\n\n## S ##\n\n- new\n\n\n# U\n- a\n"),
        ("# S\nprose\n", "", "S", "# S\n\n- new\n\nprose\n"),
        ("- a\n# S\n- b\n", "", "", "- a\n# S\n- b\n- new\n"),
        ("prose\n# S\n- b\n# T\n- c\n", "", "", "prose\n# S\n- b\n# T\n- c\n- new\n"),
        ("prose\n", "", "", "prose\n\n- new\n"),
        ("---\nk: v\n---", "", "", "---\nk: v\n---\n- new\n"),
    ],
)
def test_an_item_is_inserted_below_its_heading(
    before: str | None, title: str, section: str, result: str
) -> None:
    file = MarkdownList("f", Path("f"), before, Sidecar(), title)
    assert file.insert(section, "new") == result


@pytest.mark.parametrize("section", ["a\nb", " "])
def test_a_heading_is_one_line(section: str) -> None:
    file = MarkdownList("f", Path("f"), "- a\n", Sidecar())
    with pytest.raises(Refused, match="a heading is one line"):
        file.insert(section, "new")


@pytest.mark.parametrize("section", ["", "S"])
def test_what_would_be_no_item_of_the_file_is_not_inserted(section: str) -> None:
    file = MarkdownList("f", Path("f"), "```\n# S\n", Sidecar())
    with pytest.raises(Refused, match="one item"):
        file.insert(section, "new")


def test_several_items_are_removed_and_an_empty_file_keeps_a_line() -> None:
    file = MarkdownList("f", Path("f"), "- a\n- b\n- c\n", Sidecar())
    assert file.remove(file.items[:2]) == "- c\n"
    assert file.remove([file.items[2], file.items[0]]) == "- b\n"
    assert file.remove(file.items) == "\n"


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_file_is_not_added_to(tmp_path: Path, text: str) -> None:
    (tmp_path / "GEMINI.md").write_text(text)
    store = GeminiStore(tmp_path, "gemini")
    with pytest.raises(Refused):
        store.open_list("GEMINI.md", Library([store]))
