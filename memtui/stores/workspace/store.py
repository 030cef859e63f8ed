"""A gptme workspace as a store: every Markdown document is a shard of its own.

A document is read again when its file changes, and when what lies outside it changes what is said
of it: its type by path, its usage in the log, memtui's own notes on it. So a new line in the log or
a new rule in the type map costs only the documents it is about. The task rules look into the
documents, which a scan does not; for documents under `tasks/` any change of the map counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from memtui.changes import Act, Change, Plan
from memtui.dataclass import asdict, dataclass
from memtui.errors import RefError, Refused
from memtui.stores import workspace
from memtui.stores.base import LoadedText, Reading, StoreView, Unreadable, loaded_whole
from memtui.stores.file_store import TextFileStore
from memtui.stores.format import FormatSupport, TransferSupport
from memtui.stores.markdown.documents import parse_document, time_of_change
from memtui.stores.scanning import SUFFIX, CachedFile, FoundShard, ParsedFile, documents
from memtui.stores.sidecar import Sidecar
from memtui.stores.values import utc_now
from memtui.stores.workspace import LOG_PATH, MAP_PATH, DocumentUsage, InjectionLog, editing, rules
from memtui.stores.workspace.records import DocumentContext, convert, memory_of
from memtui.stores.workspace.rules import TypeMap


@dataclass(frozen=True, slots=True)
class _SharedFiles:
    """Files that say something about documents (types, usage), as one scan found them."""

    types: ParsedFile[TypeMap]
    log: ParsedFile[InjectionLog]
    sidecar: Sidecar


LOADED = f"the files that {workspace.PROMPT_FILE} puts into the prompt, else the core documents"


class WorkspaceStore(TextFileStore[DocumentContext]):
    """One workspace."""

    format = "workspace"
    acts = editing.ACTS

    def __init__(self, root: Path, label: str, now: Callable[[], datetime] = utc_now) -> None:
        super().__init__(root, label, now)
        self._map = CachedFile(root / MAP_PATH, root, rules.parse_type_map, rules.NO_TYPES)
        self._log = CachedFile(root / LOG_PATH, root, workspace.parse_log, workspace.NO_LOG)
        self._shared: _SharedFiles | None = None
        self._paths: list[str] = []
        self._marked_by: ParsedFile[TypeMap] | None = None
        self._marks: dict[str, str] = {}
        self._stems: dict[str, str] | None = None

    def plan_context(self, view: StoreView) -> DocumentContext:
        return DocumentContext(
            **self.context_fields(view), types=self._map.current(), map_path=self._map.path
        )

    def plan(self, change: Change, view: StoreView) -> Plan:
        """The exact edits of a change; a RETYPE may be of every document that fits a pattern."""
        if change.act is not Act.RETYPE or not change.fields.get("pattern"):
            return super().plan(change, view)
        why = self.refusal(change.act, None)
        if why:
            raise Refused(why, where=str(self.root))
        return editing.retype_by_pattern(change, self.plan_context(view))

    def find_shards(self) -> Iterator[FoundShard | Unreadable]:
        """Each document, by one stat, its mark made of all that is said of it."""
        shared = self._read_shared_files()
        yield from self._faults(shared)
        usage = shared.log.value.usage
        type_marks = self._type_marks(shared.types)
        faults: list[Unreadable] = []
        paths: list[str] = []
        for each in documents(self.root, faults):
            path = each.key
            type_mark = type_marks.get(path)
            if type_mark is None:
                type_mark = type_marks[path] = _type_mark(shared.types, path)
            paths.append(path)
            yield FoundShard(
                path, each.files, f"{each.mark}|{type_mark}|{_usage_mark(usage.get(path))}|"
            )
        yield from faults
        if paths != self._paths:
            self._paths, self._stems = paths, None

    def _type_marks(self, types: ParsedFile[TypeMap]) -> dict[str, str]:
        """The types that the map gives to each path, computed once for each version of the map."""
        if self._marked_by is not types:
            self._marked_by, self._marks = types, {}
        return self._marks

    def _read_shared_files(self) -> _SharedFiles:
        now = _SharedFiles(self._map.current(), self._log.current(), self.sidecar.current())
        self._shared = now
        return now

    def _faults(self, shared: _SharedFiles) -> Iterator[Unreadable]:
        types, log = shared.types, shared.log
        for fault in [types.fault] if types.fault else types.value.faults:
            yield Unreadable(str(self._map.path), fault)
        log_fault = log.fault or log.value.fault
        if log_fault:
            yield Unreadable(str(self._log.path), log_fault)

    def sidecar_read(self) -> Sidecar:
        """As of the last scan: one look at it is enough for 33,000 documents."""
        return (self._shared or self._read_shared_files()).sidecar

    def read_text(self, key: str, path: Path, text: str, sidecar: Sidecar) -> Reading:
        """One document."""
        shared = self._shared or self._read_shared_files()
        document = parse_document(key, str(path), text, time_of_change(path))
        usage = shared.log.value.usage.get(key)
        memory = memory_of(
            document,
            shared.types.value.of(key, document.frontmatter),
            label=self.label,
            by_stem=self._by_stem,
            injections=asdict(usage) if usage else None,
            rating=sidecar.entry(key).get("rating"),
        )
        return Reading((memory,))

    def session_start(self, view: StoreView, entity: str, now: datetime) -> Sequence[LoadedText]:  # noqa: ARG002
        """The core documents, whole, in the order that the prompt has them."""
        found = []
        for path in workspace.prompt_files(self.root):
            with suppress(RefError):
                found.append(loaded_whole(view.get(f"{self.label}:{path}"), LOADED))
        return tuple(found)

    def _by_stem(self, stem: str) -> str:
        """The one document whose file name has this stem; empty when none or several have it."""
        if self._stems is None:
            self._stems = {}
            for path in self._paths:
                own = path.rpartition("/")[2].removesuffix(SUFFIX)
                self._stems[own] = "" if own in self._stems else path
        return self._stems.get(stem, "")


def _type_mark(types: ParsedFile[TypeMap], path: str) -> str:
    if path.startswith(rules.TASKS_FOLDER):
        return types.digest
    found = types.value.by_path(path)
    return f"{found.type} {found.ignored}" if found.type or found.ignored else ""


def _usage_mark(usage: DocumentUsage | None) -> str:
    return f"{usage.found} {usage.injected} {usage.last}" if usage else ""


SUPPORT = FormatSupport(
    WorkspaceStore,
    transfer=TransferSupport(
        belongings=(MAP_PATH, LOG_PATH, "gptme.toml"),
        convert=convert,
    ),
)
