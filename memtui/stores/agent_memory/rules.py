"""What agent-memory asks of a new fact before it writes it down (add-fact-validated.sh).

In its order: long enough, nothing passing or vague, not said already, and what it contradicts.
Letters are folded as `tr` does it: A to Z only, and any byte that is no ASCII letter or digit
parts words. One thing is added: a text that is already there word for word is a duplicate in any
script, though the program, which sees no words in it, would add it again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from memtui.model import Memory

_WORD = re.compile(r"[a-z0-9]+")
_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


@dataclass(frozen=True, slots=True)
class Rules:
    """The constants; each can be set otherwise."""

    shortest: int = 15
    """Characters (add-fact-validated.sh:131)."""
    similar: float = 0.7
    """Jaccard of words from which a fact counts as said already (:97). It is compared after
    rounding to two places (:91), so that 0.695 is enough."""
    transient: tuple[str, ...] = (
        "is tired",
        "is busy",
        "is working on",
        "had lunch",
        "had dinner",
        "had breakfast",
        "is eating",
        "feels like",
        "seems like",
        "might be",
        "maybe",
        "probably",
        "i think",
        "not sure",
        "is going to",
        "plans to",
        "wants to",
        "thinking about",
        "considering",
    )
    """Parts of a text that say it will not last (:104-124)."""
    anchors: tuple[str, ...] = (
        "works at",
        "employed at",
        "employed by",
        "job at",
        "position at",
        "role at",
        "lives in",
        "lives at",
        "address:",
        "address is",
        "moved to",
        "email:",
        "email is",
        "phone:",
        "phone is",
        "phone number",
        "title is",
        "title:",
        "married to",
        "partner is",
        "dating",
        "uses browser",
        "uses editor",
        "switched to",
        "started using",
    )
    """Wordings of which one person has one truth at a time (:178-245)."""


def folded(text: str) -> str:
    return text.translate(_LOWER)


def words(text: str) -> frozenset[str]:
    """The set of words that similarity compares."""
    return frozenset(_WORD.findall(folded(text)))


def similarity(one: str, other: str) -> float:
    """Jaccard of the two texts' words, rounded to two places as the program prints it."""
    if one.strip() == other.strip():
        return 1.0
    mine, theirs = words(one), words(other)
    union = mine | theirs
    return float(f"{len(mine & theirs) / len(union):.2f}") if union else 0.0


def broken_rule(content: str, rules: Rules) -> str:
    """Why the text would be rejected, in the program's words; empty when it would not."""
    if len(content) < rules.shortest:
        return f"Fact too short ({len(content)} chars < {rules.shortest} minimum)"
    text = folded(content)
    for pattern in rules.transient:
        if pattern in text:
            return f"Contains transient/vague pattern: '{pattern}'"
    return ""


def most_similar(
    content: str, facts: Iterable[Memory], rules: Rules
) -> tuple[Memory, float] | None:
    """The active fact that says the same, if one does, and how similar it is."""
    best: tuple[Memory, float] | None = None
    for fact in facts:
        score = similarity(content, fact.content)
        if score >= rules.similar and (best is None or score > best[1]):
            best = (fact, score)
    return best


def contradicted(content: str, facts: Iterable[Memory], rules: Rules) -> list[tuple[Memory, str]]:
    """The active facts that share an anchor with the text and are not similar, with the anchor.

    Anchor by anchor, then in the order of the file; a fact stands where its last anchor hit, since
    the last one is what the program leaves in `supersedes`.
    """
    facts, text = list(facts), folded(content)
    found: dict[str, tuple[Memory, str]] = {}
    for anchor in rules.anchors:
        if anchor not in text:
            continue
        for fact in facts:
            if anchor in folded(fact.content) and similarity(content, fact.content) < rules.similar:
                found.pop(fact.id, None)
                found[fact.id] = (fact, anchor)
    return list(found.values())
