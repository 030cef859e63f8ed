"""Two versions of a text as one: all words of both are there, what differs is marked."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment

from memtui import text
from memtui.paths import bundled_folder
from memtui.testing.hostile_values import ALL, FORBIDDEN
from memtui.tui.appearance import Palette
from memtui.tui.diff_lines import BOTH_SIDES, DiffLine
from memtui.tui.themes import load_themes
from memtui.tui.widgets.diff_view import draw_diff, draw_text, draw_text_diff

PALETTE = Palette(load_themes([bundled_folder("themes")])[0]["dusk"])
NOTE = """# Ledger

Use **Postgres** for the `ledger`, see [the notes](https://example.org/ledger).

- open the account
- update the balance

| store | rows |
| --- | ---: |
| ledger | 33000 |

```python
def add(cents): return cents
```
"""
words = st.sampled_from(
    ["tea", "milk", "2*3*4", "__init__", "`x`", "**now**", "a|b", "[l](u)", "_"]
)
line = st.tuples(
    st.sampled_from(["", "", "- ", "1. ", "# ", "## ", "> ", "    ", "| ", "---", "  - "]),
    st.lists(words, max_size=4).map(" ".join),
).map("".join)
notes = st.lists(line | st.just("```"), max_size=8).map("\n".join)


def kind(segment: Segment) -> str:
    colour = segment.style.color if segment.style else None
    if colour is not None and colour == PALETTE.added.color:
        return "new"
    return "gone" if colour is not None and colour == PALETTE.removed.color else "same"


def marked(
    before: str, after: str, width: int = 60, shown: frozenset[str] = BOTH_SIDES
) -> list[str]:
    """The lines as drawn, with what differs as [-gone-] or {+new+}."""
    signs = {"same": "{}", "gone": "[-{}-]", "new": "{{+{}+}}"}
    lines = draw_text_diff(before, after, PALETTE, width, shown)
    drawn = ["".join(signs[kind(s)].format(s.text) for s in each) for each in lines]
    return [re.sub(r"-\]( ?)\[-|\+\}( ?)\{\+", r"\1\2", each).rstrip() for each in drawn]


def drawn_text(lines: list[list[Segment]], without: str) -> str:
    return "".join(s.text for each in lines for s in each if kind(s) != without)


def letters(words: str) -> str:
    return "".join(c for c in words if c.isalpha())


@pytest.mark.parametrize(
    ("old", "new", "seen"),
    [
        ("**Postgres**", "**SQLite**", "Use **[-Postgres-] {+SQLite+}** for the `ledger`"),
        ("open the account", "open an account", "- open [-the-] {+an+} account"),
        ("33000", "120", "| ledger | [-33000-] {+120+} |"),
        ("- update the balance\n", "", "[-- update the balance-]"),
        ("return cents", "return euros", "def add(cents): return [-cents-] {+euros+}"),
    ],
)
def test_what_differs_is_marked_in_the_source(old: str, new: str, seen: str) -> None:
    shown = "\n".join(marked(NOTE, NOTE.replace(old, new), width=80))
    assert seen in shown
    assert "| --- | ---: |" in shown


def test_beside_each_other_each_side_has_its_own_words() -> None:
    other = NOTE.replace("Postgres", "SQLite").replace("- open the account\n", "")
    left = "\n".join(marked(NOTE, other, shown=frozenset({"gone"})))
    right = "\n".join(marked(NOTE, other, shown=frozenset({"new"})))
    assert "Use **[-Postgres-]** for the" in left
    assert "[-- open the account-]" in left
    assert "Use **{+SQLite+}** for the" in right
    assert "open" not in right
    assert "SQLite" not in left


@given(before=notes, after=notes, width=st.integers(12, 80))
def test_both_texts_can_be_read_in_the_difference(before: str, after: str, width: int) -> None:
    lines = draw_text_diff(before, after, PALETTE, width)
    for source, without in ((before, "new"), (after, "gone")):
        assert sorted(letters(source)) == sorted(letters(drawn_text(lines, without)))
    assert all(sum(text.width(s.text) for s in each) <= width for each in lines)


@given(before=notes, after=notes)
def test_a_change_of_words_is_never_hidden(before: str, after: str) -> None:
    changed = before.split() != after.split()
    lines = draw_text_diff(before, after, PALETTE, 60)
    assert any(kind(s) != "same" for each in lines for s in each) or not changed


@given(note=notes)
def test_without_a_change_nothing_is_marked(note: str) -> None:
    lines = draw_text_diff(note, note, PALETTE, 60)
    assert lines == draw_text(note, PALETTE, 60)
    assert all(kind(s) == "same" for each in lines for s in each)


@given(value=st.sampled_from(sorted(ALL.values())) | st.text(max_size=60))
def test_text_of_a_store_stays_text(value: str) -> None:
    for lines in (
        draw_text_diff(f"# {value}\n\n- a", f"# a\n\n- {value}", PALETTE, 40),
        draw_text_diff(NOTE, NOTE.replace("Postgres", value), PALETTE, 40),
    ):
        for segment in (segment for each in lines for segment in each):
            assert not FORBIDDEN & set(segment.text)
            assert not (segment.style and (segment.style.link or segment.style.meta))


@given(
    words=st.lists(st.sampled_from(["tea", "日本語の文", '"status":', "x" * 90, "  ", "\u0301"])),
    indent=st.integers(0, 60),
    width=st.integers(12, 80),
)
def test_a_line_of_a_diff_is_wrapped_at_words(words: list[str], indent: int, width: int) -> None:
    line = " " * indent + " ".join(words)
    drawn = draw_diff(DiffLine("new", line), PALETTE, width)
    rows = ["".join(segment.text for segment in row) for row in drawn]
    assert max(text.width(row) for row in rows) <= width
    assert "".join("".join(rows).split()) == "+" + "".join(line.split()), "nothing is lost"
    for word in ("tea", '"status":'):
        assert " ".join(rows).count(word) == line.count(word), "no short word is cut in two"
    if words and indent < (width - 3) // 2:
        assert rows[0].startswith(" + " + " " * indent)


def test_changed_words_of_a_wrapped_line_stay_marked() -> None:
    pieces = (
        (False, '"at": '),
        (True, '"2026-11-23"'),
        (False, ', "status": '),
        (True, '"retired"'),
    )
    line = DiffLine("new", "".join(words for _, words in pieces), pieces)
    drawn = draw_diff(line, PALETTE, 24)
    assert len(drawn) > 1
    marked = [piece.text for row in drawn for piece in row if piece.style and piece.style.reverse]
    assert "".join(marked) == '"2026-11-23""retired"'
