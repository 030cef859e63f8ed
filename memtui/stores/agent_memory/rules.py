"""The rules by which agent-memory accepts a new fact (add-fact-validated.sh).

In its order: long enough, nothing passing or vague, not said already, and what it contradicts.
Letters are folded as `tr` does it: A to Z only, and any byte that is no ASCII letter or digit
parts words. Facts are compared only when their status is exactly `active`, as the program does.

Two differences from the program are deliberate. It takes any two texts without an ASCII letter or
digit for duplicates (both have the empty set of words): here only equal ones are. And it may add a
text of several lines again, because it compares with each line alone: here a text that is there
word for word is a duplicate, whatever its alphabet and its lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from memtui.model import Memory
from memtui.stores.format import UpkeepRules

_WORD = re.compile(r"[a-z0-9]+")
_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


def _phrases(text: str) -> tuple[str, ...]:
    """Phrases between commas."""
    return tuple(" ".join(phrase.split()) for phrase in text.split(","))


class FactRules(Struct, frozen=True):
    """The constants of the rules; config.toml can set each."""

    shortest: int = 15
    """Characters (add-fact-validated.sh:131)."""
    similar: float = 0.7
    """Jaccard of words from which a fact counts as said already (:97). It is compared after
    rounding to two places (:91), so that 0.695 is enough."""
    transient: tuple[str, ...] = _phrases(
        """is tired, is busy, is working on, had lunch, had dinner, had breakfast, is eating,
        feels like, seems like, might be, maybe, probably, i think, not sure, is going to,
        plans to, wants to, thinking about, considering"""
    )
    """Phrases that mark a fact as transient (:104-124)."""
    anchors: tuple[str, ...] = _phrases(
        """works at, employed at, employed by, job at, position at, role at, lives in, lives at,
        address:, address is, moved to, email:, email is, phone:, phone is, phone number,
        title is, title:, married to, partner is, dating, uses browser, uses editor,
        switched to, started using"""
    )
    """Wordings of which one person has one truth at a time (:178-245)."""


def folded(text: str) -> str:
    return text.translate(_LOWER)


def words(text: str) -> frozenset[str]:
    """The set of words that similarity compares."""
    return frozenset(_WORD.findall(folded(text)))


def similarity(first: str, second: str) -> float:
    """Jaccard similarity of the texts' words, rounded to two places as the program prints it."""
    if first.strip() == second.strip():
        return 1.0
    first_words, second_words = words(first), words(second)
    union = first_words | second_words
    return float(f"{len(first_words & second_words) / len(union):.2f}") if union else 0.0


def broken_rule(content: str, rules: FactRules) -> str:
    """Why the program would reject the text, in its own words; empty when it would not."""
    if len(content) < rules.shortest:
        return f"Fact too short ({len(content)} chars < {rules.shortest} minimum)"
    text = folded(content)
    for pattern in rules.transient:
        if pattern in text:
            return f"Contains transient/vague pattern: '{pattern}'"
    return ""


def repetition(content: str, existing: str) -> float:
    """Similarity of a new text to a fact: that of the most similar line of the fact.

    The program prints the facts' texts and reads them line by line (:159-169), so that a fact of
    several lines is several texts to it.
    """
    lines = [line for line in existing.split("\n") if line]
    scores = [similarity(content, text) for text in (lines or [existing])]
    return 1.0 if content.strip() == existing.strip() else max(scores)


def most_similar(
    content: str, facts: Iterable[Memory], rules: FactRules
) -> tuple[Memory, float] | None:
    """The most similar active fact at or above the limit, and its similarity."""
    closest: tuple[Memory, float] | None = None
    for fact in facts:
        score = repetition(content, fact.content)
        if score >= rules.similar and (closest is None or score > closest[1]):
            closest = (fact, score)
    return closest


def contradicted(
    content: str, facts: Iterable[Memory], rules: FactRules
) -> list[tuple[Memory, str]]:
    """The active facts that share an anchor with the text but are not similar, with the anchor.

    In the order of the file, each once with its first anchor: the program goes over the facts, and
    over the anchors within each (:229-244). The last fact is what it leaves in `supersedes`.
    """
    text = folded(content)
    anchors = [anchor for anchor in rules.anchors if anchor in text]
    found: list[tuple[Memory, str]] = []
    for fact in facts if anchors else ():
        fact_text = folded(fact.content)
        shared = next((anchor for anchor in anchors if anchor in fact_text), None)
        if shared is not None and similarity(content, fact.content) < rules.similar:
            found.append((fact, shared))
    return found


def upkeep_rules(rules: FactRules) -> UpkeepRules:
    """The rules for tidying facts."""

    def subjects(memory: Memory) -> list[str]:
        text = folded(memory.content)
        return [anchor for anchor in rules.anchors if anchor in text]

    def contradicts(older: Memory, newer: Memory) -> str:
        if older.kind != "fact" or newer.kind != "fact" or older.entity != newer.entity:
            return ""
        found = contradicted(newer.content, [older], rules)
        return f"both say {found[0][1]!r}, and are not the same" if found else ""

    return UpkeepRules(
        subjects=subjects,
        contradicts=contradicts,
        contradiction_source="agent-memory, add-fact-validated.sh:178-245",
        shortens_history=True,
    )
