"""A journal action with its edits, as a value and as JSON for the journal's rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from memtui.changes import (
    Edit,
    RecordEdit,
    RowEdit,
    SidecarEdit,
    StoreEdits,
    TextEdit,
    TreeEdit,
    ValueEdit,
    invert_edits,
)

_KINDS = (RecordEdit, ValueEdit, TextEdit, SidecarEdit, RowEdit, TreeEdit)
_EDITS = {edit.__name__: edit for edit in _KINDS}


class ActionState(StrEnum):
    """The state of an action."""

    INTENT = "intent"
    """Begun: its process is at work, or was killed and the action is not recovered yet."""
    DONE = "done"
    VOID = "void"
    """Nothing of it is on disk."""
    UNDONE = "undone"
    UNSURE = "unsure"
    """Interrupted, and a file is now neither as before nor as after it."""


@dataclass(frozen=True, slots=True)
class JournalAction:
    """One change a person made; undone and redone as a whole."""

    id: int
    title: str
    time: float
    """Unix seconds of its beginning."""
    changed: float
    """Unix seconds when it was last done, undone or redone."""
    state: ActionState
    parts: tuple[StoreEdits, ...]
    note: str = ""
    """A message for the person: that only a part was done, or what recovery found."""
    refs: Mapping[str, str] = field(default_factory=dict)
    """Right after a change or a redo: the planned ref to the written ref where they differ. Not
    stored."""

    @property
    def edits(self) -> tuple[Edit, ...]:
        return tuple(edit for part in self.parts for edit in part.edits)

    def inverted(self) -> tuple[StoreEdits, ...]:
        """Return the edits that undo it."""
        return tuple(
            StoreEdits(part.store, invert_edits(part.edits)) for part in reversed(self.parts)
        )


@dataclass(frozen=True, slots=True)
class Write:
    """One write of a file or table row."""

    path: str
    pre: str
    """SHA-256 before; '' where there is no file."""
    post: str
    done: bool


def pack(value: Any) -> str:
    """Encode a value as ASCII JSON, so that lone surrogates survive SQLite."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def unpack(text: str) -> Any:
    return json.loads(text)


def pack_parts(parts: tuple[StoreEdits, ...]) -> str:
    return pack(
        [
            {"store": part.store, "edits": [_edit_record(edit) for edit in part.edits]}
            for part in parts
        ]
    )


def unpack_parts(text: str) -> tuple[StoreEdits, ...]:
    """Invert `pack_parts`. Raises KeyError, TypeError or ValueError on other text."""
    return tuple(
        StoreEdits(record["store"], tuple(_edit(edit) for edit in record["edits"]))
        for record in unpack(text)
    )


def _edit_record(edit: Edit) -> dict[str, Any]:
    record: dict[str, Any] = {"edit": type(edit).__name__}
    for name in edit.__dataclass_fields__:
        value = getattr(edit, name)
        record[name] = dict(value) if isinstance(value, Mapping) else value
    return record


def _edit(record: dict[str, Any]) -> Edit:
    values = dict(record)
    kind = _EDITS[values.pop("edit")]
    for name in ("array", "pointer"):
        if name in values:
            values[name] = tuple(values[name])
    made: Edit = kind(**values)
    return made
