"""All texts that a memory has had, oldest first, each with the time, the author and what is known.

They come from the memory itself and the memories it replaced, from memtui's journal, from the
former versions that a store keeps (`extra["versions"]`), and from the git history of its file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from memtui.insight.lineage import Lineage
from memtui.model import Memory
from memtui.stores.values import from_iso

VERSIONS_KEY = "versions"
"""Key of `Memory.extra` under which a store lists former texts: objects with `title`, `content` and
`created_at`, the time at which the text was replaced."""


class VersionOrigin(StrEnum):
    """Who says that a memory had this text."""

    STORE = "store"
    """The store, as it is now."""
    KEPT = "kept version"
    """The former versions that the store itself keeps."""
    JOURNAL = "memtui"
    GIT = "git"


@dataclass(frozen=True, slots=True)
class TextVersion:
    """A text that a memory had."""

    memory: Memory
    """The memory with this text; what is not known of that time is as it is now."""
    origin: VersionOrigin
    time: datetime | None = None
    """Since when at the latest; None if unknown."""
    author: str = ""
    """Empty if the store does not say. Untrusted text."""
    note: str = ""
    """Number of the journal's action, or the hash of the commit."""
    is_present: bool = False
    """The text that the store has now."""

    @property
    def text(self) -> str:
        """Title and content as one text, to compare."""
        title, content = self.memory.title, self.memory.content
        return f"{title}\n\n{content}" if title and title != content else content


@dataclass(frozen=True, slots=True)
class VersionHistory:
    """The versions of a memory and of all that it replaced or was replaced by, oldest first."""

    lineage: Lineage
    versions: tuple[TextVersion, ...]
    before: tuple[int, ...]
    """For each version the number of the one it follows from; -1 if there is none."""
    missing: tuple[str, ...] = ()
    """Ids of the lineage that are in no open store."""
    left_out: str = ""
    """Why git's older versions were not read, in words after "git: "; empty if all were."""

    def previous(self, number: int) -> TextVersion | None:
        """The version that this one follows from."""
        at = self.before[number]
        return self.versions[at] if at >= 0 else None


def kept_versions(memory: Memory) -> list[TextVersion]:
    """The former texts that the store itself keeps of a memory, oldest first."""
    listed = memory.extra.get(VERSIONS_KEY)
    found: list[TextVersion] = []
    since = memory.created
    for value in listed if isinstance(listed, list) else ():
        if not isinstance(value, Mapping) or not isinstance(value.get("content"), str):
            continue
        title = value.get("title")
        former = replace(
            memory,
            title=title if isinstance(title, str) else memory.title,
            content=value["content"],
            extra=_without_versions(memory.extra),
        )
        number = value.get("version")
        note = f"version {number}" if isinstance(number, int) else ""
        until = from_iso(value.get("created_at"))
        known = since if since is None or until is None or since <= until else None
        found.append(TextVersion(former, VersionOrigin.KEPT, known, "", note))
        since = until or since
    return found


def replaced_at(memory: Memory) -> datetime | None:
    """When the newest kept version of a memory was replaced by its present text."""
    listed = memory.extra.get(VERSIONS_KEY)
    times = [
        time
        for value in (listed if isinstance(listed, list) else ())
        if isinstance(value, Mapping) and (time := from_iso(value.get("created_at")))
    ]
    return max(times, default=None)


def _without_versions(extra: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in extra.items() if key != VERSIONS_KEY}


def merge_versions(memory: Memory, former: Iterable[TextVersion]) -> list[TextVersion]:
    """Order all versions of one memory by time and end with its present text.

    A text that follows itself is one version, with the first time and the first author known.
    """
    start = datetime.min.replace(tzinfo=UTC)
    ordered = sorted(former, key=lambda version: version.time or start)
    edited = replaced_at(memory)
    present = TextVersion(
        memory, VersionOrigin.STORE, edited or memory.updated or memory.created, is_present=True
    )
    if not ordered and memory.created is not None:
        present = replace(present, time=memory.created)
    merged: list[TextVersion] = []
    for version in [*ordered, present]:
        if not merged or merged[-1].text != version.text:
            merged.append(version)
            continue
        known = merged[-1]
        merged[-1] = replace(
            known,
            author=known.author or version.author,
            origin=version.origin if known.origin is VersionOrigin.STORE else known.origin,
            note=known.note or version.note,
            time=known.time or version.time,
            is_present=version.is_present,
            memory=version.memory if version.is_present else known.memory,
        )
    return merged


def version_history(
    lineage: Lineage,
    former: Mapping[str, Sequence[TextVersion]],
    *,
    left_out: str = "",
) -> VersionHistory:
    """Put the versions of all memories of a lineage into one history.

    Args:
        lineage: The chain of replacements, see `memtui.insight.lineage`.
        former: Id of a memory -> its former versions from journal and git, in any order.
        left_out: Why `former` lacks some of git; empty if it has all.
    """
    versions: list[TextVersion] = []
    before: list[int] = []
    last: dict[str, int] = {}
    """Id -> number of its newest version."""
    missing = []
    replaces = _replacements(lineage)
    for relative in lineage.history:
        memory = relative.memory
        if memory is None:
            missing.append(relative.id)
            continue
        own = merge_versions(memory, [*kept_versions(memory), *former.get(memory.id, ())])
        older = [last[name] for name in replaces.get(memory.id, ()) if name in last]
        for version in own:
            before.append(last[memory.id] if memory.id in last else max(older, default=-1))
            last[memory.id] = len(versions)
            versions.append(version)
    return VersionHistory(lineage, tuple(versions), tuple(before), tuple(missing), left_out)


def _replacements(lineage: Lineage) -> dict[str, list[str]]:
    """Id -> ids that it replaced, from both sides of what the memories say."""
    found: dict[str, list[str]] = {}
    for relative in lineage.history:
        if relative.memory is not None:
            found.setdefault(relative.id, []).extend(relative.memory.supersedes)
            for newer in relative.memory.superseded_by:
                found.setdefault(newer, []).append(relative.id)
    return found
