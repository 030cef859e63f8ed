"""Themes: Textual themes that also have a Rich style for each role, such as a match or a warning.

A theme is a TOML file; its name is the file's. `[colours]` gives each role a style in Rich's words:

    match = "bold #f2cd7f"          selection = "on #2d3446"          border = "#3b4150"

A colour is `#rrggbb` or one of the terminal's own sixteen (`ansi_blue`, `ansi_bright_blue`,
`ansi_default`). A role that is not given has the style of its fallback role, so that a theme can be
as short as background, text and accent. A file with faults is reported once and used without them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

from rich.color import Color, ColorType
from rich.errors import StyleSyntaxError
from rich.style import Style
from textual.theme import Theme as TextualTheme

from memtui import toml_file
from memtui.errors import ConfigError, did_you_mean
from memtui.text import and_more, one_line

DEFAULT = "dusk"
TERMINAL = "terminal"
"""The shipped theme of the terminal's own sixteen colours."""

FALLBACKS: Mapping[str, tuple[str, str]] = {
    "surface": ("background", ""),
    "panel": ("surface", ""),
    "muted": ("text", ""),
    "faint": ("muted", ""),
    "accent": ("text", ""),
    "border": ("faint", ""),
    "border-focus": ("accent", ""),
    "title": ("text", "bold"),
    "heading": ("muted", "bold"),
    "match": ("accent", "bold underline"),
    "link": ("accent", "underline"),
    "key": ("accent", "bold"),
    "selection": ("", "reverse"),
    "selection-blurred": ("", "underline"),
    "selection-text": ("text", "bold"),
    "chosen": ("accent", "bold"),
    "chip": ("text", "reverse"),
    "chip-label": ("chip", ""),
    "mark": ("accent", "bold"),
    "pin": ("mark", ""),
    "fresh": ("accent", "bold"),
    "warning": ("accent", "bold"),
    "error": ("warning", ""),
    "success": ("accent", ""),
    "badge": ("warning", "reverse"),
    "high": ("accent", "bold"),
    "medium": ("text", ""),
    "low": ("faint", ""),
    "active": ("success", ""),
    "proposed": ("warning", ""),
    "superseded": ("muted", ""),
    "retired": ("faint", ""),
    "deleted": ("error", ""),
    "added": ("success", ""),
    "removed": ("error", ""),
    "bar": ("accent", ""),
    "bar-cursor": ("match", ""),
    "thumb": ("border", ""),
    "thumb-focus": ("border-focus", ""),
}
"""Role -> its fallback role, and the attributes added to it."""
ROLES = ("background", "text", *FALLBACKS)

COLOURLESS: Mapping[str, Any] = {
    "about": "No colours; used where NO_COLOR is set",
    "colours": {"faint": "dim", "border": "dim", "border-focus": "bold", "added": "underline"},
}
"""Values of the theme that is there without any file."""

_RELATED_TYPES = (
    "decision architecture design choice",
    "person people preference identity profile user",
    "fact knowledge discovery learning concept observation file-context reference tacit",
    "policy convention pattern rule guideline constraint",
    "bug bugfix incident error error-resolution problem issue",
    "goal project task task-update plan milestone todo",
    "event episode session session-summary journal daily note summary meeting",
    "company organization team place config procedure tool workflow lesson",
)
"""Types that share a colour of the cycle; all others go by their name."""
_SLOT = {word: at for at, words in enumerate(_RELATED_TYPES) for word in words.split()}


@dataclass
class Theme(TextualTheme):
    """A Textual theme with a Rich style for every role."""

    styles: Mapping[str, Style] = field(default_factory=dict)
    """Every one of `ROLES`."""
    cycle: Sequence[Style] = (Style.null(),)
    """Colours of types and programs; at least one."""
    types: Mapping[str, Style] = field(default_factory=dict)
    """Type (lower case) -> a style of its own."""
    about: str = ""

    def type_style(self, word: str) -> Style:
        """Return the style of a memory's type; the empty type is faint."""
        word = word.casefold()
        if not word:
            return self.styles["faint"]
        at = _SLOT.get(word)
        if at is None:
            at = crc32(word.encode("utf-8", "replace"))
        return self.types.get(word) or self.cycle[at % len(self.cycle)]


def load_themes(folders: Iterable[Path]) -> tuple[dict[str, Theme], list[ConfigError]]:
    """Return the theme of every `*.toml` in these folders, and one problem for each faulty file.

    A file takes the place of one of the same name in an earlier folder. Never raises: what is
    wrong in a file is left out; without any file there is `TERMINAL`, which then has no colours.
    """
    files: dict[str, Path] = {}
    problems: list[ConfigError] = []
    for folder in folders:
        try:
            files |= {path.stem: path for path in sorted(folder.glob("*.toml"))}
        except OSError as error:
            problems.append(ConfigError(f"cannot be read: {error.strerror}", where=str(folder)))
    themes = {TERMINAL: make_theme(TERMINAL, COLOURLESS)[0]}
    for name, path in files.items():
        values = _read(path)
        if isinstance(values, ConfigError):
            problems.append(values)
            continue
        themes[name], faults = make_theme(name, values)
        if faults:
            reason = f"{faults[0]}{and_more(len(faults) - 1)}"
            do = "the theme is used without it"
            problems.append(ConfigError(reason, where=str(path), do=do))
    return dict(sorted(themes.items())), problems


def _read(path: Path) -> Mapping[str, Any] | ConfigError:
    try:
        return toml_file.parse(toml_file.read_text(path))
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
    except toml_file.BadToml as error:
        place = f" (line {error.line})" if error.line else ""
        reason = f"is not TOML: {error}{place}"
    return ConfigError(reason, where=str(path), do="the theme is left out")


def make_theme(name: str, values: Mapping[str, Any]) -> tuple[Theme, list[str]]:
    """Return the theme of a file's values, and what is wrong with them."""
    faults = [
        f"{one_line(key)} is no part of a theme"
        for key in values.keys() - {"title", "about", "dark", "colours", "types"}
    ]

    def styles(found: object, known: Iterable[str] | None = None) -> Iterator[tuple[str, Style]]:
        for role, words in found.items() if isinstance(found, dict) else ():
            if known is not None and role not in known:
                hint = did_you_mean(role, known, lead=", ")
                faults.append(f"{one_line(role)} is not a role{hint}")
                continue
            try:
                yield role, parse_style(words)
            except ValueError as error:
                faults.append(f"{one_line(role)}: {error}")

    colours = values.get("colours", {})
    if not isinstance(colours, dict):
        faults.append("colours must be a table")
        colours = {}
    cycle = colours.get("types", [])
    if not isinstance(cycle, list):
        faults.append("types must be a list of colours")
        cycle = []
    own = dict(styles({role: words for role, words in colours.items() if role != "types"}, ROLES))
    numbered = dict(styles({f"types {number}": words for number, words in enumerate(cycle, 1)}))
    types = {word.casefold(): style for word, style in styles(values.get("types", {}))}
    used = [*own.values(), *numbered.values(), *types.values()]
    is_ansi = not any(
        colour is not None and colour.type not in (ColorType.DEFAULT, ColorType.STANDARD)
        for style in used
        for colour in (style.color, style.bgcolor)
    )
    is_dark = values.get("dark") is not False
    theme = Theme(
        **_textual_values(complete(own, dark=is_dark, ansi=is_ansi), is_ansi),
        name=name,
        dark=is_dark,
        ansi=is_ansi,
        styles=complete(own, dark=is_dark, ansi=is_ansi),
        cycle=tuple(numbered.values()) or (Style.null(),),
        types=types,
        about=one_line(str(values.get("about", ""))),
    )
    return theme, faults


def parse_style(words: object) -> Style:
    """Parse the style of a role. Raises ValueError with the reason."""
    if not isinstance(words, str):
        raise ValueError("must be a colour in quotes")
    rich = re.sub(r"\bansi_", "", words.lower())
    rich = re.sub(r"#([0-9a-f])([0-9a-f])([0-9a-f])\b", r"#\1\1\2\2\3\3", rich)
    try:
        style = Style.parse(rich or "none")
    except StyleSyntaxError as error:
        raise ValueError(one_line(str(error))) from None
    if style.link:
        raise ValueError("a link is no style")
    return style


def complete(own: Mapping[str, Style], *, dark: bool, ansi: bool) -> dict[str, Style]:
    """Return a style for every role: its own, else that of its fallback."""
    page, ink = ("#101216", "#e4e6ea") if dark else ("#fcfbf8", "#24262a")
    base = ("default", "none") if ansi else (page, ink)
    styles = {"background": Style.parse(base[0]), "text": Style.parse(base[1]), **own}
    for role, (fallback, attributes) in FALLBACKS.items():
        if role not in styles:
            styles[role] = styles.get(fallback, Style.null()) + Style.parse(attributes or "none")
    return styles


def _textual_values(styles: Mapping[str, Style], is_ansi: bool) -> dict[str, Any]:
    """Return the colours of a Textual theme.

    The variables are those of our own sheets and of the widgets of Textual that memtui has.
    """
    plain = {role: _textual_colour(style.color) for role, style in styles.items()}
    selection = styles["selection"].bgcolor
    ground = plain["accent" if is_ansi else "panel"]
    if selection is not None:
        ground = _textual_colour(selection)
    same = ("background", "surface", "panel", "accent", "warning", "error", "success")
    return {
        **{role: plain[role] for role in same},
        "foreground": plain["text"],
        "primary": plain["border-focus"],
        "secondary": plain["muted"],
        "variables": {
            "rule": plain["border"],
            "border": plain["border-focus"],
            "border-blurred": plain["border"],
            "faint": plain["faint"],
            "text-muted": plain["muted"],
            "text-disabled": plain["faint"],
            "input-cursor-background": plain["text"],
            "input-cursor-foreground": plain["background"],
            "input-cursor-text-style": "reverse" if is_ansi else "none",
            "input-selection-background": ground,
            "input-selection-foreground": plain["selection-text"],
            "screen-selection-background": ground,
            "screen-selection-foreground": plain["selection-text"],
            "scrollbar": plain["thumb"],
            "scrollbar-hover": plain["thumb-focus"],
            "scrollbar-active": plain["thumb-focus"],
            "scrollbar-background": plain["background"],
            "scrollbar-background-hover": plain["background"],
            "scrollbar-background-active": plain["background"],
            "scrollbar-corner-color": plain["background"],
            "link-color": plain["link"],
            # Textual's own sheets ask for it when a theme is the terminal's.
            "ansi-background": plain["background"],
        },
    }


def _textual_colour(colour: Color | None) -> str:
    if colour is None or colour.is_default:
        return "ansi_default"
    if colour.type is ColorType.STANDARD:
        return f"ansi_{colour.name}"
    return colour.get_truecolor().hex
