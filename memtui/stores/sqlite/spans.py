"""Shards of a table: runs of `SPAN` row numbers, each with a checksum of its rows as its stamp.

One changed row makes one shard be read again, also where somebody edits with the sqlite3 program.
"""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from collections.abc import Collection, Iterable, Iterator
from typing import Any

SPAN = 256
"""Rows in a shard: about 1 ms to read, and few enough shards at 100,000 rows."""

MAX_SHARD_BYTES = 256 << 20
"""Rows of one shard that hold more are refused: pages that are part of several values can make a
small file hold any amount."""


def bounded(rows: Iterable[sqlite3.Row]) -> Iterator[sqlite3.Row]:
    """The rows, as long as they hold no more than a shard can."""
    left = MAX_SHARD_BYTES
    for row in rows:
        left -= sum(len(value) for value in row if isinstance(value, str | bytes))
        if left < 0:
            raise sqlite3.DataError(f"{SPAN} rows hold more than {MAX_SHARD_BYTES >> 20} MiB")
        yield row


def span_marks(
    connection: sqlite3.Connection, table: str, columns: Collection[str], number: str
) -> list[tuple[int, tuple[Any, ...]]]:
    """Count, highest number and checksum of the rows of each span, over these columns."""
    connection.create_function("memtui_sum", -1, _sum, deterministic=True)
    summed = "".join(f', CAST("{name}" AS BLOB)' for name in sorted(columns))
    cursor = connection.execute(
        f"SELECT {number} / {SPAN} AS bucket, count(*), max({number}),"
        f" total(memtui_sum({number}{summed})) FROM {table} GROUP BY 1 ORDER BY 1"
    )
    return [(row[0], tuple(row)[1:]) for row in cursor]


def _sum(number: int, *values: bytes | None) -> int:
    """Checksum of a row; NULL differs from "", as in edits."""
    crc = number & 0xFFFFFFFF
    for value in values:
        crc = zlib.crc32(value or b"", zlib.crc32(b"\0" if value is None else b"\1", crc))
    return crc


def bucket_of(number: int) -> int:
    """Integer division towards zero, as SQLite divides."""
    return number // SPAN if number >= 0 else -(-number // SPAN)


def span_bounds(bucket: int) -> tuple[int, int]:
    """The lowest and the highest row number of a span."""
    low, high = bucket * SPAN, bucket * SPAN
    return low - (SPAN - 1) * (bucket <= 0), high + (SPAN - 1) * (bucket >= 0)


def span_key(table: str, bucket: int) -> str:
    """Key of the shard of a span."""
    return f"{table}/{bucket:06d}"


def span_digest(value: object) -> str:
    """The stamp of a shard; `value` holds its marks, and the form in which rows are read."""
    state = repr((SPAN, value)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(state).hexdigest()[:32]
