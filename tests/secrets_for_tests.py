"""Secrets of several kinds, made up here, and stores that have them in every text they can hold."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from memtui.changes import Act, Change
from memtui.errors import MemtuiError
from memtui.library import Library
from memtui.model import Memory
from memtui.text.secrets import DOT

TOKEN = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0iL3oR6"
KEY_LINES = ("b3BlbnNzaC1rZXktdjEAAAAABG5vbmU", "AAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtz")
PRIVATE_KEY = "\n".join(
    ("-----BEGIN OPENSSH PRIVATE KEY-----", *KEY_LINES, "-----END OPENSSH PRIVATE KEY-----")
)
PLANTED = {
    "qX7!mZ": "The staging password: qX7!mZ is known to the team",
    TOKEN: f"CI reads the packages with {TOKEN} every night",
    "Zq8-vLk2": "The database is at postgres://app:Zq8-vLk2@db.example.net/shop since May",
    "w0rd-2Lines": "The vault password is\nw0rd-2Lines, as Ada said",
    KEY_LINES[1]: f"The deploy key:\n{PRIVATE_KEY}",
}
"""What must not be shown -> a text that has it."""


def is_shown(secret: str, output: str) -> bool:
    """Whether so much of a secret is in an output that it is of use."""
    middle = secret[6:18] if len(secret) > 20 else secret
    return middle in output


def shown(output: str) -> list[str]:
    """The planted secrets that are in an output."""
    return [secret for secret in PLANTED if is_shown(secret, output)]


def plant(library: Library) -> dict[str, str]:
    """Write the secrets into memories of each store, into whatever field takes them.

    Returns the ref of a memory with each secret in its text.
    """
    found: dict[str, str] = {}
    for store in library.stores:
        memories = [m for m in library.memories(store.label) if m.status == "active"]
        left = list(PLANTED.items())
        for memory in memories:
            if not left:
                break
            secret, text = left[0]
            if _edit(library, memory, {"content": text}):
                left.pop(0)
                now = next(m for m in library.memories(store.label) if secret in m.content)
                found[secret] = now.ref
                for field, value in (
                    ("title", f"Login password: {'qX7!mZ'}"),
                    ("tags", ("token=Zq8-vLk2x9Yw",)),
                    ("source", text),
                ):
                    _edit(library, library.get(now.ref), {field: value})
    assert found
    return found


def _edit(library: Library, memory: Memory, fields: dict[str, object]) -> bool:
    with suppress(MemtuiError):
        planned = library.plan([Change(Act.EDIT, memory.store, memory.ref, fields)])
        if planned.has_edits:
            library.apply(planned)
            return True
    return False


def files_with(folder: Path, words: str) -> list[Path]:
    """The files of a folder that have these words, as they are or as JSON escapes them."""
    escaped = words.encode("unicode_escape").decode().replace("\\\\", "\\")
    marks = {words.encode(), escaped.encode()}
    return [
        path
        for path in folder.rglob("*")
        if path.is_file() and any(mark in path.read_bytes() for mark in marks)
    ]


def masks_in(folder: Path) -> list[Path]:
    """The files of a folder that a mask was written into."""
    return files_with(folder, DOT * 3)
