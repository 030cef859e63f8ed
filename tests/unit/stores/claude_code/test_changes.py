"""What memtui writes into Claude Code's memories, and what it says of them."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.changes import Act, Change
from memtui.context import draft_pack, find_recipe
from memtui.errors import Refused
from memtui.library import Library
from memtui.model import Memory
from memtui.query import Query
from memtui.stores.base import count_units
from memtui.stores.claude_code.rules import LOADED_LINES, LOADED_UNITS, imports_in, loaded_part
from memtui.testing.fixtures import contents, differences
from tests.samples import SAMPLES

LABEL = "claude-code"
TOWERD = "projects/-home-marit-src-towerd/memory"


@pytest.fixture
def library(tmp_path: Path) -> Library:
    shutil.copytree(SAMPLES / LABEL, tmp_path / "store")
    library = Library.open([tmp_path / "store"], state=tmp_path / "state")
    library.load()
    return library


def of(library: Library, id: str) -> Memory:
    return library.get(f"{LABEL}:{id}")


def do(library: Library, act: Act, id: str = "", **fields: object) -> str:
    ref = f"{LABEL}:{id}" if id else ""
    planned = library.plan([Change(act, LABEL, ref, fields)])
    library.apply(planned)
    return "\n".join(planned.warnings)


def index(library: Library) -> str:
    return (library.stores[0].root / TOWERD / "MEMORY.md").read_text()


def test_deleting_a_topic_drops_its_line_and_tells_who_links_to_it(library: Library) -> None:
    before = contents(library.stores[0].root)
    said = do(library, Act.DELETE, f"{TOWERD}/project_strike_loop.md")
    assert "feedback_no_fallbacks.md" in said
    changed = differences(before, contents(library.stores[0].root))
    assert changed == [f"{TOWERD}/MEMORY.md", f"{TOWERD}/project_strike_loop.md"]
    lines = before[f"{TOWERD}/MEMORY.md"].decode().splitlines(keepends=True)
    assert index(library) == "".join(line for line in lines if "strike_loop" not in line)
    library.undo()
    assert contents(library.stores[0].root) == before


def test_a_line_and_its_topic_file_are_one_memory(library: Library) -> None:
    id = f"{TOWERD}/feedback_small_branches.md"
    memory = of(library, id)
    assert memory.title == "Small branches — one bell, one branch"
    assert (library.stores[0].root / id).read_text().endswith(memory.content)
    lines = index(library).splitlines()
    (place,) = memory.also
    assert lines[(place.line or 0) - 1] == f"- {memory.extra['index_lines'][0]}"
    ids = [each.id for each in library.memories(LABEL)]
    assert not any("MEMORY.md#feedback_small" in each for each in ids)
    assert f"{TOWERD}/MEMORY.md#project_october_replay.md" in ids, "its file is missing"


def test_the_title_is_written_into_the_line(library: Library) -> None:
    id = f"{TOWERD}/feedback_small_branches.md"
    before = index(library)
    topic = (library.stores[0].root / id).read_bytes()
    do(library, Act.EDIT, id, title="Small branches — one bell a branch")
    assert index(library) == before.replace("one bell, one branch", "one bell a branch")
    assert (library.stores[0].root / id).read_bytes() == topic
    do(library, Act.EDIT, id, title="Branches")
    assert "- [Branches](feedback_small_branches.md)\n" in index(library)
    library.undo()
    library.undo()
    assert index(library) == before


def test_adding_writes_a_file_and_a_line(library: Library) -> None:
    entity = of(library, f"{TOWERD}/user_marit.md").entity
    text = "The rope of bell 4 is new.\n\n**Why:** frost."
    do(library, Act.ADD, content=text, title="Rope of bell 4", type="reference", entity=entity)
    file = library.stores[0].root / TOWERD / "reference_rope_of_bell_4.md"
    assert file.read_text() == (
        "---\nname: reference-rope-of-bell-4\ndescription: The rope of bell 4 is new.\n"
        "metadata: \n  node_type: memory\n  type: reference\n---\n\n" + text + "\n"
    )
    line = "- [Rope of bell 4](reference_rope_of_bell_4.md) — The rope of bell 4 is new.\n"
    assert line in index(library)
    memory = of(library, f"{TOWERD}/reference_rope_of_bell_4.md")
    assert (memory.type, memory.importance, memory.entity) == ("reference", "medium", entity)


def test_a_memory_without_a_project_is_refused(library: Library) -> None:
    with pytest.raises(Refused, match="project or an agent"):
        do(library, Act.ADD, content="x", entity="nowhere/at/all")


@pytest.mark.parametrize("file", ["project_signed_plans.md", "feedback_small_branches.md"])
def test_the_type_is_changed_in_either_frontmatter(library: Library, file: str) -> None:
    path = library.stores[0].root / TOWERD / file
    before = path.read_text()
    old = of(library, f"{TOWERD}/{file}").type
    do(library, Act.RETYPE, f"{TOWERD}/{file}", type="reference")
    assert path.read_text() == before.replace(f"type: {old}", "type: reference")
    assert of(library, f"{TOWERD}/{file}").type == "reference"


def test_nested_lines_of_an_item_keep_their_indentation(library: Library) -> None:
    item = next(m for m in library.memories(LABEL) if m.content.startswith("Hammer 7 is measured"))
    before = index(library)
    do(library, Act.EDIT, item.id, content=item.content.replace("141", "139"))
    assert index(library) == before.replace("141", "139")
    do(library, Act.TAG, item.id, tags=["heat"])
    library.refresh()
    assert of(library, item.id).tags == ("heat",), "it keeps its name, and what is kept under it"


def test_both_generations_lead_to_transcript_and_links(library: Library) -> None:
    newer = of(library, f"{TOWERD}/project_inc_1025.md")
    older = of(library, f"{TOWERD}/feedback_no_fallbacks.md")
    assert newer.extra["transcript"].endswith("19d7fc05-2b7e-4d0c-8a53-91c2f7be6a02.jsonl")
    assert older.source == "session 298c09b0-6d1e-4a57-9f0d-3c1f0b7a5e11"
    targets = {link.target for link in older.links}
    assert targets == {"Signed plans", f"{TOWERD}/project_strike_loop.md"}
    assert newer.updated is not None
    assert newer.updated.isoformat() == "2026-10-27T09:05:10.002000+00:00"


def test_the_items_below_the_cut_say_so(library: Library) -> None:
    index = "projects/-home-marit-src-chime-control/memory/MEMORY.md#"
    found = [m for m in library.memories(LABEL) if m.id.startswith(index)]
    cut = {m.extra["cut_line"] for m in found}
    assert cut == {LOADED_LINES + 1}
    for memory in found:
        loaded = (memory.origin.line or 0) <= LOADED_LINES
        assert memory.extra["loaded_at_start"] is loaded
        assert memory.importance == ("high" if loaded else "low")


@given(st.lists(st.text(alphabet="aé🙂 -", max_size=40), max_size=260))
def test_the_cut_is_the_first_line_over_a_limit(lines: list[str]) -> None:
    written = [f"|{line * 4}|" for line in lines]
    cut = loaded_part("\n".join([*written, "", ""])).cut_line
    kept = written[: (cut or len(lines) + 1) - 1]
    assert len(kept) <= LOADED_LINES
    assert count_units("\n".join(kept)) <= LOADED_UNITS
    if cut:
        more = written[:cut]
        assert len(more) > LOADED_LINES or count_units("\n".join(more)) > LOADED_UNITS


def test_an_index_is_measured_in_utf_16_units_of_the_trimmed_text() -> None:
    chinese = "".join(f"- 部署规则{number:03} {'漢' * 95}\n" for number in range(120))
    part = loaded_part(f"\n\n{chinese}\n\n")
    assert len(chinese.encode()) > LOADED_UNITS
    assert (part.lines, part.size, part.cut_line) == (120, len(chinese), None)
    assert loaded_part("x" * LOADED_UNITS + "\n").cut_line is None
    assert loaded_part("x" * (LOADED_UNITS + 1) + "\n").cut_line == 1


FRONT = st.sampled_from(["", "---\nname: x\n---\n", "<!-- a\nb -->\n"])


@pytest.mark.slow
@given(FRONT, st.lists(st.sampled_from(["- a", "", "é" * 400, "<!-- no -->"]), max_size=230))
def test_statistics_and_recipe_name_the_line_that_the_detail_names(
    head: str, lines: list[str]
) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name, "projects", "-x", "memory")
        folder.mkdir(parents=True)
        text = head + "".join(f"{line}\n" for line in lines)
        (folder / "MEMORY.md").write_text(text or "-")
        library = Library.open([folder])
        library.load()
        (use,) = library.statistics(library.find(Query())).limits
        part = loaded_part(text or "-")
        assert use.cut_line == part.cut_line
        assert use.measures[0] == ("lines", part.lines, LOADED_LINES)
        memories = library.memories(LABEL)
        assert use.not_loaded == sum(not m.extra["loaded_at_start"] for m in memories)


def test_frontmatter_and_comments_do_not_count() -> None:
    text = "---\na: b\n---\n<!-- one\ntwo -->\n" + "x\n" * LOADED_LINES
    assert loaded_part(text).cut_line is None
    assert loaded_part(text + "y\n").cut_line == 6 + LOADED_LINES


def test_imports_are_paths_outside_code() -> None:
    text = "See @docs/a.md and @~/b.md or @README. mail@example.org `@c.md`\n```\n@d.md\n```\n"
    text += "@sp\\ ace.md <!-- @x.md --> @e.md#part @/ @@f.md\n<!--\n@y.md\n-->\n@z.md:"
    assert imports_in(text) == ["docs/a.md", "~/b.md", "sp ace.md", "e.md", "z.md:"]


@pytest.mark.parametrize("mark", [":", ",", ".", ")"])
@pytest.mark.parametrize("format", ["claude-code", "project-instructions"])
def test_punctuation_behind_a_path_keeps_it_from_being_imported(
    tmp_path: Path, format: str, mark: str
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "CLAUDE.md").write_text(f"- The way is in @way.md{mark} follow it\n")
    (tmp_path / "way.md").write_text("- the way\n")
    library = Library.open([tmp_path], formats=[format], state=tmp_path / ".state")
    library.load()
    assert [row.id.partition("#")[0] for row in library.snapshot.rows] == ["CLAUDE.md"]
    [remark] = library.stores[0].remarks()
    assert remark.text == f"@way.md is not imported: {mark} is taken for a part of its name"
    (tmp_path / "CLAUDE.md").write_text("- The way is in @way.md\n")
    library.refresh()
    assert library.stores[0].remarks() == []
    assert {row.id.partition("#")[0] for row in library.snapshot.rows} == {"CLAUDE.md", "way.md"}


def test_a_session_is_given_the_head_of_the_index(library: Library) -> None:
    store = library.stores[0]
    chime = "home/marit/src/chime-control"
    texts = store.session_start(library, chime, library.now())
    assert [text.title for text in texts] == ["CLAUDE.md", "house/mail.md", f"{chime}: MEMORY.md"]
    index = texts[-1]
    assert index.text[: index.cut].count("\n") == LOADED_LINES
    loaded = {entry.ref for entry in index.entries if entry.start < index.cut}
    for entry in index.entries:
        memory = library.get(entry.ref)
        written = memory.extra.get("index_lines", [memory.content])[0]
        assert written.split("\n")[0] in index.text[entry.start : entry.end]
        key = "line_loaded" if memory.also else "loaded_at_start"
        assert memory.extra[key] is (entry.ref in loaded)
    assert len(store.session_start(library, "", library.now())) > len(texts)

    pack = draft_pack(find_recipe("loaded"), chime, library, library.now()).pack()
    assert pack.text == "".join(text.text[: text.cut] for text in texts)
    assert any(f"cut in line {LOADED_LINES + 1}; the limit is 200 lines" in n for n in pack.notes)
    lost = {one.entry.ref for one in pack.dropped} - {""}
    assert lost == {entry.ref for entry in index.entries if entry.end > index.cut}
    assert lost.isdisjoint(pack.refs)


def test_a_memory_without_a_project_goes_to_the_only_folder_there_is(tmp_path: Path) -> None:
    sample = SAMPLES / LABEL / TOWERD
    folder = Path(shutil.copytree(sample, tmp_path / "alone" / "memory"))
    alone = Library.open([folder], state=tmp_path / "state")
    alone.load()
    (store,) = alone.stores
    planned = alone.plan([Change(Act.ADD, store.label, "", {"content": "Bells are cast warm"})])
    alone.apply(planned)
    assert any(b"Bells are cast warm" in data for data in contents(folder).values())
