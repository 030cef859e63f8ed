"""A folder of Markdown notes as a store: every note is a shard of its own.

Where the folder's program commits its notes to git, changed files are committed, if git is
installed. Hooks, filters and file monitors of the repository are programs that whoever wrote the
folder chose, so none is run: blobs are written as they are, the tree is made in an index of its
own, and what others have staged is neither committed nor lost.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from memtui.changes import Act, Change, Edit, Plan, TextEdit
from memtui.errors import ConfigError, Refused
from memtui.files.reading import digest
from memtui.model import Memory
from memtui.stores.base import (
    LoadedText,
    Reading,
    StoreView,
    Unreadable,
    WriteRecorder,
    loaded_whole,
)
from memtui.stores.file_store import TextFileStore
from memtui.stores.markdown.documents import parse_document, time_of_change
from memtui.stores.markdown_folder import SETTINGS, editing, profile_of
from memtui.stores.markdown_folder.profiles import PROFILES
from memtui.stores.markdown_folder.records import NoteContext, link_names, note_memories
from memtui.stores.markdown_folder.rules import (
    NO_PATTERNS,
    NamePatterns,
    memfs_fault,
    parse_patterns,
    patterns_in,
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

    def __init__(self, root: Path, label: str, now: Callable[[], datetime] = utc_now) -> None:
        super().__init__(root, label, now)
        self.profile = profile_of(root)
        file = root.parent / SETTINGS.name
        self._patterns: CachedFile[NamePatterns] = CachedFile(
            file, root.parent, parse_patterns, NO_PATTERNS
        )
        self._paths: list[str] = []
        self._names: dict[str, str] | None = None
        self._not_committed = ""

    def choose(self, name: str) -> None:
        """Use another profile than the one that was recognised. Raises ConfigError."""
        if name not in PROFILES:
            raise ConfigError(f"there is no profile {name!r}", do=f"known: {', '.join(PROFILES)}")
        self.profile = PROFILES[name]

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
            if isinstance(edit, TextEdit) and edit.after is not None:
                path = os.path.relpath(edit.path, self.root).replace(os.sep, "/")
                if why := memfs_fault(path, edit.after):
                    raise Refused(why, where=path, do="fix its frontmatter first")
        return plan

    def plan_context(self, view: StoreView) -> NoteContext:
        return NoteContext(**self.context_fields(view), profile=self.profile)

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
            why = f"the last change is written but not committed: {self._not_committed}"
            yield Unreadable(str(self.root / ".git"), why)
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

    def apply(self, edits: Sequence[Edit], recorder: WriteRecorder) -> None:
        """Make the edits, and commit the files where the folder's program does."""
        super().apply(edits, recorder)
        files = sorted({edit.path for edit in edits if isinstance(edit, TextEdit)})
        if files and self.profile.commits:
            self._not_committed = commit_files(self.root, files)


def place_facts(store: MarkdownFolder) -> dict[str, object]:
    """The profile, which the names of folders above may tell, and the settings beside them."""
    return {"profile": store.profile.name, **store.name_patterns().settings()}


# ---- commits ------------------------------------------------------------------------------------


SECONDS = 20.0
"""For one call of git."""

_SAFE = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0")
_WHO = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "memtui"), ("EMAIL", "memtui@localhost"))
}


class _GitFailed(Exception):
    """What git said."""


def commit_files(root: Path, files: Sequence[str]) -> str:
    """Commit these files of the repository at `root` as they are now.

    Args:
        root: the top folder of the repository.
        files: absolute paths; one that does not exist is committed as removed.

    Returns:
        Why nothing was committed, for people; "" if it was, or if there is no repository or no git.
    """
    import shutil
    import subprocess

    git = shutil.which("git")
    if git is None or not os.path.isdir(root / ".git"):
        return ""
    names = [os.path.relpath(file, root).replace(os.sep, "/") for file in files]
    if any(name.startswith("../") for name in names):
        return "a file lies outside the repository"
    try:
        _commit(git, root, names)
    except (_GitFailed, OSError, subprocess.TimeoutExpired) as error:
        return " ".join(str(error).split())[:200] or type(error).__name__
    return ""


def _commit(git: str, root: Path, names: Sequence[str]) -> None:
    import tempfile

    head = _git(git, root, "rev-parse", "--verify", "--quiet", "HEAD", check=False)
    with tempfile.TemporaryDirectory(prefix="memtui-git-") as folder:
        index = {"GIT_INDEX_FILE": os.path.join(folder, "index")}
        if head:
            _git(git, root, "read-tree", head, env=index)
        entries = [_entry(git, root, name) for name in names]
        _update(git, root, entries, index)
        tree = _git(git, root, "write-tree", env=index)
    if head and tree == _git(git, root, "rev-parse", f"{head}^{{tree}}"):
        return
    shown = names[0] if len(names) == 1 else f"{len(names)} files"
    parent = ("-p", head) if head else ()
    commit = _git(git, root, "commit-tree", tree, *parent, "-m", f"memtui: {shown}", env=_WHO)
    _git(git, root, "update-ref", "-m", "commit: memtui", "HEAD", commit, *([head] if head else []))
    _update(git, root, entries, {})


def _entry(git: str, root: Path, name: str) -> str:
    """The line of `update-index --index-info` for a file as it is now."""
    path = root / name
    if not os.path.isfile(path):
        return f"0 {'0' * 40}\t{name}\0"
    blob = _git(git, root, "hash-object", "-w", "--no-filters", "--", name)
    mode = "100755" if os.access(path, os.X_OK) else "100644"
    return f"{mode} {blob}\t{name}\0"


def _update(git: str, root: Path, entries: Sequence[str], env: dict[str, str]) -> None:
    _git(git, root, "update-index", "-z", "--index-info", env=env, stdin="".join(entries))


def _git(
    git: str,
    root: Path,
    *arguments: str,
    env: dict[str, str] | None = None,
    stdin: str = "",
    check: bool = True,
) -> str:
    import subprocess

    place = {"GIT_DIR": str(root / ".git"), "GIT_WORK_TREE": str(root)}
    done = subprocess.run(
        [git, *_SAFE, *arguments],
        cwd=root,
        env={**os.environ, **place, **(env or {})},
        input=os.fsencode(stdin),
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode and check:
        raise _GitFailed(done.stderr.decode("utf-8", "replace").strip() or f"git {arguments[0]}")
    return "" if done.returncode else os.fsdecode(done.stdout).strip()
