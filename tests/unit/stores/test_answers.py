"""Which changes that are wrong, odd or not possible a format refuses, before anything is written.

`answers.json` has how often each act is refused, and how many edits, warnings and memories the
others have. `python -m tests.unit.stores.test_answers` records it anew; `... NAME` prints the
answer to each change of a format. Every difference should be one that a person would want.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memtui.changes import Act, Change
from memtui.errors import MemtuiError
from memtui.library import Library
from memtui.model import Memory
from memtui.stores.format import Format
from memtui.testing.fixtures import contents, memories, open_library, sample
from tests.formats import FORMATS

RECORDED = Path(__file__).with_name("answers.json")
HALF = "half \ud800 a character"
LONG = "word " * 12_000

EDITS: list[dict[str, Any]] = [
    *({"content": text} for text in ("", " ", HALF, LONG, "two\n\nparts", "§", "# a\n- b", 7)),
    *({"title": text} for text in ("", "two\nlines", "Another", HALF, 7)),
    *({"type": word} for word in ("", "no such", "policy", "two\nlines", "goal", HALF)),
    *({"importance": word} for word in ("", "urgent", "high", "low")),
    *({"entity": name} for name in ("", "a/b/c/d", "bell\x07", "elsewhere/place", "/", HALF)),
    *({"tags": tags} for tags in ("word", [" "], ["one", "one"], [])),
    *({"confidence": value} for value in (7, "x", 0.5)),
    {"colour": "red"},
    {"content": "<private>hidden</private> said"},
]
"""Fields of EDIT and ADD."""
IDS = (
    *("x", "../x.md", "a.md", "a.txt", ".git/a.md", "a.md#b", "MEMORY.md#x", "USER.md#x"),
    *("entities/a/summary.md", "2026-13-45.md", "2026-11-05.md", "sessions/x", "prompts/x"),
    *("memory/2026-11-05.md#x", "memory/notes/x.md#x", "SOUL.md", "GEMINI.md", "fact_x1"),
    *("extensions/ad_hoc/notes/x.md", "projects/none/memory/a.md", "skills/x/SKILL.md"),
)
"""Of imported memories."""
OTHERS: list[tuple[Act, dict[str, Any]]] = [
    *((Act.SUPERSEDE, {"content": text}) for text in ("", "An heir", HALF, LONG)),
    *(
        (act, {"relation": relation, "target": target})
        for act in (Act.LINK, Act.UNLINK)
        for relation in ("", "Has Capitals", "related", "supersedes", "two\nlines")
        for target in ("", "nowhere", "SELF", "OTHER", "ENTITY")
    ),
    *((Act.RATE, {"rating": value}) for value in (0, 1, 5, 6, "x")),
    *((Act.RETYPE, {"type": word}) for word in ("", "policy", "no such")),
    *((Act.MERGE, {"others": refs}) for refs in ([], ["SELF"], ["nowhere"], ["OTHER"], "x")),
    *((act, {}) for act in Act if act not in (Act.ADD, Act.EDIT)),
]


def changes(label: str, chosen: list[Memory], every: list[Memory]) -> Iterator[tuple[str, Change]]:
    entity = next((memory.entity for memory in every if memory.entity), "")
    for more in ({}, {"entity": ""}, {"kind": "note"}, {"kind": "episode", "title": "t"}):
        fields = {"content": "The rope is new", "entity": entity, **more}
        yield f"add {more}", Change(Act.ADD, label, "", fields)
    for more in EDITS:
        fields = {"content": "The rope is new", "entity": entity, **more}
        yield f"add {named(more)}", Change(Act.ADD, label, "", fields)
    for id in IDS:
        for kind in ("fact", "note", "document", "nothing"):
            fields = {"id": id, "kind": kind, "content": "The rope is new", "entity": entity}
            yield f"import {kind} {id}", Change(Act.ADD, label, "", fields)
        fields = {"id": id, "kind": "document", "content": "x", "document": "# x\n\ny\n"}
        yield f"import whole {id}", Change(Act.ADD, label, "", fields)
    for name in ("content", "title", "type", "entity"):
        fields = {"id": "x", "content": "The rope is new", "entity": entity, name: HALF}
        yield f"import half {name}", Change(Act.ADD, label, "", fields)
    for memory in chosen:
        about = f"{memory.kind} {memory.status}"
        other = next((m for m in every if m.kind == memory.kind and m.ref != memory.ref), memory)
        words = {"SELF": memory.id, "OTHER": other.id, "ENTITY": other.entity}
        for fields in EDITS:
            change = Change(Act.EDIT, label, memory.ref, fields)
            yield f"edit {about} {named(fields)}", change
        for act, asked in OTHERS:
            fields = {key: filled(value, words) for key, value in asked.items()}
            for force in (False, True)[: 1 + (act in (Act.DELETE, Act.SUPERSEDE))]:
                change = Change(act, label, memory.ref, fields, force=force)
                yield f"{act} {about} {named(asked)}{' by force' * force}", change


def filled(value: Any, words: dict[str, str]) -> Any:
    if isinstance(value, list):
        return [filled(item, words) for item in value]
    return words.get(value, value) if isinstance(value, str) else value


def named(fields: dict[str, Any]) -> str:
    return ", ".join(f"{key}={str(value)[:24]!a}" for key, value in fields.items())


def answer(library: Library, change: Change) -> str:
    """Why it is refused, or what comes of it: edits, warnings, memories."""
    try:
        plan = library.plan([change]).plans[0]
    except MemtuiError as error:
        return type(error).__name__ + " in two lines" * ("\n" in error.what)
    return f"{plan.outcome} {len(plan.edits)} {len(plan.warnings)} {len(plan.refs)}"


def answers(known: Format, place: Path) -> dict[str, str]:
    """The answer to each change of a copy of the format's sample at this place."""
    library = open_library(sample(known, place))
    before, every = contents(place), list(memories(library).values())
    first: dict[tuple[str, str], Memory] = {}
    for memory in every:
        first.setdefault((memory.kind, memory.status), memory)
    label = library.stores[0].label
    found = {
        name: answer(library, change)
        for name, change in changes(label, list(first.values()), every)
    }
    assert contents(place, beside=True) == before, "planning writes nothing"
    return found


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
def test_what_is_wrong_is_refused_and_the_rest_planned(known: Format, tmp_path: Path) -> None:
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))[known.name]
    found = counted(answers(known, tmp_path / known.name))
    differing = {name: found.get(name) for name in recorded if found.get(name) != recorded[name]}
    assert not differing, "if a person wants this: python -m tests.unit.stores.test_answers"


def counted(found: dict[str, str]) -> dict[str, dict[str, int]]:
    """Act and kind of memory -> answer -> how often."""
    counts: dict[str, Counter[str]] = {}
    for name, said in found.items():
        words = 3 if name.split()[0] not in ("add", "import") else 2 - name.startswith("add")
        counts.setdefault(" ".join(name.split()[:words]), Counter())[said] += 1
    return {name: dict(sorted(counts[name].items())) for name in sorted(counts)}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        every = {known.name: answers(known, Path(folder, known.name)) for known in FORMATS}
    for name, said in every[sys.argv[1]].items() if sys.argv[1:] else ():
        print(f"{name}: {said}")
    if not sys.argv[1:]:
        lines = [f"{json.dumps(name)}: {json.dumps(counted(every[name]))}" for name in every]
        RECORDED.write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")
