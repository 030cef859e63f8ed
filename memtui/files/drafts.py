"""Drafts: texts that a person is writing, in files that survive a crash until they are saved.

A draft for the person's own editor is a file (0600) in memtui's own state folder (0700) with a
generated name, so that no title from a store becomes a path or an argument; no shell is involved.
It is removed only when its text was saved or was never changed.

A draft of a form is one JSON file (0600), written while the person types. The process that has the
form open holds a lock on it, so that a second memtui does not offer it; the kernel releases the
lock when the process ends, whatever the cause.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import secrets
import shlex
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, convert
from msgspec.structs import asdict, replace

from memtui.changes import Act
from memtui.errors import MemtuiError, SaveError
from memtui.files.reading import decode, encode
from memtui.model import Memory, Place
from memtui.paths import private_folder, write_new
from memtui.text import find_passage

FOLDER = "drafts"
DEFAULT = "vi"
_GOTO = frozenset({"code", "codium", "cursor", "windsurf"})
"""Editors that take `--goto file:line`."""
_COLON = frozenset({"hx", "helix", "subl", "zed", "micro"})
"""Editors that take `file:line`."""
_VIM = frozenset({"vim", "nvim", "gvim", "view", "vimdiff", "rvim", "rgvim", "gview", "evim"})
"""Modelines have run commands before (CVE-2016-1248, CVE-2019-12735): they are turned off."""
_STRAY = re.compile("[\ud800-\udfff]")
"""Bytes that are not UTF-8, as `decode` gives them."""


def editor_command(setting: str, file: str, line: int | None = None) -> list[str]:
    """Return the arguments that open a file at a line, with `setting`, $VISUAL, $EDITOR or vi.

    Raises SaveError when the editor's command line has an open quote.
    """
    configured = setting or os.environ.get("VISUAL") or os.environ.get("EDITOR") or DEFAULT
    try:
        words = shlex.split(configured) or [DEFAULT]
    except ValueError as error:
        raise SaveError(
            f"the editor's command line is broken: {error}", do="check $EDITOR"
        ) from None
    name = Path(words[0]).name
    if _is_vim(words[0]):
        words += ["--cmd", "set nomodeline"]
    if not line:
        return [*words, file]
    if name in _GOTO:
        return [*words, "--goto", f"{file}:{line}"]
    if name in _COLON:
        return [*words, f"{file}:{line}"]
    return [*words, f"+{line}", file]


def _is_vim(program: str) -> bool:
    """Whether the program is vim, also under the name of vi, which other editors have too."""
    found = shutil.which(program)
    names = {Path(program).name, Path(os.path.realpath(found)).name if found else ""}
    return any(name.partition(".")[0] in _VIM for name in names)


class EditorDraft(Struct, frozen=True):
    """A draft file that an editor works on."""

    path: Path
    text: str
    """The text before it was edited."""

    def read_result(self) -> str | None:
        """Return the edited text, or None when it is unchanged. Raises SaveError.

        A final newline that the editor added by itself is no change. Bytes that are not UTF-8 may
        stay where the text had them; new ones are refused, for only plain text could hold them.
        """
        try:
            data = self.path.read_bytes()
        except OSError:
            raise SaveError("the editor removed the draft; nothing was changed") from None
        left = decode(data)
        if {*_STRAY.findall(left)} - {*_STRAY.findall(self.text)}:
            raise SaveError("the editor saved text that is not UTF-8", do=self.kept_notice)
        if left.endswith("\n") and not self.text.endswith("\n"):
            left = left[:-1]
        return None if left == self.text else left

    @property
    def kept_notice(self) -> str:
        """A sentence for the person that names the draft."""
        return f"the draft is kept in {self.path}"

    def discard(self) -> None:
        self.path.unlink(missing_ok=True)


def new_draft(text: str, state: Path) -> EditorDraft:
    """Write the text to a new private file. Raises SaveError."""
    try:
        folder = private_folder(state / FOLDER)
        path = folder / f"draft-{secrets.token_hex(8)}.md"
        write_new(path, encode(text))
    except OSError as error:
        raise SaveError(f"no draft can be written: {error.strerror}", where=str(state)) from error
    return EditorDraft(path, text)


@contextmanager
def edit_text(text: str, setting: str, state: Path) -> Iterator[str | None]:
    """Run the editor and yield the edited text (None: unchanged), to be saved in the `with` block.

    Raises SaveError, naming the draft, when the editor or the block fails; the draft then stays.
    """
    draft = new_draft(text, state)
    try:
        done = subprocess.run(editor_command(setting, str(draft.path)), check=False)
    except OSError as error:
        draft.discard()
        raise SaveError(
            f"the editor cannot be started: {error.strerror}", do="set $EDITOR"
        ) from None
    except SaveError:
        draft.discard()
        raise
    if done.returncode:
        raise SaveError(
            f"the editor ended with status {done.returncode}; nothing was changed",
            do=draft.kept_notice,
        )
    left = draft.read_result()
    try:
        yield left
    except MemtuiError as error:
        do = f"{error.do}; {draft.kept_notice}" if error.do else draft.kept_notice
        raise SaveError(error.what, where=error.where, do=do) from error
    draft.discard()


MAX_SEARCHED_BYTES = 4_000_000
"""Larger files are opened at the line of the memory."""


def find_line(memory: Memory, words: Sequence[str]) -> Place:
    """The memory's place, at the line of the passage with most of these words.

    The file is read, because only in some formats a line of the content is a line of the file; in
    the others, and where the file has changed, the place stays as it is.
    """
    place = memory.origin
    passage = find_passage(memory.content, words) if words else None
    if passage is None:
        return place
    first_line = memory.content[passage.start : passage.end].split("\n", 1)[0].strip()
    try:
        file = Path(place.file)
        if not first_line or not file.is_absolute() or file.stat().st_size > MAX_SEARCHED_BYTES:
            return place
        lines = file.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return place
    first = (place.line or 1) - 1
    expected = first + passage.line
    found = [at for at in range(first, len(lines)) if first_line in lines[at]]
    if not found:
        return place
    return replace(place, line=min(found, key=lambda at: abs(at - expected)) + 1)


# ---- forms ---------------------------------------------------------------------------------------


MAX_DRAFT_BYTES = 64_000_000
"""A larger file is not a draft of memtui's."""


class FormDraft(Struct, frozen=True):
    """The subject of a form and its values."""

    act: Act
    root: str
    """Path of the store it writes to."""
    about: tuple[tuple[str, str], ...]
    """Store path and id of each memory it changes; empty for a new memory."""
    values: Mapping[str, str]
    """Field -> the value typed."""
    before: Mapping[str, str]
    """Field -> the value of the memory when the form was opened."""
    has_merged: bool = False
    """Both versions of a conflict were put into the text, which may mark them."""
    time: float = 0.0
    """Unix seconds when it was written."""


class DraftFile:
    """The draft file of one open form."""

    def __init__(self, path: Path, lock: int | None = None) -> None:
        self.path = path
        self._lock = lock
        self._is_discarded = False
        self._write_lock = threading.Lock()
        """`discard` is called in the worker that has saved."""

    def save(self, draft: FormDraft) -> None:
        """Write the draft, replacing the former one. Raises SaveError."""
        with self._write_lock:
            if self._is_discarded:
                return
            new_form_draft = self.path.with_suffix(".new")
            flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
            handle = -1
            try:
                private_folder(self.path.parent)
                handle = os.open(new_form_draft, flags, 0o600)
                with os.fdopen(os.dup(handle), "w", encoding="ascii") as file:
                    json.dump({**asdict(draft), "time": time.time()}, file)
                _lock(handle)  # before it gets its name, so that it is never seen unlocked
                os.replace(new_form_draft, self.path)
            except OSError as error:
                if handle >= 0:
                    os.close(handle)
                raise SaveError(
                    f"no draft can be kept: {error.strerror}", where=str(self.path.parent)
                ) from error
            self._unlock()
            self._lock = handle

    def keep(self, draft: FormDraft | None, *, last: bool = False) -> bool:
        """Save the draft, or delete it where the form has no changes; returns whether it has any.

        `last`: the app ends, so that another program may offer it. Raises SaveError.
        """
        if draft is None:
            self.clear()
            return False
        self.save(draft)
        if last:
            self.release()
        return True

    def discard(self) -> None:
        """Delete the draft for good, after a save or a discard: a later `save` does nothing."""
        with self._write_lock:
            self._is_discarded = True
            self.clear()

    def clear(self) -> None:
        """Delete the draft, since the form has no changes now."""
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)
        self._unlock()

    def release(self) -> None:
        """Release the lock and leave the draft, so that it may be offered."""
        with self._write_lock:
            self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def new_form_draft(state: Path) -> DraftFile:
    """Return the draft file of a form just opened; it is created by the first `save`."""
    return DraftFile(state / FOLDER / f"form-{secrets.token_hex(8)}.json")


def find_drafts(state: Path, roots: Sequence[Path]) -> list[tuple[Path, FormDraft]]:
    """Return the drafts of these stores that no running memtui has open, the latest first."""
    root_paths = set(map(str, roots))
    found = []
    for path in (state / FOLDER).glob("form-*.json"):
        file = claim(path)
        if file is not None:
            draft = _read_form(path)
            file.release()
            if draft is not None and draft.root in root_paths:
                found.append((path, draft))
    return sorted(found, key=lambda item: -item[1].time)


def claim(path: Path) -> DraftFile | None:
    """Lock an existing draft for a form; None when another memtui has it."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        _lock(handle)
        if os.path.samestat(os.fstat(handle), os.stat(path)):
            return DraftFile(path, handle)
    except OSError:
        pass
    os.close(handle)
    return None


def _lock(handle: int) -> None:
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _read_form(path: Path) -> FormDraft | None:
    try:
        if path.stat().st_size > MAX_DRAFT_BYTES:
            return None
        return convert(json.loads(path.read_bytes()), FormDraft)
    except (OSError, ValueError, RecursionError):
        return None
