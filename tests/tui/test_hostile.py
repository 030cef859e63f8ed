"""Text from a store is data: it cannot act on the terminal, on the app, or hide."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from memtui import paths
from memtui.tui.output import DANGEROUS, OutputFilter
from tests.long_run import count
from tests.unit.sessions.transcripts import WRITERS, write_hostile

from .gallery import leave
from .session_stage import person
from .stage import Stage, fact, stage

HOSTILE = [
    "A\x1b[2J\x1b[HB clears the screen",
    "title \x1b]0;owned\x07 set",
    "clipboard \x1b]52;c;ZXZpbA==\x1b\\ set",
    "asks \x1b[6n the terminal",
    "C1 \x9b2J and \x90q\x9c",
    "link \x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "back\x08\x08\x08space and \x7f delete",
    "carriage\rreturn hides",
    "[b]bold[/b] [red]red[/red] [a]gone[/a] [/",
    "[@click=app.bell]press me[/]",
    "[link=http://evil.example]a link[/link]",
    "bidi \u202egnp.exe\u202c turned \u2066around\u2069",
    "zero\u200bwidth\u200djoined\u2060\ufeff",
    "tags \U000e0041\U000e0042\U000e0043 hidden",
    "variation \ufe0e\U000e0100 \u3164 \u115f \u2800 \u034f",
    "lone \ud83d surrogate",
    "combining e" + "\u0301" * 40,
    "wide 森の鐘 and 👩‍👩‍👧‍👦 family",
    "tab\there",
    "line\u2028separator\u2029s",
]
SCREENS: dict[str, list[str]] = {
    "list and detail": [],
    "detail": ["3", "G"],
    "entities": ["1"],
    "statistics": ["5"],
    "type picker": ["t"],
    "history": ["H"],
    "unreadable": ["U"],
    "search for it": ["/", "c", "l", "i", "enter"],
    "filter by it": ["1", "j", "enter"],
}


def hostile_store(tmp_path: Path) -> Path:
    """Every value as content, type and source; one file that cannot be read, with a bad name."""
    facts = [
        fact(n, value, "2026-11-20", value[:20], source=value)
        | {value[:12]: value, "deep": [value]}
        for n, value in enumerate(HOSTILE)
    ]
    facts.append(fact(99, HOSTILE[0] + "!", "2026-11-21", supersedes=0))
    root = tmp_path / "memory"
    folder = root / "entities" / "e\x1b[31mvil [b]x"
    folder.mkdir(parents=True)
    text = json.dumps(facts, indent=1)
    (folder / "items.json").write_text(text, encoding="utf-8")
    broken = root / "entities" / "bro\x1b]0;xken"
    broken.mkdir()
    (broken / "items.json").write_text("[{", encoding="utf-8")
    return root


def segments(on: Stage) -> Iterator[Segment]:
    for strip in on.app.screen._compositor.render_strips():
        yield from strip


def assert_harmless(on: Stage, *, backstop: bool) -> None:
    for text, style, control in segments(on):
        assert not control
        assert not DANGEROUS.search(text), repr(text)
        if style is not None:
            assert not style.link
            assert not any("click" in key for key in style.meta)
    if not backstop:
        assert on.app.backstop.hits == 0, "a call of text.visible is missing"


@pytest.mark.slow
async def test_no_screen_lets_hostile_text_act(tmp_path: Path) -> None:
    """Layer 1 alone: the backstop finds nothing to do."""
    async with stage(hostile_store(tmp_path), (160, 45)) as on:
        for keys in SCREENS.values():
            await on.press("2", *keys)
            await on.still()
            assert_harmless(on, backstop=False)
            await leave(on)


@pytest.mark.slow
async def test_every_value_can_be_looked_at(tmp_path: Path) -> None:
    """Each memory in turn under the cursor, its detail scrolled to the end."""
    async with stage(hostile_store(tmp_path), (100, 40)) as on:
        for _ in range(len(HOSTILE)):
            await on.press("j")
            on.browse.detail.scroll_lines(30)
            await on.settle()
            assert_harmless(on, backstop=False)
            assert on.browse.detail.memory is not None


@pytest.mark.slow
async def test_markup_is_shown_as_it_is(tmp_path: Path) -> None:
    async with stage(hostile_store(tmp_path), (160, 45)) as on:
        await on.press("/")
        await on.type("press me")
        await on.press("enter")
        await on.sees("[@click=app.bell]press me[/]")


async def test_hidden_characters_are_counted(tmp_path: Path) -> None:
    async with stage(hostile_store(tmp_path), (160, 45)) as on:
        await on.press("/")
        await on.type("turned")
        await on.press("enter")
        await on.sees("hidden character")


async def test_toasts_take_no_markup(tmp_path: Path) -> None:
    async with stage(hostile_store(tmp_path), toasts=True) as on:
        on.app.notify("[b]x[/b] \x1b[2J [@click=app.bell]y[/]")
        await on.sees("[b]x[/b]")
        assert_harmless(on, backstop=False)


def test_the_backstop_alone_deletes_what_would_act() -> None:
    """Layer 2 alone, over raw text as if every other call were missing."""
    backstop = OutputFilter()
    for value in HOSTILE:
        raw = [Segment("fine"), Segment(value, Style(link="http://x\x1b]0;y\x07"))]
        for text, style, _ in backstop.apply(raw, Color(0, 0, 0)):
            assert not DANGEROUS.search(text)
            assert style is None or not style.link
    assert backstop.hits == len(HOSTILE)


def test_the_backstop_leaves_clean_lines_alone() -> None:
    line = [Segment("森の鐘 é ◆ 👩", Style(bold=True)), Segment("plain")]
    backstop = OutputFilter()
    assert backstop.apply(line, Color(0, 0, 0)) is line
    assert backstop.hits == 0


@pytest.mark.slow
async def test_sessions_of_every_program(root: Path, tmp_path: Path) -> None:
    """The list of sessions, what is found in them, the passage and sessions as a reader: of every
    third program in the usual run, since it is one reader, and of all in the long one."""
    home = tmp_path / "home"
    write_hostile(home)
    with person(home, *WRITERS) as settings:
        config_file = paths.config_file()
        async with stage(root, (160, 45), settings=settings, config_file=config_file) as on:
            await on.press("\\", "enter")
            await on.sees(f"{len(WRITERS)} sessions")
            assert_harmless(on, backstop=False)
            await on.press("p")
            await on.sees("[✓] pi")
            assert_harmless(on, backstop=False)
            await on.press("escape", "/", *"invoices", "enter")
            await on.sees(f"{len(WRITERS)} messages")
            for number in range(len(WRITERS)):
                await on.sees("Please keep invoices")
                assert_harmless(on, backstop=False)
                if number % count(3, 1) == 0:
                    await on.press("enter")
                    await on.sees("[ ] your words")
                    await on.press("t", "G")
                    assert_harmless(on, backstop=False)
                    await on.press("escape", "escape")
                await on.press("j")
