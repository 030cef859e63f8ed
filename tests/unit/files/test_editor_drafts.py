"""The command line of an editor, the draft that it gets, and the line at which a file is opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from memtui.errors import Refused, SaveError
from memtui.files import drafts
from memtui.files.drafts import edit_text, editor_command, find_line, new_draft
from memtui.model import Memory, Place


@pytest.fixture(autouse=True)
def no_editor(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)


GUARD = ["--cmd", "set nomodeline"]


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("vim", ["vim", *GUARD, "+7", "/x y"]),
        ("/usr/bin/nvim -R", ["/usr/bin/nvim", "-R", *GUARD, "+7", "/x y"]),
        ("code --wait", ["code", "--wait", "--goto", "/x y:7"]),
        ("hx", ["hx", "/x y:7"]),
        ("/usr/bin/nano -l", ["/usr/bin/nano", "-l", "+7", "/x y"]),
    ],
)
def test_the_editor_is_called_without_a_shell(setting: str, expected: list[str]) -> None:
    assert editor_command(setting, "/x y", 7) == expected


@pytest.mark.parametrize("setting", ["code --wait", "hx", "nano"])
def test_without_a_line_the_file_is_the_last_argument(setting: str) -> None:
    assert editor_command(setting, "/x y") == [*setting.split(), "/x y"]


def test_the_setting_goes_before_the_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for configured in ("", "  "):
        assert editor_command(configured, "/x") == ["vi", "/x"]
    monkeypatch.setenv("EDITOR", "nano")
    assert editor_command("", "/x") == ["nano", "/x"]
    monkeypatch.setenv("VISUAL", "hx")
    assert editor_command("", "/x") == ["hx", "/x"]
    assert editor_command("micro", "/x") == ["micro", "/x"]
    with pytest.raises(SaveError, match=r"command line is broken.*check \$EDITOR"):
        editor_command("'nano", "/x")


def test_vi_is_guarded_where_it_is_vim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("vim.basic", "nvi"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "vi").symlink_to("nvi")
    assert editor_command("", "/x") == ["vi", "/x"]
    (tmp_path / "vi").unlink()
    (tmp_path / "vi").symlink_to("vim.basic")
    assert editor_command("", "/x") == ["vi", *GUARD, "/x"]


# ---- what an editor has left ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "left", "result"),
    [
        ("a", b"a", None),
        ("a", b"a\n", None),  # most editors add a final line feed
        ("a", b"a\n\n", "a\n"),
        ("a\n", b"a\n", None),
        ("a\n", b"a", "a"),
        ("a", b"b\n", "b"),
        ("a\n", b"b\n", "b\n"),
        ("a\udcff", b"b\xff", "b\udcff"),
    ],
)
def test_only_a_change_is_a_result(
    tmp_path: Path, text: str, left: bytes, result: str | None
) -> None:
    draft = new_draft(text, tmp_path)
    draft.path.write_bytes(left)
    assert draft.read_result() == result
    draft.discard()
    draft.discard()
    assert not draft.path.exists()


def test_bytes_that_the_text_did_not_have_are_refused(tmp_path: Path) -> None:
    draft = new_draft("a\udcff", tmp_path)
    draft.path.write_bytes(b"a\xff\xfe")
    with pytest.raises(SaveError, match="not UTF-8") as caught:
        draft.read_result()
    assert str(draft.path) in str(caught.value)


def test_a_draft_stays_when_its_save_fails_and_the_reason_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf new > "$1"\n')
    editor.chmod(0o755)
    folder = tmp_path / "state" / "drafts"
    for advice in ("", "do this"):
        with (
            pytest.raises(SaveError, match="why") as caught,
            edit_text("old", str(editor), tmp_path / "state"),
        ):
            raise Refused("why", where="there", do=advice)
        (draft,) = folder.iterdir()
        notice = f"the draft is kept in {draft}"
        assert caught.value.do == (f"{advice}; {notice}" if advice else notice)
        assert caught.value.where == "there"
        assert draft.read_text() == "new"
        draft.unlink()
    with edit_text("old", str(editor), tmp_path / "state") as left:
        assert left == "new"
    assert not list(folder.iterdir())


# ---- the line of a passage -----------------------------------------------------------------------


def memory(file: Path, line: int | None, content: str) -> Memory:
    return Memory("s:1", "1", "s", "document", content=content, origin=Place(str(file), line))


def test_of_equal_lines_the_one_nearest_to_the_passage_is_opened(tmp_path: Path) -> None:
    file = tmp_path / "log.md"
    file.write_text("the winch\n" + "\n" * 9 + "# Log\n\nthe winch\n\nx\n" + "\n" * 9 + "the winch")
    content = "# Log\n\nthe winch\n\nx"
    assert find_line(memory(file, 11, content), ("winch",)).line == 13
    assert find_line(memory(file, None, content), ("winch",)).line == 1
    assert find_line(memory(file, 14, content), ("winch",)).line == 25
    assert find_line(memory(file, 11, content), ("anchor",)).line == 11


@pytest.mark.parametrize(("extra", "line"), [(0, 3), (1, 1)])
def test_a_large_file_is_opened_at_its_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extra: int, line: int
) -> None:
    file, content = tmp_path / "log.md", "# Log\n\nthe winch"
    file.write_text(content)
    monkeypatch.setattr(drafts, "MAX_SEARCHED_BYTES", len(content) - extra)
    assert find_line(memory(file, 1, content), ("winch",)).line == line


def test_a_place_that_is_no_path_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = "# Log\n\nthe winch"
    (tmp_path / "log.md").write_text(content)
    monkeypatch.chdir(tmp_path)
    assert find_line(memory(Path("log.md"), 1, content), ("winch",)).line == 1


def test_a_draft_that_cannot_be_written_says_why(tmp_path: Path) -> None:
    (tmp_path / drafts.FOLDER).write_text("a file where the folder should be")
    with pytest.raises(SaveError, match="no draft can be written: ") as caught:
        new_draft("words", tmp_path)
    assert caught.value.where == str(tmp_path)
