"""Read theme files; a wrong colour or file is reported and left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from memtui import toml_file
from memtui.errors import ConfigError, did_you_mean
from memtui.text import and_more, one_line
from memtui.themes.theme import (
    ANSI,
    ANSI_DEFAULT,
    ATTRIBUTES,
    DEFAULT,
    GROUNDS,
    MONO,
    ROLES,
    Paint,
    Theme,
    complete,
    mono,
)


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
            problems.append(_one_problem(files[name], faults))
    return Themes(dict(sorted(themes.items())), tuple(problems))


def choose(name: str, themes: Themes, environ: Mapping[str, str]) -> tuple[Theme, str]:
    """Return the theme to use, and why it is not the one asked for ("" where it is).

    NO_COLOR in the environment always means no colour. Textual decides how to
    drop colours when its App is made and by the theme it has then: start it with
    `App(ansi_color=True)` when NO_COLOR is set, or it turns the terminal's own colours to black.
    """
    if wants_no_colour(environ):
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


def wants_no_colour(environ: Mapping[str, str]) -> bool:
    """Whether NO_COLOR (no-color.org) is set; an empty value counts, as it does for Textual."""
    return "NO_COLOR" in environ


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


def _one_problem(path: Path, faults: Sequence[str]) -> ConfigError:
    return ConfigError(
        f"{faults[0]}{and_more(len(faults) - 1)}",
        where=str(path),
        do="the theme is used without it",
    )


def _theme(name: str, raw: Mapping[str, Mapping[str, Any]]) -> tuple[Theme, list[str]]:
    """Return the theme from its file and those of its parents, and the faults of its own file."""
    faults: list[str] = []
    line, at = [name], name
    while isinstance(parent := raw[at].get("parent"), str) and parent in raw:
        if parent in line:
            faults.append("is its own parent")
            break
        line.append(parent)
        at = parent
    own = raw[name]
    parent = own.get("parent")
    if parent is not None and parent not in raw:
        faults.append(f"parent {parent!r} is no theme")
    paints: dict[str, Paint] = {}
    types: dict[str, Paint] = {}
    cycle: tuple[Paint, ...] = ()
    for ancestor in reversed(line):
        found = faults if ancestor == name else []
        colours = _table(raw[ancestor], "colours", found)
        paints |= _paints(colours, found)
        types |= {
            word.casefold(): paint
            for word, paint in _each(_table(raw[ancestor], "types", found), found)
        }
        cycle = _cycle(colours, found) or cycle
    dark = bool(own.get("dark", raw[line[-1]].get("dark", True)))
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


def _paints(colours: Mapping[str, Any], faults: list[str]) -> dict[str, Paint]:
    known: dict[str, Any] = {}
    for role, value in colours.items():
        if role in ROLES:
            known[role] = value
        elif role != "types":
            hint = did_you_mean(role, ROLES, lead=", ")
            faults.append(f"{one_line(role)} is not a role{hint}")
    return dict(_each(known, faults))


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
            colours[place] = _long(word)
        else:
            hint = did_you_mean(word, (*ANSI, ANSI_DEFAULT, *ATTRIBUTES), lead=", ")
            raise ValueError(f"{one_line(word)!r} is no colour{hint}")
    return Paint(colours["colour"], colours["ground"], tuple(dict.fromkeys(attributes)))


def _long(colour: str) -> str:
    """`#abc` as `#aabbcc`."""
    return "#" + "".join(c * 2 for c in colour[1:]) if len(colour) == 4 else colour
