"""Themes: a colour and a style for each role, such as a match, a warning, a superseded memory.

A theme is a TOML file; its name is the file's. `[colours]` gives each role a paint:

    match = "bold #f2cd7f"          selection = "on #2d3446"          border = "#3b4150"

that is, words of bold, dim, italic, underline, reverse, a colour, and `on` a ground. A colour is
`#rrggbb` or one of the terminal's own sixteen (`ansi_blue`, `ansi_bright_blue`, `ansi_default`).
A role that is not given comes from `parent`, else from its fallback role, so that a theme can be
as short as background, text and accent. A file with a fault is reported once.

    loaded = load_all([bundled_folder("themes"), user_themes()])
    theme, complaint = choose("dusk", loaded, os.environ)
    theme.style("match")                                  # "bold #f2cd7f", as Rich reads it

Nothing here imports Textual; `textual_values` makes the arguments of a Textual theme.
"""

from memtui.themes.loading import (
    Themes,
    choose,
    has_sixteen_colours,
    load_all,
    parse_paint,
)
from memtui.themes.theme import (
    DEFAULT,
    GROUNDS,
    MONO,
    ROLES,
    TERMINAL,
    Paint,
    Theme,
    mono,
    textual_values,
)
