"""Themes: a colour and a style for each role, such as a match, a warning, a superseded memory.

A theme is a TOML file; its name is the file's. `[colours]` gives each role a paint:

    match = "bold #f2cd7f"          selection = "on #2d3446"          border = "#3b4150"

that is, words of bold, dim, italic, underline, reverse, a colour, and `on` a ground. A colour is
`#rrggbb` or one of the terminal's own sixteen (`ansi_blue`, `ansi_bright_blue`, `ansi_default`).
A role that is not given comes from `parent`, else from its fallback role, so that a theme can be
as short as background, text and accent. A file with a fault is reported once.

Nothing here imports Textual; `textual_values` makes the arguments of a Textual theme.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from msgspec import Struct, field

from memtui import toml_file
from memtui.errors import ConfigError, did_you_mean
from memtui.text import and_more, one_line

DEFAULT = "dusk"
MONO = "mono"
"""The theme without colours, built in; NO_COLOR chooses it."""
TERMINAL = "terminal"
"""The shipped theme of the terminal's own sixteen colours."""

ATTRIBUTES = ("bold", "dim", "italic", "underline", "reverse")
ANSI = tuple(
    f"ansi_{bright}{name}"
    for bright in ("", "bright_")
    for name in ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
)
"""The sixteen colours of a terminal, as Textual names them."""
ANSI_DEFAULT = "ansi_default"
"""The terminal's own text colour, or as a ground its own background."""

GROUNDS = ("background", "surface", "panel")
"""Roles that are a colour alone: the page, what lies on it, bars and boxes."""

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


class Paint(NamedTuple):
    """How something is drawn. Empty colours leave what is underneath."""

    colour: str = ""
    ground: str = ""
    attributes: tuple[str, ...] = ()
    """Values from `ATTRIBUTES`."""

    @property
    def style(self) -> str:
        """As a style definition of Rich: `bold #f2cd7f on #16181f`, `reverse`, `blue`."""
        words = [*self.attributes, self.colour, *(("on", self.ground) if self.ground else ())]
        return " ".join(word.removeprefix("ansi_") for word in words if word)


class Theme(Struct, frozen=True):
    """A paint for every role."""

    name: str
    paints: Mapping[str, Paint]
    """Every one of `ROLES`."""
    cycle: tuple[Paint, ...]
    """At least one."""
    types: Mapping[str, Paint] = field(default_factory=dict)
    """Type (lower case) -> a colour of its own."""
    title: str = ""
    about: str = ""
    dark: bool = True

    def __getitem__(self, role: str) -> Paint:
        return self.paints[role]

    def style(self, role: str) -> str:
        """Return Rich's style definition for a role."""
        return self.paints[role].style

    def type_paint(self, word: str) -> Paint:
        """Return the colour of a memory's type; the empty type is faint."""
        word = word.casefold()
        if not word:
            return self.paints["faint"]
        at = _SLOT.get(word)
        if at is None:
            at = crc32(word.encode("utf-8", "replace"))
        return self.types.get(word) or self.cycle[at % len(self.cycle)]

    @property
    def ansi(self) -> bool:
        """Whether it uses the terminal's own colours only."""
        return not any("#" in paint.style for paint in (*self.paints.values(), *self.cycle))


def mono() -> Theme:
    """Return the theme without colours, with bold, underline, reverse and dim only."""
    paints = {
        "background": Paint(colour=ANSI_DEFAULT),
        "text": Paint(),
        "faint": Paint(attributes=("dim",)),
        "border": Paint(attributes=("dim",)),
        "border-focus": Paint(attributes=("bold",)),
        "low": Paint(attributes=("dim",)),
        "retired": Paint(attributes=("dim",)),
        "added": Paint(attributes=("underline",)),
    }
    title, about = "Mono", "No colours; used where NO_COLOR is set"
    return Theme(MONO, complete(paints), (Paint(),), title=title, about=about)


def complete(chosen: Mapping[str, Paint], *, dark: bool = True) -> dict[str, Paint]:
    """Return a paint for every role: the chosen one, else that of its fallback."""
    paints = dict(chosen)
    if any("#" in paint.style for paint in chosen.values()):
        page, ink = ("#101216", "#e4e6ea") if dark else ("#fcfbf8", "#24262a")
    else:
        page, ink = ANSI_DEFAULT, ""
    paints.setdefault("background", Paint(page))
    paints.setdefault("text", Paint(ink))
    for role, (fallback, attributes) in FALLBACKS.items():
        if role not in paints:
            base = paints[fallback] if fallback else Paint()
            extra = tuple(dict.fromkeys((*base.attributes, *attributes.split())))
            paints[role] = base._replace(attributes=extra)
    return {role: paints[role] for role in ROLES}


_TEXTUAL = (
    *("text", "muted", "faint", "accent", "border", "border-focus", "warning", "error"),
    *("success", "selection-text", "thumb", "thumb-focus", "link"),
)


def textual_values(theme: Theme) -> dict[str, Any]:
    """Return the keyword arguments of `textual.theme.Theme` for this theme.

    The variables are those of our own sheets and of the widgets of Textual that memtui has.
    """
    plain = {name: theme[name].colour or ANSI_DEFAULT for name in (*GROUNDS, *_TEXTUAL)}
    ground = theme["selection"].ground or (plain["accent"] if theme.ansi else plain["panel"])
    return {
        "name": theme.name,
        "dark": theme.dark,
        "ansi": theme.ansi,
        **{name: plain[name] for name in GROUNDS},
        "foreground": plain["text"],
        "primary": plain["border-focus"],
        "secondary": plain["muted"],
        **{name: plain[name] for name in ("accent", "warning", "error", "success")},
        "variables": {
            "rule": plain["border"],
            "border": plain["border-focus"],
            "border-blurred": plain["border"],
            "faint": plain["faint"],
            "text-muted": plain["muted"],
            "text-disabled": plain["faint"],
            "input-cursor-background": plain["text"],
            "input-cursor-foreground": plain["background"],
            "input-cursor-text-style": "reverse" if theme.ansi else "none",
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


class Themes(NamedTuple):
    """All themes, and the faults of their files."""

    by_name: Mapping[str, Theme]
    problems: tuple[ConfigError, ...] = ()


def load_all(folders: Iterable[Path]) -> Themes:
    """Every `*.toml` in these folders, a later one in place of an earlier of the same name.

    Never raises. A file with one wrong colour is used without it; one that is no theme is not.
    """
    files: dict[str, Path] = {}
    problems: list[ConfigError] = []
    for folder in folders:
        try:
            files |= {path.stem: path for path in sorted(folder.glob("*.toml"))}
        except OSError as error:
            problems.append(ConfigError(f"cannot be read: {error.strerror}", where=str(folder)))
    files.pop(MONO, None)
    raw: dict[str, Mapping[str, Any]] = {}
    for name, path in files.items():
        values = _read(path)
        if isinstance(values, ConfigError):
            problems.append(values)
        else:
            raw[name] = values
    themes = {MONO: mono()}
    for name in raw:
        theme, faults = _theme(name, raw)
        themes[name] = theme
        if faults:
            problems.append(
                ConfigError(
                    f"{faults[0]}{and_more(len(faults) - 1)}",
                    where=str(files[name]),
                    do="the theme is used without it",
                )
            )
    return Themes(dict(sorted(themes.items())), tuple(problems))


def choose(name: str, themes: Themes, environ: Mapping[str, str]) -> tuple[Theme, str]:
    """Return the theme to use, and why it is not the one asked for ("" where it is).

    NO_COLOR in the environment always means no colour. Textual decides how to
    drop colours when its App is made and by the theme it has then: start it with
    `App(ansi_color=True)` when NO_COLOR is set, or it turns the terminal's own colours to black.
    """
    if "NO_COLOR" in environ:
        return themes.by_name[MONO], ""
    if name in themes.by_name:
        return themes.by_name[name], ""
    hint = did_you_mean(name, themes.by_name, lead="; ")
    used = themes.by_name.get(DEFAULT) or next(iter(themes.by_name.values()))
    return used, f"there is no theme {one_line(name)!r}{hint}"


def has_sixteen_colours(environ: Mapping[str, str]) -> bool:
    """Whether the terminal has no more than sixteen colours, by the variables Rich looks at.

    `rich.console.Console._detect_color_system` and `_TERM_COLORS`, Rich 15.0.
    """
    if environ.get("COLORTERM", "").strip().lower() in ("truecolor", "24bit"):
        return False
    term = environ.get("TERM", "").strip().lower()
    return bool(term) and term.rpartition("-")[2] not in ("256color", "kitty", "direct")


def _read(path: Path) -> Mapping[str, Any] | ConfigError:
    try:
        text = toml_file.read_text(path)
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
    except toml_file.BadToml as error:
        reason = f"is {error}"
    else:
        try:
            return toml_file.parse(text)
        except toml_file.BadToml as error:
            place = f" (line {error.line})" if error.line else ""
            reason = f"is not TOML: {error}{place}"
    return ConfigError(reason, where=str(path), do="the theme is left out")


def _theme(name: str, raw: Mapping[str, Mapping[str, Any]]) -> tuple[Theme, list[str]]:
    """Return the theme from its file and that of its parent, and the faults of its own file."""
    own = raw[name]
    faults: list[str] = []
    parent = own.get("parent")
    if parent == name:
        faults.append("is its own parent")
    elif parent is not None and parent not in raw:
        faults.append(f"parent {parent!r} is no theme")
    above: Mapping[str, Any] = {} if faults or parent is None else raw[parent]
    if "parent" in above:
        faults.append(f"parent {parent!r} has a parent of its own")
    paints: dict[str, Paint] = {}
    types: dict[str, Paint] = {}
    cycle: tuple[Paint, ...] = ()
    for values, found in ((above, []), (own, faults)):
        colours = _table(values, "colours", found)
        known: dict[str, Any] = {}
        for role, value in colours.items():
            if role in ROLES:
                known[role] = value
            elif role != "types":
                hint = did_you_mean(role, ROLES, lead=", ")
                found.append(f"{one_line(role)} is not a role{hint}")
        paints |= dict(_each(known, found))
        of_types = _each(_table(values, "types", found), found)
        types |= {word.casefold(): paint for word, paint in of_types}
        cycle = _cycle(colours, found) or cycle
    dark = bool(own.get("dark", above.get("dark", True)))
    theme = Theme(
        name,
        complete(paints, dark=dark),
        cycle or (Paint(),),
        types,
        title=one_line(str(own.get("title", name))),
        about=one_line(str(own.get("about", ""))),
        dark=dark,
    )
    colours_used = "".join(p.colour + p.ground for p in (*paints.values(), *cycle, *types.values()))
    if "#" in colours_used and "ansi_" in colours_used:
        faults.append("mixes colours of its own with the terminal's")
    return theme, faults


def _table(values: Mapping[str, Any], name: str, faults: list[str]) -> Mapping[str, Any]:
    table = values.get(name, {})
    if isinstance(table, dict):
        return table
    faults.append(f"{name} must be a table")
    return {}


def _each(values: Mapping[str, Any], faults: list[str]) -> Iterable[tuple[str, Paint]]:
    for name, value in values.items():
        try:
            paint = parse_paint(value)
            if name in GROUNDS and (paint.ground or paint.attributes):
                raise ValueError("is a colour alone")
            yield name, paint
        except ValueError as error:
            faults.append(f"{one_line(name)} {error}")


def _cycle(colours: Mapping[str, Any], faults: list[str]) -> tuple[Paint, ...]:
    values = colours.get("types", [])
    if not isinstance(values, list):
        faults.append("types must be a list of colours")
        return ()
    return tuple(
        paint for _, paint in _each({f"types {at}": v for at, v in enumerate(values, 1)}, faults)
    )


_HEX = re.compile(r"#(?:[0-9a-f]{3}){1,2}")


def parse_paint(value: Any) -> Paint:
    """Parse a paint of a theme file. Raises ValueError with the reason."""
    if not isinstance(value, str):
        raise ValueError("must be a colour in quotes")
    attributes: list[str] = []
    colours = {"colour": "", "ground": ""}
    place = "colour"
    for word in value.lower().split():
        if word == "on":
            place = "ground"
        elif word in ATTRIBUTES:
            attributes.append(word)
        elif _HEX.fullmatch(word) or word in ANSI or word == ANSI_DEFAULT:
            if colours[place]:
                raise ValueError("has two colours")
            colours[place] = "#" + "".join(c * 2 for c in word[1:]) if len(word) == 4 else word
        else:
            hint = did_you_mean(word, (*ANSI, ANSI_DEFAULT, *ATTRIBUTES), lead=", ")
            raise ValueError(f"{one_line(word)!r} is no colour{hint}")
    return Paint(colours["colour"], colours["ground"], tuple(dict.fromkeys(attributes)))
