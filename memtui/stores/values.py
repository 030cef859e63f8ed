"""Read values: those of JSON and times with tolerance, the fields of a change strictly.

In what a file holds, a wrong type yields the empty value. Times are parsed for sorting only: their
raw text stays with the memory. A field of a change that cannot be written is refused.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypedDict, TypeGuard

from msgspec.structs import replace

from memtui.changes import Change
from memtui.errors import Conflict, Refused
from memtui.model import IMPORTANCES, Memory


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text; None if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def parse_object(text: str | bytes) -> dict[str, Any]:
    """The members of a JSON text that is an object; {} for any other."""
    return members_of(parse_json(text))


def members_of(value: object) -> dict[str, Any]:
    """The members of a JSON object; {} for another value."""
    return value if isinstance(value, dict) else {}


def text_of(value: object) -> str:
    """A text itself, "" for null, the JSON of any other value."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False)


def texts_of(value: object) -> tuple[str, ...]:
    """The texts in a list; () for another value."""
    return tuple(item for item in list_of(value) if isinstance(item, str))


def lower_word(value: object) -> str:
    """A text stripped and in lower case; "" for another value."""
    return value.strip().lower() if isinstance(value, str) else ""


def first_line(text: str, most: int = 120) -> str:
    """The first line of a text, cut between words: a title."""
    line = text.strip().partition("\n")[0].strip("# ")
    return line if len(line) <= most else line[:most].rpartition(" ")[0] or line[:most]


def list_of(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether the value is a JSON number; bool, a number to Python, is not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def whole_number(value: object, otherwise: int = 0) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def utc_now() -> datetime:
    """The system time; tests and stores may use another clock."""
    return datetime.now(UTC)


LONGEST_DATE = 10
"""Characters of an ISO date without an hour."""


def as_moment(time: datetime) -> datetime:
    """A time that is written with its hour. Midnight in UTC is what a day without an hour is kept
    as, so a moment of exactly that time is kept as the microsecond after it."""
    is_midnight = not (time.hour or time.minute or time.second or time.microsecond)
    return time.replace(microsecond=1) if is_midnight else time


def from_iso(value: object, *, is_local: bool = False) -> datetime | None:
    """Parse an ISO date or time as aware UTC; None on failure. A time without a zone is one of UTC,
    or of this machine's zone if `is_local`; a date is that day in every zone."""
    if not isinstance(value, str):
        return None
    try:
        time = datetime.fromisoformat(text := value.strip())
        if time.tzinfo is None and not (is_local and len(text) > LONGEST_DATE):
            time = time.replace(tzinfo=UTC)
        time = time.astimezone(UTC)
        return time if len(text) <= LONGEST_DATE else as_moment(time)
    except (ValueError, OverflowError):
        return None


def from_local_iso(value: object) -> datetime | None:
    """As `from_iso` for what people and agents write, who mean their own zone if they name none."""
    return from_iso(value, is_local=True)


def is_without_zone(value: object) -> bool:
    """Whether it is a time with an hour and without a zone."""
    if not isinstance(value, str) or len(value.strip()) <= LONGEST_DATE:
        return False
    try:
        return datetime.fromisoformat(value.strip()).tzinfo is None
    except ValueError:
        return False


def from_milliseconds(value: object) -> datetime | None:
    """Convert milliseconds since 1970 to aware UTC; None if that is no valid time."""
    if not is_number(value):
        return None
    try:
        return as_moment(_EPOCH + timedelta(milliseconds=value))
    except (OverflowError, ValueError):
        return None


def to_milliseconds(time: datetime) -> int:
    """Milliseconds since 1970, as JavaScript's `Date.now()`."""
    return (time - _EPOCH) // timedelta(milliseconds=1)


def to_iso_seconds(time: datetime) -> str:
    """`2026-01-28T23:00:00Z`, as `date -u +%Y-%m-%dT%H:%M:%SZ` prints it."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# ---- fields of a change --------------------------------------------------------------------------


def content_of(change: Change) -> str:
    """The text to write. Raises Refused when there is none."""
    content = change.fields.get("content")
    if not isinstance(content, str) or not content.strip():
        raise Refused("there is no text to write", do="write what should be remembered")
    return content


def word_of(change: Change, name: str, otherwise: str) -> str:
    """A field that is one line of text; `otherwise` when it is not given. Raises Refused."""
    value = change.fields.get(name)
    if value is None or value == "":
        return otherwise
    if not isinstance(value, str) or not value.strip() or "\n" in value:
        raise Refused(f"the {name} must be a word")
    return value.strip()


def importance_of(change: Change, otherwise: str) -> str:
    return checked_importance(change.fields.get("importance") or otherwise)


def checked_importance(value: object) -> str:
    """The value, if it is an importance. Raises Refused."""
    if value not in IMPORTANCES:
        raise Refused(f"the importance is one of {', '.join(IMPORTANCES)}")
    return str(value)


def tag_words(value: object) -> list[str]:
    """Tags as stripped words, each once. Raises Refused for what is no list."""
    if not isinstance(value, list | tuple):
        raise Refused("tags are a list of words")
    return [tag for tag in dict.fromkeys(str(each).strip() for each in value) if tag]


def created_of(change: Change, otherwise: datetime) -> datetime:
    """The time of creation that an import gives, else `otherwise`."""
    value = change.fields.get("created")
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    return from_iso(value) or otherwise


def changed_values(change: Change, memory: Memory, editable: Collection[str]) -> dict[str, Any]:
    """The fields whose values the change would alter.

    A field that already is as asked is left out, so that a form may hand in all it shows. Raises
    Refused for a field that the format cannot hold.
    """
    values: dict[str, Any] = {}
    for name, value in change.fields.items():
        now = getattr(memory, name, None)
        if value == now or (
            isinstance(now, tuple) and isinstance(value, list) and tuple(value) == now
        ):
            continue
        if name not in editable:
            can = ", ".join(sorted(editable)) or "nothing"
            raise Refused(f"the {name} cannot be changed here", do=f"what can be: {can}")
        values[name] = value
    return values


def check_unchanged(
    memory: Memory,
    content_now: str,
    place: str,
    new_text: str | None,
    who: str = "another program",
) -> None:
    """Raise Conflict if the text changed since the person saw it; by whom it can have been."""
    if content_now != memory.content:
        raise Conflict(
            f"{who} changed this memory since it was read",
            where=place,
            base=memory.content,
            theirs=content_now,
            yours=new_text,
        )


class MemoryName(TypedDict):
    """The fields of `Memory` that name it."""

    ref: str
    id: str
    store: str


def memory_name(label: str, id: str) -> MemoryName:
    """The naming fields of the memory with this id in the store with this label."""
    return {"ref": f"{label}:{id}", "id": id, "store": label}


UNADDRESSABLE = "unaddressable"
"""Key of `Memory.extra`: why the record cannot be named in its file, so not changed."""


def with_unique_ids(memories: Sequence[Memory]) -> list[Memory]:
    """Give each memory an id of its own, in order: repeated ids become `id#2`, `id#3`."""
    total = Counter(memory.id for memory in memories)
    numbers: dict[str, int] = defaultdict(int)
    found = []
    for memory in memories:
        if total[memory.id] == 1:
            found.append(memory)
            continue
        numbers[memory.id] += 1
        number = numbers[memory.id]
        id = memory.id if number == 1 else f"{memory.id}#{number}"
        fault = f"the store holds the id {memory.id} more than once"
        extra = {**memory.extra, "id": memory.id, UNADDRESSABLE: fault}
        found.append(replace(memory, **memory_name(memory.store, id), extra=extra))
    return found


HIGH, MEDIUM = 4, 3
"""The lowest rating that means high, and that means medium."""

RATING_OF = {"high": 5, "medium": 3, "low": 1}
"""What is kept when a person chooses an importance that the store's format cannot hold."""


def importance_of_rating(rating: object) -> str:
    """The importance that a rating from 1 to 5 means; empty when there is none."""
    if not is_number(rating) or rating != rating:
        return ""
    return "high" if rating >= HIGH else "medium" if rating >= MEDIUM else "low"


# ---- text in parts, each below a heading ---------------------------------------------------------


def join_sections(value: Mapping[str, Any], headings: Mapping[str, str]) -> str:
    """The text of a record's fields, in the order of `headings`: field -> heading.

    The field with the heading "" comes first and has none; empty fields are left out.
    """
    parts = ((heading, text_of(value.get(name))) for name, heading in headings.items())
    return "\n\n".join(
        f"## {heading}\n\n{text}" if heading else text for heading, text in parts if text.strip()
    )


def split_sections(
    text: str, headings: Mapping[str, str], now: Mapping[str, Any]
) -> dict[str, str | None]:
    """The fields that an edited text changes; None: the field is empty now.

    Args:
        text: as a person edited it.
        headings: field -> heading, as in `join_sections`.
        now: the record.

    Raises:
        Refused: A field of the record holds such a heading itself, so that its end is not known.
    """
    parts = _split(text, headings)
    joined = join_sections(now, headings)
    known = _split(joined, headings)
    if join_sections(known, headings) != joined or any(
        known.get(name, "") != text_of(now.get(name)) for name in known
    ):
        raise Refused("the text holds a heading of memtui's, so its parts cannot be told apart")
    names = [name for name in headings if parts.get(name, "") != known.get(name, "")]
    return {name: parts.get(name) or None for name in names}


def _split(text: str, headings: Mapping[str, str]) -> dict[str, str]:
    first, *_ = (name for name, heading in headings.items() if not heading)
    names = {heading: name for name, heading in headings.items() if heading}
    pattern = "|".join(map(re.escape, names))
    found, name, start = {}, first, 0
    for match in re.finditer(rf"(?:\A|\n\n?)## ({pattern})(?:\n\n?|\Z)", text):
        if names[match[1]] not in found and match.start() >= start:
            found[name] = text[start : match.start()]
            name, start = names[match[1]], match.end()
    found[name] = text[start:]
    return {name: part for name, part in found.items() if part.strip()}
