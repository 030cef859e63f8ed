"""One text made of several fields of a record, each but the first below a heading of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from memtui.errors import Refused
from memtui.stores.values import text_of


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
