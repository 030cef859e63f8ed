"""Find former texts of memories: in memtui's journal, in what it kept when it looked, and in git.

A former text is read by the store's own format: the file as it was is written into a temporary
folder and opened there, so that no format needs a second reader.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from memtui.changes import SHARED_TEXTS, TEXTS, Edit, Kind
from memtui.errors import MemtuiError, UnreadableFile
from memtui.files.git_history import FileVersion, GitHistory
from memtui.files.json.locating import LINES
from memtui.files.reading import encode, read_bytes
from memtui.files.sidecar_lines import read_entries, read_sidecar_texts
from memtui.insight.comparison import COMPARED
from memtui.insight.lineage import Lineage
from memtui.insight.versions import TextVersion, VersionHistory, VersionOrigin, version_history
from memtui.journal import ActionState, ActionStep, Journal, as_last_made
from memtui.library import kept_texts
from memtui.model import Memory
from memtui.progress import IsCancelled, never
from memtui.stores import registry
from memtui.stores.base import Store
from memtui.stores.format import Format
from memtui.stores.listed_texts import TEXT_KEY

log = logging.getLogger(__name__)

COMMIT_LETTERS = 12
"""Letters of a commit's hash that are shown."""
_SHOWN = ("title", "content", "type", "importance", "tags", "confidence")
"""Fields that a former version of a memory has of its own; the others are as they are now."""


class FormerReader:
    """Reads files as they were, by the format of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._root = store.root
        self._is_file = store.root.is_file()
        self._base = store.root.parent  # some stores have a file beside their folder
        self._label = store.label
        self._folders: list[str] | None = None
        self._format = registry.format_of(store.format)

    @property
    def is_possible(self) -> bool:
        """Whether the store consists of files that can be read one by one."""
        is_text = self._format is not None and self._format.database is None
        return is_text and (self._is_file or self._root.is_dir())

    def read_row(self, memory: Memory, table: str, columns: Mapping[str, Any]) -> Memory | None:
        """A memory with the texts of these columns of its row; None if they hold none of them."""
        texts = self._store.texts_of_row(memory, table, columns)
        return replace(memory, **texts) if "content" in texts or "title" in texts else None

    def read(self, files: Iterable[tuple[str, bytes]]) -> dict[str, Memory]:
        """Read these files (absolute path, content) as a store: id -> memory, as of then.

        Places of the memories are those in the store. Files outside of it are left out.
        """
        wanted_files = list(files)
        found = self._read(wanted_files, ())
        read = {place.file for memory in found.values() for place in (memory.origin, *memory.also)}
        if read.issuperset(path for path, _ in wanted_files):
            return found
        # Some formats go by the folders around a file, such as the projects of a home folder.
        return self._read(wanted_files, self._list_folders())

    def read_beside(self, paths: Collection[str]) -> list[tuple[str, bytes]]:
        """The files that are read together with these, as they are now, such as the topics that an
        index names."""
        shards = (shard.files for shard in self._store.scan().shards)
        beside = {file for files in shards if not {*paths}.isdisjoint(files) for file in files}
        return read_present(beside - {*paths})

    def _read(
        self, files: Sequence[tuple[str, bytes]], folders: Iterable[str]
    ) -> dict[str, Memory]:
        if self._format is None:
            return {}
        with tempfile.TemporaryDirectory(prefix="memtui-former-") as folder:
            top = Path(folder).resolve()
            for name in folders:
                (top / name).mkdir(parents=True, exist_ok=True)
            for path, content in files:
                name = self._name(path)
                if not name.startswith(".."):
                    file = top / name
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(content)
            try:
                root = top / self._root.name
                store = open_like(self._store, self._format, root)
                readings = [store.read(shard) for shard in store.scan().shards]
            except Exception as error:  # a format may come from another package
                log.warning("a former version cannot be read: %r", error)
                return {}
            found = {
                memory.id: _with_root(memory, str(top), str(self._base))
                for reading in readings
                for memory in reading.memories
            }
        names = self._item_names()
        for memory in list(found.values()):
            id = names.get(memory.id, memory.id)
            if id not in found:
                del found[memory.id]
                found[id] = replace(memory, id=id, ref=f"{self._label}:{id}")
        return found

    def _item_names(self) -> dict[str, str]:
        """Id by its text -> the id that an item of that text had, as the sidecar's lines say.

        A file of items names each by its text; the sidecar keeps the name of one that was edited.
        """
        try:
            texts = read_sidecar_texts(self._root)
        except UnreadableFile:
            return {}
        names = {}
        for line in (line for text in texts for line in text.split("\n")):
            for id, entry in read_entries(line).items():
                key = entry.get(TEXT_KEY) if isinstance(entry, dict) else None
                if isinstance(key, str):
                    head, mark, _ = id.rpartition("#")
                    names[f"{head}{mark}{key}"] = id
        return names

    def _name(self, path: str) -> str:
        """The path within the store; it begins with `..` outside of it."""
        return os.path.relpath(os.path.realpath(path), os.path.realpath(self._base))

    def _list_folders(self) -> list[str]:
        """The folders of the store that hold files now."""
        if self._folders is None:
            shards = self._store.scan().shards
            folders = {os.path.dirname(file) for shard in shards for file in shard.files}
            named = map(self._name, sorted(folders))
            self._folders = [name for name in named if not name.startswith("..")]
        return self._folders


def read_present(files: Iterable[str]) -> list[tuple[str, bytes]]:
    """What these files hold now, of those that can be read."""
    found = []
    for file in files:
        with suppress(UnreadableFile):
            found.append((file, read_bytes(Path(file))))
    return found


def open_like(store: Store, known: Format, root: Path) -> Store:
    """Open a copy of a store at another root, with its label and its rules."""
    opened = known.open(root, store.label)
    opened.take_rules(store)
    return opened


def _with_root(memory: Memory, folder: str, root: str) -> Memory:
    def moved(file: str) -> str:
        return root + file.removeprefix(folder) if file.startswith(folder) else file

    origin = replace(memory.origin, file=moved(memory.origin.file))
    also = tuple(replace(place, file=moved(place.file)) for place in memory.also)
    return replace(memory, origin=origin, also=also)


def with_former_text(memory: Memory, former: Memory) -> Memory:
    """The memory with the text and the other shown fields of its former self."""
    names = {*_SHOWN}
    if memory.also and not former.also:  # the title stands in another file, which was not read
        names.discard("title")
    return replace(memory, **{name: getattr(former, name) for name in names})


def read_steps(
    state: Path | None,
    choose: Callable[[Sequence[ActionStep]], Sequence[ActionStep]],
    *,
    since: float = float("-inf"),
    files: Collection[str] = (),
) -> list[ActionStep]:
    """The journal's edits that `Journal.steps` returns; [] if there is no journal to read."""
    if state is None:
        return []
    journal = Journal(state, renames_damaged=False)  # nobody would be told here
    try:
        return journal.steps(choose, since=since, files=files)
    except MemtuiError as error:
        log.warning("former versions could not be looked for: %s", error)
        return []
    finally:
        journal.close()


def find_history(
    lineage: Lineage,
    store: Store,
    state: Path | None,
    cancelled: IsCancelled = never,
) -> VersionHistory:
    """Find every version of the memories of a lineage.

    Args:
        lineage: Of a memory of this store.
        store: The store.
        state: Folder of the journal; None if there is none.
        cancelled: Asked between versions; what was found until then is returned.
    """
    reader = FormerReader(store)
    former: dict[str, list[TextVersion]] = {}
    left_out = ""
    deadline = 0.0
    for relative in lineage.history:
        memory = relative.memory
        if memory is None:
            continue
        found = store_versions(memory, store) or journal_versions(memory, state, reader)
        seen = kept_texts.file_versions(memory, store, state)
        found += (
            text_versions(memory, seen, reader, VersionOrigin.SEEN, with_others=True)
            if reader.is_possible
            else row_versions(memory, seen)
        )
        if reader.is_possible and memory.origin.file:
            git = GitHistory.of(Path(memory.origin.file).parent, cancelled)
            if git is not None:
                git.deadline = deadline = deadline or git.deadline  # one for the whole lineage
                versions = git.versions(Path(memory.origin.file))
                found += text_versions(memory, versions, reader, VersionOrigin.GIT)
                left_out = git.left_out or left_out
        former[memory.id] = found
    return version_history(lineage, former, left_out=left_out)


def store_versions(memory: Memory, store: Store) -> list[TextVersion]:
    """The texts that a store of several people keeps, with who wrote them, oldest first."""
    found: list[TextVersion] = []
    began, by = memory.created, str(memory.extra.get("author") or "")
    former = getattr(store, "former", None)  # a guard passes it on
    for each in reversed(former(memory.id)) if former is not None else ():
        if not found or found[-1].text != each.memory.full_text:
            note = f"change {each.number}"
            found.append(TextVersion(each.memory, VersionOrigin.KEPT, began, by, note))
        began, by = each.until, each.who
    if found:
        found.append(TextVersion(memory, VersionOrigin.KEPT, began, by))
    return found


def row_versions(memory: Memory, seen: Iterable[FileVersion]) -> list[TextVersion]:
    """The different texts of a memory of a database that were seen, oldest first."""
    rows = [(kept_texts.read_row(each.text, memory.store), each.time) for each in seen]
    return [
        TextVersion(with_former_text(memory, row), VersionOrigin.SEEN, time)
        for row, time in reversed(rows)
        if row is not None
    ]


def text_versions(
    memory: Memory,
    versions: Iterable[FileVersion],
    reader: FormerReader,
    origin: VersionOrigin,
    *,
    with_others: bool = False,
) -> list[TextVersion]:
    """The different texts that a memory has had in the versions of its file, which come newest
    first; oldest first. `with_others`: read them together with what is read with that file now.

    A version of the file is read only if it differs in the lines of the memory itself: of 1,000
    commits of a file with many memories, few concern the one that is asked for.
    """
    found: list[TextVersion] = []
    own: _OwnLines | None = None
    beside = reader.read_beside([memory.origin.file]) if with_others else []
    for version in versions:
        if own is not None and own.are_same_in(version.text):
            if found:  # the older commit of the same text brought it in
                found[-1] = replace(
                    found[-1],
                    time=version.time,
                    author=version.author,
                    note=version.commit[:COMMIT_LETTERS],
                )
            continue
        read = reader.read([*beside, (memory.origin.file, version.text)])
        former = read.get(memory.id)
        own = _OwnLines.of(memory.id, read, version.text)
        if former is None:
            continue
        text = with_former_text(memory, former)
        text_version = TextVersion(
            text,
            origin,
            version.time,
            version.author,
            version.commit[:COMMIT_LETTERS],
        )
        if found and found[-1].text == text_version.text:
            found[-1] = text_version  # the older commit of the same text brought it in
        else:
            found.append(text_version)
    return found[::-1]


class _OwnLines(Struct):
    """The lines of a file that hold one memory, followed from version to version."""

    lines: Sequence[bytes]
    start: int
    """The first line of the memory, from 0."""
    end: int
    """The first line of the next memory."""

    @classmethod
    def of(cls, id: str, read: Mapping[str, Memory], text: bytes) -> _OwnLines | None:
        """The lines of a memory; None if they are not known, or if it has the file for itself."""
        memory = read.get(id)
        if memory is None or memory.origin.line is None or len(read) < 2:
            return None
        starts = sorted(item.origin.line or 0 for item in read.values())
        start = memory.origin.line
        if starts[0] < 1 or starts.count(start) > 1:
            return None
        lines = text.split(b"\n")
        following = next((line - 1 for line in starts if line > start), len(lines))
        return cls(lines, start - 1, following)

    def are_same_in(self, text: bytes) -> bool:
        """Whether all lines that another version has changed are outside; if so, that version is
        the one to compare with next."""
        lines = text.split(b"\n")
        first, last = _same_ends(self.lines, lines)
        if first >= self.end:
            self.lines = lines
            return True
        if len(self.lines) - last <= self.start:
            shift = len(lines) - len(self.lines)
            self.lines, self.start, self.end = lines, self.start + shift, self.end + shift
            return True
        return False


def _same_ends(old: Sequence[bytes], new: Sequence[bytes]) -> tuple[int, int]:
    """How many lines are the same at the beginning of two texts, and at the end of the rest."""
    most = min(len(old), len(new))
    first = next((at for at in range(most) if old[at] != new[at]), most)
    last = next((at for at in range(most - first) if old[-1 - at] != new[-1 - at]), most - first)
    return first, last


def journal_versions(memory: Memory, state: Path | None, reader: FormerReader) -> list[TextVersion]:
    """The texts that memtui has given a memory, and the one before the first, oldest first."""
    found: list[TextVersion] = []
    undone: list[TextVersion] = []
    """Texts that came back by an undo, newest change first as they were undone."""

    def choose(steps: Sequence[ActionStep]) -> list[ActionStep]:
        return [s for s in as_last_made(steps) if concerns(s.edit, memory)]

    for step in reversed(read_steps(state, choose, files=_files(memory))):
        before = former_memory(memory, step.edit, "before", reader)
        after = former_memory(memory, step.edit, "after", reader)
        time = datetime.fromtimestamp(step.action.changed, UTC)
        begun = datetime.fromtimestamp(step.action.time, UTC)
        number, author = f"#{step.action.id}", step.action.author
        by = str(author) if author is not None else ""
        if _is_of_another(step.edit, before, after):
            continue
        is_undone = step.action.state is ActionState.UNDONE
        if undone and (not is_undone or (undone[0].time or begun) <= begun):
            found += undone
            undone = []
        if is_undone:
            if after is not None:
                undone.insert(0, TextVersion(after, VersionOrigin.JOURNAL, time, "", number))
            before, after, time = after, before, begun
        if before is not None and not found:
            found.append(TextVersion(before, VersionOrigin.STORE, memory.created))
        if after is not None:
            found.append(TextVersion(after, VersionOrigin.JOURNAL, time, by, number))
    return found + undone


def concerns(edit: Edit, memory: Memory) -> bool:
    """Whether an edit is one of this memory's record, row or file."""
    files = _files(memory)
    if edit.kind is Kind.RECORD:
        return edit.id == memory.id and edit.path in files
    if edit.kind is Kind.ROW:
        return edit.path in files and memory.origin.key == f"{edit.table}.id={edit.row.get('id')}"
    if edit.kind not in TEXTS or edit.path not in files:
        return False
    return memory.kind == "document" or edit.kind in SHARED_TEXTS


def changed_ids(edit: Edit, reader: FormerReader) -> set[str]:
    """Ids of the memories that an edit of a shared text has changed, added or removed."""
    beside = reader.read_beside([edit.path])
    before, after = (
        reader.read([*beside, (edit.path, encode(side))] if side is not None else beside)
        for side in (edit.before, edit.after)
    )
    return {id for id in before.keys() | after.keys() if _state(before, id) != _state(after, id)}


def _state(read: Mapping[str, Memory], id: str) -> tuple[object, ...] | None:
    memory = read.get(id)
    return None if memory is None else tuple(getattr(memory, n) for n in (*COMPARED, "status"))


def _files(memory: Memory) -> set[str]:
    return {memory.origin.file, *(place.file for place in memory.also)}


def last_changes(state: Path | None) -> dict[tuple[str, str], datetime]:
    """Root of a store and id -> when memtui last changed the record of a memory, or whether it is
    in use. A database's own rows are not listed: they say when they were deleted."""
    times: dict[tuple[str, str], datetime] = {}

    def choose(steps: Sequence[ActionStep]) -> list[ActionStep]:
        newest: dict[tuple[object, ...], ActionStep] = {}
        for number, step in enumerate(as_last_made(steps)):
            edit = step.edit
            if edit.kind is Kind.RECORD:
                newest.setdefault((step.store, edit.id), step)
            elif edit.kind is Kind.SIDECAR:  # only its texts say whether it is of the status
                newest[step.store, edit.id, number] = step
        return list(newest.values())

    for step in read_steps(state, choose):
        edit = step.edit
        if edit.kind is Kind.SIDECAR:
            before, after = edit.before or {}, edit.after or {}
            is_of_status = any(before.get(key) != after.get(key) for key in ("status", "kept"))
        else:
            is_of_status = edit.kind is Kind.RECORD
        if is_of_status:
            time = datetime.fromtimestamp(step.action.changed, UTC)
            times.setdefault((step.store, edit.id), time)
    return times


def _is_of_another(edit: Edit, before: Memory | None, after: Memory | None) -> bool:
    """Whether an edit of a file with several memories has changed others only."""
    if edit.kind not in SHARED_TEXTS or before is None or after is None:
        return False
    return (before.title, before.content) == (after.title, after.content)


def former_memory(memory: Memory, edit: Edit, side: str, reader: FormerReader) -> Memory | None:
    """The memory as it was on one side of an edit, `before` or `after`; None if it was not."""
    value = getattr(edit, side)
    if value is None:
        return None
    if edit.kind is Kind.ROW:
        return reader.read_row(memory, edit.table, value)
    if edit.kind is Kind.RECORD:
        former = reader.read([(edit.path, record_file(edit, value))]).get(memory.id)
    elif edit.kind in TEXTS:
        former = reader.read([(edit.path, encode(value))]).get(memory.id)
    else:
        return None
    return None if former is None else with_former_text(memory, former)


def record_file(edit: Edit, *records: str) -> bytes:
    """The file of a record with these raw records only; other values are as they are on disk."""
    try:
        top: Any = json.loads(read_bytes(Path(edit.path)))
    except (UnreadableFile, ValueError, RecursionError):
        top = None
    array: tuple[str, ...] = edit.key[0]
    if array == LINES:
        return "".join(f"{record}\n" for record in records).encode("utf-8", "surrogateescape")
    items = "[" + ",".join(records) + "]"
    if not array:
        return items.encode("utf-8", "surrogateescape")
    own = top if isinstance(top, dict) and len(array) == 1 else {}
    head = json.dumps({name: value for name, value in own.items() if name != array[0]})[1:-1]
    for key in reversed(array):
        items = "{" + json.dumps(key) + ":" + items + "}"
    text = "{" + (f"{head}," if head else "") + items[1:]
    return text.encode("utf-8", "surrogateescape")
