"""All texts that a memory has had, and what was believed at a time.

The texts, oldest first, each with the time and the author, come from the memory itself and the
memories it replaced, from memtui's journal, from the former versions that a store keeps
(`extra["versions"]`), and from the git history of its file.

A memory was there at a time if it was created by then, or, if its creation has no date, changed by
then; one without any date is taken to have been there always. Of one that was changed since, the
last change by then is not known. It was in use if it was not yet superseded, retired or deleted:
superseded at the creation of its first successor (or at the start of the link that says so),
retired or deleted at the time that the store gives, else at its last change. If none of this is
known, its present status is taken. What the journal, the versions a store keeps, or git know of
that time goes before all this.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum

from msgspec import Struct, field
from msgspec.structs import replace

from memtui.insight.lineage import Lineage
from memtui.model import FILE_TIME_KEY, LATER_TEXT, Memory, format_time
from memtui.query.periods import first_moment
from memtui.stores.values import from_iso
from memtui.text import is_mask_of

VERSIONS_KEY = "versions"
"""Key of `Memory.extra` under which a store lists former texts: objects with `title`, `content` and
`created_at`, the time at which the text was replaced."""


class VersionOrigin(StrEnum):
    """Who says that a memory had this text."""

    STORE = "store"
    """The store, as it is now."""
    KEPT = "kept version"
    """The former versions that the store itself keeps."""
    SEEN = "seen"
    """What memtui kept whenever it looked at the store."""
    JOURNAL = "memtui"
    GIT = "git"


class TextVersion(Struct, frozen=True):
    """A text that a memory had."""

    memory: Memory
    """The memory with this text; fields whose former value is unknown have the present one."""
    origin: VersionOrigin
    time: datetime | None = None
    """The latest time at which it began; None if unknown."""
    author: str = ""
    """Empty if the store does not say. Untrusted text."""
    note: str = ""
    """Number of the journal's action, or the hash of the commit."""
    is_present: bool = False
    """The text that the store has now."""

    @property
    def text(self) -> str:
        """Title and content as one text, to compare."""
        return self.memory.full_text


class VersionHistory(Struct, frozen=True):
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
            extra={key: each for key, each in memory.extra.items() if key != VERSIONS_KEY},
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


def merge_versions(memory: Memory, former: Iterable[TextVersion]) -> list[TextVersion]:
    """Order all versions of one memory by time and end with its present text.

    A text that follows itself is one version, with the first time and the first author known; that
    it was seen, which may be with its secrets masked, counts only where nothing else is known of
    it.
    Those of the journal, which are given oldest first, stay in that order: the clock may have been
    put back between them.
    """
    newest = start = datetime.min.replace(tzinfo=UTC)
    timed: list[tuple[datetime, TextVersion]] = []
    for version in former:
        time = version.time or start
        if version.origin is VersionOrigin.JOURNAL:
            newest = time = max(newest, time)
        timed.append((time, version))
    ordered = [version for _, version in sorted(timed, key=lambda each: each[0])]
    edited = replaced_at(memory)
    present = TextVersion(
        memory, VersionOrigin.STORE, edited or memory.updated or memory.created, is_present=True
    )
    is_dated_by_file = FILE_TIME_KEY in memory.extra
    if not ordered and memory.created is not None and (edited is None and is_dated_by_file):
        present = replace(present, time=memory.created)
    merged: list[TextVersion] = []
    for version in [*ordered, present]:
        if not merged or not _is_same_text(merged[-1].text, version.text):
            merged.append(version)
            continue
        known = merged[-1]
        if version.origin is VersionOrigin.SEEN:
            continue  # what others say of the same text is nearer to when it began
        if known.origin is VersionOrigin.SEEN:
            merged[-1] = version
            continue
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


def _is_same_text(one: str, other: str) -> bool:
    return is_mask_of(one, other) or is_mask_of(other, one)


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


class FormerStates(Struct, frozen=True):
    """What is known for certain of some memories at one time, from the journal and git."""

    memories: Mapping[str, Memory] = field(default_factory=dict)
    """Ref -> the memory as it was, including memories that no longer exist."""
    absent: frozenset[str] = frozenset()
    """Refs of memories that did not exist yet."""
    same: frozenset[str] = frozenset()
    """Refs of memories in files that have changed since, which themselves have not."""


def was_there(memory: Memory, at: datetime) -> bool:
    """Whether a memory had been created by this time."""
    begun = memory.created or memory.updated
    return begun is None or first_moment(begun) <= at


def with_times_at(memory: Memory, at: datetime) -> Memory:
    """The memory without times after this one: of a later change, or of a file that was written
    since."""
    if memory.updated is not None and memory.updated > at:
        memory = replace(memory, updated=None)
    is_later = memory.created is not None and memory.created > at
    return replace(memory, created=None) if is_later else memory


def with_later_text(memory: Memory, updated: datetime | None) -> Memory:
    """The memory as of a time, marked if it shows the text of a later change: no earlier one is
    known. `updated`: the time of its last change."""
    if updated == memory.updated:
        return memory
    return replace(memory, extra={**memory.extra, LATER_TEXT: format_time(updated)})


def with_status_at(memory: Memory, at: datetime, ended: datetime | None) -> Memory:
    """The memory in use again, if it was taken out of use after this time."""
    if ended is None or ended <= at:
        return memory
    return replace(memory, status="active", superseded_by=())


def text_at(memory: Memory, at: datetime) -> Memory:
    """The memory with the text it had, as far as its store keeps former versions."""
    versions = kept_versions(memory)
    if not versions:
        return memory
    ends = [version.time for version in versions[1:]]
    listed = memory.extra[VERSIONS_KEY]
    ends.append(from_iso(listed[-1].get("created_at")) if isinstance(listed[-1], dict) else None)
    for version, end in zip(versions, ends, strict=True):
        if end is not None and at < end:
            return version.memory
    return memory
