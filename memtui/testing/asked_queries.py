"""Random search lines over generated memories: words that occur, filters, groups, hostile signs."""

from __future__ import annotations

import random
from collections.abc import Sequence

from memtui.model import Memory

_FILTERS = (
    "type:decision", "type:bugfix,convention", "-type:todo", "type:dec*", "type:untyped",
    "-type:untyped", "importance:high", "importance:>=medium", "status:all", "status:retired",
    "-status:active", "kind:fact", "-kind:note", "pinned:yes", "pinned:no", "is:pinned",
    "tag:release", "tag:Backend,ops", "-tag:ui", "tag:sec*", "has:tags", "has:links", "has:history",
    "is:stale", "is:superseded", "since:200d", "until:2025-12-01", "created:2025-06",
    "updated:2025-03..2025-07", "after:2026-01", "before:2025-02-03", "confidence:>0.4",
    "confidence:0.25", "-confidence:>0.4", "store:team", "-store:team", "store:te*", "id:0000",
    "id:team:00001", "source:session", "source:user1", "title:memory", "content:store",
    "content:100%", "content:a*e", "content:_", "/stor(e|y)/", "/[0-9]+ MB/",
)  # fmt: skip
_HOSTILE = (
    *("%", "\\", "'", "''", "a'b", "a & b", "!x", "x:*", "<->", "(", ")", "a\\'b", "%s", "%(x)s"),
    *("100%", "_", "\0", "\ud800", "$1", "-- x", "; drop", "|", "'a':1A", '"a\'b"', "ſ", "İ"),
    *("東京", "naïve", "🚀", "->", "[x]", "**", "C++", "c#", "v2.7.4", "don't", "#", "/", "="),
)


def random_line(chance: random.Random, memories: Sequence[Memory]) -> str:
    """A search line of one to four parts, and maybe an order."""
    parts = [_part(chance, memories, 2) for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 4)))]
    if chance.random() < 0.5:
        parts.append(f"sort:{chance.choice(('new', 'old', 'importance'))}")
    return " ".join(parts)


def _part(chance: random.Random, memories: Sequence[Memory], depth: int) -> str:
    memory = chance.choice(memories)
    words = memory.content.split()
    word = chance.choice(words)
    match chance.randrange(14):
        case 0 | 1 | 2 | 3:
            return word
        case 4:
            return f"-{word}"
        case 5:
            return f"{word[: chance.randrange(1, 6)]}*"
        case 6:
            at = chance.randrange(len(words))
            return f'"{" ".join(words[at : at + chance.randrange(1, 4)])}"'.replace('""', "")
        case 7 | 8 | 9:
            return chance.choice(_FILTERS)
        case 10:
            names = [memory.entity, *memory.entity.split("/"), f"{memory.entity[:3]}*"]
            return f"{chance.choice(('', '-'))}entity:{chance.choice(names)}"
        case 11 if depth:
            inner = [_part(chance, memories, depth - 1) for _ in range(chance.randrange(2, 4))]
            joined = chance.choice((" ", " OR ", " AND ")).join(inner)
            return f"{chance.choice(('', '', 'NOT '))}({joined})"
        case 12:
            return chance.choice(_HOSTILE)
    return word.lower()
