"""Memories that are true of their time: notes of a series, logs, sessions, reports, plans."""

from __future__ import annotations

import os
import re

from memtui.model import Memory

PAGES = frozenset({"document", "note"})
"""Kinds of memories that are a whole file."""
_LABEL = 60
"""Characters in which the colon after a label is looked for."""
_DATE = re.compile(r"\d{4}[-_.]?(?:[01]\d[-_.]?[0-3]\d|w[0-5]\d)", re.IGNORECASE)
"""A day or a week, as names of notes have it."""


def are_of_one_series(one: Memory, other: Memory) -> bool:
    """Whether they are notes of one series on different days, by their titles or files: each is
    true of its day."""
    for name, other_name in zip(_names_of(one), _names_of(other), strict=True):
        day, other_day = _DATE.search(name), _DATE.search(other_name)
        if day and other_day and day[0] != other_day[0]:
            return name[: day.start()] == other_name[: other_day.start()]
    return False


def is_dated_file(memory: Memory) -> bool:
    """Whether the file of a memory is named after a day: a log, whose lines may come again."""
    return _DATE.search(os.path.basename(memory.origin.file)) is not None


def _names_of(memory: Memory) -> tuple[str, str]:
    """Its title, or what it begins with before a colon; and its file, if it is all of it: some
    programs keep the facts of each day in a file."""
    label, colon, _ = memory.content[:_LABEL].partition(":")
    file = os.path.basename(memory.origin.file) if memory.kind in PAGES else ""
    return memory.title or (label if colon else ""), file


_OF_ITS_TIME = re.compile(
    r"(?<![a-z])(?:session|report|progress|journal|changelog|retrospective|post-?mortem|archived?"
    r"|prompt|log|daily|handoff|handover|summary[ _-]of|status)(?![a-z])"
    r"|(?:^|/)(?:archive|logs?|sessions?|tasks?)/",
    re.IGNORECASE,
)
_OF_PLANS = re.compile(
    r"(?<![a-z])(?:plan|planning|roadmap|migration|proposal|todo|meeting|standup|incident|summary"
    r"|specs?|brief|completion|completed|retirement|worklog|rapport|audit|analysis|backlog|inventory|evidence)(?![a-z])",
    re.IGNORECASE,
)
"""In the path of a document: it tells what was to be done, or what was done then."""
_DATED = re.compile(r"(?<!\d)(?:19|20)\d\d[-_]?[01]\d(?:[-_]?[0-3]\d)?(?!\d)")
"""A day or a month in the name of a file or a title."""


def is_of_its_time(memory: Memory) -> bool:
    """Whether a memory tells what was so on its day: a session, a log, a report, an episode."""
    file = memory.origin.file.rpartition("/")[2]
    path = memory.id if memory.kind in PAGES else ""
    names = f"{memory.title}\n{memory.type.replace('_', ' ').replace('-', ' ')}\n{path}"
    is_long = memory.kind == "observation" and "\n" in memory.content
    return (
        memory.kind == "episode"
        or is_long  # what an agent learned in a session, step by step
        or _DATED.search(f"{file} {memory.title}") is not None
        or _OF_ITS_TIME.search(names) is not None
        or _OF_PLANS.search(path) is not None
    )
