"""Gemini CLI's memory as a store: every file is a shard.

* Each bullet and paragraph is a fact of `global` or of its project.
* A patch in the inbox is a proposed note that shows the diff. It has the name of the first item
  that it would add, so that the item has its links and tags once it is accepted.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from memtui.changes import TEXTS, Act, Change, Edit, Outcome, Plan, text_edit
from memtui.errors import Refused, UnreadableFile
from memtui.files.reading import (
    file_stamp,
    read_text_file,
)
from memtui.model import FILE_TIME, FILE_TIME_KEY, PROJECT_PATH, Memory, Place
from memtui.stores.base import (
    LoadedText,
    MemorySwitch,
    OpenStores,
    Reading,
    ReadTime,
    StoreView,
    Unreadable,
)
from memtui.stores.format import ConvertedMemory, FormatSupport, TransferSupport
from memtui.stores.gemini import (
    ADDED,
    FOLDER,
    GLOBAL,
    PROJECTS,
    entity_of,
    is_note,
    is_patch,
    memory_files,
    project_root,
    target_of,
)
from memtui.stores.importing import CONVERTED
from memtui.stores.listed_acts import convert_with_entity, list_acts
from memtui.stores.listed_texts import ListContext, ListedText, ListFile, text_key
from memtui.stores.markdown.items import SECTION, MarkdownList, MarkdownListStore, parse_items
from memtui.stores.program_settings import find_switch, layered_files, system_folder
from memtui.stores.proposed_files import ProposedFiles
from memtui.stores.rescoping import move_to_entity
from memtui.stores.scanning import planned_text, time_of_change
from memtui.stores.sidecar import Sidecar
from memtui.stores.values import memory_name

SETTINGS, AUTO_MEMORY = "settings.json", "experimental.autoMemory"
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NOTHING = "/dev/null"
_NO_END = "\\ No newline at end of file"


class Hunk(Struct):
    """Lines of the old file at a place, and what takes their place."""

    start: int
    """1-based line of the old file; the line before, where `old` is empty."""
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    """Lines with their line feeds; one without its end has none."""


class FilePatch(Struct, frozen=True):
    """What a patch does to one file."""

    old: str
    """As the header names it; empty: the file is made."""
    new: str
    """Empty: the file is removed."""
    hunks: list[Hunk]

    @property
    def added(self) -> str:
        """The lines that are new."""
        return "".join(line for hunk in self.hunks for line in hunk.new if line not in hunk.old)


def parse_patch(text: str) -> list[FilePatch]:
    """Parse a patch of one or more files. Raises Refused if it is not well formed."""
    lines = text.split("\n")
    found: list[FilePatch] = []
    at = 0
    while at < len(lines):
        if lines[at].startswith("--- ") and lines[at + 1 : at + 2] and lines[at + 1][:4] == "+++ ":
            hunks: list[Hunk] = []
            found.append(FilePatch(_name(lines[at]), _name(lines[at + 1]), hunks))
            at += 2
            while at < len(lines) and lines[at].startswith("@@"):
                hunk, at = _hunk(lines, at)
                hunks.append(hunk)
        else:
            at += 1
    if not found or not all(each.hunks for each in found):
        raise Refused("not a unified diff")
    return found


def _name(line: str) -> str:
    name = line[4:].partition("\t")[0].strip()
    return "" if name == _NOTHING else name


def _hunk(lines: list[str], at: int) -> tuple[Hunk, int]:
    head = _HUNK.match(lines[at])
    if head is None:
        raise Refused("the head of a hunk is malformed", where=f"line {at + 1} of the patch")
    old_count, new_count = (int(head[n]) if head[n] is not None else 1 for n in (2, 4))
    hunk = Hunk(int(head[1]))
    at += 1
    while at < len(lines) and (len(hunk.old) < old_count or len(hunk.new) < new_count):
        mark, content = lines[at][:1], f"{lines[at][1:]}\n"
        if lines[at].startswith("\\"):
            _drop_line_end(hunk, lines[at - 1][:1])
        elif mark == "-":
            hunk.old.append(content)
        elif mark == "+":
            hunk.new.append(content)
        elif mark == " " or not lines[at]:
            hunk.old.append(content)
            hunk.new.append(content)
        else:
            break
        at += 1
    if at < len(lines) and lines[at].startswith(_NO_END[:4]):
        _drop_line_end(hunk, lines[at - 1][:1])
        at += 1
    if (len(hunk.old), len(hunk.new)) != (old_count, new_count):
        raise Refused("a hunk is not as long as its head says", where=f"line {at} of the patch")
    return hunk, at


def _drop_line_end(hunk: Hunk, mark: str) -> None:
    for side, marks in ((hunk.old, "- "), (hunk.new, "+ ")):
        if mark in marks and side:
            side[-1] = side[-1].removesuffix("\n")


def apply_patch(text: str | None, patch: FilePatch, where: str) -> str | None:
    """The file's text after the patch; None if the patch removes it.

    Raises Refused where a line is not exactly as the patch says.
    """
    if (text is None) is not (patch.old == ""):
        raise Refused("the file is not as the patch expects it", where=where)
    parts = (text or "").split("\n")
    lines = [f"{piece}\n" for piece in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
    result: list[str] = []
    copied = 0
    for hunk in patch.hunks:
        start = hunk.start - 1 if hunk.old else hunk.start
        if start < copied or lines[start : start + len(hunk.old)] != hunk.old or start > len(lines):
            raise Refused("the patch does not fit: the file has changed since", where=where)
        result += lines[copied:start] + hunk.new
        copied = start + len(hunk.old)
    result += lines[copied:]
    if any(not line.endswith("\n") for line in result[:-1]):
        raise Refused("the patch does not fit: a line has no end", where=where)
    patched = "".join(result)
    return None if not patch.new and not patched else patched


# ---- patches -------------------------------------------------------------------------------------


PROPOSED = "patch"
"""Type of a proposed patch, and key of `extra`: its path."""


def patch_memory(path: str, file: Path, text: str, root: Path, label: str) -> Memory:
    """A proposed patch. Raises Refused if not a unified diff."""
    patches = parse_patch(text)
    id = _first_id(patches, path, root) or path
    names = [target_of(each.new or each.old, path, root) or "?" for each in patches]
    return Memory(
        **memory_name(label, id),
        kind="note",
        type=PROPOSED,
        title=f"Proposed change of {', '.join(names)}",
        content=text,
        entity="global" if "/global/" in path else entity_of(path),
        updated=time_of_change(file),
        status="proposed",
        origin=Place(str(file), 1),
        extra={PROPOSED: path, FILE_TIME_KEY: FILE_TIME},
    )


def _first_id(patches: list[FilePatch], path: str, root: Path) -> str:
    """The id that the first new item will have; "" if none is new."""
    for each in patches:
        target = target_of(each.new, path, root) if each.new else ""
        try:
            known = read_text_file(root / target, root) if target else ""
        except UnreadableFile:
            known = ""
        texts = {item.text for item in parse_items(known)}
        for item in parse_items(each.added) if target else ():
            if item.text not in texts:
                return f"{target}#{text_key(item.text)}"
    return ""


# ---- acts ----------------------------------------------------------------------------------------


PATCHES = ProposedFiles(PROPOSED, lambda memory: memory.content)


def _accept(change: Change, memory: Memory, context: ListContext) -> Plan:
    """Apply the whole patch exactly, and remove it from the inbox."""
    text = PATCHES.read(memory, context)
    edits: list[Edit] = []
    refs: dict[str, None] = {memory.ref: None}
    for each in parse_patch(text):
        names = {name for name in (each.old, each.new) if name}
        targets = {target_of(name, str(memory.extra[PROPOSED]), context.root) for name in names}
        target = targets.pop()
        if not target or targets:
            raise Refused("the patch changes a file that is not its own", where=", ".join(names))
        file = context.root / target
        if any(edit.kind in TEXTS and edit.path == str(file) for edit in edits):
            raise Refused("the patch names a file twice", where=target)
        before = planned_text(file, context.root, context.view)
        after = apply_patch(before, each, target)
        edits.append(text_edit(str(file), before, after))
        ids = [
            {item.id for item in MarkdownList(target, file, note, context.sidecar).items}
            for note in (before, after)
        ]
        refs |= dict.fromkeys(context.ref(id) for id in sorted(ids[0] ^ ids[1]))
    edits.append(text_edit(memory.origin.file, text, None))
    return Plan((change,), tuple(edits), Outcome.DONE, "Applies the patch", tuple(refs))


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory to a bullet of GEMINI.md, which begins with its entity."""
    extra = {CONVERTED: True, SECTION: ADDED}
    return convert_with_entity(memory, "global", ("global",), extra=extra)


class GeminiStore(MarkdownListStore):
    """One settings folder."""

    format = "gemini"
    acts = list_acts(
        {Act.RETYPE: "an item has no type"},
        {Act.RESTORE: PATCHES.restore, Act.ACCEPT: _accept, Act.DECLINE: PATCHES.decline},
        shard_of=PATCHES.shard_of,
        not_on=PATCHES.not_on,
    )
    rescans = True  # the name of a patch depends on what is there already

    def memory_switches(self) -> Sequence[MemorySwitch]:
        """Whether sessions are searched for patches to propose; GEMINI.md is always read.
        (google-gemini/gemini-cli@5411f113, docs/cli/auto-memory.md and settingsSchema.ts.)"""
        named = os.environ.get("GEMINI_CLI_SYSTEM_SETTINGS_PATH")
        system = Path(named) if named else system_folder("gemini-cli", "GeminiCli") / SETTINGS
        files = layered_files(system, self.root / SETTINGS)
        found = find_switch("Auto Memory", AUTO_MEMORY, files, is_on_by_default=False)
        return (found._replace(loads=False),)

    def list_files(self, faults: list[Unreadable]) -> list[str]:
        return list(memory_files(self.root, faults))

    def mark_of(self, key: str) -> str:
        if not is_patch(key):
            return ""
        notes = [path for path in memory_files(self.root, []) if is_note(path)]
        return file_stamp([self.root / path for path in (key, *notes)])

    def entity_levels(self, entity: str) -> tuple[str, ...]:
        """The name of the project's folder, where Gemini says which one it is."""
        return (posixpath.basename(project_root(self.root, entity)) or entity,)

    @property
    def projects(self) -> Mapping[str, tuple[str, ...]]:
        notes = filter(is_note, memory_files(self.root, []))
        return dict.fromkeys(["global", *map(entity_of, notes)], ())

    def rescope(self, memory: Memory, project: str, library: OpenStores) -> Sequence[Change]:  # noqa: ARG002
        """To GEMINI.md, below the heading of what Gemini added itself, or to a project's notes."""
        return move_to_entity(memory, project or entity_of(GLOBAL))

    def place_new(self, change: Change, context: ListContext) -> tuple[str, str]:  # noqa: ARG002
        """GEMINI.md (`global`), as Gemini itself does, or MEMORY.md of a project."""
        entity = str(change.fields.get("entity") or "global").strip("/ ")
        if entity == "global":
            return GLOBAL, ADDED
        folder = self.root / PROJECTS / entity / FOLDER
        if "/" in entity or entity in (".", "..") or "\0" in entity or not folder.is_dir():
            raise Refused(
                "there is no project of this name", where=entity, do="name global instead"
            )
        return f"{PROJECTS}/{entity}/{FOLDER}/MEMORY.md", ""

    def is_cut_off(self, key: str, text: str) -> bool:  # noqa: ARG002
        return not text.strip()

    def may_hold(self, path: str, item: str) -> bool:
        return bool(item) and is_note(path)

    def read_text(self, key: str, path: Path, text: str, sidecar: Sidecar) -> Reading:
        if not is_patch(key):
            return super().read_text(key, path, text, sidecar)
        try:
            return Reading((patch_memory(key, path, text, self.root, self.label),))
        except Refused as error:
            return Reading((), (Unreadable(str(path), f"it cannot be offered: {error}"),))

    def describe(self, file: ListFile, item: ListedText) -> dict[str, Any]:
        found = super().describe(file, item)
        entity = entity_of(file.key)
        found["extra"]["loaded_at_start"] = True
        if project := project_root(self.root, entity):
            found["extra"][PROJECT_PATH] = project
        return found | {"entity": entity}

    def read_time(self, path: str) -> ReadTime:
        """Notes are given to sessions when they start; a patch waits for `/memory inbox` (formats
        page of Gemini CLI)."""
        return ReadTime.INBOX if is_patch(path) else ReadTime.NEXT_SESSION

    def session_start(self, view: StoreView, entity: str, now: datetime) -> Sequence[LoadedText]:  # noqa: ARG002
        """GEMINI.md, and the private notes of this project or of all."""
        texts: list[LoadedText] = []
        for path in memory_files(self.root, []):
            if is_patch(path) or (path != GLOBAL and entity not in ("", entity_of(path))):
                continue
            own = "" if path == GLOBAL else entity_of(path)
            note = "sessions of this project" if own else "every session"
            texts += self.loaded_file(path, view, f"given to {note}", own)
        return texts


SUPPORT = FormatSupport(GeminiStore, transfer=TransferSupport(convert=convert))
