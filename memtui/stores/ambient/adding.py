"""Plan new events, written as Ambient's daemon writes them.

A new decision supersedes the one it is most like, in each file that it is written to by itself. A
copy in any other file stays and stays active, as with Ambient; a decision that no file holds any
more is kept by memtui.
"""

from __future__ import annotations

import os
import re
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache, partial
from typing import Any

from memtui.changes import Change, Edit, Outcome, Plan
from memtui.dataclass import dataclass
from memtui.errors import Refused
from memtui.model import Memory
from memtui.stores import ambient
from memtui.stores.ambient.project_files import (
    EventContext,
    EventRules,
    ProjectFiles,
    fit_content,
    insert_into,
    last_active_edits,
    new_branch_file,
    new_project_file,
    reactivation_warnings,
    retire_event,
)
from memtui.stores.ambient.records import EventCopy, EventFile
from memtui.stores.format import Compaction, Expiry, UpkeepRules
from memtui.stores.importing import texts_in
from memtui.stores.values import content_of, created_of, importance_of, to_milliseconds, word_of

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
    if not first or not second:
        return 0.0
    return len(first & second) / len(first | second)


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


@dataclass(frozen=True, slots=True)
class EventTarget:
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
    found = _named_project(entity, context.keys())
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


@dataclass(frozen=True, slots=True)
class Destination:
    """The files that take the new event, and the edits that create missing ones."""

    existing: tuple[EventFile, ...]
    made: tuple[Edit, ...] = ()
    warnings: tuple[str, ...] = ()


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


def _destination(target: EventTarget, event: Mapping[str, Any], now: int) -> Destination:
    high = event["importance"] == "high"
    branch = _branch_of(target, high)
    existing: list[EventFile] = []
    edits: list[Edit] = []
    warnings: list[str] = []
    if high and target.files.own is not None:
        existing.append(target.files.own)
    elif target.new_name:
        first = event if high else None
        edits += new_project_file(target.files, target.new_name, target.new_name, first, now)
        warnings.append(_UNKNOWN_PROJECT)
    elif high and not os.path.lexists(target.files.folder / ambient.PROJECT):
        warnings.append(_NO_PROJECT_FILE)
    if branch:
        file = target.files.branch(branch)
        if file is None:
            edits += new_branch_file(target.files, branch, event, now)
        else:
            existing.append(file)
    return Destination(tuple(existing), tuple(edits), tuple(warnings))


_UNKNOWN_PROJECT = (
    "this project is new to Ambient: it will read it only where git's remote, or the folder, "
    "has exactly this name"
)
_NO_PROJECT_FILE = "the project has no project.json: written to the branch only"


@dataclass(frozen=True, slots=True)
class ReplacedDecision:
    """A decision that the new one supersedes in some or all of the files that hold it."""

    id: str
    score: float
    removed: tuple[EventCopy, ...]
    remaining: tuple[EventCopy, ...]
    """Its copies in files that the new event is not written to, or that have a better match."""

    @property
    def reason(self) -> str:
        files = f" in {_file_names(self.removed)}" if self.remaining else ""
        return f"{self.score:.2f} similar to {self.id}, which it replaces{files}"


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


def _warnings(files: Iterable[EventFile], context: EventContext) -> tuple[str, ...]:
    """Warn of each file that Ambient will shorten next, or had stopped reading."""
    warnings = list(reactivation_warnings(files, context.now))
    rules = context.rules
    for file in files:
        limit = rules.project_limit if file.is_project else rules.task_limit
        if len(file.file.records) >= limit:
            warnings.append(
                f"{file.file.path.name} holds {limit} events: Ambient drops the oldest that is not "
                "high when it next writes"
            )
    return tuple(warnings)


def plan_add(change: Change, context: EventContext) -> Plan:
    """Plan the addition of an event. Raises Refused."""
    content, cut = fit_content(content_of(change), context.rules, change.force)
    target = target_of(word_of(change, "entity", ""), context)
    event = new_event(change, content, context)
    destination = _destination(target, event, context.milliseconds)
    is_decision = event["type"] == DECISION
    into = destination.existing if is_decision else ()
    old = _replaced(content, into, target.files, context.rules)
    superseded = tuple(context.ref(each.id) for each in old if not each.remaining)
    return Plan(
        changes=(change,),
        edits=_edits(change, context, target, event, destination, old),
        outcome=Outcome.SUPERSEDED if superseded else Outcome.ADDED,
        reason=_reason(event["id"], target, old),
        refs=(context.ref(event["id"]), *(context.ref(each.id) for each in old)),
        supersedes=superseded,
        warnings=(
            *((cut,) if cut else ()),
            *(
                f"{each.id} stays active: {_file_names(each.remaining)} still holds it"
                for each in old
                if each.remaining
            ),
            *destination.warnings,
            *_warnings(destination.existing, context),
            *target.files.warnings,
        ),
    )


def _reason(id: str, target: EventTarget, old: Iterable[ReplacedDecision]) -> str:
    project = target.new_name or target.files.project.path
    added = f"Added {id} to {'/'.join(part for part in (project, target.branch) if part)}"
    return "; ".join((added, *(each.reason for each in old)))


def _edits(
    change: Change,
    context: EventContext,
    target: EventTarget,
    event: Mapping[str, Any],
    destination: Destination,
    old: Iterable[ReplacedDecision],
) -> tuple[Edit, ...]:
    edits: list[Edit] = []
    for each in old:
        if each.remaining:
            edits += (copy.set(None) for copy in each.removed)
        else:
            edits += retire_event(context, target.files, each.id, "superseded", (event["id"],))
    for file in destination.existing:
        edits += insert_into(file, event)
    edits += destination.made
    edits += last_active_edits(destination.existing, context.milliseconds)
    edits += context.entry_edits(
        event["id"],
        target.files.shard,
        supersedes=[each.id for each in old if not each.remaining],
        tags=texts_in(change, "tags"),
        pinned=change.fields.get("pinned") is True,
    )
    return tuple(edits)


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
