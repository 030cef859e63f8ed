"""A bundle is read only when it is exactly what memtui wrote."""

from __future__ import annotations

import hashlib
import io
import os
import random
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memtui.bundle import archive
from memtui.bundle import archive as zip_form
from memtui.bundle.archive import Archive
from memtui.errors import BundleError

CONTENTS = Archive(
    ({"label": "agent-memory", "format": "agent-memory"},),
    {
        "files/agent-memory/entities/alice/items.json": b"[]\n",
        "memories/agent-memory.jsonl": '{"content": "é"}\n'.encode(),
    },
)


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


def test_more_entries_than_zip_once_could_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The form for more than 65,534 entries, tried with fewer: so many take seconds to write."""
    assert zip_form.MAX_WITHOUT_ZIP64 == 0xFFFE
    monkeypatch.setattr(zip_form, "MAX_WITHOUT_ZIP64", 50)
    path = tmp_path / "b.zip"
    entries = {f"files/a/{number}": b"%d" % number for number in range(66)}
    path.write_bytes(b"".join(archive.encode_archive(Archive((), entries))))
    assert b"PK\6\6" in path.read_bytes(), "it is not the form that is meant"
    assert dict(archive.read_archive(path).entries) == entries
    with zipfile.ZipFile(path) as file:
        assert len(file.namelist()) == 67
        assert file.testzip() is None


@pytest.mark.parametrize(
    ("most", "sha256"),
    [
        (0xFFFE, "c37d719002eb4bf17a8136cb7c32db1caa20c650a762ad4756e4bb6bed830a1f"),
        (3, "c37d719002eb4bf17a8136cb7c32db1caa20c650a762ad4756e4bb6bed830a1f"),
        (2, "712297fee848bfaf4df661fb97849e4343255a4b41487608ce0724d4f4f0bbef"),
    ],
    ids=["zip", "as many as fit into zip", "zip64"],
)
def test_the_form_stays_the_same(monkeypatch: pytest.MonkeyPatch, most: int, sha256: str) -> None:
    """A file is read only if this version would write the same bytes: no version may differ."""
    monkeypatch.setattr(zip_form, "MAX_WITHOUT_ZIP64", most)
    data = b"".join(archive.encode_archive(CONTENTS))
    assert hashlib.sha256(data).hexdigest() == sha256


def test_every_flipped_byte_is_noticed(tmp_path: Path) -> None:
    data = b"".join(archive.encode_archive(CONTENTS))
    file = tmp_path / "b.zip"
    chance = random.Random(4)
    file.write_bytes(data)
    with file.open("r+b", buffering=0) as bundle:
        for at, byte in enumerate(data):
            os.pwrite(bundle.fileno(), bytes([byte ^ 1 << chance.randrange(8)]), at)
            with pytest.raises(BundleError):
                archive.read_archive(file)
            os.pwrite(bundle.fileno(), bytes([byte]), at)
    found = archive.read_archive(file)
    assert (found.stores, dict(found.entries)) == (CONTENTS.stores, dict(CONTENTS.entries))


@pytest.mark.parametrize("cut", [0, 1, 30, 200, -1, -22])
def test_a_shortened_or_lengthened_file_is_refused(tmp_path: Path, cut: int) -> None:
    data = b"".join(archive.encode_archive(CONTENTS))
    file = tmp_path / "b.zip"
    for wrong in (data[:cut], data + b"\0", b"\0" + data):
        file.write_bytes(wrong)
        with pytest.raises(BundleError):
            archive.read_archive(file)


def test_a_file_over_the_limit_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MAX_BYTES", 100)
    file = tmp_path / "b.zip"
    file.write_bytes(b"0" * 200)
    with pytest.raises(BundleError, match="it is larger"):
        archive.read_archive(file)
