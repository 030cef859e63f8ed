"""Entries of the logs of learnings, errors and wishes that an agent keeps in `.learnings/`.

An entry is a heading `## [LRN-20260711-001] correction` with fields and parts below it, up to the
next heading of its level; a rule `---` may follow it. (Source: the skill self-improving-agent,
SKILL.md, *Logging Format*.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from memtui.changes import Change, Edit, Kind, Plan, text_edit
from memtui.errors import Conflict, Refused
from memtui.model import Memory, Place
from memtui.stores.listed_texts import TEXT_KEY, name_texts
from memtui.stores.markdown.document_store import DocumentContext
from memtui.stores.markdown.documents import MarkdownFile, parse_document, with_body, words_of
from memtui.stores.markdown_folder.rules import Observation, observations
from memtui.stores.plans import plan_one, tag_edits
from memtui.stores.scanning import planned_text
from memtui.stores.sidecar import Sidecar
from memtui.stores.values import changed_values, content_of, from_iso, memory_name, tag_words

ENTRY = "entry"
"""Key of `extra`: the name of the entry in its heading."""
_HEADING = re.compile(
    r"^## \[((?:LRN|ERR|FEAT)-(\d{4})(\d{2})(\d{2})-\w+)\][ \t]*([^\n]*)\n?", re.MULTILINE
)
_NEXT = re.compile(r"^##? ", re.MULTILINE)
_FIELD = re.compile(r"^\*\*([A-Z][\w -]{0,30})\*\*:[ \t]*([^\n]*)", re.MULTILINE)
_ITEM = re.compile(r"^- ([A-Z][\w -]{0,30}): ([^\n]*)", re.MULTILINE)
_SUMMARY = re.compile(r"^### Summary[ \t]*\n+([^\n#]+)", re.MULTILINE)
_RULE = re.compile(r"\n*-{3,}\s*\Z|\s+\Z")
_IMPORTANCES = {"critical": "high", "high": "high", "low": "low"}


class Entry(NamedTuple):
    """One entry, and where it stands in the body of its note."""

    name: str
    day: str
    category: str
    text: str
    """What stands below the heading."""
    heading: int
    """Offset of the heading."""
    start: int
    """Offset of the text."""
    end: int
    """Offset of the next entry."""


def parse_entries(body: str) -> Iterator[Entry]:
    """The entries of a note, in order; of two with one name the first."""
    seen = set()
    for found in _HEADING.finditer(body):
        following = _NEXT.search(body, found.end())
        end = following.start() if following else len(body)
        raw = body[found.end() : end]
        lead = len(raw) - len(raw.lstrip("\n"))
        if found[1] not in seen:
            seen.add(found[1])
            yield Entry(
                found[1],
                f"{found[2]}-{found[3]}-{found[4]}",
                found[5].strip(),
                _RULE.sub("", raw[lead:]),
                found.start(),
                found.end() + lead,
                end,
            )


def entry_memories(document: MarkdownFile, label: str) -> Iterator[Memory]:
    """A fact for each entry; its status and priority stay in `extra`, as its program has them."""
    for each in parse_entries(document.body):
        if not each.text:
            continue
        found = [*_FIELD.findall(each.text), *_ITEM.findall(each.text)]
        fields = {name.lower(): value.strip() for name, value in found}
        summary = _SUMMARY.search(each.text)
        times = (from_iso(fields.get(key)) for key in ("resolved", "last-seen"))
        yield Memory(
            **memory_name(label, f"{document.path}#{each.name}"),
            kind="fact",
            type=each.category,
            title=summary[1].strip() if summary else "",
            content=each.text,
            entity=document.path.removesuffix(".md"),
            created=from_iso(fields.get("logged")) or from_iso(each.day),
            updated=next(filter(None, times), None),
            importance=_IMPORTANCES.get(fields.get("priority", "").lower(), "medium"),
            tags=words_of(fields.get("tags")),
            origin=Place(document.file, document.line + document.body.count("\n", 0, each.start)),
            extra={**fields, ENTRY: each.name, "note": document.path},
        )


def plan_edit_entry(change: Change, memory: Memory, context: DocumentContext) -> Plan:
    """Plan another text of an entry; heading and note stay. Tags are kept beside the store."""
    changed = changed_values(change, memory, frozenset({"content", "tags"}))
    edits: tuple[Edit, ...] = ()
    if "content" in changed:
        text = content_of(change).strip()
        edits = _replaced(memory, context, text)
    if "tags" in changed:
        native = words_of(memory.extra.get("tags"))
        edits += tag_edits(context.sidecar_entry(memory), changed["tags"], native)
    return plan_one(change, memory, edits, others=(context.ref(str(memory.extra["note"])),))


def plan_delete_entry(change: Change, memory: Memory, context: DocumentContext) -> Plan:
    """Plan to remove the entry with its heading."""
    edits = (*_replaced(memory, context, None), *context.sidecar_entry(memory).removal())
    return plan_one(change, memory, edits, others=(context.ref(str(memory.extra["note"])),))


def _replaced(memory: Memory, context: DocumentContext, text: str | None) -> tuple[Edit, ...]:
    """The edit that gives an entry this text, or removes it. Raises Conflict or Refused."""
    path, file = str(memory.extra["note"]), Path(memory.origin.file)
    before = planned_text(file, context.root, context.view) or ""
    document = parse_document(path, str(file), before, None)
    known = list(parse_entries(document.body))
    at = next((n for n, each in enumerate(known) if each.name == memory.extra[ENTRY]), None)
    if at is None or known[at].text != memory.content:
        raise Conflict("another program changed or removed this entry", where=str(file), yours=text)
    own, body = known[at], document.body
    if text is None:
        body = body[: own.heading] + body[own.end :]
        wanted = [each.text for each in known if each is not own]
    else:
        body = body[: own.start] + text + body[own.start + len(own.text) :]
        wanted = [text if each is own else each.text for each in known]
    if [each.text for each in parse_entries(body)] != wanted:
        raise Refused("this text would not be read as one entry", do="leave headings of notes out")
    after = with_body(document, body) if body else document.head or "\n"
    if after == before:
        return ()
    return (text_edit(str(file), before, after, kind=Kind.LINES),)


# ---- observations --------------------------------------------------------------------------------

# An observation has no id: it is named by a digest of its line. The sidecar keeps the name of one
# that memtui edited, see `memtui.stores.listed_texts.name_texts`.


def named_observations(path: str, body: str, sidecar: Sidecar) -> list[tuple[str, Observation]]:
    """The observations of a note with their ids, which an edit by memtui does not change."""
    found = observations(body)
    keys = [each.key.partition("~")[0] for each in found]
    derived = [(key, f"{path}#{key}") for key in keys]
    return list(zip(name_texts(derived, f"{path}#", sidecar, path), found, strict=True))


def plan_delete_line(change: Change, memory: Memory, context: DocumentContext) -> Plan:
    """Plan to remove the line."""
    line = _ObservationLine.open(memory, context)
    edits = (*line.edit(None), *context.sidecar_entry(memory).removal())
    return plan_one(change, memory, edits, others=(context.ref(str(memory.extra["note"])),))


def plan_edit_line(change: Change, memory: Memory, context: DocumentContext) -> Plan:
    """Plan another text, category or tags of an observation; the rest of its note stays."""
    changed = changed_values(change, memory, frozenset({"content", "type", "tags"}))
    edits: tuple[Edit, ...] = ()
    entry: dict[str, Any] = {}
    if {"content", "type"} & changed.keys():
        line = _ObservationLine.open(memory, context)
        statement = content_of(change).strip() if "content" in changed else memory.content
        category = str(changed.get("type") or memory.type).strip()
        edits = line.edit(line.written(statement, category))
        key = line.checked(edits, statement, category)
        entry[TEXT_KEY] = None if f"{line.path}#{key}" == memory.id else key
    if "tags" in changed:
        native = [tag for tag in memory.tags if f"#{tag}" in memory.content]
        entry["tags"] = [tag for tag in tag_words(changed["tags"]) if tag not in native]
    edits += context.sidecar_entry(memory).set(**entry) if entry else ()
    return plan_one(change, memory, edits, others=(context.ref(str(memory.extra["note"])),))


class _ObservationLine(NamedTuple):
    """The line of a note that holds an observation."""

    path: str
    file: Path
    before: str
    """Text of the note."""
    number: int
    """0-based, in the text."""
    observation: Observation

    @classmethod
    def open(cls, memory: Memory, context: DocumentContext) -> _ObservationLine:
        """Find the line, as it is after the changes planned so far. Raises Conflict, Refused."""
        path, file = str(memory.extra["note"]), Path(memory.origin.file)
        text = planned_text(file, context.root, context.view)
        document = parse_document(path, str(file), text or "", None)
        for id, each in named_observations(path, document.body, context.sidecar):
            if id == memory.id and each.text == memory.content:
                return cls(path, file, text or "", document.line - 2 + each.line, each)
        raise Conflict("another program changed or removed this line", where=str(file))

    def written(self, statement: str, category: str) -> str:
        """The line with another statement and category. Raises Refused."""
        if "\n" in statement:
            raise Refused("an observation is one line", where=self.path, do="edit the note")
        head, found, tail = self.before.split("\n")[self.number].rpartition(self.observation.text)
        old = f"[{self.observation.category}]"
        named = old in head
        if category != self.observation.category:
            head = head.replace(old, f"[{category}]", 1) if named else f"{head}[{category}] "
        return f"{head}{statement}{tail}" if found else statement

    def edit(self, line: str | None) -> tuple[Edit, ...]:
        """The edit that gives the line this text, or removes it."""
        lines = self.before.split("\n")
        lines[self.number : self.number + 1] = [] if line is None else [line]
        after = "\n".join(lines)
        if after == self.before:
            return ()
        return (text_edit(str(self.file), self.before, after, kind=Kind.LINES),)

    def checked(self, edits: Sequence[Edit], statement: str, category: str) -> str:
        """The key of the new line. Raises Refused unless only this observation is another one."""
        after = edits[0].after if edits else self.before
        found = observations(parse_document(self.path, "", after, None).body)
        known = observations(parse_document(self.path, "", self.before, None).body)
        at = known.index(self.observation)
        wanted = [(each.line, each.category, each.text) for each in known]
        wanted[at] = (known[at].line, category, statement)
        if [(each.line, each.category, each.text) for each in found] != wanted:
            raise Refused(
                "this text would not be read as one observation",
                where=self.path,
                do="edit the note",
            )
        return found[at].key.partition("~")[0]
