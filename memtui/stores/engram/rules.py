"""Engram's rules for the values of columns: names, texts, hashes, dates.

What Engram does silently to an agent's text (cutting at 50,000 bytes) is refused here instead,
because a person can shorten a text and an agent's program cannot ask.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct

from memtui.changes import Change, Outcome, Plan
from memtui.errors import Refused
from memtui.model import Memory
from memtui.stores.sqlite.rows import is_valid_text

CONTENT_BYTES = 50_000
"""Longest content; Engram cuts there (store.go, MaxObservationLength)."""
TOPIC_LENGTH = 120
"""Longest topic key (normalizeTopicKey)."""
SEGMENT_LENGTH = 100
"""Longest segment of a suggested topic key."""
DUPLICATE_MINUTES = 15
"""The same text saved again within this time counts as one (dedupe window)."""
TITLE_LENGTH = 80
"""memtui's own: how much of the first line becomes the title of a text without one."""
REVIEW_MONTHS = {"decision": 6, "policy": 12, "preference": 3}
"""When a type is due for review (decayReviewAfterMonths)."""
SCOPES = ("project", "personal", "global")
RELATIONS = ("related", "compatible", "scoped", "conflicts_with", "supersedes", "not_conflict")
"""Verdicts Engram accepts (validRelationVerbs)."""
DEFAULT_TYPE = "manual"
"""What `engram save` writes when no type is given."""
TOOL = "memtui"
"""Written to tool_name of what memtui adds."""
MANUAL_SESSION = "manual-save"
"""Session of everything that no agent session saved."""

_PRIVATE = re.compile(r"(?is)<private>(?:.*?</private>|(?P<open>.*))")
"""A tag that is never closed takes in all the rest, so that no later one looks through it again."""
_GO_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
)
_BLANKS = re.compile(f"[{_GO_SPACE}]+")


class Address(Struct, frozen=True):
    """An entity path in Engram's columns: project, scope and topic key."""

    project: str
    scope: str
    topic_key: str


def timestamp(time: datetime) -> str:
    """`2026-11-18 10:00:00`, UTC, as `datetime('now')` writes it."""
    return time.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def review_after(kind: str, time: datetime) -> str | None:
    """When this type is due again; None for a type that never is. Adds months as Go does."""
    months = REVIEW_MONTHS.get(kind)
    if months is None:
        return None
    time = time.astimezone(UTC)
    year, month = divmod(time.month - 1 + months, 12)
    first = time.replace(year=time.year + year, month=month + 1, day=1)
    return timestamp(first + timedelta(days=time.day - 1))


def manual_session(project: str) -> str:
    """The session of saves that belong to no agent session, one per project."""
    return f"{MANUAL_SESSION}-{project}" if project else MANUAL_SESSION


def new_sync_id(kind: str) -> str:
    """`obs-` or `rel-` and 16 hex digits."""
    return f"{kind}-{secrets.token_hex(8)}"


def sync_id_of(kind: str, id: str) -> str:
    """A sync_id derived from an id, so that a memory imported twice is one row."""
    return f"{kind}-{hashlib.sha256(id.encode('utf-8', 'replace')).hexdigest()[:16]}"


def trim(value: str) -> str:
    """Strip blanks, by Go's definition of a blank."""
    return value.strip(_GO_SPACE)


def project_name(value: str) -> str:
    """Normalise: lower case, trimmed, runs of `-` and `_` made one."""
    return re.sub("_{2,}", "_", re.sub("-{2,}", "-", trim(value).lower()))


def scope(value: str) -> str:
    """One of `SCOPES`; what is none of them is a project's (normalizeScope)."""
    return stored if (stored := trim(value).lower()) in SCOPES else "project"


def topic_key(value: str) -> str:
    """Lower case, blanks made `-`, at most 120 characters."""
    return _BLANKS.sub("-", trim(value).lower())[:TOPIC_LENGTH]


def segment(title: str) -> str:
    """The last segment of the topic key suggested for a title."""
    return re.sub("[^a-z0-9]+", "-", title.lower()).strip("-")[:SEGMENT_LENGTH] or "general"


def content_hash(content: str) -> str:
    """SHA-256 of the text in lower case with every run of blanks made one space."""
    folded = _BLANKS.sub(" ", trim(_lower(content)))
    return hashlib.sha256(folded.encode("utf-8")).hexdigest()


def _lower(value: str) -> str:
    """As Go's strings.ToLower: letter by letter, one letter for one."""
    return value.lower() if value.isascii() else "".join(each.lower()[:1] for each in value)


def content(value: str) -> str:
    """A text as Engram would store it. Raises Refused where it would be cut or be empty."""
    stored = redacted(value)
    if not stored:
        raise Refused("an observation needs a text")
    size = len(stored.encode("utf-8"))
    if size > CONTENT_BYTES:
        raise Refused(
            f"the text has {size:,} bytes; Engram cuts at {CONTENT_BYTES:,}",
            do="shorten it or split it in two",
        )
    return stored


def title(value: str, fallback: str = "") -> str:
    """A title as Engram would store it; without one, the start of the first line of `fallback`."""
    stored = redacted(value)
    if not stored and fallback:
        line = trim(fallback).split("\n", 1)[0].rstrip()
        stored = line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 3].rstrip() + "..."
    if not stored:
        raise Refused("an observation needs a title")
    return stored


def redacted(value: str) -> str:
    """Replace what stands between <private> tags, and trim. Raises Refused on lone surrogates."""
    if not is_valid_text(value):
        raise Refused("the text holds half a character, which UTF-8 cannot hold")
    return trim(_PRIVATE.sub(_redaction, value))


def _redaction(found: re.Match[str]) -> str:
    return "[REDACTED]" if found["open"] is None else found[0]


def has_private(value: str) -> bool:
    found = _PRIVATE.search(value)
    return found is not None and found["open"] is None


def kind(value: str) -> str:
    stored = redacted(value)
    if not stored:
        raise Refused("an observation needs a type")
    return stored


def address(entity: str, name: str, scope: str = "project") -> Address:
    """Parse `project`, `project/scope` or `project/family`; `name` is the title.

    A family becomes the topic key `family/title-in-lower-case`, so that it reads back as the same
    entity. Engram overwrites in place what has the same topic key, project and scope.
    """
    if not is_valid_text(entity):
        raise Refused("the entity holds half a character, which UTF-8 cannot hold")
    project, _, tail = entity.strip("/").partition("/")
    project = project_name(project)
    if not tail or tail in SCOPES:
        return Address(project, tail or scope, "")
    return Address(project, scope, topic_key(f"{tail}/{segment(name)}"))


def go_json(document: Mapping[str, Any], indent: int | None = None) -> str:
    """Write JSON as Go's encoder does: compact or indented, and safe inside HTML."""
    separators = (",", ":") if indent is None else (",", ": ")
    written = json.dumps(document, ensure_ascii=False, separators=separators, indent=indent)
    for letter in "<>&\u2028\u2029":
        written = written.replace(letter, f"\\u{ord(letter):04x}")
    return written


def plan_nothing(change: Change, memory: Memory, reason: str) -> Plan:
    """The plan of a change that has nothing to do."""
    return Plan((change,), (), Outcome.NOTHING, reason=reason, refs=(memory.ref,))
