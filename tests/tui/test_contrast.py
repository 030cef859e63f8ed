"""Every text of every theme can be read on what it stands on, and every sign can be seen.

WCAG 2.1, 1.4.3 (text, 4.5:1) and 1.4.11 (signs, 3:1). Themes of the terminal's own colours are
computed with the colours that xterm gives them on its black page.
"""

from __future__ import annotations

import pytest
from rich.color import Color
from rich.style import Style

from memtui import paths
from memtui.tui.appearance import Palette
from memtui.tui.themes import Theme, load_themes

STRONG, TEXT, SIGN = 7.0, 4.5, 3.0
THEMES, _ = load_themes([paths.bundled_folder("themes")])
XTERM = [
    *("#000000", "#cd0000", "#00cd00", "#cdcd00", "#0000ee", "#cd00cd", "#00cdcd", "#e5e5e5"),
    *("#7f7f7f", "#ff0000", "#00ff00", "#ffff00", "#5c5cff", "#ff00ff", "#00ffff", "#ffffff"),
]
"""Its sixteen colours (XTerm-col.ad)."""
TEXTS = (
    *("text", "muted", "faint", "accent", "title", "heading", "match", "link", "key", "chosen"),
    *("mark", "pin", "fresh", "warning", "error", "success", "high", "medium", "low", "active"),
    *("proposed", "superseded", "retired", "deleted", "added", "removed", "border-focus"),
)
"""Roles that are drawn on the page, in dialogs, and on the line of the cursor."""
SIGNS = ("thumb", "thumb-focus", "bar", "bar-cursor")
GROUNDS = ("background", "surface", "panel")
CURSORS = ("selection", "selection-blurred")
OWN = ("chip", "chip-label", "badge")
"""Roles with a ground of their own."""


def rgb(color: Color | None, default: str) -> tuple[int, int, int]:
    """The colour as a person sees it."""
    if color is None or color.is_default:
        color = Color.parse(default)
    if color.triplet is None:
        assert color.number is not None
        color = Color.parse(XTERM[color.number])
    assert color.triplet is not None
    return color.triplet.red, color.triplet.green, color.triplet.blue


def luminance(red: int, green: int, blue: int) -> float:
    def linear(value: int) -> float:
        share = value / 255
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)


def contrast(one: tuple[int, int, int], other: tuple[int, int, int]) -> float:
    low, high = sorted((luminance(*one), luminance(*other)))
    return (high + 0.05) / (low + 0.05)


def seen(style: Style, page: str, ink: str) -> float:
    """The contrast of a style on a page, with its own ground, reverse and dim applied.

    Dim is two thirds of the colour: xterm, VTE, Alacritty, and Textual's own filter (0.66).
    """
    front, back = rgb(style.color, ink), rgb(style.bgcolor, page)
    if style.dim:
        red, green, blue = (b + (f - b) * 2 // 3 for f, b in zip(front, back, strict=True))
        front = red, green, blue
    return contrast(front, back)  # reverse turns both round, which is the same


def pages(theme: Theme) -> tuple[str, str]:
    """The background and the colour of plain text."""
    if theme.ansi:
        return XTERM[0], XTERM[7]
    assert theme.background
    assert theme.foreground
    return theme.background, theme.foreground


def faults(theme: Theme, least_of_text: float = TEXT) -> list[str]:
    """What is too weak, with its contrast."""
    page, ink = pages(theme)
    style = theme.styles.__getitem__
    palette = Palette(theme)
    inks = {role: style(role) for role in TEXTS}
    inks |= {f"types[{n}]": style for n, style in enumerate(theme.cycle)}
    kinds = ("inline", "keyword", "string", "number", "name", "builtin", "operator", "comment")
    inks |= {f"code {kind}": palette.code(kind) for kind in kinds}
    grounds = {role: str(getattr(theme, role)) for role in GROUNDS}
    grounds = {
        role: page if colour.startswith("ansi") else colour for role, colour in grounds.items()
    }
    strong = {"text", "title", "selection-text", "match"} if not theme.ansi else ()
    found = [
        (f"{name} on {ground}", seen(look, colour, ink), STRONG if name in strong else TEXT)
        for name, look in inks.items()
        for ground, colour in grounds.items()
    ]
    for cursor in CURSORS:
        found += [
            (f"{name} on {cursor}", seen(look + style(cursor), page, ink), TEXT)
            for name, look in inks.items()
            if not style(cursor).reverse  # the list draws it without colours
        ]
        found.append((cursor, seen(style("text") + style(cursor), page, ink), TEXT))
        found += [
            (f"{role} on {cursor}", seen(style(role) + style(cursor), page, ink), SIGN)
            for role in ("bar",)
            if not style(cursor).reverse
        ]
    found += [(role, seen(style(role), page, ink), TEXT) for role in OWN]
    found += [
        (f"{role} on {ground}", seen(style(role), colour, ink), SIGN)
        for role in SIGNS
        for ground, colour in grounds.items()
    ]
    return [
        f"{name}: {value:.2f} < {least}"
        for name, value, least in found
        if value < (least if least != TEXT else least_of_text)
    ]


@pytest.mark.parametrize("name", sorted(THEMES))
def test_every_text_can_be_read_and_every_sign_be_seen(name: str) -> None:
    assert not faults(THEMES[name], STRONG if name == "contrast" else TEXT)
    if not THEMES[name].ansi:
        assert len({style.color for style in THEMES[name].cycle}) == 8
