"""How what memtui wrote into files fares: whether it stands, or a program has taken it back.

An agent that read a file before memtui wrote it, and writes it whole afterwards, takes the edit
back without knowing. Nothing can prevent it; it can be noticed, and the edit can be made again.
What the agent wrote besides is its own: a record is compared by the members that were changed, a
text by the lines. A file that memtui made, and of which nothing is left in what a program has put
in its place, was taken back as well.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from memtui.changes import Edit, RecordEdit, RowEdit, SidecarEdit, TextEdit, TreeEdit, ValueEdit
from memtui.errors import MemtuiError, UnreadableFile
from memtui.files import atomic_replace
from memtui.files.json import editing as spans
from memtui.files.line_merging import beneath, fate_of, nothing_left
from memtui.files.merging import carried, records_by_id, same_value, value_at
from memtui.files.reading import decode, real

SETTLE = 0.05
"""Seconds after which a text that lacks a change is read again: it may be half written."""

RECORDS = ".json"
"""Files whose text is only the place of records and values, which are looked at one by one."""

Trail = Sequence[Edit]
"""What memtui did to one thing, newest first, each edit beginning with what the next one left."""


class FileEditStatus(StrEnum):
    """How an edit fares after it was made."""

    HELD = "held"
    UNDONE = "undone"
    """What it changed is again what it was: a program wrote from an older reading."""
    CHANGED = "changed"
    """It says something else: somebody has changed it since."""


@dataclass(frozen=True, slots=True)
class EditStatus:
    """How the newest edit of a trail stands."""

    standing: FileEditStatus
    again: Edit | None = None
    """UNDONE: makes it again from what is there now."""


HELD = EditStatus(FileEditStatus.HELD)
CHANGED = EditStatus(FileEditStatus.CHANGED)


def standing(trails: Iterable[Trail]) -> list[tuple[Trail, EditStatus]]:
    """How each trail of file edits stands now.

    Left out: files that cannot be read just now, memtui's own notes, book-keeping, table rows.
    """
    by_path: dict[Path, list[Trail]] = {}
    for trail in trails:
        if (path := _file_of(trail[0])) is not None:
            by_path.setdefault(path, []).append(trail)
    found = []
    for path, asked in by_path.items():
        looked = _Looked(path)
        for trail in sorted(asked, key=lambda trail: not isinstance(trail[0], TextEdit)):
            with suppress(UnreadableFile):
                found.append((trail, looked.at(trail)))
    return found


def _file_of(edit: Edit) -> Path | None:
    """The file to look at; None for what other programs do not take back, and for table rows."""
    if isinstance(edit, SidecarEdit | RowEdit | TreeEdit):
        return None
    if isinstance(edit, ValueEdit) and edit.book_keeping:
        return None
    return real(Path(edit.path))


class _Looked:
    """One file as it is now."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lists: dict[tuple[tuple[str, ...], str], dict[str, str]] = {}
        self._text, self._error = self._read()

    def _read(self) -> tuple[str | None, UnreadableFile | None]:
        try:
            data = atomic_replace.read_now(self._path)
        except UnreadableFile as error:
            return None, error
        return None if data is None else decode(data), None

    def at(self, trail: Trail) -> EditStatus:
        """Raises UnreadableFile."""
        if self._error is not None:
            raise self._error
        newest = trail[0]
        if isinstance(newest, RecordEdit):
            return _record([e for e in trail if isinstance(e, RecordEdit)], self._record(newest))
        if isinstance(newest, ValueEdit):
            return _value([e for e in trail if isinstance(e, ValueEdit)], self._value(newest))
        return self._whole([e for e in trail if isinstance(e, TextEdit)])

    def _record(self, edit: RecordEdit) -> str | None:
        name = edit.array, edit.id_key
        if name not in self._lists:
            self._lists[name] = records_by_id(self._text or "", *name)
        return self._lists[name].get(edit.id)

    def _value(self, edit: ValueEdit) -> str:
        return value_at(self._text or "", edit.pointer)

    def _whole(self, trail: list[TextEdit]) -> EditStatus:
        found = _text(trail, self._text)
        if self._text is None and isinstance(found.again, TextEdit):
            self._text = found.again.after  # records in it are judged as in the file made again
            return found
        if isinstance(found.again, TextEdit) and found.again.before != trail[0].before:
            time.sleep(SETTLE)
            if self._read() != (self._text, None):
                raise UnreadableFile("it is being written", where=str(self._path))
        return found


def _undone(again: Edit) -> EditStatus:
    return EditStatus(FileEditStatus.UNDONE, again)


# ---- records and values ---------------------------------------------------------------------


def _record(trail: list[RecordEdit], now: str | None) -> EditStatus:
    newest = trail[0]
    if same_value(now, newest.after):
        return HELD
    if any(same_value(now, edit.before) for edit in trail):
        return _undone(replace(newest, before=now))
    for edit in reversed(trail):
        if now is not None and edit.before is not None and newest.after is not None:
            try:
                if _members_back(edit.before, newest.after, now):
                    again = carried(now, edit.before, newest.after)
                    return _undone(replace(newest, before=now, after=again))
            except MemtuiError:  # a key that is there twice
                continue
    return CHANGED


def _members_back(before: str, after: str, now: str) -> bool:
    """Whether of the members that were changed some are as before, and none is as it was made."""
    old, new, there = (spans.load(raw) for raw in (before, after, now))
    if not all(isinstance(value, dict) for value in (old, new, there)):
        return False
    changed = [key for key in {**old, **new} if _member(old, key) != _member(new, key)]
    made = any(_member(there, key) == _member(new, key) for key in changed)
    return not made and any(_member(there, key) == _member(old, key) for key in changed)


def _member(record: dict[str, Any], key: str) -> str | None:
    return json.dumps(record[key]) if key in record else None


def _value(trail: list[ValueEdit], now: str) -> EditStatus:
    newest = trail[0]
    if same_value(now or None, newest.after or None):
        return HELD
    if any(same_value(now or None, edit.before or None) for edit in trail):
        return _undone(replace(newest, before=now))
    return CHANGED


# ---- whole texts ----------------------------------------------------------------------------


def _text(trail: list[TextEdit], now: str | None) -> EditStatus:
    newest = trail[0]
    if now == newest.after:
        return HELD
    if any(now == edit.before for edit in trail):
        return _undone(replace(newest, before=now))
    if now is None:
        return CHANGED
    if newest.after is None:  # removed, and made anew
        same = any(now.rstrip() == (edit.before or "").rstrip() for edit in trail)
        return _undone(replace(newest, before=now)) if same else CHANGED
    made = any(edit.before is None for edit in trail)
    if made and not newest.path.endswith(RECORDS) and nothing_left(newest.after, now):
        return _undone(TextEdit(newest.path, now, beneath(now, newest.after)))
    # From the oldest text on: what the agent wrote may come from any of them.
    again, taken_back, all_there = now, False, True
    for edit in reversed(trail):
        if edit.before is not None:
            fate = fate_of(edit.before, newest.after, again)
            again, taken_back = fate.again, taken_back or fate.taken_back
            all_there = all_there and fate.all_there
    if taken_back:
        return _undone(TextEdit(newest.path, now, again))
    return CHANGED if made or not all_there else HELD
