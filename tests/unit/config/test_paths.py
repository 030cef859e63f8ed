"""Where things live, and that it can be moved."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memtui import paths


def test_every_place_can_be_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMTUI_CONFIG", str(tmp_path / "c"))
    monkeypatch.setenv("MEMTUI_STATE", str(tmp_path / "s"))
    monkeypatch.setenv("MEMTUI_CACHE", str(tmp_path / "k"))
    assert paths.config_file() == tmp_path / "c" / "config.toml"
    assert paths.user_themes() == tmp_path / "c" / "themes"
    assert paths.state_folder() == tmp_path / "s"
    assert paths.cache_folder() == tmp_path / "k"
    assert list(tmp_path.iterdir()) == []


def test_the_settings_file_itself_can_be_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMTUI_CONFIG", str(tmp_path / "mine.toml"))
    assert paths.config_file() == tmp_path / "mine.toml"
    assert paths.user_themes() == tmp_path / "themes"


def test_the_folders_bear_our_own_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in ("MEMTUI_CONFIG", "MEMTUI_STATE", "MEMTUI_CACHE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    for folder in (paths.config_folder(), paths.state_folder(), paths.cache_folder()):
        assert "memtui-agent" in folder.parts


def test_private_folders_are_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        folder = paths.private_folder(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    for part in (folder, folder.parent):
        assert part.stat().st_mode & 0o777 == 0o700


def test_a_write_that_fails_leaves_the_old_text_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        paths.write_private(path, "\ud800")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_themes_are_shipped() -> None:
    assert list(paths.bundled_folder("themes").glob("*.toml"))


def test_what_is_not_shipped_is_said() -> None:
    with pytest.raises(FileNotFoundError, match="install it again"):
        paths.bundled_folder("nothing")
