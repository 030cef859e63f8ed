"""Find a secret in what memtui keeps of its own, and erase it there: journal, backups, caches."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from memtui.files.locking import locked
from memtui.files.sidecar_lines import KEPT_FOLDER, SIDECAR_SUFFIX
from memtui.files.text_history import FILE as HISTORY
from memtui.files.text_history import TextHistory
from memtui.journal.action import JournalAction
from memtui.journal.database import FILE
from memtui.journal.journal import Journal
from memtui.paths import write_private
from memtui.text.secrets import list_secrets

_EVERY = 1 << 31
"""More actions than a journal has."""
_UNMISTAKABLE = 6
"""Length of a secret from which it is looked for as it is."""
_ERASED = ("kept", "proposals")
"""Folders below the state folder whose files are erased: backups of replaced files, and what agents
proposed."""


class OwnCopies(Struct, frozen=True):
    """Where memtui itself still has a secret."""

    actions: tuple[int, ...] = ()
    """Changes in the journal, which cannot be undone once they are erased."""
    files: tuple[Path, ...] = ()
    """Backups, proposals of agents, and caches."""
    texts: tuple[int, ...] = ()
    """Texts in the history of what other programs changed."""
    kept: tuple[tuple[Path, str], ...] = ()
    """Lines of texts that were taken out of stores, each with its file."""
    others: tuple[Path, ...] = ()
    """Files that are not erased, since they hold what a person has typed: drafts, searches."""

    def __bool__(self) -> bool:
        return bool(self.actions or self.files or self.texts or self.kept)


def find_copies(journal: Journal, cache: Path | None, secrets: Collection[str]) -> OwnCopies:
    """Find secrets in the journal, in the files of its state folder, and in a cache folder.

    Raises SaveError if the journal cannot be read.
    """
    actions = tuple(
        action.id for action in journal.log(_EVERY) if _holds(_texts(journal, action), secrets)
    )
    files: list[Path] = []
    others: list[Path] = []
    kept: list[tuple[Path, str]] = []
    for file in _files(journal.state):
        if file.parent == journal.state / KEPT_FOLDER and file.suffix == SIDECAR_SUFFIX:
            kept += [(file, line) for line in _lines(file) if _has(line, secrets)]
        elif not file.name.startswith((FILE, HISTORY)) and _has_secret(file, secrets):
            is_own = file.relative_to(journal.state).parts[0] in _ERASED
            (files if is_own else others).append(file)
    if cache is not None:
        files += [file for file in _files(cache) if _has_secret(file, secrets)]
    texts = TextHistory(journal.state).find_texts(lambda text: _has(text, secrets))
    return OwnCopies(actions, tuple(files), tuple(texts), tuple(kept), tuple(others))


def purge(journal: Journal, copies: OwnCopies) -> None:
    """Erase what was found. Raises SaveError, OSError."""
    journal.forget(copies.actions)
    TextHistory(journal.state).erase(copies.texts)
    for file in copies.files:
        file.unlink(missing_ok=True)
    for file in {file for file, _ in copies.kept}:
        erased = {line for of, line in copies.kept if of == file}
        with locked(file, journal.state):
            left = [line for line in _lines(file) if line not in erased]
            if any(left):
                write_private(file, "\n".join(left))
            else:
                file.unlink(missing_ok=True)


def _texts(journal: Journal, action: JournalAction) -> tuple[Any, ...]:
    """Everything that the journal has of an action."""
    edits = [asdict(edit) for edit in action.edits]
    writes = [asdict(write) for write in journal.writes(action.id)]
    return action.title, action.note, action.stores, edits, writes


def _holds(value: Any, secrets: Collection[str]) -> bool:
    """Whether a text in a value of lists, mappings and texts has one of the secrets."""
    if isinstance(value, str):
        return any(_is_in(secret, value) for secret in secrets)
    if isinstance(value, dict):
        return any(_holds(item, secrets) for pair in value.items() for item in pair)
    return isinstance(value, list | tuple) and any(_holds(item, secrets) for item in value)


def _is_in(secret: str, text: str) -> bool:
    """Whether a text has this secret, as it is or within JSON; a short one is a part of words."""
    if secret not in text and json.dumps(secret)[1:-1] not in text:
        return False
    return len(secret) >= _UNMISTAKABLE or any(found == secret for found in list_secrets(text))


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def _lines(file: Path) -> list[str]:
    """The lines of a file of texts that were taken out; of one that cannot be read, none."""
    try:
        return file.read_text("utf-8", "replace").split("\n")
    except OSError:
        return []


def _has(text: str, secrets: Collection[str]) -> bool:
    return any(_is_in(secret, text) for secret in secrets)


def _has_secret(file: Path, secrets: Collection[str]) -> bool:
    try:
        content = file.read_bytes().decode("utf-8", "replace")
    except OSError:
        return False
    return _has(content, secrets)
