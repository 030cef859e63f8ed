r"""Keepsake, an invented program that keeps what it is told in one text file.

    [desk]
    * the ink is low
    * the nib is bent

A line in square brackets begins a list. Each line after a star is one thing to keep; `\n` in it is
a line feed. This is all that the format takes, as docs/adding-a-store.md describes it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memtui.changes import Act, Change
from memtui.errors import Refused, UnreadableFile
from memtui.model import Memory
from memtui.stores.base import Unreadable
from memtui.stores.format import ConvertedMemory, Format, FormatSupport, TransferSupport
from memtui.stores.listed_acts import convert_to_text, list_acts
from memtui.stores.listed_texts import ListContext, ListedText, ListFile, ListStore

FILE = "keepsakes.txt"
_ESCAPED = re.compile(r"\\(.)")
_HEAD = re.compile(r"\[([^\[\]\n]+)\]")


class KeepsakeFile(ListFile):
    """The lines of a file."""

    def parse(self, text: str) -> Iterator[ListedText]:
        group, start = "", 0
        for number, line in enumerate(text.split("\n"), 1):
            kept = line[2:].strip()
            if head := _HEAD.fullmatch(line):
                group = head[1]
            elif line.startswith("* ") and kept:
                at = start + line.index(kept, 2)
                text_kept = _ESCAPED.sub(lambda m: "\n" if m[1] == "n" else m[1], kept)
                yield ListedText(text_kept, at, at + len(kept), number, group)
            elif line.strip("* "):
                raise UnreadableFile(f"line {number} is neither a list nor a keepsake")
            start += len(line) + 1

    def spelled(self, text: str) -> str:
        return text.replace("\\", "\\\\").replace("\n", "\\n")

    def line_of(self, text: str, group: str) -> str:
        return f"* {text}"

    def head_of(self, group: str) -> str:
        return f"[{group}]" if group else ""


class KeepsakeStore(ListStore):
    """One folder of keepsakes."""

    format = "keepsake"
    acts = list_acts({Act.RETYPE: "a keepsake has no type"})
    syntax = KeepsakeFile

    def list_files(self, faults: list[Unreadable]) -> list[str]:
        return [FILE]

    def place_new(self, change: Change, context: ListContext) -> tuple[str, str]:
        group = str(change.fields.get("entity") or "").strip()
        if not group:
            raise Refused("a keepsake belongs to a list", do="name the list as the entity")
        return FILE, group

    def describe(self, file: ListFile, item: ListedText) -> dict[str, Any]:
        return {"entity": item.group}


def convert(memory: Memory) -> ConvertedMemory:
    """A memory of another format as a line of the list that its entity names."""
    name = re.sub(r"[\[\]\s]+", " ", memory.entity or memory.store).strip()
    changes = [(memory.entity not in ("", name), f"entity (becomes {name})")]
    return convert_to_text(memory, name, changes)


def detect(path: Path) -> Path | None:
    """The folder itself, if it holds keepsakes."""
    return path if os.path.lexists(path / FILE) else None


FORMAT = Format(
    name="keepsake",
    title="Keepsake: lists in one text file",
    places=("$KEEPSAKE_HOME", "~/.keepsake"),
    detect=detect,
    load=lambda: FormatSupport(KeepsakeStore, transfer=TransferSupport(convert=convert)),
)
