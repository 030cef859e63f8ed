"""Plan changes and imports of entries, within the limits of Hermes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from memtui.changes import Act, Change, Edit, Kind, Plan, text_edit
from memtui.errors import Refused
from memtui.files.reading import IS_EMPTY
from memtui.files.text_items import insert_entry, remove_entry
from memtui.model import Memory
from memtui.stores import listed_texts
from memtui.stores.format import ConvertedMemory
from memtui.stores.hermes.records import FILES, listed_entries, parse_entries, size_of
from memtui.stores.importing import convert_to_text, is_import, plan_listed_import, text_with_title
from memtui.stores.listed_texts import (
    LIST_HANDLERS,
    ListContext,
    ListedText,
    ListFile,
    plan_listed_add,
    text_key,
)
from memtui.stores.plans import ActionSupport
from memtui.stores.sidecar import Sidecar


class EntryFile(ListFile):
    """One memory file, opened to plan a change."""

    form = Kind.ENTRIES

    def __init__(self, path: Path, before: str | None, limit: int, sidecar: Sidecar) -> None:
        if before is not None and not before.strip():
            raise Refused(IS_EMPTY, where=str(path), do="delete the file first")
        self.path, self.before, self.shard, self.limit = path, before, path.name, limit
        self.entries = parse_entries(before or "")
        self.items = listed_entries(self.entries, path.name, sidecar)

    def natural_id(self, group: str, text: str) -> str:  # noqa: ARG002
        return f"{self.shard}#{text_key(text)}"

    def fit(self, text: str) -> str:
        return text.strip()

    def replace(self, item: ListedText, new_text: str) -> str:
        before = self.before or ""
        entry = self.entries[item.at[0]]
        texts = [each.text for each in self.entries]
        texts[item.at[0]] = new_text
        return self._checked(before[: entry.start] + new_text + before[entry.end :], texts)

    def remove(self, removed: Sequence[ListedText]) -> str:
        text = self.before or ""
        left = [entry.text for entry in self.entries]
        for number in sorted((item.at[0] for item in removed), reverse=True):
            del left[number]
            text = remove_entry(text, number)
            self._checked(text, left)  # else the next number would be another entry's
        return text

    def insert(self, group: str, new_text: str, type: str = "") -> str:  # noqa: ARG002
        texts = [*(entry.text for entry in self.entries), new_text]
        after = insert_entry(self.before or "", len(self.entries), new_text)
        return self._checked(after, texts)

    def edit(self, after: str) -> tuple[Edit, ...]:
        """A file without entries is removed: Hermes reads both the same."""
        if after or self.before is None:
            return super().edit(after)
        return (text_edit(str(self.path), self.before, None, kind=self.form),)

    def _checked(self, after: str, texts: Sequence[str]) -> str:
        """The text, if Hermes reads these entries from it and would write it itself."""
        if [entry.text for entry in parse_entries(after)] != list(texts):
            raise Refused("Hermes would not read this as one entry", do="remove the § line")
        refuse_too_long(self.path, self.before, after, self.limit)
        return after


def refuse_too_long(path: Path, before: str | None, after: str | None, limit: int) -> None:
    """Raise Refused if a file would grow beyond its limit."""
    former, size = (
        size_of([entry.text for entry in parse_entries(text or "")]) for text in (before, after)
    )
    if size > limit and size > former:
        raise Refused(
            f"{path.name} would hold {size:,} of {limit:,} characters",
            where=str(path),
            do=f"shorten it, or retire others: {size - limit:,} too many",
        )


def _add(change: Change, context: ListContext) -> Plan:
    entity = str(change.fields.get("entity") or "memory").strip()
    name = FILES.get(entity)
    if name is None and not is_import(change):
        raise Refused(f"the entity is one of {', '.join(FILES)}", where=entity)
    file = context.open_list(name or FILES["memory"], context.view)
    if is_import(change):
        return plan_listed_import(change, context, file, "")
    return plan_listed_add(change, context, file, "")


ACTS = ActionSupport(
    editable=listed_texts.EDITABLE,
    add=_add,
    handlers=LIST_HANDLERS,
    unsupported={
        Act.RETYPE: "an entry has no type",
    },
    shard_of=lambda memory: memory.id.partition("#")[0],
    not_on=listed_texts.not_on,
)


_OF_USER = frozenset({"user", "preference", "identity", "person"})


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory to an entry, which begins with its entity, as one file holds them all."""
    is_of_user = memory.type.lower() in _OF_USER or memory.entity in _OF_USER
    text = text_with_title(memory).strip()
    if memory.entity and memory.entity not in FILES and memory.entity not in text:
        text = f"{memory.entity}: {text}"
    entity = "user" if is_of_user else "memory"
    becomes = f"entity (becomes {entity}; it stands in the text)"
    changes = [(memory.entity not in ("", entity), becomes)]
    return convert_to_text(memory, entity, changes, content=text)
