"""The colours that a person sees, theme by theme, read off the screen's own SVG picture."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from memtui import paths
from memtui.tui.themes import load_themes

from .stage import stage, write_store

COLOURED = {
    name: theme
    for name, theme in load_themes([paths.bundled_folder("themes")])[0].items()
    if not theme.ansi
}


def fills_of(svg: str) -> dict[str, str]:
    """Text on the picture -> its colour; of equal texts the last, below the search line."""
    colours = dict(re.findall(r"\.(\S+?) \{ fill: (#[0-9a-f]{6})", svg))
    fills: dict[str, str] = {}
    for kind, text in re.findall(r'<text class="(\S+)"[^>]*>([^<]*)</text>', svg):
        words = unescape(text).replace("\xa0", " ").strip()
        if kind in colours:
            fills[words] = colours[kind]
    return fills


def same(one: str, other: str) -> bool:
    """Equal but for the last bit that blending costs."""
    pairs = zip(bytes.fromhex(one[1:]), bytes.fromhex(other[1:]), strict=True)
    return all(abs(a - b) <= 1 for a, b in pairs)


async def picture(root: Path, theme: str) -> str:
    async with stage(root, (120, 35), theme=theme) as on:
        await on.press("/")
        await on.type("tea")
        await on.press("enter")
        await on.still()
        return on.app.export_screenshot()


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(COLOURED))
async def test_the_picture_has_the_colours_of_the_theme(tmp_path: Path, name: str) -> None:
    theme = COLOURED[name]
    svg = await picture(write_store(tmp_path / "store"), name)
    fills = fills_of(svg)

    def colour(meaning: str) -> str:
        ink = theme.styles[meaning].color
        assert ink is not None
        return ink.name

    assert same(fills["tea"], colour("match"))
    assert same(fills["2 Memories"], colour("border-focus"))
    assert same(fills["/"], colour("key"))
    assert not same(fills["/"], fills["search"])
    assert colour("background") in svg.lower()


@pytest.mark.slow
async def test_a_theme_without_colours_of_its_own_still_makes_a_picture(tmp_path: Path) -> None:
    svg = await picture(write_store(tmp_path / "store"), "terminal")
    fills = fills_of(svg)
    assert {"tea", "2 Memories"} <= set(fills)
    own = {
        colour.name
        for theme in COLOURED.values()
        for style in theme.styles.values()
        for colour in (style.color, style.bgcolor)
        if colour
    }
    assert not own & set(fills.values())
