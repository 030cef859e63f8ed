"""From what a person types to one memory, or to the other end of a link."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches

from memtui.errors import RefError, Refused
from memtui.model import Memory
from memtui.text import visible

SHORTEST_PREFIX = 4
"""Characters of an id that must be given at least (design: The commands)."""


def exact_slot(ref: str, slots: Mapping[str, int]) -> int:
    """The slot of exactly this ref. Raises RefError."""
    try:
        return slots[ref]
    except KeyError:
        raise RefError(f"no memory has the ref {visible(ref)!r}") from None


def slot_of(text: str, slots: Mapping[str, int]) -> int:
    """The slot that a full ref, a full id or an unambiguous id prefix names. Raises RefError."""
    if text in slots:
        return slots[text]
    label, colon, rest = text.partition(":")
    exact: list[str] = []
    begins: list[str] = []
    for ref in slots:
        store, _, id = ref.partition(":")
        for wanted in {text, rest if colon and store == label else text}:
            if id == wanted:
                exact.append(ref)
            elif id.startswith(wanted):
                begins.append(ref)
    if len(exact) == 1:
        return slots[exact[0]]
    if len(text if not colon else rest) < SHORTEST_PREFIX and not exact:
        raise RefError(
            f"{visible(text)!r} is too short to name a memory",
            do=f"give at least {SHORTEST_PREFIX} characters of its id",
        )
    found = exact or begins
    if not found:
        near = get_close_matches(text, slots, n=1)
        advice = f"did you mean {visible(near[0])}?" if near else "memtui list shows the ids"
        raise RefError(f"no memory has the id {visible(text)!r}", do=advice)
    if len(found) > 1:
        shown = ", ".join(visible(ref) for ref in found[:3])
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""
        raise RefError(f"{visible(text)!r} names {shown}{more}", do="give more characters")
    return slots[found[0]]


def link_target(
    text: str, memory: Memory, among: Iterable[Memory], resolve: Callable[[str], Memory]
) -> str:
    """The id of the memory, or the path of the entity, that `text` names as the end of a link.

    Tried in this order: the target of a link that this memory has, whatever it names; the ref or
    id of a memory; the path of an entity or, where only one has it, its last part; the beginning
    of a memory's id. `among` are the memories of its store. Raises RefError where nothing has that
    name, Refused where it is a memory of another store.
    """
    name = text.removeprefix(f"{memory.store}:")
    among = list(among)
    if any(link.target == name for link in memory.links) or any(m.id == name for m in among):
        return name
    entities = {other.entity for other in among if other.entity}
    named = [path for path in entities if path == name] or [
        path for path in entities if path.rpartition("/")[2] == name
    ]
    if len(named) == 1:
        return named[0]
    try:
        other = resolve(text)
    except RefError as error:
        if named:
            paths = ", ".join(visible(path) for path in sorted(named)[:3])
            raise RefError(f"{visible(name)!r} names {paths}", do="give the whole path") from None
        raise RefError(f"{error.what}, and no entity is called so", do=error.do) from None
    if other.store != memory.store:
        raise Refused("both ends of a link must lie in one store", where=visible(other.ref))
    return other.id
