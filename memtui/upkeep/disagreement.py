"""Statements of two stores that give one attribute of one entity two values.

Numbers: "Wendelau has 43 towers", "the network of Wendelau counts 41 towers": the same counted
noun, a name in common, and much the same other words. Words: "the staging database is Postgres",
"the staging database is MySQL". What was measured, or happened once, is no attribute.

Two passages of much the same words whose numbers differ are never the same statement
(`differing_numbers`), whatever they count.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from msgspec import Struct

from memtui.model import CURRENT, Memory
from memtui.upkeep.similarity import jaccard, stem, stems_of

_KINDS = frozenset({"fact", "observation", "schema"})
_COUNTED = re.compile(
    r"(?<![\w.,:/$#-])(\d{1,3}(?:[,.]\d{3})+|\d+)\s+((?:[a-z][\w-]*\s+)?[a-z][\w-]{2,})"
)
_SETTING = re.compile(
    r"\b(port|version|timeout|limit|retention|capacity|budget|threshold|interval)\s+"
    r"(?:is |of |= ?|: ?)?v?$",
    re.IGNORECASE,
)
"""Before a number: the word that says what it sets."""
_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,:/-]\d+)*")
_IS = re.compile(
    r"(?:^|[.;]\s+)(?:the |our |its )?([\w' /-]{6,60}?)\s+(?:is|are|:|=)\s+"
    r"(?:an? |the )?([\w.+/-]+(?: [\w.+/-]+){0,2})\s*(?:[.;]|$)",
    re.IGNORECASE,
)
_MEASURED = re.compile(
    r"(?:pass|fail|minute|hour|second|day|week|month|year|time|ms|mb|gb|kb|token|commit|line|test|error"
    r"|percent|message|unread|item|step|point|degree|euro|dollar|user_?request)",
)
"""Stems of what is measured at a time."""
_ONCE = re.compile(
    r"\b(?:was|were|had|took|went|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|yesterday|today|ago"
    r"|in (?:19|20)\d\d|(?:19|20)\d\d-\d\d|at \d|added|fixed|changed|moved|will|plan\w*"
    r"|from \d|of \d"
    r"|up to|at least|at most|about|around|more than|less than|not|never|no|done|open|blocked)\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"\b[A-Z][\w-]{2,}")
_BOUND = 25
"""Words of a statement; a longer text says several things."""
_LIKE = 0.4
"""Jaccard of the other words from which two statements are about the same."""
_LIKE_OF_ONE = 0.15
"""The same, where they name the same thing."""
_LIKE_OF_SETTING = 0.7
"""The same for settings, whose other words say of what they are one."""
_ARTICLES = frozenset({"the", "our", "this", "that", "all", "there", "every", "each"})
_MOST_OF_ONE = 40
"""Statements with one attribute that are compared."""


class Disagreement(Struct, frozen=True):
    """Two memories of different stores, and the values that they give."""

    one: Memory
    other: Memory
    attribute: str
    values: tuple[str, str]

    @property
    def message(self) -> str:
        return f"they disagree on {self.attribute}: {self.values[0]} or {self.values[1]}"


class _Claim(Struct, frozen=True):
    memory: Memory
    attribute: str
    value: str
    words: frozenset[str]
    names: frozenset[str]
    """Capitalised words of the text, in lower case."""
    is_setting: bool = False
    """The attribute is a word such as `port`, which many things have."""

    @property
    def entity(self) -> str:
        return self.memory.entity.rpartition("/")[2].lower()


def find_disagreements(memories: Sequence[Memory]) -> Iterator[Disagreement]:
    """The pairs of current statements of different stores that cannot both be right."""
    claims: defaultdict[str, list[_Claim]] = defaultdict(list)
    for memory in memories:
        if memory.kind in _KINDS and memory.status in CURRENT:
            for claim in _claims(memory):
                claims[claim.attribute].append(claim)
    found: set[tuple[str, str]] = set()
    for attribute, group in claims.items():
        if len({claim.memory.store for claim in group}) < 2:
            continue
        for at, one in enumerate(group[:_MOST_OF_ONE]):
            for other in group[at + 1 : _MOST_OF_ONE]:
                pair = one.memory.ref, other.memory.ref
                if pair not in found and _disagree(one, other):
                    found.add(pair)
                    values = one.value, other.value
                    yield Disagreement(one.memory, other.memory, attribute, values)


def _disagree(one: _Claim, other: _Claim) -> bool:
    if one.memory.store == other.memory.store or one.value == other.value:
        return False
    if one.names and other.names and not one.names & other.names:
        return False
    if one.value in other.value.split() or other.value in one.value.split():
        return False
    if one.is_setting:
        return jaccard(one.words, other.words) >= _LIKE_OF_SETTING
    is_one_entity = one.names & other.names or one.entity == other.entity
    return (bool(is_one_entity) and jaccard(one.words, other.words) >= _LIKE_OF_ONE) or (
        jaccard(one.words, other.words) >= _LIKE
    )


def _claims(memory: Memory) -> Iterator[_Claim]:
    text = memory.content if len(memory.content) <= 400 else ""
    if not text or "\n" in text.strip() or len(text.split()) > _BOUND or _ONCE.search(text):
        return
    names = frozenset(name.lower() for name in _NAME.findall(text)) - _ARTICLES
    words = stems_of(text)
    counted = list(_COUNTED.finditer(text))
    if len(counted) == 1:
        noun = stem(counted[0][2].split()[-1].lower())
        setting = _SETTING.search(text[: counted[0].start()])
        if not setting and noun not in _ARTICLES and not _MEASURED.match(noun):
            number = counted[0][1].replace(",", "").replace(".", "")
            yield _Claim(memory, noun, number, words - {noun, counted[0][1]}, names)
    numbers = list(_NUMBER.finditer(text))
    setting = _SETTING.search(text[: numbers[0].start()]) if len(numbers) == 1 else None
    if setting is not None:
        rest = words - {stem(setting[1].lower()), numbers[0][0]}
        yield _Claim(memory, setting[1].lower(), numbers[0][0], rest, names, is_setting=True)
    for found in _IS.finditer(text) if not counted else ():
        subject = stems_of(found[1])
        if len(subject) >= 2 and not re.search(r"\d", found[2]):
            yield _Claim(memory, " ".join(sorted(subject)), found[2].lower(), subject, frozenset())


def differing_numbers(one: str, other: str) -> tuple[str, tuple[str, str]] | None:
    """What two passages of much the same words count, and the numbers that each alone has.

    Returns:
        The setting before the number (`port`), or the word after it (`towers`) or before it, and
        the numbers of either side; None if not each has a number that the other lacks.
    """
    found = [list(_NUMBER.finditer(text)) for text in (one, other)]
    only = [
        [each for each in mine if each[0] not in {its[0] for its in theirs}]
        for mine, theirs in (found, found[::-1])
    ]
    if not all(only):
        return None
    first = only[0][0]
    setting = _SETTING.search(one[: first.start()])
    after = re.match(r"\W*([^\W\d_]{3,})", one[first.end() :])
    before = re.search(r"([^\W\d_]{3,})\W*$", one[: first.start()])
    word = next((each[1].lower() for each in (setting, after, before) if each), "a number")
    values = (", ".join(dict.fromkeys(each[0] for each in numbers)) for numbers in only)
    return word, (next(values), next(values))
