"""A repository that a stranger made runs no program and writes nowhere else, whatever memtui does.

Most traps are proven live: a plain git runs them on a copy of the same repository.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.cli.main import run
from memtui.files import git_history, git_repository
from memtui.files.git_history import GitHistory
from memtui.library import Library, loaded_stores
from memtui.progress import Progress
from memtui.testing.fixtures import time_limit
from tests.long_run import is_long
from tests.torture.processes import has_ended

ID = "system/human.md"
NOTES = (ID, "system/persona.md", "reference/places.md")
FIRST, SECOND = "2026-05-01T10:00:00Z", "2026-05-03T10:00:00Z"


def plain_git(top: Path, *arguments: str, check: bool = True, **environ: str) -> str:
    """Run git as a person does, with the config of the repository."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        **{"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "LC_ALL": "C"},
        **{f"GIT_{who}_{what}": "ada@x" for who in ("AUTHOR", "COMMITTER") for what in WHO},
        **{"GIT_AUTHOR_DATE": FIRST, "GIT_COMMITTER_DATE": FIRST, "HOME": str(top.parent)},
        **environ,
    }
    command = ["git", "-c", "maintenance.auto=false", *arguments]  # nothing in the background
    done = subprocess.run(command, cwd=top, env=environment, capture_output=True, check=False)
    assert not (check and done.returncode), (command, done.stderr)
    return done.stdout.decode(errors="replace").strip()


WHO = ("NAME", "EMAIL")


def write(top: Path, name: str, text: str) -> None:
    file = top / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\ndescription: a note\n---\n\n{text}\n")


def memory_folder(top: Path) -> Path:
    """A memory of Letta with two commits."""
    top.mkdir(parents=True)
    plain_git(top, "init", "-q", "-b", "main")
    for at, text in ((FIRST, "She has one boat."), (SECOND, "She has two boats.")):
        for name in NOTES:
            write(top, name, f"{text} {name}")
        plain_git(top, "add", ".")
        plain_git(top, "commit", "-qm", text, GIT_AUTHOR_DATE=at, GIT_COMMITTER_DATE=at)
    return top


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return memory_folder(tmp_path_factory.mktemp("repository") / "memfs")


@pytest.fixture
def top(made_once: Path, own_places: None, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made_once, tmp_path / "memfs"))


def opened(top: Path) -> Library:
    library = Library.open([top], state=top.parent / "state")
    library.load()
    return library


def edit(library: Library, text: str, id: str = ID) -> tuple[str, ...]:
    """Append to a note; the warnings."""
    (store,) = library.stores
    ref = f"{store.label}:{id}"
    fields = {"content": f"{library.get(ref).content.rstrip()} {text}"}
    change = Change(Act.EDIT, store.label, ref, fields)
    return library.apply(library.plan([change])).warnings


def do_everything(top: Path) -> list[str]:
    """Everything that uses git, in this process and by commands; why commits were refused."""
    warnings: list[str] = []
    library = opened(top)
    warnings += edit(library, "She sings.")
    warnings += library.undo().warnings
    label = library.stores[0].label
    fields = {"content": "Fog.", "title": "Weather", "entity": "towns"}
    warnings += library.apply(library.plan([Change(Act.ADD, label, "", fields)])).warnings
    delete = [Change(Act.DELETE, label, f"{label}:reference/places.md")]
    warnings += library.apply(library.plan(delete)).warnings
    for words in (
        ["edit", ID, "--content", "She has three boats."],
        ["history", ID],
        ["list", "--as-of", "2026-05-02"],
        ["review", "--kind", "merged-branch", "--clone", str(top)],
    ):
        run([*words, "--store", str(top)])
    return warnings


# ---- traps ---------------------------------------------------------------------------------------


def script(top: Path, body: str = "exit 1") -> Path:
    """A program that leaves a mark."""
    file = top.parent / "trap"
    file.write_text(f"#!/bin/sh\ntouch {marked(top)}\n{body}\n")
    file.chmod(0o755)
    return file


def marked(top: Path) -> Path:
    return top.parent / "RAN"


def configure(top: Path, *pairs: str) -> None:
    for key, value in zip(pairs[::2], pairs[1::2], strict=True):
        plain_git(top, "config", key, value)


def remove_object(top: Path, name: str) -> None:
    """Remove a loose object, as a partial clone lacks it."""
    hash = plain_git(top, "rev-parse", name)
    (top / ".git" / "objects" / hash[:2] / hash[2:]).unlink()


def promised(top: Path, lacking: str, *pairs: str) -> None:
    """A partial clone that lacks an object and names a remote that has it."""
    if not (origin := top.parent / "origin").exists():
        shutil.copytree(top, origin)
    configure(
        top, "core.repositoryFormatVersion", "1", "extensions.partialClone", "origin",
        "remote.origin.promisor", "true", "remote.origin.url", str(origin), *pairs,
    )  # fmt: skip
    remove_object(top, lacking)


def upload_pack(lacking: str) -> Callable[[Path], None]:
    def arm(top: Path) -> None:
        promised(top, lacking, "remote.origin.uploadpack", f"touch {marked(top)}; git-upload-pack")

    return arm


def ssh_command(top: Path) -> None:
    promised(
        top, "HEAD^{tree}", "remote.origin.url", "ssh://nowhere/x",
        "core.sshCommand", str(script(top)),
    )  # fmt: skip


def external_protocol(top: Path) -> None:
    promised(
        top, "HEAD^{tree}", "remote.origin.url", f"ext::{script(top)}", "protocol.ext.allow",
        "always",
    )  # fmt: skip


def rewritten_url(top: Path) -> None:
    promised(
        top, "HEAD^{tree}", "remote.origin.url", "safe:x",
        f"url.ext::{script(top)}.insteadOf", "safe:x", "protocol.ext.allow", "always",
    )  # fmt: skip


def replaced(top: Path) -> None:
    """The tree is replaced by one that only the remote has."""
    write(top, "other.md", "Other.")
    plain_git(top, "add", "other.md")
    tree = plain_git(top, "write-tree")
    plain_git(top, "rm", "-qf", "other.md")
    plain_git(top, "replace", plain_git(top, "rev-parse", "HEAD^{tree}"), tree)
    uploads = f"touch {marked(top)}; git-upload-pack"
    promised(top, tree, "remote.origin.uploadpack", uploads)


def grafted(top: Path) -> None:
    """The commit has a parent that only the remote has."""
    uploads = f"touch {marked(top)}; git-upload-pack"
    parent = plain_git(top, "commit-tree", "HEAD^{tree}", "-m", "x")
    head = plain_git(top, "rev-parse", "HEAD")
    (top / ".git" / "info" / "grafts").write_text(f"{head} {parent}\n")
    promised(top, parent, "remote.origin.uploadpack", uploads)


def filters(*where: str) -> Callable[[Path], None]:
    def arm(top: Path) -> None:
        trap = str(script(top, "cat"))
        configure(top, "filter.x.clean", trap, "filter.x.smudge", trap)
        top.joinpath(*where).write_text("*.md filter=x\n")

    return arm


def filter_process(top: Path) -> None:
    configure(top, "filter.x.process", str(script(top)))
    (top / ".gitattributes").write_text("*.md filter=x\n")


HOOKS = (
    *("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-index-change"),
    *("reference-transaction", "pre-auto-gc", "post-checkout", "post-merge", "update"),
)


def hooks(*where: str) -> Callable[[Path], None]:
    def arm(top: Path) -> None:
        trap = script(top, "exit 0")
        folder = top.joinpath(*where)
        folder.mkdir(exist_ok=True)
        for name in HOOKS:
            shutil.copy(trap, folder / name)
        if where[0] != ".git":
            configure(top, "core.hooksPath", str(folder))

    return arm


def setting(*keys: str, also: Sequence[str] = ()) -> Callable[[Path], None]:
    def arm(top: Path) -> None:
        trap = str(script(top))
        configure(top, *(word for key in keys for word in (key, trap)), *also)

    return arm


def attribute(attribute: str, *keys: str) -> Callable[[Path], None]:
    def arm(top: Path) -> None:
        setting(*keys)(top)
        (top / ".gitattributes").write_text(f"* {attribute}\n")

    return arm


def signed(top: Path) -> None:
    setting("gpg.program", also=("log.showSignature", "true", "commit.gpgSign", "true"))(top)
    plain = plain_git(top, "cat-file", "commit", "HEAD")
    head, _, message = plain.partition("\n\n")
    seal = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"
    (top.parent / "commit").write_text(f"{head}\n{seal}\n\n{message}\n")
    file = str(top.parent / "commit")
    plain_git(
        top, "update-ref", "HEAD", plain_git(top, "hash-object", "-wt", "commit", file), check=True
    )


def included(key: str) -> Callable[[Path], None]:
    def arm(top: Path) -> None:
        (top.parent / "more").write_text(f"[core]\n\tfsmonitor = {script(top)}\n")
        configure(top, key, str(top.parent / "more"))

    return arm


def work_tree_config(top: Path) -> None:
    configure(top, "core.repositoryFormatVersion", "1", "extensions.worktreeConfig", "true")
    plain_git(top, "config", "--worktree", "core.fsmonitor", str(script(top)))


def aliases(top: Path) -> None:
    names = ("x", "log", "config", "commit-tree", "update-ref", "read-tree", "hash-object")
    configure(top, *(word for name in names for word in (f"alias.{name}", f"!{script(top)}")))


def alternates(top: Path) -> None:
    other = memory_folder(top.parent / "other")
    (top / ".git" / "objects" / "info" / "alternates").write_text(f"{other}/.git/objects\n")
    configure(top, "core.alternateRefsCommand", str(script(top)))


Spring = tuple[str, ...] | None
STATUS: Spring = ("status",)
COMMIT: Spring = ("commit", "-qam", "x", "--allow-empty")
TREE: Spring = ("ls-tree", "-r", "HEAD")
ADD: Spring = ("add", "--renormalize", ".")
TRAPS: dict[str, tuple[Callable[[Path], None], Spring]] = {
    "upload-pack, no tree": (upload_pack("HEAD^{tree}"), TREE),
    "upload-pack, no inner tree": (upload_pack("HEAD:reference"), TREE),
    "upload-pack, no old tree": (upload_pack("HEAD~1^{tree}"), ("log", "-p")),
    "upload-pack, no blob": (upload_pack(f"HEAD:{NOTES[1]}"), ("log", "-p")),
    "upload-pack, no old blob": (upload_pack(f"HEAD~1:{ID}"), ("log", "-p")),
    "upload-pack, no commit": (upload_pack("HEAD"), ("log",)),
    "upload-pack, no parent": (upload_pack("HEAD~1"), None),
    "upload-pack, replaced": (replaced, TREE),
    "upload-pack, grafted": (grafted, None),
    "ssh command": (ssh_command, TREE),
    "ext protocol": (external_protocol, TREE),
    "rewritten url": (rewritten_url, TREE),
    "filters": (filters(".gitattributes"), ADD),
    "filters, own attributes": (filters(".git", "info", "attributes"), ADD),
    "filter process": (filter_process, ADD),
    "hooks": (hooks(".git", "hooks"), COMMIT),
    "hooks path": (hooks("elsewhere"), COMMIT),
    "file monitor": (setting("core.fsmonitor"), STATUS),
    "external diff": (setting("diff.external"), ("diff", "HEAD~1")),
    "diff driver": (attribute("diff=x", "diff.x.command"), ("diff", "HEAD~1")),
    "text converter": (attribute("diff=x", "diff.x.textconv"), ("log", "-p")),
    "merge driver": (attribute("merge=x", "merge.x.driver"), None),
    "signature": (signed, ("log",)),
    "include": (included("include.path"), STATUS),
    "conditional include": (included("includeIf.gitdir:/**.path"), STATUS),
    "work tree config": (work_tree_config, STATUS),
    "aliases": (aliases, ("x",)),
    "alternates": (alternates, None),
    "pager": (setting("core.pager", "pager.log", "pager.config"), None),
    "editor": (setting("core.editor", "sequence.editor"), ("commit", "--amend")),
    "credentials": (setting("credential.helper", "core.askPass", "core.gitProxy"), None),
}  # fmt: skip
REFUSED = {"no tree", "no inner tree", "no commit", "replaced"}
"""Without these objects nothing can be committed; others are not needed, or not missing."""


TOGETHER = (
    (
        *("hooks", "file monitor", "external diff", "text converter"),
        *("aliases", "pager", "editor", "credentials"),
    ),
    ("hooks path", "diff driver", "conditional include"),
    ("merge driver", "include", "work tree config", "alternates"),
    ("filters, own attributes", "signature"),
)
"""Settings that one repository can have; in the long run each has its own."""
ALONE = [(name,) for name in TRAPS if is_long() or not any(name in each for each in TOGETHER)]


@pytest.mark.slow
@pytest.mark.parametrize("names", [*ALONE, *(() if is_long() else TOGETHER)], ids=", ".join)
def test_nothing_that_a_repository_names_is_run(
    made_once: Path, top: Path, names: Sequence[str], capsys: pytest.CaptureFixture[str]
) -> None:
    mark = marked(top)
    for arm, spring in (TRAPS[name] for name in names):
        if spring is not None:
            copy = Path(shutil.copytree(made_once, top.parent / "copy"))
            arm(copy)
            plain_git(copy, *spring, check=False)
            assert mark.exists(), "the trap is no trap"
            mark.unlink()
            shutil.rmtree(copy)
        arm(top)
    mark.unlink(missing_ok=True)
    warnings = do_everything(top)
    assert not mark.exists()
    kind = names[0].removeprefix("upload-pack, ")
    lacks = kind in REFUSED or kind in ("ssh command", "ext protocol", "rewritten url")
    said = capsys.readouterr().err
    if lacks:
        assert len(warnings) == 4
        assert all("written but not committed: " in words for words in warnings)
        assert "written but not committed: " in said
    else:
        assert warnings == []
        assert "not committed" not in said
        subjects = plain_git(top, "log", "--format=%an %s", "-5", check=False).split("\n")
        assert subjects.count(f"memtui memtui: {ID}") == 3
        assert f"memtui memtui: {NOTES[2]}" in subjects


def test_a_git_in_the_current_folder_is_not_run(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(script(top), top / "git")
    monkeypatch.chdir(top)
    monkeypatch.setenv("PATH", f":.:{os.environ['PATH']}")
    assert edit(opened(top), "She sings.") == ()
    assert not marked(top).exists()


@pytest.mark.slow
def test_variables_of_a_hook_that_memtui_was_started_from_are_not_passed_on(
    top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = str(script(top))
    for name, value in {
        "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": trap,
        "GIT_EXTERNAL_DIFF": trap, "GIT_SSH_COMMAND": trap, "GIT_PAGER": trap,
        "GIT_INDEX_FILE": str(top.parent / "index"), "GIT_DIR": str(top.parent / "none"),
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    library = opened(top)
    assert edit(library, "She sings.") == ()
    assert len(library.history(library.get(f"{library.stores[0].label}:{ID}")).versions) >= 3
    assert not marked(top).exists()
    assert not (top.parent / "index").exists()
    assert plain_git(top, "status", "--porcelain") == ""


# ---- writing elsewhere ---------------------------------------------------------------------------


def linked(name: str) -> Callable[[Path, Path], None]:
    def arm(top: Path, other: Path) -> None:
        path = top / ".git" / name
        path.parent.mkdir(exist_ok=True)
        target = other / ".git" / name
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        path.symlink_to(target)

    return arm


def git_file(top: Path, other: Path) -> None:
    shutil.rmtree(top / ".git")
    (top / ".git").write_text(f"gitdir: {other}/.git\n")


def work_tree_of_another(top: Path, other: Path) -> None:
    plain_git(other, "worktree", "add", "-q", "-b", "w", str(other.parent / "w"))
    shutil.rmtree(top / ".git")
    shutil.copy(other.parent / "w" / ".git", top / ".git")


def common_folder(top: Path, other: Path) -> None:
    (top / ".git" / "commondir").write_text(f"{other}/.git\n")


def whole_link(top: Path, other: Path) -> None:
    shutil.rmtree(top / ".git")
    (top / ".git").symlink_to(other / ".git")


AWAY: dict[str, Callable[[Path, Path], None]] = {
    **{name: linked(name) for name in ("objects", "refs", "refs/heads", "logs", "logs/HEAD")},
    **{name: linked(name) for name in ("objects/ab", "logs/refs/heads/main", "index")},
    "a .git file": git_file,
    "another's work tree": work_tree_of_another,
    "commondir": common_folder,
    ".git": whole_link,
}


@pytest.mark.parametrize("name", AWAY)
def test_nothing_is_written_into_another_repository(
    made_once: Path, top: Path, tmp_path: Path, name: str
) -> None:
    other = Path(shutil.copytree(made_once, tmp_path / "home" / "other"))
    AWAY[name](top, other)

    def content() -> dict[str, bytes]:
        return {str(p): p.read_bytes() for p in sorted(tmp_path.glob("home/**/*")) if p.is_file()}

    before = content()
    (warning,) = edit(opened(top), "She sings.")
    assert "written but not committed: " in warning
    assert content() == before


@pytest.mark.parametrize("name", ["HEAD", "config", "commondir", "refs/heads/main", "index"])
def test_a_pipe_in_a_repository_does_not_hang(
    top: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_repository, "SECONDS", 0.5)
    file = top / ".git" / name
    file.unlink(missing_ok=True)
    os.mkfifo(file)
    (warning,) = edit(opened(top), "She sings.")
    assert "written but not committed: " in warning
    assert list((top / ".git").rglob("*.lock")) == [], "a lock would keep the folder's program out"


@pytest.mark.parametrize(
    "name", ["HEAD", "config", "refs/heads/main", "packed-refs", "shallow", "index"]
)
def test_a_pipe_in_a_repository_does_not_delay_the_rows(
    top: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loaded_stores, "GIT_SECONDS", 1000.0)
    monkeypatch.setattr(git_history, "TIME_LIMIT", 1000.0)
    file = top / ".git" / name
    file.unlink(missing_ok=True)
    os.mkfifo(file)
    with time_limit(60):
        library = opened(top)
        label = library.stores[0].label
        library.history(library.get(f"{label}:{ID}"))
    assert len(library.memories(label)) == len(NOTES)


def test_rows_are_there_before_git_is_asked_and_all_stores_share_its_time(
    top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, asked = tmp_path / "bin" / "git", tmp_path / "asked"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho >> {asked}\nsleep 1000\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(loaded_stores, "GIT_SECONDS", 0.5)
    others = [Path(shutil.copytree(top, top.parent / f"other{n}")) for n in range(5)]
    library = Library.open([top, *others], state=tmp_path / "state")
    seen: list[int] = []

    def report(progress: Progress) -> None:
        if progress.what.startswith("dating"):
            seen.append(sum(len(library.memories(store.label)) for store in library.stores))

    with time_limit(60):
        library.load(report)
    assert set(seen) == {6 * len(NOTES)}
    # No time is left for the others; a busy machine may end the first one before it has written.
    assert not asked.exists() or asked.read_text().count("\n") == 1, (
        "no time is left for the others"
    )


def endless(index: Path) -> None:
    index.symlink_to("/dev/zero")


def sparse(index: Path) -> None:
    with index.open("wb") as file:
        file.truncate(1 << 40)


@pytest.mark.parametrize("make", [endless, sparse])
def test_an_endless_index_is_not_copied(
    top: Path, make: Callable[[Path], None], tmp_path: Path
) -> None:
    index = top / ".git" / "index"
    index.unlink()
    make(index)
    with time_limit(60):
        opened(top)
    history = GitHistory.of(top, seconds=1000.0)
    assert history is not None
    assert history.last_changes(top) == {}
    assert history.left_out in ("index: it is a device, not a file", TOO_LARGE)


TOO_LARGE = f"index: it is larger than {git_repository.LARGEST_INDEX >> 20} MiB"


def test_what_git_prints_is_bounded(
    top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexec yes\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(git_repository, "LARGEST_OUTPUT", 1 << 20)
    history = GitHistory.of(top, seconds=1000.0)
    assert history is not None
    with time_limit(60):
        assert list(history.versions(top / ID)) == []
    assert history.left_out == "git printed more than 1 MiB"


def test_a_commit_with_an_endless_author_costs_no_memory(
    top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, parent = plain_git(top, "write-tree"), plain_git(top, "rev-parse", "HEAD")
    name = "a" * (3 << 20)
    who = f"{name} <a@x> 1700000000 +0000"
    commit = tmp_path / "commit"
    commit.write_text(f"tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n\nx\n")
    hash = plain_git(top, "hash-object", "-t", "commit", "-w", "--literally", str(commit))
    plain_git(top, "update-ref", "HEAD", hash)
    monkeypatch.setattr(git_repository, "LARGEST_OUTPUT", 1 << 20)
    history = GitHistory.of(top, seconds=1000.0)
    assert history is not None
    assert list(history.versions(top / ID)) == []
    assert "over limit" in history.left_out


@pytest.mark.parametrize("content", ["", "x", "gitdir:", "gitdir: \0x", "gitdir: ."])
@pytest.mark.parametrize("name", [".git", ".git/commondir", ".git/HEAD", ".git/config"])
def test_a_repository_of_nonsense_is_refused_with_a_line(
    top: Path, name: str, content: str
) -> None:
    if name == ".git":
        shutil.rmtree(top / ".git")
    (top / name).write_text(content)
    library = opened(top)
    warnings = edit(library, "She sings.")
    assert library.history(library.get(f"{library.stores[0].label}:{ID}")).versions
    if name != ".git/config":  # of which some is valid
        (warning,) = warnings
        assert "written but not committed: " in warning


def test_a_git_that_hangs_is_ended_with_what_it_started(
    top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nsleep 1000 & echo $! > {tmp_path}/child\nwait\n")
    program.chmod(0o755)
    library = opened(top)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    child = tmp_path / "child"
    child.touch()
    for seconds in (0.5, 5.0, 50.0):  # a busy machine may not begin it at once
        monkeypatch.setattr(git_repository, "SECONDS", seconds)
        (warning,) = edit(library, f"She sings for {seconds} hours.")
        assert warning.endswith(f"not committed: git took longer than {seconds:g} seconds")
        if child.read_text():
            break
    assert has_ended(int(child.read_text()))
