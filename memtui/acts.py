"""The kinds of change and their results, without the values that describe a change.

The table of actions needs these names before the first paint; the dataclasses of `memtui.changes`
take 5 ms to create.
"""

from __future__ import annotations

from enum import StrEnum


class Act(StrEnum):
    """The kinds of change to a memory."""

    ADD = "add"
    EDIT = "edit"
    SUPERSEDE = "supersede"
    RETIRE = "retire"
    HIDE = "hide"
    """Retire in memtui only, for a memory that its format cannot retire."""
    RESTORE = "restore"
    DELETE = "delete"
    PIN = "pin"
    UNPIN = "unpin"
    TAG = "tag"
    LINK = "link"
    UNLINK = "unlink"
    RETYPE = "retype"
    MERGE = "merge"
    RATE = "rate"
    REVIEW = "review"
    ACCEPT = "accept"
    DECLINE = "decline"
    ARCHIVE = "archive"
    """Put away the branch that a memory belongs to, as its program does once it is merged."""


DESTRUCTIVE = frozenset({Act.SUPERSEDE, Act.RETIRE, Act.HIDE, Act.DELETE, Act.MERGE})
"""Acts that take something out of what is listed."""


class Outcome(StrEnum):
    """The result of a plan; the first four are agent-memory's own words for an add."""

    ADDED = "ADDED"
    DEDUPE = "DEDUPE"
    SUPERSEDED = "SUPERSEDED"
    REJECTED = "REJECTED"
    DONE = "DONE"
    NOTHING = "NOTHING"
    """The memory already has these values."""
