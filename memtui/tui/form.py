"""Forms as values: fields, and the changes that their values make to a memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from memtui.changes import Act, Change
from memtui.errors import Conflict
from memtui.model import Memory

Values = Mapping[str, str]


class Kind(StrEnum):
    """The kind of input of a field."""

    PROSE = "prose"
    LINE = "line"
    ONE_OF = "one of"


@dataclass(frozen=True, slots=True)
class FormField:
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


@dataclass(frozen=True, slots=True)
class Form:
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
    value = getattr(memory, name)
    return ", ".join(value) if isinstance(value, tuple) else str(value or "")


def field_value(name: str, words: str) -> Any:
    """The value of a change's field for an input."""
    if name == "tags":
        return tags_of(words)
    return words if name == "content" else words.strip()


def changed_fields(base: Memory, values: Values) -> dict[str, Any]:
    """The fields whose input differs from the memory, with their new values."""
    found: dict[str, Any] = {}
    for name, words in values.items():
        if name in LABELS and words != value_of(base, name):
            found[name] = field_value(name, words)
    return found


def changed_underneath(base: Memory, now: Memory, values: Values) -> Conflict | None:
    """Return the conflict if a field changed in the form was also changed on disk, else None."""
    changed = changed_fields(base, values)
    both = [name for name in changed if getattr(now, name) != getattr(base, name)]
    if not both:
        return None

    def joined(memory: Memory | None) -> str:
        if both == ["content"]:
            return values["content"] if memory is None else memory.content
        parts = [
            f"{LABELS[name]}: {values[name] if memory is None else value_of(memory, name)}"
            for name in both
        ]
        return "\n\n".join(parts)

    return Conflict(
        "another program changed this memory while you were editing",
        where=now.origin.file,
        base=joined(base),
        theirs=joined(now),
        yours=joined(None),
    )


def both_texts(conflict: Conflict) -> str:
    """Both texts of a conflict, one after the other, to be merged by hand."""
    parts = [part for part in (conflict.theirs, conflict.yours) if part]
    return "\n\n".join(parts)


def resumed(form: Form, values: Values, before: Values) -> Form:
    """Fill a form with the values of a draft; `before`: the memory's fields when it was written."""
    fields = tuple(replace(one, value=values.get(one.name, one.value)) for one in form.fields)
    base = form.base
    if base is not None:
        old_values: dict[str, Any] = {
            name: tags_of(words) if name == "tags" else words
            for name, words in before.items()
            if name in LABELS and name != "kind"
        }
        base = replace(base, **old_values)
    return replace(form, fields=fields, base=base)
