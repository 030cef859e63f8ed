"""Several records under one id: all are shown, none can be changed, because nobody can say which.

The first keeps the id, the others go by `<id>#2`, `<id>#3`; the reason stands in
`extra["unaddressable"]`, which is where a store looks before it plans a change.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

from memtui.model import Memory

UNADDRESSABLE = "unaddressable"
"""Key of `Memory.extra`: why the record cannot be named in its file, so not changed."""


def told_apart(memories: Sequence[Memory]) -> list[Memory]:
    """The memories in their order, each with an id of its own."""
    total = Counter(memory.id for memory in memories)
    seen: dict[str, int] = defaultdict(int)
    found = []
    for memory in memories:
        if total[memory.id] == 1:
            found.append(memory)
            continue
        seen[memory.id] += 1
        found.append(_one_of_many(memory, seen[memory.id]))
    return found


def _one_of_many(memory: Memory, number: int) -> Memory:
    id = memory.id if number == 1 else f"{memory.id}#{number}"
    fault = f"the store holds the id {memory.id} more than once"
    extra = {**memory.extra, "id": memory.id, UNADDRESSABLE: fault}
    return replace(memory, id=id, ref=f"{memory.store}:{id}", extra=extra)
