"""Files of entries, which a line with a § parts, and which may not grow beyond a limit (Hermes)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from memtui.changes import Edit, Kind, text_edit
from memtui.errors import Refused
from memtui.files.text_items import DELIMITER, entry_spans, insert_entry, remove_entry
from memtui.stores.listed_texts import ListedText, ListFile

_LINE_ENDS = re.compile(r"\r\n|\r|\n")


def with_line_feeds(text: str) -> str:
    """The text as a program reads it that takes a carriage return for a line feed."""
    return _LINE_ENDS.sub("\n", text)


def parse_entries(text: str) -> list[str]:
    """The entries that are not empty, in order."""
    return [text[start:end] for start, end in entry_spans(text)]


def size_of(text: str | None) -> int:
    """Characters of the distinct entries, joined."""
    return len(DELIMITER.join(dict.fromkeys(map(with_line_feeds, parse_entries(text or "")))))


def refuse_too_long(path: Path, before: str | None, after: str | None, limit: int) -> None:
    """Raise Refused if a file would grow beyond its limit of characters."""
    size = size_of(after)
    if size > limit and size > size_of(before):
        raise Refused(
            f"{path.name} would hold {size:,} of {limit:,} characters",
            where=str(path),
            do=f"shorten it, or retire others: {size - limit:,} too many",
        )


class EntryFile(ListFile):
    """One file of entries."""

    form = Kind.ENTRIES
    unreadable = "its program would not read this as one entry", "remove the § line"
    limit = 2200
    """Most characters."""

    @property
    def usage(self) -> str:
        """How much of the limit is used, as Hermes says it: `56% — 1,234/2,200 chars`."""
        size = size_of(self.before)
        percent = min(100, int((size / self.limit) * 100)) if self.limit > 0 else 0
        return f"{percent}% — {size:,}/{self.limit:,} chars"

    def parse(self, text: str) -> Iterator[ListedText]:
        for start, end in entry_spans(text):
            line = 1 + len(_LINE_ENDS.findall(text, 0, start))
            yield ListedText(text[start:end], start, end, line)

    def remove(self, removed: Sequence[ListedText]) -> str:
        text, left = self.before or "", list(self.items)
        for number in sorted(map(left.index, removed), reverse=True):
            del left[number]
            text = remove_entry(text, number)
            self.checked(text, [each.text for each in left])  # else a number would be another's
        return text

    def insert(self, group: str, new_text: str, type: str = "") -> str:  # noqa: ARG002
        texts = [*(each.text for each in self.items), new_text]
        return self.checked(insert_entry(self.before or "", len(self.items), new_text), texts)

    def checked(self, after: str, expected: Sequence[str]) -> str:
        """The text, if these entries are read from it and it is not too long. Raises Refused."""
        super().checked(after, expected)
        refuse_too_long(self.path, self.before, after, self.limit)
        return after

    def edit(self, after: str) -> tuple[Edit, ...]:
        """A file without entries is removed: both are read the same."""
        if after or self.before is None:
            return super().edit(after)
        return (text_edit(str(self.path), self.before, None, kind=self.form),)
