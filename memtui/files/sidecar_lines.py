"""Read and write the lines of a store's sidecar, memtui's own notes on memories, and their files.

A sidecar is JSON Lines; the last line of an id counts. A change appends a line, and undo takes that
line out again, so that the file is as it was. What the entries mean is defined in
`memtui.stores.sidecar`.

An entry lies in two files. What a person asked for lies beside the store: in `.memtui/` in its
folder, or, where the store is a single file, in memtui's data folder. The texts that were taken out
of the store, and entries that hold nothing a person asked for, lie in memtui's state folder, which
only this user can read. Up to version 1 all of it lay in `.memtui/`; that is read, and brought to
this form by the next write.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from memtui import paths
from memtui.changes import Edit
from memtui.errors import Conflict
from memtui.files.reading import read_text_file

_SURROGATE = re.compile("[\ud800-\udfff]")

FOLDER = ".memtui"
FILE = "sidecar.jsonl"
SIDECAR_SUFFIX = ".jsonl"
KEPT_FOLDER, ASKED_FOLDER = "kept", "sidecars"
"""In the state folder, and in the data folder."""
PLACE_FILE = "place.json"
"""Beside the sidecar of a restored store: what its former place told about it."""


KEPT = "kept"
"""Key of an entry: a memory that was taken out of the store."""
_SHARD = "shard"
OWN_KEYS = frozenset(
    {
        *(_SHARD, KEPT, "text", "created", "updated", "supersedes", "superseded_by", "request"),
        "former_status",
    }
)
"""The keys of an entry that no person asks for: what memtui needs to know a memory again."""


class SidecarFiles(NamedTuple):
    """The files of a store's sidecar; none need exist."""

    kept: Path
    """What was taken out of the store, in the state folder."""
    asked: Path
    """What a person asked for."""
    former: Path | None
    """All of it, as it lay beside a store that is a single file up to version 1."""


def sidecar_files(root: Path) -> SidecarFiles:
    """Return the files of the sidecar of a store, which is a folder or a single file."""
    kept = paths.state_folder() / KEPT_FOLDER / _own_name(root)
    if not root.is_file():
        return SidecarFiles(kept, root / FOLDER / FILE, None)
    asked = paths.data_folder() / ASKED_FOLDER / _own_name(root)
    return SidecarFiles(kept, asked, root.parent / FOLDER / f"{root.name}.jsonl")


@functools.cache
def _own_name(root: Path) -> str:
    """The name of a store's files in memtui's own folders; for moved ones see `moved_sidecars`."""
    path = os.path.realpath(root)
    found = hashlib.blake2b(os.fsencode(path), digest_size=8).hexdigest()
    return f"{os.path.basename(path)[:_NAME_LETTERS]}-{found}{SIDECAR_SUFFIX}"


_NAME_LETTERS = 40


def sidecar_path(root: Path) -> Path:
    """Return the file of what a person asked for."""
    return sidecar_files(root).asked


def sidecar_paths(root: Path) -> tuple[Path, ...]:
    """Return the files of a sidecar that may exist, those that lie in memtui's state first."""
    return tuple(path for path in sidecar_files(root) if path is not None)


def read_sidecar_texts(root: Path) -> list[str]:
    """Return the texts of the files of a sidecar that exist. Raises UnreadableFile."""
    return [_read(path, root) for path in sidecar_paths(root) if os.path.lexists(path)]


def _read(path: Path, root: Path) -> str:
    """The text of one of the files; a link must not lead out of the store."""
    base = root if root.is_dir() else root.parent
    return read_text_file(path, base if path.is_relative_to(base) else path.parent)


def join_sidecar(root: Path) -> str:
    """Return the whole sidecar as one text: the lines of what a person asked for, and below them
    the entries of which more is kept. Raises UnreadableFile."""
    files = sidecar_files(root)
    beside = [path for path in (files.former, files.asked) if path and os.path.lexists(path)]
    texts = [_read(path, root) for path in beside]
    text = texts[0] if texts else ""
    for more in texts[1:]:
        text = with_lines(text, more.split("\n"))
    if not os.path.lexists(files.kept):
        return text
    kept, asked = read_entries(_read(files.kept, root)), read_entries(text)
    lines = (
        _line({"id": id, "set": {**entry, **(asked.get(id) or {})}})
        for id, entry in kept.items()
        if entry
    )
    return with_lines(text, list(lines))


def parts_of(entry: Mapping[str, Any] | None) -> tuple[dict[str, Any] | None, ...]:
    """Return what of an entry is kept in the state folder, and what lies beside the store."""
    if not entry:
        return None, None
    if entry.keys() <= OWN_KEYS:
        return dict(entry), None
    kept = {key: entry[key] for key in (KEPT, _SHARD) if key in entry} if KEPT in entry else None
    return kept, {key: value for key, value in entry.items() if key != KEPT}


def split_edit(edit: Edit) -> tuple[Edit | None, ...]:
    """Return the edits of an entry's two parts, in the order of `parts_of`; None: no change."""
    sides = zip(parts_of(edit.before), parts_of(edit.after), strict=True)
    return tuple(
        None if before == after else replace(edit, before=before, after=after)
        for before, after in sides
    )


def lines_to_keep(text: str) -> list[str]:
    """Return the lines that belong into the state folder, of a text of version 1."""
    return [line for line in _split_lines(text, 0) if line]


def take_out_kept(text: str, kept: Collection[str]) -> str | None:
    """Return such a text without what belongs into the state folder; None: nothing is left.

    It stays as it is where more lines than these would go, which nothing has kept yet.
    """
    taken = lines_to_keep(text)
    if not taken or not set(taken) <= set(kept):
        return text
    lines = _split_lines(text, 1)
    return "".join(f"{line}\n" for line in lines) if any(lines) else None


def _split_lines(text: str, part: int) -> list[str]:
    """The lines of one part; a damaged one lies beside the store."""
    found, known = list[str](), dict[str, Any]()
    for line in text.removesuffix("\n").split("\n"):
        parsed = parse_entry(line)
        if parsed is None:
            found += [line] * part
            continue
        id, entry = parsed
        mine = parts_of(entry)[part]
        if mine != known.get(id):
            known[id] = mine
            found.append(line if mine == entry else _line({**json.loads(line), "set": mine}))
    return found


def with_lines(text: str, lines: Sequence[str]) -> str:
    """Return the text with the lines that it does not hold yet."""
    known = set(text.split("\n"))
    new = [line for line in lines if line and line not in known]
    if not new:
        return text
    return "\n".join([*([text.removesuffix("\n")] if text else []), *new, ""])


def write_entries(text: str | None, edits: Sequence[Edit], where: str = "") -> str | None:
    """Return the file's text with each edit that is not made yet (None: no file).

    An edit that undoes takes out the newest line of its id, where the line before says what is
    wanted; any other appends a line. Other lines stay as and where they are, damaged ones too.
    Raises Conflict when an entry is neither as before nor as after its edit.
    """
    end = "\n" if not text or text.endswith("\n") else ""  # a torn last line stays without one
    known_lines = text.removesuffix("\n").split("\n") if text else []
    history, lines = _read_history(known_lines), list[str | None](known_lines)
    for edit in edits:
        known = history.setdefault(edit.id, [])
        now = known[-1].entry if known else None
        # each as it is when it is read from the file
        before, after = (
            json.loads(json.dumps(dict(entry))) if entry else None
            for entry in (edit.before, edit.after)
        )
        if now == after:
            continue
        if now != before:
            raise Conflict(
                "another memtui has changed what it keeps about this memory",
                where=where,
                base=_indented(before),
                theirs=_indented(now),
                yours=_indented(after),
            )
        if edit.undoes and after == (known[-2].entry if len(known) > 1 else None):
            lines[known.pop().number] = None
            continue
        time = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        known.append(_NumberedEntry(len(lines), after))
        lines.append(_line({"id": edit.id, "set": after, "at": time}))
    left = [line for line in lines if line is not None]
    return "\n".join(left) + end if left else text if not lines else None


class _NumberedEntry(NamedTuple):
    number: int
    """Line number, from 0."""
    entry: Any


def _read_history(lines: Sequence[str]) -> dict[str, list[_NumberedEntry]]:
    """Every entry of each id, oldest first."""
    history: dict[str, list[_NumberedEntry]] = {}
    for number, line in enumerate(lines):
        if parsed := parse_entry(line):
            id, entry = parsed
            history.setdefault(id, []).append(_NumberedEntry(number, entry))
    return history


def parse_entry(line: str) -> tuple[str, dict[str, Any] | None] | None:
    """Return the id and the entry of a line (None: it is removed), or None if it is damaged."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not isinstance(record.get("id"), str):
        return None
    entry = record.get("set")
    return (record["id"], entry or None) if entry is None or isinstance(entry, dict) else None


def _line(record: Mapping[str, Any]) -> str:
    """One record as JSON; in ASCII where it holds half a character (a lone surrogate)."""
    line = json.dumps(record, ensure_ascii=False)
    return json.dumps(record) if _SURROGATE.search(line) else line


def read_entries(text: str) -> dict[str, Any]:
    """Return the last entry of each id; None where it was removed."""
    history = _read_history(text.split("\n"))
    return {id: entries[-1].entry for id, entries in history.items()}


def _indented(entry: Any) -> str | None:
    return None if entry is None else json.dumps(entry, ensure_ascii=False, indent=2)
