"""The type of a document: the rules of the workspace's memory-type-map.json.

Order: the exact path; the patterns in the order of the file; for documents under `tasks/` the task
rules. Only the four types below count. A rule that names any other type is passed over as if it
were not there; the first such word is kept, so that a person can see what the map says.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from memtui.changes import Edit, text_edit, value_edit
from memtui.errors import Refused, UnreadableFile
from memtui.files.json.editing import raw_value
from memtui.files.json.locating import load
from memtui.model import Memory
from memtui.stores.globs import matches
from memtui.stores.markdown.documents import words_of
from memtui.stores.scanning import ParsedFile, read_text
from memtui.stores.values import lower_word

EXACT, PATTERNS, TASK_RULES = "exact_paths", "glob_paths", "task_rules"

TYPES = ("identity", "preference", "goal", "project")
"""The four types of the workspace's own program; it ignores every other word."""

TASKS_FOLDER = "tasks/"
"""Where the task rules hold."""

WILDCARDS = frozenset("*?")

MAX_PATTERNS = 1_000
"""Patterns that are followed: each is tried on each document, and kept compiled."""


class DocumentType(Struct, frozen=True):
    """The type that the map gives a document."""

    type: str = ""
    """One of `TYPES`, or empty: untyped."""
    ignored: str = ""
    """The first other word a matching rule names."""


NO_DOCUMENT_TYPE = DocumentType()


class TaskRules(Struct, frozen=True):
    """The rules that give tasks a type by their frontmatter; all words in lower case."""

    goal_priorities: frozenset[str] = frozenset()
    goal_states: frozenset[str] = frozenset()
    preference_tags: frozenset[str] = frozenset()
    project_tags: frozenset[str] = frozenset()
    default: str = ""

    def type_of(self, frontmatter: Mapping[str, Any]) -> str:
        """The type of the first rule that applies, which may be none of `TYPES`."""
        tags = {tag.lower() for tag in words_of(frontmatter.get("tags"))}
        if lower_word(frontmatter.get("priority")) in self.goal_priorities:
            return "goal"
        if lower_word(frontmatter.get("state")) in self.goal_states:
            return "goal"
        if tags & self.preference_tags:
            return "preference"
        if tags & self.project_tags:
            return "project"
        return self.default


class TypeMap(Struct, frozen=True):
    """The rules of one workspace, and faults found in the file."""

    exact: Mapping[str, str]
    patterns: tuple[tuple[str, str], ...]
    tasks: TaskRules
    faults: tuple[str, ...] = ()

    def of(self, path: str, frontmatter: Mapping[str, Any]) -> DocumentType:
        """The type of the document at `path` (relative, with slashes)."""
        found = self.by_path(path)
        if found.type or not path.startswith(TASKS_FOLDER):
            return found
        word = self.tasks.type_of(frontmatter)
        return DocumentType(word) if word in TYPES else DocumentType("", found.ignored or word)

    def by_path(self, path: str) -> DocumentType:
        """The type by path alone, without the task rules."""
        ignored = ""
        for word in self._words(path):
            if word in TYPES:
                return DocumentType(word, ignored)
            ignored = ignored or word
        return DocumentType("", ignored) if ignored else NO_DOCUMENT_TYPE

    def _words(self, path: str) -> Iterable[str]:
        if path in self.exact:
            yield self.exact[path]
        for pattern, word in self.patterns:
            if matches(pattern, path):
                yield word


NO_TYPES = TypeMap({}, (), TaskRules())


def parse_type_map(text: str) -> TypeMap:
    """Parse the map tolerantly. Raises UnreadableFile if it is no JSON object."""
    value = load(text)
    if not isinstance(value, dict):
        raise UnreadableFile("it does not hold a JSON object")
    faults: list[str] = []
    exact = _section_of(value, EXACT, faults)
    patterns = _section_of(value, PATTERNS, faults)
    rules = _section_of(value, TASK_RULES, faults)
    if len(patterns) > MAX_PATTERNS:
        left_out = len(patterns) - MAX_PATTERNS
        faults.append(
            f"{PATTERNS} holds more than {MAX_PATTERNS} patterns; {left_out} are left out"
        )
    return TypeMap(
        exact={path: lower_word(word) for path, word in exact.items()},
        patterns=tuple(
            (pattern, lower_word(word)) for pattern, word in islice(patterns.items(), MAX_PATTERNS)
        ),
        tasks=TaskRules(
            goal_priorities=_lowered(rules.get("goal_priorities")),
            goal_states=_lowered(rules.get("goal_states")),
            preference_tags=_lowered(rules.get("preference_tags")),
            project_tags=_lowered(rules.get("project_tags")),
            default=lower_word(rules.get("default")),
        ),
        faults=tuple(faults),
    )


def is_pattern(text: str) -> bool:
    """Whether an entry belongs to the patterns, not to the exact paths."""
    return not WILDCARDS.isdisjoint(text)


def _section_of(value: dict[str, Any], name: str, faults: list[str]) -> dict[str, Any]:
    section = value.get(name, {})
    if isinstance(section, dict):
        return section
    faults.append(f"{name} is not an object; its rules are left out")
    return {}


def _lowered(value: object) -> frozenset[str]:
    return frozenset(word.lower() for word in words_of(value))


def with_entry(types: TypeMap, entry: str, new_type: str) -> TypeMap:
    """A copy of the map with this entry."""
    entries = {**(dict(types.patterns) if is_pattern(entry) else types.exact), entry: new_type}
    stated = {key: word for key, word in entries.items() if word}
    if is_pattern(entry):
        return replace(types, patterns=tuple(stated.items()))
    return replace(types, exact=stated)


def type_changes(types: TypeMap, memories: Iterable[Memory]) -> list[tuple[str, str, str]]:
    """Path, present and new type of each document whose type this map would change."""
    changed = []
    for memory in memories:
        will = types.of(memory.id, _task_fields(memory)).type
        if will != memory.type and not memory.extra.get("kept"):
            changed.append((memory.id, memory.type, will))
    return changed


def _task_fields(memory: Memory) -> dict[str, Any]:
    """The fields the task rules use, taken from the memory."""
    fields = {key: memory.extra.get(key) for key in ("priority", "state")}
    return {**fields, "tags": memory.extra.get("tags", list(memory.tags))}


def describe_type_changes(changed: Iterable[tuple[str, str, str]]) -> tuple[str, ...]:
    """One line for each document."""
    return tuple(
        f"{path}: {now or 'no type'} -> {will or 'no type'}" for path, now, will in changed
    )


# ---- writing the map -----------------------------------------------------------------------------

EMPTY_MAP = json.dumps({EXACT: {}, PATTERNS: {}, TASK_RULES: {}}, indent=2) + "\n"
"""What a workspace without a map gets, before its first entry."""


def entry_edits(
    entry: str, new_type: str, types: ParsedFile[TypeMap], map_path: Path, root: Path
) -> tuple[Edit, ...]:
    """The edits that set the type of an entry of the map, a path or a pattern ("": remove it).

    Raises Refused.
    """
    if new_type not in ("", *TYPES):
        raise Refused(
            f"the workspace knows the types {', '.join(TYPES)} and ignores every other",
            where=new_type,
        )
    if types.fault or types.value.faults:
        fault = types.fault or types.value.faults[0]
        raise Refused(
            f"the type map cannot be read whole, so it is not written: {fault}",
            where=str(map_path),
            do="fix it by hand",
        )
    section = PATTERNS if is_pattern(entry) else EXACT
    if not os.path.lexists(map_path):
        if not new_type:
            return ()
        creation = text_edit(str(map_path), None, EMPTY_MAP)
        return (creation, *_map_edits(EMPTY_MAP, section, entry, new_type, creation.path))
    text = read_text(map_path, root)
    return _map_edits(text, section, entry, new_type, str(map_path))


def _map_edits(text: str, section: str, entry: str, new_type: str, path: str) -> tuple[Edit, ...]:
    type_map = load(text)
    after = json.dumps(new_type, ensure_ascii=False) if new_type else ""
    if section not in type_map:
        creation = value_edit(path, (section,), "", "{}")
        return (creation, value_edit(path, (section, entry), "", after)) if new_type else ()
    entries = type_map[section]
    if entry not in entries:
        return (value_edit(path, (section, entry), "", after),) if new_type else ()
    if [*entries] == [entry] and not new_type:  # only the whole says how the last one stood in it
        return (value_edit(path, (section,), raw_value(text, (section,)), "{}"),)
    before, index = raw_value(text, (section, entry)), [*entries].index(entry)
    return () if before == after else (value_edit(path, (section, entry), before, after, at=index),)
