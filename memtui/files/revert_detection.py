"""Detect whether other programs have reverted memtui's edits of files.

An agent that read a file before memtui wrote it, and writes it whole afterwards, reverts the edit
without knowing. That cannot be prevented, but it can be detected, and the edit can be reapplied.
The agent's other changes are left alone: records are compared by the members that were changed,
texts by each changed passage, searched for alone, because a program adds lines of its own. A file
that memtui made counts as reverted when nothing of it is left in what a program put in its place.
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from enum import StrEnum
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from memtui.changes import ITEM_TEXTS, TEXTS, Edit, Kind, count_common
from memtui.errors import MemtuiError, UnreadableFile
from memtui.files import atomic_replace, text_items
from memtui.files.frontmatter import split
from memtui.files.json.locating import load
from memtui.files.merging import apply_record_change, is_same_value, records_by_id, value_at
from memtui.files.reading import decode, real_path
from memtui.files.text_items import is_similar

MAX_LINES = 2000
"""Differing lines; with more, texts are only compared whole, for this runs often."""
MAX_PAIRS = 20_000
"""Pairs of lines that are compared for similarity to see whether anything is left of a text."""

Span = tuple[int, int]


class PassageComparison(Struct, frozen=True):
    """What became of the passages that were changed."""

    is_reverted: bool
    """At least one is again as before the change."""
    is_complete: bool
    """All are as changed."""
    reapplied: str
    """The current text with the reverted passages changed again."""


def compare_passages(before: str, after: str, now: str) -> PassageComparison:
    """Search the current text for the passages that differ between `before` and `after`."""
    texts = [text.split("\n") for text in (before, after, now)]
    head = min(count_common(texts[2], text) for text in texts[:2])
    ends = [text[head:][::-1] for text in texts]
    tail = min(count_common(ends[2], text) for text in ends[:2])
    old, ours, current = (lines[head : len(lines) - tail] for lines in texts)
    if max(map(len, (old, ours, current))) > MAX_LINES:
        return PassageComparison(is_reverted=False, is_complete=now == after, reapplied=now)
    comparison = _Comparison(old, ours, current)
    reverted: list[tuple[Span, list[str]]] = []
    is_complete = True
    for old_span, our_span in comparison.passages():
        if comparison.is_changed(old_span, our_span):
            continue
        is_complete = False
        place = comparison.find_reverted(old_span, our_span)
        if place is not None:
            reverted.append((place, ours[slice(*our_span)]))
    for (start, end), lines in reversed(reverted):  # they come in the order of their places
        current[start:end] = lines
    reapplied = [*texts[2][:head], *current, *texts[2][len(texts[2]) - tail :]]
    return PassageComparison(bool(reverted), is_complete, "\n".join(reapplied))


def is_all_gone(ours: str, now: str) -> bool:
    """Whether the current text holds no line that memtui wrote, nor a similar one.

    Frontmatter does not count, nor do the headings of a text that holds more: any two notes of a
    day begin with the same ones.
    """
    written, current = _body_lines(ours), set(_body_lines(now))
    lines = [line for line in written if not line.startswith("#")] or written
    if any(line in current for line in lines):
        return False
    if len(lines) * len(current) > MAX_PAIRS:
        return True
    return not any(is_similar(line, own) for line in current for own in lines)


def _body_lines(text: str) -> list[str]:
    return [line.strip() for line in split(text).body.split("\n") if line.strip()]


def append_text(now: str, ours: str) -> str:
    """Return both texts, ours below without its frontmatter, since the file's own counts."""
    if not now.strip():
        return ours
    newline = "\r\n" if "\r\n" in now else "\n"
    body = split(ours).body.strip("\r\n").replace("\r\n", "\n").replace("\n", newline)
    return f"{now.rstrip()}{newline}{newline}{body}{newline}"


class _Comparison:
    """The lines of the three texts, and which of the old and of ours the current text has."""

    def __init__(self, old: list[str], ours: list[str], current: list[str]) -> None:
        self._old, self._ours, self._current = old, ours, current
        self._old_places = _matching_lines(old, current)
        self._ours_places = _matching_lines(ours, current)

    def passages(self) -> Iterator[tuple[Span, Span]]:
        """Yield each change as spans of the old text and of ours; not changes of blank lines."""
        matcher = SequenceMatcher(None, self._old, self._ours, autojunk=False)
        for tag, *numbers in matcher.get_opcodes():
            old, ours = (numbers[0], numbers[1]), (numbers[2], numbers[3])
            lines = [*self._old[slice(*old)], *self._ours[slice(*ours)]]
            if tag != "equal" and any(map(str.strip, lines)):
                yield old, ours

    def is_changed(self, old: Span, ours: Span) -> bool:
        """Whether the passage is still as memtui made it."""
        if _filled_lines(self._ours, ours):
            return all(i in self._ours_places for i in _filled_lines(self._ours, ours))
        return not any(self._has_returned(i) for i in _filled_lines(self._old, old))

    def find_reverted(self, old: Span, ours: Span) -> Span | None:
        """Return the span of the passage as it was before the change; None if it is not there."""
        if _filled_lines(self._old, old):
            return self._find_old(old)
        if any(self._ours[i] in self._current for i in _filled_lines(self._ours, ours)):
            return None
        at = old[0]
        lines = self._ours[slice(*ours)]
        above = self._old_places.get(at - 1) if at else -1
        next_place = self._old_places.get(at) if at < len(self._old) else len(self._current)
        if above is None and next_place is None:
            return None
        start = above + 1 if above is not None else next_place or 0
        end = next_place if next_place is not None else start
        between = [line for line in self._current[start:end] if line.strip()]
        if any(is_similar(line, own) for line in between for own in lines if own.strip()):
            return None
        return start, start

    def _has_returned(self, i: int) -> bool:
        line = self._old[i]
        return i in self._old_places and self._current.count(line) > self._ours.count(line)

    def _find_old(self, old: Span) -> Span | None:
        filled = _filled_lines(self._old, old)
        if not all(self._has_returned(i) or self._old[i] in self._ours for i in filled):
            return None
        places = [self._old_places.get(i) for i in filled]
        if None in places or not any(self._has_returned(i) for i in range(*old)):
            return None
        first, last = filled[0], filled[-1]
        start, end = self._old_places[first], self._old_places[last] + 1
        if end - start != last + 1 - first:
            return None
        # Blank lines at the edges of the passage belong to it where they are still beside it.
        for i in range(first - 1, old[0] - 1, -1):
            start -= self._old_places.get(i) == start - 1
        for i in range(last + 1, old[1]):
            end += self._old_places.get(i) == end
        return start, end


def _matching_lines(lines: list[str], other: list[str]) -> dict[int, int]:
    """Map the lines that both texts have, from their place in one to that in the other."""
    matcher = SequenceMatcher(None, lines, other, autojunk=False)
    found = matcher.get_matching_blocks()
    return {block.a + i: block.b + i for block in found for i in range(block.size)}


def _filled_lines(lines: list[str], span: Span) -> list[int]:
    """Return the places of the lines of a span that are not blank."""
    return [i for i in range(*span) if lines[i].strip()]


SETTLE_SECONDS = 0.05
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


class EditStatus(Struct, frozen=True):
    """What became of the newest edit of a sequence."""

    state: EditState
    reapply: Edit | None = None
    """For REVERTED: the edit that reapplies it to what is there now."""
    is_added: bool = False
    """For REVERTED: what it had added is gone."""


HELD = EditStatus(EditState.HELD)
CHANGED = EditStatus(EditState.CHANGED)


def find_statuses(sequences: Iterable[EditSequence]) -> list[tuple[EditSequence, EditStatus]]:
    """Compare sequences of file edits with the files as they are now.

    Left out: files that cannot be read just now, memtui's own notes, counters, table rows.
    """
    resolve = functools.cache(lambda path: real_path(Path(path)))  # thousands name the same file
    by_path: dict[Path, list[EditSequence]] = {}
    for edits in sequences:
        if edits[0].kind in TEXTS or edits[0].kind in (Kind.RECORD, Kind.VALUE):
            by_path.setdefault(resolve(edits[0].path), []).append(edits)
    found: list[tuple[EditSequence, EditStatus]] = []
    for path, of_file in by_path.items():
        with suppress(UnreadableFile):
            found += _CurrentFile(path).statuses(of_file)
    return found


class _CurrentFile:
    """One file as it is now. Raises UnreadableFile."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lists: dict[tuple[tuple[str, ...], str], dict[str, str]] = {}
        self._text = self._on_disk = self._read()

    def _read(self) -> str | None:
        data = atomic_replace.read_if_exists(self._path)
        return None if data is None else decode(data)

    def statuses(
        self, of_file: Sequence[EditSequence]
    ) -> Iterator[tuple[EditSequence, EditStatus]]:
        """The status of each sequence of this file that can be told."""
        of_items = [edits for edits in of_file if edits[0].kind in ITEM_TEXTS]
        with suppress(UnreadableFile):
            yield from self._statuses_by_items(of_items)
        # Of one text there may be several runs of edits; the oldest is reapplied first.
        runs = [edits for edits in of_file if edits[0].kind in TEXTS - ITEM_TEXTS]
        for number in reversed(range(len(runs))):
            with suppress(UnreadableFile):
                newer = [edit for edits in runs[:number] for edit in edits]
                yield runs[number], self._text_status(runs[number], newer)
        for edits in of_file:
            if edits[0].kind not in TEXTS:
                with suppress(UnreadableFile):
                    yield edits, self._part_status(edits)

    def _part_status(self, edits: EditSequence) -> EditStatus:
        """The status of edits of a record or value."""
        newest = edits[0]
        if newest.kind is Kind.VALUE:
            return _json_status(edits, value_at(self._text or "", newest.key))
        array = newest.key[:2]
        if array not in self._lists:
            self._lists[array] = records_by_id(self._text or "", *array)
        return _json_status(edits, self._lists[array].get(newest.id))

    def _statuses_by_items(
        self, sequences: Sequence[EditSequence]
    ) -> Iterator[tuple[EditSequence, EditStatus]]:
        """The statuses of edits of a text of items, newest first.

        Each item has its own history, so each edit of which something was reverted is found.
        """
        newest = [edits[0] for edits in sequences]
        reverted = text_items.find_reverted(newest, self._text)
        for edits, edit, changes in zip(sequences, newest, reverted, strict=True):
            status = HELD
            if changes:
                now = text_items.parse(self._text, edit.kind)
                after = text_items.merge(now, changes)[0]
                is_added = all(change.old is None for change in changes)
                status = _reverted(replace(edit, before=self._text, after=after), is_added)
            yield edits, status

    def _text_status(self, edits: EditSequence, newer: EditSequence) -> EditStatus:
        """The status of edits of the whole text; `newer` are memtui's own later ones.

        What is reapplied is kept, for the next run is reapplied after it.
        """
        found = _text(edits, self._text)
        if found.reapply is None:
            return found
        if any(_is_superseded(edits, edit) for edit in newer):
            return CHANGED
        if found.reapply.before is not None and found.reapply.before != edits[0].before:
            time.sleep(SETTLE_SECONDS)
            if self._read() != self._on_disk:
                raise UnreadableFile("it is being written", where=str(self._path))
        self._text = found.reapply.after  # records in a file made again are compared with it
        return found


def _reverted(reapply: Edit, is_added: bool = False) -> EditStatus:
    return EditStatus(EditState.REVERTED, reapply, is_added)


# ---- records and values ---------------------------------------------------------------------


def _json_status(edits: EditSequence, now: str | None) -> EditStatus:
    """The status of edits of a record or value; of a record the members are compared too."""
    newest = edits[0]
    if is_same_value(now, newest.after):
        return HELD
    if any(is_same_value(now, edit.before) for edit in edits):
        return _reverted(replace(newest, before=now))
    for edit in reversed(edits) if newest.kind is Kind.RECORD else ():
        if now is not None and edit.before is not None and newest.after is not None:
            with suppress(MemtuiError):  # a key that occurs twice
                reapplied = _reapply_members(edit.before, newest.after, now)
                if reapplied is not None:
                    return _reverted(replace(newest, before=now, after=reapplied))
    return CHANGED


def _reapply_members(before: str, after: str, now: str) -> str | None:
    """The record with those changed members as made that are as before; None unless there are
    some, and none is as it was made. A member that is something else by now stays."""
    old, new, current = (load(raw) for raw in (before, after, now))
    if not all(isinstance(value, dict) for value in (old, new, current)):
        return None
    changed = [key for key in {**old, **new} if _member(old, key) != _member(new, key)]
    reverted = [key for key in changed if _member(current, key) == _member(old, key)]
    if not reverted or any(_member(current, key) == _member(new, key) for key in changed):
        return None
    goal = {key: value for key, value in current.items() if key not in reverted}
    goal |= {key: new[key] for key in reverted if key in new}
    return apply_record_change(now, now, json.dumps(goal))


def _member(record: dict[str, Any], key: str) -> str | None:
    return json.dumps(record[key]) if key in record else None


# ---- whole texts ----------------------------------------------------------------------------


def _is_superseded(edits: EditSequence, later: Edit) -> bool:
    """Whether memtui itself changed later what these edits had made."""
    before, after = edits[-1].before, edits[0].after
    if None in (before, after, later.before, later.after):
        return False
    was, now = (
        compare_passages(before or "", after or "", text or "").is_complete
        for text in (later.before, later.after)
    )
    return was and not now


def _text(edits: EditSequence, now: str | None) -> EditStatus:
    newest = edits[0]
    if now == newest.after:
        return HELD
    if any(now == edit.before for edit in edits):
        return _reverted(replace(newest, before=now))
    if now is None:
        return CHANGED
    if newest.after is None:  # removed, and made anew
        is_reverted_text = any(now.rstrip() == (edit.before or "").rstrip() for edit in edits)
        return _reverted(replace(newest, before=now)) if is_reverted_text else CHANGED
    is_creation = any(edit.before is None for edit in edits)
    if is_creation and not newest.path.endswith(RECORD_FILES) and is_all_gone(newest.after, now):
        return _reverted(replace(newest, before=now, after=append_text(now, newest.after)))
    # From the oldest text on: what the agent wrote may come from any of them.
    reapplied, is_reverted, is_complete = now, False, True
    for edit in reversed(edits):
        if edit.before is not None:
            found = compare_passages(edit.before, newest.after, reapplied)
            reapplied, is_reverted = found.reapplied, is_reverted or found.is_reverted
            is_complete = is_complete and found.is_complete
    if is_reverted:
        return _reverted(replace(newest, before=now, after=reapplied))
    return CHANGED if is_creation or not is_complete else HELD
