"""The colours that a person sees, theme by theme, read off the screen's own SVG picture."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from memtui import paths, themes
from memtui.themes import Theme

from .stage import stage, write_store

COLOURED = {
    name: theme
    for name, theme in themes.load_all([paths.bundled_folder("themes")]).by_name.items()
    if theme.paints["background"].ground.startswith("#")
    or theme.paints["background"].colour.startswith("#")
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
    theme: Theme = COLOURED[name]
    svg = await picture(write_store(tmp_path / "store"), name)
    fills = fills_of(svg)

    def colour(meaning: str) -> str:
        return theme.paints[meaning].colour.lower()

    assert same(fills["tea"], colour("match"))
    assert same(fills["2 Memories"], colour("border-focus"))
    assert same(fills["/"], colour("key"))
    assert not same(fills["/"], fills["search"])
    background = theme.paints["background"]
    assert (background.ground or background.colour).lower() in svg.lower()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["terminal", themes.MONO])
async def test_a_theme_without_colours_of_its_own_still_makes_a_picture(
    tmp_path: Path, name: str
) -> None:
    svg = await picture(write_store(tmp_path / "store"), name)
    fills = fills_of(svg)
    assert {"tea", "2 Memories"} <= set(fills)
    own = {
        fill
        for theme in COLOURED.values()
        for paint in theme.paints.values()
        for fill in (paint.colour.lower(), paint.ground.lower())
        if fill
    }
    assert not own & set(fills.values())
