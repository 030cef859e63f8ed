"""An export that is stopped leaves nothing; one that is not holds every memory."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from msgspec.structs import replace

from memtui.bundle import exporting
from memtui.files.staging import write_file
from memtui.library import Library
from memtui.model import CURRENT, Memory
from memtui.progress import Cancelled, Progress
from tests.samples import SAMPLES
from tests.unit.library.stores_for_tests import fact, write_facts


@pytest.fixture
def library(tmp_path: Path) -> Library:
    root = tmp_path / "agent-memory"
    shutil.copytree(SAMPLES / "agent-memory", root)
    opened = Library.open([root])
    opened.load()
    return opened


def _write(library: Library, form: str, target: Path, stop: Callable[[], bool]) -> None:
    made = exporting.export_memories(library, form, None, cancelled=stop)
    write_file(target, made.pieces)


@pytest.mark.parametrize("form", ["bundle", "jsonl", "csv", "markdown", "html"])
def test_stopped_at_any_look_it_leaves_no_file(library: Library, tmp_path: Path, form: str) -> None:
    target = tmp_path / "out"
    for looks in range(3):
        answers = iter([False] * looks)
        try:
            _write(library, form, target, partial(next, answers, True))
        except Cancelled:
            assert not list(tmp_path.glob("*out*"))
        else:
            target.unlink()  # it had been written before the stop was asked for
    with pytest.raises(Cancelled):
        _write(library, form, target, lambda: True)


def test_what_is_written_holds_every_memory(library: Library, tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    write_file(target, exporting.export_memories(library, "jsonl", None).pieces)
    assert target.read_bytes().count(b"\n") == library.snapshot.count


FORMULA = '=HYPERLINK("http://x.example","y")'


@pytest.mark.parametrize(
    "begin", ["", " ", "\n", "\r", "\t", "\x00", "\ufeff", "\u200b", "\u00a0", "\u3000\u200b "]
)
@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
def test_no_cell_is_taken_for_a_formula(begin: str, sign: str) -> None:
    memory = Memory("a:1", "1", "a", "fact", content=f"{begin}{sign}{FORMULA[1:]}")
    (row,) = csv.DictReader(io.StringIO("".join(exporting.encode_csv([memory])), newline=""))
    assert row["content"] == f"'{memory.content}"
    plain = Memory("a:1", "1", "a", "fact", content=f"{begin}1 = 1")
    (row,) = csv.DictReader(io.StringIO("".join(exporting.encode_csv([plain])), newline=""))
    assert row["content"].removeprefix("'") == plain.content


def test_a_table_has_the_values_of_a_list_as_a_person_types_them() -> None:
    memory = Memory("a:1", "1", "a", "fact", tags=("tea", "early morning"))
    (row,) = csv.DictReader(io.StringIO("".join(exporting.encode_csv([memory])), newline=""))
    assert row["tags"] == "tea, early morning"
    assert row["supersedes"] == ""


# ---- what an export says ------------------------------------------------------------------------


def facts(*fields: dict[str, object], store: str = "a") -> list[Memory]:
    return [
        replace(Memory(f"{store}:{n}", f"{n}", store, "fact", content=f"text {n}"), **each)
        for n, each in enumerate(fields)
    ]


def test_what_filters_leave_out_is_counted_by_status() -> None:
    every = facts({}, {}, {"status": "retired"}, {"status": "retired"}, {"status": "superseded"})
    others = facts({}, {"status": "retired"}, store="b")
    assert exporting.describe_unchosen(every, every) == []
    assert exporting.describe_unchosen(every, every[:2]) == [
        "3 memories, not current (2 retired, 1 superseded); status:all takes them too"
    ]
    assert exporting.describe_unchosen([*every, *others], every[1:2]) == [
        "3 memories, not current (2 retired, 1 superseded); status:all takes them too",
        "3 memories by the filters",
    ]
    assert exporting.describe_unchosen(every, every[1:]) == ["1 memory by the filters"]


EMPTY: dict[str, object] = {"tags": (), "source": "", "confidence": None, "extra": {}}
NAMES = ("status", "pinned", "tags", "source", "confidence", "extra")


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ([EMPTY, {"status": "active", "pinned": False}], ""),
        ([{"pinned": True}], "pins (1 memory)"),
        ([{"confidence": 0.5}, {"confidence": 1.0}, {}], "confidence (2 memories)"),
        ([{"status": "retired"}], "status (1 memory)"),
        (
            [{"extra": {"k": 1}, "tags": ("t",)}, {"tags": ("t",)}, {"source": "s"}],
            "tags (2 memories), source (1), fields of their own store (1)",
        ),
    ],
)
def test_fields_that_a_form_cannot_hold_are_counted(
    fields: list[dict[str, object]], line: str
) -> None:
    expected = [f"{line}: csv has no place for them"] if line else []
    assert exporting.describe_lost_fields(facts(*fields), "csv", NAMES) == expected


def test_files_that_cannot_be_read_are_named_up_to_a_limit(tmp_path: Path) -> None:
    for number in range(12):
        write_facts(tmp_path, f"{number:02}", [fact(number, f"text {number}")])
    for number in range(12):
        library = Library.open([tmp_path])
        library.load()
        for form in ("bundle", "jsonl"):
            made = exporting.export_memories(library, form, None)
            named = [note for note in made.notes if "/items.json" in note]
            more = [note for note in made.notes if " more; `memtui stores` lists them" in note]
            assert len(named) == min(number, 10)
            assert [line.split(": ")[1].split()[0] for line in more] == [f"{number - 10}"] * (
                number > 10
            )
            assert made.is_incomplete == (form == "jsonl" and number > 0)
        (tmp_path / "entities" / f"{number:02}" / "items.json").write_text("{")


def test_a_broken_file_makes_a_part_incomplete(tmp_path: Path) -> None:
    write_facts(tmp_path, "a", [fact(1, "text")])
    broken = write_facts(tmp_path, "b", [fact(2, "more")])
    broken.write_text("{")
    library = Library.open([tmp_path])
    library.load()
    chosen = list(library.memories("agent-memory"))
    made = exporting.export_memories(library, "bundle", chosen)
    assert made.is_incomplete
    assert [note.partition(": not valid")[0] for note in made.notes] == [
        f"left out, unreadable: {broken}"
    ]


def _unpacked(data: bytes) -> str:
    if data.startswith(b"PK"):
        with ZipFile(BytesIO(data)) as packed:
            data = b"".join(map(packed.read, packed.namelist()))
    return data.decode("latin-1")


@pytest.mark.parametrize("form", exporting.export_forms())
def test_a_form_takes_stores_whole_or_their_memories(library: Library, form: str) -> None:
    """What is chosen is in it and nothing else; what is left out is said."""
    found = exporting.export_forms()[form]
    own = form not in ("bundle", "jsonl", "csv", "markdown", "html")
    assert found.takes_whole_stores == (own or form == "bundle")
    assert found.ending == (f"-{form}.json" if own else found.suffix)
    if form == "engram":  # takes memories of its own format only
        return
    memories = [m for m in library.memories("agent-memory") if m.kind == "fact"]
    chosen = [memory for memory in memories if memory.status == "active"][:2]
    data = _unpacked(b"".join(exporting.export_memories(library, form, chosen).pieces))
    assert all(json.dumps(m.content)[1:-1].split(". ")[0][:20] in data for m in chosen)
    others = {m.content for m in memories} - {m.content for m in chosen}
    assert not any(json.dumps(content)[1:-1] in data for content in others if len(content) > 20)


def test_only_expired_memories_are_left_out_of_a_document(library: Library) -> None:
    every = list(library.memories("agent-memory"))
    current = [memory for memory in every if memory.status in CURRENT]
    assert 0 < len(current) < len(every)
    live = exporting.export_memories(library, "ambient", None, every=False)
    whole = exporting.export_memories(library, "ambient", None)
    chosen = exporting.export_memories(library, "ambient", every, every=False)
    counts = [b"".join(made.pieces).count(b'"importance"') for made in (live, whole, chosen)]
    assert counts[0] < counts[1] == counts[2]
    assert any("not current" in note for note in live.notes)
    assert not any("not current" in note for note in (*whole.notes, *chosen.notes))
    assert any("ambient has no place for them" in note for note in whole.notes)


def test_a_document_does_not_lose_the_fields_of_its_own_format(tmp_path: Path) -> None:
    root = shutil.copytree(SAMPLES / "ambient", tmp_path / "ambient")
    opened = Library.open([root])
    opened.load()
    notes = exporting.export_memories(opened, "ambient", None).notes
    assert not any("has no place for them" in note for note in notes)


def test_progress_is_reported_now_and_then(library: Library) -> None:
    memories = facts(*({} for _ in range(600)))
    reports: list[Progress] = []
    made = exporting.export_memories(library, "jsonl", memories, reports.append)
    assert b"".join(made.pieces) == "".join(exporting.encode_jsonl(memories)).encode()
    assert reports == [Progress("writing", done) for done in (0, 256, 512)]


# ---- text forms ---------------------------------------------------------------------------------


def test_a_long_table_comes_in_pieces_and_each_row_once() -> None:
    memories = [replace(m, content=m.id.rjust(1000, "x")) for m in facts(*({} for _ in range(200)))]
    pieces = list(exporting.encode_csv(memories))
    row = len(pieces[-1]) // (len(list(csv.reader(io.StringIO(pieces[-1], newline="")))))
    assert len(pieces) == 4
    assert all(1 << 16 < len(piece) <= (1 << 16) + row + 10 for piece in pieces[:-1])
    rows = list(csv.DictReader(io.StringIO("".join(pieces), newline="")))
    assert [(row["ref"], row["content"]) for row in rows] == [(m.ref, m.content) for m in memories]


def test_a_lone_surrogate_becomes_a_question_mark() -> None:
    (memory,) = facts({"content": "half \ud83d", "title": "\ud83d"})
    assert "half ?" in "".join(exporting.encode_csv([memory]))
    assert json.loads("".join(exporting.encode_jsonl([memory])))["content"] == "half \ud83d"


def test_a_document_for_people_has_a_chapter_per_entity() -> None:
    time = datetime(2026, 3, 1, 10, tzinfo=UTC)
    memories = facts(
        {"entity": "b", "title": "Second", "content": "one\n\ntwo  \n", "type": "note"},
        {"entity": "a\x1b", "content": "Only a line", "created": time, "importance": "high"},
        {"entity": "b", "title": "Gone", "content": "", "status": "retired"},
        {"content": "of nothing"},
    )
    assert "".join(exporting.encode_markdown(memories)) == (
        "# Memories\n"
        "\n## without entity\n"
        "\n### of nothing\n\n*fact, medium, \u2013* `a:3`\n"
        "\n## a\u241b\n"
        "\n### Only a line\n\n*fact, high, 2026-03-01 10:00* `a:1`\n"
        "\n## b\n"
        "\n### Second\n\n*note, medium, \u2013* `a:0`\n\n> one\n>\n> two\n"
        "\n### Gone\n\n*fact, medium, retired, \u2013* `a:2`\n"
    )
