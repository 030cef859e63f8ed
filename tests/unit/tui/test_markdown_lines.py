"""Markdown of a store as styled lines: what it looks like, and that hostile text stays text."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.segment import Segment

from memtui import text
from memtui.model import Memory
from memtui.paths import bundled_folder
from memtui.testing.hostile_values import ALL, FORBIDDEN
from memtui.tui.appearance import Palette
from memtui.tui.markdown_lines import MarkdownRenderer
from memtui.tui.memory_detail import (
    MAX_LINE,
    DetailLines,
    MemoryDetail,
    is_markdown,
    link_definitions,
    split_parts,
)
from memtui.tui.themes import load_themes

NOW = datetime(2026, 3, 30, tzinfo=UTC)
THEMES = load_themes([bundled_folder("themes")])[0] | {"plain": load_themes([])[0]["terminal"]}
CONSTRUCTS = {
    "heading": "# {0}\n\n## {0}",
    "setext": "{0}\n===",
    "paragraph": "{0} and **{0}** and *{0}* and ~~{0}~~ and `{0}`",
    "list": "- {0}\n- [ ] {0}\n  - {0}\n\n    {0}",
    "ordered list": "7. {0}\n8. {0}",
    "quote": "> {0}\n> > {0}",
    "fence": "```python\n{0}\n```",
    "info of a fence": "```{0}\nx\n```",
    "indented code": "    {0}",
    "table": "| {0} | b |\n|---|---|\n| {0} | {0} |",
    "link": '[{0}](http://example.org/{0} "{0}") <{0}> [{0}]: {0}',
    "reference": "[{0}][r]\n\n[r]: {0}",
    "image": "![{0}]({0})",
    "html": '<b onclick="{0}">{0}</b>\n\n<script>{0}</script>',
    "entity": "&#27;[2J &#x9b;2J &#8238; {0}",
    "front matter": "---\nname: {0}\n---\n\n{0}",
}


def drawn(
    source: str, width: int, theme: str = "dusk", words: tuple[str, ...] = ()
) -> list[list[Segment]]:
    renderer = MarkdownRenderer(
        Palette(THEMES[theme]), width, words=words, definitions=link_definitions(source)
    )
    return [line for part in split_parts(source, markdown=True) for line in renderer.lines(part)]


def plain(source: str, width: int = 60, theme: str = "dusk") -> list[str]:
    return ["".join(s.text for s in line).rstrip() for line in drawn(source, width, theme)]


@pytest.mark.parametrize("construct", CONSTRUCTS)
@given(value=st.sampled_from(sorted(ALL.values())) | st.text(max_size=60), width=st.integers(4, 90))
def test_text_of_a_store_stays_text_in_every_construct(
    construct: str, value: str, width: int
) -> None:
    for line in drawn(CONSTRUCTS[construct].replace("{0}", value), width):
        whole = "".join(segment.text for segment in line)
        assert not FORBIDDEN & set(whole)
        assert "\n" not in whole
        assert text.width(whole) <= max(width, 4) + 1, repr(whole)
        for segment in line:
            assert segment.control is None
            assert not (segment.style and (segment.style.link or segment.style.meta))


@given(st.lists(st.sampled_from(list("ab1 *_`#>-|[]()\\~\n!.:<&=+ ")), max_size=120).map("".join))
@example("```a")
def test_no_word_is_lost(source: str) -> None:
    """Letters and digits of the source come up in their order, whatever the signs around them.

    But for the language of a block of code, which chooses its colours.
    """
    shown = re.sub(r"\W|_", "", "".join(plain(source, 200)))
    words = re.sub(r"\W|_", "", re.sub("((`|~){3,})[^`~\n]*", r"\1", source))
    rest = iter(shown)
    assert all(letter in rest for letter in words), (source, shown)


@given(st.lists(st.text(st.sampled_from("ab `~-\t#>")) | st.just("---")), st.booleans())
def test_parts_are_the_whole_text(lines: list[str], markdown: bool) -> None:
    source = "\n".join(line * 300 if len(line) == 9 else line for line in lines)
    assert "\n".join(split_parts(source, markdown=markdown)) == source


def test_constructs_look_like_what_they_are() -> None:
    source = (
        "# Plan\nFirst *line*\nsecond\n\n- one\n- two\n  - deep\n\n3. three\n\n> said\n\n"
        "| a | b |\n|---|---|\n| 1 | 22 |\n\n```\ncode\n```\n\n[site](http://x.org/y) "
        "![p](q.png)\n\n---"
    )
    assert plain(source, 30) == [
        "Plan",
        "────",
        "",
        "First line",
        "second",
        "",
        "• one",
        "• two",
        "  ◦ deep",
        "",
        "3. three",
        "",
        "▎ said",
        "",
        "a │ b",
        "──┼───",
        "1 │ 22",
        "",
        "│ code",
        "",
        "site (http://x.org/y) ▣ p",
        "(q.png)",
        "",
        "─" * 30,
    ]


@pytest.mark.parametrize(
    "kept",
    ["2*3*4", "__init__", r"C:\dir\file", "a_b_c", "<div>", "&nbsp;", "[[Note]]", r"\d+\.\d"],
)
def test_what_is_no_markup_is_kept(kept: str) -> None:
    assert f"use {kept} here" in " ".join(plain(f"**Note:** use {kept} here"))


def test_a_wide_table_in_a_narrow_pane_becomes_a_list() -> None:
    source = "|first|second|third|fourth|\n|-|-|-|-|\n|some words|more words|and|words again|"
    assert plain(source, 18) == [
        "first: some words",
        "second: more words",
        "third: and",
        "fourth: words",
        "again",
    ]


def test_code_is_highlighted_and_search_words_are_marked() -> None:
    palette = Palette(THEMES["dusk"])
    segments = [s for line in drawn("```python\ndef f(): return 'x'\n```", 60) for s in line]
    assert next(s.style for s in segments if s.text == "def") == palette.code("keyword")
    marked = [s for line in drawn("A **strong** tea", 60, words=("tea",)) for s in line]
    assert any(s.text == "tea" and s.style == palette.text + palette.match for s in marked)


def test_a_column_is_aligned_as_its_dashes_say() -> None:
    source = "|left|centre|right|\n|:-|:-:|-:|\n|a|b|1|\n|a word|in the middle|1,000|"
    assert plain(source) == [
        "left   │    centre     │ right",
        "───────┼───────────────┼──────",
        "a      │       b       │     1",
        "a word │ in the middle │ 1,000",
    ]


def test_lines_of_a_diff_have_the_colours_of_what_was_added_and_removed() -> None:
    palette = Palette(THEMES["dusk"])
    segments = [s for line in drawn("```diff\n-tea\n+coffee\n```", 60) for s in line]
    styles = {s.text: s.style for s in segments}
    assert styles["+coffee"] == palette.added
    assert styles["-tea"] is not None
    assert styles["-tea"].color == palette.removed.color
    assert plain("```diff\n-tea\n+coffee\n```", theme="plain") == ["│ -tea", "│ +coffee"]


def test_without_colours_inline_code_keeps_its_signs() -> None:
    assert plain("run `make all` now", theme="plain") == ["run `make all` now"]


@pytest.mark.parametrize(
    "plain_text", ["Alice lives in Lisbon", "a - b", "x < 3 > y", "12. May"[:2]]
)
def test_plain_text_is_not_taken_for_markdown(plain_text: str) -> None:
    assert not is_markdown(plain_text)


def big_note(kind: str) -> str:
    one = {
        "markdown": "## Section\n\nSome *text* with `code`.\n\n- a\n- b\n\n|a|b|\n|-|-|\n|1|2|\n\n",
        "one line": "word " * 20,
        "code": "x = 1\n",
        "brackets": "[" * 100,
    }[kind]
    whole = one * (1_000_000 // len(one))
    return f"```python\n{whole}```\n" if kind == "code" else f"**x** {whole}"


def detail(content: str, *, raw: bool = False) -> DetailLines:
    memory = Memory("a:1", "1", "a", "note", content=content)
    return MemoryDetail(memory, (), (), Palette(THEMES["dusk"]), NOW, 60, raw=raw).lines()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["markdown", "one line", "code", "brackets"])
def test_of_a_large_note_only_what_is_seen_is_drawn(kind: str) -> None:
    lines = detail(big_note(kind))
    lines.draw_to(40)
    assert len(lines._lines) > 40
    assert sum(len(line.words) for line in lines._lines) < 2 * MAX_LINE
    lines.draw_all()
    shown = [line.words for line in lines._lines]
    assert any("characters more: $PAGER shows the whole text" in line for line in shown)
    assert any("Id  1" in line for line in shown)


@given(
    source=st.lists(
        st.sampled_from(
            ["# a\n\n", "text text text " * 9 + "\n\n", "- a\n- b\n\n", "|a|b|\n|-|-|\n|1|2|\n\n"]
        ),
        min_size=3,
        max_size=60,
    ).map("".join),
    ends=st.lists(st.integers(0, 500), max_size=15),
)
def test_a_text_is_the_same_however_it_is_drawn(source: str, ends: list[int]) -> None:
    whole = drawn(source.strip("\n"), 58)
    lines = detail(source)
    for end in ends:
        lines.draw_to(end)
    lines.draw_all()
    shown = [line.words.rstrip() for line in lines._lines]
    expected = ["".join(s.text for s in line).rstrip() for line in whole]
    assert [line[1:] for line in shown[2:]][: len(expected)] == expected
