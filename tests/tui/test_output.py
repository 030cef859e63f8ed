"""Only changed parts of lines are written, and the terminal still shows exactly what was meant."""

from __future__ import annotations

from typing import Any

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as some
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import LayoutUpdate
from textual.color import Color
from textual.geometry import Region
from textual.strip import Strip

from memtui.tui.output import NearestColours, ShownLines

COLUMNS, LINES = 24, 3
STYLES = [
    None,
    Style.parse("#112233 on #445566"),
    Style.parse("bold #112233 on #445566"),
    Style.parse("#aabbcc on #445566"),
    Style.parse("underline red"),
    Style.parse("reverse"),
    Style.parse("on #445566"),
    Style.parse("bold italic #aabbcc"),
    Style.parse("underline bold #112233 on #445566"),
    Style.parse("strike #112233 on #445566"),
]
CONSOLE = Console(color_system="truecolor", force_terminal=True)

words = some.text(some.sampled_from("ab  │◇…日😀é"), max_size=8)
pairs = some.tuples(words, some.sampled_from(STYLES))
segments = some.lists(pairs.map(lambda pair: Segment(*pair)), max_size=6)
frames = some.lists(some.lists(segments, min_size=LINES, max_size=LINES), min_size=1, max_size=5)


def strips(frame: list[list[Segment]]) -> list[list[Strip]]:
    """Two strips a line, as if two widgets stood side by side."""
    lines = [Strip(line).adjust_cell_length(COLUMNS) for line in frame]
    return [[line.crop(0, COLUMNS // 2), line.crop(COLUMNS // 2, COLUMNS)] for line in lines]


def shown(screen: pyte.Screen) -> list[list[tuple[object, ...]]]:
    """What can be seen of every cell: a blank has no colour of its own."""
    return [
        [
            (cell.data, cell.bg, cell.reverse, cell.underscore, cell.strikethrough)
            + (() if _is_blank(cell) else (cell.fg, cell.bold, cell.italics))
            for cell in (screen.buffer[y][x] for x in range(COLUMNS))
        ]
        for y in range(LINES)
    ]


def _is_blank(cell: Any) -> bool:
    return bool(cell.data == " " and not (cell.reverse or cell.underscore or cell.strikethrough))


def feed(screen: pyte.Screen, words: str) -> None:
    pyte.Stream(screen).feed(words)


@pytest.mark.slow
@given(frames)
def test_what_is_left_out_was_there_already(frames: list[list[list[Segment]]]) -> None:
    buffer = ShownLines()
    painted = pyte.Screen(COLUMNS, LINES)
    for frame in frames:
        update = LayoutUpdate(strips(frame), Region(0, 0, COLUMNS, LINES))
        feed(painted, buffer.reduced(update).render_segments(CONSOLE))
        whole = pyte.Screen(COLUMNS, LINES)
        feed(whole, update.render_segments(CONSOLE))
        assert shown(painted) == shown(whole)


narrow = some.text(some.sampled_from("ab│◇"), max_size=3)
pieces_of_words = some.tuples(narrow, some.integers(0, 9), some.sampled_from(STYLES)).map(
    lambda piece: Segment(piece[0] + " " * piece[1], piece[2])
)
places = some.dictionaries(
    some.integers(0, LINES - 1),
    some.tuples(some.integers(0, COLUMNS - 1), some.lists(pieces_of_words, min_size=1, max_size=4)),
)
"""What stands from a column of a line on."""


@pytest.mark.slow
@given(some.lists(places, min_size=1, max_size=6))
def test_pieces_anywhere_are_shown_as_if_written_one_by_one(
    frames: list[dict[int, tuple[int, list[Segment]]]],
) -> None:
    """However they overlap what is there."""
    buffer = ShownLines()
    painted, whole = pyte.Screen(COLUMNS, LINES), pyte.Screen(COLUMNS, LINES)
    for screen in (painted, whole):
        feed(screen, "\x1b[1;4;31;44m")  # what a shell has left on
        screen.erase_in_display(2)
    for frame in frames:
        cut = [(x, y, Strip(line).crop(0, COLUMNS - x)) for y, (x, line) in frame.items()]
        feed(painted, buffer.write(iter(cut), CONSOLE))
        for x, y, strip in cut:
            update = LayoutUpdate([[strip]], Region(x, y, strip.cell_length, 1))
            feed(whole, f"\x1b[0m{update.render_segments(CONSOLE)}")
        assert shown(painted) == shown(whole)


def update_of(*lines: str) -> LayoutUpdate:
    return LayoutUpdate(
        [[Strip([Segment(line, STYLES[1])])] for line in lines], Region(0, 0, 24, len(lines))
    )


def test_what_did_not_change_is_not_written() -> None:
    buffer = ShownLines()
    buffer.reduced(update_of("one line", "and another")).render_segments(CONSOLE)
    again = buffer.reduced(update_of("one line", "and another")).render_segments(CONSOLE)
    changed = buffer.reduced(update_of("one line", "and anothex")).render_segments(CONSOLE)
    assert again == ""
    assert "and anothex" in changed
    assert "one" not in changed


def test_a_frame_of_another_size_is_written_whole() -> None:
    """The last frame for the size before is cut by the edge of a terminal that is smaller now."""
    buffer, screen = ShownLines(), pyte.Screen(12, 1)
    buffer.reduced(update_of("left" + " " * 8 + "review")).render_segments(CONSOLE)
    feed(screen, "left" + " " * 7 + "w")
    narrow = LayoutUpdate([[Strip([Segment("left" + " " * 8, STYLES[1])])]], Region(0, 0, 12, 1))
    feed(screen, buffer.reduced(narrow).render_segments(CONSOLE))
    assert screen.display[0] == "left" + " " * 8


@pytest.mark.parametrize("wide", ["\U0001f469\U0001f3fd\u200d\U0001f4bb", "❤️", "日本", "🇪🇸"])
def test_a_character_that_the_terminal_draws_wider_shifts_nothing(wide: str) -> None:
    """The terminal of the test, like tmux, gives each part of a joined emoji its own cells."""
    buffer, screen = ShownLines(), pyte.Screen(COLUMNS, 1)
    pane = Strip([Segment("│ right   │", STYLES[3])])
    for left in (f"a {wide} b", "plain", f"{wide}", "plain again"):
        strip = Strip([Segment("│"), Segment(left, STYLES[1])]).adjust_cell_length(12)
        update = LayoutUpdate([[Strip([*strip, Segment("│")]), pane]], Region(0, 0, 24, 1))
        feed(screen, buffer.reduced(update).render_segments(CONSOLE))
        assert screen.display[0].endswith("││ right   │")
        cells = [screen.buffer[0][at].data for at in range(COLUMNS)]
        assert cells[12:16] == ["│", "│", " ", "r"]


@pytest.mark.parametrize(
    ("colour", "code"),
    [("#2b3347", "48;5;237"), ("#15181f", "48;5;234"), ("#8ab4e8", "48;5;110"), ("red", "41")],
)
def test_of_256_colours_the_nearest_is_taken(colour: str, code: str) -> None:
    """Rich gives a dark blue grey one of the cube, which is navy or teal."""
    console = Console(color_system="256", force_terminal=True)
    strip = Strip([Segment("words", Style.parse(f"on {colour}"))])
    filtered = strip.apply_filter(NearestColours(), Color(0, 0, 0))
    assert f"\x1b[{code}m" in filtered.render(console)


def test_after_another_program_wrote_everything_is_written_again() -> None:
    buffer = ShownLines()
    buffer.reduced(update_of("one line")).render_segments(CONSOLE)
    buffer.forget()
    assert "one line" in buffer.reduced(update_of("one line")).render_segments(CONSOLE)
