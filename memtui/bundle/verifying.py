"""What checking a file came to, in words; a database in it is built once to be sure."""

from __future__ import annotations

import tempfile
from pathlib import Path

from memtui.bundle.packing import format_of
from memtui.bundle.unpacking import Document, Incoming
from memtui.errors import BundleError


def verified(document: Document) -> list[str]:
    """What was checked, a line each. Raises BundleError for what only building shows."""
    lines = []
    if document.kind == "bundle":
        lines.append(
            f"every byte: {document.entries + 1} entries, each with its SHA-256, and the frame"
        )
    else:
        lines.append("every record was read; this kind of file has no checksums")
    for store in document.stores:
        lines.append(_store(store))
    return lines


def _store(store: Incoming) -> str:
    what = f"{store.label} ({store.format or 'format not said'}): {len(store.memories)} memories"
    if store.rows is not None:
        return f"{what}, {_built(store)} rows that make a sound database"
    if store.whole:
        return f"{what}, {len(store.files)} files"
    return f"{what}, a part of the store{f', {len(store.files)} files' if store.files else ''}"


def _built(store: Incoming) -> int:
    """Build the database in a private place; the number of its lines."""
    known = format_of(store.format)
    if known is None or known.database is None or store.rows is None:
        raise BundleError(f"it holds rows of a format memtui does not know: {store.format!r}")
    lines = store.rows()
    with tempfile.TemporaryDirectory(prefix="memtui-verify-") as folder:
        known.database.rebuild(lines, Path(folder) / known.database.name)
        if known.database.dump(Path(folder)) != lines:
            raise BundleError("its rows make another database than they describe")
    return len(lines)
