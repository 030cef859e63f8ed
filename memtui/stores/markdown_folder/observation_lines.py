"""Change an observation of basic-memory as a line of its note; every other byte stays.

An observation has no id: it is named by a digest of its line. The sidecar keeps the name of one
that memtui edited, see `memtui.stores.listed_texts.name_texts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from memtui.changes import Change, Edit, Kind, Plan, text_edit
from memtui.errors import Conflict, Refused
from memtui.model import Memory
from memtui.stores.listed_texts import TEXT_KEY, name_texts
from memtui.stores.markdown.document_store import DocumentContext
from memtui.stores.markdown.documents import parse_document
from memtui.stores.markdown_folder.rules import Observation, observations
from memtui.stores.plans import plan_one
from memtui.stores.scanning import planned_text
from memtui.stores.sidecar import Sidecar
from memtui.stores.values import changed_values, content_of, tag_words


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
