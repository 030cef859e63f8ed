"""Codex's memories as a store: every file is a shard.

* Items of MEMORY.md are facts; the entity is the name of their task group, the type follows from
  the heading. Items of memory_summary.md are facts of `summary/<heading>`.
* A rollout summary is an episode of its working folder; `thread_id` and `rollout_path` lead to the
  session it was made from; how often Codex used it is in `usage_count`. A skill is a document, and
  so is a resource of an extension.
* An ad-hoc note is a note. It has the type `pending` until MEMORY.md is newer than the note, which
  is when Codex has consolidated.
* A memory that a note asks to forget or to change is retired or superseded by the sidecar
  (`extra.pending`), though it stands in its file until Codex consolidates.
* Importance: high in the summary, which every prompt holds; low for rollout summaries.

Codex rewrites its files, so memtui writes only ad-hoc notes; the next consolidation takes every
note as binding (source: formats page of Codex).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from memtui.changes import Act, Change, Edit, Outcome, Plan, text_edit
from memtui.errors import Refused
from memtui.files.reading import file_stamp
from memtui.model import CURRENT, FILE_TIME, FILE_TIME_KEY, PENDING_KEY, Link, Memory, Place
from memtui.stores.base import (
    LoadedText,
    MemorySwitch,
    OpenStores,
    Reading,
    ReadTime,
    Remark,
    StoreView,
    Unreadable,
)
from memtui.stores.codex import (
    EXTENSIONS,
    MEMORY,
    NOTES,
    RAW,
    ROLLOUTS,
    SKILLS,
    SUFFIX,
    SUMMARY,
    extension_of,
    is_note,
    memory_files,
)
from memtui.stores.codex.usage import Usage, UsageReader
from memtui.stores.file_store import TextFileStore
from memtui.stores.format import ConvertedMemory, FormatSupport, TransferSupport
from memtui.stores.importing import (
    converted,
    kind_change,
    short_hash,
    sidecar_values,
    slug,
    text_with_title,
)
from memtui.stores.listed_texts import shard_of
from memtui.stores.markdown import document_store, documents
from memtui.stores.markdown.items import SECTION, MarkdownList
from memtui.stores.plans import SIDECAR_ACTS, ActionSupport, PlanContext, plan_duplicate, plan_one
from memtui.stores.program_settings import find_switch
from memtui.stores.scanning import FoundShard, planned_text, time_of_change, unread_notes
from memtui.stores.sidecar import Sidecar
from memtui.stores.values import content_of, from_iso, memory_name, word_of
from memtui.text import one_line

FIRST_LINE = "v1"
"""First line of memory_summary.md; without it Codex does not put the summary into the prompt."""
_GROUP = re.compile(r"^# Task Group:(.*)$", re.MULTILINE)
_HEAD_LINE = re.compile(r"^(scope|applies_to):[ \t]*(.*)$", re.MULTILINE)
_CWD = re.compile(r"cwd=([^;\s]+)")
_HEAD = re.compile(r"([a-z_]+):[ \t]*(\S.*)")
_TYPES = {
    "user preferences": "preference",
    "reusable knowledge": "knowledge",
    "failures and how to do differently": "lesson",
    "rollout_summary_files": "rollouts",
    "keywords": "keywords",
}
MAX_HEAD_LINES = 12


_PART = re.compile(r"^## (?:Task (\d+)\b)?.*$", re.MULTILINE)
_ROLLOUT = re.compile(rf"({ROLLOUTS}/[\w.:-]+\.md)(?:.*?\bthread_id=([\w-]+))?")
_OF_TASKS = re.compile(r"\[Tasks? ([^\]\n]{1,60})\]")


class Task(Struct, frozen=True):
    """A task of a group."""

    number: str
    rollouts: Mapping[str, str]
    """Path of a rollout summary -> the id of its thread, empty where the line has none."""


class TaskGroup(Struct, frozen=True):
    """A part of MEMORY.md, and where it begins."""

    start: int
    name: str
    scope: str = ""
    applies_to: str = ""
    parts: tuple[tuple[int, Task | None], ...] = ()
    """Where each of its parts begins, and the task that it is; None: one about all tasks."""

    def tasks_of(self, start: int, text: str) -> list[Task]:
        """The tasks that an item is from: that below which it stands, or those that it names; of a
        group with one task, that one."""
        own = [task for at, task in self.parts if at <= start][-1:]
        if own and own[0] is not None:
            return [own[0]]
        tasks = [task for _, task in self.parts if task is not None]
        if len(tasks) == 1:
            return tasks
        named = {
            number for words in _OF_TASKS.findall(text) for number in re.findall(r"\d+", words)
        }
        return [task for task in tasks if task.number in named]

    @property
    def cwd(self) -> str:
        found = _CWD.search(self.applies_to)
        return found[1] if found else ""


def task_groups(text: str) -> list[TaskGroup]:
    """The task groups in order."""
    starts = list(_GROUP.finditer(text))
    groups = []
    for match, after in zip_longest(starts, starts[1:]):
        group_text = text[match.end() : after.start() if after else len(text)]
        head_fields: dict[str, str] = dict(_HEAD_LINE.findall(group_text))
        scope, applies_to = (head_fields.get(key, "") for key in ("scope", "applies_to"))
        parts = tuple(_parts(group_text, match.end()))
        groups.append(TaskGroup(match.start(), match[1].strip(" \t"), scope, applies_to, parts))
    return groups


def _parts(text: str, start: int) -> Iterator[tuple[int, Task | None]]:
    heads = list(_PART.finditer(text))
    for head, after in zip_longest(heads, heads[1:]):
        rollouts = dict(_ROLLOUT.findall(text[head.end() : after.start() if after else len(text)]))
        yield start + head.start(), Task(head[1], rollouts) if head[1] else None


def type_of(section: str) -> str:
    """The type that a heading stands for."""
    return _TYPES.get(section.lower(), "task" if section.startswith("Task ") else "")


def head_lines(text: str) -> Mapping[str, str]:
    """`thread_id`, `updated_at`, `rollout_path`, `cwd` and the like at the head of a summary."""
    found: dict[str, str] = {}
    for line in text.split("\n", MAX_HEAD_LINES)[:MAX_HEAD_LINES]:
        match = _HEAD.fullmatch(line.rstrip())
        if match is None:
            break
        found[match[1]] = match[2]
    return found


def asking_note(memory: Memory, new_text: str | None) -> str:
    """The text of a note that asks Codex to change a memory, or to forget it (None)."""
    file = memory.id.partition("#")[0]
    place = f"{file}, {memory.entity}" if memory.entity else file
    quoted = "\n".join(f"> {line}".rstrip() for line in memory.content.strip().split("\n"))
    if new_text is None:
        return f"Forget this memory. It stands in {place}:\n\n{quoted}\n"
    return f"Change this memory. It stands in {place}:\n\n{quoted}\n\n{_NEW_TEXT}\n\n{new_text}\n"


def asked_text(note: str) -> str:
    """What a note asks Codex to remember in place of a memory, or to forget, as one line; "" if it
    asks for neither."""
    if note.startswith("Change this memory."):
        return one_line(note.partition(f"\n{_NEW_TEXT}\n")[2].strip())
    if note.startswith("Forget this memory."):
        quoted = (line[2:] for line in note.split("\n") if line.startswith("> "))
        return f"Forget: {one_line(' '.join(quoted))}"
    return ""


# ---- memories ------------------------------------------------------------------------------------


PENDING = "pending until Codex consolidates"
BEING = {"superseded": f"being replaced, {PENDING}", "retired": f"being forgotten, {PENDING}"}
"""What Codex is asked to do with a memory, by the status that memtui shows it with."""
ASKED = "asked, not yet done"
_NEW_TEXT = "It should say:"
"""Before the new text, in a note that asks for a change."""
STATUS = "status"
"""Key of a sidecar entry: retired or superseded, by a note."""
_TIME = re.compile(r"(\d{4}-\d{2}-\d{2})(?:T(\d{2})[-:](\d{2})[-:](\d{2}))?")


def item_memories(
    parsed: MarkdownList, label: str, thread_of: Callable[[str], str]
) -> Iterator[Memory]:
    """The memories of MEMORY.md or of memory_summary.md; `thread_of` gives the id of the thread
    that a rollout summary was made from."""
    groups = task_groups(parsed.document.body) if parsed.key == MEMORY else []
    is_summary = parsed.key == SUMMARY
    for item in parsed.items:
        group = next((g for g in reversed(groups) if g.start <= item.start), None)
        is_head = group is not None and all(
            _HEAD_LINE.fullmatch(line) for line in item.text.split("\n")
        )
        if is_head or (is_summary and item.text == FIRST_LINE):
            continue
        extra: dict[str, Any] = {FILE_TIME_KEY: FILE_TIME}
        extra |= {SECTION: item.group} if item.group else {}
        extra |= _about(group) if group is not None else {}
        extra |= {"loaded_at_start": True} if is_summary else {}
        rollouts = dict(_ROLLOUT.findall(item.text))
        for task in group.tasks_of(item.start, item.text) if group is not None else ():
            rollouts |= task.rollouts
        threads = dict.fromkeys(id or thread_of(path) for path, id in rollouts.items())
        memory = Memory(
            **memory_name(label, item.id),
            kind="fact",
            type=type_of(item.group),
            content=item.text,
            entity=_entity(parsed.key, group, item.group),
            updated=parsed.document.changed,
            importance="high" if is_summary else "medium",
            links=tuple(Link("drawn_from", path) for path in rollouts),
            source=", ".join(f"thread {thread}" for thread in threads if thread),
            origin=Place(str(parsed.path), item.line),
            extra=extra,
        )
        yield _with_request(memory, parsed.sidecar)


def _entity(path: str, group: TaskGroup | None, section: str) -> str:
    if path == SUMMARY:
        return f"summary/{section.replace('/', '-')}" if section else "summary"
    return group.name if group is not None and group.name else "memory"


def _about(group: TaskGroup) -> dict[str, str]:
    fields = {"scope": group.scope, "applies_to": group.applies_to, "cwd": group.cwd}
    return {key: value for key, value in fields.items() if value}


def file_memory(
    document: documents.MarkdownFile,
    sidecar: Sidecar,
    label: str,
    usage: Mapping[str, Usage],
    *,
    pending: bool,
) -> Memory:
    """A rollout summary, a skill, a resource or an ad-hoc note."""
    is_rollout = document.path.startswith(f"{ROLLOUTS}/")
    is_note = document.path.startswith(f"{NOTES}/")
    head: Mapping[str, str] = head_lines(document.body) if is_rollout else {}
    extra: dict[str, Any] = {
        **{str(key): documents.to_json_value(value) for key, value in document.frontmatter.items()},
        **head,
    }
    if is_note and pending:
        extra[PENDING_KEY] = PENDING
    thread, extension = head.get("thread_id", ""), extension_of(document.path)
    extra |= usage[thread].extra if thread in usage else {}
    name = document.path.rpartition("/")[2]
    title = documents.outline(document.body).title
    if is_note and (asked := asked_text(document.body)):
        title = f"{asked} ({ASKED})" if pending else asked
    updated = from_iso(head.get("updated_at"))
    if updated is None:
        extra[FILE_TIME_KEY] = FILE_TIME
    if not is_note and not is_rollout:
        stem = name.removesuffix(SUFFIX) if extension else document.path.split("/")[-2]
        title = str(document.frontmatter.get("name") or title or stem)
    type = ("pending" if pending else "ad-hoc") if is_note else "" if is_rollout else "skill"
    return _with_request(
        Memory(
            **documents.document_fields(document, label),
            kind="note" if is_note else "episode" if is_rollout else "document",
            type="resource" if extension else type,
            title=title,
            entity="ad_hoc"
            if is_note
            else head.get("cwd", "").strip("/") or (extension or "skills"),
            created=_time_in(name) if is_note or is_rollout else None,
            updated=updated or document.changed,
            importance="low" if is_rollout or extension else "medium",
            source=f"thread {thread}" if thread else "",
            extra=extra,
        ),
        sidecar,
    )


def _time_in(name: str) -> datetime | None:
    found = _TIME.match(name)
    if found is None:
        return None
    return from_iso(f"{found[1]}T{found[2]}:{found[3]}:{found[4]}" if found[2] else found[1])


def _with_request(memory: Memory, sidecar: Sidecar) -> Memory:
    """Return the memory with the status that a note has asked for."""
    status = sidecar.entry(memory.id).get(STATUS)
    if status not in BEING:
        return memory
    return replace(memory, status=status, extra={**memory.extra, PENDING_KEY: BEING[status]})


# ---- acts ----------------------------------------------------------------------------------------


LONGEST_SLUG = 40
_NOTE_KEY = "request"
"""Key of a sidecar entry: ids of the notes that ask for the change."""


def _not_on(act: Act, memory: Memory) -> str:
    if act in SIDECAR_ACTS:
        return ""
    if is_note(memory.id):
        if act in (Act.EDIT, Act.DELETE):
            return ""
        return "it is a note to Codex: edit or delete it"
    if act is Act.EDIT:
        return "Codex writes it: supersede it, which leaves a note that asks Codex for the change"
    if act is Act.DELETE:
        return "Codex writes it: retire it, which leaves a note that asks Codex to forget it"
    if act is Act.RESTORE:
        return "it is active already" if memory.status in CURRENT else ""
    return "" if memory.status in CURRENT else f"a note about it is {PENDING}"


def new_note(text: str, about: str, new_id: str, context: PlanContext) -> tuple[str, Edit]:
    """The id and the edit of a new note, `new_id` if it is free. Raises Refused."""
    stamp = context.now.strftime("%Y-%m-%dT%H-%M-%S")
    slug = document_store.file_stem(about)[:LONGEST_SLUG].strip("-_") or "note"
    numbers = ("", *(f"-{number}" for number in range(2, 1000)))
    names = [f"{NOTES}/{stamp}-{slug}{number}{SUFFIX}" for number in numbers]
    for path in (new_id, *names) if is_note(new_id) else names:
        if context.ref(path) not in context.planned_refs and not (context.root / path).exists():
            return path, text_edit(str(document_store.new_file(context.root, path)), None, text)
    raise Refused("there are too many notes of this name", where=slug)


def _add(change: Change, context: PlanContext) -> Plan:
    title = word_of(change, "title", "")
    text = document_store.titled_text(title, content_of(change))
    entity = word_of(change, "entity", "ad_hoc")
    if entity != "ad_hoc":
        text = f"{text.rstrip()}\n\nThis is about {entity}.\n"
    id, edit = new_note(text, title or text, change.new_id, context)
    return Plan((change,), (edit,), Outcome.ADDED, f"A note: {PENDING}", (context.ref(id),))


def _delete(change: Change, memory: Memory, context: PlanContext) -> Plan:
    edits = document_store.deletion_edits(document_store.open_document(memory, context), context)
    return plan_one(change, memory, edits)


def _request(change: Change, memory: Memory, context: PlanContext) -> Plan:
    """Plan a note that asks Codex to forget or change a memory, and what the sidecar keeps until
    Codex has read it."""
    supersedes = change.act is Act.SUPERSEDE
    new_text = content_of(change) if supersedes else None
    about = f"{'change' if supersedes else 'forget'} {memory.headline}"
    id, note = new_note(asking_note(memory, new_text), about, change.new_id, context)
    values: dict[str, Any] = {STATUS: "superseded" if supersedes else "retired", _NOTE_KEY: [id]}
    edits: tuple[Edit, ...] = (
        note,
        *context.sidecar_entry(memory).set(**values, superseded_by=[id] if supersedes else None),
        *context.entry_edits(id, id, supersedes=[memory.id] if supersedes else None),
    )
    refs = (context.ref(id), memory.ref)
    outcome = Outcome.SUPERSEDED if supersedes else Outcome.DONE
    return Plan((change,), edits, outcome, f"A note: {PENDING}", refs, (memory.ref,))


def _restore(change: Change, memory: Memory, context: PlanContext) -> Plan:
    """Restore a memory; the note that asked for the change is removed, if still there."""
    entry = context.sidecar.entry(memory.id)
    edits: list[Edit] = []
    refs, is_pinned = [memory.ref], memory.pinned
    for id in entry.get(_NOTE_KEY, ()):
        path = context.root / str(id)
        if is_note(str(id)) and path.parent == context.root / NOTES and path.exists():
            before = planned_text(path, context.root, context.view)
            edits.append(text_edit(str(path), before, None))
            is_pinned = is_pinned or bool(context.sidecar.entry(str(id)).get("pinned"))
            beside = dict.fromkeys(("supersedes", "pinned", "tags"))
            edits += context.entry_edits(str(id), str(id), **beside)
            refs.append(context.ref(id))
    edits += context.sidecar_entry(memory).set(
        **{STATUS: None, _NOTE_KEY: None, "superseded_by": None, "pinned": is_pinned}
    )
    return Plan((change,), tuple(edits), Outcome.DONE, "", tuple(refs))


def _plan_import(change: Change, context: PlanContext) -> Plan:
    """Plan the import of one note. Raises Refused."""
    path = str(change.fields["id"])
    if not is_note(path) or not path.endswith(SUFFIX) or path.count("/") != NOTES.count("/") + 1:
        raise Refused("Codex writes this file itself; only notes are added", where=path)
    if (context.root / path).exists():
        return plan_duplicate(change, "a note of this name")
    document = change.fields.get("document")
    text = document if isinstance(document, str) else content_of(change)
    file = document_store.new_file(context.root, path)
    return document_store.plan_file_import(change, context, file, text, **sidecar_values(change))


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory to a note that asks Codex to remember it."""
    text = text_with_title(memory).strip()
    if memory.entity:
        text = f"{text}\n\nThis is about {memory.entity}."
    stamp = f"{memory.created:%Y-%m-%dT%H-%M-%S}" if memory.created else "imported"
    name = slug(memory.headline)[:40].strip("-_") or "memory"
    fields = {
        "id": f"{NOTES}/{stamp}-{name}-{short_hash(memory.ref, 6)}{SUFFIX}",
        "content": f"{text}\n",
        "entity": "ad_hoc",
        "tags": memory.tags,
        "pinned": memory.pinned,
    }
    changes = (
        (memory.entity not in ("", "ad_hoc"), "entity (stands in the text)"),
        (memory.status != "active", f"status {memory.status} (becomes active)"),
        kind_change(memory, "note"),
    )
    return converted(memory, fields, changes)


class CodexStore(TextFileStore):
    """One folder of memories."""

    format = "codex"
    acts = ActionSupport(
        editable=frozenset({"content", "tags"}),
        add=_add,
        add_imported=_plan_import,
        handlers={
            Act.EDIT: document_store.edit_document,
            Act.DELETE: _delete,
            Act.RETIRE: _request,
            Act.SUPERSEDE: _request,
            Act.RESTORE: _restore,
        },
        unsupported={
            Act.RETYPE: "Codex sorts its memories itself: write a note",
            Act.MERGE: "Codex merges its memories itself: write a note",
        },
        shard_of=shard_of,
        not_on=_not_on,
    )
    reads = ReadTime.ASKED  # a note, which the next consolidation reads as what a person asks for
    rescans = True  # a note is pending until MEMORY.md is newer, and a thread is used

    def __init__(self, root: Path, label: str, **more: Any) -> None:
        super().__init__(root, label, **more)
        self._usage = UsageReader(root.parent)

    def is_cut_off(self, key: str, text: str) -> bool:  # noqa: ARG002
        return not text.strip()

    def find_shards(self) -> Iterator[FoundShard | Unreadable]:
        faults: list[Unreadable] = []
        usage = self._usage.current()
        for path in memory_files(self.root, faults):
            file = str(self.root / path)
            mark = file_stamp([file, self.root / MEMORY]) if is_note(path) else ""
            if usage and path.startswith(f"{ROLLOUTS}/"):
                mark = f"{file_stamp([file])} {short_hash(repr(sorted(usage.items())), 12)}"
            yield FoundShard(path, (file,), mark)
        yield from faults

    def memory_switches(self) -> Sequence[MemorySwitch]:
        """Whether memories are on, and of those that are, which half is turned off.
        (openai/codex, codex-rs/features/src/lib.rs, `Feature::MemoryTool`, and `MemoriesToml` in
        codex-rs/config/src/types.rs.)"""
        files = [self.root.parent / "config.toml"]
        every = find_switch("memories", "features.memories", files, is_on_by_default=False)
        halves = (
            find_switch(name, f"memories.{key}", files, is_on_by_default=True)._replace(loads=loads)
            for name, key, loads in (
                ("new memories", "generate_memories", False),
                ("use of memories", "use_memories", True),
            )
        )
        return [every, *(each for each in halves if every.is_on and not each.is_on)]

    def rescope(self, memory: Memory, project: str, library: OpenStores) -> Sequence[Change]:  # noqa: ARG002
        """A note that asks Codex for it: one file has what it knows of all projects."""
        scope = f"This holds for {project} only" if project else "This holds for every project"
        text = {"content": f"{memory.content.strip()}\n\n{scope}."}
        act = Act.EDIT if is_note(memory.id) else Act.SUPERSEDE
        return (Change(act, memory.store, memory.ref, text),)

    def remarks(self) -> Sequence[Remark]:
        """Notes that lie among its files and that Codex does not read."""
        own = {RAW, *memory_files(self.root, [])}
        return unread_notes(
            self.root, lambda path: path in own or path.startswith(("extensions/", f"{SKILLS}/"))
        )

    def read_text(self, key: str, path: Path, text: str, sidecar: Sidecar) -> Reading:
        if key in (SUMMARY, MEMORY):
            parsed = MarkdownList(key, path, text, sidecar)
            return Reading(tuple(item_memories(parsed, self.label, cache(self._thread_of))))
        document = documents.parse_document(key, str(path), text, time_of_change(path))
        pending = self._is_pending(path)
        usage = self._usage.current()
        return Reading((file_memory(document, sidecar, self.label, usage, pending=pending),))

    def _thread_of(self, rollout: str) -> str:
        return head_lines(self.text_of(rollout) or "").get("thread_id", "")

    def _is_pending(self, note: Path) -> bool:
        try:
            return os.stat(note).st_mtime >= os.stat(self.root / MEMORY).st_mtime
        except OSError:
            return True

    def session_start(self, view: StoreView, entity: str, now: datetime) -> Sequence[LoadedText]:  # noqa: ARG002
        """The summary, which every prompt holds where memories are used."""
        text = self.text_of(SUMMARY)
        if any(each.loads and not each.is_on for each in self.memory_switches()):
            return ()
        if text is None or text.partition("\n")[0].rstrip() != FIRST_LINE:
            return ()
        note = "in every prompt; the other files are looked up when a task needs them"
        return (LoadedText(SUMMARY, text, str(self.root / SUMMARY), note=note),)


SUPPORT = FormatSupport(
    CodexStore,
    transfer=TransferSupport(
        belongings=(RAW, f"{EXTENSIONS}/*/manifest.json", f"{EXTENSIONS}/*/instructions.md"),
        convert=convert,
    ),
)
