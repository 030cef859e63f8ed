"""The form of each action that asks for input: which fields it has, and the changes they make."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from memtui import text
from memtui.changes import Act, Change
from memtui.errors import Conflict
from memtui.model import CURRENT, IMPORTANCES, Memory
from memtui.stores.base import Store

Values = Mapping[str, str]


class Kind(StrEnum):
    """The kind of input of a field."""

    PROSE = "prose"
    LINE = "line"
    ONE_OF = "one of"


class FormField(Struct, frozen=True):
    """One field of a form."""

    name: str
    label: str
    kind: Kind = Kind.LINE
    value: str = ""
    known: tuple[str, ...] = ()
    """Values to choose from, or suggestions."""
    locked: str = ""
    """Why the field is read-only; empty when it can be edited."""
    hint: str = ""
    note: str = ""
    """What stands at the right: how many of the memories can have it."""


class Form(Struct, frozen=True):
    """The fields of a dialog, and the changes that saving it makes."""

    title: str
    fields: tuple[FormField, ...]
    changes: Callable[[Values, bool], list[Change]]
    """(values by field, force) -> the changes; empty when there is nothing to save."""
    base: Memory | None = None
    """The memory as it was when the form was opened."""
    focus: str = "content"
    save: str = "save"
    act: Act = Act.EDIT
    store: str = ""
    """Label of the store it writes to."""
    about: tuple[Memory, ...] = ()
    """The memories it changes; empty when adding one."""
    as_possible: bool = False
    """Changes that a memory cannot have are left out and counted, the others are made."""
    left_out: Mapping[str, int] = {}
    """Reason -> how many of the chosen memories it is not about."""


LABELS = {
    "content": "Text",
    "title": "Title",
    "type": "Type",
    "importance": "Importance",
    "entity": "Entity",
    "tags": "Tags",
    "kind": "Kind",
}
"""The label of each memory field that a form can have."""


def tags_of(words: str) -> tuple[str, ...]:
    """Split `a, b` into (a, b)."""
    return tuple(dict.fromkeys(tag.strip() for tag in words.split(",") if tag.strip()))


def value_of(memory: Memory, name: str) -> str:
    """A field of a memory as the form shows it."""
    return _words(getattr(memory, name))


def _words(value: Any) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(value or "")


def field_value(name: str, words: str) -> Any:
    """The value of a change's field for an input."""
    if name == "tags":
        return tags_of(words)
    return words if name == "content" else words.strip()


def changed_fields(base: Memory, values: Values) -> dict[str, Any]:
    """The fields whose input differs from the memory, with their new values."""
    return {
        name: field_value(name, words)
        for name, words in values.items()
        if name in LABELS and words != value_of(base, name)
    }


def differing(one: Memory, other: Memory) -> list[str]:
    """The fields of a form in which two states of a memory differ."""
    return [name for name in LABELS if getattr(one, name) != getattr(other, name)]


def changed_underneath(base: Memory, now: Memory, values: Values, who: str) -> Conflict | None:
    """Return the conflict if a field changed in the form was also changed by others, else None.

    `who`: whom the message names.
    """
    changed = changed_fields(base, values)
    both = [name for name in differing(base, now) if name in changed]
    if not both:
        return None

    def joined(value: Callable[[str], str]) -> str:
        if both == ["content"]:
            return value("content")
        return "\n\n".join(f"{LABELS[name]}: {value(name)}" for name in both)

    return Conflict(
        f"{who} changed this memory while you were editing",
        where=now.origin.file,
        base=joined(partial(value_of, base)),
        theirs=joined(partial(value_of, now)),
        yours=joined(values.__getitem__),
    )


def superseded_meanwhile(base: Memory, now: Memory | None) -> str:
    """Return what has ended the memory since it was read; empty if nothing has."""
    if now is None or now.status in CURRENT or now.status == base.status:
        return ""
    return f"{now.status} meanwhile: this changes what no longer counts"


def resumed(form: Form, values: Values, before: Values) -> Form:
    """Fill a form with the values of a draft; `before`: the memory's fields when it was written."""
    fields = tuple(replace(one, value=values.get(one.name, one.value)) for one in form.fields)
    old_values: dict[str, Any] = {
        name: tags_of(words) if name == "tags" else words
        for name, words in before.items()
        if name in LABELS and name != "kind"
    }
    base = replace(form.base, **old_values) if form.base is not None else None
    return replace(form, fields=fields, base=base)


TAGS_HINT, TAG_CHANGES_HINT = "comma-separated tags", "tag, -tag to remove"
UNCHANGED = "unchanged"
_ORDER = ("title", "content", "type", "importance", "entity", "tags")
_KINDS = {"content": Kind.PROSE, **dict.fromkeys(("importance", "pin", "rating"), Kind.ONE_OF)}
_CHOICES = {
    "importance": IMPORTANCES,
    "pin": ("pin", "unpin"),
    "rating": ("none", "1", "2", "3", "4", "5"),
}
_OTHER_LABELS = {"pin": "Pin", "rating": "Rating"}
"""Labels of what only the form about several memories, and a form of its own, can change."""


def _field(
    name: str, value: str, known: Mapping[str, Sequence[str]], *, locked: str = ""
) -> FormField:
    offered = _CHOICES.get(name) or tuple(known.get(name, ()))
    hint = TAGS_HINT if name == "tags" else ""
    shown = value or ("none" if locked else "")
    label = LABELS.get(name) or _OTHER_LABELS[name]
    return FormField(name, label, _KINDS.get(name, Kind.LINE), shown, offered, locked, hint)


def _form(
    title: str,
    fields: Sequence[FormField],
    changes: Callable[[Values, bool], list[Change]],
    about: Sequence[Memory],
    act: Act,
    **more: Any,
) -> Form:
    """A form about memories; the first field has the focus unless there is a text."""
    names = [field.name for field in fields]
    focus, store = "content" if "content" in names else names[0], about[0].store
    more |= {"focus": focus, "act": act, "store": store, "about": tuple(about)}
    return Form(title, tuple(fields), changes, **more)


def _change(act: Act, memory: Memory, fields: Mapping[str, Any], force: bool) -> Change:
    return Change(act, memory.store, memory.ref, fields, force)


def edit(
    memory: Memory,
    store: Store,
    known: Mapping[str, Sequence[str]],
    *,
    act: Act = Act.EDIT,
    content: str | None = None,
    editable: Collection[str] | None = None,
) -> Form:
    """Edit a memory, or accept a proposal as edited; `content` replaces the initial text.

    `editable`: the fields that can be changed in this memory; None: those of its store.
    """
    editable = store.editable if editable is None else editable

    def changes(values: Values, force: bool) -> list[Change]:
        fields = changed_fields(memory, values)
        return [_change(act, memory, fields, force)] if fields or act is not Act.EDIT else []

    values = {name: value_of(memory, name) for name in _ORDER}
    if content is not None:
        values["content"] = content
    locked = "read-only in this store"
    fields = [
        _field(name, value, known, locked="" if name in editable else locked)
        for name, value in values.items()
        if value or name in editable
    ]
    word, save = ("Accept", "accept") if act is Act.ACCEPT else ("Edit", "save")
    return _form(word, fields, changes, [memory], act, base=memory, save=save)


SEVERAL = ("importance", "type", "tags", "entity", "pin")
"""The fields of the form about several memories."""
_ONE_FIELD = {
    Act.TAG: ("Change tags", "tags"),
    Act.RETYPE: ("Change type", "type"),
    Act.RATE: ("Rating", "rating"),
}
"""Acts that change one field -> title of the form and the field."""


def several(
    memories: Sequence[Memory],
    known: Mapping[str, Sequence[str]],
    able: Mapping[str, Sequence[Memory]],
) -> Form:
    """Change fields of several memories; empty fields stay.

    `able`: the memories that each field can be changed in; a field of none is left out. What a
    memory cannot have is left out for that memory and counted.
    """
    fields = [_shared(name, able[name], len(memories), known) for name in SEVERAL if able[name]]
    title = f"Edit {text.counted(len(memories), 'memory')}"
    changes = partial(_change_shared, Act.EDIT, memories)
    return _form(title, fields, changes, memories, Act.EDIT, as_possible=True)


def one_field(act: Act, memories: Sequence[Memory], known: Mapping[str, Sequence[str]]) -> Form:
    """Change tags, type or rating; the type of documents also by a path pattern."""
    words, name = _ONE_FIELD[act]
    first, count = memories[0], len(memories)
    title = words if count == 1 else f"{words} of {text.number(count)} memories"
    fields = [_shared(name, memories, count, known)]
    if act is Act.RETYPE and first.kind == "document" and count == 1:
        hint = "this document, or a glob such as knowledge/**/*.md"
        fields.append(FormField("pattern", "Documents", value=first.id, hint=hint))
    base = first if count == 1 else None
    return _form(title, fields, partial(_change_shared, act, memories), memories, act, base=base)


def _shared(
    name: str, can: Sequence[Memory], count: int, known: Mapping[str, Sequence[str]]
) -> FormField:
    """A field of one memory with its value, or of several, where it is at first unchanged."""
    if count == 1:
        value = _current(can[0], name)
        return _field(name, _words(value) or ("none" if name == "rating" else ""), known)
    field = _field(name, "", known)
    note = f"{text.number(len(can))} of {text.number(count)}" if len(can) < count else ""
    if field.kind is Kind.ONE_OF:
        return replace(field, value=UNCHANGED, known=(UNCHANGED, *field.known), note=note)
    if name == "tags":
        return replace(field, hint=TAG_CHANGES_HINT, note=note)
    values = {value_of(memory, name) for memory in can}
    now = f"{len(values)} different" if len(values) > 1 else text.one_line(values.pop())
    return replace(field, hint=f"{UNCHANGED}: {now or 'none'}", note=note)


def _change_shared(
    act: Act, memories: Sequence[Memory], values: Values, force: bool
) -> list[Change]:
    """The changes of memories to these values; what several memories leave empty stays."""
    first, is_one = memories[0], len(memories) == 1
    pattern = values.get("pattern", "").strip()
    if pattern and pattern != first.id:
        fields = {"type": values["type"].strip(), "pattern": pattern}
        return [_change(act, first, fields, force)]
    made = []
    for memory in memories:
        changed = {
            name: new
            for name, words in values.items()
            if name != "pattern" and words != UNCHANGED and (is_one or words.strip())
            if (new := _new_value(memory, name, words, is_one=is_one)) != _current(memory, name)
        }
        pin = changed.pop("pin", None)
        if changed:
            made.append(_change(act, memory, changed, force))
        if pin is not None:
            made.append(_change(Act.PIN if pin else Act.UNPIN, memory, {}, force))
    return made


def _current(memory: Memory, name: str) -> Any:
    if name == "rating":
        return memory.extra.get("rating") or 0
    return memory.pinned if name == "pin" else getattr(memory, name)


def _new_value(memory: Memory, name: str, words: str, *, is_one: bool) -> Any:
    if name == "tags":
        changes = tags_of(words)
        return changes if is_one else _retagged(memory.tags, changes)
    if name == "rating":
        return 0 if words == "none" else int(words)
    return words == "pin" if name == "pin" else words.strip()


def _retagged(tags: Sequence[str], tag_words: Sequence[str]) -> tuple[str, ...]:
    removed = {word[1:].strip() for word in tag_words if word.startswith("-")}
    added = [word.removeprefix("+") for word in tag_words if not word.startswith("-")]
    return tuple(dict.fromkeys([*(tag for tag in tags if tag not in removed), *added]))


def supersede(memory: Memory, store: Store, known: Mapping[str, Sequence[str]]) -> Form:
    """Supersede a memory with a new version, starting from the old text."""

    def changes(values: Values, force: bool) -> list[Change]:
        fields = changed_fields(memory, values)
        if values.get("importance") in ("high", "low"):  # not every store inherits it
            fields["importance"] = values["importance"]
        return [_change(Act.SUPERSEDE, memory, fields, force)] if "content" in fields else []

    has_title = memory.title or memory.kind == "observation"
    can = store.editable - ({"entity"} if has_title else {"entity", "title"})
    fields = [_field(name, value_of(memory, name), known) for name in _ORDER if name in can]
    return _form(
        "Supersede", fields, changes, [memory], Act.SUPERSEDE, base=memory, save="supersede"
    )


def add(
    store: Store,
    known: Mapping[str, Sequence[str]],
    start: Values | None = None,
    *,
    kinds: Sequence[str] = (),
) -> Form:
    """Add a memory to a store; `start`: what the fields begin with."""

    def changes(values: Values, force: bool) -> list[Change]:
        if not values.get("content", "").strip():
            return []
        filled_in = {n: value for n, words in values.items() if (value := field_value(n, words))}
        if filled_in.get("importance") == "medium" and "importance" not in store.editable:
            filled_in.pop("importance")
        return [Change(Act.ADD, store.label, "", filled_in, force)]

    start = {"importance": "medium", **(start or {})}
    names = [name for name in _ORDER if name in store.editable or name in ("entity", "type")]
    fields = [_field(name, start.get(name, ""), known) for name in names]
    if len(kinds) > 1:
        fields.insert(0, FormField("kind", LABELS["kind"], Kind.ONE_OF, kinds[0], tuple(kinds)))
    return Form("New memory", tuple(fields), changes, save="add", act=Act.ADD, store=store.label)


def merge(memories: Sequence[Memory]) -> Form:
    """Merge memories into the first one, with an edited text."""
    keeper = memories[0]

    def changes(values: Values, force: bool) -> list[Change]:
        return merge_changes(memories, values["content"], force)

    content = FormField("content", LABELS["content"], Kind.PROSE, keeper.content)
    title = f"Merge {text.counted(len(memories), 'memory')}"
    return _form(title, [content], changes, memories, Act.MERGE, base=keeper, save="merge")


def merge_changes(memories: Sequence[Memory], content: str, force: bool = False) -> list[Change]:
    """The change that merges memories into the first one, with this text."""
    keeper, *others = memories
    fields: dict[str, Any] = {"others": [other.id for other in others]}
    if content != keeper.content:
        fields["content"] = content
    return [_change(Act.MERGE, keeper, fields, force)]
