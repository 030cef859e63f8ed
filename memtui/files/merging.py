"""Apply edits to the current text of a file, which may differ from the text they were planned on.

A record edit finds its record by id and requires only that this record is what the person saw;
changes of other records by other programs stay. All functions are pure, from text to text.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from itertools import accumulate, groupby
from typing import Any, NamedTuple

from msgspec.structs import replace

from memtui.changes import ITEM_TEXTS, TEXTS, Edit, Kind, count_common, record_edit
from memtui.errors import Conflict, Refused, UnreadableFile
from memtui.files import sidecar_lines, text_items
from memtui.files.json import editing as spans
from memtui.files.json.locating import LINES, Record, load, load_records, locate, record_id

Key = tuple[Any, ...]
"""(array, id key, id) of a record in a file."""


def rebase(text: str | None, edits: Sequence[Edit], where: str = "") -> str | None:
    """Return the text with the edits applied.

    Args:
        text: the content of the file; None where there is no file.
        edits: in order; one whose result is there already changes nothing.
        where: the path, for messages.

    Raises:
        Conflict: the target of an edit is neither as before nor as after it.
        UnreadableFile: the file is broken.
    """
    entries = [edit for edit in edits if edit.kind is Kind.SIDECAR]
    if entries:
        text = sidecar_lines.write_entries(text, entries, where)
    for is_text, run in groupby(_joined(edits), lambda edit: edit.kind in TEXTS):
        if is_text:
            for edit in run:
                text = _apply_text_edit(text, edit, where)
            continue
        parts = list(run)
        records = [edit for edit in parts if edit.kind is Kind.RECORD]
        if records:  # at once, since their positions count all of the records
            text = _apply_record_edits(text, records, where)
        for edit in parts:
            if edit.kind in (Kind.VALUE, Kind.COUNTER):
                text = _apply_value_edit(text, edit, where)
    return text


def _joined(edits: Sequence[Edit]) -> list[Edit]:
    """The edits, with one in place of several that follow each other in a text of items."""
    joined: list[Edit] = []
    for edit in edits:
        last = joined[-1] if joined else None
        if last and last.kind is edit.kind in ITEM_TEXTS and edit.before == last.after:
            joined[-1] = replace(last, after=edit.after)
        else:
            joined.append(edit)
    return joined


# ---- records --------------------------------------------------------------------------------


def _apply_record_edits(text: str | None, edits: list[Edit], where: str) -> str | None:
    if all(edit.key[0] == LINES for edit in edits):  # a file without a line is none
        lines = _apply_in_array(text or "", LINES, edits, where)
        return lines if lines.strip() else None
    if text is None:
        new_record = next((edit.after for edit in _combined(edits) if edit.after is not None), None)
        if new_record is None:  # what was to be removed went with the file
            return None
        raise Conflict("the file is gone", where=where, theirs=None, yours=new_record)
    for array in dict.fromkeys(edit.key[0] for edit in edits):
        text = _apply_in_array(text, array, [edit for edit in edits if edit.key[0] == array], where)
    return text


def _apply_in_array(text: str, array: tuple[str, ...], edits: list[Edit], where: str) -> str:
    records = load_records(text, array, where)
    places = _index_by_id(records, {edit.key[1] for edit in edits})
    changed: dict[int, str] = {}
    removed: set[int] = set()
    added: list[tuple[int | None, str]] = []
    made: set[Edit] = set()
    for edit in _combined(edits):
        twins = places.get(edit.key[1:], [])
        index = _find_record(records, twins, edit)
        if index is not None:
            twins.remove(index)
        elif edit in made:
            continue
        made.add(edit)
        current = records[index].raw if index is not None else None
        new_record = _merged_record(edit, current, where)
        if new_record == current:
            continue
        if new_record is None and index is not None:
            removed.add(index)
        elif new_record is not None and index is not None:
            changed[index] = new_record
        elif new_record is not None:
            added.append((edit.at, new_record))
    if array and array != LINES:
        locate(text, array)  # refuses a way that leads over a doubled key
    result = spans.splice(text, [(records[i].start, records[i].end, changed[i]) for i in changed])
    if removed:
        result = spans.remove_records(result, array, removed)
    placed = [(place, raw) for place, raw in added if place is not None]
    for place, raw in sorted(placed, key=lambda item: item[0]):
        result = spans.insert_records(result, array, [raw], place)
    last = [raw for place, raw in added if place is None]
    if last:
        result = spans.insert_records(result, array, last)
    if result != text:
        _check_records(records, result, array, set(changed) | removed, len(added), where)
    return result


def _index_by_id(records: list[Record], id_keys: set[str]) -> dict[tuple[str, str], list[int]]:
    places: dict[tuple[str, str], list[int]] = {}
    for id_key in id_keys:
        for index, record in enumerate(records):
            found = record_id(record.value, id_key)
            if found is not None:
                places.setdefault((id_key, found), []).append(index)
    return places


def _combined(edits: list[Edit]) -> list[Edit]:
    """Combine edits of one record, each made from the last one's result, into one."""
    combined: list[Edit] = []
    last: dict[tuple[Key, str | None], int] = {}
    for edit in edits:
        place = last.pop((edit.key, edit.before), len(combined))
        if place == len(combined):
            combined.append(edit)
        else:
            combined[place] = replace(combined[place], after=edit.after)
        last[edit.key, edit.after] = place
    return combined


def _find_record(records: list[Record], indexes: list[int], edit: Edit) -> int | None:
    """Return the index of the record the edit means, of those that no other edit has taken, since
    ids need not be unique."""
    for version in (edit.before, edit.after):
        for index in indexes:
            if version is not None and records[index].raw == version:
                return index
    return indexes[0] if indexes else None


def _merged_record(edit: Edit, current: str | None, where: str) -> str | None:
    """Return the record's new text, given its current one. Raises Conflict."""
    before: str | None = edit.before
    after: str | None = edit.after
    if current == before:
        return after
    if is_same_value(current, after):
        return current
    if current is not None and before is not None and is_same_value(current, before):
        return None if after is None else apply_record_change(current, before, after)
    problem = "is gone" if current is None else "was changed by another program"
    message = (
        "a record with this id already exists" if edit.before is None else f"the record {problem}"
    )
    raise Conflict(message, where=where, base=edit.before, theirs=current, yours=edit.after)


def is_same_value(first: str | None, second: str | None) -> bool:
    """Whether two raw texts are the same JSON value.

    A program may have rewritten the file and put the keys of a record into another order.
    """
    if first is None or second is None:
        return first is second
    return first == second or _normalized(first) == _normalized(second)


def _normalized(raw: str) -> str:
    return json.dumps(load(raw), sort_keys=True)


def apply_record_change(current: str, before: str, after: str) -> str:
    """Apply the change from `before` to `after` to the same record in another spelling."""
    old, new, raw = load(before), load(after), current
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
    old: list[Record],
    result: str,
    array: tuple[str, ...],
    touched: set[int],
    added: int,
    where: str,
) -> None:
    """Raise Refused unless all other records are there, byte for byte and in order."""
    now = [record.raw for record in load_records(result, array, where) if record.raw]
    untouched = [each.raw for index, each in enumerate(old) if each.raw and index not in touched]
    remaining = iter(now)  # `in` advances it, so the order is compared too
    if not all(raw in remaining for raw in untouched) or len(now) < len(untouched) + added:
        raise Refused("the edit would change another record", where=where)


# ---- values and texts -----------------------------------------------------------------------


def _apply_value_edit(text: str | None, edit: Edit, where: str) -> str | None:
    if text is None:
        if edit.kind is Kind.COUNTER:
            return None
        raise Conflict("the file is gone", where=where, theirs=None, yours=edit.after)
    *parents, key = edit.key
    current = value_at(text, edit.key)
    if is_same_value(current, edit.after):
        return text
    if not is_same_value(current, edit.before):
        if edit.kind is Kind.COUNTER:
            return text
        raise Conflict(
            f"the entry {key!r} was changed by another program",
            where=where,
            base=edit.before,
            theirs=current,
            yours=edit.after,
        )
    if current and edit.after:
        return spans.set_value(text, edit.key, edit.after)
    parent = spans.raw_value(text, tuple(parents))
    if edit.after:
        parent = spans.add_member(parent, key, load(edit.after), edit.at)
        if "\n" not in edit.after:
            parent = spans.set_value(parent, (key,), edit.after)
    else:
        parent = spans.remove_member(parent, key)
    return spans.set_value(text, tuple(parents), parent)


def value_at(text: str, pointer: tuple[str, ...]) -> str | None:
    """Return the raw value at the pointer; None where the object lacks its last key."""
    *parents, key = pointer
    parent = spans.raw_value(text, tuple(parents))
    return spans.raw_value(text, pointer) if spans.has_member(parent, key) else None


def _apply_text_edit(text: str | None, edit: Edit, where: str) -> str | None:
    if text in (edit.before, edit.after):
        return None if edit.after is None else str(edit.after)
    if edit.kind in ITEM_TEXTS and text is not None:
        with suppress(UnreadableFile):
            return text_items.merge_edit(text, edit, where)
    merged = _merge_texts(text, edit)
    if merged is not None:
        return merged
    if text is None:
        problem = "the file is gone"
    elif edit.before is None:
        problem = "a file of this name already exists"
    else:
        problem = "the file was changed by another program"
    raise Conflict(problem, where=where, base=edit.before, theirs=text, yours=edit.after)


def _merge_texts(text: str | None, edit: Edit) -> str | None:
    """The current text with the edit made; None for a conflict.

    Of a file that is one memory only lines that another program has appended are merged.
    """
    if text is None or edit.before is None or edit.after is None:
        return None
    sides = [side for side in (edit.before, edit.after) if side.endswith("\n")]
    if edit.kind is Kind.FILE and not any(map(text.startswith, sides)):
        return None
    base, ours, theirs = (_lines(version) for version in (edit.before, edit.after, text))
    merged = theirs if _is_made(base, ours, theirs) else merge_lines(base, ours, theirs)
    return None if merged is None else "".join(merged)


def _is_made(base: list[str], ours: list[str], theirs: list[str]) -> bool:
    """Whether theirs is ours with more lines directly below our new ones, as after a redo."""
    hunk = _hunk(base, ours)
    end = hunk.start + len(hunk.lines)
    is_new = bool(hunk.lines) and set(hunk.lines).isdisjoint(base[hunk.start : hunk.end])
    added = len(theirs) - len(ours)
    return (
        is_new and added >= 0 and theirs == [*ours[:end], *theirs[end : end + added], *ours[end:]]
    )


def _lines(text: str) -> list[str]:
    """The lines with their line feeds; only a line feed ends one."""
    parts = text.split("\n")
    return [f"{line}\n" for line in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


# ---- lines ----------------------------------------------------------------------------------


def merge_lines(base: list[str], ours: list[str], theirs: list[str]) -> list[str] | None:
    """Merge two changed versions of some lines; None where they conflict.

    As in git, changes conflict unless an unchanged line is between them, except that both may make
    the same change, and that changes may touch where a record begins (`_may_touch`). More conflicts
    than git finds are possible: nothing is merged whose place is not certain.
    """
    merged: list[str] = []
    removed: set[str] = set()
    added: set[str] = set()
    for b, o, t, anchor in _sections(_anchors(base, ours, theirs), base, ours, theirs):
        part = _merge_section(b, o, t, anchor)
        if part is None:
            return None
        added |= {*o, *t}.difference(b)
        removed |= set(b).difference(o) if o == t else set()
        merged += [*part, *anchor]
    if removed & added:  # one side moved what the other removed
        return None
    return None if any(not line.endswith("\n") for line in merged[:-1]) else merged


CONFLICT_MARKS = ("<<<<<<< on disk", "=======", ">>>>>>> yours")
"""The lines around two versions of the same lines, as git writes them."""
MOST_ALIGNED = 3000
"""Lines of three versions that are aligned one by one, which takes quadratic time."""


def merge_marked(base: str, ours: str, theirs: str) -> tuple[str, int]:
    """Merge two changed versions of a text, as far as their changes do not touch.

    Returns:
        The text, in which lines that conflict stand in both versions between `CONFLICT_MARKS`; and
        how many such places there are.
    """
    versions = [[f"{line}\n" for line in text.split("\n")] for text in (base, ours, theirs)]
    merged = merge_lines(*versions)
    if merged is not None:
        return "".join(merged)[:-1], 0
    found: list[str] = []
    conflicts, is_certain = 0, True
    for b, o, t, anchor in _sections(_anchors(*versions), *versions):
        part = _merge_section(b, o, t, anchor)
        if part is None:
            is_certain = False
            part, count = _mark_section(b, o, t)
            conflicts += count
        found += [*part, *anchor]
    if is_certain:  # one side moved what the other removed
        found, conflicts = _marked(versions[1], versions[2]), 1
    return "".join(found)[:-1], conflicts


def _sections(
    places: Iterable[tuple[int, ...]], *versions: list[str]
) -> Iterator[tuple[list[str], ...]]:
    """What stands between lines of which the place in each version is known, and that line."""
    start: tuple[int, ...] = (0,) * len(versions)
    for end in [*places, tuple(map(len, versions))]:
        parts = (v[i:j] for v, i, j in zip(versions, start, end, strict=True))
        yield (*parts, versions[0][end[0] : end[0] + 1])
        start = tuple(place + 1 for place in end)


def _mark_section(base: list[str], ours: list[str], theirs: list[str]) -> tuple[list[str], int]:
    """Mark the lines of a section that both changed, also between lines that occur several times.

    Their places are not certain, but a person reads the text before it is saved.
    """
    places: list[tuple[int, ...]] = []
    if len(base) + len(ours) + len(theirs) <= MOST_ALIGNED:
        in_ours, in_theirs = (
            {
                block.a + step: block.b + step
                for block in SequenceMatcher(None, base, v, autojunk=False).get_matching_blocks()
                for step in range(block.size)
            }
            for v in (ours, theirs)
        )
        common = sorted(in_ours.keys() & in_theirs.keys())
        places = [(line, in_ours[line], in_theirs[line]) for line in common]
    found: list[str] = []
    conflicts = 0
    for b, o, t, line in _sections(places, base, ours, theirs):
        is_conflict = b not in (o, t) and o != t
        conflicts += is_conflict
        found += [*(_marked(o, t) if is_conflict else t if o == b else o), *line]
    return found, conflicts


def _marked(ours: list[str], theirs: list[str]) -> list[str]:
    above, between, below = (f"{mark}\n" for mark in CONFLICT_MARKS)
    head = count_common(ours, theirs)
    tail = count_common(ours[head:][::-1], theirs[head:][::-1])
    ends = [lines[head : len(lines) - tail] for lines in (theirs, ours)]
    return [*ours[:head], above, *ends[0], between, *ends[1], below, *ours[len(ours) - tail :]]


def _anchors(*versions: list[str]) -> list[tuple[int, ...]]:
    """The places of the lines that occur once in every version, and have not changed places."""
    counts = [Counter(version) for version in versions]
    places = [{line: place for place, line in enumerate(version)} for version in versions]
    common = [line for line in versions[0] if all(count[line] == 1 for count in counts)]
    found = [tuple(place[line] for place in places) for line in common]
    for order in range(1, len(versions)):
        highest = list(accumulate((place[order] for place in found), max))
        lowest = list(accumulate((place[order] for place in reversed(found)), min))[::-1]
        pairs = zip(found, highest, lowest, strict=True)
        found = [place for place, high, low in pairs if high == place[order] == low]
    return found


class _Hunk(NamedTuple):
    start: int
    end: int
    lines: list[str]
    """What takes the place of the lines of the base from `start` to `end`."""


def _merge_section(
    base: list[str], ours: list[str], theirs: list[str], below: list[str]
) -> list[str] | None:
    """Merge what is between two anchors; `below` is the lower one, empty at the end."""
    if ours == base:
        return theirs
    if theirs in (base, ours):
        return ours
    first, second = sorted((_hunk(base, theirs), _hunk(base, ours)), key=lambda hunk: hunk[:2])
    between = base[first.end : second.start]
    changed = {line for hunk in (first, second) for line in hunk.lines + base[slice(*hunk[:2])]}
    if any(line not in changed for line in between):  # else they may overlap
        lines = [*first.lines, *between, *second.lines]
    elif _may_touch(first, second, [*base, *below]):
        lines = [*first.lines, *second.lines]
    elif first[:2] == second[:2] and _may_touch(second, first, [*base, *below]):
        lines = [*second.lines, *first.lines]
    else:
        return None
    return [*base[: first.start], *lines, *base[second.end :]]


def _hunk(base: list[str], version: list[str]) -> _Hunk:
    """The change as one hunk: everywhere that it may have been made, where lines are repeated."""
    head, tail = count_common(base, version), count_common(base[::-1], version[::-1])
    shorter = min(len(base), len(version))
    start, tail = min(head, shorter - tail), min(tail, shorter - head)
    return _Hunk(start, len(base) - tail, version[start : len(version) - tail])


_RECORD_START = re.compile(r"(?:[-*+]|\d{1,9}[.)]|#{1,6})[ \t]|\{|\r?\n\S")
"""A list item, a heading, a JSON object, or any text below a blank line. Not an indented line."""


def _may_touch(first: _Hunk, second: _Hunk, base: list[str]) -> bool:
    """Whether what follows the first hunk is a record of its own, on both sides.

    An agent appends records to a list while a person edits, adds or removes the last one. But a
    line that continues a record, or a section, which the other side changed is a conflict.
    """
    shared = set(first.lines).intersection(second.lines)
    if first.end != second.start or any(map(str.strip, shared)):
        return False
    removed = base[first.start : first.end]
    if sum(map(_is_heading, removed)) > sum(map(_is_heading, first.lines)):
        return False
    return _begins_record(second.lines + base[second.end :]) and _begins_record(base[first.end :])


def _begins_record(lines: list[str]) -> bool:
    return not lines or bool(_RECORD_START.match("".join(lines[:2])))


def _is_heading(line: str) -> bool:
    return line.startswith("#")


# ---- changes of another program --------------------------------------------------------------


def diff_records(old: str, new: str, arrays: Iterable[tuple[tuple[str, ...], str]]) -> list[Edit]:
    """Return the record edits that lead from one version of a file to another.

    `arrays` are the arrays to compare, each with its id key. Records without an id are left out.
    """
    edits = []
    for array, id_key in dict.fromkeys(arrays):
        before = records_by_id(old, array, id_key)
        after = records_by_id(new, array, id_key)
        for name in dict.fromkeys([*before, *after]):
            was, now = before.get(name), after.get(name)
            if was != now:
                edits.append(record_edit("", array, id_key, name, was, now))
    return edits


def records_by_id(text: str, array: tuple[str, ...], id_key: str) -> dict[str, str]:
    """Return the raw text of every record by id; the first one where an id occurs twice."""
    found: dict[str, str] = {}
    for record in load_records(text, array):
        name = record_id(record.value, id_key)
        if name is not None:
            found.setdefault(name, record.raw)
    return found


def reapply_edits(text: str, edits: Sequence[Edit]) -> str:
    """Return the text with the edits that still fit applied; the others are skipped."""
    known = {name: records_by_id(text, *name) for name in {edit.key[:2] for edit in edits}}
    applicable = [
        edit for edit in edits if is_same_value(known[edit.key[:2]].get(edit.id), edit.before)
    ]
    return (_apply_record_edits(text, applicable, "") or "") if applicable else text
