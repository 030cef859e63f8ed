"""Changes, plans and edits: what is asked for, what it would do, and how it is written. No I/O.

A `Change` says what a person wants. A store turns it into a `Plan`: the exact edits of every file
or table row, and what to tell the person. Each edit holds the text before and after, so undo writes
`invert_edits(edits)` in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memtui.acts import DESTRUCTIVE as DESTRUCTIVE
from memtui.acts import Act as Act
from memtui.acts import Outcome as Outcome
from memtui.dataclass import dataclass, field, replace
from memtui.text import are_secrets_revealed, counted, mask_secrets


@dataclass(frozen=True, slots=True)
class Change:
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


@dataclass(frozen=True, slots=True)
class RecordEdit:
    """Set, insert or remove one object of a JSON array, as raw text.

    Raw text is what `bytes.decode("utf-8", "surrogateescape")` gives for the object's bytes.
    """

    path: str
    array: tuple[str, ...]
    """Keys that lead to the array from the top of the file: () or ("events",)."""
    id_key: str
    id: str
    before: str | None
    """None: the object must not exist."""
    after: str | None
    """None: remove it."""
    index: int | None = None
    """The position of an inserted object; None: at the end."""


@dataclass(frozen=True, slots=True)
class ValueEdit:
    """Set, insert or remove one member of a JSON object, as raw JSON text."""

    path: str
    pointer: tuple[str, ...]
    before: str
    """Empty: the key must not exist."""
    after: str
    """Empty: remove the key."""
    book_keeping: bool = False
    """The owning program rewrites this value all the time, as Ambient does `lastActive`. A value it
    has written meanwhile stays, also on undo, and is not a conflict."""
    index: int | None = None
    """The position of an inserted member; None: the last."""


@dataclass(frozen=True, slots=True)
class TextEdit:
    """Replace, create (`before` None) or remove (`after` None) a text file."""

    path: str
    before: str | None
    """Decoded with surrogateescape, so that every byte survives."""
    after: str | None
    by_lines: bool = False
    """The file holds several memories: lines that another program changed meanwhile stay as they
    are, and only a change of the same lines is a conflict."""
    items: str = ""
    """The form of a text that is merged by its items rather than its lines, see
    `memtui.files.text_items`."""


@dataclass(frozen=True, slots=True)
class SidecarEdit:
    """Change what memtui itself stores about one memory in `.memtui/`."""

    root: str
    """The folder of `.memtui/`, which need not exist yet."""
    id: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    undoes: bool = False
    """Made by `invert_edits`: the line that made the change is taken out of the file, where it is
    the newest of its id. Any other edit appends a line."""


@dataclass(frozen=True, slots=True)
class RowEdit:
    """Update, insert (`before` None) or delete (`after` None) one row of a SQLite table."""

    path: str
    table: str
    key: Mapping[str, Any]
    """The columns that identify the row."""
    before: Mapping[str, Any] | None
    """Columns that must have these values."""
    after: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class TreeEdit:
    """Create (`before` None) or remove (`after` None) a whole folder in one step."""

    path: str
    before: Mapping[str, Any] | None
    """`files`: name -> text and time (nanoseconds, or None); `databases`: name -> format and rows
    (see `memtui.stores.format.DatabaseSupport`)."""
    after: Mapping[str, Any] | None
    existed: bool = False
    """The folder existed before and was empty: it is filled or emptied, not created or removed."""


Edit = RecordEdit | ValueEdit | TextEdit | SidecarEdit | RowEdit | TreeEdit


@dataclass(frozen=True, slots=True)
class Plan:
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
    lost: tuple[str, ...] = ()
    """Of an import: what the store cannot keep, found while planning; see `ConvertedMemory`."""

    @property
    def has_edits(self) -> bool:
        """Whether applying the plan would write anything."""
        return bool(self.edits)


@dataclass(frozen=True, slots=True)
class StoreEdits:
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
    changing = [edit for edit in reversed(edits) if edit.before != edit.after]
    return tuple(map(_inverse, changing))


def _inverse(edit: Edit) -> Edit:
    if isinstance(edit, SidecarEdit):
        return replace(edit, before=edit.after, after=edit.before, undoes=not edit.undoes)
    return replace(edit, before=edit.after, after=edit.before)


# ---- edits as text -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One file as it is and as it would be; None where it does not exist."""

    path: str
    before: str | None
    after: str | None


_AROUND = 40
"""Lines around a change that are masked too: a diff shows three, and a private key has some 30."""
_OTHER_SECRET = "  (another secret)"
"""Behind a line that changes only within what is masked."""


def mask_diff(diff: FileDiff) -> FileDiff:
    """Return a diff as it is shown: its secrets masked in the lines that change and around them."""
    if are_secrets_revealed():
        return diff
    before, after = (diff.before or "").split("\n"), (diff.after or "").split("\n")
    head = _count_common(before, after)
    tail = _count_common(before[head:][::-1], after[head:][::-1])
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


def _mask_lines(lines: Sequence[str], start: int, end: int) -> list[str]:
    """The lines, with secrets masked from `start` up to `end`."""
    part = mask_secrets("\n".join(lines[start:end])).split("\n") if start < end else []
    return [*lines[:start], *part, *lines[end:]]


def _count_common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many elements both have in common at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def edit_diffs(edit: Edit) -> list[FileDiff]:
    """Return what an edit changes as text: a record, a row or an entry is shown like a file.

    Of a folder each file; of a database in it the number of its rows.
    """
    if isinstance(edit, TreeEdit):
        before, after = _tree_texts(edit.before), _tree_texts(edit.after)
        names = dict.fromkeys([*before, *after])
        return [FileDiff(f"{edit.path}/{n}", before.get(n), after.get(n)) for n in names]
    if isinstance(edit, RowEdit):
        key = ", ".join(f"{name}={value}" for name, value in edit.key.items())
        name = f"{edit.path} {edit.table} {key}"
        return [FileDiff(name, _lines(edit.before), _lines(edit.after))]
    if isinstance(edit, SidecarEdit):
        name = f"{edit.root}/.memtui: {edit.id}"
        return [FileDiff(name, _lines(edit.before), _lines(edit.after))]
    name = f"{edit.path} {edit.id}" if isinstance(edit, RecordEdit) else edit.path
    return [FileDiff(name, edit.before, edit.after)]


def _tree_texts(tree: Mapping[str, Any] | None) -> dict[str, str]:
    if tree is None:
        return {}
    found = {name: text for name, (text, _) in tree["files"].items()}
    for name, (_, rows) in tree["databases"].items():
        found[name] = f"{counted(len(rows), 'row')}\n"
    return found


def _lines(values: Mapping[str, Any] | None) -> str | None:
    if values is None:
        return None
    return "".join(f"{name}: {'' if value is None else value}\n" for name, value in values.items())
