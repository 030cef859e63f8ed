"""Find where a memory's words were said before it was made: it *looks like* it came from there.

Neither an id nor a call proves it, so a mention is evidence and no more. The words of the memory
weigh by how rare they are in the sessions of its project (inverse document frequency). The share of
a message is the weight of those that one stretch of it has; it must also have every name in the
memory. Only what was said before the memory was made counts: what comes later may be the memory
told again.

The limits were chosen on one half of a labelled set and measured on the other
(`python -m tests.bench.origin`).
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime, time, timedelta
from functools import lru_cache
from math import log
from pathlib import Path, PurePath

from msgspec import Struct

from memtui.errors import UnreadableFile
from memtui.model import PROJECT_PATH, Memory
from memtui.progress import Cancelled, IsCancelled, never
from memtui.search.analysis import (
    CACHE_SIZE,
    QUESTION_WORDS,
    cached_split_chunk,
    find_chunks,
    stem,
)
from memtui.sessions import PROGRAMS, Call, Kind, Message, Reading, Role, Session
from memtui.sessions.origin import Origin, OriginKind, Strength, find_origins, recorded_ids
from memtui.text import cut_line, date

WINDOW_WORDS = 60
"""Words of a stretch: a page of output has many words of any memory, but not near each other."""
FEWEST_WORDS = 4
"""Different words that a memory must have, and share, to be looked for."""
STRONG_WORDS = 6
"""Different words that a strong mention shares: of four, two or three are shared by chance."""
STRONG_SHARE, STRONG_LEAD = 0.75, 0.2
LIKELY_SHARE, LIKELY_LEAD = 0.5, 0.1
"""The share of the best message, and how far it is ahead of the best of any other session."""
MOST_BYTES = 256 << 20
"""Bytes of sessions that are read while a person waits; `memtui origin` reads all."""
SLACK = timedelta(days=1)
"""How much later than its memory a session may have begun: days and clocks differ."""


def origins_of(
    memories: Sequence[Memory], sessions: Sequence[Session], cancelled: IsCancelled = never
) -> list[list[Origin]]:
    """For each memory the sessions that taught it: those that `find_origins` knows, and unless a
    call wrote it, the message that it looks like, within the sessions that it names if there are
    any.

    Raises Cancelled.
    """
    known = find_origins(memories, sessions, cancelled)
    asked = []
    for memory, origins in zip(memories, known, strict=True):
        within: list[Session] = []
        if not any(each.kind is OriginKind.WRITTEN for each in origins):
            within = [each.session for each in origins]
            within = within or [each for each in sessions if is_same_project(memory, each)]
        asked.append((memory, within))
    mentions = find_mentions(asked, cancelled)
    return [
        [*origins, mention] if mention is not None else origins
        for origins, mention in zip(known, mentions, strict=True)
    ]


def candidates(
    memories: Sequence[Memory], sessions: Iterable[Session], most_bytes: int = MOST_BYTES
) -> list[Session]:
    """The sessions that may have taught one of these memories, in as many bytes as are read while a
    person waits: those that a memory names, then of those that began before one the sessions of
    their projects, then the others, each the last first."""
    ids = {id for memory in memories for id in recorded_ids(memory)}
    times = [memory.when for memory in memories]
    until = None if None in times else max(filter(None, times), default=None)
    named, near, others = list[Session](), list[Session](), list[Session]()
    for session in sessions:
        if session.id in ids or session.path.stem in ids:
            named.append(session)
        elif until is None or session.started is None or session.started <= until + SLACK:
            is_near = any(is_same_project(memory, session) for memory in memories)
            (near if is_near else others).append(session)
    size = 0
    found = named
    for session in (*near, *others):
        size += session.size
        if size > most_bytes:
            break
        found.append(session)
    return found


class _Said(Struct):
    """A message with words of the memory."""

    session: Session
    message: Message
    words: Collection[int]
    """For each stretch, the words of the memory that it has, as bits."""


class _Search:
    """One memory that is looked for, and what was found of it so far."""

    def __init__(self, memory: Memory) -> None:
        every = dict.fromkeys(_words(memory.full_text))
        self.bits = {
            word: 1 << at for at, word in enumerate(w for w in every if w not in QUESTION_WORDS)
        }
        self.file_name = PurePath(memory.origin.file).name
        self._memory = memory
        self._counts: Counter[int] = Counter()
        self._total = 0
        self._said: list[_Said] = []

    def note(self, session: Session, message: Message, words: int) -> None:
        """Note a message and the words that it has, as bits."""
        self._total += 1
        if words:
            self._counts.update(at for at in range(len(self.bits)) if words >> at & 1)
        if words.bit_count() >= FEWEST_WORDS and _is_earlier(message, session, self._memory):
            self._said.append(_Said(session, message, _stretches(message.text, self.bits)))

    def choose(self) -> Origin | None:
        """The best of the messages."""
        text, bits = self._memory.full_text, self.bits
        names = sum(bits[word] for word in set(_names(text)) if word in bits)
        weights = [log((self._total + 1) / (self._counts[at] + 0.5)) for at in range(len(bits))]
        return _choose(self._said, weights, names)


def find_mentions(
    asked: Sequence[tuple[Memory, Iterable[Session]]], cancelled: IsCancelled = never
) -> list[Origin | None]:
    """For each memory the message that it looks like; of several alike, the earliest.

    None if no earlier message shares enough of its rare words, or if sessions differ too little.
    A session is read once, whatever the number of memories; one that cannot be read is passed over.

    Args:
        asked: Each memory, with the sessions of its project; their words say what is rare, the
            later ones' too.
        cancelled: Asked between messages.

    Raises:
        Cancelled: It was stopped.
    """
    searches = [_Search(memory) for memory, _ in asked]
    within: dict[tuple[Path, str], tuple[Session, list[int]]] = {}
    for number, (_, sessions) in enumerate(asked):
        if len(searches[number].bits) >= FEWEST_WORDS:
            for each in sessions:
                within.setdefault((each.path, each.id), (each, []))[1].append(number)
    alike: dict[tuple[int, ...], list[Session]] = {}
    for session, numbers in within.values():
        alike.setdefault(tuple(numbers), []).append(session)
    for together, sessions in alike.items():
        _look_for([searches[number] for number in together], sessions, cancelled)
    return [search.choose() for search in searches]


def _look_for(
    searches: Sequence[_Search], sessions: Iterable[Session], cancelled: IsCancelled
) -> None:
    """Note in each search the messages of these sessions."""
    wanted: dict[str, list[tuple[int, int]]] = {}
    for number, search in enumerate(searches):
        for word, bit in search.bits.items():
            wanted.setdefault(word, []).append((number, bit))

    @lru_cache(maxsize=CACHE_SIZE)
    def of_chunk(chunk: str) -> list[tuple[int, int]]:
        """The words of searches in it: number of the search, and bit."""
        return [pair for word in _words_of(chunk) if word in wanted for pair in wanted[word]]

    for session in sessions:
        for message, passing_over in _evidence(session, searches, cancelled):
            found = [0] * len(searches)
            for chunk in set(find_chunks(message.text)):
                for number, bit in of_chunk(chunk):
                    found[number] |= bit
            for search, words in zip(searches, found, strict=True):
                if search not in passing_over:
                    search.note(session, message, words)


def _choose(said: Iterable[_Said], weights: list[float], names: int) -> Origin | None:
    """The best message, if it is far enough ahead of every other session."""
    best: dict[str, tuple[float, int, _Said]] = {}
    texts: set[str] = set()
    for each in sorted(said, key=lambda one: _time(one.message, one.session)):
        if each.message.text in texts:  # copied by a fork, or a session that lies in two places
            continue
        texts.add(each.message.text)
        share, words = max((_weigh(words, weights), words) for words in each.words)
        if words & names == names and share > best.get(each.session.id, (0.0,))[0]:
            best[each.session.id] = share, words, each
    ranked = sorted(best.values(), key=lambda found: -found[0])
    if not ranked:
        return None
    share, words, first = ranked[0]
    rival = next((other for other, same, _ in ranked if same != words), 0.0)
    lead = (share - rival) / share
    is_long = words.bit_count() >= STRONG_WORDS
    if share >= STRONG_SHARE and lead >= STRONG_LEAD and is_long:
        strength = Strength.STRONG
    elif share >= LIKELY_SHARE and lead >= LIKELY_LEAD:
        strength = Strength.LIKELY
    else:
        return None
    return Origin(
        OriginKind.LOOKS_LIKE, first.session, first.message, strength=strength, share=share
    )


def _weigh(words: int, weights: list[float]) -> float:
    """The share of these words, given as bits, in the weight of all."""
    return sum(weight for at, weight in enumerate(weights) if words >> at & 1) / sum(weights)


_PREPOSITIONS = ("in", "of", "by", "to", "on", "for", "from", "with", "under")
_NAME = re.compile(
    r"(?<=`)[^`\n]+(?=`)|(?<!\w)--?\w+"  # code, options
    r"|\w{2,}(?:[/._=]\w{2,})+"  # paths and identifiers
    r"|\w*\d\w*"
    r"|\w+[A-Z]\w*|(?<=[\w,(][ (])[A-Z]\w*"  # capitals, but not those that begin a sentence
    r"|\w+(?=['’]s\b)|\A[a-z]\w+|(?<=; )[a-z]\w+"  # a sentence that begins with a small letter
    + "".join(
        rf"|(?<=\b{at}{word[1:]} )\w+"
        for word in _PREPOSITIONS
        for at in (word[0], word[0].upper())
    )
)
"""What looks like a name: the words above, and a noun without an article after a preposition."""


def _names(text: str) -> Iterator[str]:
    """The words of what looks like a name."""
    for name in _NAME.findall(text):
        yield from _words(name)


def _words(text: str) -> Iterator[str]:
    for chunk in find_chunks(text):
        yield from _words_of(chunk)


def _words_of(chunk: str) -> Iterator[str]:
    return map(stem, cached_split_chunk(chunk).parts)


def _stretches(text: str, bits: dict[str, int]) -> set[int]:
    """The words of the memory in each stretch of a text that begins with one of them."""
    chunks, at = find_chunks(text), 0
    parts = {chunk: [bits.get(word, 0) for word in _words_of(chunk)] for chunk in set(chunks)}
    found = []
    for chunk in chunks:
        for bit in parts[chunk]:
            if bit:
                found.append((at, bit))
            at += 1
    stretches = set()
    counts: Counter[int] = Counter()
    together = end = 0
    for start, first in found:
        while end < len(found) and found[end][0] - start < WINDOW_WORDS:
            bit = found[end][1]
            counts[bit] += 1
            together |= bit
            end += 1
        stretches.add(together)
        counts[first] -= 1
        if not counts[first]:
            together &= ~first
    return stretches


def _evidence(
    session: Session, searches: Sequence[_Search], cancelled: IsCancelled
) -> Iterator[tuple[Message, Collection[_Search]]]:
    """What a person, the agent or a tool said; each with the searches whose memory was read again
    by it, which it is no evidence for."""
    reads: dict[str, Collection[_Search]] = {}
    try:
        for message in PROGRAMS[session.program].messages(session, Reading()):
            if cancelled():
                raise Cancelled
            if message.kind is Kind.CALL and message.call is not None:
                if "memor" in message.call.name.lower():
                    reads[message.call.id] = searches
                elif own := [s for s in searches if s.file_name and s.file_name in message.text]:
                    reads[message.call.id] = own
            elif message.kind is Kind.RESULT:
                yield message, reads.get(message.call.id, ()) if message.call is not None else ()
            elif message.kind is Kind.TEXT and (
                message.role is not Role.USER or message.is_from_person
            ):
                yield message, ()
    except UnreadableFile:
        return


def is_same_project(memory: Memory, session: Session) -> bool:
    """Whether a session worked in the project of a memory, or its program keeps the memory."""
    folder = memory.extra.get(PROJECT_PATH)
    if isinstance(folder, str):
        return _is_within(session.cwd, folder)
    file, transcript = memory.origin.file, str(session.path)
    project = session.project.casefold()
    return (
        _is_within(file, session.cwd)
        or _is_within(file, os.path.dirname(transcript))
        or _is_within(transcript, os.path.dirname(file))
        or (bool(project) and project in memory.entity.casefold().split("/"))
    )


def _is_within(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies in it; a home or the root is nobody's project."""
    is_wide = folder.rstrip("/") in ("", os.path.expanduser("~"))
    return not is_wide and (path == folder or path.startswith(folder.rstrip("/") + "/"))


def _is_dated(memory: Memory) -> bool:
    """Whether the memory says itself when it was made."""
    return memory.created is not None and memory.dated_by not in ("git", "the file's time")


def _is_earlier(message: Message, session: Session, memory: Memory) -> bool:
    """Whether it was said before the memory was made; a time that is not known is no evidence."""
    if message.role is Role.ASSISTANT and not _is_dated(memory):
        return False
    made = memory.created or memory.when
    said = message.time or session.started
    if said is None or made is None:
        return False
    if made.astimezone(UTC).time() == time.min:  # the store keeps the day only
        made += timedelta(days=1)
    return said <= made


def _time(message: Message, session: Session) -> datetime:
    return message.time or session.started or datetime.max.replace(tzinfo=UTC)


# ---- who said it first: a person, the agent, or what a tool read for it ----------------------
#
# A planted instruction comes from a page, a file or a mail that an agent has read; the session in
# which the memory was learned shows which.

_SOURCES = (
    ("a web page", re.compile(r"fetch|web|brows|https?:|\bcurl\b|\bwget\b|crawl|scrape")),
    ("a mail", re.compile(r"mail|inbox|imap")),
    ("an issue or a pull request", re.compile(r"\bgh (?:issue|pr)\b|issue|pull_request")),
    ("a file", re.compile(r"^(?:.* )?(?:read|view|open|grep)|\n(?:cat|head|tail|sed|less) ")),
)
"""What was read, by the name of the tool and then the texts of its arguments, in small letters."""
_OUTSIDE = re.compile(
    r"https?://(?!localhost\b|127\.|0\.0\.0\.0|\[::1\]|[\w.-]+\.(?:local|internal)\b)"
    r"|\bgh (?:issue|pr)\b"
)
"""In what a tool was asked for: it reads what anybody may have written."""
DETAIL_CELLS = 80
LISTED_BYTES = 64 << 20
"""Bytes of sessions that are read for a whole list of findings."""


class Speaker(Struct, frozen=True):
    """Who said it first."""

    source: str
    """`you`, `the agent`, `a web page`, `the tool NAME`..."""
    detail: str
    """What the tool was asked for, such as the address; empty of a person and the agent."""
    role: Role
    origin: Origin
    """The mention."""

    @property
    def is_outside(self) -> bool:
        """Whether a tool read it where anybody may write, such as a web page."""
        return self.role is Role.TOOL and _OUTSIDE.search(self.detail) is not None

    @property
    def time(self) -> datetime | None:
        """When it was said."""
        said = self.origin.words
        return said.time if said is not None and said.time else self.origin.session.started

    def describe(self) -> str:
        """`a web page said this (https://…) in Codex, 2026-05-04 10:15`, on one line and masked."""
        about = f" ({cut_line(self.detail, DETAIL_CELLS)})" if self.detail else ""
        title = PROGRAMS[self.origin.session.program].title
        return f"{cut_line(self.source, 40)} said this{about} in {title}, {date(self.time)}"


def find_speakers(
    memories: Sequence[Memory], sessions: Sequence[Session], cancelled: IsCancelled = never
) -> dict[str, Speaker]:
    """Ref -> who said first what a memory says, of those that a session mentions.

    Raises Cancelled.
    """
    mentions: dict[str, Origin | None] = {}
    unmentioned = []
    for memory, origins in zip(memories, origins_of(memories, sessions, cancelled), strict=True):
        looks_like = [each for each in origins if each.kind is OriginKind.LOOKS_LIKE]
        mentions[memory.ref] = next(iter(looks_like), None)
        if origins and not looks_like:  # a call wrote it: what was said in that session before?
            unmentioned.append((memory, [each.session for each in origins]))
    found = find_mentions(unmentioned, cancelled)
    mentions |= {memory.ref: one for (memory, _), one in zip(unmentioned, found, strict=True)}
    return {
        ref: _speaker_of(mention, mention.words)
        for ref, mention in mentions.items()
        if mention is not None and mention.words is not None
    }


def _speaker_of(mention: Origin, words: Message) -> Speaker:
    if words.role is not Role.TOOL:
        source = "you" if words.role is Role.USER else "the agent"
        return Speaker(source, "", words.role, mention)
    call = _find_call(mention.session, words)
    if call is None:
        return Speaker("a tool", "", words.role, mention)
    asked = "\n".join(value for value in call.arguments.values() if isinstance(value, str))
    return Speaker(_name_source(call, asked), asked, words.role, mention)


def _name_source(call: Call, asked: str) -> str:
    text = f"{call.name.replace('__', ' ')}\n{asked}".lower()
    named = (source for source, pattern in _SOURCES if pattern.search(text))
    return next(named, f"the tool {call.name}")


def _find_call(session: Session, result: Message) -> Call | None:
    """The call that a result answers."""
    id = result.call.id if result.call is not None else ""
    try:
        for message in PROGRAMS[session.program].messages(session, Reading()):
            if message.kind is Kind.CALL and message.call is not None and message.call.id == id:
                return message.call
    except UnreadableFile:
        pass
    return None
