"""One Ambient memory folder as a store: its projects, plans of every act, adding and importing.

New events are written as Ambient's daemon writes them. A new decision supersedes the one it is most
like, in each file that it is written to by itself. A copy in any other file stays and stays active,
as with Ambient; a decision that no file holds any more is kept by memtui.

Ambient knows editing the text and deleting. Type and importance can be changed in the files too.
Retiring and superseding remove the event as Ambient would, and memtui keeps it.

Imported events go into the project and the branches they were in, each copy with what it alone
said, and supersede nothing: Ambient's own import can delete decisions that are there, this one
cannot. What only memtui kept stays with memtui.

The block of a project's and a branch's events for a prompt is built as `formatMemoryForPrompt` does
(src/memory/store.ts:197-227): the last events of project.json that are not low, then the last of
the branch, in the order of the files. A file that was idle for 90 days counts as absent. Times are
shown in the zone of `now`, as JavaScript does in the local one.
"""

from __future__ import annotations

import os
import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from memtui.changes import Act, Change, Edit, Kind, Outcome, Plan, text_edit
from memtui.errors import Refused
from memtui.files.reading import file_stamp, safe_join
from memtui.model import Memory
from memtui.stores import ambient, importing, listed_texts, plans
from memtui.stores.ambient.records import (
    ARCHIVED_TAG,
    SHORT_KEY,
    EventContext,
    EventCopy,
    EventFile,
    EventRules,
    Project,
    ProjectFiles,
    events,
    fit_content,
    insert_into,
    key_of,
    last_active_edits,
    new_branch_file,
    new_project_file,
    reactivation_warnings,
    read_legacy,
    read_project,
    retire_event,
    shard_of,
    task_key,
)
from memtui.stores.base import (
    LoadedBlock,
    LoadedText,
    Reading,
    ReadTime,
    Shard,
    StoreView,
    Unreadable,
    WriteRecorder,
)
from memtui.stores.file_store import FileStore
from memtui.stores.format import (
    Compaction,
    ConvertedMemory,
    Expiry,
    FormatSupport,
    TransferSupport,
    UpkeepRules,
)
from memtui.stores.json_file import NamedRecord, with_members
from memtui.stores.scanning import FoundShard, LastRead
from memtui.stores.sidecar import Sidecar, is_kept, kept_value
from memtui.stores.values import (
    UNADDRESSABLE,
    changed_values,
    check_unchanged,
    content_of,
    created_of,
    from_milliseconds,
    importance_of,
    is_number,
    list_of,
    text_of,
    to_milliseconds,
    utc_now,
    word_of,
)

DECISION = "decision"
_NO_KEYWORD = re.compile(r"[^a-z0-9\s-]")


def keywords(text: str, rules: EventRules) -> frozenset[str]:
    """The set of words that similarity compares."""
    plain = _NO_KEYWORD.sub(" ", text.lower())
    return frozenset(
        word
        for word in plain.split()
        if len(word) >= rules.shortest_word and word not in rules.stop_words
    )


def overlap(first: frozenset[str], second: frozenset[str]) -> float:
    """Jaccard of two keyword sets; 0 when either is empty."""
    return len(first & second) / len(first | second) if first and second else 0.0


def find_superseded(
    content: str, events: Iterable[tuple[str, Mapping[str, Any]]], rules: EventRules
) -> tuple[str, float] | None:
    """The id of the decision in one file that the text would replace, and their similarity.

    Keywords are compared by Jaccard, and the best match over the limit goes (src/memory/store.ts).
    The document beside the program says that "use" and "for" count; they are stop words.
    """
    new_keywords = keywords(content, rules)
    if len(new_keywords) < rules.fewest:
        return None
    closest: tuple[str, float] | None = None
    for id, value in events:
        if value.get("type") != DECISION or not isinstance(value.get("content"), str):
            continue
        score = overlap(new_keywords, keywords(value["content"], rules))
        if score > rules.overlap and (closest is None or score > closest[1]):
            closest = (id, score)
    return closest


class EventTarget(Struct, frozen=True):
    """The project and branch that a new event goes to."""

    files: ProjectFiles
    branch: str
    """Empty: the project as a whole."""
    new_name: str = ""
    """Name of a project that does not exist yet."""


def _named_project(entity: str, keys: Mapping[str, str]) -> tuple[str, str] | None:
    """The key of the project that an entity begins with, and the branch after it."""
    found: list[tuple[str, str, str]] = []
    for key, name in keys.items():
        for word in {name, key}:
            if entity == word or entity.startswith(f"{word}/"):
                found.append((word, key, entity[len(word) + 1 :]))
    if not found:
        return None
    longest = max(len(word) for word, _, _ in found)
    longest_matches = {key: branch for word, key, branch in found if len(word) == longest}
    if len(longest_matches) > 1:
        raise Refused(
            f"{len(longest_matches)} projects have this name",
            where=entity,
            do=f"name one by its key: {', '.join(sorted(longest_matches))}",
        )
    return next(iter(longest_matches.items()))


def target_of(entity: str, context: EventContext) -> EventTarget:
    """Find the place that an entity such as `shop-api/feat/auth` names. Raises Refused."""
    entity = entity.strip().strip("/")
    if not entity or not entity.isprintable():
        raise Refused("an event belongs to a project", do="for example: shop-api/main")
    found = _named_project(entity, context.store.project_names())
    if found is not None:
        return EventTarget(context.open(found[0]), found[1])
    name, _, branch = entity.partition("/")
    return EventTarget(context.open(ambient.key_of_name(name)), branch, new_name=name)


def new_event(change: Change, content: str, context: EventContext) -> dict[str, Any]:
    """Build the record of a new event, keys in Ambient's order.

    Type and importance default to what `r remember` gives: a decision, high.
    """
    event = {
        "id": str(uuid.uuid4()),
        "type": word_of(change, "type", DECISION),
        "timestamp": to_milliseconds(created_of(change, context.now)),
        "content": content,
        "importance": importance_of(change, "high"),
    }
    source = word_of(change, "source", "")
    return {**event, "metadata": {"source": source}} if source else event


def _branch_of(target: EventTarget, high: bool) -> str:
    """The branch to write to; empty only for a high event of the whole project."""
    live = [file.branch for file in target.files.project.branches]
    own = target.files.own is not None or bool(target.new_name)
    if target.branch or (high and own):
        return target.branch
    if len(live) == 1:
        return live[0]
    names = ", ".join(sorted(live)) or "main"
    raise Refused("only high events belong to a whole project", do=f"name a branch: {names}")


def _destination(
    target: EventTarget, event: Mapping[str, Any], now: int
) -> tuple[list[EventFile], list[Edit], list[str]]:
    """The files that take the new event, the edits that create missing ones, and warnings."""
    files, high = target.files, event["importance"] == "high"
    branch = _branch_of(target, high)
    existing: list[EventFile] = []
    edits: list[Edit] = []
    warnings: list[str] = []
    if high and files.own is not None:
        existing.append(files.own)
    elif target.new_name:
        first = event if high else None
        edits += new_project_file(files, target.new_name, target.new_name, first, now)
        warnings.append(_UNKNOWN_PROJECT)
    elif high and not os.path.lexists(files.folder / ambient.PROJECT):
        warnings.append(_NO_PROJECT_FILE)
    if branch:
        file = next((file for file in files.project.branches if file.branch == branch), None)
        if file is None:
            edits += new_branch_file(files, branch, event, now)
        else:
            existing.append(file)
    return existing, edits, warnings


_UNKNOWN_PROJECT = (
    "this project is new to Ambient: it will read it only where git's remote, or the folder, "
    "has exactly this name"
)
_NO_PROJECT_FILE = "the project has no project.json: written to the branch only"


class ReplacedDecision(Struct, frozen=True):
    """A decision that the new one supersedes in some or all of the files that hold it."""

    id: str
    score: float
    removed: tuple[EventCopy, ...]
    remaining: tuple[EventCopy, ...]
    """Its copies in files that the new event is not written to, or that have a better match."""


def _file_names(copies: Iterable[EventCopy]) -> str:
    return ", ".join(copy.where.file.path.name for copy in copies)


def _replaced(
    content: str, into: Iterable[EventFile], files: ProjectFiles, rules: EventRules
) -> list[ReplacedDecision]:
    """The decisions that a new one supersedes: the best match in each file it goes into."""
    scores: dict[str, float] = {}
    leaving: dict[str, list[EventFile]] = {}
    for file in into:
        count = Counter(named.id for named in file.records)
        alone = [named for named in file.records if count[named.id] == 1 and not named.fault]
        closest = find_superseded(content, ((named.id, named.value) for named in alone), rules)
        if closest is not None:
            scores.setdefault(*closest)
            leaving.setdefault(closest[0], []).append(file)
    found = []
    for id, score in scores.items():
        paths = {file.file.path for file in leaving[id]}
        copies = files.copies(id)
        removed = tuple(copy for copy in copies if copy.where.file.path in paths)
        remaining = tuple(copy for copy in copies if copy.where.file.path not in paths)
        found.append(ReplacedDecision(id, score, removed, remaining))
    return found


def plan_add(change: Change, context: EventContext) -> Plan:
    """Plan the addition of an event. Raises Refused."""
    content, cut = fit_content(content_of(change), context.store.rules, change.force)
    target = target_of(word_of(change, "entity", ""), context)
    files, rules = target.files, context.store.rules
    event = new_event(change, content, context)
    existing, making, warnings = _destination(target, event, context.milliseconds)
    into = existing if event["type"] == DECISION else ()
    old = _replaced(content, into, files, rules)
    gone = [each for each in old if not each.remaining]
    path = "/".join(filter(None, (target.new_name or files.project.path, target.branch)))
    reasons = [f"Added {event['id']} to {path}"]
    stays: list[str] = []
    edits: list[Edit] = []
    for each in old:
        where = f" in {_file_names(each.removed)}" if each.remaining else ""
        reasons.append(f"{each.score:.2f} similar to {each.id}, which it replaces{where}")
        if each.remaining:
            edits += (copy.set(None) for copy in each.removed)
            stays.append(f"{each.id} stays active: {_file_names(each.remaining)} still holds it")
        else:
            edits += retire_event(context, files, each.id, "superseded", (event["id"],))
    for file in existing:
        edits += insert_into(file, event)
    edits += making
    edits += last_active_edits(existing, context.milliseconds)
    edits += context.entry_edits(
        event["id"],
        files.shard,
        supersedes=[each.id for each in gone],
        tags=importing.texts_in(change, "tags"),
        pinned=change.fields.get("pinned") is True,
    )
    warnings = [*([cut] if cut else []), *stays, *warnings]
    warnings += reactivation_warnings(existing, context.now)
    for file in existing:
        limit = rules.project_limit if file.is_project else rules.task_limit
        if len(file.file.records) >= limit:
            warnings.append(
                f"{file.file.path.name} holds {limit} events: Ambient drops the oldest that is not "
                "high when it next writes"
            )
    return Plan(
        changes=(change,),
        edits=tuple(edits),
        outcome=Outcome.SUPERSEDED if gone else Outcome.ADDED,
        reason="; ".join(reasons),
        refs=(context.ref(event["id"]), *(context.ref(each.id) for each in old)),
        supersedes=tuple(context.ref(each.id) for each in gone),
        warnings=(*warnings, *files.warnings),
    )


COMPACTION = Compaction(
    limits=(("project", 40), ("branch", 80)), batch=0.8, source="Ambient, memory guide, Compaction"
)
"""The guide's limits; the program's own are 150 and 400 (src/memory/compact.ts:10-98), of which it
summarises the oldest 120 and 300: 0.8 and 0.75 of the limit."""
EXPIRY = Expiry(days=90, archived_days=7, source="Ambient, memory guide, TTL")


def upkeep_rules(rules: EventRules) -> UpkeepRules:
    """The rules for tidying events."""
    words = lru_cache(maxsize=4096)(partial(keywords, rules=rules))

    def replaces(older: Memory, newer: Memory) -> str:
        if older.type != DECISION or newer.type != DECISION:
            return ""
        newer_words = words(newer.content)
        score = overlap(newer_words, words(older.content))
        if len(newer_words) < rules.fewest or score <= rules.overlap:
            return ""
        return f"{score:.0%} of the keywords of two decisions are the same"

    return UpkeepRules(
        is_replaceable=lambda memory: memory.type == DECISION,
        replaces=replaces,
        replacement_source="Ambient, src/memory/store.ts:277-305",
        compaction=COMPACTION,
        expiry=EXPIRY,
    )


_WRITTEN_ELSEWHERE = frozenset(
    {"id", "type", "timestamp", "content", "importance", "metadata"}
    | {"projectKey", "remote", "branches", "archived", "differs", "expires", "expired"}
    | {"legacy", "directory"}
)
"""Keys of `extra` that are stored under another key of the event, or nowhere."""


def plan_import(change: Change, context: EventContext) -> Plan:
    """Plan the import of one event. Raises Refused."""
    extra, fields, id = importing.extra_in(change), change.fields, str(change.fields["id"])
    entity = word_of(change, "entity", "").strip("/")
    if not entity or not entity.isprintable():
        raise Refused("an event belongs to a project", do="for example: shop-api/main")
    name, _, branch = entity.partition("/")
    files = context.open(_key(name, extra, context))
    if context.sidecar.entry(id).get("kept") or id in files.by_id:
        return plans.plan_duplicate(change, "an event with this id")
    archived = bool(extra.get("archived"))
    values = importing.sidecar_values(change, tags=(ARCHIVED_TAG,) if archived else ())
    values["superseded_by"] = None
    edits: list[Edit] = []
    if fields.get("status") in ("superseded", "retired", "deleted"):  # only memtui held it
        memory = importing.described_memory(change, context.ref(id), "event", content_of(change))
        created, importance = created_of(change, context.now), importance_of(change, "medium")
        memory = replace(memory, entity=entity, created=created, importance=importance)
        values["kept"] = kept_value(memory)
    else:
        held = extra.get("branches")
        branches = list(map(str, filter(None, held))) if isinstance(held, list) else [branch]
        edits += _into_project(change, context, files, name, in_project=not branch)
        for each in filter(None, branches):
            edits += _into_branch(change, context, files, each)
    edits += context.entry_edits(id, files.shard, **values)
    refs = (context.ref(id),)
    return Plan((change,), tuple(edits), Outcome.ADDED, refs=refs, warnings=files.warnings)


def _event_record(change: Change, context: EventContext, path: Path) -> dict[str, Any]:
    """The record of an imported event, keys in Ambient's order, as its copy in this file was."""
    extra = importing.extra_in(change)
    written, native = extra.get("timestamp"), extra.get("importance")
    created = to_milliseconds(created_of(change, context.now))
    event: dict[str, Any] = {
        "id": str(change.fields["id"]),
        "type": str(change.fields.get("type") or ""),
        "timestamp": written if is_number(written) else created,
        "content": content_of(change),
        "importance": native if isinstance(native, str) else importance_of(change, "medium"),
    }
    source = str(change.fields.get("source") or "")
    if metadata := extra.get("metadata") or ({"source": source} if source else None):
        event["metadata"] = metadata
    event |= importing.native_keys(change, _WRITTEN_ELSEWHERE)
    for copy in list_of(extra.get("differs")):
        file = copy.get("file") if isinstance(copy, dict) else None
        if isinstance(file, str) and Path(file).parts[-2:] == path.parts[-2:]:
            own = {key: value for key, value in copy.items() if key != "file"}
            return {
                k: v
                for k, v in {**event, **own}.items()
                if own.get(k, v) is not None or k not in own
            }
    return event


def _key(name: str, extra: Mapping[str, Any], context: EventContext) -> str:
    """The key of the project: the original one, else that of the same name, else a new one."""
    stated = extra.get("projectKey")
    if isinstance(stated, str) and ambient.PROJECT_KEY.fullmatch(stated):
        return stated
    known = (key for key, known in context.store.project_names().items() if name in (key, known))
    return next(known, "") or ambient.key_of_name(name)


def _into_branch(
    change: Change, context: EventContext, files: ProjectFiles, branch: str
) -> Iterable[Edit]:
    archived = importing.extra_in(change).get("archived") is True
    folder = ambient.ARCHIVED if archived else ambient.TASKS
    path = safe_join(files.folder / folder, f"{task_key(branch)}.json")
    record = _event_record(change, context, path)
    for file in files.project.files:
        if file.file.path == path:
            return insert_into(file, record)
    return new_branch_file(files, branch, record, context.milliseconds, archived=archived)


def _into_project(
    change: Change, context: EventContext, files: ProjectFiles, name: str, *, in_project: bool
) -> Iterable[Edit]:
    """Write to project.json if it held the event; else create one, for the name of a new project
    whose events all lie in branches."""
    path = safe_join(files.folder, ambient.PROJECT)
    event = _event_record(change, context, path) if in_project else None
    if event is not None and files.own is not None:
        return insert_into(files.own, event)
    unnamed = name == files.folder.name[:SHORT_KEY]
    if event is None and (unnamed or files.project.files or os.path.lexists(path)):
        return ()
    remote = str(importing.extra_in(change).get("remote") or name)
    return new_project_file(files, name, remote, event, context.milliseconds)


EVENT_TYPES = ("decision", "error-resolution", "task-update", "file-context", "session-summary")
_TYPE_OF = {
    "architecture": "decision",
    "bugfix": "error-resolution",
    "goal": "decision",
    "policy": "decision",
    "preference": "decision",
    "session": "session-summary",
    "session_summary": "session-summary",
    "summary": "session-summary",
    "value": "decision",
}
"""Words of other stores; what is not here becomes a task-update."""
DEFAULT_BRANCH = "main"


def type_of(word: str) -> str:
    """The type of Ambient's five that stands for another store's word."""
    return word if word in EVENT_TYPES else _TYPE_OF.get(word, "task-update")


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory to an event: entity `project/branch`, from the entity's parts."""
    parts = importing.entity_parts(memory)
    branch = "/".join(parts[1:]) or DEFAULT_BRANCH
    high = memory.importance == "high"
    content, cut = fit_content(
        importing.text_with_title(memory) or memory.headline, EventRules(), True
    )
    origin_values = {"source": memory.ref, "entity": memory.entity, "type": memory.type}
    fields = {
        "id": importing.uuid_of(memory.store, memory.id),
        "content": content,
        "type": type_of(memory.type),
        "importance": memory.importance,
        "entity": parts[0] if high else f"{parts[0]}/{branch}",
        "created": memory.created or memory.updated,
        "status": "active" if memory.status == "proposed" else memory.status,
        "source": memory.ref,
        "tags": memory.tags,
        "pinned": memory.pinned,
        "supersedes": importing.converted_ids(memory, memory.supersedes),
        "superseded_by": importing.converted_ids(memory, memory.superseded_by),
        "links": importing.converted_links(memory),
        "extra": {
            "branches": [branch],
            "metadata": {key: value for key, value in origin_values.items() if value},
        },
    }
    changes = (
        (cut, f"content ({cut})"),
        importing.kind_change(memory, "event"),
        (memory.entity not in ("", fields["entity"]), "entity (becomes project/branch)"),
        (memory.type not in ("", fields["type"]), f"type (becomes {fields['type']})"),
        (memory.status == "proposed", "status proposed (becomes active)"),
    )
    return ConvertedMemory(
        fields, importing.lost_names(memory, changes, "updated", "confidence", "source")
    )


EDITABLE = frozenset({"content", "type", "importance", "tags"})


def _not_on(act: Act, memory: Memory) -> str:
    fault = memory.extra.get(UNADDRESSABLE)
    if fault:
        return f"it cannot be changed: {fault}"
    if why := listed_texts.not_on(act, memory, "Ambient"):
        return why
    if act is Act.ARCHIVE and not ("/" in memory.entity or memory.also_entities):
        return "it is on no branch"
    if act is Act.ARCHIVE and memory.extra.get("archived"):
        return "its branch is archived already"
    return ""


def _native_tags(memory: Memory) -> tuple[str, ...]:
    return (ARCHIVED_TAG,) if memory.extra.get("archived") else ()


def _unchanged_copies(
    memory: Memory, files: ProjectFiles, new_text: str | None = None
) -> list[EventCopy]:
    copies = files.copies(memory.id)
    now = text_of(copies[0].named.value.get("content"))
    check_unchanged(memory, now, str(copies[0].where.file.path), new_text)
    return copies


def _set_keys(
    copies: list[EventCopy], values: Mapping[str, Any]
) -> tuple[tuple[Edit, ...], list[EventFile]]:
    """The edits that set these keys in every copy, and the files they change."""
    copy_edits = [(copy.where, copy.where.file.put(copy.named, values)) for copy in copies]
    edits = tuple(edit for _, found in copy_edits for edit in found)
    return edits, [where for where, found in copy_edits if found]


def _edit(change: Change, memory: Memory, context: EventContext) -> Plan:
    changed = changed_values(change, memory, EDITABLE)
    files = context.open(key_of(memory))
    values: dict[str, str] = {}
    cut = ""
    if "content" in changed:
        values["content"], cut = fit_content(content_of(change), context.store.rules, change.force)
    if "type" in changed:
        values["type"] = word_of(change, "type", "")
    if "importance" in changed:
        values["importance"] = importance_of(change, "")
    edits: tuple[Edit, ...] = ()
    warnings = ((cut,) if cut else ()) + files.warnings
    if values:
        copies = _unchanged_copies(memory, files, values.get("content"))
        edits, holding = _set_keys(copies, values)
        raised, own = values.get("importance") == "high" != memory.importance, files.own
        if raised and own is not None and not any(copy.where is own for copy in copies):
            # An event that becomes high is written to project.json too, as on an add.
            edits += insert_into(own, {**copies[0].named.value, **values})
            holding.append(own)
        edits += last_active_edits(holding, context.milliseconds)
        warnings += reactivation_warnings(holding, context.now)
    if "tags" in changed:
        edits += plans.tag_edits(
            context.sidecar_entry(memory), changed["tags"], _native_tags(memory)
        )
    return plans.plan_one(change, memory, edits, warnings if edits else ())


def _delete(change: Change, memory: Memory, context: EventContext) -> Plan:
    forgotten = context.sidecar_entry(memory).removal()
    if is_kept(memory):
        return plans.plan_one(change, memory, forgotten)
    files = context.open(key_of(memory))
    removals = tuple(copy.set(None) for copy in _unchanged_copies(memory, files))
    return plans.plan_one(change, memory, (*removals, *forgotten), files.warnings)


def _retire(change: Change, memory: Memory, context: EventContext) -> Plan:
    files = context.open(key_of(memory))
    _unchanged_copies(memory, files)
    return Plan(
        changes=(change,),
        edits=retire_event(context, files, memory.id, "retired"),
        reason="removed from Ambient's files, kept by memtui",
        refs=(memory.ref,),
        supersedes=(memory.ref,),
        warnings=files.warnings,
    )


def _restore(change: Change, memory: Memory, context: EventContext) -> Plan:
    edits = restore_event(context, context.open(key_of(memory)), memory.id)
    return plans.plan_one(change, memory, edits, plans.successor_warnings(memory))


def restore_event(context: EventContext, files: ProjectFiles, id: str) -> tuple[Edit, ...]:
    """Put a retired event back into the files that held it, where they still exist.

    Raises Refused when none of them does.
    """
    present = {str(file.file.path): file for file in files.project.files}
    into: list[EventFile] = []
    edits: list[Edit] = []
    for place in _kept_places(context.sidecar.entry(id)):
        file = present.get(str(context.root / place["file"]))
        if file is None or any(named.id == id for named in file.records):
            continue
        index = place["index"] if place["index"] < len(file.file.records) else None
        edits += file.file.insert_raw(id, place["raw"], index)
        into.append(file)
    if not edits:
        raise Refused(
            "none of its files exists any more", where=str(files.folder), do="add it again"
        )
    return (
        *edits,
        *last_active_edits(into, context.milliseconds),
        *context.entry_edits(id, files.shard, kept=None),
    )


def _kept_places(entry: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """The places of a retired event in its sidecar entry, without malformed ones."""
    kept_entry = entry.get("kept")
    places = kept_entry.get("places") if isinstance(kept_entry, dict) else None
    for place in places if isinstance(places, list) else ():
        if (
            isinstance(place, dict)
            and isinstance(place.get("file"), str)
            and isinstance(place.get("raw"), str)
            and isinstance(place.get("index"), int)
            and place["index"] >= 0
        ):
            yield place


def _supersede(change: Change, memory: Memory, context: EventContext) -> Plan:
    files = context.open(key_of(memory))
    content, cut = fit_content(content_of(change), context.store.rules, change.force)
    copies = _unchanged_copies(memory, files, content)
    old = copies[0].named.value
    event = new_event(change, content, context)
    id = event["id"]
    event["type"] = word_of(change, "type", text_of(old.get("type")) or event["type"])
    event["importance"] = importance_of(change, memory.importance)
    into = [copy.where for copy in copies if not copy.where.is_archived]  # what Ambient reads
    if not into:
        into = [files.own or copies[0].where]
    if event["importance"] == "high" and files.own is not None and files.own not in into:
        into = [files.own, *into]
    tags = importing.texts_in(change, "tags")
    edits = (
        *retire_event(context, files, memory.id, "superseded", (id,)),
        *(edit for file in into for edit in insert_into(file, event)),
        *last_active_edits(into, context.milliseconds),
        *context.entry_edits(id, files.shard, supersedes=[memory.id], tags=tags),
    )
    reason, warnings = f"added {id}; memtui keeps {memory.id}", (cut,) if cut else ()
    ref = context.ref(id)
    return plans.plan_successor(change, memory, ref, edits, reason, warnings + files.warnings)


def _merge(change: Change, memory: Memory, context: EventContext) -> Plan:
    """Keep this event, with new text if given, and retire the others as superseded."""
    others = context.others(change, memory)
    files = context.open(key_of(memory))
    edits: tuple[Edit, ...] = ()
    if change.fields.get("content") not in (None, "", memory.content):
        content, _ = fit_content(content_of(change), context.store.rules, change.force)
        edits, holding = _set_keys(_unchanged_copies(memory, files, content), {"content": content})
        edits += last_active_edits(holding, context.milliseconds)
    for other in others:
        why = _not_on(Act.SUPERSEDE, other)
        if why:
            raise Refused(why, where=other.ref)
        home = context.open(key_of(other))
        _unchanged_copies(other, home)
        edits += retire_event(context, home, other.id, "superseded", (memory.id,))
    edits += context.sidecar_entry(memory).superseding(others)
    return plans.plan_merge(change, memory, others, edits)


def _archive(change: Change, memory: Memory, context: EventContext) -> Plan:
    """Copy a merged branch's high decisions to the project, and move its file to `archived`.

    As processMergedBranches does (src/memory/lifecycle.ts:61-92, store.ts:737): a decision whose
    text the project has already is not copied; a copy gets an id of its own and `promotedFrom`.
    """
    files = context.open(key_of(memory))
    entity = text_of(change.fields.get("entity")) or memory.entity
    branch = next(
        (
            copy.where
            for copy in files.copies(memory.id)
            if not (copy.where.is_project or copy.where.is_archived)
            and f"{files.project.path}/{copy.where.branch}" == entity
        ),
        None,
    )
    if branch is None:
        raise Refused("it is on no branch that could be archived", where=memory.ref)
    target = safe_join(files.folder / ambient.ARCHIVED, branch.file.path.name)
    if os.path.lexists(target):
        raise Refused("a branch of this name is already archived", where=str(target))
    own_records = files.own.records if files.own else ()
    known = {text_of(record.value.get("content")) for record in own_records}
    edits: list[Edit] = [
        text_edit(str(target), None, with_members(branch.file.text, {"archived": True})),
        text_edit(str(branch.file.path), branch.file.text, None),
    ]
    promoted = 0
    for named in branch.records:
        value = named.value
        is_high = value.get("type") == DECISION and value.get("importance") == "high"
        if files.own is None or not is_high or text_of(value.get("content")) in known:
            continue
        own = value.get("metadata")
        metadata = {**(own if isinstance(own, dict) else {}), "promotedFrom": branch.branch}
        edits += insert_into(files.own, {**value, "id": str(uuid.uuid4()), "metadata": metadata})
        promoted += 1
    if promoted and files.own is not None:
        edits += last_active_edits([files.own], context.milliseconds)
    moved = f"archived {branch.branch}, {len(branch.records)} events"
    return Plan(
        changes=(change,),
        edits=tuple(edits),
        reason=f"{moved}; {promoted} decisions copied to the project",
        refs=(memory.ref,),
        warnings=(*files.warnings, "Ambient deletes archived branches after 7 days"),
    )


ACTS = plans.ActionSupport(
    editable=EDITABLE,
    add=plan_add,
    add_imported=plan_import,
    handlers={
        Act.EDIT: _edit,
        Act.RETYPE: _edit,
        Act.SUPERSEDE: _supersede,
        Act.RETIRE: _retire,
        Act.RESTORE: _restore,
        Act.DELETE: _delete,
        Act.MERGE: _merge,
        Act.ARCHIVE: _archive,
    },
    shard_of=shard_of,
    not_on=_not_on,
    native_tags=_native_tags,
)


ONE_ACTION = 60_000
"""Milliseconds within which plans count as those of one action."""


class Ambient(FileStore):
    """The memory of one `~/.ambient/memory`."""

    format = "ambient"
    acts = ACTS
    context = EventContext
    rules = EventRules()
    """The program's own constants."""

    def __init__(self, root: Path, label: str, now: Callable[[], datetime] = utc_now) -> None:
        super().__init__(root, label, now)
        self._marked = 0
        self.last: LastRead[ProjectFiles] = LastRead()
        self._names: dict[str, tuple[str, str]] = {}

    def find_shards(self) -> Iterator[FoundShard | Unreadable]:
        """Each project directory and each legacy file."""
        yield from ambient.find_projects(self.root)
        yield from ambient.find_legacy_files(self.root)

    def read_files(self, shard: Shard, sidecar: Sidecar) -> Reading:  # noqa: ARG002
        """All events of a project, each once, or those of a legacy file."""
        if not shard.key.startswith(f"{ambient.PROJECTS}/"):
            return read_legacy(Path(shard.files[0]), self.root, self.label)
        project, faults = read_project(self.root, shard.key, shard.files)
        return Reading(tuple(events(project, self.label, self.now())), tuple(faults))

    def read_time(self, path: str) -> ReadTime:
        """The daemon reads the files for every request and keeps no cache; the branches that were
        archived it does not read (formats page of Ambient, 2.1 and 2.2)."""
        return ReadTime.NEVER if f"/{ambient.ARCHIVED}/" in path else ReadTime.AT_ONCE

    def session_start(self, view: StoreView, entity: str, now: datetime) -> Sequence[LoadedText]:  # noqa: ARG002
        """The block of the project and branch, or of each, read from the files as Ambient does."""
        return tuple(session_blocks(self.root, self.label, entity, now))

    def apply(self, edits: Sequence[Edit], recorder: WriteRecorder) -> None:
        """Make the edits, each `lastActive` once: many changes of one action all ask for it.

        Raises Conflict or SaveError.
        """
        once = dict.fromkeys(edit for edit in edits if edit.kind is Kind.COUNTER)
        others = [e for e in edits if e.kind is not Kind.COUNTER or once.pop(e, 1) is None]
        super().apply(others, recorder)

    def action_time(self, time: datetime) -> int:
        """The time written to files: that of the previous plan if it was made just now."""
        now = to_milliseconds(time)
        if not 0 <= now - self._marked < ONE_ACTION:
            self._marked = now
        return self._marked

    def project_names(self) -> dict[str, str]:
        """The name of each project directory by its key, read again when it changed."""
        names: dict[str, str] = {}
        for found in ambient.find_projects(self.root):
            if isinstance(found, Unreadable):
                continue
            key = found.key.removeprefix(f"{ambient.PROJECTS}/")
            own = [file for file in found.files if file.endswith(f"/{ambient.PROJECT}")][:1]
            mark = file_stamp(own)
            known = self._names.get(key)
            if known is None or known[0] != mark:
                project, _ = read_project(self.root, found.key, tuple(own))
                if not project.name:  # the events of its branches may tell it
                    project, _ = read_project(self.root, found.key, found.files)
                known = (mark, project.path)
                self._names[key] = known
            names[key] = known[1]
        return names


PROJECT_EVENTS = 10
"""Events of project.json that are taken, without low ones (store.ts:207)."""
TASK_EVENTS = 15
"""Events of the branch that are taken (store.ts:218)."""
LOADED = (
    f"the last {PROJECT_EVENTS} events of the project that are not low and the last {TASK_EVENTS} "
    "of the branch (src/memory/store.ts:197)"
)


def session_blocks(root: Path, label: str, entity: str, now: datetime) -> Iterator[LoadedText]:
    """The block of each project and branch.

    Args:
        root: The store's root.
        label: The store's label, the first part of every ref.
        entity: `project/branch`, or a project for all its branches; empty for all.
        now: The time of the session, in the zone in which times are shown.
    """
    for found in ambient.find_projects(root):
        if isinstance(found, Unreadable):
            continue
        project, _ = read_project(root, found.key, found.files)
        names = (project.path, project.key)
        rest = next((entity[len(n) :] for n in names if f"{entity}/".startswith(f"{n}/")), None)
        if entity and rest is None:
            continue
        files: Sequence[EventFile | None] = [
            f for f in project.branches if not rest or rest == f"/{f.branch}"
        ]
        for branch in files or (None,):
            block = _block(project, branch, label, now)
            if block is not None:
                yield block


def _block(
    project: Project, branch: EventFile | None, label: str, now: datetime
) -> LoadedText | None:
    own, block = project.own, LoadedBlock()

    def add(heading: str, records: Sequence[NamedRecord]) -> None:
        block.add(heading)
        for record in records:
            value = record.value
            line = f"- {text_of(value.get('content'))} ({text_of(value.get('type'))}"
            block.add("\n")
            block.add(f"{line}, {_age(record, now)})", f"{label}:{record.id}")

    if own is not None and _is_unexpired(own, now) and own.records:
        shown = [r for r in own.records if r.value.get("importance") != "low"]
        add(f"[Project: {project.name}]", shown[-PROJECT_EVENTS:])
    if branch is not None and _is_unexpired(branch, now) and branch.records:
        gap = "\n\n" if block.text else ""
        add(f"{gap}[Task: {branch.branch}]", branch.records[-TASK_EVENTS:])
    if not block.text:
        return None
    title = project.path if branch is None else f"{project.path}/{branch.branch}"
    file = str(own.file.path) if own else ""
    return block.loaded(title, file, is_of_entity=True, note=LOADED, entity=title)


def _is_unexpired(file: EventFile, now: datetime) -> bool:
    return file.expires is None or file.expires >= now


def _age(record: NamedRecord, now: datetime) -> str:
    """As `formatTimeAgo` (store.ts:964): minutes, hours, or from a day on the date."""
    time = from_milliseconds(record.value.get("timestamp"))
    if time is None:
        return "Invalid Date Invalid Date"
    minutes = (now - time) // timedelta(minutes=1)
    if minutes < 60:
        return f"{minutes}m ago"
    if minutes < 24 * 60:
        return f"{minutes // 60}h ago"
    local = time.astimezone(now.tzinfo)
    suffix = "AM" if local.hour < 12 else "PM"
    clock = f"{local.hour % 12 or 12}:{local:%M} {suffix}"
    return f"{_MONTHS[local.month - 1]} {local.day} {clock}"


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


SUPPORT = FormatSupport(
    Ambient,
    transfer=TransferSupport(belongings=("*.json", "*.json.migrated"), convert=convert),
    upkeep=upkeep_rules(Ambient.rules),
)
