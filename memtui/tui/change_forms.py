"""The form of each action that asks for input: which fields it has, and the changes they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memtui import text
from memtui.changes import Act, Change
from memtui.model import IMPORTANCES, Memory
from memtui.stores.base import WritableStore
from memtui.tui.form import (
    LABELS,
    Form,
    FormField,
    Kind,
    Values,
    changed_fields,
    field_value,
    tags_of,
    value_of,
)


def _field(
    name: str, value: str, known: Mapping[str, Sequence[str]], *, locked: str = ""
) -> FormField:
    kind = {"content": Kind.PROSE, "importance": Kind.ONE_OF}.get(name, Kind.LINE)
    offered = IMPORTANCES if name == "importance" else tuple(known.get(name, ()))
    hint = "comma-separated tags" if name == "tags" else ""
    return FormField(name, LABELS[name], kind, value, offered, locked, hint)


def _locked(name: str, store: WritableStore) -> str:
    return "" if name in store.editable else f"read-only in {store.format}"


_ORDER = ("title", "content", "type", "importance", "entity", "tags")


def edit(
    memory: Memory,
    store: WritableStore,
    known: Mapping[str, Sequence[str]],
    *,
    act: Act = Act.EDIT,
    content: str | None = None,
) -> Form:
    """Edit a memory, or accept a proposal as edited; `content` replaces the initial text."""

    def changes(values: Values, force: bool) -> list[Change]:
        fields = changed_fields(memory, values)
        if not fields and act is Act.EDIT:
            return []
        return [Change(act, memory.store, memory.ref, fields, force)]

    fields = [
        _field(name, value_of(memory, name), known, locked=_locked(name, store)) for name in _ORDER
    ]
    if content is not None:
        fields = [_with_value(one, content) if one.name == "content" else one for one in fields]
    word = "Accept" if act is Act.ACCEPT else "Edit"
    return Form(
        f"{word} in {memory.store}",
        tuple(one for one in fields if _is_shown(one)),
        changes,
        memory,
        save="accept" if act is Act.ACCEPT else "save",
        act=act,
        store=memory.store,
        about=(memory,),
    )


def _is_shown(field: FormField) -> bool:
    """Whether the form shows the field: not an empty title that the format does not have."""
    return not (field.locked and field.name == "title" and not field.value)


def _with_value(one: FormField, value: str) -> FormField:
    return FormField(one.name, one.label, one.kind, value, one.known, one.locked, one.hint)


UNCHANGED = "unchanged"


def several(memories: Sequence[Memory], known: Mapping[str, Sequence[str]]) -> Form:
    """Change importance, type, tags, entity and pin of several memories; empty fields stay.

    What a memory's store cannot change is left out for that memory and counted.
    """

    def changes(values: Values, force: bool) -> list[Change]:
        new_values = {
            name: values[name].strip() for name in ("type", "entity") if values[name].strip()
        }
        if values["importance"] != UNCHANGED:
            new_values["importance"] = values["importance"]
        tag_words = tags_of(values["tags"])
        pin = {"pin": Act.PIN, "unpin": Act.UNPIN}.get(values["pin"])
        made = []
        for memory in memories:
            fields: dict[str, Any] = {
                name: value for name, value in new_values.items() if value != getattr(memory, name)
            }
            tags = _retagged(memory.tags, tag_words)
            if tag_words and tags != memory.tags:
                fields["tags"] = tags
            if fields:
                made.append(Change(Act.EDIT, memory.store, memory.ref, fields, force))
            if pin is not None and memory.pinned != (pin is Act.PIN):
                made.append(Change(pin, memory.store, memory.ref, {}, force))
        return made

    def line(name: str) -> FormField:
        hint = _present([value_of(memory, name) for memory in memories])
        return FormField(name, LABELS[name], Kind.LINE, "", tuple(known.get(name, ())), "", hint)

    tags = FormField("tags", "Tags", Kind.LINE, "", (), "", "tag to add, -tag to remove")
    choices = (UNCHANGED, *IMPORTANCES)
    fields = (
        FormField("importance", LABELS["importance"], Kind.ONE_OF, UNCHANGED, choices),
        line("type"),
        tags,
        line("entity"),
        FormField("pin", "Pin", Kind.ONE_OF, UNCHANGED, (UNCHANGED, "pin", "unpin")),
    )
    return Form(
        f"Edit {text.counted(len(memories), 'memory')}",
        fields,
        changes,
        focus="importance",
        store=memories[0].store,
        about=tuple(memories),
        as_possible=True,
    )


def _present(values: Sequence[str]) -> str:
    """Describe the present values of a field of several memories, as its hint."""
    found = set(values)
    if len(found) == 1:
        return f"{UNCHANGED}: {text.one_line(values[0]) or 'none'}"
    return f"{UNCHANGED}: {len(found)} different"


def supersede(memory: Memory, store: WritableStore, known: Mapping[str, Sequence[str]]) -> Form:
    """Supersede a memory with a new version, starting from the old text."""

    def changes(values: Values, force: bool) -> list[Change]:
        fields = changed_fields(memory, values)
        if "content" not in fields:
            return []
        return [Change(Act.SUPERSEDE, memory.store, memory.ref, fields, force)]

    names = [name for name in _ORDER if name in store.editable and name != "entity"]
    if not memory.title and "title" in names and memory.kind != "observation":
        names.remove("title")
    fields = [_field(name, value_of(memory, name), known) for name in names]
    return Form(
        f"Supersede in {memory.store}",
        tuple(fields),
        changes,
        memory,
        save="supersede",
        act=Act.SUPERSEDE,
        store=memory.store,
        about=(memory,),
    )


def add(
    store: WritableStore,
    known: Mapping[str, Sequence[str]],
    *,
    entity: str = "",
    type: str = "",
    kinds: Sequence[str] = (),
) -> Form:
    """Add a memory to a store."""

    def changes(values: Values, force: bool) -> list[Change]:
        if not values.get("content", "").strip():
            return []
        fields = {name: field_value(name, words) for name, words in values.items()}
        filled_in = {name: value for name, value in fields.items() if value}
        if filled_in.get("importance") == "medium" and "importance" not in store.editable:
            filled_in.pop("importance")
        return [Change(Act.ADD, store.label, "", filled_in, force)]

    start = {"entity": entity, "type": type, "importance": "medium"}
    names = [name for name in _ORDER if name in store.editable or name in ("entity", "type")]
    fields = [_field(name, start.get(name, ""), known) for name in names]
    if len(kinds) > 1:
        first = FormField("kind", "Kind", Kind.ONE_OF, kinds[0], tuple(kinds))
        fields.insert(0, first)
    return Form(
        f"New memory in {store.label}",
        tuple(fields),
        changes,
        save="add",
        act=Act.ADD,
        store=store.label,
    )


def tag(memories: Sequence[Memory]) -> Form:
    """Replace the tags of one memory; for several, add tags and (with a minus) remove them."""
    one = memories[0] if len(memories) == 1 else None

    def changes(values: Values, force: bool) -> list[Change]:
        tag_words = tags_of(values["tags"])
        made = []
        for memory in memories:
            new_tags = tag_words if one else _retagged(memory.tags, tag_words)
            if new_tags != memory.tags:
                made.append(Change(Act.TAG, memory.store, memory.ref, {"tags": new_tags}, force))
        return made

    hint = "comma-separated tags" if one else "tag to add, -tag to remove"
    value = ", ".join(one.tags) if one else ""
    title = "Tags" if one else f"Tags of {len(memories)} memories"
    return Form(
        title,
        (FormField("tags", "Tags", Kind.LINE, value, (), "", hint),),
        changes,
        one,
        focus="tags",
        act=Act.TAG,
        store=memories[0].store,
        about=tuple(memories),
    )


def _retagged(tags: Sequence[str], tag_words: Sequence[str]) -> tuple[str, ...]:
    removed = {word[1:].strip() for word in tag_words if word.startswith("-")}
    added = [word.removeprefix("+") for word in tag_words if not word.startswith("-")]
    return tuple(dict.fromkeys([*(tag for tag in tags if tag not in removed), *added]))


def retype(memories: Sequence[Memory], known: Sequence[str]) -> Form:
    """Change the type; of documents also by a path pattern, previewed before saving."""
    first = memories[0]
    by_pattern = first.kind == "document" and len(memories) == 1

    def changes(values: Values, force: bool) -> list[Change]:
        new_type = values["type"].strip()
        pattern = values.get("pattern", "").strip()
        if by_pattern and pattern and pattern != first.id:
            fields = {"type": new_type, "pattern": pattern}
            return [Change(Act.RETYPE, first.store, first.ref, fields, force)]
        return [
            Change(Act.RETYPE, memory.store, memory.ref, {"type": new_type}, force)
            for memory in memories
            if new_type != memory.type
        ]

    types = FormField("type", "Type", Kind.LINE, first.type, tuple(known))
    fields = [types]
    if by_pattern:
        hint = "this document, or a glob such as knowledge/**/*.md"
        fields.append(FormField("pattern", "Documents", Kind.LINE, first.id, (), "", hint))
    title = "Type" if len(memories) == 1 else f"Type of {len(memories)} memories"
    return Form(
        title,
        tuple(fields),
        changes,
        focus="type",
        act=Act.RETYPE,
        store=first.store,
        about=tuple(memories),
    )


def rate(memories: Sequence[Memory]) -> Form:
    """Rate memories from 1 to 5, or remove the rating."""

    def changes(values: Values, force: bool) -> list[Change]:
        rating = 0 if values["rating"] == "none" else int(values["rating"])
        return [
            Change(Act.RATE, memory.store, memory.ref, {"rating": rating}, force)
            for memory in memories
            if rating != (memory.extra.get("rating") or 0)
        ]

    known = ("none", "1", "2", "3", "4", "5")
    now = memories[0].extra.get("rating")
    value = str(now) if str(now) in known else "none"
    title = "Rating" if len(memories) == 1 else f"Rating of {len(memories)} memories"
    fields = (FormField("rating", "Rating", Kind.ONE_OF, value, known),)
    return Form(
        title,
        fields,
        changes,
        focus="rating",
        act=Act.RATE,
        store=memories[0].store,
        about=tuple(memories),
    )


def merge(keeper: Memory, others: Sequence[Memory]) -> Form:
    """Merge memories into `keeper`, with an edited text."""

    def changes(values: Values, force: bool) -> list[Change]:
        fields: dict[str, Any] = {"others": [other.id for other in others]}
        if values["content"] != keeper.content:
            fields["content"] = values["content"]
        return [Change(Act.MERGE, keeper.store, keeper.ref, fields, force)]

    content = FormField("content", "Text", Kind.PROSE, keeper.content)
    return Form(
        f"Merge {text.counted(len(others) + 1, 'memory')}",
        (content,),
        changes,
        keeper,
        save="merge",
        act=Act.MERGE,
        store=keeper.store,
        about=(keeper, *others),
    )


def again(
    act: Act, store: WritableStore, memories: Sequence[Memory], known: Mapping[str, Sequence[str]]
) -> Form:
    """Build the form of an action again, as for a draft; without memories, that of adding one."""
    if not memories or act is Act.ADD:
        return add(store, known, kinds=known.get("kind", ()))
    if act is Act.SUPERSEDE:
        return supersede(memories[0], store, known)
    if act is Act.TAG:
        return tag(memories)
    if act is Act.RETYPE:
        return retype(memories, known.get("type", ()))
    if act is Act.RATE:
        return rate(memories)
    if act is Act.MERGE and len(memories) > 1:
        return merge(memories[0], memories[1:])
    if act is Act.EDIT and len(memories) > 1:
        return several(memories, known)
    return edit(memories[0], store, known, act=Act.ACCEPT if act is Act.ACCEPT else Act.EDIT)
