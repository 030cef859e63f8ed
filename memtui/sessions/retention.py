"""When a program deletes a session, as its own settings say.

Source: formats page of sessions, 1 (Claude Code), 4 (OpenClaw) and 5 (Gemini CLI), and the
programs' own pages of their settings. A file is deleted by the time of its last change, with the
next start of the program.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec import Struct

from memtui.errors import UnreadableFile
from memtui.files.reading import read_bytes
from memtui.sessions.base import Transcripts, decode_value, object_of, read_lines, text_of
from memtui.sessions.message import Reading, Session, parse_time
from memtui.sessions.programs import PROGRAMS

_DATABASE = ".sqlite"
"""End of the name of OpenClaw's databases, in which it may archive a session instead."""
SOON = timedelta(days=7)
"""Before its deletion a session is warned of."""
_PERIOD = re.compile(r"\s*(\d{1,6})\s*([hdwm]?)\s*", re.IGNORECASE)
_DAYS = {"h": 1 / 24, "d": 1.0, "": 1.0, "w": 7.0, "m": 30.0}


class Deletion(Struct, frozen=True):
    """A session that its program deletes, or has deleted."""

    at: datetime
    program: str
    setting: str

    def describe(self, now: datetime) -> str:
        """`deleted by Claude Code on 3 Dec (cleanupPeriodDays)`."""
        year = f" {self.at.year}" if abs(self.at - now) > timedelta(days=180) else ""
        when = f"{self.at.day} {self.at:%b}{year}"
        return f"deleted by {PROGRAMS[self.program].title} on {when} ({self.setting})"


def kept_days(program: Transcripts, home: Path, variables: Mapping[str, str]) -> float | None:
    """Days for which a program keeps its sessions; None if it deletes none."""
    if program.retention_days is None:
        return None
    settings = _read_settings(program, home, variables)
    name, off = program.retention_off
    if name and _value(settings, name) == off:
        return None
    value = _value(settings, program.retention_setting)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if value > 0 else None
    if found := _PERIOD.fullmatch(text_of(value)):
        return int(found[1]) * _DAYS[found[2].lower()]
    return float(program.retention_days)


def find_deletions(
    sessions: Iterable[Session], home: Path, variables: Mapping[str, str]
) -> dict[Path, Deletion]:
    """File of a session -> when its program deletes it, of those that it does."""
    days: dict[str, float | None] = {}
    found = {}
    for session in sessions:
        program = PROGRAMS[session.program]
        if session.program not in days:
            days[session.program] = kept_days(program, home, variables)
        kept = days[session.program]
        if kept is not None and session.changed is not None and session.path.suffix != _DATABASE:
            at = session.changed + timedelta(days=kept)
            found[session.path] = Deletion(at, session.program, program.retention_setting)
    return found


class Prompt(Struct, frozen=True):
    """What a person typed in a session of Claude Code that may be deleted since."""

    text: str
    time: datetime


def find_prompts(id: str, home: Path, variables: Mapping[str, str]) -> list[Prompt]:
    """The prompts of a session, from Claude Code's history, which it does not delete."""
    root = PROGRAMS["claude"].roots(home, variables)[0]
    try:
        return list(_prompts(root.with_name("history.jsonl"), id))
    except UnreadableFile:
        return []


def _prompts(file: Path, id: str) -> Iterator[Prompt]:
    for line in read_lines(file, Reading()):
        time = parse_time(line.value.get("timestamp"))
        if line.value.get("sessionId") == id and time is not None:
            yield Prompt(text_of(line.value.get("display")), time)


def find_deleted(
    id: str, now: datetime, home: Path, variables: Mapping[str, str]
) -> tuple[Deletion | None, list[Prompt]]:
    """Of a session of Claude Code that is not there: when it was deleted, if its time was up, and
    what a person typed in it."""
    prompts = find_prompts(id, home, variables)
    program = PROGRAMS["claude"]
    days = kept_days(program, home, variables)
    if not prompts or days is None:
        return None, prompts
    at = max(prompt.time for prompt in prompts) + timedelta(days=days)
    deletion = Deletion(at, program.name, program.retention_setting)
    return (deletion if at <= now else None), prompts


def _read_settings(program: Transcripts, home: Path, variables: Mapping[str, str]) -> Any:
    file = program.roots(home, variables)[0].with_name(program.settings_file)
    try:
        return decode_value(read_bytes(file))
    except UnreadableFile:
        return None


def _value(settings: Any, name: str) -> Any:
    """The value with a dotted name."""
    *above, last = name.split(".")
    for key in above:
        settings = object_of(settings).get(key)
    return object_of(settings).get(last)
