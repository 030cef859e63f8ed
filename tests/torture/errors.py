"""T3, T21: the system refuses a call; the file is old, the person is told, nothing is left over."""

from __future__ import annotations

import ctypes
import errno
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memtui.changes import text_edit
from memtui.errors import Refused, SaveError, UnreadableFile
from memtui.files import save_hooks
from memtui.files.save_hooks import NullRecorder
from memtui.files.save_transaction import commit
from memtui.journal import ActionState, Journal
from tests.torture.cases import AGENT, AMBIENT, GONE, NEW, NOTE, Case
from tests.torture.kills import do, strangers
from tests.torture.processes import in_child

BEFORE = (
    ("lock", errno.ENOLCK),
    ("lock", errno.EACCES),
    ("temp", errno.EACCES),
    ("temp", errno.EROFS),
    ("temp", errno.ENOSPC),
    ("write", errno.ENOSPC),
    ("write", errno.EIO),
    ("write", errno.EDQUOT),
    ("owner", errno.EPERM),
    ("mode", errno.EPERM),
    ("xattrs", errno.ENOTSUP),
    ("xattrs", errno.ENOSPC),
    ("fsync", errno.EIO),
    ("fsync", errno.ENOSPC),
    ("check", errno.EIO),
    ("exchange", errno.EACCES),
    ("exchange", errno.EIO),
    ("look", errno.EIO),
    ("folder", errno.EIO),
)
"""Failing here, nothing may be saved."""

AFTER = (("keep", errno.ENOSPC), ("keep", errno.EACCES))
"""Failing here, the save has succeeded: only a former copy is missing."""

FALLBACK = (errno.ENOSYS, errno.EINVAL)
"""No exchange on this file system: the longer way is taken."""

SYSCALLS = (
    "fsync:error=EIO:when=1",
    "write,pwrite64:error=ENOSPC:when=9",
    "renameat2:error=EACCES:when=1",
    "flock:error=ENOLCK:when=1",
    "renameat2:signal=KILL:when=1",
    "fsync:signal=KILL:when=1",
)
"""What strace injects into a real process (only where strace is installed)."""


@contextmanager
def failing(point: str, code: int) -> Iterator[None]:
    """The first time a save reaches the point, the system refuses."""
    waiting = [point]

    def hook(reached: str) -> None:
        if reached in waiting:
            waiting.remove(reached)
            raise OSError(code, os.strerror(code))

    save_hooks.install(hook)
    try:
        yield
    finally:
        save_hooks.install(None)


def injected(folder: Path) -> str:
    """T3, in this process: every call of a save fails once, in every way that is likely."""
    count = 0
    for case in (AGENT, AMBIENT, NOTE, NEW, GONE):
        for point, code in BEFORE:
            count += _refused(folder / f"{case.name}-{point}-{code}", case, point, code)
        for point, code in AFTER:
            _still_saved(folder / f"{case.name}-{point}-{code}", case, point, code)
            count += 1
    for code in FALLBACK:
        _still_saved(folder / f"fallback-{code}", AGENT, "exchange", code)
        count += 1
    return f"T3 injected errors: {count} failures, 0 torn, 0 left over, every one reported"


def _prepared(place: Path, case: Case) -> Path:
    store = place / "store"
    store.mkdir(parents=True)
    case.make(store)
    for name in case.files:
        if (store / name).exists():
            os.setxattr(store / name, "user.memtui", b"kept")
            if os.geteuid() == 0:
                os.chown(store / name, 65534, 65534)
    return store


def _refused(place: Path, case: Case, point: str, code: int) -> int:
    store = _prepared(place, case)
    old, journal = case.contents(store), Journal(place / "state")
    do(journal, ())  # the journal itself is open and well
    edits = case.plan(store, random.Random(1))
    passed: list[str] = []
    with failing(point, code):
        try:
            do(journal, edits)
        except SaveError as error:
            passed.append(str(error))
    if not passed:  # this kind of save does not come by that point
        assert (case, point) in _NOT_REACHED, (case.name, point)
        return 0
    assert "\n" not in passed[0]
    assert case.contents(store) == old, f"{case.name}: {point} changed the file"
    assert not strangers(store, case.files), strangers(store, case.files)
    states = [action.state for action in journal.log()]
    assert states == [ActionState.VOID, ActionState.DONE], f"{case.name}: {point} {code}: {states}"
    do(journal, edits)  # and once the way is free, it works
    assert case.contents(store) != old
    journal.close()
    return 1


_NOT_REACHED = {
    *((NEW, point) for point in ("owner", "mode", "xattrs", "check", "look")),
    *((GONE, point) for point in ("temp", "write", "owner", "mode", "xattrs", "fsync")),
    *((case, "owner") for case in (AGENT, AMBIENT, NOTE) if os.geteuid() != 0),
}


def _still_saved(place: Path, case: Case, point: str, code: int) -> None:
    store = _prepared(place, case)
    old = case.contents(store)
    with failing(point, code):
        commit(case.plan(store, random.Random(1)), NullRecorder(place / "state"))
    assert case.contents(store) != old
    assert not strangers(store, case.files), strangers(store, case.files)


def no_permission(folder: Path) -> str:
    """T3, the kernel's own: a folder that may not be written, a file that may not be read."""
    store = _prepared(folder, NOTE)
    edits, old = NOTE.plan(store, random.Random(1)), NOTE.contents(store)
    path = store / NOTE.files[0]
    if os.geteuid() == 0:
        os.chown(path, 0, 0)
    store.chmod(0o555)

    def work() -> None:
        _drop_privileges()
        with pytest.raises(Refused, match="no write permission"):
            commit(edits, NullRecorder(folder / "state"))
        path.chmod(0)
        with pytest.raises(UnreadableFile, match="no permission to read"):
            commit(edits, NullRecorder(folder / "state"))

    assert in_child(work) == 0
    path.chmod(0o644)
    assert NOTE.contents(store) == old
    assert not strangers(store, NOTE.files)
    return "T3 no permission: reported, old file kept"


def _drop_privileges() -> None:
    """Give up root's right to pass over permissions (user 0 stays the owner of its files)."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # capability version 3, this process
    nothing = (ctypes.c_uint32 * 6)()
    assert libc.capset(header, nothing) == 0, os.strerror(ctypes.get_errno())


def size_limit(folder: Path) -> str:
    """T3, the kernel's own: a limit on file size strikes in the middle of a write."""
    store = _prepared(folder, NOTE)
    old = NOTE.contents(store)

    def work() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        sys.dont_write_bytecode = True  # half a compiled module would stay for all others
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
        with pytest.raises(SaveError, match="larger"):
            commit(NOTE.plan(store, random.Random(1)), NullRecorder(folder / "state"))

    assert in_child(work) == 0
    assert NOTE.contents(store) == old
    assert not strangers(store, NOTE.files)
    return "T3 file size limit: old file kept, reported"


def full_disk(folder: Path) -> str:
    """T3, the kernel's own: a disk of 256 KB fills up (where mounting is allowed)."""
    disk = folder / "disk"
    disk.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        return "T3 full disk: mounting is not allowed here; only injected"
    try:
        NOTE.make(disk)
        (disk / "ballast").write_bytes(b"x" * (256 * 1024 - 8 * 4096))
        path, saved, old, told = disk / NOTE.files[0], 0, NOTE.contents(disk), ""
        while not told:
            text = path.read_bytes().decode("utf-8", "surrogateescape")
            try:
                edit = text_edit(str(path), text, text + "x" * 3000)
                commit([edit], NullRecorder(folder / "state"))
                saved, old = saved + 1, NOTE.contents(disk)
            except SaveError as error:
                told = str(error)
        assert "full" in told
        assert NOTE.contents(disk) == old
        assert saved
        assert not strangers(disk, [*NOTE.files, "ballast"])
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    return f"T3 full disk: {saved} saves, then reported, old file kept"


def traced(folder: Path) -> str:
    """T3, by strace where it is installed: system calls of a real process fail or kill it."""
    strace, count = shutil.which("strace"), 0
    for specification in SYSCALLS if strace else ():
        place = folder / specification.replace(":", "_").replace(",", "_")
        store = place / "store"
        store.mkdir(parents=True)
        AGENT.make(store)
        path = store / "items.json"
        old = path.read_bytes()
        calls = specification.partition(":")[0]
        command = [str(strace), "-f", "--seccomp-bpf", "-qq", "-o", str(place / "trace")]
        command += ["-e", f"trace={calls}", "-e", f"inject={specification}"]
        command += [sys.executable, "-m", "tests.torture.one_edit", str(store)]
        ran = subprocess.run(
            [*command, str(place / "state")],
            capture_output=True,
            check=False,
        )
        now = path.read_bytes()
        assert ran.returncode != 0 or now != old, specification
        assert now == old or b"changed by one edit" in now, f"{specification}: torn"
        Journal(place / "state").recover()
        assert not strangers(store, AGENT.files), specification
        count += 1
    return f"T3 strace: {count} injected system calls, 0 torn" + ("" if strace else " (no strace)")


def order(folder: Path) -> str:
    """T21: the new content is on disk before it gets the name, the name before we say saved."""
    store = _prepared(folder, AGENT)
    path = store / "items.json"
    calls = _observed(
        lambda: commit(AGENT.plan(store, random.Random(3)), NullRecorder(folder / "s"))
    )
    size = path.stat().st_size
    names = [name for name, _ in calls]
    assert names == ["fsync file", "exchange", "fsync folder"], names
    assert calls[0][1] == str(size), "the file was synced before it was written"
    return "T21 order: content synced, then exchanged, then the folder synced, then reported"


def _observed(work: Callable[[], None]) -> list[tuple[str, str]]:
    """The system calls that matter for a power cut, as the save makes them."""
    import stat

    from memtui.files import atomic_replace

    calls: list[tuple[str, str]] = []
    fsync, call = os.fsync, atomic_replace._call

    def watched_fsync(descriptor: int) -> None:
        status = os.fstat(descriptor)
        kind = "fsync folder" if stat.S_ISDIR(status.st_mode) else "fsync file"
        calls.append((kind, str(status.st_size)))
        fsync(descriptor)

    def watched_call(old: Path, new: Path, flags: int) -> None:
        calls.append(("exchange", str(flags)))
        call(old, new, flags)

    os.fsync, atomic_replace._call = watched_fsync, watched_call
    try:
        work()
    finally:
        os.fsync, atomic_replace._call = fsync, call
    return calls
