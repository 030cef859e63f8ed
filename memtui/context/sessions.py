"""The recipes for the start of a session: `session` (Ambient's block) and `loaded`.

`loaded` shows what the program of each store puts into a session by itself, with the cut where its
limit falls. The rule is the store's (`memtui.stores.base`). `session` takes such a block
as it is, byte for byte; for another store it builds the same one from the memories of the project
(the first part of the entity) and of the whole entity.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from memtui.context.choosing import Search
from memtui.context.entries import MAX_DROPPED, over_limit, slots_of_role
from memtui.context.pack import DroppedEntry, PackEntry, Section
from memtui.context.task import PackSource, Task
from memtui.model import Memory
from memtui.query import Sort
from memtui.search.pack_ranking import join_slots, oldest_first, slots_in_entity
from memtui.stores.base import UNITS, LoadedText, Store, limit_uses

PROJECT_EVENTS, BRANCH_EVENTS = 10, 15
"""Events of the project that are not low, and of the branch (Ambient, store.ts:207 and 218)."""


def build_session(search: Search, _: int) -> list[Section]:
    """The block of one project and branch."""
    task, notes = search.task, search.notes
    entity = find_entity(task)
    sections: list[Section] = []
    notes.append(f"session in {entity or 'no project'}")
    for store in _stores_of(task):
        blocks = [
            text for text in store.session_start(task.source, entity, task.now) if text.is_of_entity
        ]
        if blocks:
            sections += _text_sections(blocks[0], split=True)
            notes.append(f"{store.label}: {blocks[0].note}")
        else:
            sections += _generic_block(task, store.label, entity, bool(sections))
    return sections


def build_loaded(search: Search, _: int) -> list[Section]:
    """What each program loads at session start, by project, cut where its limit falls.

    The task may name a project or branch. Of several branches of a project, that of the newest
    memory is taken.
    """
    task, notes = search.task, search.notes
    wanted = task.text.strip().casefold()
    found = [(store, _loaded_texts(task, store)) for store in _stores_of(task)]
    every = [text for _, texts in found for text in texts]
    projects = {text.project.casefold() for text in every if text.is_named(wanted)}
    if wanted and not projects:
        projects = {find_entity(task).partition("/")[0].casefold()}
    sections: list[Section] = []
    for store, texts in found:
        name = task.source.names.of(store.label)
        switches = store.memory_switches()
        if off := [each.state for each in switches if each.loads and not each.is_on]:
            notes.append(f"{name}: {', '.join(off)}")
        elif not texts:
            notes.append(f"{name}: memtui knows of nothing that it loads by itself")
        own = [one for one in texts if not wanted or one.project.casefold() in projects]
        named = [one for one in own if one.is_named(wanted)]
        chosen = _newest_branches(task, store, named or own)
        for one in texts:
            if one.project and one not in chosen:
                continue
            title = _heading(task, store, one)
            sections += _text_sections(one.text._replace(title=title))
            if one.text.cut < len(one.text.text):
                notes.append(_describe_cut(title, one.text))
    return sections


class _ProjectText(NamedTuple):
    """A text that a program loads, and whose sessions get it."""

    text: LoadedText
    project: str
    """Name of the project; empty: every session gets it."""
    path: str
    """The project, and the branch if there is one, as shown: `shop-api/main`."""

    def is_named(self, wanted: str) -> bool:
        """Whether `wanted`, in lower case, is its entity, the end of it, or its path."""
        is_end = f"/{self.text.entity}".casefold().endswith(f"/{wanted}")
        return bool(self.project) and (is_end or self.path.casefold() == wanted)


def _loaded_texts(task: Task, store: Store) -> list[_ProjectText]:
    texts = store.session_start(task.source, "", task.now)
    levels = (store.entity_levels(text.entity) if text.entity else ("",) for text in texts)
    return [
        _ProjectText(text, each[0], "/".join(each))
        for text, each in zip(texts, levels, strict=True)
    ]


def _newest_branches(task: Task, store: Store, texts: Sequence[_ProjectText]) -> list[_ProjectText]:
    """The texts without those of other branches of a project than that of its newest memory."""
    branches = [one for one in texts if one.text.is_of_entity]
    if len(branches) < 2:
        return list(texts)
    found = task.search(sort=Sort.NEW, store=(store.label.casefold(),))
    entities = dict.fromkeys(found.rows[slot].entity for slot in found.slots)
    places = {entity: at for at, entity in enumerate(entities)}
    branches.sort(key=lambda one: places.get(one.text.entity, len(places)))
    newest = list({one.project: one for one in reversed(branches)}.values())
    return [one for one in texts if one in newest or not one.text.is_of_entity]


def list_projects(source: PackSource, now: datetime) -> dict[str, tuple[str, ...]]:
    """The projects and branches for which programs load texts of their own, with those programs.

    A branch is listed as `project/branch`.
    """
    task, found = Task("", source, now), dict[str, list[str]]()
    for store in source.stores:
        for one in _loaded_texts(task, store):
            for path in dict.fromkeys((one.project, one.path)):
                if path:
                    found.setdefault(path, []).append(source.names.of(store.label))
    return {path: tuple(dict.fromkeys(names)) for path, names in sorted(found.items())}


USE_CELLS = 5
"""Cells of the bar that shows how much of a limit is used."""


def _heading(task: Task, store: Store, one: _ProjectText) -> str:
    """Program, project and file, and how much of its limit is used:
    `Claude Code · shop-api · MEMORY.md · 61 of 200 lines`."""
    text = one.text
    file = posixpath.basename(text.title.removeprefix(text.entity).lstrip(": "))
    branch = one.path.removeprefix(one.project).lstrip("/")
    parts = [task.source.names.of(store.label), one.project, branch]
    parts += [] if text.is_of_entity else [file]
    for use in limit_uses(store.label, [text]):
        unit, used, most = max(use.measures, key=lambda one: one[1] / one[2])
        full = min(USE_CELLS, round(USE_CELLS * used / most))
        bar = "▰" * full + "▱" * (USE_CELLS - full)
        parts.append(f"{bar} {used:,} of {most:,} {unit}")
    return " · ".join(part for part in parts if part)


def find_entity(task: Task) -> str:
    """The entity that the task names, by its path or the end of it, in any case; else that of the
    newest memory with one."""
    found = task.search(sort=Sort.NEW)
    wanted = task.text.strip().casefold()
    if not wanted:
        # Notes and prompts lie under headings of their own, not in a project.
        at = slots_of_role("fact", found.columns, found.slots[:200]).tolist()
        return next((found.rows[slot].entity for slot in at if found.rows[slot].entity), "")
    names = sorted(set(found.columns.entities))
    exact = [name for name in names if name.casefold() == wanted]
    ends = [name for name in names if name.casefold().endswith(f"/{wanted}")]
    return next(iter([*exact, *ends]), task.text.strip())


def _stores_of(task: Task) -> Sequence[Store]:
    """The stores that pass the task's filter."""
    label = next(
        (c.values for c in task.only.conditions if c.field == "store" and not c.negated), None
    )
    stores = task.source.stores
    return [store for store in stores if label is None or store.label.casefold() in label]


def _describe_cut(title: str, text: LoadedText) -> str:
    limit = text.limit
    line = text.cut_line or 1
    named = [f"{limit.lines:,} lines"] if limit.lines is not None else []
    named += [f"{limit.units:,} {UNITS}"] if limit.units is not None else []
    named += [f"{limit.characters:,} characters"] if limit.characters is not None else []
    source = f" ({limit.source})" if limit.source else ""
    return f"{title}: cut in line {line:,}; the limit is {' or '.join(named)}{source}"


def _text_sections(text: LoadedText, *, split: bool = False) -> list[Section]:
    """A loaded text as a section; `split`: a new one at each heading in square brackets."""
    pieces = list(_pieces(text))
    loaded = [piece for piece in pieces if piece[1] < text.cut]
    not_loaded = [piece for piece in pieces if piece[2] > text.cut and piece[0]]
    entries = [
        PackEntry(ref, text.text[start : min(end, text.cut)], why=text.note)
        for ref, start, end in loaded
    ]
    dropped = tuple(
        DroppedEntry(
            text.title,
            PackEntry(ref, text.text[start:end]),
            "cut in two by the limit" if start < text.cut else "past the limit",
        )
        for ref, start, end in not_loaded
    )
    if not split:
        exact = Section(text.title, tuple(entries), rule=text.note, is_exact=True, dropped=dropped)
        return [exact]
    groups: list[list[PackEntry]] = []
    for entry in entries:
        if not groups or (not entry.ref and "[" in entry.text):
            groups.append([])
        groups[-1].append(entry)
    return [
        Section(
            group[0].text.strip().strip("[]") if not group[0].ref else text.title,
            tuple(group),
            rule=text.note,
            is_exact=True,
            # The heading first, then the newest, which stand last.
            ranks=tuple(len(group) - at if entry.ref else 0 for at, entry in enumerate(group)),
        )
        for group in groups
    ]


def _pieces(text: LoadedText) -> Iterable[tuple[str, int, int]]:
    """The whole text in pieces: ref, start and end; the ref is empty between the entries."""
    at = 0
    for entry in sorted(text.entries, key=lambda loaded: loaded.start):
        start = max(at, entry.start)
        if start > at:
            yield "", at, start
        if entry.end > start:
            yield entry.ref, start, entry.end
            at = entry.end
    if at < len(text.text):
        yield "", at, len(text.text)


def _generic_block(task: Task, store: str, entity: str, follows: bool) -> list[Section]:
    """The same block from the memories of any store."""
    found = task.search(sort=Sort.OLD, store=(store.casefold(),))
    project, _, _ = entity.partition("/")
    if not project:
        return []
    columns = found.columns
    both = (slots_of_role(role, columns, found.slots) for role in ("fact", "episode"))
    events = oldest_first(columns, join_slots(*both))
    own = slots_in_entity(columns, events, project, without_low=True).tolist()
    is_branch = entity != project
    branch = slots_in_entity(columns, events, entity, below=False).tolist() if is_branch else []
    sections: list[Section] = []
    for title, chosen, limit in (
        (f"Project: {project}", own, PROJECT_EVENTS),
        (f"Task: {entity}", branch, BRANCH_EVENTS),
    ):
        if not chosen:
            continue
        last = chosen[-limit - MAX_DROPPED :]
        shown = [_event_entry(found.rows[slot], task.now) for slot in last]
        before = shown[:-limit]
        sections.append(
            Section(
                title,
                tuple(shown[-limit:]),
                f"{chr(10) * bool(sections or follows)}[{title}]\n",
                "",
                f"the last {limit} in order of time",
                is_exact=True,
                ranks=tuple(range(min(limit, len(shown)), 0, -1)),
                dropped=over_limit(title, reversed(before), limit),
            )
        )
    return sections


def _event_entry(memory: Memory, now: datetime) -> PackEntry:
    label = f"{memory.type or memory.kind}, {_age(memory.when, now)}"
    text = f"- {memory.content or memory.title} ({label})\n"
    return PackEntry(memory.ref, text, why="among the last of the project or branch")


def _age(time: datetime | None, now: datetime) -> str:
    """Minutes or hours, then the date."""
    if time is None:
        return "undated"
    minutes = (now - time) // timedelta(minutes=1)
    if minutes < 60:
        return f"{minutes}m ago"
    return f"{minutes // 60}h ago" if minutes < 24 * 60 else f"{time:%Y-%m-%d}"
