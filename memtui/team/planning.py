"""Plan changes of a team's memories as edits of rows; nothing is written.

Every edit names the columns that it replaces. What another person changed since the memory was
shown is found here, and once more in the transaction that writes (`memtui.team.writing`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from memtui.changes import Act, Change, Edit, Kind, Outcome, Plan, row_edit
from memtui.errors import Conflict, Refused
from memtui.model import FILE_TIME_KEY, IMPORTANCES, KINDS, STATUSES, Link, Memory
from memtui.stores.base import StoreView
from memtui.stores.importing import extra_in, is_import, links_in, texts_in
from memtui.stores.plans import (
    RELATION,
    plan_duplicate,
    plan_merge,
    plan_one,
    plan_successor,
    planned_before,
    requested_link,
)
from memtui.stores.queryable import OTHERS, FormerVersion
from memtui.stores.values import changed_values, check_unchanged, content_of, created_of, tag_words
from memtui.team.rows import COLUMNS, from_memory, of_columns

MEMORIES, LINKS = "memories", "links"
EDITABLE = frozenset({"content", "title", "type", "entity", "importance", "tags", "kind", "source"})
_STATUS_ACTS = {
    Act.RETIRE: "retired",
    Act.RESTORE: "active",
    Act.ACCEPT: "active",
    Act.DECLINE: "retired",
}
ACTS = frozenset({
    *_STATUS_ACTS, Act.ADD, Act.EDIT, Act.RETYPE, Act.TAG, Act.PIN, Act.UNPIN, Act.DELETE,
    Act.SUPERSEDE, Act.MERGE, Act.LINK, Act.UNLINK,
})  # fmt: skip
UNSUPPORTED = {
    Act.RATE: "a team's memory has an importance, no rating",
    Act.HIDE: "retire it: for a team nothing is hidden by one person only",
    Act.ARCHIVE: "it belongs to no branch",
    Act.REVIEW: "a team's memories are not marked as reviewed",
}

ReadRows = Callable[[Iterable[str]], Mapping[str, dict[str, Any]]]
"""The rows with these ids, as columns in JSON, with `links` and `version`."""


class Planner:
    """One change."""

    def __init__(
        self, root: str, label: str, read_rows: ReadRows, view: StoreView | None, now: datetime
    ) -> None:
        self.root, self.label, self.view = root, label, view
        self._read_rows = read_rows
        self._now = now.astimezone(UTC).isoformat()

    def plan(self, change: Change, memory: Memory | None) -> Plan:
        """The edits of a change. Raises Refused, Conflict or RefError."""
        if memory is None:
            return self._add(change)
        match change.act:
            case Act.EDIT:
                values = _checked(changed_values(change, memory, EDITABLE), change)
                return plan_one(change, memory, self._put(memory, values))
            case Act.RETYPE | Act.TAG:
                name = "type" if change.act is Act.RETYPE else "tags"
                values = _checked({name: change.fields.get(name)}, change)
                return plan_one(change, memory, self._put(memory, values))
            case Act.PIN | Act.UNPIN:
                pinned = {"pinned": change.act is Act.PIN}
                return plan_one(change, memory, self._put(memory, pinned, is_dated=False))
            case Act.DELETE:
                return plan_one(change, memory, tuple(self._removal(memory)))
            case Act.SUPERSEDE:
                return self._supersede(change, memory)
            case Act.MERGE:
                return self._merge(change, memory)
            case Act.LINK | Act.UNLINK:
                return plan_one(change, memory, tuple(self._link(change, memory)))
        status = _STATUS_ACTS[change.act]
        values = {"status": status, **({"superseded_by": []} if status == "active" else {})}
        ends = status != "active"
        return plan_one(change, memory, self._put(memory, values), ends=ends)

    def revert(self, former: FormerVersion, following: FormerVersion | None) -> Plan:
        """The edits that take back what one change wrote, and leave what was changed since.

        Args:
            former: The memory before the change.
            following: The same before the next change of it; None: there was none.

        Raises:
            Conflict: Something that the change wrote is not there any more.
        """
        memory = former.memory
        row = self._read_rows([memory.id]).get(memory.id)
        change, key = Change(Act.EDIT, self.label, memory.ref), {"id": memory.id}
        if (row is None) != (former.act == "delete"):
            what = "removed it" if row is None else "made it again"
            raise Conflict(f"{OTHERS} {what} since then", where=memory.ref)
        if row is None:
            edits = [self._edit(MEMORIES, key, None, {n: former.row[n] for n in COLUMNS})]
            edits += [self._link_edit(memory.id, link) for link in memory.links]
            return plan_one(change, memory, tuple(edits))
        links = of_columns(row, self.label, self.root).links
        written: Mapping[str, Any] = row if following is None else following.row
        after = links if following is None else following.memory.links
        names = [name for name in COLUMNS if written[name] != former.row[name]]
        others = [name for name in names if row[name] != written[name]]
        added = [link for link in after if link not in memory.links]
        gone = [link for link in memory.links if link not in after]
        changed = [name for name in others if name != "updated"]
        if any((link in links) == (link in gone) for link in (*added, *gone)):
            changed.append("links")
        if changed:
            what = f"{OTHERS} changed its {', '.join(changed)} since then"
            raise Conflict(what, where=memory.ref)
        kept = [name for name in names if name not in others]
        before, back = ({name: each[name] for name in kept} for each in (row, former.row))
        edits = [self._edit(MEMORIES, key, before, back)] if kept else []
        edits += [self._link_edit(memory.id, link, is_new=False) for link in added]
        edits += [self._link_edit(memory.id, link) for link in gone]
        return plan_one(change, memory, tuple(edits))

    # ---- rows -----------------------------------------------------------------------------------

    def _row(self, memory: Memory, new_text: str | None = None) -> dict[str, Any]:
        """The row of a memory after the changes that are planned so far; it says what the person
        saw. Raises Conflict."""
        row = self._read_rows([memory.id]).get(memory.id)
        for edit in self._planned(memory.id):
            row = None if edit.after is None else {**(row or {}), **edit.after}
        if row is None:
            what = f"{OTHERS} removed it"
            raise Conflict(what, where=memory.ref, base=memory.content, yours=new_text)
        check_unchanged(memory, row["content"], memory.ref, new_text, OTHERS)
        return row

    def _planned(self, id: str) -> Iterator[Edit]:
        for plan in () if self.view is None else planned_before(self.view):
            for edit in plan.edits:
                if edit.kind is Kind.ROW and edit.table == MEMORIES and edit.row == {"id": id}:
                    yield edit

    def _put(
        self, memory: Memory, values: Mapping[str, Any], *, is_dated: bool = True
    ) -> tuple[Edit, ...]:
        """The edit that sets these columns; none if they have these values already."""
        row = self._row(memory, values.get("content"))
        changed = {name: value for name, value in values.items() if row[name] != value}
        if not changed:
            return ()
        shown = from_memory(memory)
        is_fresh = any(self._planned(memory.id))
        for name in changed:
            if not is_fresh and row[name] != shown.get(name, row[name]):
                raise Conflict(
                    f"{OTHERS} changed its {name} since it was shown",
                    where=memory.ref,
                    base=str(shown[name]),
                    theirs=str(row[name]),
                    yours=str(values[name]),
                )
        after = {**changed, **({"updated": self._now} if is_dated else {})}
        return (self._edit(MEMORIES, {"id": memory.id}, {n: row[n] for n in after}, after),)

    def _edit(
        self,
        table: str,
        key: Mapping[str, Any],
        before: Mapping[str, Any] | None,
        after: Mapping[str, Any] | None,
    ) -> Edit:
        for value in _texts(after):
            if "\0" in value or not _is_valid(value):
                raise Refused("the text holds a character that Postgres cannot keep (NUL or half a"
                              " character)", do="remove it")  # fmt: skip
        return row_edit(self.root, table, key, before, after)

    def _insert(self, change: Change, **more: Any) -> tuple[str, list[Edit]]:
        """The edits of a new row, and its id."""
        fields = change.fields
        id = str(fields.get("id") or change.new_id or uuid4())
        created = created_of(change, datetime.fromisoformat(self._now)).astimezone(UTC).isoformat()
        values: dict[str, Any] = {
            "kind": _one_of(fields.get("kind") or "note", KINDS, "kind"),
            "type": "",
            "title": "",
            "entity": "",
            "source": "",
            "importance": fields.get("importance") or "medium",
            "status": _one_of(fields.get("status") or "active", STATUSES, "status"),
            "content": content_of(change),
            "tags": tag_words(fields.get("tags", ())),
            "supersedes": texts_in(change, "supersedes"),
            "superseded_by": texts_in(change, "superseded_by"),
            "created": created,
            "updated": created,
            "pinned": fields.get("pinned") is True,
            "confidence": fields.get("confidence"),
            "extra": {k: v for k, v in extra_in(change).items() if k not in _NOT_KEPT},
        }
        for name in ("type", "title", "entity", "source"):
            values[name] = str(fields.get(name) or "")
        if isinstance(updated := fields.get("updated"), datetime):
            values["updated"] = updated.astimezone(UTC).isoformat()
        values = _checked({**values, **more}, change)
        edits = [self._edit(MEMORIES, {"id": id}, None, {"id": id, **values})]
        edits += [self._link_edit(id, link) for link in links_in(change)]
        return id, edits

    def _link_edit(self, id: str, link: Link, *, is_new: bool = True) -> Edit:
        key = {"id": id, "relation": link.relation, "target": link.target}
        row = {
            **key,
            "valid_from": _iso(link.valid_from),
            "valid_to": _iso(link.valid_to),
            "note": link.note,
        }
        return self._edit(LINKS, key, None if is_new else row, row if is_new else None)

    # ---- acts -----------------------------------------------------------------------------------

    def _add(self, change: Change) -> Plan:
        id, edits = self._insert(change)
        if is_import(change) and id in self._read_rows([id]):
            return plan_duplicate(change, "a memory with this id", f"{self.label}:{id}")
        return Plan((change,), tuple(edits), Outcome.ADDED, refs=(f"{self.label}:{id}",))

    def _supersede(self, change: Change, memory: Memory) -> Plan:
        names = ("type", "entity", "kind", "tags", "pinned")
        inherited = {name: getattr(memory, name) for name in names}
        given = {name: value for name, value in change.fields.items() if value}
        fields = {"importance": memory.importance, **inherited, **given}
        new = Change(Act.ADD, change.store, fields=fields)
        id, edits = self._insert(new, supersedes=[memory.id])
        by = [*memory.superseded_by, id]
        ended = {"status": "superseded", "superseded_by": by, "pinned": False}
        edits += self._put(memory, ended)
        reason = f"takes the place of {memory.id}"
        return plan_successor(change, memory, f"{self.label}:{id}", tuple(edits), reason)

    def _merge(self, change: Change, memory: Memory) -> Plan:
        named = change.fields.get("others")
        ids = [str(n).removeprefix(f"{self.label}:") for n in named or () if n]
        assert self.view is not None
        others = [self.view.get(f"{self.label}:{id}") for id in ids if id != memory.id]
        if not others:
            raise Refused("there is nothing to merge it with", where=memory.ref)
        tags = [*memory.tags, *(tag for other in others for tag in other.tags)]
        values: dict[str, Any] = {
            "supersedes": [*dict.fromkeys([*memory.supersedes, *(other.id for other in others)])],
            "tags": [*dict.fromkeys(tags)],
        }
        if change.fields.get("content"):
            values["content"] = content_of(change)
        if any(other.pinned for other in others):
            values["pinned"] = True
        edits = [*self._put(memory, values)]
        for other in others:
            by = [*other.superseded_by, memory.id]
            gone = {"status": "superseded", "superseded_by": by, "pinned": False}
            edits += self._put(other, gone)
        return plan_merge(change, memory, others, tuple(edits))

    def _removal(self, memory: Memory) -> Iterator[Edit]:
        row = self._row(memory)
        for link in of_columns(row, self.label, self.root).links:
            yield self._link_edit(memory.id, link, is_new=False)
        columns = {name: value for name, value in row.items() if name not in ("links", "version")}
        yield self._edit(MEMORIES, {"id": memory.id}, columns, None)

    def _link(self, change: Change, memory: Memory) -> Iterator[Edit]:
        relation, target = requested_link(change, memory)
        row = self._row(memory)
        known = of_columns(row, self.label, self.root).links
        same = [each for each in known if (each.relation, each.target) == (relation, target)]
        if change.act is Act.UNLINK:
            if not same:
                raise Refused(f"there is no link {relation} to {target}")
            yield from (self._link_edit(memory.id, each, is_new=False) for each in same)
        elif not RELATION.fullmatch(relation):
            raise Refused("a relation is a word of lower-case letters, digits and _")
        elif not target:
            raise Refused("a link needs a memory or an entity to lead to")
        elif not same:
            note = str(change.fields.get("note") or "")
            yield self._link_edit(memory.id, Link(relation, target, note=note))


_NOT_KEPT = frozenset({"author", "team", "version", FILE_TIME_KEY, "created_from"})
"""Keys of `extra` that a row has elsewhere, or that are of a file."""


def _checked(values: Mapping[str, Any], change: Change) -> dict[str, Any]:
    """Values as a row holds them. Raises Refused."""
    found = dict(values)
    for name, value in values.items():
        if name == "importance":
            _one_of(value, IMPORTANCES, name)
        elif name == "kind":
            _one_of(value, KINDS, name)
        elif name == "tags":
            found[name] = tag_words(value)
        elif name == "content":
            found[name] = content_of(change)
        elif name in ("type", "title", "entity", "source"):
            found[name] = str(value or "").strip()
    return found


def _one_of(value: object, known: Sequence[str], name: str) -> str:
    if value not in known:
        raise Refused(f"the {name} is one of {', '.join(known)}")
    return str(value)


def _iso(time: datetime | None) -> str | None:
    return None if time is None else time.astimezone(UTC).isoformat()


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from (*_texts(key), *_texts(item))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def _is_valid(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
