"""Which changes that are wrong, odd or not possible a format refuses, and what the others write.

`answers.json` has how often and for how many reasons each act is refused, how many edits, warnings
and memories the others have, and a digest of what they would write.
`python -m tests.unit.stores.test_answers` records it anew; `... NAME` prints the answer to each
change of a sample, for comparing those of two states of the program. Every difference should be one
that a person would want.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import sqlite3
import sys
import tempfile
import uuid
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import chdir, closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from msgspec.structs import replace

from memtui.changes import Act, Change
from memtui.errors import MemtuiError
from memtui.library import Library
from memtui.library.opening import detect_store, open_stores
from memtui.model import Link, Memory
from memtui.stores.format import Format
from memtui.testing.fixtures import contents, memories
from tests.formats import FORMATS
from tests.long_run import share
from tests.samples import NOW, SAMPLES, UNDATED

RECORDED = Path(__file__).with_name("answers.json")
CASES = {known.name: known for known in FORMATS}
CASES |= dict.fromkeys(("memfs", "vault", "serena"), CASES["markdown-folder"])
"""Sample -> its format."""
OF_PLACE = re.compile(r"obs-[0-9a-f]{16}")
"""Ids that follow from where the database lies."""
DATABASES = [known for known in FORMATS if known.name in ("engram", "conport")]
"""Formats that write rows."""
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
    *((Act.SUPERSEDE, {"content": text}) for text in ("", "An heir", "SAME", HALF, LONG)),
    (Act.SUPERSEDE, {"content": "An heir", "title": "Heir", "type": "goal", "importance": "high"}),
    *(
        (act, {"relation": relation, "target": target})
        for act, relations in ((Act.LINK, 5), (Act.UNLINK, 2))
        for relation in ("related", "", "Has Capitals", "supersedes", "two\nlines")[:relations]
        for target in ("", "nowhere", "SELF", "OTHER", "ENTITY")
    ),
    *((Act.RATE, {"rating": value}) for value in (0, 1, 5, 6, "x")),
    *((Act.RETYPE, {"type": word}) for word in ("", "policy", "no such")),
    *((Act.MERGE, {"others": refs}) for refs in ([], ["SELF"], ["nowhere"], ["OTHER"], "x")),
    *((act, {}) for act in Act if act not in (Act.ADD, Act.EDIT)),
]


USUAL: list[tuple[Act, dict[str, Any]]] = [
    *((Act.EDIT, fields) for fields in ({"title": "New name"}, {"tags": ["two", "one"]})),
    (Act.EDIT, {"content": "# New text\n\n- a\n- b"}),
    (Act.EDIT, {"type": "goal", "importance": "high", "entity": "here"}),
    (Act.SUPERSEDE, {"content": "New text", "tags": ["one"]}),
    *((act, {}) for act in (Act.RETIRE, Act.DELETE, Act.RESTORE, Act.ACCEPT)),
]
SOME = 12
"""Memories with which what is usual is done."""


def changes(
    known: Format, label: str, chosen: list[Memory], every: list[Memory]
) -> Iterator[tuple[str, Change]]:
    entity = next((memory.entity for memory in every if memory.entity), "")
    for more in ({}, {"entity": ""}, {"kind": "note"}, {"kind": "episode", "title": "t"}):
        fields = {"content": "The rope is new", "entity": entity, **more}
        yield f"add {more}", Change(Act.ADD, label, "", fields)
    for more in EDITS:
        fields = {"content": "The rope is new", "entity": entity, **more}
        yield f"add {named(more)}", Change(Act.ADD, label, "", fields)
    for id in IDS:
        for kind in ("fact", "nothing"):
            fields = {"id": id, "kind": kind, "content": "The rope is new", "entity": entity}
            yield f"import {kind} {id}", Change(Act.ADD, label, "", fields)
        fields = {"id": id, "kind": "document", "content": "x", "document": "# x\n\ny\n"}
        yield f"import whole {id}", Change(Act.ADD, label, "", fields)
    for name in ("content", "title", "type", "entity"):
        fields = {"id": "x", "content": "The rope is new", "entity": entity, name: HALF}
        yield f"import half {name}", Change(Act.ADD, label, "", fields)
    convert = known.transfer.convert
    assert convert is not None
    renamed = [replace(memory, id=f"{memory.id}2") for memory in chosen]
    for memory in (*FOREIGN, *chosen, *renamed):
        fields = {**convert(memory).fields, "id": memory.id}
        about = f"{memory.kind} {memory.status} {memory.id}"
        yield f"import converted {about}", Change(Act.ADD, label, "", fields)
    for memory in chosen:
        about = f"{memory.kind} {memory.status}"
        other = next((m for m in every if m.kind == memory.kind and m.ref != memory.ref), memory)
        words = {"SELF": memory.id, "OTHER": other.id, "ENTITY": other.entity}
        words["SAME"] = memory.content
        for fields in EDITS:
            change = Change(Act.EDIT, label, memory.ref, fields)
            yield f"edit {about} {named(fields)}", change
        for act, asked in OTHERS:
            fields = {key: filled(value, words) for key, value in asked.items()}
            for force in (False, True)[: 1 + (act in (Act.DELETE, Act.SUPERSEDE))]:
                change = Change(act, label, memory.ref, fields, force=force)
                yield f"{act} {about} {named(asked)}{' by force' * force}", change
    for memory in every[:: max(1, len(every) // SOME)]:
        for act, fields in USUAL:
            yield f"usual {act} {memory.id} {named(fields)}", Change(act, label, memory.ref, fields)


def filled(value: Any, words: dict[str, str]) -> Any:
    if isinstance(value, list):
        return [filled(item, words) for item in value]
    return words.get(value, value) if isinstance(value, str) else value


def named(fields: dict[str, Any]) -> str:
    return ", ".join(f"{key}={str(value)[:24]!a}" for key, value in fields.items())


DAY = datetime(2026, 11, 1, tzinfo=UTC)
FULL = Memory(
    ref="x:b2",
    id="b2",
    store="x",
    kind="fact",
    type="policy",
    title="Rye",
    content="Grind it coarse.\n\nAlways.",
    entity="mill/Stones/rye",
    also_entities=("mill/Wheels",),
    created=DAY,
    updated=DAY + timedelta(hours=5),
    importance="high",
    confidence=0.5,
    tags=("grain", "Two words"),
    pinned=True,
    supersedes=("a1",),
    superseded_by=("c3",),
    links=(Link("see", "a1"), Link("made_by", "y:7", DAY, DAY + timedelta(days=1), "at night")),
    source="s1",
    extra={"own": 1, "tags": ["grain"], "rating": 4},
)
FOREIGN = [
    *(replace(FULL, kind=kind) for kind in ("fact", "note", "document", "episode", "observation")),
    *(replace(FULL, status=status, title="") for status in ("superseded", "retired", "deleted")),
    replace(FULL, status="proposed", importance="low", created=None, confidence=None),
    Memory(ref="x:7", id="7", store="x", kind="fact", content="rye grinds coarse"),
    Memory(ref="x:8", id="8", store="x", kind="fact", content="- a\n\n---\nb: c\n---\n§\n# d"),
]
"""Memories of another store."""


class Answer(NamedTuple):
    said: str
    """Why it is refused, or what comes of it: edits, warnings, memories."""
    written: str
    """What it would write, as JSON; the reason if it is refused."""


def answer(library: Library, change: Change) -> Answer:
    try:
        plan = library.plan([change]).plans[0]
    except MemtuiError as error:
        return Answer(type(error).__name__ + " in two lines" * ("\n" in error.what), error.what)
    said = f"{plan.outcome} {len(plan.edits)} {len(plan.warnings)} {len(plan.refs)}"
    written = msgspec.to_builtins([plan.refs, plan.supersedes, plan.edits], str_keys=True)
    return Answer(said, json.dumps(written, sort_keys=True))


class Numbered:
    """Takes the place of a module that makes random ids."""

    def __init__(self) -> None:
        self.number = 0

    def uuid4(self) -> uuid.UUID:
        self.number += 1
        return uuid.UUID(int=self.number)

    def token_hex(self, count: int) -> str:
        return self.uuid4().hex[-2 * count :]


def opened(known: Format, place: Path, state: Path | None = None) -> Library:
    """A library over a copy of the sample with the name of the folder, on a certain day."""
    shutil.copytree(SAMPLES / place.name, place)
    for path in place.rglob("*"):
        os.utime(path, (UNDATED.timestamp(), UNDATED.timestamp()))
    stores = open_stores([detect_store(place)])
    for store in stores:
        store.now = lambda: NOW  # type: ignore[attr-defined]
    library = Library(stores, now=lambda: NOW, state=state)
    library.load()
    return library


@contextmanager
def numbered_ids() -> Iterator[None]:
    """New ids are the same each time."""
    ids = Numbered()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uuid, "uuid4", ids.uuid4)
        patch.setattr(secrets, "token_hex", ids.token_hex)
        yield


def wished(known: Format, library: Library) -> dict[str, Change]:
    every = list(memories(library).values())
    first: dict[tuple[str, str], Memory] = {}
    for memory in every:
        first.setdefault((memory.kind, memory.status), memory)
    return dict(changes(known, library.stores[0].label, list(first.values()), every))


def answers(known: Format, place: Path, groups: Collection[str] = ()) -> dict[str, Answer]:
    """The answer to each change of a copy of the format's sample at this place.

    Only to those of these groups, if some are given.
    """
    library = opened(known, place)
    before = contents(place)
    folder = json.dumps(str(place))[1:-1]
    found = {}
    for name, change in wished(known, library).items():
        if groups and group_of(name) not in groups:
            continue
        with numbered_ids(), chdir(place):
            said, written = answer(library, change)
        found[name] = Answer(said, OF_PLACE.sub("obs-", written.replace(folder, "/place")))
    assert contents(place, beside=True) == before, "planning writes nothing"
    return found


def rows_after(known: Format, place: Path) -> dict[str, list[Any]]:
    """The rows of a database after one change of each kind, made one after the other."""
    library = opened(known, place, place.parent / "state")
    chosen = {
        name if name.startswith("import converted") else group_of(name): change
        for name, change in wished(known, library).items()
    }
    with numbered_ids(), chdir(place):
        for change in chosen.values():
            with suppress(MemtuiError):
                library.apply(library.plan([change]))
    (file,) = place.rglob("*.db")
    with closing(sqlite3.connect(file)) as database:
        named = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'"
        tables = [name for (name,) in database.execute(named) if "_fts_" not in name]
        found = {name: database.execute(f'SELECT * FROM "{name}"').fetchall() for name in tables}
    text = json.dumps(found).replace(json.dumps(str(place))[1:-1], "/place")
    rows: dict[str, list[Any]] = json.loads(OF_PLACE.sub("obs-", text))
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_what_is_wrong_is_refused_and_the_rest_planned(name: str, tmp_path: Path) -> None:
    """The usual run makes every third group of changes, for the next sample others."""
    every = json.loads(RECORDED.read_text(encoding="utf-8"))[name]
    recorded = {group: every[group] for group in share([*every], [*CASES].index(name), 3)}
    found = counted(answers(CASES[name], tmp_path / name, recorded.keys()))
    differing = {name: found.get(name) for name in recorded if found.get(name) != recorded[name]}
    assert not differing, "if a person wants this: python -m tests.unit.stores.test_answers"


@pytest.mark.slow
@pytest.mark.parametrize("known", DATABASES, ids=lambda known: known.name)
def test_what_the_changes_leave_in_the_rows(known: Format, tmp_path: Path) -> None:
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))[f"rows of {known.name}"]
    found = digests(rows_after(known, tmp_path / known.name))
    differing = {name: found.get(name) for name in recorded if found.get(name) != recorded[name]}
    assert not differing, "if a person wants this: python -m tests.unit.stores.test_answers"


def digests(found: dict[str, list[Any]]) -> dict[str, str]:
    return {name: digest("\n".join(map(repr, rows))) for name, rows in found.items()}


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def counted(found: dict[str, Answer]) -> dict[str, dict[str, int | str]]:
    """Act and kind of memory -> answer -> how often, and the digest of what they would write."""
    groups: dict[str, list[Answer]] = {}
    for name, said in found.items():
        groups.setdefault(group_of(name), []).append(said)
    return {name: _summary(groups[name]) for name in sorted(groups)}


def group_of(name: str) -> str:
    words = {"add": 1, "import": 2, "usual": 2}.get(name.split()[0], 3)
    return " ".join(name.split()[:words])


def _summary(group: list[Answer]) -> dict[str, int | str]:
    counts = sorted(Counter(each.said for each in group).items())
    planned = [each.written for each in group if each.said.isupper()]
    reasons = {each.written for each in group if not each.said.isupper()}
    found: dict[str, int | str] = dict(counts)
    if planned:
        found["written"] = digest("\n".join(planned))
    if reasons:
        found["reasons"] = len(reasons)
    return found


def recorded_anew(every: dict[str, dict[str, Answer]], folder: Path) -> dict[str, Any]:
    rows = {
        f"rows of {known.name}": digests(rows_after(known, folder / "rows" / known.name))
        for known in DATABASES
    }
    return {name: counted(said) for name, said in every.items()} | rows


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        every = {name: answers(CASES[name], Path(folder, name)) for name in sys.argv[1:] or CASES}
        for name, said in every[sys.argv[1]].items() if sys.argv[1:] else ():
            print(f"{name}: {said.said}\n    {said.written}")
        if not sys.argv[1:]:
            found = recorded_anew(every, Path(folder))
            lines = [f"{json.dumps(name)}: {json.dumps(each)}" for name, each in found.items()]
            RECORDED.write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")
