"""The instructions of a project as a store: every file is a shard.

A memory is a bullet with what is indented below it (type `rule`), or the prose between two
headings or bullets (type `section`). Its entity is its file. What the format has no word for:

* importance: the person's; else high where the programs are given the file for everything, medium
  where it is only for certain files or topics, low where a person has to ask for it.
* updated: the file's time of change.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from memtui.changes import Act, Change, Plan
from memtui.errors import Refused
from memtui.files.reading import file_stamp
from memtui.model import CURRENT, READ_BY, SCOPE, Memory
from memtui.stores import listed_acts
from memtui.stores.base import LoadedText, LoadLimit, ReadTime, Remark, StoreView, Unreadable
from memtui.stores.claude_code import (
    EXCLUDES,
    config_folder,
    excluded_paths,
    settings_files,
)
from memtui.stores.claude_code.rules import follow_imports, imports_in, missed_imports
from memtui.stores.format import ConvertedMemory, FormatSupport, TransferSupport
from memtui.stores.globs import matches
from memtui.stores.listed_texts import ListContext, ListedText, ListFile
from memtui.stores.markdown.documents import words_of
from memtui.stores.markdown.items import (
    MarkdownList,
    MarkdownListStore,
    add_prose,
    convert_below_heading,
)
from memtui.stores.program_settings import read_settings
from memtui.stores.project_instructions import (
    IMPORTED,
    IMPORTER,
    OF_CODEX,
    OF_CURSOR,
    OVERRIDE,
    SHARED,
    claims_of,
    instruction_files,
    is_claimed,
    is_home_of_codex,
    names_of_files,
    readers_of,
    source_of,
)
from memtui.stores.scanning import LastRead, is_link_into, read_small
from memtui.stores.sidecar import Sidecar
from memtui.stores.values import whole_number
from memtui.text import counted

DEFAULT = "AGENTS.md"
RULE, PROSE = "rule", "section"
ALWAYS, BY_HAND = "always", "when a person names it"
SETTING_OF_CODEX, LIMIT_OF_CODEX = "project_doc_max_bytes", 32 << 10


def scope_of(front: Mapping[str, Any], path: str = "") -> str:
    """When a program is given a file, by its frontmatter.

    Cursor: `alwaysApply`, false where it is not set, `globs`, `description`. Copilot: `applyTo`.
    Windsurf: `trigger`, `globs`. Kiro: `inclusion`, `fileMatchPattern`. Claude Code, Qwen Code and
    Cline: `paths`. OpenHands: `triggers`. Augment: `type`. Continue, Trae: as Cursor.
    """
    patterns = [
        pattern
        for key in ("globs", "applyTo", "fileMatchPattern", "paths")
        for pattern in words_of(front.get(key))
    ]
    mode = str(front.get("trigger") or front.get("inclusion") or front.get("type") or "").lower()
    # a text where the frontmatter is no valid YAML, which Cursor reads line by line
    applies = str(front.get("alwaysApply", False if path.startswith(OF_CURSOR) else "")).lower()
    if applies == "true" or mode in ("always", "always_on", "always_apply"):
        return ALWAYS
    if mode == "manual":
        return BY_HAND
    if words := words_of(front.get("triggers")):
        return f"prompts with {', '.join(words)}"
    if patterns and not {"**", "**/*", "*"} & {*patterns}:
        return f"files {', '.join(patterns)}"
    if mode in ("auto", "model_decision", "agent_requested") or applies == "false":
        about = str(front.get("description") or "").strip()
        about = f": {about}" * bool(about)
        return f"the agent decides{about}" if patterns or mode or about else BY_HAND
    return ALWAYS


class InstructionFile(MarkdownList):
    """One file; prose is one text from one heading or bullet to the next."""

    has_whole_prose = True
    readers: Sequence[str] = ()
    """The programs that are given it."""

    def insert(self, group: str, new_text: str, type: str = "") -> str:
        """As any list does, but a section as prose where it stays one text of its own."""
        after = add_prose(self.document.body, new_text, group) if type == PROSE else ""
        return self.with_body(after) if after else super().insert(group, new_text, type)


def _merge(change: Change, memory: Memory, context: ListContext) -> Plan:
    """Merge rules of one file: those of another are read by other programs, which would lose
    them."""
    if any(other.entity != memory.entity for other in context.others(change, memory)):
        do = "merge rules of one file"
        raise Refused(
            "the rules are in files that different programs read", where=memory.ref, do=do
        )
    return listed_acts.plan_merging(change, memory, context)


class InstructionStore(MarkdownListStore):
    """The instructions of one project."""

    format = "project-instructions"
    syntax = InstructionFile
    rescans = True  # a file may have come, or another store that reads it
    acts = listed_acts.list_acts({Act.RETYPE: "a rule has no type"}, {Act.MERGE: _merge})

    def __init__(self, root: Path, label: str, **more: Any) -> None:
        super().__init__(root, label, **more)
        self._claims: LastRead[tuple[str, ...]] = LastRead()
        self._imports: dict[str, LastRead[list[str]]] = {}
        self._excludes: LastRead[list[tuple[str, Path]]] = LastRead()

    def list_files(self, faults: list[Unreadable]) -> list[str]:
        return list(self._readers(faults))

    def _readers(self, faults: list[Unreadable]) -> dict[str, list[str]]:
        """The files that exist, each with the programs that are given it."""
        files = instruction_files(self.root, self._claimed(), faults)
        imported = self._imported(files)
        excluded = self._excluded()
        by_file = dict[str, list[str]]()
        for path, names in names_of_files(self.root, [*files, *imported]).items():
            readers = [each for name in names for each in readers_of(self.root, name)]
            readers += [IMPORTER][: path in imported]
            kept_out = IMPORTER if excluded and self._excluding(path, excluded) else ""
            by_file[path] = [each for each in dict.fromkeys(readers) if each != kept_out]
        return by_file

    def _excluded(self) -> list[tuple[str, Path]]:
        """Patterns of what Claude Code does not read here, each with its file of settings."""
        settings = settings_files(config_folder(Path.home(), os.environ), self.root)
        return self._excludes.get(settings, lambda: excluded_paths(settings))

    def _excluding(self, path: str, excluded: list[tuple[str, Path]]) -> Path | None:
        """The settings that keep Claude Code from reading a file; None if it reads it. What it
        compares is the path without links (anthropics/claude-code#87248)."""
        real = os.path.realpath(self.root / path).lstrip("/")
        return next((file for each, file in excluded if matches(each.lstrip("/"), real)), None)

    def readers(self, path: str) -> list[str]:
        """The programs that are given a file, which need not exist."""
        found = self._readers([])
        return found[path] if path in found else list(readers_of(self.root, path))

    def mark_of(self, key: str) -> str:
        """A file is read again when others come or go that decide who reads it."""
        return f"{file_stamp([self.file_of(key)])} {','.join(self.readers(key))}"

    def _claimed(self) -> tuple[str, ...]:
        """Patterns of the files that other stores at this root read."""
        folders = (self.root, self.root / ".claude")
        return self._claims.get(folders, lambda: claims_of(self.root))

    def _imported(self, files: Sequence[str]) -> list[str]:
        """The files of the project that those of Claude Code import, as it follows them."""
        of_claude = [name for name in files if IMPORTER in readers_of(self.root, name)]
        return follow_imports(of_claude, self._imports_of)[len(of_claude) :]

    def _imports_of(self, name: str) -> list[str]:
        """The Markdown files in the project that a file imports and that are there."""
        path = self.root / name

        def read() -> list[str]:
            named = (os.path.join(path.parent, each) for each in imports_in(read_small(path)))
            inside = (os.path.relpath(each, self.root).replace(os.sep, "/") for each in named)
            return [each for each in inside if each.endswith(".md") and not each.startswith("../")]

        return [
            each
            for each in self._imports.setdefault(name, LastRead()).get([path], read)
            if os.path.isfile(self.root / each) and is_link_into(self.root / each, self.root)
        ]

    def parse(self, key: str, path: Path, text: str | None, sidecar: Sidecar) -> InstructionFile:
        file = InstructionFile(key, path, text, sidecar)
        file.readers = self.readers(key)
        return file

    def owns_shard(self, key: str) -> bool:
        return source_of(key) is not IMPORTED and not is_claimed(key, self._claimed())

    def entity_levels(self, entity: str) -> tuple[str, ...]:
        """The file as one level."""
        return (entity,)

    def place_new(self, change: Change, context: ListContext) -> tuple[str, str]:  # noqa: ARG002
        """A file that exists, or AGENTS.md; what follows it in the entity is a heading."""
        entity = str(change.fields.get("entity") or "").strip("/ ")
        files = self.list_files([])
        for path in sorted({*files, *([] if DEFAULT in files else [DEFAULT])}, key=len):
            if entity == path or entity.startswith(f"{path}/"):
                return path, entity[len(path) + 1 :]
        if entity:
            do = f"name one of {', '.join(files[:5])}, or {DEFAULT}/HEADING"
            raise Refused("rules are added to a file of instructions", where=entity, do=do)
        return (files[0] if files else DEFAULT), ""

    def may_hold(self, path: str, item: str) -> bool:  # noqa: ARG002
        return path in self.list_files([]) or source_of(path) is not IMPORTED

    def describe(self, file: ListFile, item: ListedText) -> dict[str, Any]:
        assert isinstance(file, InstructionFile)
        found = super().describe(file, item) | {"entity": file.key}
        front = file.document.frontmatter
        scope = scope_of(front, file.key)
        extra = found["extra"] | file.document.extra | {SCOPE: scope}
        extra[READ_BY] = file.readers
        is_rule = item.native.is_bullet
        found |= {"extra": extra, "type": RULE if is_rule else PROSE}
        if not is_rule:
            found |= {"kind": "note", "title": item.group}
        if "rating" not in file.sidecar.entry(item.id):
            usual = "low" if scope == BY_HAND else "medium"
            found["importance"] = "high" if scope == ALWAYS else usual
        return found

    # ---- what the programs do -------------------------------------------------------------------

    def reader(self, path: str) -> str:
        """The program that reads a file, or each of several."""
        if not path:
            return ""
        names = self.readers(path)
        if len(names) > 2:
            more = len(names) - 2
            return f"each of {names[0]}, {names[1]} and {counted(more, 'other')}"
        return f"each of {' and '.join(names)}" if names[1:] else (names or ["no program"])[0]

    def read_time(self, path: str) -> ReadTime:
        return source_of(path).reads

    def remarks(self) -> Sequence[Remark]:
        """What Claude Code does not read or import, and what is more than Codex is given."""
        patterns = self._excluded()
        excluded = ((path, self._excluding(path, patterns)) for path in self._readers([]))
        kept_out = [
            Remark(str(self.root / path), f"{EXCLUDES} in {file} keeps Claude Code from reading it")
            for path, file in excluded
            if file is not None and IMPORTER in readers_of(self.root, path)
        ]
        imports = [path for path, readers in self._readers([]).items() if IMPORTER in readers]
        return [*kept_out, *missed_imports(self.root, imports), *self._cut_for_codex()]

    def _cut_for_codex(self) -> Iterator[Remark]:
        """Codex is given so many bytes of a project's files, all together, and says nothing of the
        rest (openai/codex#7138)."""
        config = Path(os.environ.get("CODEX_HOME") or Path.home() / OF_CODEX, "config.toml")
        most = whole_number(read_settings(config).get(SETTING_OF_CODEX), LIMIT_OF_CODEX)
        readers = {} if is_home_of_codex(self.root) else self._readers([])
        for path in (SHARED, OVERRIDE):
            file = self.root / path
            size = os.path.getsize(file) if os.path.isfile(file) else 0
            if size > most and "Codex" in readers.get(path, ()):
                why = f"Codex is given {most:,} of its {size:,} bytes ({SETTING_OF_CODEX})"
                yield Remark(str(file), why)

    def limit_of(self, path: str) -> LoadLimit:
        source = source_of(path)
        if source.characters is None:
            return LoadLimit()
        return LoadLimit(characters=source.characters, source=f"{source.readers[0]}: Rules")

    def session_start(self, view: StoreView, entity: str, now: datetime) -> Sequence[LoadedText]:  # noqa: ARG002
        """The files that are given for everything, each to its own programs."""
        scopes = {m.entity: m.extra.get(SCOPE) for m in view.memories(self.label)}
        texts = list[LoadedText]()
        for path, readers in self._readers([]).items():
            if scopes.get(path) == ALWAYS and readers:
                texts += self.loaded_file(path, view, f"given to {', '.join(readers)}")
        return texts


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory to a bullet below the heading of its entity."""
    follows = memory.importance == "medium" and memory.status in CURRENT
    changes = [(follows, "importance (follows from the scope of the file)")]
    return convert_below_heading(memory, changes=changes)


SUPPORT = FormatSupport(InstructionStore, transfer=TransferSupport(convert=convert))
