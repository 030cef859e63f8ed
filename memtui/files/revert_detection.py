"""Detect whether other programs have reverted memtui's edits of files.

An agent that read a file before memtui wrote it, and writes it whole afterwards, reverts the edit
without knowing. That cannot be prevented, but it can be detected, and the edit can be reapplied.
The agent's other changes are left alone: records are compared by the members that were changed,
texts by the lines. A file that memtui made counts as reverted when nothing of it is left in what a
program has put in its place.
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
from memtui.files.merging import apply_record_change, is_same_value, records_by_id, value_at
from memtui.files.reading import decode, real_path
from memtui.files.reverted_passages import append_text, compare_passages, is_all_gone

SETTLE = 0.05
"""Seconds after which a text that lacks a change is read again: it may be half written."""

RECORD_FILES = ".json"
"""Suffix of files whose text only holds records and values, which are checked one by one."""

EditSequence = Sequence[Edit]
"""The edits of one record, value or text, newest first. Each starts from the result of the next."""


class EditState(StrEnum):
    """What became of an edit after it was made."""

    HELD = "held"
    REVERTED = "reverted"
    """What it changed is again as before: a program wrote from an older reading."""
    CHANGED = "changed"
    """It was changed to something else since."""


@dataclass(frozen=True, slots=True)
class EditStatus:
    """What became of the newest edit of a sequence."""

    state: EditState
    reapply: Edit | None = None
    """For REVERTED: the edit that reapplies it to what is there now."""


HELD = EditStatus(EditState.HELD)
CHANGED = EditStatus(EditState.CHANGED)


def find_statuses(sequences: Iterable[EditSequence]) -> list[tuple[EditSequence, EditStatus]]:
    """Compare sequences of file edits with the files as they are now.

    Left out: files that cannot be read just now, memtui's own notes, book-keeping, table rows.
    """
    by_path: dict[Path, list[EditSequence]] = {}
    for edits in sequences:
        if (path := _file_of(edits[0])) is not None:
            by_path.setdefault(path, []).append(edits)
    found = []
    for path, of_file in by_path.items():
        file = _CurrentFile(path)
        for edits in sorted(of_file, key=lambda edits: not isinstance(edits[0], TextEdit)):
            with suppress(UnreadableFile):
                found.append((edits, file.status_of(edits)))
    return found


def _file_of(edit: Edit) -> Path | None:
    """The file to read; None for what other programs do not revert, and for table rows."""
    if isinstance(edit, SidecarEdit | RowEdit | TreeEdit):
        return None
    if isinstance(edit, ValueEdit) and edit.book_keeping:
        return None
    return real_path(Path(edit.path))


class _CurrentFile:
    """One file as it is now."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lists: dict[tuple[tuple[str, ...], str], dict[str, str]] = {}
        self._text, self._error = self._read()

    def _read(self) -> tuple[str | None, UnreadableFile | None]:
        try:
            data = atomic_replace.read_if_exists(self._path)
        except UnreadableFile as error:
            return None, error
        return None if data is None else decode(data), None

    def status_of(self, edits: EditSequence) -> EditStatus:
        """Raises UnreadableFile."""
        if self._error is not None:
            raise self._error
        newest = edits[0]
        if isinstance(newest, RecordEdit):
            return _record([e for e in edits if isinstance(e, RecordEdit)], self._record(newest))
        if isinstance(newest, ValueEdit):
            return _value([e for e in edits if isinstance(e, ValueEdit)], self._value(newest))
        return self._whole([e for e in edits if isinstance(e, TextEdit)])

    def _record(self, edit: RecordEdit) -> str | None:
        name = edit.array, edit.id_key
        if name not in self._lists:
            self._lists[name] = records_by_id(self._text or "", *name)
        return self._lists[name].get(edit.id)

    def _value(self, edit: ValueEdit) -> str:
        return value_at(self._text or "", edit.pointer)

    def _whole(self, edits: list[TextEdit]) -> EditStatus:
        found = _text(edits, self._text)
        if self._text is None and isinstance(found.reapply, TextEdit):
            self._text = found.reapply.after  # records in it are compared with the file made again
            return found
        if isinstance(found.reapply, TextEdit) and found.reapply.before != edits[0].before:
            time.sleep(SETTLE)
            if self._read() != (self._text, None):
                raise UnreadableFile("it is being written", where=str(self._path))
        return found


def _reverted(reapply: Edit) -> EditStatus:
    return EditStatus(EditState.REVERTED, reapply)


# ---- records and values ---------------------------------------------------------------------


def _record(edits: list[RecordEdit], now: str | None) -> EditStatus:
    newest = edits[0]
    if is_same_value(now, newest.after):
        return HELD
    if any(is_same_value(now, edit.before) for edit in edits):
        return _reverted(replace(newest, before=now))
    for edit in reversed(edits):
        if now is not None and edit.before is not None and newest.after is not None:
            try:
                if _members_reverted(edit.before, newest.after, now):
                    again = apply_record_change(now, edit.before, newest.after)
                    return _reverted(replace(newest, before=now, after=again))
            except MemtuiError:  # a key that is there twice
                continue
    return CHANGED


def _members_reverted(before: str, after: str, now: str) -> bool:
    """Whether of the members that were changed some are as before, and none is as it was made."""
    old, new, there = (spans.load(raw) for raw in (before, after, now))
    if not all(isinstance(value, dict) for value in (old, new, there)):
        return False
    changed = [key for key in {**old, **new} if _member(old, key) != _member(new, key)]
    any_new = any(_member(there, key) == _member(new, key) for key in changed)
    return not any_new and any(_member(there, key) == _member(old, key) for key in changed)


def _member(record: dict[str, Any], key: str) -> str | None:
    return json.dumps(record[key]) if key in record else None


def _value(edits: list[ValueEdit], now: str) -> EditStatus:
    newest = edits[0]
    if is_same_value(now or None, newest.after or None):
        return HELD
    if any(is_same_value(now or None, edit.before or None) for edit in edits):
        return _reverted(replace(newest, before=now))
    return CHANGED


# ---- whole texts ----------------------------------------------------------------------------


def _text(edits: list[TextEdit], now: str | None) -> EditStatus:
    newest = edits[0]
    if now == newest.after:
        return HELD
    if any(now == edit.before for edit in edits):
        return _reverted(replace(newest, before=now))
    if now is None:
        return CHANGED
    if newest.after is None:  # removed, and made anew
        same = any(now.rstrip() == (edit.before or "").rstrip() for edit in edits)
        return _reverted(replace(newest, before=now)) if same else CHANGED
    made = any(edit.before is None for edit in edits)
    if made and not newest.path.endswith(RECORD_FILES) and is_all_gone(newest.after, now):
        return _reverted(TextEdit(newest.path, now, append_text(now, newest.after)))
    # From the oldest text on: what the agent wrote may come from any of them.
    again, is_reverted, is_complete = now, False, True
    for edit in reversed(edits):
        if edit.before is not None:
            found = compare_passages(edit.before, newest.after, again)
            again, is_reverted = found.reapplied, is_reverted or found.is_reverted
            is_complete = is_complete and found.is_complete
    if is_reverted:
        return _reverted(TextEdit(newest.path, now, again))
    return CHANGED if made or not is_complete else HELD
