"""Themes can be read by everybody, are complete, and a bad one is named and passed over."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style
from textual.color import Color
from textual.theme import Theme as TextualTheme

from memtui import paths, themes
from memtui.config import SCHEMA, Settings
from memtui.themes import ROLES, Paint, Theme, Themes, choose, load_all, parse_paint

SHIPPED = load_all([paths.bundled_folder("themes")])
COLOURED = [theme for theme in SHIPPED.by_name.values() if not theme.ansi]
TEXT_ON = ("background", "surface", "panel")


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def grounds(theme: Theme, role: str) -> Iterator[str]:
    """Everything this role can be drawn on."""
    own = theme[role].ground
    if own:
        yield own
        return
    yield from (theme[name].colour for name in TEXT_ON)
    yield theme["selection"].ground
    yield theme["selection-blurred"].ground


WORST = {
    "text": 7.0,
    "title": 7.0,
    "selection-text": 7.0,
    "match": 7.0,
    "muted": 4.5,
    "heading": 4.5,
    "accent": 4.5,
    "key": 4.5,
    "link": 4.5,
    "chosen": 4.5,
    "mark": 4.5,
    "pin": 4.5,
    "fresh": 4.5,
    "badge": 4.5,
    "warning": 4.5,
    "error": 4.5,
    "success": 4.5,
    "chip": 4.5,
    "chip-label": 4.5,
    "high": 4.5,
    "medium": 4.5,
    "proposed": 4.5,
    "superseded": 4.5,
    "deleted": 4.5,
    "added": 4.5,
    "removed": 4.5,
    "faint": 3.0,
    "low": 3.0,
    "retired": 3.0,
    "bar": 3.0,
    "bar-cursor": 3.0,
    "border-focus": 3.0,
    "thumb-focus": 3.0,
}


@pytest.mark.parametrize(
    ("theme", "role"),
    [pytest.param(*pair, id=f"{pair[0].name}-{pair[1]}") for pair in product(COLOURED, WORST)],
)
def test_contrast_on_every_ground_it_is_drawn_on(theme: Theme, role: str) -> None:
    for ground in grounds(theme, role):
        ratio = contrast(theme[role].colour, ground)
        assert ratio >= WORST[role], f"{theme.name}: {role} on {ground} is {ratio:.2f}"


@pytest.mark.parametrize("theme", COLOURED, ids=lambda theme: theme.name)
def test_type_colours_can_be_read_and_told_apart(theme: Theme) -> None:
    assert len(theme.cycle) == 8
    assert len({paint.colour for paint in theme.cycle}) == 8
    for paint, ground in product(theme.cycle, grounds(theme, "text")):
        assert contrast(paint.colour, ground) >= 4.5


@pytest.mark.parametrize("theme", COLOURED, ids=lambda theme: theme.name)
def test_a_match_can_be_read_when_the_cursor_gives_it_another_ground(theme: Theme) -> None:
    for cursor in ("selection", "selection-blurred"):
        assert contrast(theme["match"].colour, theme[cursor].ground) >= 7


def test_the_contrast_theme_keeps_its_promise_everywhere() -> None:
    theme = SHIPPED.by_name["contrast"]
    for role in {*WORST} - {"thumb-focus", "border-focus"}:
        for ground in grounds(theme, role):
            assert contrast(theme[role].colour, ground) >= 7


def test_what_is_shipped_is_without_fault_and_introduces_itself() -> None:
    assert SHIPPED.problems == ()
    assert {"dusk", "paper", "contrast", "terminal", "copper", "mono"} == set(SHIPPED.by_name)
    assert [t.name for t in SHIPPED.by_name.values() if not t.dark] == ["paper"]
    for theme in SHIPPED.by_name.values():
        assert theme.title
        assert theme.about
        assert set(theme.paints) == set(ROLES)


def test_the_settings_name_every_theme_and_begin_with_the_default() -> None:
    (setting,) = [setting for setting in SCHEMA if setting.key == "theme"]
    for name in set(SHIPPED.by_name) - {themes.MONO}:
        assert name in setting.about
    assert Settings().theme == themes.DEFAULT


def test_the_terminal_theme_has_only_the_terminals_colours() -> None:
    theme = SHIPPED.by_name["terminal"]
    assert theme.ansi
    for paint in (*theme.paints.values(), *theme.cycle):
        assert paint.colour.startswith("ansi_") or not paint.colour
    assert theme["text"].colour == "ansi_default"
    assert "reverse" in theme["selection"].attributes


def test_no_colour_means_no_colour_and_everything_still_differs() -> None:
    theme = SHIPPED.by_name["mono"]
    assert theme.ansi
    for role in ROLES:
        if role not in themes.GROUNDS:
            assert not theme[role].colour
            assert not theme[role].ground
    plain = theme["text"].attributes
    for role in ("selection", "match", "mark", "high", "warning", "error", "chip", "badge"):
        assert theme[role].attributes != plain


@pytest.mark.parametrize("theme", [*SHIPPED.by_name.values()], ids=lambda theme: theme.name)
def test_rich_and_textual_understand_every_theme(theme: Theme) -> None:
    for role in ROLES:
        Style.parse(theme.style(role))
    values = themes.textual_values(theme)
    TextualTheme(**values).to_color_system().generate()
    for name, value in values["variables"].items():
        if not name.endswith("-style"):
            Color.parse(value)


@pytest.mark.parametrize("name", ["terminal", "mono", "dusk"])
@pytest.mark.parametrize("no_colour", [True, False])
async def test_text_is_never_black_on_black(
    name: str, no_colour: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from textual.app import App, ComposeResult
    from textual.widgets import Static

    environ = {"NO_COLOR": "1"} if no_colour else {}
    monkeypatch.delenv("NO_COLOR", raising=False)
    for key, value in environ.items():
        monkeypatch.setenv(key, value)
    theme, _ = choose(name, SHIPPED, environ)

    class Small(App[None]):
        def compose(self) -> ComposeResult:
            yield Static("words")

    app = Small(ansi_color=True if no_colour else None)
    app.register_theme(TextualTheme(**themes.textual_values(theme)))
    app.theme = theme.name
    async with app.run_test(size=(20, 3)) as pilot:
        await pilot.pause()
        strip = app.screen._compositor.render_strips()[0]
        for line_filter in app.get_line_filters():
            strip = strip.apply_filter(line_filter, app.background_colors[1])
        (style,) = {s.style for s in strip if "words" in s.text}
    assert style is not None
    assert style.color is not None
    shown, ground = style.color, style.bgcolor
    if no_colour or theme.ansi:
        assert shown.is_default
        assert ground is None or ground.is_default
    else:
        assert shown != ground


def test_no_color_beats_the_settings_also_when_it_is_empty() -> None:
    assert choose("dusk", SHIPPED, {"NO_COLOR": ""})[0].name == "mono"
    assert choose("dusk", SHIPPED, {})[0].name == "dusk"


def test_an_unknown_theme_falls_back_and_says_so() -> None:
    theme, complaint = choose("coper", SHIPPED, {})
    assert theme.name == themes.DEFAULT
    assert complaint == "there is no theme 'coper'; did you mean copper?"


def test_without_any_file_there_is_still_a_theme(tmp_path: Path) -> None:
    theme, complaint = choose("dusk", load_all([tmp_path / "nothing"]), {})
    assert theme.name == "mono"
    assert complaint


def made(tmp_path: Path, **files: str) -> Themes:
    for name, text in files.items():
        (tmp_path / f"{name}.toml").write_text(text)
    return load_all([tmp_path])


def test_a_short_theme_is_completed_from_what_is_near(tmp_path: Path) -> None:
    loaded = made(
        tmp_path,
        mine='[colours]\nbackground = "#000"\ntext = "#FFF"\naccent = "#abc"\n',
    )
    theme = loaded.by_name["mine"]
    assert loaded.problems == ()
    assert theme["panel"].colour == "#000000"
    assert theme.style("key") == "bold #aabbcc"
    assert theme.style("superseded") == "#ffffff"
    assert theme.title == "mine"


def test_a_parent_gives_what_is_missing(tmp_path: Path) -> None:
    loaded = made(
        tmp_path,
        base='dark = false\n[colours]\ntext = "#111111"\nerror = "#ff0000"\ntypes = ["#00ff00"]',
        child='parent = "base"\n[colours]\nerror = "#aa0000"\n[types]\nDecision = "#0000ff"',
    )
    child = loaded.by_name["child"]
    assert loaded.problems == ()
    assert (child["text"].colour, child["error"].colour) == ("#111111", "#aa0000")
    assert not child.dark
    assert child.type_paint("decision").colour == "#0000ff"
    assert child.type_paint("anything").colour == "#00ff00"


def test_the_persons_own_theme_takes_the_place_of_ours(tmp_path: Path) -> None:
    (tmp_path / "dusk.toml").write_text('title = "Mine"\n[colours]\ntext = "#ffffff"\n')
    loaded = load_all([paths.bundled_folder("themes"), tmp_path])
    assert loaded.by_name["dusk"].title == "Mine"
    assert loaded.problems == ()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[colours\n", "is not TOML"),
        ('[colours]\ntexst = "#fff"', "texst is not a role, did you mean text?"),
        ('[colours]\ntext = "ansi_blu"', "text 'ansi_blu' is no colour, did you mean ansi_blue?"),
        ("[colours]\ntext = 7", "text must be a colour in quotes"),
        ('[colours]\ntext = "#fff #000"', "text has two colours"),
        ('[colours]\nbackground = "bold #fff"', "background is a colour alone"),
        ('[colours]\ntypes = "#fff"', "types must be a list"),
        ('[colours]\ntext = "#fff"\nerror = "ansi_red"', "mixes colours"),
        ('parent = "nobody"', "parent 'nobody' is no theme"),
        ('parent = "mine"', "is its own parent"),
        ("colours = 3", "colours must be a table"),
        ("title = 0x" + "f" * 5000, "it holds a number that is too long"),
        ("parent = " + "9" * 5000, "it holds a number that is too long"),
    ],
)
def test_a_fault_is_named_once(tmp_path: Path, text: str, complaint: str) -> None:
    loaded = made(tmp_path, mine=text)
    (problem,) = loaded.problems
    assert complaint in str(problem)
    assert str(tmp_path / "mine.toml") in str(problem)


def test_many_faults_in_one_file_are_one_problem(tmp_path: Path) -> None:
    loaded = made(
        tmp_path, mine='[colours]\na = "1"\nb = "2"\nc = "3"\nlink = "red"\nerror = "#ff0000"\n'
    )
    assert "and 3 more" in str(loaded.problems[0])
    assert loaded.by_name["mine"]["error"].colour == "#ff0000"


def test_a_type_keeps_its_colour_and_like_types_share_one() -> None:
    theme = SHIPPED.by_name["dusk"]
    assert theme.type_paint("Decision") == theme.type_paint("decision")
    assert theme.type_paint("bug") == theme.type_paint("bugfix")
    assert theme.type_paint("decision") != theme.type_paint("person")
    assert theme.type_paint("") == theme["faint"]
    assert theme.type_paint("\ud800 odd") in theme.cycle


@pytest.mark.parametrize(
    ("text", "paint"),
    [
        ("#ABC", Paint("#aabbcc")),
        ("bold #112233 on #fff", Paint("#112233", "#ffffff", ("bold",))),
        ("reverse", Paint(attributes=("reverse",))),
        ("on ansi_bright_blue", Paint(ground="ansi_bright_blue")),
        ("", Paint()),
    ],
)
def test_how_a_paint_is_written(text: str, paint: Paint) -> None:
    assert parse_paint(text) == paint
    Style.parse(paint.style)


@given(st.text("#abc123 ondlitrevsuy_", max_size=20))
def test_a_paint_is_understood_or_refused_in_words(text: str) -> None:
    try:
        paint = parse_paint(text)
    except ValueError:
        return
    Style.parse(paint.style)
