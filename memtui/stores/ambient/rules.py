"""The rules by which a new decision supersedes an old one (src/memory/store.ts).

Decisions only; the keywords of both texts are compared by Jaccard, and the best match over the
limit goes. The document beside the program says that "use" and "for" count; they are stop words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from memtui.errors import Refused
from memtui.model import Memory
from memtui.stores.upkeep_rules import Compaction, Expiry, UpkeepRules

DECISION = "decision"
_STOP_WORDS = """
    a an the is are was were be been being have has had do does did will would could should may
    might shall can need dare ought i me my you your we our they them their its it he she him her
    his this that these those what which who whom where when how why and or but not no if then else
    so than too very just about above after again all also am any as at back because before between
    by both came come each even for from get got go going here in into know let like look make many
    more most much of on only other out over re really right said same see some still such take
    tell through to up us use want way well with yes yet remember memories memory everything
    anything something hey hi hello please thanks
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""src/memory/store.ts:230-248."""

_NO_KEYWORD = re.compile(r"[^a-z0-9\s-]")


@dataclass(frozen=True, slots=True)
class EventRules:
    """The constants of the rules; config.toml can set each."""

    overlap: float = 0.4
    """Jaccard of keywords over which an old decision is superseded (store.ts:110-115)."""
    fewest: int = 2
    """Keywords a new text needs before it is compared at all (store.ts:277-305)."""
    shortest_word: int = 3
    """Letters of a keyword (store.ts:259)."""
    longest: int = 1000
    """UTF-16 units of a text; Ambient cuts the rest off."""
    project_limit: int = 200
    """Events of project.json beyond which Ambient drops old ones (store.ts:20)."""
    task_limit: int = 500
    """The same for a branch (store.ts:21)."""
    stop_words: frozenset[str] = field(default=STOP_WORDS, repr=False)


def keywords(text: str, rules: EventRules) -> frozenset[str]:
    """The set of words that similarity compares."""
    plain = _NO_KEYWORD.sub(" ", text.lower())
    return frozenset(
        word
        for word in plain.split()
        if len(word) >= rules.shortest_word and word not in rules.stop_words
    )


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Jaccard of two keyword sets; 0 when either is empty."""
    if not one or not other:
        return 0.0
    return len(one & other) / len(one | other)


def find_superseded(
    content: str, events: Iterable[tuple[str, Mapping[str, Any]]], rules: EventRules
) -> tuple[str, float] | None:
    """The id of the decision in one file that the text would replace, and their similarity."""
    mine = keywords(content, rules)
    if len(mine) < rules.fewest:
        return None
    best: tuple[str, float] | None = None
    for id, value in events:
        if value.get("type") != DECISION or not isinstance(value.get("content"), str):
            continue
        score = overlap(mine, keywords(value["content"], rules))
        if score > rules.overlap and (best is None or score > best[1]):
            best = (id, score)
    return best


def utf16_length(text: str) -> int:
    """The length of a text as JavaScript counts it."""
    return len(text) + sum(1 for letter in text if ord(letter) > 0xFFFF)


def fit_content(content: str, rules: EventRules, force: bool) -> tuple[str, str]:
    """Cut the text to Ambient's limit; also a warning when it was cut.

    Ambient cuts without a word; here that needs `force`, and no character is cut in half. Raises
    Refused.
    """
    length = utf16_length(content)
    if length <= rules.longest:
        return content, ""
    if not force:
        raise Refused(
            f"Ambient holds {rules.longest} characters of a memory, this has {length}",
            do="shorten it, or say --force to have it cut",
        )
    kept, units = [], 0
    for letter in content:
        units += utf16_length(letter)
        if units > rules.longest:
            break
        kept.append(letter)
    return "".join(kept), f"the text was cut to {rules.longest} characters"


COMPACTION = Compaction(
    limits=(("project", 40), ("branch", 80)),
    batch=0.8,
    source="Ambient, memory guide, Compaction",
)
"""The guide's limits; the program's own are 150 and 400 (src/memory/compact.ts:10-98), of which it
summarises the oldest 120 and 300: 0.8 and 0.75 of the limit."""
EXPIRY = Expiry(days=90, archived_days=7, source="Ambient, memory guide, TTL")


def upkeep_rules(store: Any) -> UpkeepRules:
    """The rules for tidying the events of an open store."""
    rules: EventRules = store.rules

    def replaces(older: Memory, newer: Memory) -> str:
        if older.type != DECISION or newer.type != DECISION:
            return ""
        mine = keywords(newer.content, rules)
        score = overlap(mine, keywords(older.content, rules))
        if len(mine) < rules.fewest or score <= rules.overlap:
            return ""
        return f"{score:.0%} of the keywords of two decisions are the same"

    return UpkeepRules(
        replaces=replaces,
        replacement_source="Ambient, src/memory/store.ts:277-305",
        compaction=COMPACTION,
        expiry=EXPIRY,
    )
