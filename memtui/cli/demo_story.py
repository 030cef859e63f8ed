"""The copy of the sample data that `memtui demo` opens, with its dates counted back from now.

The sample data tells of one developer's laptop. `story.json` beside it names the moment at which
the story ends and when each file was last written. In the copy, every date is as far from now as it
is from that moment: in texts, file names, epoch numbers and the columns of a database.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import date, datetime, timedelta
from pathlib import Path

from msgspec import Struct

STORY = "story.json"
STORY_HOME = "/home/noor/.claude/"
"""Where the memory lies that the transcripts of the story say they wrote."""
PROGRAMS = ("claude", "codex", "gemini")
"""Programs whose sessions are part of the story."""
_MONTHS = tuple(date(2000, month, 1).strftime("%B") for month in range(1, 13))
_DATE = re.compile(
    r"(?<!\d)(?P<day>20\d\d(?P<mark>[-/])[01]\d(?P=mark)[0-3]\d)"
    r"(?:(?P<between>[T ])(?P<time>\d\d(?P<colon>[:-])\d\d(?P=colon)\d\d)(?!\d))?"
    r"|\b(?P<epoch>1[5-9]\d{11})\b"
    rf"|\b(?P<month>{'|'.join(_MONTHS)})\b(?: (?P<year>20\d\d)\b)?"
)
_DAYS_OF_MONTH = 30.44


class Shift(Struct, frozen=True):
    """How far the dates of the story are moved."""

    time: timedelta
    """For a time of day, in UTC."""
    days: int
    """For a date without one, which is the date of a place."""

    @classmethod
    def between(cls, end: datetime, now: datetime) -> Shift:
        """The shift that makes the story end now, in the zone of this machine."""
        days = (now.astimezone().date() - end.date()).days
        return cls(timedelta(seconds=int((now - end).total_seconds())), days)


def shift_dates(text: str, by: Shift) -> str:
    """Move every date in a text; what only looks like one stays.

    ISO dates, ISO times in UTC, milliseconds since 1970, and names of months, as in "in May".
    """

    def moved(match: re.Match[str]) -> str:
        if match["epoch"]:
            return str(int(match["epoch"]) + int(by.time.total_seconds()) * 1000)
        if match["month"]:
            months = _MONTHS.index(match["month"]) + round(by.days / _DAYS_OF_MONTH)
            year = f" {int(match['year']) + months // 12}" if match["year"] else ""
            return _MONTHS[months % 12] + year
        mark, colon, between = match["mark"], match["colon"], match["between"]
        form = f"%Y{mark}%m{mark}%d"
        try:
            if colon is None:
                day = datetime.strptime(match["day"], form) + timedelta(days=by.days)
                return day.strftime(form)
            form += f"{between}%H{colon}%M{colon}%S"
            return (datetime.strptime(match[0], form) + by.time).strftime(form)
        except (ValueError, OverflowError):
            return match[0]

    return _DATE.sub(moved, text)


def copy_story(samples: Path, target: Path, now: datetime) -> None:
    """Copy the sample data to a folder that does not exist yet, as if the story ended now.

    Raises OSError.
    """
    story = json.loads((samples / STORY).read_text("utf-8"))
    end = datetime.fromisoformat(story["end"])
    by = Shift.between(end, now)
    for name, written in story["files"].items():
        copy = target / shift_dates(name, by)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if copy.suffix == ".db":
            shutil.copyfile(samples / name, copy)
            _shift_database(copy, by)
        else:
            text = (samples / name).read_bytes().decode("utf-8")
            copy.write_bytes(shift_dates(text, by).encode("utf-8"))
        time = (datetime.fromisoformat(written) + by.time).timestamp()
        os.utime(copy, (time, time))


def turn_on_sessions(story: Path, folder: Path) -> None:
    """Read the sessions of the story, and no others, within this process and its children.

    The transcripts name the memory where the copy has it. The settings are a copy of the person's
    in a new folder below `folder`, so that they do not change. Raises OSError, ConfigError.
    """
    from memtui import config, paths

    settings, home = folder / "config", folder / "home"
    settings.mkdir()
    home.mkdir()
    if paths.config_file().is_file():
        shutil.copyfile(paths.config_file(), settings / "config.toml")
    if paths.user_themes().is_dir():
        shutil.copytree(paths.user_themes(), settings / "themes")
    for transcript in (story / "claude-code").rglob("*.jsonl"):
        written = transcript.stat().st_mtime
        text = transcript.read_text("utf-8").replace(STORY_HOME, f"{story / 'claude-code'}/")
        transcript.write_text(text, "utf-8")
        os.utime(transcript, (written, written))
    (home / ".gemini").symlink_to(story / "gemini")
    os.environ[paths.CONFIG_VARIABLE] = str(settings)
    os.environ["CLAUDE_CONFIG_DIR"] = str(story / "claude-code")
    os.environ["CODEX_HOME"] = str(story / "codex")
    os.environ["GEMINI_CLI_HOME"] = str(home)
    config.save_value(paths.config_file(), "sessions.programs", PROGRAMS)


def _shift_database(file: Path, by: Shift) -> None:
    """Move the dates in all texts of an Engram database, and hash its rows again."""
    with closing(sqlite3.connect(file)) as database:
        database.create_function("shifted", 1, lambda text: shift_dates(text, by))
        database.create_function("hashed", 1, _hash_of)
        for table, column in _text_columns(database):
            database.execute(
                f'UPDATE "{table}" SET "{column}" = shifted("{column}") '
                f'WHERE "{column}" IS NOT NULL AND shifted("{column}") <> "{column}"'
            )
        database.execute("UPDATE observations SET normalized_hash = hashed(content)")
        database.commit()


def _text_columns(database: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    tables = database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
    for table, sql in tables:
        if "_fts" not in table and not table.startswith("sqlite_") and "VIRTUAL" not in sql:
            for _, column, kind, *_ in database.execute(f'PRAGMA table_info("{table}")').fetchall():
                if kind == "TEXT":
                    yield table, column


def _hash_of(content: str) -> str:
    return hashlib.sha256(" ".join(content.lower().split()).encode()).hexdigest()
