"""The words of a segment in one piece of memory: a million as strings take nine times as much."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import overload

import numpy as np

_BATCH = 4096
"""Words that are made into strings at a time."""
_STEP = 16
"""Of so many words one is kept as a string, to look for others: 3 MB of a million, and a look-up
takes 6 microseconds instead of 29."""
LAST_CHARACTER = "\U0010ffff"
"""No word that begins with a prefix stands behind the prefix and this."""


class WordList(Sequence[str]):
    """Words in code point order, which is also the order of their bytes; none holds a newline."""

    def __init__(self, joined: bytes) -> None:
        """Take the words as UTF-8, a newline between two of them."""
        self.joined = joined
        ends = np.flatnonzero(np.frombuffer(joined, np.uint8) == ord("\n")) + 1
        last = [len(joined) + 1] if joined else []
        self._starts = np.concatenate([[0], ends, last]).astype(np.int64)
        """Where each word begins, and where a further one would."""

    @classmethod
    def of(cls, words: Iterable[str]) -> WordList:
        """The list of these words, which are in order."""
        return cls("\n".join(words).encode("utf-8", "surrogatepass"))

    def __len__(self) -> int:
        return len(self._starts) - 1

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            numbers = range(*at.indices(len(self)))
            if numbers.step == 1:
                return self._between(numbers.start, numbers.stop)
            return [self[number] for number in numbers]
        first = at if at >= 0 else at + len(self)
        if not 0 <= first < len(self):
            raise IndexError(at)
        return self._text(first, first + 1)

    def __iter__(self) -> Iterator[str]:
        for _, word in self.numbered(0, len(self)):
            yield word

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WordList) and self.joined == other.joined

    __hash__ = None  # type: ignore[assignment]

    def numbered(self, first: int, last: int) -> Iterator[tuple[int, str]]:
        """Each word from number `first` to before `last`, with its number."""
        for begin in range(first, last, _BATCH):
            yield from enumerate(self._between(begin, min(begin + _BATCH, last)), begin)

    def find(self, word: str) -> int | None:
        """The number of this word; None if it is not in the list."""
        at = self._place(word)
        return at if at < len(self) and self[at] == word else None

    def prefix_range(self, start: str) -> tuple[int, int]:
        """The half-open range of the words with this prefix."""
        return self._place(start), self._place(start + LAST_CHARACTER)

    def containing(self, part: str) -> list[int]:
        """The numbers of the words with this part (.3 ms at 63,000 words)."""
        encoded = part.encode("utf-8", "surrogatepass")
        found: list[int] = []
        at = self.joined.find(encoded)
        while at >= 0:
            found.append(int(np.searchsorted(self._starts, at, side="right")) - 1)
            at = self.joined.find(encoded, int(self._starts[found[-1] + 1]))
        return found

    def at_least(self, characters: int) -> list[int]:
        """The numbers of the words with as many characters or more."""
        long = np.flatnonzero(np.diff(self._starts) > characters).tolist()
        return [at for at in long if len(self[at]) >= characters]

    @cached_property
    def _marks(self) -> list[str]:
        return [self[at] for at in range(0, len(self), _STEP)]

    def _place(self, word: str) -> int:
        """The number that this word has or would have."""
        first = max(0, bisect_left(self._marks, word) - 1) * _STEP
        return first + bisect_left(self._between(first, min(first + _STEP, len(self))), word)

    def _between(self, first: int, last: int) -> list[str]:
        return self._text(first, last).split("\n") if first < last else []

    def _text(self, first: int, last: int) -> str:
        begin, end = self._starts.item(first), self._starts.item(last) - 1
        return self.joined[begin:end].decode("utf-8", "surrogatepass")
