"""An OpenClaw workspace as a store: every file is a shard.

Items of MEMORY.md are facts, low where they lie beyond the bootstrap cap; those of a daily log are
events of that day; SOUL.md and its like are documents. A promoted line has its score as confidence
and a tag, so that `type:promoted tag:recalls=0` finds what nobody recalled.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

from memtui.changes import Act, Change
from memtui.errors import Refused
from memtui.model import Memory
from memtui.stores import listed_acts, openclaw
from memtui.stores.base import LoadedText, LoadLimit, ReadTime, StoreView, Unreadable
from memtui.stores.format import ConvertedMemory, FormatSupport, TransferSupport
from memtui.stores.listed_texts import ListContext, ListedText, ListFile
from memtui.stores.markdown.items import (
    MarkdownList,
    MarkdownListStore,
    convert_below_heading,
    plan_any_edit,
    plan_any_import,
)
from memtui.stores.openclaw import FOLDER, MEMORY_NAMES, NOTES, day_of
from memtui.stores.scanning import SUFFIX
from memtui.stores.sidecar import Sidecar
from memtui.stores.values import from_iso

BOOTSTRAP_CHARACTERS = 12_000
LIMIT = LoadLimit(characters=BOOTSTRAP_CHARACTERS, source="OpenClaw: cap of a bootstrap file")
CURATED, DAILY = "memory", "daily"  # entities; a heading or a day is the next part
_NUMBER = r"(\d+\.?\d*|\.\d+)"
_PROMOTED = re.compile(rf"\[score={_NUMBER} recalls=(\d+) avg={_NUMBER} source=([^\]\s]+)\]\s*$")


def _is_given(path: str, now: datetime) -> bool:
    """Whether a session that starts now is given the file, as no log of an earlier day is."""
    days = [(now - timedelta(days=back)).date().isoformat() for back in (0, 1)]
    is_log = path.startswith(f"{FOLDER}/")
    return not is_log or (path.count("/") == 1 and day_of(path) in days)


def entity_of(path: str, section: str) -> str:
    """The entity of an item, by its heading in MEMORY.md or the file's name."""
    if not path.startswith(f"{FOLDER}/"):
        return f"{CURATED}/{section.replace('/', '-')}" if section else CURATED
    stem = path.removeprefix(f"{FOLDER}/").removesuffix(SUFFIX)
    return f"{DAILY}/{stem}" if day_of(path) else f"notes/{stem}"


def recalls_tag(text: str) -> tuple[str, ...]:
    """The tag of a line that the nightly job has promoted."""
    mark = _PROMOTED.search(text)
    return (f"recalls={mark[2]}",) if mark else ()


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory to a bullet below the heading of its entity."""
    return convert_below_heading(memory, CURATED)


class OpenClawStore(MarkdownListStore):
    """One workspace."""

    format = "openclaw"
    documents = NOTES
    of_documents = {"type": "bootstrap", "entity": "bootstrap", "importance": "high"}
    acts = listed_acts.list_acts(
        {Act.RETYPE: "an item has no type"},
        {Act.EDIT: plan_any_edit},
        add_imported=plan_any_import,
        native_tags=lambda memory: recalls_tag(memory.content),
    )

    def owns_shard(self, key: str) -> bool:
        return key in (*MEMORY_NAMES, *NOTES) or key.startswith(f"{FOLDER}/")

    def list_files(self, faults: list[Unreadable]) -> list[str]:
        logs = openclaw.daily_files(self.root, faults)
        names = [*openclaw.memory_names(self.root), *logs, *NOTES]
        return [name for name in names if os.path.lexists(self.root / name)]

    def parse(self, key: str, path: Path, text: str | None, sidecar: Sidecar) -> MarkdownList:
        title = f"# {day_of(key)}" if day_of(key) else "# Memory"
        return MarkdownList(key, path, text, sidecar, title)

    def place_new(self, change: Change, context: ListContext) -> tuple[str, str]:
        """Below a heading of MEMORY.md (`memory/<heading>`), or a day (`daily/<date>`)."""
        entity = str(change.fields.get("entity") or CURATED).strip("/ ")
        head, _, rest = entity.partition("/")
        if head == CURATED:
            path = openclaw.memory_names(self.root)[0]
            groups = (each.group for each in self.open_list(path, context.view).items)
            known = {entity_of(path, group): group for group in groups}
            return path, known.get(entity, rest)
        if head != DAILY:
            do = f"name {CURATED}, {CURATED}/HEADING or {DAILY}/DATE as the entity"
            raise Refused("memories are added to MEMORY.md or a daily log", where=entity, do=do)
        stem = rest or context.now.astimezone().date().isoformat()
        path = f"{FOLDER}/{stem}{SUFFIX}"
        with suppress(ValueError):
            date.fromisoformat(day_of(path))
            if "/" not in stem and stem.isprintable():
                return path, ""
        raise Refused("a daily log is named by its date", where=stem)

    def kind_in(self, key: str) -> str:
        return "event" if key.startswith(f"{FOLDER}/") else "fact"

    def may_hold(self, path: str, item: str) -> bool:  # noqa: ARG002
        is_daily = path.startswith(f"{FOLDER}/") and path.endswith(SUFFIX) and "/." not in path
        return is_daily or path in openclaw.memory_names(self.root)

    def describe(self, file: ListFile, item: ListedText) -> dict[str, Any]:
        found = super().describe(file, item) | {"entity": entity_of(file.key, item.group)}
        extra = found["extra"]
        if file.key.startswith(f"{FOLDER}/"):
            found["created"] = from_iso(day_of(file.key))
        else:
            assert isinstance(file, MarkdownList)
            above = len(file.document.head)
            extra["loaded_at_start"] = is_loaded = above + item.end <= BOOTSTRAP_CHARACTERS
            size = above + len(file.document.body)
            extra["load_limit"] = f"{size:,} of {BOOTSTRAP_CHARACTERS:,} characters"
            if not is_loaded and "rating" not in file.sidecar.entry(item.id):
                found["importance"] = "low"
        if mark := _PROMOTED.search(item.text):
            score = float(mark[1])
            extra |= {"score": score, "recalls": int(mark[2]), "avg": float(mark[3])}
            confidence = score if 0 <= score <= 1 else None
            found |= {"type": "promoted", "confidence": confidence, "source": mark[4]}
        return found | {"tags": recalls_tag(item.text)}

    def read_time(self, path: str) -> ReadTime:
        """Notes that no session is given are found by an index that follows the files."""
        if path == NOTES[-1]:
            return ReadTime.OPENED
        return ReadTime.NEXT_SESSION if _is_given(path, self.now()) else ReadTime.INDEXED

    def limit_of(self, path: str) -> LoadLimit:
        return LoadLimit() if path.startswith(f"{FOLDER}/") else LIMIT

    def session_start(self, view: StoreView, entity: str, now: datetime) -> Sequence[LoadedText]:  # noqa: ARG002
        """The bootstrap files up to their cap, then the logs of yesterday and today."""
        texts, logs = list[LoadedText](), openclaw.daily_files(self.root, [])
        for path in (*NOTES[:-1], *openclaw.memory_names(self.root), *logs):
            if _is_given(path, now):
                note = "a log of today or yesterday" if path in logs else "a bootstrap file"
                texts += self.loaded_file(path, view, note)
        return texts


SUPPORT = FormatSupport(
    OpenClawStore,
    transfer=TransferSupport(belongings=("memory/.dreams/*", "memory/audit/*"), convert=convert),
)
