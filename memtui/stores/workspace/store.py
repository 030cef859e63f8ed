"""A gptme workspace as a store: every Markdown document is a memory, and a shard of its own.

A document is read again when its file changes, and when what lies outside it changes what is said
of it: its type by path, its usage in the log, memtui's own notes on it. So a new line in the log or
a new rule in the type map costs only the documents it is about. The task rules look into the
documents, which a scan does not; for documents under `tasks/` any change of the map counts.

What the format has no word for is derived by these rules:

* title: the frontmatter's `title` or `name`, else the first heading (a level 1 heading before any
  other), else the file's name. A heading that only names a part of a template (`TEMPLATE_HEADINGS`)
  is passed over for the file's name.
* created: the frontmatter's `created` or `date`, else a date in the file's name or its folder's,
  else the file's time of change. `extra["created_from"]` says which.
* updated: the frontmatter's `updated` (or one of `UPDATED_KEYS`); else nothing for a document whose
  name carries a date, because a journal entry belongs to its day; else the file's time of change.
* status: under `tasks`, done, cancelled and expired are retired; under `lessons`, archived and
  deprecated are; every other word is active. The word itself stays in `extra`.
* importance: the frontmatter's `priority`; else the person's rating; else high for the core
  documents (`CORE`), low for what is retired or lies in an archive folder, else medium.
* entity: the folder. tags: the frontmatter's. links: relative links and wikilinks to documents.

Content is the text below the frontmatter, from its first line that is not blank, without a byte
order mark and with plain line feeds where every line ends in CRLF; writing puts all that back.

An import whose whole file is known writes it as it was, byte for byte; else the frontmatter is
written anew from what was read of it.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from memtui.changes import Act, Change, Edit, Outcome, Plan
from memtui.errors import RefError, Refused
from memtui.model import CURRENT, Link, Memory
from memtui.stores import workspace
from memtui.stores.base import LoadedText, ReadTime, StoreView, Unreadable, loaded_whole
from memtui.stores.format import ConvertedMemory, FormatSupport, TransferSupport
from memtui.stores.globs import matches
from memtui.stores.importing import (
    converted,
    extra_in,
    kind_change,
    links_in,
    native_keys,
    sidecar_values,
    texts_in,
)
from memtui.stores.markdown import document_store
from memtui.stores.markdown.document_store import (
    OpenDocument,
    converted_document,
    open_document,
    titled_text,
    with_fields,
    with_heading,
    with_named_title,
)
from memtui.stores.markdown.documents import (
    CREATED_KEYS,
    UPDATED_KEYS,
    MarkdownFile,
    date_in_path,
    document_fields,
    linked_documents,
    outline,
    to_json_value,
    words_of,
)
from memtui.stores.plans import ActionSupport, plan_one
from memtui.stores.scanning import SUFFIX, CachedFile, ParsedFile
from memtui.stores.sidecar import Sidecar, is_kept
from memtui.stores.values import (
    checked_importance,
    content_of,
    created_of,
    from_iso,
    importance_of_rating,
    lower_word,
    to_iso_seconds,
    utc_now,
)
from memtui.stores.workspace import LOG_PATH, MAP_PATH, DocumentUsage, InjectionLog, rules
from memtui.stores.workspace.rules import (
    TYPES,
    DocumentType,
    TypeMap,
    describe_type_changes,
    entry_edits,
    type_changes,
    with_entry,
)

RETIRED_STATES = frozenset({"done", "cancelled", "expired"})
"""Task states that end a task (gptodo, VALID_TRANSITIONS: the first two terminal, expired idle)."""

RETIRED_LESSONS = frozenset({"archived", "deprecated"})
"""Lesson states in which a lesson is not given to the agent any more."""

PRIORITIES = {
    "urgent": "high",
    "critical": "high",
    "high": "high",
    "medium": "medium",
    "normal": "medium",
    "low": "low",
}

TASKS, LESSONS = "tasks", "lessons"
ARCHIVES = frozenset({"archive", "archived"})
TEMPLATE_HEADINGS = frozenset({"rule", "overview"})

FRONTMATTER = "frontmatter."
"""Put before a frontmatter key that would hide something memtui itself says in `extra`."""

_OWN_KEYS = frozenset(
    {"headings", "created_from", "injections", "ignored_type", "line_endings", "byte_order_mark"}
)


def memory_of(
    document: MarkdownFile,
    document_type: DocumentType,
    *,
    label: str,
    by_stem: Callable[[str], str],
    injections: Mapping[str, Any] | None = None,
    rating: object = None,
) -> Memory:
    """Convert a document to a memory, with its usage in the log and the person's rating."""
    found = outline(document.body)
    key = state_key(document)
    ended = RETIRED_STATES if key == "state" else RETIRED_LESSONS
    status = "retired" if key and lower_word(document.frontmatter.get(key)) in ended else "active"
    created, created_from = _created(document)
    extra = _extra(document)
    if found.headings:
        extra["headings"] = list(found.headings)
    extra["created_from"] = created_from
    if document_type.ignored:
        extra["ignored_type"] = document_type.ignored
    if injections:
        extra["injections"] = dict(injections)
    heading = "" if found.title.lower() in TEMPLATE_HEADINGS else found.title
    return Memory(
        **document_fields(document, label),
        kind="document",
        type=document_type.type,
        title=document.name or heading or posixpath.basename(document.path).removesuffix(".md"),
        entity=posixpath.dirname(document.path),
        created=created,
        updated=_updated(document),
        importance=_importance(document, status, rating),
        status=status,
        tags=words_of(document.frontmatter.get("tags")),
        links=tuple(
            Link(relation, target)
            for relation, target in linked_documents(found, document.path, by_stem)
        ),
        extra=extra,
    )


def state_key(document: MarkdownFile) -> str:
    """The frontmatter key of the document's state; "" if it can have none."""
    if TASKS in document.folders:
        return "state"
    return "status" if LESSONS in document.folders else ""


def _importance(document: MarkdownFile, status: str, rating: object) -> str:
    priority = PRIORITIES.get(lower_word(document.frontmatter.get("priority")))
    stated = priority or importance_of_rating(rating)
    if stated:
        return stated
    if document.path in workspace.CORE:
        return "high"
    if status == "retired" or not ARCHIVES.isdisjoint(document.folders):
        return "low"
    return "medium"


def _created(document: MarkdownFile) -> tuple[datetime | None, str]:
    time, key = document.time(CREATED_KEYS)
    if time:
        return time, f"frontmatter {key}"
    time = date_in_path(document.path)
    return (time, "file name") if time else (document.changed, "file time")


def _updated(document: MarkdownFile) -> datetime | None:
    is_dated = date_in_path(document.path) is not None
    return document.time(UPDATED_KEYS)[0] or (None if is_dated else document.changed)


def _extra(document: MarkdownFile) -> dict[str, Any]:
    """The frontmatter, without values that a field of the memory shows unchanged."""
    extra = {
        f"{FRONTMATTER}{key}" if key in _OWN_KEYS else str(key): to_json_value(value)
        for key, value in document.frontmatter.items()
        if not _is_shown(key, value)
    }
    return extra | document.byte_form


def _is_shown(key: str, value: object) -> bool:
    """Whether a field of the memory shows this value of the frontmatter unchanged."""
    if key == "title":
        return isinstance(value, str)
    is_list = isinstance(value, list) and all(isinstance(tag, str) for tag in value)
    return key == "tags" and is_list


# ---- imports -------------------------------------------------------------------------------------

_WRITTEN_ELSEWHERE = frozenset(
    {"headings", "created_from", "injections", "ignored_type", "line_endings", "byte_order_mark"}
    | {"title"}
)
"""Keys of `extra` that are not in the frontmatter, or are stored in another field."""


def _imported_front(change: Change, now: datetime) -> dict[str, Any]:
    """The frontmatter: the original keys, else those made of another format's fields."""
    front = {
        str(key).removeprefix(FRONTMATTER): value
        for key, value in native_keys(change, _WRITTEN_ELSEWHERE).items()
        if _is_frontmatter_value(value)
    }
    fields = change.fields
    if fields.get("created") and not {"created", "date"} & front.keys():
        created = created_of(change, now)
        if str(extra_in(change).get("created_from", "file time")) == "file time":
            front["created"] = to_iso_seconds(created)
    updated = fields.get("updated")
    if updated is not None and "updated" not in front and "created_from" in extra_in(change):
        changed = from_iso(updated) if isinstance(updated, str) else updated
        if changed is not None:
            front["updated"] = to_iso_seconds(changed)
    importance = str(fields.get("importance") or "")
    if importance in ("high", "low") and "priority" not in front:
        front["priority"] = importance
    tags = [tag for tag in texts_in(change, "tags") if tag.strip()]
    if tags and "tags" not in front:
        front["tags"] = tags
    return front


def _is_frontmatter_value(value: object) -> bool:
    if isinstance(value, list):
        return all(isinstance(item, str) for item in value)
    return isinstance(value, str | bool | int | float)


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory to a document; see `converted_document`."""
    folder, id, front = converted_document(memory)
    if memory.type:
        front["type"] = memory.type
    fields = {
        "id": id,
        "content": memory.content or memory.headline,
        "title": memory.title,
        "entity": folder,
        "created": memory.created,
        "importance": memory.importance,
        "tags": memory.tags,
        "extra": front,
    }
    is_archived = memory.status not in CURRENT
    changes = (
        (memory.type, "type (stands in the frontmatter)"),
        (memory.status != "active", f"status {memory.status} (stands in the frontmatter)"),
        kind_change(memory, "document"),
        (memory.entity not in ("", folder), "entity (becomes a folder)"),
        (is_archived and memory.importance == "medium", "importance (low below archive)"),
    )
    return converted(memory, fields, changes, held=("updated",))


# ---- acts ----------------------------------------------------------------------------------------

RETIRED_WORD = {"state": "cancelled", "status": "archived"}
"""What RETIRE writes: a task is not said to be done, a lesson goes to the archive."""

RESTORED_WORD = {"state": "backlog", "status": "active"}
"""What RESTORE writes: the task state that claims least (gptodo revives expired tasks to it)."""


def _not_on(act: Act, memory: Memory) -> str:
    if is_kept(memory):
        return "it is a former text that only memtui keeps"
    if act in (Act.RETIRE, Act.RESTORE):
        folders = memory.id.split("/")[:-1]
        if TASKS not in folders and LESSONS not in folders:
            return "its program heeds a state in tasks and lessons only: delete it instead"
        if (memory.status == "retired") == (act is Act.RETIRE):
            return "it is so already"
    return ""


def _with_state(page: OpenDocument, words_of: Mapping[str, str]) -> tuple[Edit, ...]:
    """The edit that sets the state of a task or a lesson. Raises Refused."""
    key = state_key(page.document)
    if not key or not page.has_frontmatter:
        raise Refused("only tasks and lessons with frontmatter have a state", where=page.memory.ref)
    return page.text_edits(page.with_field(key, words_of[key]).text)


def _retire(change: Change, memory: Memory, context: document_store.DocumentContext) -> Plan:
    edits = _with_state(open_document(memory, context), RETIRED_WORD)
    return plan_one(change, memory, edits, ends=True)


def _restore(change: Change, memory: Memory, context: document_store.DocumentContext) -> Plan:
    return plan_one(change, memory, _with_state(open_document(memory, context), RESTORED_WORD))


def _add(change: Change, context: document_store.DocumentContext) -> Plan:
    assert isinstance(context.store, WorkspaceStore)
    store, plan = context.store, document_store.plan_add(change, context)
    path, new_type = plan.refs[0].removeprefix(f"{context.label}:"), change.fields.get("type")
    if not new_type or store.types.value.by_path(path).type == new_type:
        return plan
    return replace(plan, edits=(*plan.edits, *store.entry_edits(path, str(new_type))))


def _front(change: Change, folder: str, now: datetime) -> dict[str, Any]:
    """The frontmatter: always some in a task, in another document only where needed."""
    fields: dict[str, Any] = {}
    importance = change.fields.get("importance")
    if importance:
        checked_importance(importance)
    if folder.split("/")[0] == TASKS:
        fields["state"] = NEW_TASK_STATE
        fields["created"] = to_iso_seconds(created_of(change, now))
    elif change.fields.get("created"):
        fields["date"] = to_iso_seconds(created_of(change, now))
    if importance and (fields.get("state") or importance != "medium"):
        fields["priority"] = importance
    tags = [tag for tag in texts_in(change, "tags") if tag.strip()]
    if tags:
        fields["tags"] = tags
    return fields


# ---- the store -----------------------------------------------------------------------------------


class _SharedFiles(Struct, frozen=True):
    """Files that say something about documents (types, usage), as one scan found them."""

    types: ParsedFile[TypeMap]
    log: ParsedFile[InjectionLog]
    sidecar: Sidecar


LOADED = f"the files that {workspace.PROMPT_FILE} puts into the prompt, else the core documents"
JOURNAL = "journal"
NEW_TASK_STATE = "backlog"


class WorkspaceStore(document_store.DocumentStore):
    """One workspace."""

    format = "workspace"
    acts = ActionSupport(
        editable=document_store.EDITABLE,
        add=_add,
        add_imported=document_store.plan_import,
        handlers={
            Act.EDIT: document_store.plan_edit,
            Act.RETYPE: document_store.plan_edit,
            Act.TAG: document_store.plan_edit,
            Act.RETIRE: _retire,
            Act.RESTORE: _restore,
            Act.DELETE: document_store.plan_delete,
        },
        unsupported={
            Act.SUPERSEDE: "a document is edited; git keeps the former text",
            Act.MERGE: "documents are edited, not merged",
        },
        shard_of=lambda memory: memory.id,
        not_on=_not_on,
    )

    def __init__(self, root: Path, label: str, now: Callable[[], datetime] = utc_now) -> None:
        super().__init__(root, label, now)
        self._map = CachedFile(root / MAP_PATH, root, rules.parse_type_map, rules.NO_TYPES)
        self._log = CachedFile(root / LOG_PATH, root, workspace.parse_log, workspace.NO_LOG)
        self._shared: _SharedFiles | None = None
        self._marked_by: ParsedFile[TypeMap] | None = None
        self._marks: dict[str, str] = {}

    @property
    def types(self) -> ParsedFile[TypeMap]:
        """The type map as it is now."""
        return self._map.current()

    def take_rules(self, other: WorkspaceStore) -> None:
        """Use the type map of this other workspace; for a copy of some of its documents."""
        self._map = other._map

    def entry_edits(self, entry: str, new_type: str) -> tuple[Edit, ...]:
        """The edits that give a path or a pattern this type. Raises Refused."""
        return entry_edits(entry, new_type, self.types, self._map.path, self.root)

    def plan(self, change: Change, view: StoreView) -> Plan:
        """The exact edits of a change; a RETYPE may be of every document that fits a pattern."""
        if change.act is not Act.RETYPE or not change.fields.get("pattern"):
            return super().plan(change, view)
        why = self.refusal(change.act, None)
        if why:
            raise Refused(why, where=str(self.root))
        return self._retype_by_pattern(change, self.plan_context(view))

    def _retype_by_pattern(self, change: Change, context: document_store.DocumentContext) -> Plan:
        """A type for every document that matches a pattern; the warnings name each."""
        pattern, new_type = str(change.fields["pattern"]), str(change.fields.get("type") or "")
        edits = self.entry_edits(pattern, new_type)
        types = with_entry(self.types.value, pattern, new_type)
        changed = type_changes(types, context.view.memories(context.label))
        count = len(changed)
        return Plan(
            changes=(change,),
            edits=edits,
            outcome=Outcome.DONE if edits else Outcome.NOTHING,
            reason=f"{pattern} would change the type of {count} document{'s' * (count != 1)}",
            refs=tuple(context.ref(path) for path, _, _ in changed),
            warnings=describe_type_changes(changed),
        )

    # ---- reading --------------------------------------------------------------------------------

    def _read_shared_files(self) -> _SharedFiles:
        now = _SharedFiles(self._map.current(), self._log.current(), self.sidecar.current())
        self._shared = now
        return now

    def store_faults(self) -> Iterator[Unreadable]:
        shared = self._read_shared_files()
        types, log = shared.types, shared.log
        for fault in [types.fault] if types.fault else types.value.faults:
            yield Unreadable(str(self._map.path), fault)
        log_fault = log.fault or log.value.fault
        if log_fault:
            yield Unreadable(str(self._log.path), log_fault)

    def marks(self, paths: Sequence[str]) -> Callable[[str], str]:  # noqa: ARG002
        """The types that the map gives to each path are computed once for each version of it."""
        shared = self._shared or self._read_shared_files()
        if self._marked_by is not shared.types:
            self._marked_by, self._marks = shared.types, {}
        known, usage = self._marks, shared.log.value.usage

        def mark(path: str) -> str:
            type_mark = known.get(path)
            if type_mark is None:
                type_mark = known[path] = _type_mark(shared.types, path)
            return f"{type_mark}|{_usage_mark(usage.get(path))}"

        return mark

    def sidecar_read(self) -> Sidecar:
        """As of the last scan: one look at it is enough for 33,000 documents."""
        return (self._shared or self._read_shared_files()).sidecar

    def names_of(self, path: str) -> tuple[str]:
        return (path.rpartition("/")[2].removesuffix(SUFFIX),)

    def memories(self, document: MarkdownFile, sidecar: Sidecar) -> Iterator[Memory]:
        shared = self._shared or self._read_shared_files()
        usage = shared.log.value.usage.get(document.path)
        yield memory_of(
            document,
            shared.types.value.of(document.path, document.frontmatter),
            label=self.label,
            by_stem=self.find,
            injections=asdict(usage) if usage else None,
            rating=sidecar.entry(document.path).get("rating"),
        )

    def read_time(self, path: str) -> ReadTime:
        """The prompt's files are read when a session starts; the others, and their types, are found
        by an index that is built from time to time (formats page of the workspace, 4.2, 6)."""
        in_prompt = path in workspace.prompt_files(self.root)
        return ReadTime.NEXT_SESSION if in_prompt else ReadTime.INDEXED

    def session_start(self, view: StoreView, entity: str, now: datetime) -> Sequence[LoadedText]:  # noqa: ARG002
        """The core documents, whole, in the order that the prompt has them."""
        found = []
        for path in workspace.prompt_files(self.root):
            with suppress(RefError):
                found.append(loaded_whole(view.get(f"{self.label}:{path}"), LOADED))
        return tuple(found)

    # ---- changing -------------------------------------------------------------------------------

    def with_title(self, page: OpenDocument, title: str) -> OpenDocument:
        found = with_named_title(page, title)
        if found is not None:
            return found
        if outline(page.document.body).title == page.memory.title:
            return with_heading(page, title)
        if page.has_frontmatter:
            return page.with_field("title", title)
        raise Refused("the title is the file's name", do="write a heading into the text")

    def with_type(self, page: OpenDocument, type: str) -> tuple[OpenDocument, Sequence[Edit]]:
        memory, types = page.memory, self.types.value
        if not type and with_entry(types, memory.id, "").by_path(memory.id).type:
            pattern = next(
                p for p, word in types.patterns if matches(p, memory.id) and word in TYPES
            )
            raise Refused(
                "a pattern of the type map gives this type",
                where=memory.ref,
                do=f"change the type of the pattern {pattern}",
            )
        if not type and memory.id not in types.exact:
            raise Refused("the task rules of the type map give this type", where=memory.ref)
        return page, self.entry_edits(memory.id, type)

    def with_importance(self, page: OpenDocument, importance: str) -> OpenDocument | None:
        in_task = TASKS in page.document.folders and page.has_frontmatter
        if in_task or "priority" in page.document.frontmatter:
            return page.with_field("priority", importance)
        return None

    def stem_of(self, change: Change, folder: str, stem: str, now: datetime) -> str:
        is_entry = folder.split("/")[0] == JOURNAL
        return f"{created_of(change, now).date().isoformat()}-{stem}" if is_entry else stem

    def new_text(self, change: Change, path: str, title: str, now: datetime) -> str:
        text = titled_text(title, content_of(change))
        return with_fields(text, _front(change, posixpath.dirname(path), now))

    def imported_text(self, change: Change, path: str, now: datetime) -> str:  # noqa: ARG002
        title = "" if "created_from" in extra_in(change) else str(change.fields.get("title") or "")
        return with_fields(titled_text(title, content_of(change)), _imported_front(change, now))

    def imported_values(self, change: Change) -> dict[str, Any]:
        was_document = "created_from" in extra_in(change)
        cleared = dict.fromkeys(("tags", "supersedes", "superseded_by"))
        return sidecar_values(change, links=links_in(change) if was_document else ()) | cleared


def _type_mark(types: ParsedFile[TypeMap], path: str) -> str:
    if path.startswith(rules.TASKS_FOLDER):
        return types.digest
    found = types.value.by_path(path)
    return f"{found.type} {found.ignored}" if found.type or found.ignored else ""


def _usage_mark(usage: DocumentUsage | None) -> str:
    return f"{usage.found} {usage.injected} {usage.last}" if usage else ""


SUPPORT = FormatSupport(
    WorkspaceStore,
    transfer=TransferSupport(
        belongings=(MAP_PATH, LOG_PATH, "gptme.toml"),
        convert=convert,
    ),
)
