"""A folder of Markdown notes as a store: every note is a shard of its own.

Where the folder's program commits its notes to git, changed files are committed, if git is
installed; nothing that the repository names is run (see `files.git_repository`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from memtui.changes import TEXTS, Act, Change, Edit, Plan
from memtui.errors import Refused
from memtui.files.reading import digest
from memtui.model import Memory
from memtui.stores.base import (
    LoadedText,
    Reading,
    StoreView,
    Unreadable,
    WriteRecorder,
    Written,
    loaded_whole,
)
from memtui.stores.file_store import TextFileStore
from memtui.stores.format import FormatSupport, TransferSupport
from memtui.stores.markdown.documents import parse_document, time_of_change
from memtui.stores.markdown_folder import SETTINGS, editing, profile_of
from memtui.stores.markdown_folder.editing import convert
from memtui.stores.markdown_folder.profiles import PROFILES
from memtui.stores.markdown_folder.records import NoteContext, link_names, note_memories
from memtui.stores.markdown_folder.rules import (
    NO_PATTERNS,
    NamePatterns,
    memfs_fault,
    parse_patterns,
    patterns_in,
    upkeep_rules,
)
from memtui.stores.scanning import SUFFIX, CachedFile, FoundShard, documents, read_place_facts
from memtui.stores.sidecar import Sidecar
from memtui.stores.values import utc_now

MAX_LINKED = 1_000
"""Notes up to which a new or removed one has all others read again, because it may be what they
link to. In a larger folder a link is found again when its own note changes."""


class MarkdownFolder(TextFileStore[NoteContext]):
    """One folder of notes, by the rules of the profile that is recognised or chosen."""

    format = "markdown-folder"
    acts = editing.ACTS
    rescans = True  # a note is looked up by the names of the others

    def __init__(
        self, root: Path, label: str, profile: str = "", now: Callable[[], datetime] = utc_now
    ) -> None:
        super().__init__(root, label, now)
        self.profile = PROFILES[profile] if profile else profile_of(root)
        file = root.parent / SETTINGS.name
        self._patterns: CachedFile[NamePatterns] = CachedFile(
            file, root.parent, parse_patterns, NO_PATTERNS
        )
        self._paths: list[str] = []
        self._names: dict[str, str] | None = None
        self._not_committed = ""

    def take_rules(self, other: MarkdownFolder) -> None:
        """Use the rules of this other folder; for a copy of some of its files."""
        self.profile = other.profile

    def refusal(self, act: Act, memory: Memory | None) -> str:
        """As `FileStore.refusal`; a link that is part of the text cannot be removed separately."""
        why = super().refusal(act, memory)
        if not why and act is Act.UNLINK and memory is not None:
            entry = self.sidecar.current().entry(memory.id)
            return "" if entry.get("links") else "its links stand in its text: edit the note"
        return why

    def plan(self, change: Change, view: StoreView) -> Plan:
        """As `FileStore.plan`; what the hook of the folder's program would refuse is refused."""
        plan = super().plan(change, view)
        for edit in plan.edits if self.profile.described else ():
            if edit.kind in TEXTS and edit.after is not None:
                path = os.path.relpath(edit.path, self.root).replace(os.sep, "/")
                if why := memfs_fault(path, edit.after):
                    raise Refused(why, where=path, do="fix its frontmatter first")
        return plan

    def plan_context(self, view: StoreView) -> NoteContext:
        return NoteContext(**self.context_fields(view), profile=self.profile)

    def place_facts(self) -> Mapping[str, Any]:
        """The profile, which the names of folders above may tell, and the settings beside them."""
        return {"profile": self.profile.name, **self.name_patterns().settings()}

    def find_shards(self) -> Iterator[FoundShard | Unreadable]:
        patterns = self.name_patterns()
        if patterns.fault:
            yield Unreadable(str(self._patterns.path), patterns.fault)
        faults: list[Unreadable] = []
        notes = [
            each
            for each in documents(self.root, faults)
            if not patterns.is_ignored(each.key.removesuffix(SUFFIX))
        ]
        paths = [each.key for each in notes]
        known = digest("\n".join(paths).encode("utf-8", "surrogateescape"))[:8]
        mark = f"{self.profile.name}|{known if len(paths) <= MAX_LINKED else ''}"
        for each in notes:
            locked = patterns.is_read_only(each.key.removesuffix(SUFFIX))
            yield each._replace(mark=f"{each.mark}|{mark}|{'read-only' if locked else ''}|")
        yield from faults
        if self._not_committed:
            yield Unreadable(str(self.root / ".git"), self._not_committed)
        if paths != self._paths:
            self._paths, self._names = paths, None

    def name_patterns(self) -> NamePatterns:
        """Which notes are read-only or ignored by the settings of the folder's program."""
        if not self.profile.references:
            return NO_PATTERNS
        if not os.path.lexists(self._patterns.path):
            return patterns_in(read_place_facts(self.root))
        parsed = self._patterns.current()
        return NamePatterns(fault=parsed.fault) if parsed.fault else parsed.value

    def session_start(self, view: StoreView, entity: str, now: datetime) -> Sequence[LoadedText]:  # noqa: ARG002
        """The notes that the folder's program puts into every prompt; () where it puts none."""
        return tuple(
            loaded_whole(memory, f"{self.profile.title} gives it to every session")
            for memory in view.memories(self.label)
            if memory.kind == "document" and memory.extra.get("loaded_at_start")
        )

    def read_text(self, key: str, path: Path, text: str, sidecar: Sidecar) -> Reading:
        """One note, and its observations."""
        locked = self.name_patterns().is_read_only(key.removesuffix(SUFFIX))
        document = parse_document(key, str(path), text, time_of_change(path))
        rating = sidecar.entry(key).get("rating")
        return Reading(
            tuple(note_memories(document, self.profile, self.label, self._find, rating, locked))
        )

    def _find(self, name: str) -> str:
        """The one note that a link names; empty when none or several have the name."""
        if self._names is None:
            names: dict[str, str] = {}
            for path in self._paths:
                for each in dict.fromkeys(link_names(path)):
                    names[each] = "" if names.get(each, path) != path else path
            self._names = names
        return self._names.get(name) or self._names.get(link_names(name)[2], "")

    def apply(self, edits: Sequence[Edit], recorder: WriteRecorder) -> Written | None:
        """Make the edits, and commit the files where the folder's program does."""
        super().apply(edits, recorder)
        files = sorted({edit.path for edit in edits if edit.kind in TEXTS})
        if not files or not self.profile.commits:
            return None
        from memtui.files.git_repository import commit_files

        why = commit_files(self.root, files)
        self._not_committed = f"the last change is written but not committed: {why}" if why else ""
        return Written(tuple(edits), {}, (self._not_committed,)) if why else None


SUPPORT = FormatSupport(
    MarkdownFolder,
    MarkdownFolder,
    transfer=TransferSupport(
        belongings=("*.md", ".obsidian/app.json"),
        convert=convert,
    ),
    upkeep=upkeep_rules(),
)
