"""Plans of events that are new to an Ambient memory folder: added, imported, or converted.

New events are written as Ambient's daemon writes them. A new decision supersedes the one it is most
like, in each file that it is written to by itself. A copy in any other file stays and stays active,
as with Ambient; a decision that no file holds any more is kept by memtui.

Imported events go into the project and the branches they were in, each copy with what it alone
said, and supersede nothing: Ambient's own import can delete decisions that are there, this one
cannot. What only memtui kept stays with memtui.
"""

from __future__ import annotations

import os
import re
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from memtui.changes import Change, Edit, Outcome, Plan
from memtui.errors import AmbiguousPlace, Refused
from memtui.files.reading import safe_join
from memtui.model import Memory
from memtui.stores import ambient, importing, plans
from memtui.stores.ambient.records import (
    ARCHIVED_TAG,
    SHORT_KEY,
    EventCopy,
    EventFile,
    EventRules,
    ProjectFiles,
    fit_content,
    insert_into,
    last_active_edits,
    new_branch_file,
    new_project_file,
    reactivation_warnings,
    retire_event,
    task_key,
)
from memtui.stores.format import Compaction, ConvertedMemory, Expiry, UpkeepRules
from memtui.stores.sidecar import kept_value
from memtui.stores.values import (
    content_of,
    created_of,
    importance_of,
    is_number,
    list_of,
    members_of,
    to_milliseconds,
    word_of,
)

if TYPE_CHECKING:
    from memtui.stores.ambient.store import EventContext


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
        "id": change.new_id or str(uuid.uuid4()),
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
        file = members_of(copy).get("file")
        if isinstance(file, str) and Path(file).parts[-2:] == path.parts[-2:]:
            own = {key: value for key, value in copy.items() if key != "file"}
            return {
                k: v
                for k, v in {**event, **own}.items()
                if own.get(k, v) is not None or k not in own
            }
    return event


def _key(name: str, extra: Mapping[str, Any], context: EventContext) -> str:
    """The key of the project: the original one, else that of the same name, else a new one. Raises
    AmbiguousPlace."""
    stated = extra.get("projectKey")
    if isinstance(stated, str) and ambient.PROJECT_KEY.fullmatch(stated):
        return stated
    known = [key for key, known in context.store.project_names().items() if name in (key, known)]
    if len(known) > 1:
        do = f"name one by its key: {', '.join(sorted(known))}"
        raise AmbiguousPlace(f"{len(known)} projects have this name", where=name, do=do)
    return known[0] if known else ambient.key_of_name(name)


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
    return importing.converted(memory, fields, changes)
