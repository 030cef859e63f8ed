"""Give a type to documents: one entry of the type map, and what it would come to.

A document gets an exact path, a pattern gets an entry among the patterns. Nothing in the map can
say "untyped": a type is taken away by taking the entry away, where the entry is the one that gives
it. The plan names every document whose type would change.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from memtui.changes import Edit, TextEdit, ValueEdit
from memtui.errors import Refused
from memtui.files.json.editing import load, raw_value
from memtui.model import UNTYPED, Memory
from memtui.stores.workspace.desk import PageDesk
from memtui.stores.workspace.type_map import (
    EXACT,
    PATTERNS,
    TASK_RULES,
    TYPES,
    TypeMap,
    is_pattern,
)

EMPTY_MAP = json.dumps({EXACT: {}, PATTERNS: {}, TASK_RULES: {}}, indent=2) + "\n"
"""What a workspace without a map gets, before its first entry."""


def entry_edits(entry: str, wanted: str, desk: PageDesk) -> tuple[Edit, ...]:
    """The edit that makes one entry, a path or a pattern, give this type ("": no entry).

    Raises Refused.
    """
    if wanted not in ("", *TYPES):
        raise Refused(
            f"the workspace knows the types {', '.join(TYPES)} and ignores every other",
            where=wanted,
        )
    if desk.types.fault or desk.types.value.faults:
        fault = desk.types.fault or desk.types.value.faults[0]
        raise Refused(
            f"the type map cannot be read whole, so it is not written: {fault}",
            where=str(desk.map_path),
            do="mend it by hand",
        )
    section = PATTERNS if is_pattern(entry) else EXACT
    if not os.path.lexists(desk.map_path):
        made = TextEdit(str(desk.map_path), None, EMPTY_MAP)
        return (made, *_in_map(EMPTY_MAP, section, entry, wanted, made.path)) if wanted else ()
    return _in_map(desk.text(desk.map_path), section, entry, wanted, str(desk.map_path))


def _in_map(text: str, section: str, entry: str, wanted: str, path: str) -> tuple[Edit, ...]:
    whole = load(text)
    after = _json(wanted) if wanted else ""
    if section not in whole:
        made = ValueEdit(path, (section,), "", "{}")
        return (made, ValueEdit(path, (section, entry), "", after)) if wanted else ()
    entries = whole[section]
    if entry not in entries:
        return (ValueEdit(path, (section, entry), "", after),) if wanted else ()
    if [*entries] == [entry] and not wanted:  # only the whole says how the last one stood in it
        return (ValueEdit(path, (section,), raw_value(text, (section,)), "{}"),)
    before, index = raw_value(text, (section, entry)), [*entries].index(entry)
    return (
        () if before == after else (ValueEdit(path, (section, entry), before, after, index=index),)
    )


def _json(word: str) -> str:
    return json.dumps(word, ensure_ascii=False)


def with_entry(types: TypeMap, entry: str, wanted: str) -> TypeMap:
    """The map as it would be with this entry."""
    if not is_pattern(entry):
        exact = {**types.exact, entry: wanted}
        return replace(types, exact=_without_empty(exact))
    return replace(
        types, patterns=tuple(_without_empty({**dict(types.patterns), entry: wanted}).items())
    )


def _without_empty(entries: Mapping[str, str]) -> dict[str, str]:
    return {key: word for key, word in entries.items() if word}


def type_changes(types: TypeMap, memories: Iterable[Memory]) -> list[tuple[str, str, str]]:
    """Path, present and coming type of each document whose type this map would change."""
    changed = []
    for memory in memories:
        will = types.of(memory.id, _task_fields(memory)).type
        if will != memory.type and not memory.extra.get("kept"):
            changed.append((memory.id, memory.type, will))
    return changed


def _task_fields(memory: Memory) -> dict[str, Any]:
    """What the task rules look at, as the memory holds it."""
    fields = {key: memory.extra.get(key) for key in ("priority", "state")}
    return {**fields, "tags": memory.extra.get("tags", list(memory.tags))}


def in_words(changed: Iterable[tuple[str, str, str]]) -> tuple[str, ...]:
    """One line for each document."""
    return tuple(f"{path}: {now or UNTYPED} -> {will or UNTYPED}" for path, now, will in changed)
