"""What the text of a query finds: as many numbers as memories are found, not as there are."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Longs = NDArray[np.int64]
Mask = NDArray[np.bool_]
Floats = NDArray[np.float32]

NOWHERE = np.empty(0, np.int64)


@dataclass(frozen=True)
class Match:
    """What the text of a query finds; filters are not looked at."""

    size: int
    """How many slots there are."""
    slots: Longs
    """The found slots, each once, in no order."""
    text: Floats
    """0..1 for each of `slots`."""
    all_words: Mask
    """For each of `slots`."""
    title: Longs = field(default_factory=lambda: NOWHERE)
    """Slots whose whole title is what was asked."""
    words: tuple[str, ...] = ()
    """Folded words to point out, the forms and completions that are in the index included."""
    missing: tuple[str, ...] = ()
    """What was asked and matches nothing at all, as it was written."""
    meaning: Floats | None = None
    """What the vectors add to the score of each of `slots`; None without them
    (`memtui.search.fusion`)."""

    @cached_property
    def found(self) -> Mask:
        """Whether each of all slots is found."""
        found = np.zeros(self.size, np.bool_)
        found[self.slots] = True
        return found

    @cached_property
    def text_by_slot(self) -> Floats:
        """The text score of each of all slots, 0 where nothing is found."""
        text = np.zeros(self.size, np.float32)
        text[self.slots] = self.text
        return text

    def including(self, slots: Longs) -> Match:
        """The same with these slots found too, for whatever reason other than their text."""
        fresh = np.unique(slots[~self.found.take(slots)])
        if not len(fresh):
            return self
        none = np.zeros(len(fresh), np.float32)
        return replace(
            self,
            slots=np.concatenate([self.slots, fresh]),
            text=np.concatenate([self.text, none]),
            all_words=np.concatenate([self.all_words, np.zeros(len(fresh), np.bool_)]),
            meaning=None if self.meaning is None else np.concatenate([self.meaning, none]),
        )

    def position(self, slot: int) -> int:
        """Where in `slots` this one stands. Raises IndexError."""
        return int(np.flatnonzero(self.slots == slot)[0])
