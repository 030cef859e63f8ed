"""Of a bundle only what its manifest names is read, and only if it is as that says."""

from __future__ import annotations

import io
import os
import random
import struct
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memtui.bundle import archive
from memtui.bundle.archive import Archive
from memtui.errors import BundleError

CONTENTS = Archive(
    ({"label": "agent-memory", "format": "agent-memory"},),
    {
        "files/agent-memory/entities/alice/items.json": b"[]\n",
        "memories/agent-memory.jsonl": '{"content": "é"}\n'.encode(),
    },
)


@pytest.mark.slow
@given(
    entries=st.dictionaries(
        st.from_regex(r"[a-z]{1,5}(/[a-z]{1,5}){0,2}", fullmatch=True), st.binary(), max_size=5
    )
)
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_contents_survive_and_give_the_same_bytes(
    tmp_path: Path, entries: dict[str, bytes]
) -> None:
    data = b"".join(archive.encode_archive(Archive((), entries)))
    file = tmp_path / "b.zip"
    file.write_bytes(data)
    found = archive.read_archive(file)
    assert dict(found.entries) == entries
    assert b"".join(archive.encode_archive(found)) == data


def test_any_zip_program_reads_it() -> None:
    entries = {f"files/a/{number}": b"%d" % number for number in range(9)}
    with zipfile.ZipFile(
        io.BytesIO(b"".join(archive.encode_archive(Archive((), entries))))
    ) as file:
        assert file.namelist() == ["manifest.json", *sorted(entries)]
        assert file.testzip() is None


def _is_refused_or_unchanged(file: Path) -> bool:
    try:
        found = archive.read_archive(file)
    except BundleError:
        return True
    return (found.stores, dict(found.entries)) == (CONTENTS.stores, dict(CONTENTS.entries))


def test_no_flipped_byte_changes_what_is_read(tmp_path: Path) -> None:
    data = b"".join(archive.encode_archive(CONTENTS))
    file = tmp_path / "b.zip"
    chance = random.Random(4)
    file.write_bytes(data)
    with file.open("r+b", buffering=0) as bundle:
        for at, byte in enumerate(data):
            os.pwrite(bundle.fileno(), bytes([byte ^ 1 << chance.randrange(8)]), at)
            assert _is_refused_or_unchanged(file)
            os.pwrite(bundle.fileno(), bytes([byte]), at)


@pytest.mark.parametrize("cut", [0, 1, 30, 200, -1, -22])
def test_a_shortened_file_is_refused(tmp_path: Path, cut: int) -> None:
    data = b"".join(archive.encode_archive(CONTENTS))
    file = tmp_path / "b.zip"
    file.write_bytes(data[:cut])
    with pytest.raises(BundleError):
        archive.read_archive(file)


@pytest.mark.parametrize("more", [(b"", b"\0"), (b"\0", b""), (b"PK\3\4", b"PK\5\6")])
def test_nothing_around_the_entries_is_read(tmp_path: Path, more: tuple[bytes, bytes]) -> None:
    file = tmp_path / "b.zip"
    file.write_bytes(more[0] + b"".join(archive.encode_archive(CONTENTS)) + more[1])
    assert _is_refused_or_unchanged(file)


def test_an_entry_that_unpacks_to_more_than_it_states_is_refused(tmp_path: Path) -> None:
    """Its size in the directory and in the manifest is that of what was to be there."""
    bomb = Archive((), {"files/a/b": b"\0" * (8 << 20)})
    data = b"".join(archive.encode_archive(bomb))
    small = struct.pack("<L", 8 << 20)
    at = data.rindex(small)
    file = tmp_path / "b.zip"
    file.write_bytes(data[:at] + struct.pack("<L", 9) + data[at + 4 :])
    with pytest.raises(BundleError, match="has not the size that it states"):
        archive.read_archive(file)


def test_a_file_over_the_limit_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MAX_BYTES", 100)
    file = tmp_path / "b.zip"
    file.write_bytes(b"0" * 200)
    with pytest.raises(BundleError, match="it is larger"):
        archive.read_archive(file)
