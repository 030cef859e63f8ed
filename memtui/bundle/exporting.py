"""Export memories in any form, as the bytes of a file."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memtui.bundle import archive
from memtui.bundle.bundle_writer import FILE_KINDS, describe_unreadable, pack_stores
from memtui.bundle.html_page import encode_html
from memtui.errors import UnreadableFile
from memtui.files.reading import decode, read_bytes
from memtui.model import CURRENT, Memory, to_record
from memtui.progress import Cancelled, IsCancelled, Progress, Report, never, silent
from memtui.search import saved_rows
from memtui.stores import registry
from memtui.stores.base import OpenStores
from memtui.stores.format import ExchangeDocument, ExportRequest
from memtui.text import (
    counted,
    date,
    escaped,
    escaped_line,
    number,
)
from memtui.text.secrets import has_secret


class ExportForm(Struct, frozen=True):
    """One kind of file that an export can write."""

    name: str
    description: str
    suffix: str
    unsupported_fields: tuple[str, ...] = ()
    """Fields of `Memory` that it cannot store; the document of a format can those of its own."""
    document: ExchangeDocument | None = None
    """For the exchange document of a format."""

    @property
    def takes_whole_stores(self) -> bool:
        """Whether an export without filters takes the stores whole."""
        return self.name == "bundle" or self.document is not None

    @property
    def masks_secrets(self) -> bool:
        return self.name == "html"

    @property
    def ending(self) -> str:
        """How the proposed file name ends; documents of two formats have the same suffix."""
        return f"-{self.name}" * (self.document is not None) + self.suffix


_LOST_IN_MARKDOWN = (
    *("also_entities", "tags", "links", "supersedes", "superseded_by"),
    *("pinned", "confidence", "source", "extra"),
)
_FORMS = (
    ExportForm(
        "bundle", "for memtui itself: every field, checked byte by byte when it is read", ".zip"
    ),
    ExportForm("jsonl", "one record per line, every field; files only in a bundle", ".jsonl"),
    ExportForm("csv", "a table for spreadsheets", ".csv", ("also_entities", "links", "extra")),
    ExportForm("markdown", "to be read by people", ".md", _LOST_IN_MARKDOWN),
    ExportForm(
        "html",
        "a page for people without memtui, secrets masked",
        ".html",
        ("also_entities", "confidence", "extra"),
    ),
)


def export_forms() -> dict[str, ExportForm]:
    """Every form of export by name: memtui's own, then the exchange documents of the formats."""
    documents = ((known.name, known.document) for known in registry.formats())
    own = (
        ExportForm(n, d.description, d.suffix, d.unsupported_fields, d) for n, d in documents if d
    )
    return {form.name: form for form in (*_FORMS, *own)}


MAX_NAMED = 10
"""Unreadable files that are named one by one."""
PIECES_PER_REPORT = 256
"""Pieces between two progress reports."""


class Export(Struct, frozen=True):
    """The bytes of an export, and notes on it."""

    pieces: Iterable[bytes]
    notes: tuple[str, ...] = ()
    """What is left out or changed, and why; for the person."""
    is_incomplete: bool = False
    """Something is missing because it could not be read."""


def export_memories(
    library: OpenStores,
    form: str,
    chosen: Sequence[Memory] | None,
    report: Report = silent,
    cancelled: IsCancelled = never,
    *,
    pretty: bool = True,
    every: bool = True,
    without: Collection[str] = (),
) -> Export:
    """Return an export; its bytes are produced while they are written.

    Args:
        library: the open stores.
        form: a key of `export_forms`.
        chosen: the memories to export; None for all stores whole.
        without: refs of those among them that are left out, as `find_secret_holders` gives them; a
            bundle then holds no file with a secret either.
        report: called while the export is prepared and written.
        cancelled: asked as often.
        pretty: see `ExportRequest`.
        every: see `ExportRequest`.

    Raises:
        StoreError: no store can be read, or another program keeps writing to one.
        BundleError: the contents are too large for a bundle.
        Cancelled: `cancelled` returned True; also raised while writing.
    """
    notes: tuple[str, ...] = ()
    if chosen is not None:
        notes = _left_out(describe_unchosen(_memories_of(library), chosen))
    if without:
        every_one = _memories_of(library) if chosen is None else chosen
        notes += _left_out([describe_secret_holders(len(without))])
        if chosen is None and form == "bundle":
            notes += ("holds memories, not the files of the stores",)
        chosen = [memory for memory in every_one if memory.ref not in without]
    if form == "bundle":
        packed = pack_stores(library, chosen, report, cancelled)
        unread = _name_some(packed.left_out, "left out, unreadable")
        unread += _name_some(packed.as_bytes, "unreadable, included as a file only")
        pieces = _with_progress(archive.encode_archive(packed.archive), report, cancelled)
        return Export(pieces, unread + notes, bool(packed.left_out))
    missing = [line for store in library.stores for line in describe_unreadable(library, store)]
    notes = _name_some(missing, "left out, unreadable") + notes
    found = export_forms()[form]
    document = found.document
    if document is not None:
        made = _export_document(library, form, document, chosen, notes, pretty=pretty, every=every)
        return replace(made, is_incomplete=bool(missing))
    memories = chosen if chosen is not None else _memories_of(library)
    lines = _ENCODERS[form]
    encoded = (line.encode("utf-8", "replace") for line in lines(memories))
    notes += _left_out(describe_lost_fields(memories, form, found.unsupported_fields))
    return Export(_with_progress(encoded, report, cancelled), notes, bool(missing))


def find_secret_holders(library: OpenStores, chosen: Sequence[Memory] | None) -> frozenset[str]:
    """Return the refs of the memories among these (None: all) in which memtui sees a secret.

    Of a memory that is a file of its own, the whole file counts.
    """
    memories = _memories_of(library) if chosen is None else chosen
    known = {store.label: registry.format_of(store.format) for store in library.stores}
    of_files = {label for label, form in known.items() if form and form.database is None}
    return frozenset(
        memory.ref
        for memory in memories
        if _holds_secret(memory, memory.kind in FILE_KINDS and memory.store in of_files)
    )


def _holds_secret(memory: Memory, is_file: bool) -> bool:
    if saved_rows.has_secret(memory):
        return True
    if is_file:
        with suppress(UnreadableFile):
            whole = decode(read_bytes(Path(memory.origin.file)))
            return has_secret(whole.replace(memory.content, "", 1))
    return False


def describe_secret_holders(count: int, fate: str = "") -> str:
    """So many memories with secrets, and what becomes of them if it is given: `left out`."""
    what = f"{counted(count, 'memory')} with {'a secret' if count == 1 else 'secrets'}"
    return f"{what} {'is' if count == 1 else 'are'} {fate}" if fate else what


def _memories_of(library: OpenStores) -> list[Memory]:
    """All memories of all open stores, whatever their status."""
    return [memory for store in library.stores for memory in library.memories(store.label)]


def _name_some(lines: Sequence[str], why: str) -> tuple[str, ...]:
    """Return a note per line for the first few, and one that counts the rest."""
    more = f"{why}: {number(len(lines) - MAX_NAMED)} more; `memtui stores` lists them"
    return (*(f"{why}: {line}" for line in lines[:MAX_NAMED]), *[more][: len(lines) > MAX_NAMED])


def _left_out(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"left out: {line}" for line in lines)


def _export_document(
    library: OpenStores,
    form: str,
    document: ExchangeDocument,
    chosen: Sequence[Memory] | None,
    notes: tuple[str, ...],
    *,
    pretty: bool,
    every: bool,
) -> Export:
    """Export as the exchange document of a format."""
    memories = _memories_of(library) if chosen is None else chosen
    if chosen is None and not every:
        memories = [memory for memory in memories if memory.status in CURRENT]
        notes += _left_out(describe_unchosen(_memories_of(library), memories))
    refs = {memory.ref for memory in memories}
    complete = {
        store.label
        for store in library.stores
        if all(memory.ref in refs for memory in library.memories(store.label))
    }
    exported = document.export(
        ExportRequest(
            memories, library.stores, library.now(), complete, chosen is None, every, pretty
        )
    )
    formats = {store.label: store.format for store in library.stores}
    foreign = [memory for memory in memories if formats.get(memory.store) != form]
    lost_fields = describe_lost_fields(foreign, form, document.unsupported_fields)
    return Export(
        [exported.text.encode("utf-8")],
        (*notes, *_left_out(exported.left_out), *exported.changed, *_left_out(lost_fields)),
    )


def _with_progress(
    pieces: Iterable[bytes], report: Report, cancelled: IsCancelled
) -> Iterator[bytes]:
    for count, piece in enumerate(pieces):
        if count % PIECES_PER_REPORT == 0:
            if cancelled():
                raise Cancelled("stopped; nothing was written")
            report(Progress("writing", count))
        yield piece


_WORDS = {
    "also_entities": "further entities",
    "supersedes": "what they supersede",
    "superseded_by": "what superseded them",
    "pinned": "pins",
    "extra": "fields of their own store",
}


def describe_unchosen(every: Iterable[Memory], chosen: Sequence[Memory]) -> list[str]:
    """Return a line for each group of memories of `every` that is not in `chosen`."""
    refs = {memory.ref for memory in chosen}
    stores = {memory.store for memory in chosen}  # status:all takes none of the others
    rest = [memory for memory in every if memory.ref not in refs]
    retired = Counter(m.status for m in rest if m.status not in CURRENT and m.store in stores)
    lines = []
    if retired:
        total = counted(retired.total(), "memory")
        counts = ", ".join(f"{number(count)} {status}" for status, count in retired.most_common())
        lines.append(f"{total}, not current ({counts}); status:all takes them too")
    if others := len(rest) - retired.total():
        lines.append(f"{counted(others, 'memory')} by the filters")
    return lines


def describe_lost_fields(memories: Iterable[Memory], form: str, names: Sequence[str]) -> list[str]:
    """Return a line of those fields in `names` that `memories` have and `form` cannot store."""
    unset: tuple[object, ...] = (None, "", (), {}, False)
    found = Counter(
        name
        for memory in memories
        for name in names
        if getattr(memory, name) not in (("active",) if name == "status" else unset)
    )
    if not found:
        return []
    first, *others = (name for name in names if found[name])
    parts = [f"{_WORDS.get(first, first)} ({counted(found[first], 'memory')})"]
    parts += [f"{_WORDS.get(name, name)} ({number(found[name])})" for name in others]
    return [f"{', '.join(parts)}: {form} has no place for them"]


CSV_FIELDS = (
    "ref", "kind", "type", "title", "content", "entity", "created", "updated", "importance",
    "status", "pinned", "confidence", "supersedes", "superseded_by", "tags", "source",
)  # fmt: skip
_FORMULA = re.compile(
    r"[\t\r\n]|[\s\x00-\x1f\u200b-\u200f\u2060\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20]"
)
"""Beginnings of a cell that a spreadsheet runs as a formula (OWASP, CSV Injection); some skip
blanks and invisible characters, some accept full-width signs."""


def encode_jsonl(memories: Iterable[Memory]) -> Iterator[str]:
    """Yield one JSON object per memory and line, ASCII, with every field."""
    for memory in memories:
        yield json.dumps(to_record(memory)) + "\n"


def _cell(value: object) -> str:
    if isinstance(value, tuple):
        value = ", ".join(value)
    text = "" if value is None else str(value)
    text = text.encode("utf-8", "replace").decode("utf-8")
    return f"'{text}" if _FORMULA.match(text) else text


def encode_csv(memories: Iterable[Memory]) -> Iterator[str]:
    """Yield a header and a row per memory; formulas get a leading `'`."""
    line = io.StringIO()
    rows = csv.writer(line)
    rows.writerow(CSV_FIELDS)
    for memory in memories:
        record = to_record(memory)
        rows.writerow([_cell(record[name]) for name in CSV_FIELDS])
        if line.tell() > 1 << 16:
            yield line.getvalue()
            line.seek(0)
            line.truncate()
    yield line.getvalue()


def encode_markdown(memories: Sequence[Memory]) -> Iterator[str]:
    """Yield a chapter per entity; control characters are made visible."""
    chapters: dict[str, list[Memory]] = {}
    for memory in memories:
        chapters.setdefault(memory.entity, []).append(memory)
    yield "# Memories\n"
    for entity in sorted(chapters):
        yield f"\n## {escaped_line(entity) or 'without entity'}\n"
        for memory in chapters[entity]:
            status = "" if memory.status == "active" else f", {memory.status}"
            about = f"{memory.shown_type}, {memory.importance}{status}, {date(memory.when)}"
            yield f"\n### {escaped_line(memory.headline)}\n\n"
            yield f"*{escaped_line(about)}* `{escaped_line(memory.ref)}`\n"
            body = escaped(memory.content).strip()
            if body and body != escaped(memory.headline).strip():
                yield "\n" + "\n".join(f"> {line}".rstrip() for line in body.split("\n")) + "\n"


_ENCODERS: Mapping[str, Callable[[Sequence[Memory]], Iterator[str]]] = {
    "jsonl": encode_jsonl,
    "csv": encode_csv,
    "markdown": encode_markdown,
    "html": encode_html,
}
