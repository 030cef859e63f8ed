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
from memtui.tui.appearance import ThemeRegistry
from memtui.tui.markdown_lines import MarkdownRenderer
from memtui.tui.memory_detail import DetailLines, MemoryDetail
from memtui.tui.text_blocks import MAX_BLOCK_CHARS, is_markdown, link_definitions, split_blocks

NOW = datetime(2026, 3, 30, tzinfo=UTC)
PALETTES = ThemeRegistry([bundled_folder("themes")])
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
        PALETTES.palette(theme), width, words=words, definitions=link_definitions(source)
    )
    return [line for block in split_blocks(source) for line in renderer.lines(block)]


def plain(source: str, width: int = 60, theme: str = "dusk") -> list[str]:
    return ["".join(s.text for s in line).rstrip() for line in drawn(source, width, theme)]


@pytest.mark.slow
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


@given(st.text(st.sampled_from("ab `~-\n\t#>"), max_size=200))
def test_blocks_are_the_whole_text(source: str) -> None:
    joined = "\n".join("\n" * block.blanks + block.text for block in split_blocks(source))
    shown = [line.rstrip() for line in joined.rstrip().split("\n")]
    assert shown == [line.rstrip() for line in source.rstrip().split("\n")] or not source.strip()


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
    palette = PALETTES.palette("dusk")
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
    palette = PALETTES.palette("dusk")
    segments = [s for line in drawn("```diff\n-tea\n+coffee\n```", 60) for s in line]
    styles = {s.text: s.style for s in segments}
    assert styles["+coffee"] == palette.added
    assert styles["-tea"] is not None
    assert styles["-tea"].color == palette.removed.color
    assert plain("```diff\n-tea\n+coffee\n```", theme="mono") == ["│ -tea", "│ +coffee"]


def test_without_colours_inline_code_keeps_its_signs() -> None:
    assert plain("run `make all` now", theme="mono") == ["run `make all` now"]


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
    return MemoryDetail(memory, (), (), PALETTES.palette("dusk"), NOW, 60, raw=raw).lines()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["markdown", "one line", "code", "brackets"])
def test_of_a_large_note_only_what_is_seen_is_drawn(kind: str) -> None:
    lines = detail(big_note(kind))
    body = lines._body
    lines.settle(0, 40)
    assert (
        0
        < sum(len(b.text) for n, b in enumerate(body._blocks) if n in body._drawn)
        < 4 * MAX_BLOCK_CHARS
    )
    top = lines.settle(len(lines), 40)
    assert top == len(lines) - 40
    drawn_blocks = sum(len(body._blocks[n].text) for n in body._drawn)
    assert drawn_blocks < 10 * MAX_BLOCK_CHARS
    assert "Kind" in "".join(s.text for n in range(top, len(lines)) for s in lines[n].segments)


@pytest.mark.slow
@given(
    source=st.lists(
        st.sampled_from(
            ["# a\n\n", "text text text " * 9 + "\n\n", "- a\n- b\n\n", "|a|b|\n|-|-|\n|1|2|\n\n"]
        ),
        min_size=3,
        max_size=60,
    ).map("".join),
    moves=st.lists(st.integers(-30, 30) | st.just(10_000) | st.just(-10_000), max_size=15),
)
def test_scrolling_never_skips_a_line(source: str, moves: list[int]) -> None:
    """Seen line by line from anywhere to the end, a text is what it is drawn whole."""
    lines, rows, top = detail(source), 10, 0
    whole = detail(source)
    for at in range(len(whole) * 3):
        whole.settle(min(at, len(whole) - rows), rows)
    expected = [whole[at] for at in range(len(whole))]
    top = lines.settle(0, rows)
    for move in moves:
        top = max(0, min(top + move, len(lines) - rows))
        top = lines.settle(top, rows)
        assert 0 <= top <= max(0, len(lines) - rows)
    while top:
        view = [lines[at] for at in range(top, min(len(lines), top + rows))]
        before, top = top, lines.settle(top - 1, rows)
        assert [lines[at] for at in range(top + 1, min(len(lines), top + rows))] == view[
            : rows - 1
        ], before
    for at in range(len(lines)):
        lines.settle(min(at, len(lines) - rows), rows)
    assert [lines[at] for at in range(len(lines))] == expected
