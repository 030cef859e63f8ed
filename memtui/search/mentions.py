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
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, time, timedelta
from functools import reduce
from math import log
from operator import or_
from pathlib import PurePath

from msgspec import Struct

from memtui.errors import UnreadableFile
from memtui.model import PROJECT_PATH, Memory
from memtui.progress import Cancelled, IsCancelled, never
from memtui.search.analysis import (
    QUESTION_WORDS,
    cached_split_chunk,
    find_chunks,
    stem,
)
from memtui.sessions import PROGRAMS, Kind, Message, Reading, Role, Session
from memtui.sessions.origin import Origin, OriginKind, Strength, find_origins

WINDOW_WORDS = 60
"""Words of a stretch: a page of output has many words of any memory, but not near each other."""
FEWEST_WORDS = 4
"""Different words that a memory must have, and share, to be looked for."""
STRONG_WORDS = 6
"""Different words that a strong mention shares: of four, two or three are shared by chance."""
STRONG_SHARE, STRONG_LEAD = 0.75, 0.2
LIKELY_SHARE, LIKELY_LEAD = 0.5, 0.1
"""The share of the best message, and how far it is ahead of the best of any other session."""


def origins_of(
    memory: Memory, sessions: Sequence[Session], cancelled: IsCancelled = never
) -> list[Origin]:
    """The sessions that taught a memory: those that `find_origins` knows, and unless a call wrote
    it, the message that it looks like, within the sessions that it names if there are any.

    Raises Cancelled.
    """
    known = list(find_origins(memory, sessions, cancelled))
    if any(each.kind is OriginKind.WRITTEN for each in known):
        return known
    named = [each.session for each in known]
    in_project = (each for each in sessions if is_same_project(memory, each))
    mention = find_mention(memory, named or in_project, cancelled)
    return [*known, mention] if mention is not None else known


class _Said(Struct):
    """A message with words of the memory."""

    session: Session
    message: Message
    words: list[int]
    """For each stretch, the words of the memory that it has, as bits."""


def find_mention(
    memory: Memory, sessions: Iterable[Session], cancelled: IsCancelled = never
) -> Origin | None:
    """The message in these sessions that a memory looks like; of several alike, the earliest.

    None if no earlier message shares enough of its rare words, or if sessions differ too little.
    A session that cannot be read is passed over.

    Args:
        memory: What came of it.
        sessions: Those of its project; their words say what is rare, the later ones' too.
        cancelled: Asked between messages.

    Raises:
        Cancelled: It was stopped.
    """
    words = list(dict.fromkeys(w for w in _words(memory.full_text) if w not in QUESTION_WORDS))
    if len(words) < FEWEST_WORDS:
        return None
    bits = {word: 1 << at for at, word in enumerate(words)}
    names = sum(bits[word] for word in set(_names(memory.full_text)) if word in bits)
    counts: Counter[int] = Counter()
    total = 0
    said: list[_Said] = []
    for session in sessions:
        for message in _evidence(memory, session, cancelled):
            total += 1
            stretches = _stretches(message.text, bits)
            every = reduce(or_, stretches, 0)
            counts.update(at for at in range(len(words)) if every >> at & 1)
            if every.bit_count() >= FEWEST_WORDS and _is_earlier(message, session, memory):
                said.append(_Said(session, message, stretches))
    weights = [log((total + 1) / (counts[at] + 0.5)) for at in range(len(words))]
    return _choose(said, weights, names)


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
        yield from map(stem, cached_split_chunk(chunk).parts)


def _stretches(text: str, bits: dict[str, int]) -> list[int]:
    """The words of the memory in each stretch of a text that begins with one of them."""
    found = [(at, bits[word]) for at, word in enumerate(_words(text)) if word in bits]
    stretches = []
    for number, (start, _) in enumerate(found):
        together = 0
        for at, bit in found[number:]:
            if at - start >= WINDOW_WORDS:
                break
            together |= bit
        stretches.append(together)
    return stretches


def _evidence(memory: Memory, session: Session, cancelled: IsCancelled) -> Iterator[Message]:
    """What a person, the agent or a tool said; not what memory was read again."""
    name = PurePath(memory.origin.file).name
    skipped: set[str] = set()
    try:
        for message in PROGRAMS[session.program].messages(session, Reading()):
            if cancelled():
                raise Cancelled
            if message.kind is Kind.CALL and message.call is not None:
                if "memor" in message.call.name.lower() or (name and name in message.text):
                    skipped.add(message.call.id)
            elif message.kind is Kind.RESULT:
                if message.call is None or message.call.id not in skipped:
                    yield message
            elif message.kind is Kind.TEXT and (
                message.role is not Role.USER or message.is_from_person
            ):
                yield message
    except UnreadableFile:
        return


def is_same_project(memory: Memory, session: Session) -> bool:
    """Whether a session worked in the project of a memory, or its program keeps the memory."""
    project = memory.extra.get(PROJECT_PATH)
    if isinstance(project, str):
        return _is_within(session.cwd, project)
    file, transcript = memory.origin.file, str(session.path)
    named = memory.entity.partition("/")[0].casefold()
    return (
        _is_within(file, session.cwd)
        or _is_within(file, os.path.dirname(transcript))
        or _is_within(transcript, os.path.dirname(file))
        or (bool(named) and named == session.project.casefold())
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
