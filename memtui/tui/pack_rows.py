"""A pack as the items that the context screen lists, and two packs side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

from memtui.context import DroppedEntry, Pack, PackEntry, Section


class ItemKind(StrEnum):
    """What an item is: the text of the pack are its frames and entries."""

    SECTION = "section"
    """A line of the screen that names a section; no text of the pack."""
    FRAME = "frame"
    """Text around the entries: head, headings, endings, tail."""
    ENTRY = "entry"
    NOTE = "note"
    """A line of the screen about the whole pack; no text of it."""


@dataclass(frozen=True, slots=True)
class PackItem:
    """One item of the list."""

    kind: ItemKind
    text: str
    """Exactly as it stands in the pack; of a section its title."""
    section: Section | None = None
    entry: PackEntry | None = None
    is_in: bool = True
    is_over_budget: bool = False
    """It would be in without a budget."""
    reason: str = ""
    """Why it is not in."""

    @property
    def ref(self) -> str:
        """Of the memory; empty where the item is of none."""
        return self.entry.ref if self.entry else ""


def list_items(pack: Pack, whole: Pack) -> list[PackItem]:
    """Lay out a pack with the entries that the budget leaves out, in their places.

    The texts of the frames and entries that are in, joined, are the text of the pack.

    Args:
        pack: What the agent would get.
        whole: The same without a budget.
    """
    items = _list_items(pack, whole)
    if "".join(_texts(items)) != pack.text:  # the stores changed between the two
        items = _list_items(pack, pack)
    return [*items, *(PackItem(ItemKind.NOTE, note) for note in pack.notes)]


def _texts(items: Sequence[PackItem]) -> Iterator[str]:
    kinds = (ItemKind.FRAME, ItemKind.ENTRY)
    return (item.text for item in items if item.is_in and item.kind in kinds)


def _list_items(pack: Pack, whole: Pack) -> list[PackItem]:
    items = [PackItem(ItemKind.FRAME, pack.head)] if pack.head else []
    left = list(pack.sections)
    for full in whole.sections:
        trimmed = left.pop(0) if left and _is_part(left[0], full) else None
        items += _section_items(full, trimmed, pack)
        items += _next_items(full.title, full, whole.dropped)
    titles = {section.title for section in whole.sections}
    for title in dict.fromkeys(d.section for d in whole.dropped if d.section not in titles):
        empty = Section(title, ())
        items.append(PackItem(ItemKind.SECTION, title, empty, is_in=False))
        items += _next_items(title, empty, whole.dropped)
    if pack.tail:
        items.append(PackItem(ItemKind.FRAME, pack.tail))
    return items


def _is_part(trimmed: Section, full: Section) -> bool:
    """Whether a section is what a budget left of another."""
    own = {(entry.ref, entry.text) for entry in full.entries}
    return trimmed.title == full.title and all((e.ref, e.text) in own for e in trimmed.entries)


def _section_items(full: Section, trimmed: Section | None, pack: Pack) -> Iterator[PackItem]:
    shown, is_in = trimmed or full, trimmed is not None
    yield PackItem(ItemKind.SECTION, full.title, trimmed or Section(full.title, ()), is_in=is_in)
    if shown.shown_heading:
        yield PackItem(ItemKind.FRAME, shown.shown_heading, shown, is_in=is_in)
    left = list(trimmed.entries) if trimmed else []
    reasons = {(d.section, d.entry.ref, d.entry.text): d.reason for d in pack.dropped}
    for entry in full.entries:
        if left and (left[0].ref, left[0].text) == (entry.ref, entry.text):
            yield PackItem(ItemKind.ENTRY, entry.text, shown, left.pop(0))
        else:
            reason = reasons.get((full.title, entry.ref, entry.text), "over the budget")
            yield PackItem(
                ItemKind.ENTRY,
                entry.text,
                shown,
                entry,
                is_in=False,
                is_over_budget=True,
                reason=reason,
            )
    if shown.ending:
        yield PackItem(ItemKind.FRAME, shown.ending, shown, is_in=is_in)


def _next_items(
    title: str, section: Section, dropped: Sequence[DroppedEntry]
) -> Iterator[PackItem]:
    for one in dropped:
        if one.section == title:
            entry = one.entry
            yield PackItem(
                ItemKind.ENTRY, entry.text, section, entry, is_in=False, reason=one.reason
            )


def find_next_left_out(items: Sequence[PackItem], at: int) -> PackItem | None:
    """The entry that would come next in the section of this item and is not in.

    Where a recipe names the next ones of all sections together, the first of these; None if there
    is none.
    """
    is_own = True
    for item in items[at + 1 :]:
        if item.kind is ItemKind.SECTION:
            is_own = not item.is_in
        elif item.entry is not None and not item.is_in and is_own:
            return item
    return None


class PackDifference(StrEnum):
    """How an entry differs between two packs; the values are the signs on the screen."""

    SAME = " "
    CHANGED = "~"
    MOVED = "↕"
    ONLY_LEFT = "-"
    ONLY_RIGHT = "+"


@dataclass(frozen=True, slots=True)
class ComparedEntry:
    """One line of two packs side by side."""

    difference: PackDifference
    left: PackEntry | None
    right: PackEntry | None

    @property
    def entry(self) -> PackEntry | None:
        """The one at the right, else the one at the left."""
        return self.right or self.left


def compare_packs(left: Pack, right: Pack) -> list[ComparedEntry]:
    """The entries of two packs, those of the same memory in one line where the order allows it."""
    left_entries, right_entries = _entries(left), _entries(right)
    left_keys, right_keys = [_key(e) for e in left_entries], [_key(e) for e in right_entries]
    lines: list[ComparedEntry] = []
    matcher = SequenceMatcher(None, left_keys, right_keys, autojunk=False)
    in_left, in_right = set(left_keys), set(right_keys)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            for one, two in zip(left_entries[a:b], right_entries[c:d], strict=True):
                same = one.text == two.text
                lines.append(
                    ComparedEntry(PackDifference.SAME if same else PackDifference.CHANGED, one, two)
                )
            continue
        for one in left_entries[a:b]:
            moved = _key(one) in in_right
            sign = PackDifference.MOVED if moved else PackDifference.ONLY_LEFT
            lines.append(ComparedEntry(sign, one, None))
        for two in right_entries[c:d]:
            moved = _key(two) in in_left
            sign = PackDifference.MOVED if moved else PackDifference.ONLY_RIGHT
            lines.append(ComparedEntry(sign, None, two))
    return lines


def _entries(pack: Pack) -> list[PackEntry]:
    return [entry for section in pack.sections for entry in section.entries if entry.text.strip()]


def _key(entry: PackEntry) -> str:
    """Return the ref of an entry, or its text if it has none."""
    return entry.ref or entry.text
