"""Facts of agent-memory as memories.

A fact's `type` is its `entityType`; its `entity` is a path such as `people/alice`, made of the
folder's slug and the first `entityType` in the file (what build-entity-index.sh:81 takes as the
entity's type). `active` stays active. `historical` is superseded when a fact of the same file names
it in `supersedes`, else retired: nothing took its place. Any other status is shown as active and
stands in `extra`.

Importance is not in the format. It is derived from the record alone: low when historical, else high
when it has an edge or a person wrote it (source `manual`), else medium.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from memtui.changes import Kind, Plan
from memtui.errors import UnreadableFile
from memtui.files.json.locating import load
from memtui.files.reading import (
    read_text_file,
    safe_join,
)
from memtui.model import UNTYPED, Link, Memory, Place
from memtui.stores import agent_memory
from memtui.stores.format import UpkeepRules
from memtui.stores.json_file import JsonFile, NamedRecord, named_records, read_or_new
from memtui.stores.markdown.documents import MarkdownFile, parse_document
from memtui.stores.values import (
    UNADDRESSABLE,
    from_iso,
    memory_name,
    text_of,
    with_unique_ids,
)

ACTIVE = "active"
HISTORICAL = "historical"
MANUAL = "manual"

PLURALS = {
    "person": "people",
    "company": "companies",
    "project": "projects",
    "organization": "organizations",
}
"""The four types that templates/entities/README.md names; any other word stays as it is."""

_SHOWN_IN_FIELDS = frozenset({"id", "content", "source", "entityType", "status", "supersedes"})


def entity_path(entity_type: str, slug: str) -> str:
    """The path shown for an entity folder, such as `people/alice`."""
    return f"{PLURALS.get(entity_type, entity_type) or UNTYPED}/{slug}"


def first_type(values: Iterable[Mapping[str, Any]]) -> str:
    """The type of an entity: the first `entityType` in its file."""
    for value in values:
        entity_type = value.get("entityType")
        if isinstance(entity_type, str) and entity_type:
            return entity_type
    return ""


def edge_link(edge: object) -> Link | None:
    """The link that an edge states; None when it is null or incomplete."""
    if not isinstance(edge, dict):
        return None
    predicate, target = edge.get("predicate"), edge.get("object")
    if isinstance(predicate, str) and isinstance(target, str) and predicate and target:
        return Link(relation=predicate, target=target)
    return None


def _extra(value: Mapping[str, Any]) -> dict[str, Any]:
    """Every key that no field shows unchanged, without null and empty values."""
    extra = {
        key: item
        for key, item in value.items()
        if key not in _SHOWN_IN_FIELDS and item is not None and item != ""
    }
    if value.get("status") != ACTIVE and "status" in value:
        extra["status"] = value["status"]
    for key in ("id", "content", "entityType", "supersedes"):
        if value.get(key) is not None and not isinstance(value[key], str):
            extra[key] = value[key]
    return extra


def _fact(
    named: NamedRecord, file: JsonFile, label: str, entity: str, successors: Iterable[str]
) -> Memory:
    value, superseded_by = named.value, tuple(dict.fromkeys(successors))
    supersedes, link = value.get("supersedes"), edge_link(value.get("edge"))
    status, importance = "active", "medium"
    if value.get("status") == HISTORICAL:
        status, importance = "superseded" if superseded_by else "retired", "low"
    elif value.get("edge") or value.get("source") == MANUAL:
        importance = "high"
    extra = _extra(value)
    if named.fault:
        extra[UNADDRESSABLE] = named.fault
    return Memory(
        **memory_name(label, named.id),
        kind="fact",
        type=text_of(value.get("entityType")),
        content=text_of(value.get("content")),
        entity=entity,
        created=from_iso(value.get("createdAt")),
        importance=importance,
        status=status,
        supersedes=(supersedes,) if isinstance(supersedes, str) and supersedes else (),
        superseded_by=superseded_by,
        links=(link,) if link else (),
        source=" ".join(filter(None, (text_of(value.get(k)) for k in ("source", "sourceRef")))),
        origin=Place(str(file.path), named.record.line, file.key(named.index)),
        extra=extra,
    )


def facts(file: JsonFile, records: list[NamedRecord], label: str, slug: str) -> list[Memory]:
    """The memories of one items.json, in its order.

    A second record with the same id goes by `<id>#2`: both are shown, neither can be changed.
    """
    entity = entity_path(first_type(named.value for named in records), slug)
    successors: dict[str, list[str]] = defaultdict(list)
    for named in records:
        old = named.value.get("supersedes")
        if isinstance(old, str) and old and old != named.id:
            successors[old].append(named.id)
    return with_unique_ids(
        [_fact(named, file, label, entity, successors.get(named.id, ())) for named in records]
    )


def with_successors(memories: Iterable[Memory]) -> tuple[Memory, ...]:
    """Complete lineage from the sidecar: `superseded_by` for each `supersedes`."""
    memories = tuple(memories)
    successors: dict[str, list[str]] = defaultdict(list)
    for memory in memories:
        for old in memory.supersedes:
            successors[old].append(memory.id)
    found = []
    for memory in memories:
        by = tuple(dict.fromkeys([*memory.superseded_by, *successors.get(memory.id, ())]))
        if by != memory.superseded_by:
            status = "superseded" if memory.status == "retired" else memory.status
            memory = replace(memory, superseded_by=by, status=status)
        found.append(memory)
    return tuple(found)


INDENT = "  "
"""What jq puts before each level."""


@dataclass(frozen=True)
class FactFile:
    """The facts of one entity, read to plan a change."""

    items: JsonFile
    slug: str
    type: str
    """The entity's type: of its first fact, else of its summary, else empty."""
    records: Sequence[NamedRecord]

    @cached_property
    def by_id(self) -> Mapping[str, NamedRecord]:
        """The first record of each id."""
        return {named.id: named for named in reversed(self.records)}

    def active(self, label: str) -> list[Memory]:
        """The facts whose status is exactly `active`; the program compares with no others.

        It ignores those of any other status, also of none.
        """
        memories = facts(self.items, list(self.records), label, self.slug)
        each = zip(self.records, memories, strict=True)
        return [memory for named, memory in each if named.value.get("status") == ACTIVE]

    def planned_facts(self, planned: Iterable[Plan], label: str) -> list[Memory]:
        """The active facts that these plans would add here, with id and content only."""
        path = str(self.items.path)
        raws = [
            edit.after
            for plan in planned
            for edit in plan.edits
            if edit.kind is Kind.RECORD and edit.path == path and edit.before is None
        ]
        values = [load(raw) for raw in raws if raw is not None]
        return [
            Memory(f"{label}:{value['id']}", value["id"], label, "fact", content=value["content"])
            for value in values
            if value.get("status") == ACTIVE
        ]


def read_fact_file(root: Path, slug: str) -> FactFile:
    """Read an entity's facts for a change; an entity that does not exist yet is an empty one.

    Raises Refused when the slug cannot be a folder, or the file cannot be read: what cannot be read
    must not be written.
    """
    folder = safe_join(root / agent_memory.ENTITIES, slug)
    file = read_or_new(folder / agent_memory.ITEMS, root)
    records, _ = named_records(file, slug)
    kind = first_type(named.value for named in records)
    if not kind:
        with suppress(UnreadableFile):
            kind = stated_type(read_text_file(folder / agent_memory.SUMMARY, root))
    return FactFile(file, slug, kind, records)


# ---- notes ---------------------------------------------------------------------------------------

# Entity summaries, daily notes and MEMORY.md as memories.
#
# The content is the whole file, without a byte order mark and, where every line ends in CRLF,
# with plain line feeds (`extra` then says so, and writing puts both back).


NOTES = "notes"
"""The entity of daily notes and of MEMORY.md."""

_TYPE_LINE = re.compile(r"\*\*Type:\*\*\s*(\S.*)")
_UPDATED_LINE = re.compile(r"\*\*Last updated:\*\*\s*(\d{4}-\d{2}-\d{2})")
_HEAD_LINES = 20
"""Lines of a summary that may hold its **Type** and **Last updated**."""


def parse_note(path: Path, text: str) -> MarkdownFile:
    """The document whose body is the whole note."""
    return parse_document(path.name, str(path), text, None, whole=True)


def read_note(path: Path, root: Path) -> MarkdownFile:
    """Read a note. Raises UnreadableFile."""
    return parse_note(path, read_text_file(path, root))


def heading(content: str) -> str:
    """The text of the first `# heading`; empty without one."""
    for line in content.split("\n"):
        text = line.removesuffix("\r").lstrip("#")
        found = text.strip().rstrip("#").strip()
        if line.startswith("#") and text[:1] in (" ", "\t") and found:
            return found
    return ""


def stated_type(content: str) -> str:
    """The entity type that a summary states."""
    return _in_head(content, _TYPE_LINE).strip()


def _in_head(content: str, pattern: re.Pattern[str]) -> str:
    for line in content.split("\n", _HEAD_LINES)[:_HEAD_LINES]:
        if match := pattern.match(line.removesuffix("\r")):
            return match[1]
    return ""


def _note(prose: MarkdownFile, label: str, id: str, **fields: Any) -> Memory:
    return Memory(
        **memory_name(label, id),
        kind="note",
        content=prose.body,
        origin=Place(prose.file, 1),
        extra=prose.byte_form,
        **fields,
    )


def summary(prose: MarkdownFile, label: str, id: str, entity: str, slug: str) -> Memory:
    """An entity's summary.md; `updated` is its **Last updated** line."""
    title = heading(prose.body) or slug
    updated = from_iso(_in_head(prose.body, _UPDATED_LINE))
    return _note(prose, label, id, type="summary", title=title, entity=entity, updated=updated)


def daily(prose: MarkdownFile, label: str, id: str) -> Memory:
    """A daily note; its date is its file name."""
    date = id.removesuffix(".md")
    title, created = heading(prose.body) or date, from_iso(date)
    return _note(prose, label, id, type="daily", title=title, entity=NOTES, created=created)


def tacit(prose: MarkdownFile, label: str, id: str) -> Memory:
    """MEMORY.md: how the human works."""
    title = heading(prose.body) or id
    return _note(prose, label, id, type="tacit", title=title, entity=NOTES)


# ---- the program's rules -------------------------------------------------------------------------

# The rules by which agent-memory accepts a new fact (add-fact-validated.sh).
#
# In its order: long enough, nothing passing or vague, not said already, and what it contradicts.
# Letters are folded as `tr` does it: A to Z only, and any byte that is no ASCII letter or digit
# parts words. Facts are compared only when their status is exactly `active`, as the program does.
#
# Two differences from the program are deliberate. It takes any two texts without an ASCII letter
# or digit for duplicates (both have the empty set of words): here only equal ones are. And it may
# add a text of several lines again, because it compares with each line alone: here a text that is
# there word for word is a duplicate, whatever its alphabet and its lines.


_WORD = re.compile(r"[a-z0-9]+")


def _phrases(text: str) -> tuple[str, ...]:
    """Phrases between commas."""
    return tuple(" ".join(phrase.split()) for phrase in text.split(","))


class FactRules(Struct, frozen=True):
    """The constants of the rules; config.toml can set each."""

    shortest: int = 15
    """Characters (add-fact-validated.sh:131)."""
    similar: float = 0.7
    """Jaccard of words from which a fact counts as said already (:97). It is compared after
    rounding to two places (:91), so that 0.695 is enough."""
    transient: tuple[str, ...] = _phrases(
        """is tired, is busy, is working on, had lunch, had dinner, had breakfast, is eating,
        feels like, seems like, might be, maybe, probably, i think, not sure, is going to,
        plans to, wants to, thinking about, considering"""
    )
    """Phrases that mark a fact as transient (:104-124)."""
    anchors: tuple[str, ...] = _phrases(
        """works at, employed at, employed by, job at, position at, role at, lives in, lives at,
        address:, address is, moved to, email:, email is, phone:, phone is, phone number,
        title is, title:, married to, partner is, dating, uses browser, uses editor,
        switched to, started using"""
    )
    """Wordings of which one person has one truth at a time (:178-245)."""


def folded(text: str) -> str:
    """The text with the letters A to Z in lower case, and no others."""
    return text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def words(text: str) -> frozenset[str]:
    """The set of words that similarity compares."""
    return frozenset(_WORD.findall(folded(text)))


def similarity(first: str, second: str) -> float:
    """Jaccard similarity of the texts' words, rounded to two places as the program prints it."""
    if first.strip() == second.strip():
        return 1.0
    first_words, second_words = words(first), words(second)
    union = first_words | second_words
    return float(f"{len(first_words & second_words) / len(union):.2f}") if union else 0.0


def broken_rule(content: str, rules: FactRules) -> str:
    """Why the program would reject the text, in its own words; empty when it would not."""
    if len(content) < rules.shortest:
        return f"Fact too short ({len(content)} chars < {rules.shortest} minimum)"
    text = folded(content)
    for pattern in rules.transient:
        if pattern in text:
            return f"Contains transient/vague pattern: '{pattern}'"
    return ""


def repetition(content: str, existing: str) -> float:
    """Similarity of a new text to a fact: that of the most similar line of the fact.

    The program prints the facts' texts and reads them line by line (:159-169), so that a fact of
    several lines is several texts to it.
    """
    lines = [line for line in existing.split("\n") if line]
    scores = [similarity(content, text) for text in (lines or [existing])]
    return 1.0 if content.strip() == existing.strip() else max(scores)


def most_similar(
    content: str, facts: Iterable[Memory], rules: FactRules
) -> tuple[Memory, float] | None:
    """The most similar active fact at or above the limit, and its similarity."""
    closest: tuple[Memory, float] | None = None
    for fact in facts:
        score = repetition(content, fact.content)
        if score >= rules.similar and (closest is None or score > closest[1]):
            closest = (fact, score)
    return closest


def contradicted(
    content: str, facts: Iterable[Memory], rules: FactRules
) -> list[tuple[Memory, str]]:
    """The active facts that share an anchor with the text but are not similar, with the anchor.

    In the order of the file, each once with its first anchor: the program goes over the facts, and
    over the anchors within each (:229-244). The last fact is what it leaves in `supersedes`.
    """
    text = folded(content)
    anchors = [anchor for anchor in rules.anchors if anchor in text]
    found: list[tuple[Memory, str]] = []
    for fact in facts if anchors else ():
        fact_text = folded(fact.content)
        shared = next((anchor for anchor in anchors if anchor in fact_text), None)
        if shared is not None and similarity(content, fact.content) < rules.similar:
            found.append((fact, shared))
    return found


def upkeep_rules(rules: FactRules) -> UpkeepRules:
    """The rules for tidying facts."""

    def subjects(memory: Memory) -> list[str]:
        text = folded(memory.content)
        return [anchor for anchor in rules.anchors if anchor in text]

    def contradicts(older: Memory, newer: Memory) -> str:
        if older.kind != "fact" or newer.kind != "fact" or older.entity != newer.entity:
            return ""
        found = contradicted(newer.content, [older], rules)
        return f"both say {found[0][1]!r}, and are not the same" if found else ""

    return UpkeepRules(
        subjects=subjects,
        contradicts=contradicts,
        contradiction_source="agent-memory, add-fact-validated.sh:178-245",
        shortens_history=True,
    )
