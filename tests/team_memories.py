"""Generated memories of a team, and how they come into a database quickly."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
from psycopg.types.json import Jsonb

from memtui.model import STATUSES, Memory
from memtui.team.rows import from_memory
from memtui.team.words import to_tsvector

BEGIN = datetime(2024, 11, 1, tzinfo=UTC)
SECONDS = 2 * 365 * 86_400
TYPES = ("decision", "bugfix", "Convention", "person", "incident", "howto", "policy", "preference",
         "discovery", "architecture", "todo", "")  # fmt: skip
_SYLLABLES = [c + v + e for c in "bdfgklmnprstvz" for v in "aeiou" for e in ("", "n", "r", "st")]
TAGS = ("release", "Backend", "ops", "security", "ui", "data")


def sentences() -> list[list[str]]:
    """The sentences of memtui's own documentation, as words."""
    pages = sorted((Path(__file__).parents[1] / "docs").glob("*.md"))
    text = " ".join(path.read_text() for path in pages)
    found = [part.split() for part in re.split(r"(?<=[.!?])\s+", text)]
    return [words[:30] for words in found if len(words) >= 5]


def generate(number: int, seed: int = 1, label: str = "team", first: int = 0) -> Iterator[Memory]:
    """Memories with a head of common words and a tail of names, numbers and hashes."""
    chance = random.Random(seed)
    known = sentences()
    for at in range(first, first + number):
        one, other = chance.choice(known), chance.choice(known)
        cut = chance.randrange(2, 12)
        words = one[:cut] + other[-(16 - cut) :]
        for _ in range(2):
            words.insert(chance.randrange(len(words)), _rare(chance))
        entity = min(int(chance.paretovariate(0.6)), 20_000)
        created = BEGIN + timedelta(seconds=chance.random() * SECONDS)
        yield Memory(
            ref=f"{label}:{at:08x}",
            id=f"{at:08x}",
            store=label,
            kind=chance.choice(("fact", "note", "observation")),
            type=TYPES[min(int(chance.expovariate(0.4)), 11)],
            title=" ".join(other[:4]) if at % 3 == 0 else "",
            content=" ".join(words),
            entity=f"{_name(entity % 97)}/{_name(entity)}" if entity % 5 else _name(entity % 97),
            created=created,
            updated=created + timedelta(seconds=int(chance.paretovariate(0.5)) % 900_000),
            importance=chance.choices(("high", "medium", "low"), (1, 6, 3))[0],
            confidence=chance.choice((None, 0.25, 0.5, 1.0)),
            status=chance.choices(STATUSES[:4], (90, 3, 4, 3))[0],
            pinned=chance.random() < 0.01,
            tags=tuple(chance.sample(TAGS, chance.choice((0, 0, 0, 1, 2)))),
            source=chance.choice(("", "session", f"user{int(chance.paretovariate(0.7)) % 300}")),
        )  # fmt: skip


def _rare(chance: random.Random) -> str:
    match chance.randrange(5):
        case 0:
            return f"OPS-{chance.randrange(100_000)}"
        case 1:
            return f"src/{_name(chance.randrange(4_000))}_{_name(chance.randrange(300))}.py"
        case 2:
            return f"{chance.getrandbits(28):07x}"
        case 3:
            return f"get{_name(chance.randrange(900)).title()}ById"
    return _name(min(int(chance.paretovariate(0.4)), 3_000_000))


def _name(number: int) -> str:
    name = ""
    while True:
        number, at = divmod(number, len(_SYLLABLES))
        name += _SYLLABLES[at]
        if not number:
            return name


def copy_memories(
    connection: psycopg.Connection, memories: Iterable[Memory], team: str = "core"
) -> None:
    """Put memories into the table with COPY."""
    names: list[str] = []
    with connection.cursor() as cursor:
        for memory in memories:
            row = {**from_memory(memory), "author": memory.source or "anna", "team": team}
            row |= {"extra": Jsonb(row["extra"]), "words": to_tsvector(memory)}
            if not names:
                names = list(row)
                copying = cursor.copy(f"copy memtui.memories ({', '.join(names)}) from stdin")
                copy = copying.__enter__()
            copy.write_row(row.values())
        if names:
            copying.__exit__(None, None, None)
