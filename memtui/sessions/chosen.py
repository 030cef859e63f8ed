"""The sessions that a person lets memtui read: their programs, without what is left out."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path

from memtui import config, paths
from memtui.config.settings import Settings
from memtui.sessions.programs import Found, find_sessions

FORGOTTEN_FILE = "forgotten-sessions.json"
"""In the folder of state: the ids of the sessions to leave out."""


def chosen_sessions(
    programs: Sequence[str] | None = None, only: Collection[str] | None = None
) -> Found:
    """The sessions of the programs that are on, or of those among these; `only`: in these files."""
    settings = _settings()
    on = [name for name in settings.session_programs if programs is None or name in programs]
    exclude, home = settings.session_exclude, Path.home()
    return find_sessions(on, exclude, home, os.environ, forgotten(), only)


def _settings() -> Settings:
    return config.load(paths.config_file()).settings


def programs_on() -> tuple[str, ...]:
    """The programs whose sessions may be read."""
    return _settings().session_programs


def turn_on(program: str) -> None:
    """Read the sessions of this program from now on. Raises ConfigError."""
    _save(tuple(dict.fromkeys((*programs_on(), program))))


def turn_off(program: str) -> None:
    """Read them no longer; their index is for the caller to remove. Raises ConfigError."""
    _save(tuple(each for each in programs_on() if each != program))


def _save(programs: tuple[str, ...]) -> None:
    config.save_value(paths.config_file(), "sessions.programs", programs or None)


def forgotten() -> frozenset[str]:
    """The ids of the sessions that are left out."""
    ids = paths.read_private(paths.state_folder() / FORGOTTEN_FILE).get("ids")
    return frozenset(map(str, ids)) if isinstance(ids, list) else frozenset()


def forget(id: str) -> None:
    """Leave a session out from now on. Raises OSError."""
    import json

    folder = paths.private_folder(paths.state_folder())
    with paths.sole_writer(folder):
        ids = sorted({*forgotten(), id})
        paths.write_private(folder / FORGOTTEN_FILE, json.dumps({"ids": ids}))
