"""An OpenClaw workspace as a store: every file is a shard.

* Bullets and paragraphs of MEMORY.md are facts; the entity is `memory/<heading>`.
* Those of a daily log are events of that day; the entity is `daily/<name of the file>`.
* A promoted line has the type `promoted`, its score as confidence, the line it came from as source,
  and a tag such as `recalls=0`, so that `type:promoted tag:recalls=0` finds what nobody recalled.
* SOUL.md and its like are notes, one for each file.
* Importance: what a person chose; else low for what MEMORY.md holds beyond the bootstrap cap.
* updated: the file's time of change (`extra.updated_from`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

from memtui.changes import Act, Change, Plan
from memtui.errors import Refused
from memtui.model import Memory
from memtui.stores import listed_texts
from memtui.stores.base import (
    NO_LIMIT,
    LimitUse,
    LoadedEntry,
    LoadedText,
    LoadLimit,
    Reading,
    ReadTime,
    StoreView,
    Unreadable,
    limit_uses,
)
from memtui.stores.format import ConvertedMemory, FormatSupport, TransferSupport
from memtui.stores.importing import CONVERTED, extra_in
from memtui.stores.listed_texts import ListContext, ListedText, ListFile, convert_to_text, list_acts
from memtui.stores.markdown.document_editing import edit_document, new_file, plan_file_import
from memtui.stores.markdown.documents import document_fields, parse_document, time_of_change
from memtui.stores.markdown.items import SECTION, MarkdownList, MarkdownListStore
from memtui.stores.openclaw import (
    FOLDER,
    NOT_GIVEN,
    NOTES,
    SUFFIX,
    daily_files,
    day_of,
    memory_name,
    notes,
)
from memtui.stores.plans import SIDECAR_ACTS, plan_duplicate
from memtui.stores.sidecar import Sidecar
from memtui.stores.values import from_iso

BOOTSTRAP_CHARACTERS = 12_000
"""Characters of a bootstrap file that a session is given (formats page of OpenClaw)."""
LIMIT = LoadLimit(
    characters=BOOTSTRAP_CHARACTERS, source="OpenClaw: 12,000 characters of a bootstrap file"
)
CURATED, DAILY = "memory", "daily"
"""Entities of what stands in MEMORY.md and in the logs; a heading or a day is the next part."""
_NUMBER = r"(\d+\.?\d*|\.\d+)"
_PROMOTED = re.compile(rf"\[score={_NUMBER} recalls=(\d+) avg={_NUMBER} source=([^\]\s]+)\]\s*$")
"""What the nightly job writes at the end of a promoted line."""


def entity_of(path: str, section: str) -> str:
    """The entity of an item: by its heading in MEMORY.md, by the file's name in `memory/`."""
    if not path.startswith(f"{FOLDER}/"):
        return f"{CURATED}/{section.replace('/', '-')}" if section else CURATED
    stem = path.removeprefix(f"{FOLDER}/").removesuffix(SUFFIX)
    return f"{DAILY}/{stem}" if day_of(path) else f"notes/{stem}"


def _is_curated(path: str) -> bool:
    return not path.startswith(f"{FOLDER}/")


def recalls_tag(text: str) -> tuple[str, ...]:
    """The tags that a text gives itself."""
    mark = _PROMOTED.search(text)
    return (f"recalls={mark[2]}",) if mark else ()


# ---- acts ----------------------------------------------------------------------------------------


def _not_on(act: Act, memory: Memory) -> str:
    if memory.kind != "document":
        return listed_texts.not_on(act, memory)
    is_possible = act is Act.EDIT or act in SIDECAR_ACTS
    return "" if is_possible else "it tells the agent who it is: edit it"


def _edit(change: Change, memory: Memory, context: ListContext) -> Plan:
    edit = edit_document if memory.kind == "document" else listed_texts.plan_edit
    return edit(change, memory, context)


def _plan_import(change: Change, context: ListContext) -> Plan:
    path, _, item = str(change.fields["id"]).partition("#")
    if item or CONVERTED in extra_in(change):
        is_daily = path.startswith(f"{FOLDER}/") and CONVERTED not in extra_in(change)
        return listed_texts.plan_listed_import(change, context, "event" if is_daily else "fact")
    if path not in NOTES:
        raise Refused("notes cannot be added here", where=path)
    if (context.root / path).exists():
        return plan_duplicate(change, "a file of this name")
    text = str(change.fields.get("document") or change.fields.get("content") or "")
    return plan_file_import(change, context, new_file(context.root, path), text)


def _days_given(now: datetime) -> list[str]:
    """The days whose logs a session is given: yesterday and today."""
    return [(now - timedelta(days=back)).date().isoformat() for back in (1, 0)]


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory to a bullet below the heading of its entity."""
    section = " ".join((memory.entity or memory.store).replace("#", " ").split())
    changes = [(memory.entity, "entity (becomes a heading)")]
    extra = {CONVERTED: True, SECTION: section}
    return convert_to_text(memory, f"{CURATED}/{section}", changes, extra=extra)


class OpenClawStore(MarkdownListStore):
    """One workspace."""

    format = "openclaw"
    acts = list_acts(
        {Act.RETYPE: "an item has no type"},
        {Act.EDIT: _edit},
        add_imported=_plan_import,
        not_on=_not_on,
        native_tags=lambda memory: recalls_tag(memory.content),
    )

    def is_cut_off(self, key: str, text: str) -> bool:
        return not text and key not in NOTES

    def list_files(self, faults: list[Unreadable]) -> list[str]:
        name = memory_name(self.root)
        curated = [name] if os.path.lexists(self.root / name) else []
        return [*curated, *daily_files(self.root, faults), *notes(self.root)]

    def parse(self, key: str, path: Path, text: str | None, sidecar: Sidecar) -> MarkdownList:
        title = f"# {day_of(key)}" if day_of(key) else "# Memory"
        return MarkdownList(key, path, text, sidecar, title)

    def place_new(self, change: Change, context: ListContext) -> tuple[str, str]:
        """Below a heading of MEMORY.md (`memory/<heading>`), or a day (`daily/<date>`)."""
        entity = str(change.fields.get("entity") or CURATED).strip("/ ")
        head, _, rest = entity.partition("/")
        if head == CURATED:
            path = memory_name(self.root)
            file = self.open_list(path, context.view)
            known = {entity_of(path, item.group): item.group for item in file.items}
            return path, known.get(entity, rest)
        if head != DAILY:
            raise Refused(
                "memories are added to MEMORY.md or a daily log",
                where=entity,
                do=f"name {CURATED}, {CURATED}/HEADING or {DAILY}/DATE as the entity",
            )
        stem = rest or context.now.astimezone().date().isoformat()
        path = f"{FOLDER}/{stem}{SUFFIX}"
        try:
            date.fromisoformat(day_of(path))
        except ValueError:
            raise Refused("a daily log is named by its date", where=stem) from None
        if "/" in stem or not stem.isprintable():
            raise Refused("this is no name for a daily log", where=stem)
        return path, ""

    def place_imported(self, change: Change, context: ListContext) -> tuple[str, str]:  # noqa: ARG002
        curated, path = memory_name(self.root), str(change.fields["id"]).partition("#")[0]
        if CONVERTED in extra_in(change):
            path = curated
        is_daily = not _is_curated(path) and path.endswith(SUFFIX) and path.count("/") == 1
        if not is_daily and path != curated:
            raise Refused("memories cannot be added here", where=path)
        return path, str(extra_in(change).get(SECTION) or "")

    def read_text(self, key: str, path: Path, text: str, sidecar: Sidecar) -> Reading:
        if key not in NOTES:
            return super().read_text(key, path, text, sidecar)
        document = parse_document(key, str(path), text, time_of_change(path))
        memory = Memory(
            **document_fields(document, self.label),
            kind="document",
            type="bootstrap",
            title=key,
            entity="bootstrap",
            updated=document.changed,
            importance="high",
            extra={"updated_from": "file time"},
        )
        return Reading((memory,) if text.strip() else ())

    def describe(self, file: ListFile, item: ListedText) -> dict[str, Any]:
        found = super().describe(file, item) | {"entity": entity_of(file.key, item.group)}
        extra = found["extra"]
        if _is_curated(file.key):
            assert isinstance(file, MarkdownList)
            size = len(file.document.head) + len(file.document.body)
            is_loaded = len(file.document.head) + item.end <= BOOTSTRAP_CHARACTERS
            extra["loaded_at_start"] = is_loaded
            extra["load_limit"] = f"{size:,} of {BOOTSTRAP_CHARACTERS:,} characters"
            if not is_loaded and "rating" not in file.sidecar.entry(item.id):
                found["importance"] = "low"
        else:
            found |= {"kind": "event", "created": from_iso(day_of(file.key))}
        if mark := _PROMOTED.search(item.text):
            score = float(mark[1])
            extra |= {"score": score, "recalls": int(mark[2]), "avg": float(mark[3])}
            confidence = score if 0 <= score <= 1 else None
            found |= {"type": "promoted", "confidence": confidence, "source": mark[4]}
        return found | {"tags": recalls_tag(item.text)}

    def read_time(self, path: str) -> ReadTime:
        """A session is given the bootstrap files and the logs of today and yesterday; all other
        notes are found by an index that follows the files (formats page of OpenClaw)."""
        if path in NOT_GIVEN:
            return ReadTime.OPENED
        is_given = _is_curated(path) or day_of(path) in _days_given(self.now())
        return ReadTime.NEXT_SESSION if is_given else ReadTime.INDEXED

    def as_loaded(self, path: str, text: str) -> LoadedText | None:
        """The part of a bootstrap file that is within the cap."""
        return LoadedText(path, text, limit=LIMIT) if _is_curated(path) else None

    def session_start(self, view: StoreView, entity: str, now: datetime) -> Sequence[LoadedText]:  # noqa: ARG002
        """The bootstrap files up to their cap, then the logs of yesterday and today."""
        days = _days_given(now)
        logs = [path for path in daily_files(self.root, []) if day_of(path) in days]
        given = [name for name in notes(self.root) if name not in NOT_GIVEN]
        texts = []
        for path in (*given, memory_name(self.root), *logs):
            text = self.text_of(path)
            if text is None:
                continue
            is_log = not _is_curated(path)
            note = "today's and yesterday's logs are read" if is_log else "a bootstrap file"
            limit = NO_LIMIT if is_log else LIMIT
            entries = tuple(self._entries(path, text, view))
            texts.append(
                LoadedText(path, text, str(self.root / path), limit, entries=entries, note=note)
            )
        return texts

    def limit_uses(self, view: StoreView, now: datetime) -> Sequence[LimitUse]:
        """How much of its limit each bootstrap file uses."""
        return limit_uses(self.label, self.session_start(view, "", now))

    def _entries(self, path: str, text: str, view: StoreView) -> Iterator[LoadedEntry]:
        file = str(self.root / path)
        starts = [0]
        for line in text.split("\n"):
            starts.append(starts[-1] + len(line) + 1)
        for memory in view.memories(self.label):
            first = memory.origin.line
            if memory.origin.file == file and first and not memory.extra.get("kept"):
                end = starts[min(first + memory.content.count("\n"), len(starts) - 1)]
                yield LoadedEntry(memory.ref, starts[first - 1], min(end, len(text)))


SUPPORT = FormatSupport(
    OpenClawStore,
    transfer=TransferSupport(belongings=("memory/.dreams/*", "memory/audit/*"), convert=convert),
)
