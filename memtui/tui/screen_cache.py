"""What the screen showed last, kept in the cache folder, to draw it with the first frame.

One JSON file for each set of stores, with values and not drawn lines, so that it fits any size and
theme. It holds the text of memories as it is shown (control characters made visible), and is
always safe to delete: a file that is damaged, of another version, of another view, or of a store
that is not where it was, is ignored.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from datetime import date, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from memtui import text
from memtui.insight.statistics import EntityBranch
from memtui.insight.timeline import UNITS, Bar, Timeline
from memtui.model import (
    IMPORTANCES,
    STATUSES,
    Memory,
    find_defect,
    from_record,
    to_record,
)
from memtui.paths import write_private
from memtui.sealed_lines import seal, unseal
from memtui.tui.first_frame import delete_oldest, stamp_store
from memtui.tui.widgets.statistics import Row

FOLDER = "screens"
VERSION = 2
MAX_BYTES = 1_000_000
"""memtui writes no larger file."""
MAX_ROWS = 120
"""Rows of the list: more than most screens have."""
MAX_LINES = 120
"""Lines of the tree of entities."""
MAX_TEXT_CHARS = 400
"""Characters of a memory's text in the list, as many as a row reads."""
MAX_WHOLE_CHARS = 20_000
"""Characters of a memory up to which it is kept whole for the detail."""
FIRST_SERIAL = 1 << 40
"""Serials of kept rows begin here, above those of rows that were read."""
NOTHING = Memory(ref="", id="", store="", kind="", importance="")


class CachedScreenRows:
    """The cached rows; blank memories stand for the others."""

    def __init__(self, first: int, memories: Sequence[Memory]) -> None:
        self._first = first
        self._memories = memories

    def __getitem__(self, slot: int) -> Memory:
        return self._memories[slot - self._first] if self.has(slot) else NOTHING

    def has(self, slot: int) -> bool:
        return self._first <= slot < self._first + len(self._memories)

    def serial(self, slot: int) -> int:
        return FIRST_SERIAL + slot

    def find_refs(self, part: str) -> Iterator[tuple[int, str]]:
        """As `Rows.find_refs`."""
        refs = enumerate((memory.ref for memory in self._memories), self._first)
        return (found for found in refs if part in found[1])


class CachedScreen(NamedTuple):
    """The content of all panes."""

    view: str
    """What was searched for."""
    memories: tuple[Memory, ...]
    """Of the rows from `first` on, their texts cut."""
    first: int
    total: int
    """Rows of the whole list."""
    cursor: int
    top: int
    types: int
    entities: int
    """Widths of the columns."""
    order: str
    quiet: str
    counts: str
    alert: str
    """Of the line of filters."""
    branches: tuple[EntityBranch, ...] = ()
    unfolded: frozenset[str] = frozenset()
    branch_count: int = 0
    """Lines of the whole tree."""
    entity_label: str = ""
    statistics: tuple[Row, ...] = ()
    timeline: Timeline | None = None
    detail: Memory | None = None
    """The memory under the cursor, whole."""
    roots: Mapping[str, Path] = MappingProxyType({})
    """Label of each store -> its folder or file."""

    @property
    def rows(self) -> CachedScreenRows:
        return CachedScreenRows(self.first, self.memories)


def save(cache: Path, key: str, screen: CachedScreen) -> bool:
    """Save the screen; False if it could not be written. Never raises."""
    try:
        folder = cache / FOLDER
        stamps = {str(root): stamp_store(root) for root in screen.roots.values()}
        with text.masked_always():
            written = seal({"version": VERSION, "stamps": stamps, **_encode(screen)})
        write_private(folder / f"{key}.json", written.decode("ascii"), durable=False)
        delete_oldest(folder)
    except (OSError, ValueError, RecursionError):
        return False
    return True


def load(cache: Path, key: str, view: str) -> CachedScreen | None:
    """Return the cached screen of this view, if its stores still exist. Never raises."""
    with contextlib.suppress(
        OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError
    ):
        path = cache / FOLDER / f"{key}.json"
        if path.stat().st_size > MAX_BYTES:
            return None
        values = unseal(path.read_bytes())
        if values["version"] != VERSION or values["view"] != view:
            return None
        if any(stamp_store(Path(root)) != stamp for root, stamp in values["stamps"].items()):
            return None
        cached = _decode(_visible(values))
        return cached if cached.roots and cached.memories else None
    return None


def _encode(screen: CachedScreen) -> dict[str, Any]:
    timeline = screen.timeline
    detail = to_record(screen.detail) if screen.detail is not None else None
    if detail is not None and len(json.dumps(detail, default=str)) > MAX_WHOLE_CHARS:
        detail = None
    values = {name: getattr(screen, name) for name in (*_NUMBERS, *_TEXTS)}
    return {
        **_visible(values),
        "view": text.mask_secrets(screen.view),
        "rows": [_encode_row(memory) for memory in screen.memories],
        "branches": _visible(list(map(astuple, screen.branches))),
        "unfolded": _visible(sorted(screen.unfolded)),
        "statistics": _visible(list(map(astuple, screen.statistics))),
        "timeline": None
        if timeline is None
        else {
            "unit": timeline.unit,
            "bars": [[bar.start.isoformat(), bar.count] for bar in timeline.bars],
            "undated": timeline.undated,
        },
        "detail": _visible(text.mask_record(detail)),
        "roots": {label: str(root) for label, root in screen.roots.items()},
    }


_NUMBERS = ("first", "total", "cursor", "top", "types", "entities", "branch_count")
_TEXTS = ("order", "quiet", "counts", "alert", "entity_label")


def _encode_row(memory: Memory) -> list[Any]:
    title, content = (
        text.mask_secrets(each[: 2 * MAX_TEXT_CHARS])[:MAX_TEXT_CHARS]
        for each in (memory.title, memory.content.lstrip())
    )
    texts = (memory.ref, memory.kind, memory.type, title, content, memory.entity)
    when = memory.when.isoformat() if memory.when else ""
    return [*map(_visible, texts), when, memory.importance, memory.status, memory.pinned]


def _decode_row(values: Sequence[Any]) -> Memory:
    ref, kind, type_, title, content, entity, when, importance, status, pinned = values
    if importance not in IMPORTANCES or status not in STATUSES:
        raise ValueError(status)
    return Memory(
        ref=_text(ref),
        id="",
        store=_text(ref).partition(":")[0],
        kind=_text(kind),
        type=_text(type_),
        title=_text(title),
        content=_text(content),
        entity=_text(entity),
        updated=_time(when) if when else None,
        importance=importance,
        status=status,
        pinned=pinned is True,
    )


def _decode(values: Mapping[str, Any]) -> CachedScreen:
    """Raises KeyError, TypeError, ValueError if it is not what `_encode` makes."""
    plain: dict[str, Any] = {name: _number(values[name]) for name in _NUMBERS}
    plain.update({name: _text(values[name]) for name in _TEXTS})
    memories = tuple(map(_decode_row, values["rows"][:MAX_ROWS]))
    inside = range(plain["first"], plain["first"] + len(memories))
    if plain["cursor"] not in inside or inside.stop > plain["total"]:
        raise ValueError("no row under the cursor")
    return CachedScreen(
        view=_text(values["view"]),
        memories=memories,
        **plain,
        branches=tuple(_branch(*line) for line in values["branches"][:MAX_LINES]),
        unfolded=frozenset(map(_text, values["unfolded"])),
        statistics=tuple(_statistics_row(*line) for line in values["statistics"]),
        timeline=_timeline(values["timeline"]),
        detail=_detail(values["detail"]),
        roots={_text(label): Path(_text(root)) for label, root in values["roots"].items()},
    )


def _branch(path: Any, name: Any, depth: Any, count: Any, leaf: Any) -> EntityBranch:
    return EntityBranch(_text(path), _text(name), _number(depth), _number(count), leaf is True)


def _statistics_row(
    words: Any, named: Any, value: Any, sign: Any, count: Any, share: Any, fact: Any, chosen: Any
) -> Row:
    length = min(1.0, max(0.0, float(share)))
    texts = (_text(words), _text(named), _text(value), _text(sign))
    return Row(*texts, _number(count), length, _text(fact), chosen is True)


def _timeline(values: Any) -> Timeline | None:
    if values is None:
        return None
    if values["unit"] not in UNITS:
        raise ValueError(values["unit"])
    bars = tuple(Bar(date.fromisoformat(start), _number(n)) for start, n in values["bars"])
    return Timeline(values["unit"], bars, _number(values["undated"]))


def _detail(values: Any) -> Memory | None:
    memory = from_record(values) if values is not None else None
    if memory is not None and (defect := find_defect(memory)):
        raise ValueError(defect)
    return memory


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError(value)
    return value


def _number(value: Any) -> int:
    if type(value) is not int or not 0 <= value < FIRST_SERIAL:
        raise ValueError(value)
    return value


def _time(value: Any) -> datetime:
    when = datetime.fromisoformat(_text(value))
    if when.tzinfo is None:
        raise ValueError(value)
    return when


def _visible(value: Any) -> Any:
    """The same JSON value with all its texts made visible."""
    if isinstance(value, str):
        return text.visible(value)
    if isinstance(value, Mapping):
        return {_visible(name): _visible(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_visible(inner) for inner in value]
    return value
