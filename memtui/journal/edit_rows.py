"""The edits of actions as rows of the journal, with every text stored as a difference.

A row of `targets` is what edits change: a file, or a record, value, row or note in one. A row of
`texts` is the value of a target before or after an edit, as JSON. Of each target the newest text is
whole; every other one is stored as its difference to the next newer one, so that the oldest can be
deleted alone.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

from msgspec.structs import replace

from memtui.changes import ITEM_TEXTS, SHARED_TEXTS, TEXTS, Edit, Kind, StoreEdits
from memtui.journal.action import StoredEdit, pack

_NAMES = {
    Kind.RECORD: "RecordEdit",
    Kind.VALUE: "ValueEdit",
    Kind.COUNTER: "ValueEdit",
    **dict.fromkeys(TEXTS, "TextEdit"),
    Kind.SIDECAR: "SidecarEdit",
    Kind.ROW: "RowEdit",
    Kind.FOLDER: "TreeEdit",
}
"""What each kind is called in the file."""

SMALL = 128
"""Bytes that are not compressed: it would save little or nothing."""
_RAW, _COMPRESSED = b"\0", b"\1"
_DICTIONARY = 32_768
"""Bytes that zlib can refer back to."""
_DIGEST = 16

SCHEMA = """
CREATE TABLE targets (
    id INTEGER PRIMARY KEY,
    file TEXT NOT NULL,
    record TEXT NOT NULL,   -- id of a record or a row; '""' for anything else
    key TEXT NOT NULL,      -- kind of the edit, and what in the file it changes
    UNIQUE (file, record, key)
);
CREATE TABLE texts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    target INTEGER NOT NULL,
    digest BLOB NOT NULL,   -- of the text, SHA-256 cut off
    base INTEGER,           -- the newer text that this one is a difference to; NULL: it is whole
    head INTEGER NOT NULL,  -- bytes that both begin with
    tail INTEGER NOT NULL,  -- bytes that both end with
    data BLOB NOT NULL      -- the bytes between
);
CREATE TABLE edits (
    action INTEGER NOT NULL,
    position INTEGER NOT NULL,
    part INTEGER NOT NULL,  -- index of the store among those of the action
    target INTEGER NOT NULL,
    fields TEXT NOT NULL,   -- the other fields of the edit
    before INTEGER,         -- text; NULL where nothing was
    after INTEGER,
    in_effect INTEGER NOT NULL DEFAULT 0,
    checksum INTEGER NOT NULL,   -- of everything else in the row and of its target
    PRIMARY KEY (action, position)
) WITHOUT ROWID;
CREATE INDEX texts_by_target ON texts(target, digest);
CREATE INDEX texts_by_base ON texts(base);
CREATE INDEX edits_by_target ON edits(target);
CREATE INDEX edits_by_before ON edits(before);
CREATE INDEX edits_by_after ON edits(after);
"""


class Damaged(Exception):
    """A row of the journal is not what memtui wrote."""


def unpack(text: object) -> Any:
    """Invert `pack`. Raises Damaged."""
    try:
        return json.loads(cast("str", text))
    except (TypeError, ValueError, RecursionError) as error:
        raise Damaged(str(error)) from error


# ---- writing -------------------------------------------------------------------------------------


def insert_edits(db: sqlite3.Connection, action: int, parts: Sequence[StoreEdits]) -> None:
    """Store the edits of an action, in place of those that it has."""
    delete_edits(db, [action])
    numbered = ((part, edit) for part, made in enumerate(parts) for edit in made.edits)
    for position, (part, edit) in enumerate(numbered):
        file, record, key, fields = _columns(edit)
        target = _target(db, file, record, key)
        wanted = [
            None if v is None else pack(dict(v) if isinstance(v, Mapping) else v).encode("ascii")
            for v in (edit.before, edit.after)
        ]
        sql = "SELECT id FROM texts WHERE target = ? AND base IS NULL"
        head = db.execute(sql, (target,)).fetchone()
        newest = None if head is None else (int(head[0]), TextReader(db).read(head[0]))
        ids: list[int | None] = []
        for text in wanted:
            sql = "SELECT id FROM texts WHERE target = ? AND digest = ?"
            values = target, b"" if text is None else _digest(text)
            found = db.execute(sql, values).fetchone()
            if text is not None and found is None:
                sql = (
                    "INSERT INTO texts (target, digest, head, tail, data) VALUES (?, ?, 0, 0, x'')"
                )
                found = (db.execute(sql, values).lastrowid or 0,)
                if newest is not None:
                    _write_text(db, *newest, (found[0], text))
                newest = found[0], text
                _write_text(db, *newest, None)
            ids.append(found and found[0])
        db.execute(
            "INSERT INTO edits (action, position, part, target, fields, before, after, checksum)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (action, position, part, target, fields, *ids, _checksum(file, key, fields, part, ids)),
        )


def _columns(edit: Edit) -> tuple[str, str, str, str]:
    """File, record, key and the other fields of an edit, each as JSON."""
    kind, record = edit.kind, ""
    key: dict[str, Any] = {}
    fields: dict[str, Any] = {}
    if kind is Kind.RECORD:
        key, record = dict(zip(("array", "id_key", "id"), edit.key, strict=True)), edit.id
        fields = {"index": edit.at}
    elif kind in (Kind.VALUE, Kind.COUNTER):
        key = {"pointer": edit.key}
        fields = {"book_keeping": kind is Kind.COUNTER, "index": edit.at}
    elif kind in TEXTS:
        fields = {"by_lines": kind in SHARED_TEXTS, "items": kind if kind in ITEM_TEXTS else ""}
    elif kind is Kind.SIDECAR:
        key, record = {"id": edit.id}, edit.id
    elif kind is Kind.ROW:
        key, record = {"table": edit.table, "key": edit.row}, str(edit.row.get("id", ""))
    else:
        fields = {"existed": bool(edit.key)}
    return pack(edit.path), pack(record), pack({"edit": _NAMES[kind], **key}), pack(fields)


def _checksum(file: str, key: str, fields: str, part: int, texts: Sequence[int | None]) -> int:
    """Undo of an edit without a text before removes what is there, so it must be certain."""
    return zlib.crc32(f"{file}\n{key}\n{fields}{part} {texts[0]} {texts[1]}".encode("ascii"))


def _target(db: sqlite3.Connection, *columns: str) -> int:
    sql = "SELECT id FROM targets WHERE file = ? AND record = ? AND key = ?"
    found = db.execute(sql, columns).fetchone()
    if found is not None:
        return int(found[0])
    sql = "INSERT INTO targets (file, record, key) VALUES (?, ?, ?)"
    return int(db.execute(sql, columns).lastrowid or 0)


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()[:_DIGEST]


def _write_text(
    db: sqlite3.Connection, id: int, text: bytes, newer: tuple[int, bytes] | None
) -> None:
    """Store a text whole, or as its difference to a newer one (id, text)."""
    base, other = newer or (None, b"")
    head, tail = _same_ends(text, other)
    data = _compress(text[head : len(text) - tail], other[head : len(other) - tail])
    sql = "UPDATE texts SET base = ?, head = ?, tail = ?, data = ? WHERE id = ?"
    db.execute(sql, (base, head, tail, data, id))


def _same_ends(first: bytes, second: bytes) -> tuple[int, int]:
    """How many bytes both begin with, and how many of the rest both end with."""
    most = min(len(first), len(second))
    head = _longest(most, lambda n: first[:n] == second[:n])
    tail = _longest(most - head, lambda n: first[len(first) - n :] == second[len(second) - n :])
    return head, tail


def _longest(most: int, holds: Any) -> int:
    """The largest number up to `most` for which it holds, which holds for all smaller ones."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def _compress(data: bytes, like: bytes) -> bytes:
    """Compress data; what it shares with `like` costs next to nothing."""
    if len(data) <= SMALL:
        return _RAW + data
    if not like:
        return _COMPRESSED + zlib.compress(data)
    compressor = zlib.compressobj(zdict=like[-_DICTIONARY:])
    return _COMPRESSED + compressor.compress(data) + compressor.flush()


def _decompress(data: bytes, like: bytes) -> bytes:
    if data[:1] == _RAW:
        return data[1:]
    if not like:
        return zlib.decompress(data[1:])
    return zlib.decompressobj(zdict=like[-_DICTIONARY:]).decompress(data[1:])


# ---- deleting ------------------------------------------------------------------------------------


def delete_edits(db: sqlite3.Connection, actions: Collection[int]) -> None:
    """Delete the edits of these actions, and the texts that no other edit has."""
    for action in actions:
        sql = "SELECT target, before, after FROM edits WHERE action = ?"
        rows = db.execute(sql, (action,)).fetchall()
        db.execute("DELETE FROM edits WHERE action = ?", (action,))
        for id in sorted({id for _, *ids in rows for id in ids if id is not None}):
            sql = (
                "SELECT EXISTS (SELECT 1 FROM edits WHERE before = ?1)"
                " OR EXISTS (SELECT 1 FROM edits WHERE after = ?1)"
            )
            if not db.execute(sql, (id,)).fetchone()[0]:
                # Texts that are differences to this one become differences to its own base.
                sql = "SELECT base FROM texts WHERE id = ?"
                (base,) = db.execute(sql, (id,)).fetchone() or (None,)
                older = db.execute("SELECT id FROM texts WHERE base = ?", (id,)).fetchall()
                for (other,) in older:
                    reader = TextReader(db)
                    newer = None if base is None else (base, reader.read(base))
                    _write_text(db, other, reader.read(other), newer)
                db.execute("DELETE FROM texts WHERE id = ?", (id,))
        for target in {target for target, *_ in rows}:
            sql = "DELETE FROM targets WHERE id = ?1 AND NOT EXISTS"
            db.execute(f"{sql} (SELECT 1 FROM edits WHERE target = ?1)", (target,))


# ---- reading -------------------------------------------------------------------------------------


def unpack_parts(text: object) -> tuple[StoreEdits, ...]:
    """Return the edits of an action of a journal of version 1. Raises Damaged."""
    try:
        return tuple(
            StoreEdits(_text(part["store"]), tuple(map(_old_edit, part["edits"])))
            for part in unpack(text)
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Damaged(str(error)) from error


def _old_edit(record: Mapping[str, Any]) -> Edit:
    path = record["root" if record["edit"] == "SidecarEdit" else "path"]
    outline = _outline(path, record)
    before, after = (_missing(outline, record[side]) for side in ("before", "after"))
    return replace(outline, before=before, after=after)


def _missing(outline: Edit, value: Any) -> Any:
    """The value before or after; memtui once wrote a value that was not there as ""."""
    return None if value == "" and outline.kind in (Kind.VALUE, Kind.COUNTER) else value


_OF_FILES = "target IN (SELECT id FROM targets WHERE file IN ({}))"


def of_files(files: Collection[str]) -> tuple[str, list[str]]:
    """Return the condition on the table `edits` for edits of these files, and its values."""
    return _OF_FILES.format(", ".join("?" * len(files))), [pack(file) for file in files]


def read_rows(db: sqlite3.Connection, where: str, values: Sequence[Any]) -> list[StoredEdit]:
    """Return the edits for which a condition on the table `edits` holds, in the order in which they
    were planned, without their texts. Raises Damaged."""
    sql = (
        "SELECT action, position, part, target, fields, before, after, in_effect, checksum"
        f" FROM edits WHERE {where} ORDER BY action, position"
    )
    outlines: dict[tuple[int, str], tuple[Edit, str, str]] = {}
    found = []
    for action, position, part, target, fields, before, after, in_effect, check in db.execute(
        sql, values
    ):
        if (target, fields) not in outlines:
            outlines[target, fields] = _read_outline(db, target, fields)
        outline, file, key = outlines[target, fields]
        expected = _checksum(file, key, fields, part, (before, after))
        if in_effect not in (0, 1) or check != expected:
            raise Damaged(f"an edit of action {action}")
        found.append(
            StoredEdit(action, position, part, outline, bool(in_effect), target, before, after)
        )
    return found


def _read_outline(db: sqlite3.Connection, target: int, fields: str) -> tuple[Edit, str, str]:
    """The edit without its texts, and its file and key as they are stored."""
    row = db.execute("SELECT file, key FROM targets WHERE id = ?", (target,)).fetchone()
    try:
        outline = _outline(unpack(row[0]), {**unpack(row[1]), **unpack(fields)})
        return outline, row[0], row[1]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Damaged(f"target {target}: {error}") from error


def _outline(path: object, values: Mapping[str, Any]) -> Edit:
    """The edit of these fields and its kind, with None before and after."""
    kind = next((kind for kind, name in _NAMES.items() if name == values["edit"]), None)
    key: tuple[Any, ...] = ()
    if kind is None:
        raise KeyError(values["edit"])
    if kind is Kind.RECORD:
        key = tuple(map(_text, values["array"])), _text(values["id_key"]), _text(values["id"])
    elif kind is Kind.VALUE:
        key = tuple(map(_text, values["pointer"]))
        kind = Kind.COUNTER if values.get("book_keeping") else kind
    elif kind in TEXTS:
        kind = Kind(values.get("items") or ("lines" if values.get("by_lines") else "file"))
    elif kind is Kind.SIDECAR:
        key = (_text(values["id"]),)
    elif kind is Kind.ROW:
        key = _text(values["table"]), *sorted(dict(values["key"]).items())
    elif values.get("existed"):
        key = ("existed",)
    return Edit(kind, _text(path), key, None, None, values.get("index"))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


class TextReader:
    """Reads texts; fast where the next one is the next older one of the same target."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._last: dict[int, tuple[int, bytes]] = {}
        """Target -> the text that was read last, with its id."""
        self._values: dict[int | None, Any] = {None: None}
        """Id -> value."""

    def with_texts(self, row: StoredEdit) -> StoredEdit:
        """The edit of a row with its texts. Raises Damaged."""
        expected = dict if row.edit.kind in (Kind.SIDECAR, Kind.ROW, Kind.FOLDER) else str
        for id in (row.after, row.before):
            if id is not None and id not in self._values:
                value = unpack(self.read(id))
                if not isinstance(value, expected):
                    raise Damaged(f"text {id}")
                self._values[id] = _missing(row.edit, value)
        before, after = self._values[row.before], self._values[row.after]
        return replace(row, edit=replace(row.edit, before=before, after=after))

    def read(self, id: int) -> bytes:
        """Return a text. Raises Damaged."""
        try:
            return self._read(id)
        except (TypeError, ValueError, zlib.error) as error:
            raise Damaged(f"text {id}: {error}") from error

    def _read(self, id: int) -> bytes:
        chain: list[tuple[int, bytes, int, int, bytes]] = []
        at: int | None = id
        text = b""
        target = 0
        while at is not None:
            sql = "SELECT target, digest, base, head, tail, data FROM texts WHERE id = ?"
            row = self._db.execute(sql, (at,)).fetchone()
            if row is None or (row[2] is not None and row[2] <= at):
                raise Damaged(f"text {at}")
            target = row[0]
            last = self._last.get(target, (0, b""))
            if last[0] == at:
                text = last[1]
                break
            chain.append((at, row[1], *row[3:]))
            at = row[2]
        for _, _, head, tail, data in reversed(chain):
            end = len(text) - tail
            text = text[:head] + _decompress(data, text[head:end]) + text[end:]
        if chain and _digest(text) != chain[0][1]:
            raise Damaged(f"text {id}")
        self._last[target] = id, text
        return text
