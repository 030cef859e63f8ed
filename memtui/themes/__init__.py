"""Themes by meaning: what is a match, a warning, a superseded memory; each a colour and a style.

A theme is a TOML file; its name is the file's. `[colours]` gives each meaning a paint:

    match = "bold #f2cd7f"          selection = "on #2d3446"          border = "#3b4150"

that is, words of bold, dim, italic, underline, reverse, a colour, and `on` a ground. A colour is
`#rrggbb` or one of the terminal's own sixteen (`ansi_blue`, `ansi_bright_blue`, `ansi_default`).
A meaning that is not given comes from `parent`, else from a meaning near to it, so that a theme
can be as short as background, text and accent. A bad file is named once and never stops anything.

    loaded = load_all([bundled_folder("themes"), user_themes()])
    theme, complaint = choose("dusk", loaded, os.environ)
    theme.style("match")                                  # "bold #f2cd7f", as Rich reads it

Nothing here imports Textual; `textual_values` says in plain values what it wants to be told.
"""

from memtui.themes.loading import Themes, choose, load_all, parse_paint, wants_no_colour
from memtui.themes.textual_theme import textual_values
from memtui.themes.theme import (
    ANSI,
    ANSI_DEFAULT,
    CYCLE,
    DEFAULT,
    GROUNDS,
    MEANINGS,
    MONO,
    Paint,
    Theme,
    complete,
    mono,
)

__all__ = [
    "ANSI",
    "ANSI_DEFAULT",
    "CYCLE",
    "DEFAULT",
    "GROUNDS",
    "MEANINGS",
    "MONO",
    "Paint",
    "Theme",
    "Themes",
    "choose",
    "complete",
    "load_all",
    "mono",
    "parse_paint",
    "textual_values",
    "wants_no_colour",
]
