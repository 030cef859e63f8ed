"""Changes, plans and edits: what is asked for, what it would do, and how it is written. No I/O.

A `Change` says what a person wants. A store turns it into a `Plan`: the exact edits of every file
or table row, and what to tell the person. Each edit holds the text before and after, so undo writes
`invert_edits(edits)` in the same way.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from memtui.acts import DESTRUCTIVE as DESTRUCTIVE
from memtui.acts import Act as Act
from memtui.acts import Outcome as Outcome
from memtui.text import are_secrets_revealed, counted, file_name, mask_secrets, visible


class Change(Struct, frozen=True):
    """One act on a memory (for ADD: on a store), with its arguments."""

    act: Act
    store: str
    """Label of the store."""
    ref: str = ""
    """The ref of the memory; empty for ADD."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """By the names of `Memory`: content, title, type, importance, entity, tags, kind, source;
    LINK and UNLINK: relation, target; MERGE: others (ids); RATE: rating; ARCHIVE: entity, the
    branch, if the memory belongs to several.

    An ADD with an `id` imports, copies or moves a memory: the id is kept where the format can, and
    so are created, updated (datetimes or ISO), status, source, confidence, pinned, supersedes,
    superseded_by, links (`Link` values) and extra (native keys, from a store of the same format).
    The store's rules are not applied: no memory is superseded or counted as seen again. `document`
    is the whole text of its file, for a format where a memory is a file."""
    force: bool = False
    """Proceed where a rule of the store would refuse; never where data would be damaged."""
    new_id: str = ""
    """The id that an earlier plan of the same change gave the new memory; empty: any."""


def texts_of(change: Change) -> Iterator[str]:
    """The texts among the values of a change, and in its lists."""
    waiting = [*change.fields.values()]
    for value in waiting:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list | tuple):
            waiting += value


class Kind(StrEnum):
    """What an edit changes, which decides how it is made, merged and found reverted."""

    RECORD = "record"
    """An object of a JSON array. Key: the keys that lead to the array from the top of the file
    (`()` or `("events",)`), the member that holds the id, and the id."""
    VALUE = "value"
    """A member of a JSON object. Key: the keys that lead to it."""
    COUNTER = "counter"
    """A value that the owning program rewrites all the time, as Ambient does `lastActive`. A value
    it has written meanwhile stays, also on undo, and is not a conflict."""
    FILE = "file"
    """A text file as a whole."""
    LINES = "lines"
    """A text file with several memories: lines that another program changed meanwhile stay as they
    are, and only a change of the same lines is a conflict."""
    ENTRIES = "entries"
    """A text of Hermes's entries, merged by entry (`memtui.files.text_items`)."""
    GRAPH = "graph"
    """A graph of MCP's memory server, merged by observation and relation."""
    SIDECAR = "sidecar"
    """What memtui itself stores about one memory in `.memtui/`. The path is the root of the store,
    where that folder need not exist yet. Key: the id."""
    ROW = "row"
    """A row of a SQLite table. Key: the table, and a pair of name and value for each column that
    identifies the row."""
    FOLDER = "folder"
    """A whole folder that a memtui of before restored. It is read from journals, never made."""


JSON_PARTS = frozenset({Kind.RECORD, Kind.VALUE, Kind.COUNTER})
ITEM_TEXTS = frozenset({Kind.ENTRIES, Kind.GRAPH})
SHARED_TEXTS = ITEM_TEXTS | {Kind.LINES}
"""Texts that hold several memories."""
TEXTS = SHARED_TEXTS | {Kind.FILE}


class Edit(Struct, frozen=True):
    """Set, insert (`before` None) or remove (`after` None) one thing.

    A JSON value or a text is raw text, as `bytes.decode("utf-8", "surrogateescape")` gives it, so
    that every byte survives. Of a sidecar entry and of a row it is a mapping; a row's columns must
    have the values of `before`. Of a folder it maps `files` to name -> (text, nanoseconds or None)
    and `databases` to name -> (format, rows).
    """

    kind: Kind
    path: str
    key: tuple[Any, ...]
    """What in the file it changes, by the kind."""
    before: Any
    after: Any
    at: int | None = None
    """The position of an inserted record or value; None: the last."""
    undoes: bool = False
    """Made by `invert_edits`: the line of the sidecar that made the change is taken out again where
    it is the newest of its id. Any other edit of a sidecar appends a line."""

    @property
    def target(self) -> tuple[Any, ...]:
        """What it changes; equal for two edits of the same thing."""
        kind = "text" if self.kind in TEXTS else "json" if self.kind in JSON_PARTS else self.kind
        return (kind, self.path, *self.key)

    @property
    def id(self) -> str:
        """The id of the record or the sidecar entry."""
        return str(self.key[-1])

    @property
    def table(self) -> str:
        return str(self.key[0])

    @property
    def row(self) -> dict[str, Any]:
        """The columns that identify the row."""
        return dict(self.key[1:])


def record_edit(
    path: str,
    array: tuple[str, ...],
    id_key: str,
    id: str,
    before: str | None,
    after: str | None,
    at: int | None = None,
) -> Edit:
    return Edit(Kind.RECORD, path, (array, id_key, id), before, after, at)


def value_edit(
    path: str,
    pointer: tuple[str, ...],
    before: str | None,
    after: str | None,
    at: int | None = None,
    *,
    kind: Kind = Kind.VALUE,
) -> Edit:
    return Edit(kind, path, pointer, before or None, after or None, at)


def text_edit(path: str, before: str | None, after: str | None, kind: Kind = Kind.FILE) -> Edit:
    return Edit(kind, path, (), before, after)


def sidecar_edit(
    root: str, id: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> Edit:
    return Edit(Kind.SIDECAR, root, (id,), before, after)


def row_edit(
    path: str,
    table: str,
    key: Mapping[str, Any],
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
) -> Edit:
    return Edit(Kind.ROW, path, (table, *sorted(key.items())), before, after)


class Effect(Struct, frozen=True):
    """What a change means for the program that owns the store; see `memtui.stores.effects`."""

    form: str
    """One sentence; `{it|them}` is what it says of one memory and of several."""
    is_warning: bool = False
    """The program does not read what a person may think that it reads, or still reads it."""

    def words(self, count: int = 1) -> str:
        """The sentence for a change of so many memories."""
        return _FORMS.sub(lambda found: found[1 if count < 2 else 2], self.form)


_FORMS = re.compile(r"\{([^|}]*)\|([^}]*)\}")


class Plan(Struct, frozen=True):
    """Everything that some changes would do, before anything is written."""

    changes: tuple[Change, ...]
    edits: tuple[Edit, ...] = ()
    outcome: Outcome = Outcome.DONE
    reason: str = ""
    """One line for the person: why it is refused, what it replaces, what it is too similar to."""
    refs: tuple[str, ...] = ()
    """Refs of the memories that the plan changes; that of a new memory comes first."""
    supersedes: tuple[str, ...] = ()
    """Refs of the memories that would no longer be current."""
    warnings: tuple[str, ...] = ()
    effect: Effect | None = None
    """None where nothing changes, or where the store does not know."""
    lost: tuple[str, ...] = ()
    """What an imported memory loses because the store cannot keep it; see `ConvertedMemory`."""

    @property
    def has_edits(self) -> bool:
        """Whether applying the plan would write anything."""
        return bool(self.edits)

    @property
    def only_hides(self) -> bool:
        """Whether the memory would be hidden by memtui only, and still be read by its program."""
        hiding = any(change.act in (Act.RETIRE, Act.HIDE) for change in self.changes)
        return hiding and self.has_edits and all(e.kind is Kind.SIDECAR for e in self.edits)


def effects_of(plans: Iterable[Plan]) -> dict[str, bool]:
    """What plans mean for each program, a sentence for equal ones; and whether it is a warning.

    Where many memories differ in it, each sentence ends with the number that it is true of.
    """
    counts: Counter[Effect] = Counter()
    for plan in plans:
        if plan.effect is not None:
            counts[plan.effect] += max(1, len(plan.changes))
    differ = len(counts) > 1 and max(counts.values()) > 1
    return {
        effect.words(count) + f" ({count})" * differ: effect.is_warning
        for effect, count in counts.items()
    }


class StoreEdits(Struct, frozen=True):
    """The edits that one action makes in one store."""

    store: str
    """Path of the store's root."""
    edits: tuple[Edit, ...]


def invert_edits(edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """Compute the edits that undo these.

    Returns:
        The inverse of each edit, in reverse order. An edit that changes nothing, and only requires
        that something is as it was read, is left out.
    """
    return tuple(
        replace(
            edit,
            before=edit.after,
            after=edit.before,
            undoes=edit.kind is Kind.SIDECAR and not edit.undoes,
        )
        for edit in reversed(edits)
        if edit.before != edit.after
    )


# ---- edits as text -------------------------------------------------------------------------------


class FileDiff(Struct, frozen=True):
    """One file as it is and as it would be; None where it does not exist."""

    path: str
    before: str | None
    after: str | None


_AROUND = 40
"""Lines around a change that are masked too: a diff shows three, and a private key has some 30."""
_OTHER_SECRET = "  (another secret)"
"""Behind a line that changes only within what is masked."""


def mask_diff(diff: FileDiff) -> FileDiff:
    """Return a diff as it is shown: records of JSON lines by their members, and secrets masked in
    the lines that change and around them."""
    diff = _by_members(diff)
    if are_secrets_revealed():
        return diff
    before, after = (diff.before or "").split("\n"), (diff.after or "").split("\n")
    head = count_common(before, after)
    tail = count_common(before[head:][::-1], after[head:][::-1])
    start, end = max(0, head - _AROUND), max(0, tail - _AROUND)
    old, new = (_mask_lines(lines, start, len(lines) - end) for lines in (before, after))
    known, masked = set(before), set(old) - set(before)
    new = [
        f"{line}{_OTHER_SECRET}" if line in masked and true not in known else line
        for line, true in zip(new, after, strict=True)
    ]
    return replace(
        diff,
        before=None if diff.before is None else "\n".join(old),
        after=None if diff.after is None else "\n".join(new),
    )


def split_lines(text: str | None) -> list[str]:
    """The lines of a text; none of one that is missing."""
    if not text:
        return []
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


_NO_END = r"\ No newline at end of file"
"""What git says where only that changes."""


def diff_lines(diffs: Iterable[FileDiff]) -> Iterator[str]:
    """The lines of a unified diff of these files, as they are shown."""
    from difflib import unified_diff

    for diff in map(mask_diff, diffs):
        name = file_name(diff.path)
        before, after = split_lines(diff.before), split_lines(diff.after)
        if before == after and diff.before != diff.after:
            (before if (diff.after or "").endswith("\n") else after).append(_NO_END)
        old = name if diff.before is not None else "/dev/null"
        new = name if diff.after is not None else "/dev/null"
        yield from map(visible, unified_diff(before, after, old, new, lineterm=""))


_JSON_LINES = re.compile(r"\.jsonl( |$)")
"""A file of JSON lines, or a record of one."""


def _by_members(diff: FileDiff) -> FileDiff:
    """A diff of JSON lines as one of the records that change, a line for each of their members.

    A record of an issue tracker may be pages long; as one line, what changes in it is not seen.
    """
    is_of_lines = _JSON_LINES.search(diff.path) and "/.memtui/" not in diff.path
    if not is_of_lines or diff.before == diff.after:
        return diff
    sides = [None if text is None else text.split("\n") for text in (diff.before, diff.after)]
    same = set(sides[0] or ()) & set(sides[1] or ())
    shown = [
        None
        if lines is None
        else "\n".join(each for line in lines for each in _members(line, same))
        for lines in sides
    ]
    is_told = shown[0] != shown[1] and None not in shown
    return replace(diff, before=shown[0], after=shown[1]) if is_told else diff


def _members(line: str, same: Collection[str]) -> Iterator[str]:
    """The members of the record on a line, if it is not the same on both sides."""
    if line in same:
        return
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        yield line
        return
    for key, member in value.items():
        items = member if isinstance(member, list) else [member]
        yield from (f"{key}:" for _ in items[:1] if member is items)
        for item in items:
            text = item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
            yield f"  - {text}" if member is items else f"{key}: {text}"


def _mask_lines(lines: Sequence[str], start: int, end: int) -> list[str]:
    """The lines, with secrets masked from `start` up to `end`."""
    part = mask_secrets("\n".join(lines[start:end])).split("\n") if start < end else []
    return [*lines[:start], *part, *lines[end:]]


def count_common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many elements both have in common at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def edit_diffs(edit: Edit) -> list[FileDiff]:
    """Return what an edit changes as text: a record, a row or an entry is shown like a file.

    Of a folder each file; of a database in it the number of its rows.
    """
    if edit.kind is Kind.FOLDER:
        before, after = _folder_texts(edit.before), _folder_texts(edit.after)
        names = dict.fromkeys([*before, *after])
        return [FileDiff(f"{edit.path}/{n}", before.get(n), after.get(n)) for n in names]
    if edit.kind is Kind.SIDECAR:
        sides = (
            None if side is None else "".join(f"{each}\n" for each in describe_entry(side))
            for side in (edit.before, edit.after)
        )
        return [FileDiff(f"{edit.path}/.memtui: {edit.id}", *sides)]
    if edit.kind is Kind.ROW:
        key = ", ".join(f"{name}={value}" for name, value in edit.key[1:])
        name = f"{edit.path} {edit.table} {key}"
        return [FileDiff(name, _lines(edit.before), _lines(edit.after))]
    if edit.kind in (Kind.VALUE, Kind.COUNTER):  # the file exists
        return [FileDiff(edit.path, edit.before or "", edit.after or "")]
    name = f"{edit.path} {edit.id}" if edit.kind is Kind.RECORD else edit.path
    return [FileDiff(name, edit.before, edit.after)]


def _folder_texts(tree: Mapping[str, Any] | None) -> dict[str, str]:
    if tree is None:
        return {}
    found = {name: text for name, (text, _) in tree["files"].items()}
    for name, (_, rows) in tree["databases"].items():
        found[name] = f"{counted(len(rows), 'row')}\n"
    return found


def describe_entry(entry: Mapping[str, Any], name: Callable[[str], str] = str) -> Iterator[str]:
    """Say what the sidecar's entry of a memory holds (see `memtui.stores.sidecar`).

    Args:
        entry: what is kept.
        name: what to call the memory with an id.

    Yields:
        Predicates, such as `is pinned` and `is superseded by X`; where the memory lies is none.
    """
    for key, value in entry.items():
        if key == "shard":
            continue
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, Mapping) and "target" in each:
                ended = f" until {each['valid_to']}" if each.get("valid_to") else ""
                yield f"{each.get('relation')} {name(str(each['target']))}{ended}"
            elif key == "kept":
                yield "its whole text is kept, to restore it"
            else:
                words = _ENTRY_WORDS.get(key, f"{key}: {{}}")
                each = _RATINGS.get(each, each) if key == "rating" else each
                yield words.format(name(str(each)) if key in _OF_OTHERS else each)


_OF_OTHERS = ("supersedes", "superseded_by")
_RATINGS = {
    5: "high (rated 5 of 5)",
    4: "high (rated 4 of 5)",
    3: "medium (rated 3 of 5)",
    2: "low (rated 2 of 5)",
    1: "low (rated 1 of 5)",
}
_ENTRY_WORDS = {
    "pinned": "is pinned",
    "tags": "is tagged {}",
    "rating": "has the importance {}",
    "reviewed": "was reviewed at {}",
    "supersedes": "supersedes {}",
    "superseded_by": "is superseded by {}",
    "status": "is {}",
    "created": "was added at {}",
    "updated": "was edited at {}",
}


def _lines(values: Mapping[str, Any] | None) -> str | None:
    if values is None:
        return None
    return "".join(f"{name}: {'' if value is None else value}\n" for name, value in values.items())
