"""Each fault of a file is refused for its own reason, and what is just within a limit is read."""

from __future__ import annotations

import hashlib
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memtui.bundle import archive, bundle_reader
from memtui.bundle.archive import Archive
from memtui.bundle.bundle_reader import read_document, verify_document
from memtui.bundle.bundle_writer import pack_stores
from memtui.errors import BundleError
from memtui.library import Library
from memtui.model import Memory, to_record
from memtui.text import counted
from tests.samples import SAMPLES
from tests.unit.bundle.hostile import HOSTILE, ONLY_WHOLE, framed, sealed

VERSION = "it was written by another version of memtui"
FORM = "its manifest is not in the form memtui writes"
NO_MANIFEST = "its first entry is not a manifest"
LEADS_OUT = "a file's name leads out of its store"
FORBIDDEN = "a file's name is not allowed in a bundle"
MISSING = "its entries are not those of its manifest"
STRAY = "it holds a file that belongs to no store"
RECORDS = "its manifest or records are not as memtui writes them"

REASONS = {
    "nothing": "it is empty",
    "no zip": "a record has no field 'ref'",
    "empty zip": NO_MANIFEST,
    "no manifest": NO_MANIFEST,
    "encrypted": "it is damaged (RuntimeError)",
    "one name twice": "memories/agent-memory.jsonl has not the size that it states",
    "names that differ in case": "it holds an entry that its manifest does not name",
    "size that lies": "items.json has not the size that it states",
    "other name in the directory": NO_MANIFEST,
    "cut short": "it is no whole zip file",
    "comment": "it is no whole zip file",
    "something before it": "unknown file format: byte 54 is not UTF-8",
    "another zip behind it": "it holds more than its entries",
    "tar, compressed": "unknown file format: byte 1 is not UTF-8",
    **dict.fromkeys(
        ("upwards", "absolute", "NUL", "dots as a file", "root upwards", "root away"), LEADS_OUT
    ),
    "root in two steps": LEADS_OUT,
    "name that is too long": "a file's name is longer than 255 bytes",
    **dict.fromkeys(
        ("git hook", "git hook, capitals", "git hook, unseen character", "keys"), FORBIDDEN
    ),
    "memtui's own folder": FORBIDDEN,
    "file over folder": "a file has the same name as a folder",
    "stray file": STRAY,
    "no store": STRAY,
    "file that is not listed": "its files do not match its manifest",
    "time beyond all": FORM,
    "time of a float": FORM,
    "memories that are not there": "its memories do not match its manifest",
    "memory of another store": "its memories do not match its manifest",
    "memory of no kind": "its kind or status is unknown",
    "memory with a nest of lists": f"{RECORDS} (RecursionError)",
    "number of five thousand digits": f"{RECORDS} (ValueError)",
    "size below nothing": FORM,
    "size that is no number": FORM,
    "size larger than the file": MISSING,
    "another sum": MISSING,
    "nest in the manifest": "it is damaged (RecursionError)",
    "label twice": "two of its stores have the same label",
    "store without entries": f"{RECORDS} (KeyError)",
}


def written(folder: Path, data: bytes) -> Path:
    file = folder / "in.zip"
    file.write_bytes(data)
    return file


def refusal(folder: Path, data: bytes) -> str:
    """Why a file of these bytes is not read; it is named, and not left open."""
    file = written(folder, data)
    open_files = len(os.listdir("/dev/fd"))
    with pytest.raises(BundleError) as caught:
        read_document(file)
    assert len(os.listdir("/dev/fd")) <= open_files  # what other tests left may close meanwhile
    assert caught.value.where == str(file)
    assert caught.value.do.startswith(("nothing was imported", "it reads a bundle, "))
    return caught.value.what.removeprefix("invalid bundle: ")


@pytest.mark.parametrize("name", [name for name in HOSTILE if name not in ONLY_WHOLE])
def test_a_hostile_file_is_refused_for_its_own_fault(tmp_path: Path, name: str) -> None:
    made_by_others = "no JSON at line 1, column 1" if name.startswith("tar") else VERSION
    assert refusal(tmp_path, HOSTILE[name]()).endswith(REASONS.get(name, made_by_others))


# ---- the manifest -------------------------------------------------------------------------------

X = hashlib.sha256(b"x").hexdigest()


def row(name: str = "memories/a.jsonl", size: object = 0, sha256: object = X) -> dict[str, Any]:
    return {"name": name, "size": size, "sha256": sha256}


def manifest(**head: Any) -> bytes:
    values = {"memtui bundle": 1, "stores": [], "entries": [], **head}
    kept = {name: value for name, value in values.items() if value is not None}
    return framed(json.dumps(kept, indent=1, sort_keys=True).encode() + b"\n")


NO_ENTRIES = "its manifest lists no entries"
NO_STORES = "its manifest lists no stores"
UNSAFE = "an entry's name leads out of the bundle"
UNSAFE_NAMES = (
    *("", "/a", "a/", "a//b", ".", "a/.", "..", "a/../b", "a\\b", "é", "a\nb", "manifest.json"),
    "a" * 4097,
)
MANIFESTS: dict[str, tuple[str, bytes]] = {
    "no list of stores": (NO_STORES, manifest(stores=None)),
    "stores by name": (NO_STORES, manifest(stores={})),
    "stores that are no objects": (NO_STORES, manifest(stores=[{}, 1])),
    "no list of entries": (NO_ENTRIES, manifest(entries=None)),
    "entries by name": (NO_ENTRIES, manifest(entries={})),
    "entries that are no objects": (NO_ENTRIES, manifest(entries=[row(), "b"])),
    "a name that is no text": (FORM, manifest(entries=[row(name=7)])),  # type: ignore[arg-type]
    "a sum that is no text": (FORM, manifest(entries=[row(sha256=None)])),
    "half a size": (FORM, manifest(entries=[row(size=0.5)])),
    "a name twice": ("two entries have the same name", manifest(entries=[row(), row()])),
    "names that differ in case": (
        "two entries have the same name",
        manifest(entries=[row("B"), row("b")]),
    ),
    "an entry that is missing": (MISSING, manifest(entries=[row()])),
    **{f"the name {name[:9]!r}": (UNSAFE, manifest(entries=[row(name)])) for name in UNSAFE_NAMES},
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_of_another_form_is_refused(tmp_path: Path, name: str) -> None:
    why, data = MANIFESTS[name]
    assert refusal(tmp_path, data) == why


@pytest.mark.parametrize("name", UNSAFE_NAMES)
def test_no_such_name_is_written(name: str) -> None:
    with pytest.raises(BundleError, match=UNSAFE):
        list(archive.encode_archive(Archive((), {name: b""})))


@pytest.mark.parametrize("name", ["a", "...", "a/.b/..c", "a" * 4096])
def test_any_other_name_is_written_and_read(tmp_path: Path, name: str) -> None:
    file = written(tmp_path, b"".join(archive.encode_archive(Archive((), {name: b"x"}))))
    assert dict(archive.read_archive(file).entries) == {name: b"x"}


# ---- limits -------------------------------------------------------------------------------------


def test_no_more_than_the_limits_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_ENTRIES", 2)
    monkeypatch.setattr(archive, "MAX_BYTES", 1 << 20)
    half = bytes(1 << 19)
    assert list(archive.encode_archive(Archive((), {"a": half, "b": half})))
    with pytest.raises(BundleError, match="at most 1 MiB") as caught:
        list(archive.encode_archive(Archive((), {"a": half, "b": half + b"x"})))
    assert caught.value.do == "export a part"
    with pytest.raises(BundleError, match="at most 2 files, these are 3"):
        list(archive.encode_archive(Archive((), dict.fromkeys("abc", b""))))
    with pytest.raises(BundleError, match="two entries have the same name"):
        list(archive.encode_archive(Archive((), {"a": b"", "A": b""})))


def test_no_more_entries_than_the_limit_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(
        tmp_path, b"".join(archive.encode_archive(Archive((), dict.fromkeys("ab", b""))))
    )
    monkeypatch.setattr(archive, "MAX_ENTRIES", 2)
    assert len(archive.read_archive(file).entries) == 2
    monkeypatch.setattr(archive, "MAX_ENTRIES", 1)
    with pytest.raises(BundleError, match="it holds too many entries"):
        archive.read_archive(file)


MIB = 1 << 20


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    file = written(tmp_path, b"PK\3\4")
    os.truncate(file, 1152 * MIB + 1)
    with pytest.raises(BundleError, match="it is larger than 1024 MiB"):
        read_document(file)


def test_a_bundle_that_would_unpack_to_more_than_the_limit_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Packed, it is far smaller than the limit."""
    entries = {"a": bytes(MIB), "b": bytes(MIB)}
    file = written(tmp_path, b"".join(archive.encode_archive(Archive((), entries))))
    monkeypatch.setattr(archive, "MAX_BYTES", 2 * MIB)
    assert set(archive.read_archive(file).entries) == {"a", "b"}
    monkeypatch.setattr(archive, "MAX_BYTES", 2 * MIB - 1)
    with pytest.raises(BundleError, match="it is larger than 1 MiB"):
        archive.read_archive(file)


def test_a_manifest_that_is_too_large_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MAX_MANIFEST_BYTES", 100)
    assert refusal(tmp_path, sealed()) == "its manifest is too large"


def test_what_is_no_bundle_has_a_limit_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert bundle_reader.LARGEST_TEXT == 256 * MIB
    record = json.dumps(to_record(Memory("a:1", "1", "a", "fact"))).encode()
    data = record + b" " * (2 * MIB - len(record))
    monkeypatch.setattr(bundle_reader, "LARGEST_TEXT", 2 * MIB)
    assert read_document(written(tmp_path, data)).count == 1
    assert refusal_of_size(tmp_path, data + b" ") == "it is larger than 2 MiB"


def refusal_of_size(folder: Path, data: bytes) -> str:
    with pytest.raises(BundleError) as caught:
        read_document(written(folder, data))
    return caught.value.what


def test_an_entry_that_is_changed_after_it_was_checked_is_not_used(tmp_path: Path) -> None:
    entries = {"a": b"first", "b": random.Random(1).randbytes(40_000), "c": b"third"}
    file = written(tmp_path, b"".join(archive.encode_archive(Archive((), entries))))
    found = archive.read_archive(file)
    with file.open("r+b") as out:
        out.seek(file.read_bytes().index(entries["b"][30_000:30_020]))
        out.write(bytes(20))
    assert [found.entries[name] for name in ("a", "c")] == [b"first", b"third"]
    with pytest.raises(BundleError, match="b is damaged"):
        found.entries["b"]


@pytest.mark.parametrize("size", [MIB - 1, MIB, MIB + 1, 2 * MIB])
def test_an_entry_is_checked_in_pieces(tmp_path: Path, size: int) -> None:
    data = (b"0123456789" * (size // 10 + 1))[:size]
    whole = b"".join(archive.encode_archive(Archive((), {"a": data})))
    assert archive.read_archive(written(tmp_path, whole)).entries["a"] == data


@pytest.mark.parametrize(
    ("make", "why", "do"),
    [
        (os.mkdir, "it is a folder", "export makes a file of it"),
        (os.mkfifo, "it is not a file", ""),
    ],
)
def test_only_a_file_is_read(
    tmp_path: Path, make: Callable[[Path], None], why: str, do: str
) -> None:
    make(tmp_path / "in.zip")
    open_files = len(os.listdir("/dev/fd"))
    with pytest.raises(BundleError) as caught:
        read_document(tmp_path / "in.zip")
    assert len(os.listdir("/dev/fd")) <= open_files  # what other tests left may close meanwhile
    assert (caught.value.what, caught.value.where) == (why, str(tmp_path / "in.zip"))
    assert caught.value.do.endswith(do)


# ---- stores in a bundle -------------------------------------------------------------------------

LONGEST_TIME = (1 << 63) * 10**9
STORES: dict[str, tuple[str, bytes]] = {
    "a root in a folder": ("a store's root leads out of the bundle", sealed(root="a/b")),
    "a time after the last": (FORM, sealed(listed={"a": {"mtime_ns": LONGEST_TIME}})),
    "a time before the first": (FORM, sealed(listed={"a": {"mtime_ns": -LONGEST_TIME}})),
    "a time that is a truth": (FORM, sealed(listed={"a": {"mtime_ns": True}})),
    "a file under two names": (FORM, sealed(files={"a": "x", "%61": "y"})),
    "a listed file that is missing": (
        "its files do not match its manifest",
        sealed(listed={"a": {"mtime_ns": 0}, "b": {"mtime_ns": 0}}),
    ),
    "memories of a store that is not listed": (STRAY, sealed(more={"memories/b.jsonl": b""})),
    "rows of a store that is not listed": (STRAY, sealed(more={"rows/b.jsonl": b""})),
    "a file at the top": (STRAY, sealed(more={"agent-memory": b""})),
    "another folder": (STRAY, sealed(more={"other/agent-memory.jsonl": b""})),
    "fewer memories than listed": ("its memories do not match its manifest", sealed(count=1)),
    "bytes in a record": (f"{RECORDS} (UnicodeDecodeError)", sealed(
        more={"memories/agent-memory.jsonl": b"\xff"}
    )),
    "a record that is a list": (
        "a record is not a memory (TypeError)",
        sealed(more={"memories/agent-memory.jsonl": b"[1]\n"}),
    ),
    "no label": (f"{RECORDS} (KeyError)", b"".join(
        archive.encode_archive(Archive(({"format": "x"},), {}))
    )),
}  # fmt: skip


@pytest.mark.parametrize("name", STORES)
def test_a_store_that_does_not_match_its_manifest_is_refused(tmp_path: Path, name: str) -> None:
    why, data = STORES[name]
    assert refusal(tmp_path, data) == why


def test_what_a_bundle_says_of_a_store_is_read(tmp_path: Path) -> None:
    record = to_record(Memory("agent-memory:1", "1", "agent-memory", "fact", content="x"))
    times = {"a b": LONGEST_TIME - 1, "deep/c": 1 - LONGEST_TIME}
    data = sealed(
        files=dict.fromkeys(("a%20b", "deep/c"), "text"),
        listed={"a%20b": {"mtime_ns": times["a b"]}, "deep/c": {"mtime_ns": times["deep/c"]}},
        memories=(record,),
        root="home",
        more={"rows/agent-memory.jsonl": b"1\n2\n"},
    )
    document = read_document(written(tmp_path, data))
    (store,) = document.stores
    assert (document.kind, document.count, document.entries) == ("bundle", 1, 4)
    assert (store.label, store.format, store.root) == ("agent-memory", "agent-memory", "home")
    assert (store.whole, store.times) == (True, times)
    assert {name: load() for name, load in store.files.items()} == dict.fromkeys(times, b"text")
    assert store.rows is not None
    assert store.rows() == ["1", "2"]
    assert store.memories[0].content == "x"


@pytest.mark.parametrize("whole", [False, None, 1, "true"])
def test_a_store_is_whole_only_when_the_manifest_says_so(tmp_path: Path, whole: object) -> None:
    (store,) = read_document(written(tmp_path, sealed(whole=whole))).stores
    assert not store.whole
    assert store.rows is None


@pytest.mark.parametrize("name", [".memtui/sidecar.jsonl", "a/.memtui/access.json"])
def test_memtuis_own_notes_are_read(tmp_path: Path, name: str) -> None:
    (store,) = read_document(written(tmp_path, sealed(files={name: "x"}))).stores
    assert list(store.files) == [name]


@pytest.mark.parametrize(
    "name",
    [".git/.memtui/sidecar.jsonl", ".memtui/a/.memtui/place.json", ".hg/x", ".svn/x", ".ssh"],
)
def test_no_other_file_is_read_from_such_folders(tmp_path: Path, name: str) -> None:
    assert refusal(tmp_path, sealed(files={name: "x"})) == FORBIDDEN


@pytest.mark.parametrize(("length", "is_read"), [(255, True), (256, False)])
def test_a_name_is_as_long_as_a_file_system_takes_it(
    tmp_path: Path, length: int, is_read: bool
) -> None:
    data = sealed(files={"a" * length: "x"})
    if is_read:
        assert read_document(written(tmp_path, data)).stores[0].files
    else:
        assert refusal(tmp_path, data) == "a file's name is longer than 255 bytes"


# ---- files of other kinds -----------------------------------------------------------------------


def line_of(store: str, id: str) -> str:
    return json.dumps(to_record(Memory(f"{store}:{id}", id, store, "fact", content=id)))


TEXTS = {
    "one record": (line_of("a", "1"), [("a", ["1"])]),
    "a list": (f"\n [{line_of('a', '1')}, {line_of('b', '2')}]", [("a", ["1"]), ("b", ["2"])]),
    "an empty list": ("[]", []),
    "a mark and blank lines": (f"\ufeff\n{line_of('a', '1')}\r\n\n", [("a", ["1"])]),
    "lines of two stores": (
        "\n".join([line_of("b", "1"), line_of("a", "2"), line_of("b", "3")]),
        [("b", ["1", "3"]), ("a", ["2"])],
    ),
    "one record over several lines": (
        json.dumps(json.loads(line_of("a", "1")), indent=1),
        [("a", ["1"])],
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_records_are_grouped_by_their_store(tmp_path: Path, name: str) -> None:
    text, expected = TEXTS[name]
    document = read_document(written(tmp_path, text.encode()))
    assert (document.kind, document.entries) == ("jsonl", 0)
    found = [(store.label, [memory.id for memory in store.memories]) for store in document.stores]
    assert found == expected
    assert all((store.format, store.whole) == ("", False) for store in document.stores)


UNKNOWN = {
    "no JSON": (b'\n{"a":\n 1,}', "unknown file format: no JSON at line 3, column 4"),
    "no UTF-8": (b"abc\xff", "unknown file format: byte 3 is not UTF-8"),
    "a nest": (b"[" * 100_000, "unknown file format: too deep"),
    "a number": (b"7", "it holds no memories"),
    "blanks": (b" \n\t\n", "it is empty"),
    "a broken line": (
        f"{line_of('a', '1')}\n\n{{,\n".encode(),
        "no JSON at line 3, column 2",
    ),
    "a line without fields": (
        f"{line_of('a', '1')}\n{{}}".encode(),
        "line 2: a record has no field",
    ),
    "a line that is a number": (
        f"{line_of('a', '1')}\n7".encode(),
        "line 2: a record is not a memory (TypeError)",
    ),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_text_of_no_known_kind_is_refused_at_its_fault(tmp_path: Path, name: str) -> None:
    data, why = UNKNOWN[name]
    assert refusal(tmp_path, data).startswith(why)


# ---- verify -------------------------------------------------------------------------------------

VERIFIED = {
    "a whole store": (sealed(), "agent-memory (agent-memory): 0 memories, 1 file"),
    "a part with a file": (
        sealed(whole=False),
        "agent-memory (agent-memory): 0 memories, a part of the store, 1 file",
    ),
    "a part": (
        sealed(whole=False, files={}),
        "agent-memory (agent-memory): 0 memories, a part of the store",
    ),
    "no format": (
        sealed(format="", files={}),
        "agent-memory (format not said): 0 memories, 0 files",
    ),
}


@pytest.mark.parametrize("name", VERIFIED)
def test_verify_says_what_a_bundle_holds(tmp_path: Path, name: str) -> None:
    data, line = VERIFIED[name]
    document = read_document(written(tmp_path, data))
    first = f"{counted(document.entries, 'entry')}, each with its size and SHA-256"
    assert verify_document(document) == [first, line]


def test_verify_says_that_records_have_no_checksums(tmp_path: Path) -> None:
    document = read_document(written(tmp_path, line_of("a", "1").encode()))
    first, line = verify_document(document)
    assert first == "every record was read; this kind of file has no checksums"
    assert line == "a (format not said): 1 memory, a part of the store"


def test_a_database_that_is_damaged_is_not_sound(tmp_path: Path) -> None:
    library = Library.open([SAMPLES / "engram"])
    library.load()
    packed = pack_stores(library, None)
    document = read_document(written(tmp_path, b"".join(archive.encode_archive(packed.archive))))
    assert verify_document(document)[1].endswith("1 file, with a sound database")
    data = packed.entries["files/engram/engram.db"]
    packed.entries["files/engram/engram.db"] = data[:9000] + bytes(9000) + data[18000:]
    document = read_document(written(tmp_path, b"".join(archive.encode_archive(packed.archive))))
    with pytest.raises(BundleError, match="the database of engram is damaged"):
        verify_document(document)
