"""Handles: the shortest text that names one memory, and the memory that a typed text names.

A memory has its ref (`label:id`), its id, and the ends of its id from each `/` or `#` on. The
last end is a file's name or the digest of an item: `MEMORY.md#715966bda2` ends in `715966bda2`. A
handle is the beginning of the last end as far as no other memory's begins so; else a longer end.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property

from memtui.errors import RefError, did_you_mean
from memtui.text import and_more, one_line, visible

SHORTEST_TYPED = 4
"""Characters of the beginning of a name that must be given at least."""
SHORTEST = 7
"""Characters of a handle at least, as of git: so it still names its memory when others come."""
LONGEST_NAME = 16
"""Characters of a file's name without the suffix that are shown whole, to be read."""
MAX_NAMED = 5
"""Memories that an error names."""
_ADVICE = "`memtui list` and `memtui search` show the handle of each"
_PARTS = re.compile(r"[/#]")
_TYPED = re.compile(r"[\w.@%+,/=][\w.@%+,/=#~-]*")
"""What a shell takes as it is, and no command as an option or a ref. Other memories have their ref
for a handle."""


def id_of(ref: str) -> str:
    """The id in a ref."""
    return ref.partition(":")[2]


def last_part(id: str) -> str:
    """The end of an id behind its last `/` or `#`; the whole id where nothing is behind it."""
    return id[max(id.rfind("/"), id.rfind("#")) + 1 :] or id


def _as_path(id: str) -> str:
    return id.replace("#", "/")


class Handles:
    """Gives memories their handles among all of them; each takes two searches in sorted names."""

    def __init__(self, refs: Collection[str]) -> None:
        self._refs = refs

    @cached_property
    def _parts(self) -> list[str]:
        return sorted(last_part(id_of(ref)) for ref in self._refs)

    @cached_property
    def _ids(self) -> list[str]:
        return sorted(map(id_of, self._refs))

    @cached_property
    def _backwards(self) -> list[str]:
        """The ids from their end on, sorted: those with the same end are neighbours."""
        return sorted(_as_path(id_of(ref))[::-1] for ref in self._refs)

    def of(self, ref: str) -> str:
        """The handle of the memory with this ref."""
        for handle in self._candidates(id_of(ref)):
            if _TYPED.fullmatch(handle):
                return handle
        return ref

    def has_beginning(self, name: str) -> bool:
        """Whether the last end of an id begins so."""
        at = bisect_left(self._parts, name)
        return at < len(self._parts) and self._parts[at].startswith(name)

    def beginning(self, ref: str) -> str:
        """The shortest beginning of its id, where names are looked for by their beginning only."""
        id = id_of(ref)
        handle = id[: max(SHORTEST, _shared(id, self._ids) + 1)]
        return handle if _TYPED.fullmatch(handle) else ref

    def _candidates(self, id: str) -> Iterator[str]:
        part = last_part(id)
        shared = _shared(part, self._parts)
        stem = part.rpartition(".")[0]
        if shared < len(stem) <= LONGEST_NAME:
            yield stem
        if shared < len(part):
            yield part[: max(SHORTEST, shared + 1)]
        if self._parts[bisect_left(self._parts, part) + 1 :][:1] != [part]:
            yield part  # it begins another's, but all of it is only this one's
        shared = _shared(_as_path(id)[::-1], self._backwards)
        for found in reversed(list(_PARTS.finditer(id))):
            if len(id) - found.end() > shared:
                yield id[found.end() :]
        if shared < len(id):
            yield id


def _shared(name: str, names: Sequence[str]) -> int:
    """How many characters a name shares at its beginning with another one of the sorted names."""
    at = bisect_left(names, name)
    return max(
        _common(name, names[at - 1]) if at else 0,
        _common(name, names[at + 1]) if at + 1 < len(names) else 0,
    )


def _common(one: str, other: str) -> int:
    """How many characters two texts share at their beginnings."""
    least = min(len(one), len(other))
    return next((at for at in range(least) if one[at] != other[at]), least)


def find_named(text: str, refs: Collection[str], headline: Callable[[str], str]) -> list[str]:
    """Return the refs of the memories that a text names: of several kinds of names, by the first
    that any memory has.

    The kinds are: its ref, its id, an end of its id, its file's name without the suffix, the
    beginning of its id or of an end of it, and words of its headline.

    Args:
        text: What a person or an agent typed; in front may stand a label, as in a ref.
        refs: Of all memories.
        headline: Gives the headline for a ref.
    """
    if text in refs:
        return [text]
    label, colon, rest = text.partition(":")
    inside = [ref for ref in refs if colon and ref.startswith(f"{label}:")]
    name = rest if inside else text
    among = inside or refs
    if not name:
        return []
    path = f"/{_as_path(name)}"
    near = [(ref, f"/{_as_path(id_of(ref))}") for ref in among if name in ref]
    is_long = len(name) >= SHORTEST_TYPED
    kinds: tuple[Callable[[str], bool], ...] = (
        lambda end: end == path,
        lambda end: end.endswith(path),
        lambda end: end.rpartition("/")[2].rpartition(".")[0] == name,
        lambda end: is_long and end.rfind(path) == end.rfind("/"),
        lambda end: is_long and path in end,
    )
    for is_named in kinds:
        if found := [ref for ref, end in near if is_named(end)]:
            return found
    words = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
    return [ref for ref in among if words.search(headline(ref))]


def sole(text: str, found: Sequence[str], handle: Callable[[str], str]) -> str:
    """Return the only one of the refs that a text names. Raises RefError for several."""
    if len(found) == 1:
        return found[0]
    shown = ", ".join(one_line(handle(ref)) for ref in found[:MAX_NAMED])
    more = and_more(len(found) - MAX_NAMED)
    raise RefError(f"{visible(text)!r} names {shown}{more}", do="give one of these")


def unknown(text: str, refs: Iterable[str]) -> RefError:
    """Return the error for a text that names no memory, with the nearest name."""
    if len(text) < SHORTEST_TYPED:
        advice = f"give at least {SHORTEST_TYPED} characters; {_ADVICE}"
    else:
        names = {name for ref in refs for name in (ref, last_part(id_of(ref)))}
        advice = visible(did_you_mean(text, names, _ADVICE))
    return RefError(f"no memory is named {visible(text)!r}", do=advice)
