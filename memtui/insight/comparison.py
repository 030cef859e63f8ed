"""What changed in memories between two times, and in their texts word by word."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import accumulate, pairwise
from typing import Any

from msgspec import Struct

from memtui.model import CURRENT, Memory, format_time
from memtui.text import date, mask_secrets, one_line, visible


class DifferenceKind(StrEnum):
    """What became of a memory; in the order of lists, what is gone first."""

    REMOVED = "removed"
    """Retired, deleted, or no longer in the store."""
    CHANGED = "changed"
    SUPERSEDED = "superseded"
    ADDED = "added"
    RESTORED = "restored"


COMPARED = ("title", "content", "type", "importance", "entity", "pinned", "tags", "confidence")
"""Fields of a memory in use that count as a change."""


class Difference(Struct, frozen=True):
    """One memory that is not as it was."""

    kind: DifferenceKind
    before: Memory | None
    after: Memory | None
    fields: tuple[str, ...] = ()
    """The fields that differ in a changed memory; () if the store only says that it changed."""
    time: datetime | None = None
    """When, as far as the store says."""
    by: str = ""
    """Who, as far as the store says; `memtui` for a change of its journal. Untrusted text."""

    @property
    def memory(self) -> Memory:
        """The memory as it is after, or as it was."""
        found = self.after or self.before
        assert found is not None, "a difference has at least one side"
        return found

    def text_diff(self) -> list[tuple[str, str]]:
        """The texts word by word, as (`same` | `gone` | `new`, piece) pairs."""
        before = self.before.full_text if self.before is not None else ""
        after = self.after.full_text if self.after is not None else ""
        return diff_words(before, after)

    def as_record(self) -> dict[str, Any]:
        """A JSON object."""
        memory = self.memory
        return {
            "kind": str(self.kind),
            "ref": memory.ref,
            "store": memory.store,
            "entity": memory.entity,
            "type": memory.type,
            "status": memory.status,
            "time": format_time(self.time),
            "by": self.by,
            "fields": list(self.fields),
            "before": None if self.before is None else self.before.full_text,
            "after": None if self.after is None else self.after.full_text,
            "superseded_by": list(memory.superseded_by),
            "diff": [list(piece) for piece in self.text_diff()],
        }


def compare(
    before: Mapping[str, Memory],
    after: Mapping[str, Memory],
    *,
    since: datetime,
    until: datetime | None = None,
    by: Callable[[Memory], str] = lambda memory: memory.source,
) -> list[Difference]:
    """Compare memories at two times.

    Args:
        before: Ref -> memory, at the first time, of any status.
        after: The same at the second time.
        since: The first time. A memory that its store says was changed after it is listed as
            changed even if no former text is known.
        until: The second time; None: no memory was changed after it.
        by: Who is responsible for the present state of a memory.

    Returns:
        The differences by kind, then newest first.
    """
    found = []
    for ref in dict.fromkeys([*before, *after]):
        old, new = before.get(ref), after.get(ref)
        kind, fields = _kind(old, new, since, until)
        if kind is not None:
            memory = new or old
            assert memory is not None, "the ref is from one side"
            found.append(Difference(kind, old, new, fields, _time(kind, memory), by(memory)))
    order = list(DifferenceKind)
    return sorted(
        found,
        key=lambda each: (
            order.index(each.kind),
            -(each.time.timestamp() if each.time else 0.0),
            each.memory.ref,
        ),
    )


def _kind(
    old: Memory | None, new: Memory | None, since: datetime, until: datetime | None
) -> tuple[DifferenceKind | None, tuple[str, ...]]:
    was = old is not None and old.status in CURRENT
    is_ = new is not None and new.status in CURRENT
    if was and not is_:
        superseded = new is not None and new.status == "superseded"
        return (DifferenceKind.SUPERSEDED if superseded else DifferenceKind.REMOVED), ()
    if is_ and not was:
        return (DifferenceKind.ADDED if old is None else DifferenceKind.RESTORED), ()
    if old is None or new is None or not is_:
        return None, ()
    fields = tuple(name for name in COMPARED if getattr(old, name) != getattr(new, name))
    updated = new.updated
    is_later = updated is not None and since < updated and (until is None or updated <= until)
    return (DifferenceKind.CHANGED if fields or is_later else None), fields


def _time(kind: DifferenceKind, memory: Memory) -> datetime | None:
    return memory.created if kind is DifferenceKind.ADDED else memory.updated


def count_by_store(differences: Sequence[Difference]) -> dict[str, dict[str, int]]:
    """Store -> kind -> number."""
    counts: dict[str, Counter[str]] = {}
    for each in differences:
        counts.setdefault(each.memory.store, Counter())[str(each.kind)] += 1
    return {store: dict(kinds) for store, kinds in counts.items()}


_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>()#+\-.!|~&])")


def to_markdown(differences: Sequence[Difference], since: datetime, until: datetime) -> str:
    """A report; text of the stores is escaped, so that none of it becomes markup."""
    lines = [f"# Memories from {date(since)} to {date(until)}", ""]
    if not differences:
        lines += ["No changes.", ""]
    for store, kinds in count_by_store(differences).items():
        counts_text = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        lines.append(f"* {_escaped(store)}: {counts_text}")
    if differences:
        lines.append("")
    shown = None
    for each in differences:
        if each.kind is not shown:
            shown = each.kind
            lines += [f"## {shown.capitalize()}", ""]
        lines += _markdown_item(each)
    return "\n".join(lines)


def _markdown_item(each: Difference) -> list[str]:
    memory = each.memory
    details = [date(each.time), _escaped(memory.store), _escaped(memory.entity), _escaped(each.by)]
    if each.fields:
        details.append(f"changed: {', '.join(each.fields)}")
    marks = {"same": ("", ""), "gone": ("~~", "~~"), "new": ("**", "**")}
    if each.kind is not DifferenceKind.CHANGED:
        pieces = [("same", memory.full_text)]
    else:
        pieces = each.text_diff()
    text = "".join(_marked(piece, *marks[kind]) for kind, piece in pieces)
    head = " · ".join(word for word in details if word)
    body = [f"  {line}" if line else "" for line in text.split("\n")]
    return [f"* {head}", "", *body, ""]


def _marked(piece: str, left: str, right: str) -> str:
    """A piece with marks around its words; marks do not hold beside spaces or across lines."""
    lines = []
    for line in visible(piece).split("\n"):
        words = line.strip()
        if not words or not left:
            lines.append(_escaped(line))
            continue
        start, end = line[: len(line) - len(line.lstrip())], line[len(line.rstrip()) :]
        lines.append(f"{start}{left}{_escaped(words)}{right}{end}")
    return "\n".join(lines)


def _escaped(text: str) -> str:
    shown = "\n".join(one_line(line) for line in text.split("\n")) if "\n" in text else text
    return _MARKDOWN.sub(r"\\\1", visible(shown))


_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
MAX_WORDS = 4_000
"""Pieces of a text that are compared one by one; longer texts are compared by line, because the
time of difflib grows with the square."""
_LINES = re.compile(r"[^\n]*\n|[^\n]+")


def diff_words(before: str, after: str) -> list[tuple[str, str]]:
    """Diff two texts word by word, as (`same` | `gone` | `new`, piece) pairs to be shown.

    A space between two changes counts as changed, so that a changed phrase stays in one piece. The
    texts are compared as they are; secrets are masked in the pieces.
    """
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    if len(old) + len(new) > 2 * MAX_WORDS:
        old, new = _LINES.findall(before), _LINES.findall(after)
    steps = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    old, new = _cut_like(mask_secrets(before), old), _cut_like(mask_secrets(after), new)
    pieces: list[tuple[str, str]] = []
    removed = added = ""
    for at, (kind, old_start, old_end, new_start, new_end) in enumerate(steps):
        unchanged = "".join(new[new_start:new_end])
        if kind == "equal" and not (unchanged == " " and 0 < at < len(steps) - 1):
            pieces += _removed_and_added(removed, added)
            pieces.append(("same", unchanged))
            removed = added = ""
            continue
        removed += "".join(old[old_start:old_end])
        added += unchanged
    return pieces + _removed_and_added(removed, added)


def _cut_like(text: str, parts: Sequence[str]) -> list[str]:
    """Cut a text into parts as long as these."""
    ends = list(accumulate(map(len, parts), initial=0))
    return [text[start:end] for start, end in pairwise(ends)]


def _removed_and_added(removed: str, added: str) -> list[tuple[str, str]]:
    between = [("same", " ")] if removed and added and not removed[-1:].isspace() else []
    pieces = [("gone", removed), *between, ("new", added)]
    return [(kind, piece) for kind, piece in pieces if piece]


_MARKS = {"same": "{}", "gone": "[-{}-]", "new": "{{+{}+}}"}


def mark_words(pieces: Iterable[tuple[str, str]]) -> str:
    """The pieces of `diff_words` as plain text with such marks."""
    return "".join(_MARKS[kind].format(piece) for kind, piece in pieces)
