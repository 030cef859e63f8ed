"""A setting saved from the screen leaves the rest of the file as the person wrote it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memtui.config import default_text, load, save_value
from memtui.errors import ConfigError

MINE = """\
# my settings
theme = "dusk"  # calm

# the list
[list]
sort = "new"

[saved]
"a b" = "since:1d"
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(MINE)
    return path


def test_one_line_changes_and_its_comment_stays(config: Path) -> None:
    save_value(config, "theme", "paper")
    assert config.read_text() == MINE.replace('"dusk"', '"paper"')


def test_a_new_setting_goes_to_its_table(config: Path) -> None:
    save_value(config, "list.density", "compact")
    assert config.read_text() == MINE.replace('"new"\n', '"new"\ndensity = "compact"\n')
    save_value(config, "mouse", False)
    assert 'theme = "dusk"  # calm\nmouse = false\n\n# the list' in config.read_text()


def test_a_saved_search_is_added_changed_and_taken_out(config: Path) -> None:
    save_value(config, ("saved", "mine.too"), "x")
    save_value(config, ("saved", "a b"), "since:2d")
    assert load(config).settings.saved == {"a b": "since:2d", "mine.too": "x"}
    save_value(config, ("saved", "mine.too"), None)
    save_value(config, ("saved", "a b"), "since:1d")
    assert config.read_text() == MINE


def test_a_table_that_is_missing_is_made(config: Path) -> None:
    save_value(config, "search.half_life_days", 7)
    assert config.read_text() == MINE + "\n[search]\nhalf_life_days = 7\n"


def test_the_default_file_is_filled_in_where_it_explains_the_setting(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(default_text())
    save_value(path, "theme", "paper")
    save_value(path, ("saved", "new"), "x")
    assert path.read_text().startswith(
        default_text().replace('#: theme = "dusk"', 'theme = "paper"')
    )
    assert load(path).settings.saved == {"new": "x"}


def test_a_value_over_several_lines_is_replaced_and_nothing_else_lost(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('stores = [\n  "a",\n  "b",\n]\n[list]\nsort = "old"\n')
    save_value(path, "stores", ["c"])
    assert tomllib.loads(path.read_text()) == {"stores": ["c"], "list": {"sort": "old"}}


def test_a_new_file_is_private_and_an_old_one_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config.toml"
    save_value(path, "theme", "paper")
    assert path.read_text() == 'theme = "paper"\n'
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    path.chmod(0o644)
    save_value(path, "theme", "dusk")
    assert path.stat().st_mode & 0o777 == 0o644
    assert list(path.parent.iterdir()) == [path]


def test_a_linked_file_is_written_where_it_lies(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text("mouse = true\n")
    link = tmp_path / "config.toml"
    link.symlink_to(real)
    save_value(link, "mouse", False)
    assert link.is_symlink()
    assert real.read_text() == "mouse = false\n"


def test_a_broken_file_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("theme = \n")
    with pytest.raises(ConfigError, match="not saved"):
        save_value(path, "theme", "paper")
    assert path.read_text() == "theme = \n"


def test_windows_line_ends_stay(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b'theme = "a"\r\nmouse = true\r\n')
    save_value(path, "theme", "b")
    save_value(path, "list.sort", "old")
    data = path.read_bytes()
    assert data.startswith(b'theme = "b"\r\nmouse = true\r\n')
    assert data.count(b"\n") == data.count(b"\r\n")


values = st.booleans() | st.integers(-9, 9) | st.text() | st.lists(st.text(), max_size=2)
keys = st.text(min_size=1, max_size=4)
documents = st.dictionaries(keys, values | st.dictionaries(keys, values, max_size=3), max_size=4)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(documents, st.lists(keys, min_size=1, max_size=2), values)
def test_whatever_the_file_holds_one_value_changes(
    tmp_path: Path, document: dict[str, Any], parts: list[str], value: Any
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(tomli_w.dumps(document), newline="")
    save_value(path, tuple(parts), value)
    wanted: dict[str, Any] = tomllib.loads(tomli_w.dumps(document))
    table = wanted
    for name in parts[:-1]:
        if not isinstance(table.get(name), dict):
            table[name] = {}
        table = table[name]
    table[parts[-1]] = value
    assert tomllib.loads(path.read_bytes().decode()) == wanted
