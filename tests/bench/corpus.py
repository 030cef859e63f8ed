"""Invented memories in any number, always the same: words by Zipf's law, short facts, long notes.

    python -m tests.bench.corpus agent-memory 33000 /tmp/store
    python -m tests.bench.corpus ambient 33000 /tmp/store

Word lengths, the share of rare words (ids, paths, camelCase names) and of long notes follow what
agents write: half of the facts have 10 to 30 words, one memory in fifty is a note of 300 to 2,000.
"""

from __future__ import annotations

import argparse
import json
import random
import uuid
from bisect import bisect
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate, islice
from pathlib import Path

from memtui.model import Memory
from memtui.search.documents import IndexedDocument

SEED = 7
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
NOTE_SHARE = 0.02
TYPES = ("decision", "bugfix", "preference", "person", "goal", "")
IMPORTANCES = ("high", "medium", "medium", "medium", "low")
STATUSES = ("active",) * 8 + ("superseded", "retired")

_SYLLABLES = """
    ba be bi bo bu ca ce co cu da de di do du fa fe fi fo ga ge gi go ha he hi ho ja jo ka ke ki ko
    la le li lo lu ma me mi mo mu na ne ni no nu pa pe pi po pu ra re ri ro ru sa se si so su ta te
    ti to tu va ve vi vo wa we wi wo za ze zo bri cra dro fla gre pla pro sha sta stra thi tra tri
    cle blo
"""
_ENDINGS = ("", "", "", "s", "ed", "ing", "er", "ion", "ly", "ment", "able")
_COMMON = """
    the of and to in is for that with on we it as was by not from this are be at or use when memory
    agent config deploy error test user server cache token index query service update build release
    branch review session timeout queue retry schema table database login payment
"""


class Words:
    """A vocabulary that is drawn from by Zipf's law."""

    def __init__(self, size: int, seed: int = SEED) -> None:
        source = random.Random(seed)
        self.random = random.Random(seed + 1)
        words = dict.fromkeys(_COMMON.split())
        syllables = _SYLLABLES.split()
        while len(words) < size:
            stem = "".join(source.choices(syllables, k=source.choice((1, 2, 2, 3, 3, 4))))
            words[stem + source.choice(_ENDINGS)] = None
        self.words = list(words)
        self._sums = list(accumulate(1 / (rank + 2.7) for rank in range(len(self.words))))

    def word(self) -> str:
        pick = self.random.random()
        if pick < 0.02:
            return self._rare()
        return self.words[bisect(self._sums, self.random.random() * self._sums[-1])]

    def _rare(self) -> str:
        """A name as programs have them."""
        draw = self.random
        one, other = draw.choice(self.words), draw.choice(self.words)
        return draw.choice(
            (
                f"{one}_{other}",
                f"{one}-{other}",
                f"{one}{other.capitalize()}",
                f"src/{one}/{other}.py",
                f"#{draw.randrange(9999)}",
                f"{draw.randrange(9)}.{draw.randrange(30)}.{draw.randrange(9)}",
                f"{draw.getrandbits(28):07x}",
                "Zürich",
                "東京都",
            )
        )

    def drawn(self, count: int) -> list[str]:
        """So many words at once, none of them rare."""
        return self.random.choices(self.words, cum_weights=self._sums, k=count)

    def text(self, length: int) -> str:
        pieces = []
        for at in range(length):
            word = self.word()
            pieces.append(word.capitalize() if at % 12 == 0 else word)
            if at % 12 == 11:
                pieces[-1] += "."
        return " ".join(pieces)


def memories(count: int, seed: int = SEED) -> Iterator[Memory]:
    """`count` memories of an agent-memory store, newest last."""
    words = Words(min(200_000, 6_000 + count), seed)
    draw = random.Random(seed + 2)
    names = [words.words[at] for at in range(60, 60 + max(4, min(2_000, count // 40)))]
    step = timedelta(days=700) / max(count, 1)
    for number in range(count):
        note = draw.random() < NOTE_SHARE
        length = draw.randint(300, 2000) if note else draw.choice((8, 12, 15, 20, 20, 25, 30, 40))
        time = NOW - timedelta(days=700) + number * step
        entity = f"{draw.choice(('people', 'projects', 'areas'))}/{draw.choice(names)}"
        native = str(uuid.UUID(int=draw.getrandbits(128), version=4))
        yield Memory(
            ref=f"bench:{native}",
            id=native,
            store="bench",
            kind="note" if note else "fact",
            type=draw.choice(TYPES),
            title=words.text(5) if note else "",
            content=words.text(length),
            entity=entity,
            created=time,
            importance=draw.choice(IMPORTANCES),
            status=draw.choice(STATUSES),
            tags=(words.word(),) if draw.random() < 0.2 else (),
            source="conversation",
        )


def contents(count: int, seed: int = SEED) -> list[str]:
    """The texts of `count` short facts, made ten times faster than `memories` and as varied."""
    words = Words(20_000, seed)
    lengths = random.Random(seed + 4).choices((8, 12, 15, 20, 20, 25, 30, 40), k=count)
    drawn = iter(words.drawn(sum(lengths)))
    return [" ".join(islice(drawn, length)) for length in lengths]


def keystrokes(found: Sequence[IndexedDocument], people: int = 40, seed: int = SEED) -> list[str]:
    """What 40 people type, one to three words each, at every letter from the second."""
    draw = random.Random(seed + 3)
    typed = []
    for _ in range(people):
        line = ""
        for _ in range(draw.randint(1, 3)):
            text = draw.choice(found).content.lower().split()
            word = next((w for w in draw.sample(text, len(text)) if len(w) > 3), text[0])
            start = len(line)
            line += word.strip(".") + " "
            typed += [line[:end] for end in range(start + 2, len(line))]
    return typed


def _iso(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def write_agent_memory(folder: Path, count: int) -> None:
    """A folder as agent-memory writes it: MEMORY.md, and in memory/ one items.json per entity."""
    entities: dict[str, list[Memory]] = {}
    for memory in memories(count):
        entities.setdefault(memory.entity.replace("/", "-"), []).append(memory)
    for slug, held in entities.items():
        home = folder / "memory" / "entities" / slug
        home.mkdir(parents=True)
        facts = [
            {
                "id": memory.id,
                "content": memory.content,
                "source": memory.source,
                "sourceRef": "",
                "entityType": memory.type or "project",
                "createdAt": _iso(memory.created or NOW),
                "status": "active" if memory.status == "active" else "historical",
                "supersedes": None,
            }
            for memory in held
        ]
        text = json.dumps(facts, indent=2, ensure_ascii=False) + "\n"
        (home / "items.json").write_text(text, encoding="utf-8")
        (home / "summary.md").write_text(f"# {slug}\n\n## Current\n\n", encoding="utf-8")
    for name in ("checkpoints", "metrics", "logs", "pipelines"):
        (folder / "memory" / name).mkdir()
    (folder / "MEMORY.md").write_text("# Memory\n", encoding="utf-8")


def write_facts(folder: Path, texts: Sequence[str], each: int = 300) -> None:
    """An agent-memory home of these facts, a minute apart, the last one the newest."""
    first = NOW - timedelta(minutes=len(texts))
    for start in range(0, len(texts), each):
        home = folder / "entities" / f"place-{start // each:04}"
        home.mkdir(parents=True)
        facts = [
            {
                "id": f"{number:08x}-0000-4000-8000-000000000000",
                "content": texts[number],
                "createdAt": _iso(first + timedelta(minutes=number)),
                "status": "active",
                "supersedes": None,
            }
            for number in range(start, min(start + each, len(texts)))
        ]
        (home / "items.json").write_text(json.dumps(facts), encoding="utf-8")


def write_ambient(folder: Path, count: int) -> None:
    """A tree as Ambient writes it: projects of at most 200 events, its own limit."""
    held = list(memories(count))
    types = ("decision", "error-resolution", "task-update", "file-context", "session-summary")
    for at in range(0, len(held), 200):
        key = f"{at:016x}"
        home = folder / "memory" / "projects" / key
        home.mkdir(parents=True)
        events = [
            {
                "id": memory.id,
                "type": types[len(memory.content) % len(types)],
                "timestamp": int((memory.created or NOW).timestamp() * 1000),
                "content": memory.content[:1000],
                "importance": memory.importance,
            }
            for memory in held[at : at + 200]
        ]
        project = {
            "projectKey": key,
            "projectName": f"bench-{at // 200}",
            "origin": f"git@example.org:bench/{at // 200}.git",
            "createdAt": events[0]["timestamp"],
            "lastActive": events[-1]["timestamp"],
            "events": events,
        }
        text = json.dumps(project, indent=2, ensure_ascii=False)
        (home / "project.json").write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("format", choices=("agent-memory", "ambient"))
    parser.add_argument("count", type=int)
    parser.add_argument("folder", type=Path)
    wanted = parser.parse_args()
    write = write_agent_memory if wanted.format == "agent-memory" else write_ambient
    write(wanted.folder, wanted.count)


if __name__ == "__main__":
    main()
