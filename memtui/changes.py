"""A change, the plan that shows what it would do, and the edits that do it. Pure values.

A `Change` says what a person wants. A store turns it into a `Plan`: the exact edits of every file
or table row, and what to tell the person. Edits are reversible by construction: each knows the
text before and after, so undo is `invert(edits)` through the same save path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any


class Act(StrEnum):
    """What can be done to a memory."""

    ADD = "add"
    EDIT = "edit"
    SUPERSEDE = "supersede"
    RETIRE = "retire"
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


DESTRUCTIVE = frozenset({Act.SUPERSEDE, Act.RETIRE, Act.DELETE, Act.MERGE})
"""Acts that take something away from what agents will be told."""


class Outcome(StrEnum):
    """What a plan would come to; the first four are agent-memory's own words for an add."""

    ADDED = "ADDED"
    DEDUPE = "DEDUPE"
    SUPERSEDED = "SUPERSEDED"
    REJECTED = "REJECTED"
    DONE = "DONE"
    NOTHING = "NOTHING"
    """The memory is already as asked."""


@dataclass(frozen=True, slots=True)
class Change:
    """One described act on one memory (or, for ADD, on a store)."""

    act: Act
    store: str
    """Label of the store."""
    ref: str = ""
    """The memory; empty for ADD."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """By the names of `Memory`: content, title, type, importance, entity, tags, kind, source;
    LINK and UNLINK: relation, target; MERGE: others (ids); RATE: rating.

    An ADD with an `id` brings a memory from elsewhere (import, copy, move): the id is kept where
    the format can, and so are created, updated (datetimes or ISO), status, source, confidence,
    pinned, supersedes, superseded_by, links (`Link` values) and extra (native keys, when it comes
    from the same format). No rule is asked, and nothing that is there is superseded or counted as
    seen again. `document` is the whole text of its file, for a format where a memory is a file."""
    force: bool = False
    """Go on where a rule of the store would refuse (never where data would be harmed)."""


@dataclass(frozen=True, slots=True)
class RecordEdit:
    """One object in a JSON array is set, inserted or removed, as raw text.

    Raw text is what `bytes.decode("utf-8", "surrogateescape")` gives for the object's bytes.
    """

    path: str
    array: tuple[str, ...]
    """Keys that lead to the array from the top of the file: () or ("events",)."""
    id_key: str
    id: str
    before: str | None
    """None: the record must not exist."""
    after: str | None
    """None: remove it."""
    index: int | None = None
    """Where to insert when nothing is there; None = at the end."""


@dataclass(frozen=True, slots=True)
class ValueEdit:
    """One value under a key of a JSON object is set, as raw JSON text."""

    path: str
    pointer: tuple[str, ...]
    before: str
    """Empty: the key must not exist."""
    after: str
    """Empty: take the key out of its object."""
    book_keeping: bool = False
    """The owning program overwrites it all the time, as Ambient does `lastActive`: what it has
    written meanwhile stands, also when the edit is taken back, and nobody is stopped by it."""
    index: int | None = None
    """Which member of its object it is when the key is put in (again); None = the last."""


@dataclass(frozen=True, slots=True)
class TextEdit:
    """A whole text file is replaced, made (`before` None) or removed (`after` None)."""

    path: str
    before: str | None
    """Decoded with surrogateescape, so that every byte survives."""
    after: str | None


@dataclass(frozen=True, slots=True)
class SidecarEdit:
    """What memtui itself keeps about one memory in `.memtui/` changes."""

    root: str
    """Folder that holds (or will hold) `.memtui/`."""
    id: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class RowEdit:
    """One row of a SQLite table is changed, inserted (`before` None) or removed (`after` None)."""

    path: str
    table: str
    key: Mapping[str, Any]
    """Column values that name the row."""
    before: Mapping[str, Any] | None
    """Columns to compare before writing."""
    after: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class TreeEdit:
    """A whole folder is made (`before` None) or taken away (`after` None) in one step."""

    path: str
    before: Mapping[str, Any] | None
    """`files`: by name, each its text and its time (nanoseconds, or None); `databases`: by name,
    each its format and its rows (see `memtui.stores.base.DatabaseSupport`)."""
    after: Mapping[str, Any] | None
    existed: bool = False
    """The folder was there before, empty: it is filled and emptied, and stays the same folder."""


Edit = RecordEdit | ValueEdit | TextEdit | SidecarEdit | RowEdit | TreeEdit


@dataclass(frozen=True, slots=True)
class Plan:
    """What a change would do, complete, before anything is done."""

    changes: tuple[Change, ...]
    edits: tuple[Edit, ...] = ()
    outcome: Outcome = Outcome.DONE
    reason: str = ""
    """One line for the person: why it is refused, what it replaces, what it was too similar to."""
    refs: tuple[str, ...] = ()
    """Memories that the plan touches, the new one's ref first where one is made."""
    supersedes: tuple[str, ...] = ()
    """Refs of memories that would stop being current."""
    warnings: tuple[str, ...] = ()

    @property
    def has_edits(self) -> bool:
        return bool(self.edits)


@dataclass(frozen=True, slots=True)
class StoreEdits:
    """The edits that one action makes in one store."""

    store: str
    """Path of the store's root."""
    edits: tuple[Edit, ...]


def invert_edits(edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """The edits that take these back, in reverse order.

    One that asks only that something is as it is, and leaves it so, has nothing to take back.
    """
    changing = [edit for edit in reversed(edits) if edit.before != edit.after]
    return tuple(replace(edit, before=edit.after, after=edit.before) for edit in changing)  # type: ignore[arg-type]
