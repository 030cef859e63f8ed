"""`merge`, `rate`, `review`, `accept`, `decline`: what the screen has keys for, as commands."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from memtui.cli.main import run
from memtui.testing.fixtures import contents
from tests.printed_rows import printed_rows
from tests.samples import SAMPLES


class Shell:
    """Runs commands on one copy of a sample store."""

    def __init__(self, root: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.root, self._capture = root, capture

    def __call__(self, command: str, *arguments: str) -> tuple[int, str, str]:
        self._capture.readouterr()
        code = run([command, *arguments, "--store", str(self.root)])
        out, err = self._capture.readouterr()
        return code, out, err

    def json(self, command: str, *arguments: str) -> Any:
        code, out, err = self(command, *arguments, "--json")
        assert code == 0, err
        return printed_rows(out)

    def some(self, *filters: str) -> list[str]:
        return [record["ref"] for record in self.json("list", "--limit", "3", *filters)]

    def undo(self) -> None:
        assert run(["undo"]) == 0

    def files(self) -> dict[str, bytes]:
        return contents(self.root)


@pytest.fixture
def shell(
    request: pytest.FixtureRequest,
    own_places: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Shell:
    monkeypatch.setenv("HOME", str(tmp_path))
    root = tmp_path / str(request.param)
    shutil.copytree(SAMPLES / str(request.param), root)
    return Shell(root, capsys)


def on(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("shell", names, indirect=True)


@pytest.mark.slow
@on("agent-memory", "ambient")
def test_merge_keeps_the_first_and_the_others_as_history(shell: Shell) -> None:
    entity = shell.json("show", shell.some()[0])["entity"]
    keeper, other, *_ = shell.some("--entity", entity)
    before = shell.files()
    code, out, _ = shell("merge", keeper, other, "--content", "both in one", "--dry-run")
    assert code == 0
    assert "both in one" in out
    assert '"set"' not in out, "memtui's own notes are told in words"
    assert shell.files() == before
    (plan,) = shell.json("merge", keeper, other, "--content", "both in one")
    assert (plan["done"], plan["supersedes"]) == (True, [other])
    assert shell.json("show", keeper)["content"] == "both in one"
    assert shell.json("show", other)["status"] in ("superseded", "retired")
    shell.undo()
    assert shell.json("show", other)["status"] == "active"


@pytest.mark.slow
@on("agent-memory")
def test_what_memtui_alone_will_remember_is_told_in_words(shell: Shell) -> None:
    entity = shell.json("show", shell.some()[0])["entity"]
    one, other, *_ = shell.some("--entity", entity)
    titles = {ref: shell.json("show", ref)["content"][:40] for ref in (one, other)}
    for act, words in [
        (("pin", one), f"+\u201c{titles[one]}"),
        (("pin", one), "\u201d is pinned"),
        (("link", one, "depends_on", other), f"\u201d depends_on \u201c{titles[other]}"),
    ]:
        out = shell(*act, "--dry-run")[1]
        assert words in out
        assert "/.memtui/sidecar.jsonl" in out
    shell("pin", one)
    assert "-\u201c" in shell("pin", one, "--off", "--dry-run")[1]


@pytest.mark.slow
@on("agent-memory")
def test_merge_refuses_what_is_no_two_memories_of_one_store(shell: Shell, tmp_path: Path) -> None:
    (keeper, *_) = shell.some()
    code, _, err = shell("merge", keeper, keeper)
    assert (code, "nothing to merge it with" in err) == (1, True)
    shutil.copytree(SAMPLES / "ambient", tmp_path / "ambient")
    elsewhere = Shell(tmp_path / "ambient", shell._capture).some()[0]
    code, _, err = shell("merge", keeper, elsewhere, "--store", str(tmp_path / "ambient"))
    assert (code, "different stores" in err) == (1, True)
    assert shell("merge", keeper)[0] == 2


@pytest.mark.slow
@on("ambient")
def test_rate_sets_a_rating_and_takes_it_away(shell: Shell) -> None:
    (ref, *_) = shell.some()
    code, out, _ = shell("rate", ref, "4", "--dry-run")
    kept = "Only memtui keeps this; nothing changes for Ambient"
    assert (code, out.splitlines()[:2]) == (0, [kept, f"DONE {ref}"])
    assert "rating" not in shell.json("show", ref)["extra"]
    assert shell("rate", ref, "4")[:2] == (0, f"DONE {ref}\n{kept}\n")
    assert shell.json("show", ref)["extra"]["rating"] == 4
    assert shell("rate", ref, "4")[1] == f"NOTHING {ref}: it is so already\n"
    assert shell.json("rate", ref, "none")[0]["done"] is True
    assert "rating" not in shell.json("show", ref)["extra"]
    assert shell("rate", ref, "6")[0] == 2


@pytest.mark.slow
@on("engram")
def test_what_a_store_has_no_way_to_do_is_refused(shell: Shell) -> None:
    one, two, *_ = shell.some("--kind", "observation")
    for arguments, why in (
        (("rate", one, "4"), "Engram has no ratings"),
        (("merge", one, two), "Engram cannot merge"),
        (("accept", one), "Engram has no proposals"),
        (("decline", one), "Engram has no proposals"),
    ):
        code, _, err = shell(*arguments)
        assert (code, why in err) == (1, True)


@pytest.mark.slow
@on("agent-memory")
def test_review_notes_the_date(shell: Shell) -> None:
    (ref, *_) = shell.some()
    (plan,) = shell.json("mark-reviewed", ref)
    assert (plan["outcome"], plan["done"]) == ("DONE", True)
    assert shell.json("show", ref)["extra"]["reviewed"].startswith("20")
    shell.undo()
    assert "reviewed" not in shell.json("show", ref)["extra"]


@pytest.mark.slow
@on("simple-memory")
def test_a_proposal_is_accepted_or_declined(shell: Shell) -> None:
    one, two, *_ = shell.some("--status", "proposed")
    before = shell.files()
    assert shell("decline", one, "--dry-run")[0] == 0
    assert shell.files() == before
    code, out, _ = shell("accept", one, "--content", "agreed, in other words")
    assert (code, out.splitlines()[0]) == (0, f"DONE {one}")
    accepted = shell.json("show", one)
    assert (accepted["status"], accepted["content"]) == ("active", "agreed, in other words")
    code, _, err = shell("accept", one)
    assert (code, "it is not a proposal" in err) == (1, True)
    assert shell.json("decline", two)[0]["done"] is True
    assert shell.json("show", two)["status"] == "retired"
    assert shell("restore", two)[0] == 0
    assert shell.json("show", two)["status"] == "active"
    for _ in range(3):
        shell.undo()
    assert shell.files() == before
