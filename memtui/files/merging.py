"""Apply edits to the text a file holds now, which may not be the text they were planned on.

A record edit finds its record by id and asks only that this record is what the person saw; what
other programs did to other records stays. Pure functions from text to text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from memtui.changes import RecordEdit, TextEdit, ValueEdit
from memtui.errors import Conflict, Refused
from memtui.files.json import editing as spans

FileEdit = RecordEdit | ValueEdit | TextEdit

Key = tuple[tuple[str, ...], str, str]
"""(array, id key, id): which record of a file an edit is about."""


def rebase(text: str | None, edits: Sequence[FileEdit], where: str = "") -> str | None:
    """The text with the edits made (None: no file).

    An edit whose result stands there already changes nothing. Raises Conflict when the target of
    an edit is neither what it was nor what it shall be, UnreadableFile when the file is broken.
    """
    records: list[RecordEdit] = []
    values: list[ValueEdit] = []
    for edit in edits:
        if isinstance(edit, RecordEdit):
            records.append(edit)
        elif isinstance(edit, ValueEdit):
            values.append(edit)
        else:
            text = _text(_pieces(text, records, values, where), edit, where)
            records, values = [], []
    return _pieces(text, records, values, where)


def _pieces(
    text: str | None, records: list[RecordEdit], values: list[ValueEdit], where: str
) -> str | None:
    """All records at once: the index of each was counted when all of them were there."""
    if records:
        text = _records(text, records, where)
    for edit in values:
        text = _value(text, edit, where)
    return text


def record_key(edit: RecordEdit) -> Key:
    return edit.array, edit.id_key, edit.id


def record_id(value: Any, id_key: str) -> str | None:
    """The id of a record as text, as edits name it; None when it has none."""
    found = value.get(id_key) if isinstance(value, dict) else None
    if isinstance(found, str):
        return found
    return str(found) if isinstance(found, int) and not isinstance(found, bool) else None


# ---- records --------------------------------------------------------------------------------


def _records(text: str | None, edits: list[RecordEdit], where: str) -> str | None:
    if text is None:
        wanted = next((edit.after for edit in _folded(edits) if edit.after is not None), None)
        if wanted is None:  # what was to be taken out went with the file
            return None
        raise Conflict("the file is gone", where=where, theirs=None, yours=wanted)
    for array in dict.fromkeys(edit.array for edit in edits):
        text = _in_array(text, array, [edit for edit in edits if edit.array == array], where)
    return text


def _in_array(text: str, array: tuple[str, ...], edits: list[RecordEdit], where: str) -> str:
    records = spans.load_records(text, array, where)
    places = _places(records, {edit.id_key for edit in edits})
    changed: dict[int, str] = {}
    removed: set[int] = set()
    added: list[tuple[int | None, str]] = []
    for edit in _folded(edits):
        index = _pick(records, places.get((edit.id_key, edit.id), []), edit)
        theirs = records[index].raw if index is not None else None
        wanted = _wanted(edit, theirs, where)
        if wanted == theirs:
            continue
        if wanted is None and index is not None:
            removed.add(index)
        elif wanted is not None and index is not None:
            changed[index] = wanted
        elif wanted is not None:
            added.append((edit.index, wanted))
    if array:
        spans.locate(text, array)  # refuses a way that leads over a doubled key
    result = spans.splice(text, [(records[i].start, records[i].end, changed[i]) for i in changed])
    if removed:
        result = spans.remove_records(result, array, removed)
    for place, raw in sorted((item for item in added if item[0] is not None), key=_first):
        result = spans.insert_record(result, array, raw, place)
    last = [raw for place, raw in added if place is None]
    if last:
        result = spans.insert_records(result, array, last)
    if result != text:
        _check_records(records, result, array, set(changed) | removed, len(added), where)
    return result


def _first(item: tuple[int | None, str]) -> int:
    return item[0] or 0


def _places(records: list[spans.Record], id_keys: set[str]) -> dict[tuple[str, str], list[int]]:
    places: dict[tuple[str, str], list[int]] = {}
    for id_key in id_keys:
        for index, record in enumerate(records):
            found = record_id(record.value, id_key)
            if found is not None:
                places.setdefault((id_key, found), []).append(index)
    return places


def _folded(edits: list[RecordEdit]) -> list[RecordEdit]:
    """Several edits of one record as one, from the first text to the last."""
    folded: dict[Key, RecordEdit] = {}
    for edit in edits:
        known = folded.get(record_key(edit))
        folded[record_key(edit)] = edit if known is None else replace(known, after=edit.after)
    return list(folded.values())


def _pick(records: list[spans.Record], indexes: list[int], edit: RecordEdit) -> int | None:
    """Which of the records with this id is meant: ids need not be unique."""
    for wanted in (edit.before, edit.after):
        for index in indexes:
            if wanted is not None and records[index].raw == wanted:
                return index
    return indexes[0] if indexes else None


def _wanted(edit: RecordEdit, theirs: str | None, where: str) -> str | None:
    """The record's text as it shall be, given what stands there now."""
    if theirs == edit.before:
        return edit.after
    if is_same_value(theirs, edit.after):
        return theirs
    if theirs is not None and edit.before is not None and is_same_value(theirs, edit.before):
        return None if edit.after is None else apply_record_change(theirs, edit.before, edit.after)
    gone = "is gone" if theirs is None else "was changed by another program"
    what = "a record with this id is there already" if edit.before is None else f"the record {gone}"
    raise Conflict(what, where=where, base=edit.before, theirs=theirs, yours=edit.after)


def is_same_value(one: str | None, other: str | None) -> bool:
    """Whether two raw texts mean the same JSON: a program may have written the file out anew, and
    put the keys of a record into another order."""
    if one is None or other is None:
        return one is other
    return one == other or _meaning(one) == _meaning(other)


def _meaning(raw: str) -> str:
    return json.dumps(spans.load(raw), sort_keys=True)


def apply_record_change(theirs: str, before: str, after: str) -> str:
    """The change from `before` to `after`, made to the same record in another spelling."""
    old, new, raw = spans.load(before), spans.load(after), theirs
    if not isinstance(old, dict) or not isinstance(new, dict):
        return after
    for key, value in new.items():
        if key not in old or json.dumps(old[key]) != json.dumps(value):
            raw = spans.put_member(raw, key, value)
    for key in old:
        if key not in new:
            raw = spans.remove_member(raw, key)
    return raw


def _check_records(
    old: list[spans.Record],
    result: str,
    array: tuple[str, ...],
    touched: set[int],
    added: int,
    where: str,
) -> None:
    """Every record that no edit names must be there, byte for byte and in order."""
    now = [record.raw for record in spans.load_records(result, array, where)]
    kept = [record.raw for index, record in enumerate(old) if index not in touched]
    waiting = iter(now)
    if not all(raw in waiting for raw in kept) or len(now) < len(kept) + added:
        raise Refused("the edit would change another record", where=where)


# ---- values and texts -----------------------------------------------------------------------


def _value(text: str | None, edit: ValueEdit, where: str) -> str | None:
    if text is None:
        if edit.book_keeping:
            return None
        raise Conflict("the file is gone", where=where, theirs=None, yours=edit.after)
    *way, key = edit.pointer
    theirs = value_at(text, edit.pointer)
    if is_same_value(theirs or None, edit.after or None):
        return text
    if not is_same_value(theirs or None, edit.before or None):
        if edit.book_keeping:
            return text
        raise Conflict(
            f"the entry {key!r} was changed by another program",
            where=where,
            base=edit.before or None,
            theirs=theirs or None,
            yours=edit.after or None,
        )
    if theirs and edit.after:
        return spans.set_value(text, edit.pointer, edit.after)
    parent = spans.raw_value(text, tuple(way))
    if edit.after:
        parent = spans.add_member(parent, key, spans.load(edit.after), edit.index)
        if "\n" not in edit.after:
            parent = spans.set_value(parent, (key,), edit.after)
    else:
        parent = spans.remove_member(parent, key)
    return spans.set_value(text, tuple(way), parent)


def value_at(text: str, pointer: tuple[str, ...]) -> str:
    """The raw value under the last key of the pointer; empty where the object lacks that key."""
    *way, key = pointer
    parent = spans.raw_value(text, tuple(way))
    return spans.raw_value(text, pointer) if spans.has_member(parent, key) else ""


def _text(text: str | None, edit: TextEdit, where: str) -> str | None:
    if text == edit.before or text == edit.after:
        return edit.after
    grown = _grown(text, edit)
    if grown is not None:
        return grown
    if text is None:
        what = "the file is gone"
    elif edit.before is None:
        what = "there is a file of this name already"
    else:
        what = "the file was changed by another program"
    raise Conflict(what, where=where, base=edit.before, theirs=text, yours=edit.after)


def _grown(text: str | None, edit: TextEdit) -> str | None:
    """Yours with the lines that another program has appended meanwhile; None if it did more."""
    if text is None or edit.before is None or edit.after is None:
        return None
    bases = [base for base in (edit.before, edit.after) if text.startswith(base)]
    if not bases or not (edit.before.endswith("\n") and edit.after.endswith("\n")):
        return None
    return edit.after + text[max(map(len, bases)) :]


# ---- what another program did ---------------------------------------------------------------


def diff_records(
    old: str, new: str, lists: Iterable[tuple[tuple[str, ...], str]]
) -> list[RecordEdit]:
    """The record edits that lead from one version of a file to another.

    `lists` names the arrays to look at, each with its id key. Records without an id are left out.
    """
    edits = []
    for array, id_key in dict.fromkeys(lists):
        before = records_by_id(old, array, id_key)
        after = records_by_id(new, array, id_key)
        for name in dict.fromkeys([*before, *after]):
            was, now = before.get(name), after.get(name)
            if was != now:
                edits.append(RecordEdit("", array, id_key, name, was, now))
    return edits


def records_by_id(text: str, array: tuple[str, ...], id_key: str) -> dict[str, str]:
    """The raw text of every record that has an id, the first one where an id is there twice."""
    found: dict[str, str] = {}
    for record in spans.load_records(text, array):
        name = record_id(record.value, id_key)
        if name is not None:
            found.setdefault(name, record.raw)
    return found


def reapply_edits(text: str, edits: Sequence[RecordEdit]) -> str:
    """The text with those of the edits made that still fit; the others are passed over."""
    lists = {(edit.array, edit.id_key) for edit in edits}
    known = {name: records_by_id(text, *name) for name in lists}
    fitting = [
        edit
        for edit in edits
        if is_same_value(known[edit.array, edit.id_key].get(edit.id), edit.before)
    ]
    return (_records(text, fitting, "") or "") if fitting else text
