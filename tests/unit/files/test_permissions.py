"""A file that nobody may write is replaced only in a block that allows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from memtui.changes import text_edit
from memtui.errors import Refused
from memtui.files.permissions import Protected, refuse_protected, replacing_protected
from memtui.files.save_hooks import NullRecorder
from memtui.files.save_transaction import commit


def test_a_save_asks_for_the_permission_of_the_file_itself(tmp_path: Path) -> None:
    file, recorder = tmp_path / "notes.md", NullRecorder(tmp_path / "state")
    file.write_text("one\n")
    file.chmod(0o444)
    edit = text_edit(str(file), "one\n", "two\n")
    with pytest.raises(Protected, match="no write permission"):
        commit([edit], recorder)
    assert file.read_text() == "one\n"
    with replacing_protected(False), pytest.raises(Protected):
        commit([edit], recorder)
    with replacing_protected() as replaced:
        commit([edit], recorder)
    assert [each.where for each in replaced] == [str(file)]
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("two\n", 0o444)
    with pytest.raises(Protected):  # the permission was for that block only
        refuse_protected([file])


def test_no_permission_helps_in_a_closed_folder(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    file = folder / "notes.md"
    file.write_text("one\n")
    folder.chmod(0o555)
    try:
        for path in (file, folder / "new.md", folder / "below" / "new.md"):
            with replacing_protected(), pytest.raises(Refused, match="the folder has no write"):
                refuse_protected([path])
    finally:
        folder.chmod(0o755)
