"""The spacing and escapes of a piece of JSON, to write new text in the same style."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from memtui.errors import Refused

_ESCAPED_LETTER = re.compile(
    r"(?<!\\)(?:\\\\)*\\u(?:(?!00[0-7]|[dD][89a-fA-F])[0-9a-fA-F]{4}"
    r"|[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F])"
)
"""An escape that JSON does not require: neither of a control character nor a lone surrogate."""
_UPPER_ESCAPE = re.compile(r"\\u(?=[0-9a-fA-F]{0,3}[A-F])[0-9A-F]{4}")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_ANY_ESCAPE = re.compile(r"\\u[0-9a-f]{4}|\\.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Spelling:
    """Which characters a writer escapes. Lone surrogates are always escaped."""

    ascii: bool = False
    """Everything beyond ASCII as \\uXXXX."""
    slash: bool = False
    """`/` as `\\/`."""
    upper: bool = False
    """\\u00AB rather than \\u00ab."""
    raw_bytes: frozenset[str] = frozenset()
    """Stray bytes (as lone surrogates) that stand unescaped in the old text and may stay."""

    @classmethod
    def of(cls, old: str, context: str) -> Spelling:
        """The spelling of `old`; if `old` shows none, that of the surrounding text `context`."""
        sample = old if not old.isascii() or _ESCAPED_LETTER.search(old) else context
        return cls(
            ascii=sample.isascii() and _ESCAPED_LETTER.search(sample) is not None,
            slash="\\/" in context,
            upper=_UPPER_ESCAPE.search(context) is not None,
            raw_bytes=frozenset(_LONE_SURROGATE.findall(old)),
        )

    def string(self, text: str) -> str:
        """The text as a JSON string."""
        written = json.dumps(text, ensure_ascii=self.ascii)
        if not written.isascii():
            written = _LONE_SURROGATE.sub(self._surrogate, written)
        if self.upper:
            written = _ANY_ESCAPE.sub(_upper, written)
        return written.replace("/", "\\/") if self.slash else written

    def _surrogate(self, match: re.Match[str]) -> str:
        found = match.group()
        return found if found in self.raw_bytes else f"\\u{ord(found):04x}"


def _upper(match: re.Match[str]) -> str:
    found = match.group()
    return "\\u" + found[2:].upper() if found.startswith("\\u") else found


@dataclass(frozen=True, slots=True)
class JsonStyle:
    """The white space of an object, as found or as jq writes it."""

    opening: str
    """Between `{` and the first key."""
    between: str
    """Between a value and the next key, the comma included."""
    colon: str
    closing: str
    """Between the last value and `}`."""
    unit: str = ""
    """One level of indentation; empty when everything stands on one line."""

    PLAIN: ClassVar[JsonStyle]

    @classmethod
    def of(cls, opening: str, between: str, colon: str, closing: str) -> JsonStyle:
        """`between` may be empty where there is only one member to look at."""
        unit = ""
        if "\n" in opening and "\n" in closing:
            inner, outer = (space.rpartition("\n")[2] for space in (opening, closing))
            unit = inner[len(outer) :] if inner.startswith(outer) else ""
        if not between:
            tight = colon == ":" and "\n" not in opening
            between = "," + (opening if "\n" in opening else "" if tight else " ")
        return cls(opening, between, colon, closing, unit)

    @classmethod
    def indented(cls, indent: str, unit: str = "  ") -> JsonStyle:
        """Two spaces a level, on lines that begin with `indent`."""
        opening = "\n" + indent + unit
        return cls(opening, "," + opening, ": ", "\n" + indent, unit)

    def deeper(self) -> JsonStyle:
        """The style of an object that is a value in this one."""
        if not self.unit:
            return JsonStyle("", self.between, self.colon, "", "")
        newline = "\r\n" if "\r\n" in self.opening else "\n"
        indent = self.opening.rpartition("\n")[2]
        opening = newline + indent + self.unit
        return JsonStyle(opening, "," + opening, self.colon, newline + indent, self.unit)

    def write(self, value: Any, spelling: Spelling, like: JsonStyle | None = None) -> str:
        """Write a value as it would be in a container of this style.

        `like` is the layout of the container it replaces.
        """
        if isinstance(value, str):
            return spelling.string(value)
        if isinstance(value, Mapping):
            return (like or self.deeper()).write_object(value, spelling)
        if isinstance(value, list | tuple):
            return (like or self.deeper()).write_array(value, spelling)
        try:
            return json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            raise Refused("the value cannot be written as JSON") from None

    def write_object(self, value: Mapping[str, Any], spelling: Spelling) -> str:
        members = [
            spelling.string(key) + self.colon + self.write(item, spelling)
            for key, item in value.items()
        ]
        if not members:
            return "{}"
        return "{" + self.opening + self.between.join(members) + self.closing + "}"

    def write_array(self, value: list[Any] | tuple[Any, ...], spelling: Spelling) -> str:
        if not value:
            return "[]"
        items = [self.write(item, spelling) for item in value]
        return "[" + self.opening + self.between.join(items) + self.closing + "]"


JsonStyle.PLAIN = JsonStyle("", ", ", ": ", "")
