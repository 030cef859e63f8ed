"""Reading what a stranger put into a folder never hangs and never leaves the folder."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

import pytest

from memtui.errors import Refused, UnreadableFile
from memtui.files import reading


def test_bytes_survive_decoding_and_encoding() -> None:
    data = b"\xef\xbb\xbf{\r\n\xff\xc3\x28 \xed\xa0\xbd \xe2\x80\xa8 caf\xc3\xa9 \x00}"
    assert reading.encode(reading.decode(data)) == data


def test_half_a_character_is_refused_not_written() -> None:
    with pytest.raises(Refused, match="U\\+D83D"):
        reading.encode("a \ud83d b")


def test_pipe_socket_folder_device_are_refused_with_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket has 104 bytes at most
    os.mkfifo(tmp_path / "fifo.json")
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "zero.json").symlink_to("/dev/zero")
    server = socket.socket(socket.AF_UNIX)
    server.bind("s.json")
    expected = {"fifo.json": "pipe", "folder.json": "folder", "zero.json": "outside"}
    expected["s.json"] = "socket"
    for name, why in expected.items():
        with pytest.raises(UnreadableFile, match=why):
            reading.read_bytes(tmp_path / name, tmp_path)
    with pytest.raises(UnreadableFile, match="device"):
        reading.read_bytes(Path("/dev/zero"))
    server.close()


def test_a_link_is_followed_only_inside_the_root(tmp_path: Path) -> None:
    outside = tmp_path / "secret.txt"
    outside.write_text("secret")
    root = tmp_path / "store"
    root.mkdir()
    (root / "real.json").write_text("[]")
    (root / "in.json").symlink_to("real.json")
    (root / "out.json").symlink_to(outside)
    (root / "gone.json").symlink_to("nowhere")
    (root / "loop.json").symlink_to("loop.json")
    assert reading.read_bytes(root / "in.json", root) == b"[]"
    for name in ("out.json", "gone.json", "loop.json"):
        with pytest.raises(UnreadableFile):
            reading.read_bytes(root / name, root)
    with pytest.raises(UnreadableFile, match="outside"):
        reading.read_bytes(root / "in.json")


def test_missing_file_and_bad_names_are_reported(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="not there"):
        reading.read_bytes(tmp_path / "none.json")
    for name, why in (("x" * 300, "too long"), ("a\0b", "its name holds a NUL")):
        with pytest.raises(UnreadableFile, match=why):
            reading.read_bytes(tmp_path / name)


def test_stamp_sees_a_rewrite_of_equal_length_with_the_time_put_back(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("one")
    before, times = reading.file_stamp([path]), path.stat()
    path.write_text("two")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert reading.file_stamp([path]) != before
    assert reading.file_stamp([path]) == reading.file_stamp([path])


def test_stamp_tells_missing_from_present_and_order(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    missing = reading.file_stamp([a, b])
    a.write_text("")
    assert reading.file_stamp([a, b]) != missing
    assert reading.file_stamp([a, b]) != reading.file_stamp([b, a])


def test_walk_lists_files_in_order_and_passes_over_what_it_must(tmp_path: Path) -> None:
    for name in ("b/2.json", "b/1.json", "a/x.md", "a/.x.md.memtui-1f", ".git/c.json", "z.json"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    (tmp_path / "a" / "up").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "dir.json").mkdir()
    found = [
        os.path.relpath(e.path, tmp_path) for e in reading.walk(tmp_path, (".json",), {".git"})
    ]
    assert found == ["z.json", "b/1.json", "b/2.json"]
    assert {e.name for e in reading.walk(tmp_path / "a")} == {"x.md"}


def test_walk_tells_of_a_folder_that_cannot_be_listed(tmp_path: Path) -> None:
    told: list[tuple[str, str]] = []
    gone = tmp_path / "gone"
    assert list(reading.walk(gone, unreadable=lambda p, why: told.append((p, why)))) == []
    assert told == [(str(gone), "it is not there")]


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "/x", "a\\b", "a\0b", "x" * 256, "\ud83d"])
def test_safe_join_refuses_names_that_lead_elsewhere(tmp_path: Path, name: str) -> None:
    with pytest.raises(Refused):
        reading.safe_join(tmp_path, name)


def test_safe_join_refuses_a_link_out_and_takes_odd_but_plain_names(tmp_path: Path) -> None:
    (tmp_path / "etc").symlink_to("/etc")
    with pytest.raises(UnreadableFile):
        reading.safe_join(tmp_path, "etc")
    for name in ("...", " a ", "ü\u202e", "\udcff", "-rf"):
        assert reading.safe_join(tmp_path, name).parent == tmp_path


@pytest.mark.parametrize("extra", [0, 1])
def test_a_file_is_read_up_to_a_size(tmp_path: Path, extra: int) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"x" * ((2 << 20) + extra))
    if not extra:
        assert len(reading.read_bytes(path, most=2 << 20)) == 2 << 20
    else:
        with pytest.raises(UnreadableFile, match="it is larger than 2 MiB"):
            reading.read_bytes(path, most=2 << 20)


def test_each_error_says_what_and_where(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for name, why in [
        ("none", "it is not there"),
        ("file/x", "a part of its path is not a folder"),
        ("x" * 256, "its name is too long"),
        ("a\0b", "its name holds a NUL"),
    ]:
        with pytest.raises(UnreadableFile, match=why) as caught:
            reading.read_bytes(tmp_path / name)
        assert caught.value.where == str(tmp_path / name)
        assert isinstance(caught.value, reading.MissingFile) == (name == "none")


def test_an_error_without_words_of_our_own_has_those_of_the_system() -> None:
    assert reading.error_text(OSError(errno.EBUSY, "Device Busy")) == "device busy"
    assert reading.error_text(PermissionError()) == "permissionerror"


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    (tmp_path / "a").write_text("")
    reading.read_bytes(tmp_path / "a")
    for _ in range(3):
        with pytest.raises(UnreadableFile):
            reading.read_bytes(tmp_path)
    assert len(os.listdir("/dev/fd")) == before


def test_existing_files_are_told_with_the_stamp_that_they_would_have(tmp_path: Path) -> None:
    a, gone, dangling = (str(tmp_path / name) for name in ("a", "gone", "dangling"))
    Path(a).write_text("a")
    os.symlink("nowhere", dangling)
    paths = (a, gone, "odd\0name", dangling)
    found, stamp = reading.existing_files(paths)
    assert found == (a, dangling)
    assert stamp == reading.file_stamp(found)
    os.unlink(dangling)
    os.symlink("a", dangling)
    assert reading.existing_files(paths) == (found, reading.file_stamp(found))
    assert reading.existing_files(paths)[1] != stamp


def test_walk_goes_through_folders_in_order_and_names_what_it_cannot_list(tmp_path: Path) -> None:
    for name in ("b/z/1", "b/a/2", "a/3", "c", "skip/4", "a/skip"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "link").symlink_to("c")
    (tmp_path / "dangling").symlink_to("nowhere")
    found = [
        os.path.relpath(entry.path, tmp_path) for entry in reading.walk(tmp_path, (), {"skip"})
    ]
    assert found == ["c", "dangling", "link", "a/3", "b/a/2", "b/z/1"]
    assert list(reading.walk(tmp_path / "gone")) == []


def test_the_longest_name_is_joined(tmp_path: Path) -> None:
    for name in ("x" * 255, "é" * 127):
        assert reading.safe_join(tmp_path, name) == tmp_path / name
    with pytest.raises(Refused, match="longer than 255 bytes"):
        reading.safe_join(tmp_path, "é" * 128)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("text", ["- Use pnpm\r\n- Café 🙂\r\n", "规则\n部署\n", "{}"])
@pytest.mark.parametrize("times", [1, 3_000])
def test_text_in_another_encoding_is_refused_by_its_name(
    tmp_path: Path, encoding: str, text: str, times: int
) -> None:
    (tmp_path / "a.md").write_bytes((text * times).encode(encoding))
    with pytest.raises(UnreadableFile, match=encoding[:6].upper()):
        reading.read_text_file(tmp_path / "a.md", tmp_path)


@pytest.mark.parametrize(
    "data", [b"", b"caf\xe9\n", "é漢🙂\ufeff".encode(), b"\0" * 8, b"a\0b", b"\1\0\2\0"]
)
def test_any_other_bytes_are_read_and_written_as_they_are(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.md").write_bytes(data)
    assert reading.encode(reading.read_text_file(tmp_path / "a.md")) == data


@pytest.mark.parametrize(
    "text",
    [
        "The shop listens on port 8081.\n",
        "Лавка слушает порт 8081.\n",
        "店のサービスはポートで動いています。\n",
        "商店的服务在一个端口上监听。 第一行\n",
        "가게 서비스는 포트에서 듣습니다.\n",
        "Το κατάστημα ακούει.\n",
        "المتجر يستمع على المنفذ.\n",
    ],
)
def test_text_of_utf_16_is_told_from_text_with_a_nul(text: str) -> None:
    for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
        assert reading.find_wide_encoding(text.encode(encoding)) == "UTF-16"
    for narrow in (text, f"{text}\0", f"{text}\0\n", f"a\0b {text}"):
        for end in ("", " "):  # an odd and an even number of bytes
            assert not reading.find_wide_encoding(f"{narrow}{end}".encode())
