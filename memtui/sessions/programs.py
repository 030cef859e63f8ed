"""The programs whose sessions can be read, and those that a person lets memtui read."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path

from msgspec import Struct

from memtui import config, paths
from memtui.config.settings import Settings
from memtui.errors import Refused, UnreadableFile, did_you_mean
from memtui.sessions.base import Transcripts
from memtui.sessions.claude_code import ClaudeCode
from memtui.sessions.cline import Cline
from memtui.sessions.codex import Codex
from memtui.sessions.copilot import Copilot
from memtui.sessions.databases import Hermes, OpenCode
from memtui.sessions.gemini import Gemini
from memtui.sessions.gptme import Gptme, Qwen
from memtui.sessions.message import Session
from memtui.sessions.openclaw import OpenClaw, Pi
from memtui.text import counted, one_line, size

PROGRAMS: Mapping[str, Transcripts] = {
    each.name: each
    for each in (
        ClaudeCode(),
        Codex(),
        Hermes(),
        OpenClaw(),
        Gemini(),
        OpenCode(),
        Gptme(),
        Copilot(),
        Cline(),
        Qwen(),
        Pi(),
    )
}
"""Name -> the transcripts of a program."""


class Holdings(Struct, frozen=True):
    """What a program keeps, told without reading a word of it."""

    roots: tuple[Path, ...]
    """The folders and databases that exist."""
    files: int
    size: int
    """Bytes."""


def find_program(name: str) -> Transcripts:
    """The transcripts of the program of this name. Raises Refused."""
    if name not in PROGRAMS:
        advice = did_you_mean(name, PROGRAMS, f"known are {', '.join(PROGRAMS)}")
        raise Refused(f"sessions of {name!r} cannot be read", do=advice)
    return PROGRAMS[name]


def survey(program: Transcripts, home: Path, variables: Mapping[str, str]) -> Holdings:
    """What a program keeps. Opens no file."""
    roots = tuple(root for root in program.roots(home, variables) if os.path.exists(root))
    files = [file for root in roots for file in program.files(root)]
    return Holdings(roots, len(files), sum(_size(file) for file in files))


def describe_holdings(program: Transcripts, holdings: Holdings) -> str:
    """What a program keeps and where, in one line."""
    if not holdings.roots:
        return f"{program.title}: none here"
    where = ", ".join(one_line(str(root)) for root in holdings.roots)
    return f"{program.title}: {counted(holdings.files, 'file')}, {size(holdings.size)}, in {where}"


def describe_terms(program: Transcripts) -> list[str]:
    """What turning a program on means, in sentences: what is read, what is kept, what goes."""
    said = [
        "memtui reads these files and changes none of them.",
        "An index of their words is kept in the cache, readable by you only; secrets are masked"
        " before it is made. Turning the program off removes it.",
    ]
    return [*said, f"{program.retention}."] if program.retention else said


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


class Found(Struct):
    """The sessions that were found, and the files that cannot be read."""

    sessions: list[Session]
    unreadable: list[UnreadableFile]


def find_sessions(
    names: Iterable[str],
    exclude: Iterable[str],
    home: Path,
    variables: Mapping[str, str],
    forgotten: Collection[str] = (),
    only: Collection[str] | None = None,
) -> Found:
    """The sessions of these programs, the one that was changed last first.

    Args:
        names: programs that are turned on; a name that is not known is passed over.
        exclude: patterns (`fnmatch`) of working folders, or names of projects, to leave out.
        home: the person's home.
        variables: the environment, which may name other places.
        forgotten: ids of sessions to leave out.
        only: files to look at; None: all. One of a database may be that of its log.
    """
    left_out = tuple(exclude)
    found = Found([], [])
    for name in names:
        if (program := PROGRAMS.get(name)) is None:
            continue
        for file in _files(program, home, variables):
            if only is not None and not {str(file), f"{file}-wal"} & {*only}:
                continue
            try:
                sessions = list(program.sessions(file))
            except UnreadableFile as error:
                found.unreadable.append(error)
                continue
            found.sessions += [
                each
                for each in sessions
                if each.id not in forgotten and not is_excluded(each, left_out)
            ]
        if only is None:
            for root in program.roots(home, variables):
                found.unreadable += program.left_unread(root)
    found.sessions.sort(key=lambda each: each.changed.timestamp() if each.changed else 0.0)
    found.sessions.reverse()
    latest: dict[tuple[str, str, str], Session] = {}
    for each in found.sessions:  # a file that lies in two roots is one session
        latest.setdefault((each.program, each.id, each.path.name), each)
    found.sessions = list(latest.values())
    return found


def _files(program: Transcripts, home: Path, variables: Mapping[str, str]) -> Iterator[Path]:
    """The files of all roots; one that two roots lead to comes once."""
    seen: set[str] = set()
    for root in program.roots(home, variables):
        for file in program.files(root):
            real = os.path.realpath(file)
            if real not in seen:
                seen.add(real)
                yield file


def is_excluded(session: Session, patterns: Iterable[str]) -> bool:
    """Whether the session's project is left out."""
    return any(
        fnmatch(session.cwd, os.path.expanduser(pattern)) or pattern == session.project
        for pattern in patterns
    )


# ---- what a person has turned on -----------------------------------------------------------------


FORGOTTEN_FILE = "forgotten-sessions.json"
"""In the folder of state: the ids of the sessions to leave out."""


def chosen_sessions(
    programs: Sequence[str] | None = None, only: Collection[str] | None = None
) -> Found:
    """The sessions of the programs that are on, or of those among these, the one in which something
    was said last first; `only`: in these files."""
    settings = _settings()
    on = [name for name in settings.session_programs if programs is None or name in programs]
    exclude, home = settings.session_exclude, Path.home()
    found = find_sessions(on, exclude, home, os.environ, forgotten(), only)
    found.sessions.sort(key=lambda each: -each.last.timestamp() if each.last else 0.0)
    return found


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
    _change_forgotten(lambda ids: ids | {id})


def recall(ids: Collection[str]) -> None:
    """List and search forgotten sessions again. Raises OSError."""
    _change_forgotten(lambda known: known.difference(ids))


def _change_forgotten(change: Callable[[frozenset[str]], frozenset[str]]) -> None:
    import json

    folder = paths.private_folder(paths.state_folder())
    with paths.sole_writer(folder):
        ids = sorted(change(forgotten()))
        paths.write_private(folder / FORGOTTEN_FILE, json.dumps({"ids": ids}))
