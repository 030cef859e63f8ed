"""A settings file is read with kindness: faults are named, the rest is used."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.config import SCHEMA, Settings, StorePath, default_text, load
from memtui.config.loading import parse


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_no_file_means_the_defaults_and_no_complaint(tmp_path: Path) -> None:
    loaded = load(tmp_path / "none.toml")
    assert loaded.settings == Settings()
    assert loaded.problems == ()


def test_every_setting_can_be_chosen(tmp_path: Path) -> None:
    loaded = load(
        written(
            tmp_path,
            """
            theme = "paper"
            mouse = false
            editor = "nvim -f"
            restore = false
            [list]
            sort = "old"
            status = ["active", "superseded"]
            density = "compact"
            dates = "date"
            [search]
            half_life_days = 7
            [search.weights]
            recency = 2
            [keys]
            search = "ctrl+f"
            quit = []
            [saved]
            "this week" = "since:7d"
            [[stores]]
            path = "~/memory"
            label = "mine"
            """,
        )
    )
    assert loaded.problems == ()
    assert loaded.settings == Settings(
        theme="paper",
        mouse=False,
        editor="nvim -f",
        restore=False,
        sort="old",
        status=("active", "superseded"),
        density="compact",
        dates="date",
        half_life_days=7.0,
        weights={"recency": 2.0},
        keys={"search": ("ctrl+f",), "quit": ()},
        saved={"this week": "since:7d"},
        stores=(StorePath(Path.home() / "memory", "mine"),),
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("\nthem = 'x'", ":2: them is not a setting (did you mean theme?)"),
        ("[list]\nsrot = 'new'", ":2: list.srot is not a setting (did you mean list.sort?)"),
        ("[list]\n\ndensity = 'compat'", ":3: list.density must be one of compact"),
        ("mouse = 'yes'", ":1: mouse must be true or false (the default is used)"),
        ("[search]\nhalf_life_days = -1", ":2: search.half_life_days must be a number of days"),
        ("[search.weights]\nrecency = true", ":2: search.weights.recency must be a number"),
        ("[keys]\na = 'b'\nquit = 7", ":3: keys.quit must be a key in quotes"),
        ("[saved]\n'this week' = 1", ":2: saved.this week must be text"),
        ("stores = [7]", ":1: stores.1 must be a path"),
        ("keys = 3", ":1: keys must be a table"),
        ("theme = \n", ":1: is not TOML"),
        ("[list\nx", ":1: is not TOML"),
    ],
)
def test_a_fault_names_file_line_key_and_reason(tmp_path: Path, text: str, complaint: str) -> None:
    path = written(tmp_path, text)
    (problem,) = load(path).problems
    assert str(problem).startswith(f"{path}{complaint}")


def test_a_fault_spoils_only_itself(tmp_path: Path) -> None:
    loaded = load(written(tmp_path, "theme = 'paper'\nmouse = 3\n[keys]\nquit = 1\nsearch = 'x'\n"))
    assert loaded.settings == Settings(theme="paper", keys={"search": ("x",)})
    assert len(loaded.problems) == 2


@pytest.mark.parametrize("data", [b"\xff\xfe", b"\x00", b"a = " + b"[" * 100_000, b"= 1"])
def test_a_file_that_is_no_toml_gives_defaults_and_one_reason(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(data)
    loaded = load(path)
    assert loaded.settings == Settings()
    assert len(loaded.problems) == 1


@pytest.mark.parametrize("number", ["9" * 5000, "0x" + "f" * 5000])
@pytest.mark.parametrize("text", ["mouse = N", "[rules.ambient]\nx = N", "theme = [1, {a = N}]"])
def test_a_number_that_python_cannot_print_is_told(tmp_path: Path, text: str, number: str) -> None:
    loaded = load(written(tmp_path, text.replace("N", number)))
    assert loaded.settings == Settings()
    assert [problem.what for problem in loaded.problems] == [
        "is not TOML: it holds a number that is too long"
    ]


@pytest.mark.slow
def test_a_file_of_faults_is_told_in_short(tmp_path: Path) -> None:
    loaded = load(written(tmp_path, "".join(f"key{n} = 1\n" for n in range(20_000))))
    assert len(loaded.problems) == 51
    assert loaded.problems[-1].what == "has 19950 more faults"


def test_what_is_no_file_or_too_large_is_told(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.symlink_to("/dev/zero")
    assert "it is not a file" in str(load(path).problems[0])
    path.unlink()
    path.write_text("# " + "x" * (1 << 20))
    assert "it is larger than" in str(load(path).problems[0])


def test_the_home_of_nobody_is_told(tmp_path: Path) -> None:
    (problem,) = load(written(tmp_path, 'stores = ["~nobody-of-this-name/x", "/a"]')).problems
    assert "stores.1 names the home of somebody who is not known here" in str(problem)


def test_a_folder_in_the_place_of_the_file_is_told(tmp_path: Path) -> None:
    assert "cannot be read" in str(load(tmp_path).problems[0])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
names = st.sampled_from([name for s in SCHEMA for name in (s.key, *s.key.split("."))]) | st.text()


@pytest.mark.slow
@given(st.dictionaries(names, json_values, max_size=5))
def test_whatever_the_values_reading_never_raises(values: dict[str, object]) -> None:
    loaded = parse(values, Path("config.toml"))
    assert isinstance(loaded.settings, Settings)
    for problem in loaded.problems:
        assert "\n" not in str(problem)


def test_the_default_file_changes_nothing(tmp_path: Path) -> None:
    loaded = load(written(tmp_path, default_text()))
    assert loaded.settings == Settings()
    assert loaded.problems == ()


def test_the_default_file_shows_every_setting_and_its_examples_work(tmp_path: Path) -> None:
    text = default_text().replace("#: ", "")
    loaded = load(written(tmp_path, text))
    assert loaded.problems == ()
    values = tomllib.loads(text)
    for setting in SCHEMA:
        at: object = values
        for name in setting.key.split("."):
            assert isinstance(at, dict)
            at = at[name]
        if not setting.each:
            default = getattr(Settings(), setting.field)
            assert setting.check(at) == default, f"{setting.key} is not shown at its default"
