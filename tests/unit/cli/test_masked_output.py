"""No command prints a secret unless it is asked to, and none writes a mask into a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memtui import paths, text
from memtui.cli.commands import COMMANDS
from memtui.context import RECIPES
from memtui.library import Library
from memtui.stores.format import Format
from memtui.testing.fixtures import root_of, sample
from tests.formats import ONE_OF_EACH_ENGINE
from tests.long_run import share
from tests.secrets_for_tests import PLANTED, TOKEN, files_with, is_shown, masks_in, plant, shown

WITHOUT_MEMORIES = {
    *("open", "demo", "export", "verify", "embed", "config", "extract", "sessions", "origin"),
    *("mcp", "serve", "team"),
}
"""They print no text of memories, ask a server (`extract`), or have tests of their own."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.parametrize("known", ONE_OF_EACH_ENGINE, ids=lambda known: known.name),
]


@pytest.fixture(autouse=True)
def masked() -> Iterator[None]:
    yield
    text.reveal_secrets(False)


class Planted:
    """A store with secrets, and the commands that print something of it."""

    def __init__(self, known: Format, folder: Path, state: Path) -> None:
        self.folder = folder / "store"
        sample(known, self.folder)
        self.root = root_of(known, self.folder)
        library = Library.open([self.root], state=state)
        library.load()
        self.refs = plant(library)
        self.other = next(
            (
                m.ref
                for m in library.memories(library.stores[0].label)
                if m.ref not in self.refs.values()
            ),
            "",
        )
        library.close()
        self.entity = ""
        self.bundle = folder / "all.memtui.zip"

    def commands(self) -> Iterator[tuple[str, ...]]:
        """Every command that prints texts of the whole store."""
        yield ("list", "--all")
        yield ("search", "password", "--all", "--explain")
        yield ("search", "reads packages Ada login", "--all")
        yield ("stats",)
        yield ("status",)
        yield ("watch", "--once")
        yield ("replace", "staging", "test", "--dry-run")
        yield ("check",)
        yield ("review",)
        yield ("log",)
        yield ("stores",)
        yield ("hot",)
        yield ("diff", "--since", "20y")
        yield ("diff", "--since", "20y", "--markdown")
        yield ("context",)
        yield ("review", "--hints", "--kind", "housekeeping")
        yield ("import", str(self.bundle), "--dry-run")
        yield ("add", f"CI uses {TOKEN}", "-e", "people/alice", "--dry-run")

    def commands_for_one(self) -> Iterator[tuple[str, ...]]:
        """Every recipe, and what is printed of a memory with each secret."""
        for recipe in RECIPES:
            yield ("context", recipe, "password", "vault", "--explain")
            yield ("context", recipe, "password", "--markdown")
        for ref in self.refs.values():
            yield ("show", ref)
            yield ("similar", ref)
            yield ("history", ref)
            yield ("links", ref)
            for form in ("text", "tree", "json"):
                yield ("traverse", ref, "--format", form)
            other = self.other or ref
            yield ("edit", ref, "--content", "Nothing of it is left", "--dry-run")
            yield ("edit", ref, "--title", "Another", "--dry-run")
            yield ("supersede", ref, "Nothing of it is left", "--dry-run")
            yield ("merge", ref, other, "--dry-run")
            for act in ("retire", "restore", "delete", "accept", "decline", "mark-reviewed", "pin"):
                yield (act, ref, "--dry-run")
            yield ("promote", ref, "--dry-run")
            yield ("rate", ref, "3", "--dry-run")
            yield ("link", ref, "about", other, "--dry-run")
            yield ("unlink", ref, "about", other, "--dry-run")


@pytest.fixture
def planted(known: Format, tmp_path: Path, call: Callable[..., int]) -> Planted:
    return Planted(known, tmp_path, tmp_path / "state")


_READ: dict[str, Planted] = {}
_FOLDERS: dict[str, Path] = {}


@pytest.fixture
def only_read(
    known: Format,
    own_places: None,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Planted:
    """One for all tests of this process that write nothing into it."""
    folder = _FOLDERS.setdefault(known.name, tmp_path_factory.mktemp("planted"))
    monkeypatch.setenv(paths.DATA_VARIABLE, str(folder / "data"))  # holds ids of a single file
    if known.name not in _READ:
        _READ[known.name] = Planted(known, folder, folder / "state")
    return _READ[known.name]


def test_no_command_prints_one(
    known: Format, planted: Planted, call: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("export", "-o", planted.bundle, "--store", planted.root) == 0
    every, of_one = list(planted.commands()), list(planted.commands_for_one())
    called = {"undo", "redo", *(command[0] for command in (*every, *of_one))}
    row = ONE_OF_EACH_ENGINE.index(known)
    calls = [(*command, *more) for command in every for more in ([], ["--json"])]
    calls_for_one = [(*command, *more) for command in of_one for more in ([], ["--json"])]
    # Each is called for one format in the usual run, a third of those of one secret: they
    # differ in their texts, and the masks are set where a command prints.
    formats = len(ONE_OF_EACH_ENGINE)
    for command in (*share(calls, row, formats), *share(calls_for_one, row, 3 * formats)):
        call(*command, "--store", planted.root)
        printed = "".join(capsys.readouterr())
        assert not shown(printed), (command, printed)
        assert "internal error" not in printed, command
    for command in ("undo", "redo"):
        call(command)
        assert not shown("".join(capsys.readouterr())), command
    assert called == COMMANDS.keys() - WITHOUT_MEMORIES


def test_they_are_printed_on_request(
    known: Format, only_read: Planted, call: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    for secret, ref in share([*only_read.refs.items()], ONE_OF_EACH_ENGINE.index(known), 3):
        for more in ([], ["--json"]):
            call("show", ref, *more, "--show-secrets", "--store", only_read.root)
            assert is_shown(secret, capsys.readouterr().out)
            call("show", ref, *more, "--store", only_read.root)
            assert not is_shown(secret, capsys.readouterr().out)


def test_an_export_is_whole_except_for_a_page(
    only_read: Planted, call: Callable[..., int], tmp_path: Path
) -> None:
    for form in ("bundle", "jsonl", "csv", "markdown", "html"):
        out = tmp_path / "out" / form
        out.parent.mkdir(exist_ok=True)
        assert call("export", "-o", out, "--format", form, "--store", only_read.root) == 0
        if form == "html":  # a page for others
            assert not shown(out.read_text("utf-8"))
            continue
        assert not masks_in(out.parent)
        if form != "bundle":  # that is compressed
            assert all(secret in out.read_text() for secret in only_read.refs), form


def test_a_secret_is_found_by_its_letters(
    only_read: Planted, call: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    secret = next(secret for secret in (TOKEN, *only_read.refs) if secret in only_read.refs)
    for _ in range(2):  # the second time its cache is used
        assert call("search", f'"{secret}"', "--json", "--store", only_read.root) == 0
        found = capsys.readouterr().out
        assert only_read.refs[secret] in found
        assert not shown(found)


def test_no_cache_has_one(only_read: Planted, call: Callable[..., int], tmp_path: Path) -> None:
    for command in ("list", "check", "review", "review", "stats"):
        call(command, "--store", only_read.root)
    for _ in range(2):
        call("search", "password", "--store", only_read.root)
    assert any(path.is_file() for path in (tmp_path / "cache").rglob("*"))
    for secret in PLANTED:
        assert not files_with(tmp_path / "cache", secret)
        words = secret.lower().encode()
        for path in (tmp_path / "cache").rglob("*"):
            assert not (path.is_file() and words in path.read_bytes().lower()), path
        in_state = files_with(tmp_path / "state", secret)
        assert all("journal.sqlite" in str(p) or "/kept/" in str(p) for p in in_state), in_state


def test_no_act_writes_a_mask(known: Format, planted: Planted, call: Callable[..., int]) -> None:
    at = ("--store", planted.root)
    for secret, ref in share([*planted.refs.items()], ONE_OF_EACH_ENGINE.index(known), 12):
        call("edit", ref, "--title", "Another title", *at)
        call("edit", ref, "--type", "note", *at)
        call("edit", ref, "--tag", "one", "--tag", "two", *at)
        call("pin", ref, *at)
        call("rate", ref, "4", *at)
        call("mark-reviewed", ref, *at)
        call("retire", ref, *at)
        call("restore", ref, *at)
        call("merge", ref, planted.other, *at)
        call("history", ref, "--restore", "1", *at)
        for _ in range(3):
            call("undo")
        call("redo")
        assert not masks_in(planted.folder), (secret, ref)
        assert files_with(planted.folder, secret.split("\n")[0]), secret
    call("review", "accept", "--all", "--kind", "cluster,duplicate", *at)
    assert not masks_in(planted.folder)


def test_a_masked_text_is_not_written_back(
    known: Format, only_read: Planted, call: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    for secret, ref in share([*only_read.refs.items()], ONE_OF_EACH_ENGINE.index(known), 3):
        masked = text.mask_secrets(PLANTED[secret])
        assert call("edit", ref, "--content", f"{masked}!", "--store", only_read.root) == 1
        assert "mask" in capsys.readouterr().err
    assert not masks_in(only_read.folder)
