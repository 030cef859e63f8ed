"""Name the texts of a file that gives them no ids, and plan every act on them.

A format says how its file is parsed, and how a text is replaced, removed and inserted
(`ListFile`). Such a format has no word for a status, so a retired or superseded text is removed
from the file and stored in the sidecar; an agent is given what the file holds.

The id of a text is derived from the text, so it changes when the text does. When memtui itself
edits a text, the sidecar stores the id for the new text (key `text`), so that tags, links and undo
stay with it. A text that another program edits becomes another memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from memtui.changes import Act, Change, Edit, Kind, Outcome, Plan, text_edit
from memtui.dataclass import dataclass, field, replace
from memtui.errors import Conflict, Refused
from memtui.model import IMPORTANCES, Memory
from memtui.stores.base import StoreView
from memtui.stores.plans import (
    SIDECAR_ACTS,
    ActHandler,
    PlanContext,
    plan_duplicate,
    plan_merge,
    plan_one,
    successor_warnings,
)
from memtui.stores.sidecar import Sidecar, entry_links, is_kept, kept_value
from memtui.stores.values import (
    RATING_OF,
    changed_values,
    check_unchanged,
    checked_importance,
    content_of,
    importance_of_rating,
    tag_words,
    to_iso_seconds,
)

EDITABLE = frozenset({"content", "importance", "tags"})
_KEPT_ACTS = frozenset({Act.RESTORE, Act.DELETE}) | SIDECAR_ACTS


@dataclass(frozen=True, slots=True)
class ListedText:
    """One text of a file."""

    id: str
    text: str
    group: str
    """The list it stands in: an entity, a heading; empty where the file has one list."""
    at: tuple[int, ...]
    """Where it stands, by the format's own count."""


class ListFile(ABC):
    """One parsed file. Nothing is written: each method returns the whole text it would have."""

    path: Path
    shard: str
    before: str | None
    """The whole text; None where there is no file."""
    items: Sequence[ListedText]
    form = Kind.LINES
    """How other programs' changes are merged, see `memtui.changes.Kind`."""

    @abstractmethod
    def replace(self, item: ListedText, new_text: str) -> str:
        """Replace a text. Raises Refused."""

    @abstractmethod
    def remove(self, removed: Sequence[ListedText]) -> str:
        """Remove texts. Raises Refused."""

    @abstractmethod
    def insert(self, group: str, new_text: str, type: str = "") -> str:
        """Insert a text at the end of a list. Raises Refused."""

    @abstractmethod
    def natural_id(self, group: str, text: str) -> str:
        """The id that the text itself gives."""

    def key(self, group: str, text: str) -> str:  # noqa: ARG002
        """The key by which a text is recognised in the file, see `name_texts`."""
        return text_key(text)

    def fit(self, text: str) -> str:
        """The text as the file can hold it. Raises Refused."""
        return text

    def group_of(self, memory: Memory) -> str:  # noqa: ARG002
        """The list that a memory belongs to, also when it is not in the file now."""
        return ""

    def other_ids(self, text: str) -> set[str]:  # noqa: ARG002
        """Ids of memories that a text of the file gives rise to and that are no items."""
        return set()

    def find(self, memory: Memory, new_text: str | None = None) -> ListedText:
        """The item of a memory, unchanged since it was read. Raises Conflict."""
        for item in self.items:
            if item.id == memory.id:
                check_unchanged(memory, item.text, str(self.path), new_text)
                return item
        raise Conflict(
            "another program changed or removed this memory", where=str(self.path), yours=new_text
        )

    def find_twin(self, group: str, text: str) -> ListedText | None:
        """The item of this list that has the same text."""
        twins = (item for item in self.items if item.text == text and item.group == group)
        return next(twins, None)

    def edit(self, after: str) -> tuple[Edit, ...]:
        """The edit that gives the file this text."""
        if after == self.before:
            return ()
        return (text_edit(str(self.path), self.before, after, kind=self.form),)


@dataclass(frozen=True, slots=True)
class ListContext(PlanContext):
    """The context of planning a change in a store of listed texts."""

    open_list: Callable[[str, StoreView], ListFile] = field(repr=False)
    """The file of a shard as it is after the changes planned so far. Raises Refused."""

    def file_of(self, memory: Memory) -> ListFile:
        return self.open_list(self.shard_of(memory), self.view)

    def other_refs(self, file: ListFile, after: str) -> tuple[str, ...]:
        """Refs of memories that come or go along with a change of the file."""
        changed = file.other_ids(file.before or "") ^ file.other_ids(after)
        return tuple(self.ref(id) for id in sorted(changed))


AnyList = TypeVar("AnyList", bound=ListContext)


def not_on(act: Act, memory: Memory, program: str = "its program") -> str:
    """Why an act cannot be done on a text that is or is not in the file; "" if it can."""
    if is_kept(memory) and act not in _KEPT_ACTS:
        return f"{program} no longer holds it, only memtui does: restore it first"
    if act is Act.RESTORE and not is_kept(memory):
        return "it is active already"
    return ""


def importance_in(sidecar: Sidecar, id: str) -> str:
    """The importance that a person chose; medium if none did."""
    return importance_of_rating(sidecar.entry(id).get("rating")) or "medium"


# ---- acts ---------------------------------------------------------------------------------------


def plan_edit(change: Change, memory: Memory, context: AnyList) -> Plan:
    """Another text in the same place; importance and tags are kept in the sidecar."""
    changed = changed_values(change, memory, EDITABLE)
    values: dict[str, Any] = {}
    edits: tuple[Edit, ...] = ()
    others: tuple[str, ...] = ()
    if "content" in changed:
        file = context.file_of(memory)
        new_text = file.fit(content_of(change))
        item = file.find(memory, new_text)
        if new_text != item.text:
            _refuse_twin(file, item.group, new_text)
            after = file.replace(item, new_text)
            edits, others = file.edit(after), context.other_refs(file, after)
            values[TEXT_KEY] = _kept_name(file, memory.id, item.group, new_text)
            if memory.updated is None or context.sidecar.entry(memory.id).get("updated"):
                values["updated"] = to_iso_seconds(context.now)
    if "importance" in changed:
        values["rating"] = RATING_OF[checked_importance(changed["importance"])]
    if "tags" in changed:
        values["tags"] = _own_tags(changed["tags"], memory, context)
    if values:
        edits += context.sidecar_entry(memory).set(**values)
    return plan_one(change, memory, edits, others=others)


def _own_tags(value: object, memory: Memory, context: AnyList) -> list[str]:
    """The tags that the sidecar holds: without those that the text itself gives."""
    native = set(memory.tags).difference(context.sidecar.entry(memory.id).get("tags", ()))
    return [tag for tag in tag_words(value) if tag not in native]


def _refuse_twin(file: ListFile, group: str, text: str) -> None:
    if file.find_twin(group, text) is not None:
        raise Refused("the same text already exists", where=str(file.path))


def _kept_name(file: ListFile, id: str, group: str, text: str) -> str | None:
    """The key that the sidecar stores so that the text keeps this id; None: not needed."""
    return None if file.natural_id(group, text) == id else file.key(group, text)


def plan_delete(change: Change, memory: Memory, context: AnyList) -> Plan:
    forgotten = context.sidecar_entry(memory).removal()
    if is_kept(memory):
        return plan_one(change, memory, forgotten)
    file = context.file_of(memory)
    after = file.remove([file.find(memory)])
    edits = (*file.edit(after), *forgotten)
    return plan_one(change, memory, edits, others=context.other_refs(file, after))


def plan_retire(change: Change, memory: Memory, context: AnyList) -> Plan:
    file = context.file_of(memory)
    after = file.remove([file.find(memory)])
    entry_edits = context.sidecar_entry(memory).set(**_kept_values(memory, context, "retired"))
    refs = (memory.ref, *context.other_refs(file, after))
    reason = "removed from its file, kept by memtui"
    edits = (*file.edit(after), *entry_edits)
    return Plan((change,), edits, Outcome.DONE, reason, refs, (memory.ref,))


def _kept_values(memory: Memory, context: AnyList, status: str, by: str = "") -> dict[str, Any]:
    """Keys of the sidecar entry of a memory that is taken out of its file."""
    entry = context.sidecar.entry(memory.id)
    sidecar_links = entry_links(entry)
    former = replace(
        memory,
        status=status,
        pinned=False,
        links=tuple(link for link in memory.links if link not in sidecar_links),
        superseded_by=(*memory.superseded_by, *((by,) if by else ())),
    )
    after = {"superseded_by": [*entry.get("superseded_by", ()), by]} if by else {}
    return {"kept": kept_value(former), TEXT_KEY: None, "pinned": None, **after}


def plan_restore(change: Change, memory: Memory, context: AnyList) -> Plan:
    file = context.file_of(memory)
    group = file.group_of(memory)
    _refuse_twin(file, group, memory.content)
    after = file.insert(group, memory.content, memory.type)
    values = {"kept": None, TEXT_KEY: _kept_name(file, memory.id, group, memory.content)}
    edits = (*file.edit(after), *context.sidecar_entry(memory).set(**values))
    others = context.other_refs(file, after)
    return plan_one(change, memory, edits, successor_warnings(memory), others=others)


def plan_supersede(change: Change, memory: Memory, context: AnyList) -> Plan:
    """The new text takes the place of the old one, which the sidecar keeps."""
    file = context.file_of(memory)
    new_text = file.fit(content_of(change))
    item = file.find(memory, new_text)
    _refuse_twin(file, item.group, new_text)
    after = file.replace(item, new_text)
    new = file.natural_id(item.group, new_text)
    if new == memory.id or any(other.id == new for other in file.items):
        raise Refused("another memory has the name of this text", do="edit it instead")
    entry = {
        "supersedes": [memory.id],
        "tags": _own_tags(change.fields.get("tags", memory.tags), memory, context),
        "pinned": memory.pinned or None,
        "created": to_iso_seconds(context.now),
        **_rating(change),
    }
    edits = (
        *file.edit(after),
        *context.sidecar_entry(memory).set(**_kept_values(memory, context, "superseded", new)),
        *context.entry_edits(new, file.shard, **entry, kept=None),
    )
    refs = (context.ref(new), memory.ref, *context.other_refs(file, after))
    return Plan((change,), edits, Outcome.SUPERSEDED, f"Supersedes {memory.id}", refs, refs[1:2])


def plan_merging(change: Change, memory: Memory, context: AnyList) -> Plan:
    """The others are taken out of their files and kept as superseded by this one."""
    others = context.others(change, memory)
    if any(is_kept(other) for other in others):
        raise Refused("one of them is not in its file", where=memory.ref)
    edits: list[Edit] = [*context.sidecar_entry(memory).superseding(others)]
    refs: list[str] = []
    for shard in dict.fromkeys(context.shard_of(other) for other in others):
        file = context.open_list(shard, context.view)
        same_shard = [other for other in others if context.shard_of(other) == shard]
        after = file.remove([file.find(other) for other in same_shard])
        edits += file.edit(after)
        refs += context.other_refs(file, after)
        for other in same_shard:
            entry_edits = _kept_values(other, context, "superseded", memory.id)
            edits += context.sidecar_entry(other).set(**entry_edits)
    plan = plan_merge(change, memory, others, tuple(edits))
    return replace(plan, refs=(*plan.refs, *refs))


def _rating(change: Change) -> dict[str, int]:
    """The key for the importance of a new memory; none if it is not stated, or medium."""
    importance = change.fields.get("importance")
    is_rated = importance in IMPORTANCES and importance != "medium"
    return {"rating": RATING_OF[str(importance)]} if is_rated else {}


def plan_listed_add(
    change: Change, context: AnyList, file: ListFile, group: str, type: str = ""
) -> Plan:
    """One more text. Raises Refused."""
    text = file.fit(content_of(change))
    if twin := file.find_twin(group, text):
        return plan_duplicate(change, "the same text", context.ref(twin.id))
    after = file.insert(group, text, type)
    id = file.natural_id(group, text)
    if any(item.id == id for item in file.items):
        raise Refused("another memory has the name of this text", do="reword it")
    values: dict[str, Any] = {"created": to_iso_seconds(context.now), "kept": None}
    if change.fields.get("tags"):
        values["tags"] = tag_words(change.fields["tags"])
    edits = (*file.edit(after), *context.entry_edits(id, file.shard, **values, **_rating(change)))
    refs = (context.ref(id), *context.other_refs(file, after))
    return Plan((change,), edits, Outcome.ADDED, f"Added to {file.path.name}", refs)


LIST_HANDLERS: Mapping[Act, ActHandler[Any]] = {
    Act.EDIT: plan_edit,
    Act.DELETE: plan_delete,
    Act.RETIRE: plan_retire,
    Act.RESTORE: plan_restore,
    Act.SUPERSEDE: plan_supersede,
    Act.MERGE: plan_merging,
}
"""The handlers of every act that listed texts can hold."""


# ---- ids of texts -------------------------------------------------------------------------------


TEXT_KEY = "text"
"""Key of a sidecar entry: the `text_key` of the text that has this name now."""


def text_key(text: str) -> str:
    """A short digest of a text: its name where it has no better one."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:10]


def name_texts(
    texts: Iterable[tuple[str, str]], prefix: str, sidecar: Sidecar, shard: str
) -> list[str]:
    """Give each text of a file an id that no other text has.

    Args:
        texts: The `text_key` of each text, and the id derived from the text.
        prefix: The prefix of every id of the file.
        sidecar: Holds the ids of texts that memtui edited.
        shard: Key of the shard of the file.

    Returns:
        The ids, in the order of the texts.
    """
    ids_by_key: dict[str, list[str]] = {}
    for id, entry in sidecar.of_shard(shard):
        key = entry.get(TEXT_KEY)
        if isinstance(key, str) and id.startswith(prefix):
            ids_by_key.setdefault(key, []).append(id)
    reserved = {id for ids in ids_by_key.values() for id in ids}
    used: set[str] = set()
    result = []
    repeats: Counter[str] = Counter()
    for key, derived_id in texts:
        id = next((id for id in ids_by_key.get(key, ()) if id not in used), "")
        if not id:
            id = derived_id
            while id in reserved or id in used:
                repeats[derived_id] += 1
                id = f"{derived_id}~{repeats[derived_id] + 1}"
        used.add(id)
        result.append(id)
    return result
