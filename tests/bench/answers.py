"""Does a change to the index change an answer? `python -m tests.bench.answers`.

5,000 random queries over all sample stores, opened together with an index: words and beginnings,
phrases, patterns, misspelt and excluded words, groups and filters, made of the texts. Of each the
first 200 memories with their scores, in order, the number of all, and what was said of words that
occur nowhere.

    write FILE      write the answers, one a line
    compare FILE    compare with what was written by another version; names each query that differs
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memtui.library import Library
from memtui.query import parse_query
from tests.samples import NOW, copy_samples

QUERIES = 5_000
SEED = 20261129
DEPTH = 200
"""Memories of an answer that are compared."""
SCORE_DIGITS = 4
SHOWN = 40
"""Queries with another answer that are named."""
_WORD = re.compile(r"[^\s]+")
_FILTERS = ("", "", "", "", "status:all", "type:decision", "sort:created", "-status:retired")


@contextmanager
def open_all() -> Iterator[Library]:
    """A copy of all sample stores, open together, indexed on disk and opened again from there."""
    with tempfile.TemporaryDirectory() as name:
        roots = copy_samples(Path(name) / "samples")
        for _ in range(2):
            library = Library.open(roots, cache=Path(name) / "cache", state=None, now=lambda: NOW)
            library.load()
            library.index()
        yield library
        library.close()
        shutil.rmtree(name, ignore_errors=True)


def make_queries(texts: Sequence[str], count: int, seed: int = SEED) -> list[str]:
    """Random queries made of these texts; the same for the same texts."""
    draw = random.Random(seed)
    words = [_WORD.findall(text) for text in texts]
    words = [found for found in words if found]
    return [" ".join(_make_parts(draw, words)) for _ in range(count)]


def _make_parts(draw: random.Random, words: Sequence[Sequence[str]]) -> Iterator[str]:
    text = draw.choice(words)
    for _ in range(draw.choice((1, 1, 2, 2, 3, 5))):
        if draw.random() < 0.3:
            text = draw.choice(words)
        at = draw.randrange(len(text))
        word = text[at]
        match draw.randrange(12):
            case 0 | 1:
                yield f"{word[: draw.randint(1, len(word))]}*"
            case 2 | 3:
                run = " ".join(text[at : at + draw.randint(1, 4)]).replace('"', "")
                yield f'"{run}"'
            case 4:
                cut = draw.randint(0, len(word))
                yield word[:cut] + draw.choice("*?") + word[cut + draw.randint(0, 2) :]
            case 5:
                cut = draw.randrange(len(word))
                yield word[:cut] + draw.choice("abcdefg") + word[cut + draw.randint(0, 1) :] + "~"
            case 6:
                cut = draw.randrange(len(word))
                yield word[:cut] + draw.choice("abcdefg") + word[cut + draw.randint(0, 1) :]
            case 7:
                yield f"-{word}"
            case 8:
                yield f"({word} OR {draw.choice(draw.choice(words))})"
            case 9:
                yield word[: draw.randint(1, len(word))]
            case _:
                yield word
    if wanted := draw.choice(_FILTERS):
        yield wanted


def answer(library: Library, query: str, *, typing: bool) -> dict[str, Any]:
    """What a query finds."""
    found = library.find(parse_query(query, NOW, typing=typing))
    slots = found.slots[:DEPTH]
    scores = found.scores if found.scores is not None else [0.0] * len(slots)
    return {
        "query": query,
        "typing": typing,
        "total": found.total,
        "refs": [found.rows[slot].ref for slot in slots],
        "scores": [round(float(score), SCORE_DIGITS) for score in scores[: len(slots)]],
        "missing": list(found.missing),
        "hint": found.hint,
    }


def run(count: int) -> Iterator[dict[str, Any]]:
    """The answers to all queries; every second is asked as it is while it is typed."""
    with open_all() as library:
        memories = sorted(library.snapshot.rows, key=lambda memory: memory.ref)
        texts = [text for memory in memories for text in (memory.title, memory.content) if text]
        for at, query in enumerate(make_queries(texts, count)):
            yield answer(library, query, typing=at % 2 == 1)


def compare(file: Path, count: int) -> int:
    """Print what differs from the answers in a file; returns how many queries do."""
    differing = 0
    kinds: dict[str, int] = {}
    with file.open(encoding="utf-8") as lines:
        for line, now in zip(lines, run(count), strict=True):
            before = json.loads(line)
            now = json.loads(json.dumps(now))
            names = [name for name in before if before[name] != now[name]]
            if not names:
                continue
            differing += 1
            for name in names:
                kinds[name] = kinds.get(name, 0) + 1
            if differing <= SHOWN:
                print(f"{', '.join(names)}: {before['query']}")
                for name in names:
                    if name not in ("refs", "scores"):
                        print(f"    {name}: {before[name]} -> {now[name]}")
    print(f"{count:,} queries, {differing:,} with another answer {kinds or ''}")
    return differing


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("write", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--queries", type=int, default=QUERIES)
    options = parser.parse_args()
    if options.what == "compare":
        return int(compare(options.file, options.queries) > 0)
    with options.file.open("w", encoding="utf-8") as out:
        for each in run(options.queries):
            out.write(json.dumps(each) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
