"""What a form is: fields to fill in, and what the answers come to beside a memory."""

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
    """How a field is filled in."""

    PROSE = "prose"
    LINE = "line"
    ONE_OF = "one of"


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a form."""

    name: str
    label: str
    kind: Kind = Kind.LINE
    value: str = ""
    known: tuple[str, ...] = ()
    """Values to choose from, or to offer."""
    locked: str = ""
    """Why it cannot be changed; empty when it can."""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Form:
    """What a person is asked, and what the answers mean."""

    title: str
    fields: tuple[Field, ...]
    changes: Callable[[Values, bool], list[Change]]
    """Values by field and whether to force -> the changes; none when nothing is wanted yet."""
    base: Memory | None = None
    """The memory as it was when the form was opened."""
    focus: str = "content"
    save: str = "save"
    act: Act = Act.EDIT
    store: str = ""
    """Label of the store it writes to."""
    about: tuple[Memory, ...] = ()
    """The memories it changes; none for a new one."""


TEXT_FIELDS = ("title", "type", "entity")
LABELS = {
    "content": "Text",
    "title": "Title",
    "type": "Type",
    "importance": "Importance",
    "entity": "Entity",
    "tags": "Tags",
    "kind": "Kind",
}
"""Fields of a memory that a form can ask for, and what it calls them."""


def tags_of(words: str) -> tuple[str, ...]:
    """`a, b` as (a, b)."""
    return tuple(dict.fromkeys(tag.strip() for tag in words.split(",") if tag.strip()))


def value_of(memory: Memory, name: str) -> str:
    """A field of the memory as the form shows it."""
    value = getattr(memory, name)
    return ", ".join(value) if isinstance(value, tuple) else str(value or "")


def asked(name: str, words: str) -> Any:
    """What a change is given for a field that says these words."""
    if name == "tags":
        return tags_of(words)
    return words if name == "content" else words.strip()


def changed_fields(base: Memory, values: Values) -> dict[str, Any]:
    """The fields of which the form says something else than the memory did."""
    found: dict[str, Any] = {}
    for name, words in values.items():
        if name in LABELS and words != value_of(base, name):
            found[name] = asked(name, words)
    return found


def changed_underneath(base: Memory, now: Memory, values: Values) -> Conflict | None:
    """The conflict, when a field that the person changed was changed by another program too."""
    wanted = changed_fields(base, values)
    both = [name for name in wanted if getattr(now, name) != getattr(base, name)]
    if not both:
        return None

    def told(memory: Memory | None) -> str:
        if both == ["content"]:
            return values["content"] if memory is None else memory.content
        parts = [
            f"{LABELS[name]}: {values[name] if memory is None else value_of(memory, name)}"
            for name in both
        ]
        return "\n\n".join(parts)

    return Conflict(
        "another program changed this memory while you wrote",
        where=now.origin.file,
        base=told(base),
        theirs=told(now),
        yours=told(None),
    )


def both_texts(conflict: Conflict) -> str:
    """Their text and ours, one after the other, to be made one by hand."""
    parts = [part for part in (conflict.theirs, conflict.yours) if part]
    return "\n\n".join(parts)


def resumed(form: Form, values: Values, before: Values) -> Form:
    """The form with what was written in it before; `before`: what the memory said then."""
    fields = tuple(replace(one, value=values.get(one.name, one.value)) for one in form.fields)
    base = form.base
    if base is not None:
        said: dict[str, Any] = {
            name: tags_of(words) if name == "tags" else words
            for name, words in before.items()
            if name in LABELS and name != "kind"
        }
        base = replace(base, **said)
    return replace(form, fields=fields, base=base)
