"""Themes are complete, a bad file is named and passed over, NO_COLOR takes the colours away."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style

from memtui import paths
from memtui.config import SCHEMA, LoadedSettings, Settings
from memtui.tui.app import MemtuiApp
from memtui.tui.app_base import Launch
from memtui.tui.themes import DEFAULT, ROLES, TERMINAL, Theme, load_themes, parse_style

from .stage import Stage, stage, write_store

FOLDER = paths.bundled_folder("themes")
SHIPPED, PROBLEMS = load_themes([FOLDER])
COLOURLESS = load_themes([])[0][TERMINAL]


def test_what_is_shipped_is_without_fault_and_named_in_the_settings() -> None:
    assert PROBLEMS == []
    assert {"dusk", "paper", "contrast", "terminal", "copper"} == set(SHIPPED)
    assert [theme.name for theme in SHIPPED.values() if not theme.dark] == ["paper"]
    assert [theme.name for theme in SHIPPED.values() if theme.ansi] == [TERMINAL]
    (setting,) = [setting for setting in SCHEMA if setting.key == "theme"]
    for name, theme in SHIPPED.items():
        assert theme.about
        assert set(theme.styles) == set(ROLES)
        assert name in setting.about
    assert Settings().theme == DEFAULT


@pytest.mark.parametrize("theme", [*SHIPPED.values(), COLOURLESS], ids=lambda theme: theme.about)
def test_textual_understands_every_theme(theme: Theme) -> None:
    theme.to_color_system().generate()


def test_without_colours_everything_still_differs() -> None:
    styles = COLOURLESS.styles
    for role in set(ROLES) - {"background", "surface", "panel"}:
        assert styles[role].without_color == styles[role]
    for role in ("selection", "match", "mark", "high", "warning", "error", "chip", "badge"):
        assert styles[role] != styles["text"]
    assert styles["added"].underline
    assert styles["border"] != styles["border-focus"]


def made(tmp_path: Path, text: str) -> tuple[Theme | None, list[str]]:
    (tmp_path / "mine.toml").write_text(text)
    loaded, problems = load_themes([tmp_path])
    return loaded.get("mine"), [str(problem) for problem in problems]


def test_a_short_theme_is_completed_from_what_is_near(tmp_path: Path) -> None:
    theme, problems = made(
        tmp_path,
        '[colours]\nbackground = "#000"\ntext = "#FFF"\naccent = "#abc"\n'
        'types = ["bold #00ff00"]\n[types]\nDecision = "#0000ff"\n',
    )
    assert (theme is not None, problems) == (True, [])
    assert theme is not None
    assert (theme.panel, theme.foreground, theme.ansi) == ("#000000", "#ffffff", False)
    assert theme.styles["key"] == Style.parse("bold #aabbcc")
    assert theme.styles["superseded"] == Style.parse("#ffffff")
    assert theme.type_style("decision") == Style.parse("#0000ff")
    assert theme.type_style("anything") == Style.parse("bold #00ff00")


def test_the_persons_own_theme_takes_the_place_of_ours(tmp_path: Path) -> None:
    (tmp_path / "dusk.toml").write_text('about = "Mine"\n[colours]\ntext = "#ffffff"\n')
    loaded, problems = load_themes([FOLDER, tmp_path])
    assert (loaded["dusk"].about, problems) == ("Mine", [])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[colours\n", "is not TOML"),
        ('[colours]\ntexst = "#fff"', "texst is not a role, did you mean text?"),
        ('[colours]\ntext = "ansi_blu"', "text: unable to parse 'blu'"),
        ("[colours]\ntext = 7", "text: must be a colour in quotes"),
        ('[colours]\ntext = "link http://example.org"', "text: a link is no style"),
        ('[colours]\ntypes = "#fff"', "types must be a list"),
        ('[colours]\ntypes = ["#fff", 3]', "types 2: must be a colour"),
        ('parent = "dusk"', "parent is no part of a theme"),
        ('parent = ["dusk"]', "parent is no part of a theme"),
        ("colours = 3", "colours must be a table"),
        ("title = 0x" + "f" * 5000, "it holds a number that is too long"),
    ],
)
def test_a_fault_is_named_once(tmp_path: Path, text: str, complaint: str) -> None:
    _, (problem,) = made(tmp_path, text)
    assert complaint in problem
    assert str(tmp_path / "mine.toml") in problem


def test_many_faults_in_one_file_are_one_problem(tmp_path: Path) -> None:
    theme, (problem,) = made(
        tmp_path, '[colours]\na = "1"\nb = "2"\nc = "3"\nlink = "oops"\nerror = "#ff0000"\n'
    )
    assert "and 3 more" in problem
    assert theme is not None
    assert theme.styles["error"] == Style.parse("#ff0000")


def test_a_type_keeps_its_colour_and_like_types_share_one() -> None:
    theme = SHIPPED["dusk"]
    assert theme.type_style("Decision") == theme.type_style("decision")
    assert theme.type_style("bug") == theme.type_style("bugfix")
    assert theme.type_style("decision") != theme.type_style("person")
    assert theme.type_style("") == theme.styles["faint"]
    assert theme.type_style("\ud800 odd") in theme.cycle


@given(st.text("#abc123 ondlitrevsuy_", max_size=20))
def test_a_style_is_understood_or_refused_in_words(text: str) -> None:
    with suppress(ValueError):
        parse_style(text)


def started_with(theme: str, **environ: str) -> str:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("TERM", "COLORTERM", "NO_COLOR"):
            patch.delenv(name, raising=False)
        for name, value in environ.items():
            patch.setenv(name, value)
        loaded = LoadedSettings(Settings(theme=theme))
        return MemtuiApp(Launch(lambda: None, loaded, themes=(FOLDER,))).theme  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize(
    ("environ", "theme"),
    [
        ({"TERM": "xterm"}, "terminal"),
        ({"TERM": "linux"}, "terminal"),
        ({"TERM": "xterm-256color"}, "paper"),
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, "paper"),
        ({"TERM": "xterm-kitty"}, "paper"),
        ({"TERM": "xterm-256color", "NO_COLOR": ""}, "terminal"),
    ],
)
def test_a_terminal_of_sixteen_colours_has_the_theme_of_its_own(
    environ: dict[str, str], theme: str
) -> None:
    assert started_with("paper", **environ) == theme


@pytest.mark.slow
async def test_with_no_color_nothing_on_the_screen_has_a_colour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "")
    async with stage(write_store(tmp_path / "store"), theme="paper") as on:
        await on.press("/")
        await on.type("tea")
        assert colours_of(on) == set()
    monkeypatch.delenv("NO_COLOR")
    async with stage(tmp_path / "store", theme="paper") as on:
        assert len(colours_of(on)) > 5


def colours_of(on: Stage) -> set[str]:
    """The colours that are written to the terminal, but for its own text and ground."""
    filters = on.app.get_line_filters()
    found = set()
    for strip in on.app.screen._compositor.render_strips():
        for line_filter in filters:
            strip = strip.apply_filter(line_filter, on.app.background_colors[1])
        styles = [segment.style for segment in strip if segment.style]
        colours = [colour for style in styles for colour in (style.color, style.bgcolor)]
        found |= {colour.name for colour in colours if colour and not colour.is_default}
    return found


async def test_a_theme_of_before_is_named_at_the_start_and_its_colours_are_used(
    tmp_path: Path,
) -> None:
    (tmp_path / "themes").mkdir()
    own = 'parent = ["dusk"]\n[colours]\ntext = "#123456"\n'
    (tmp_path / "themes" / "mine.toml").write_text(own)
    root = write_store(tmp_path / "store")
    themes = (FOLDER, tmp_path / "themes")
    async with stage(root, theme="mine", toasts=True, themes=themes) as on:
        assert (on.app.theme, on.app.current_theme.foreground) == ("mine", "#123456")
        (toast,) = on.app._notifications
        assert "parent is no part of a theme" in " ".join(toast.message.split())
