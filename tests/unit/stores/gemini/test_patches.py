"""Patches of the inbox are applied exactly, or refused and nothing is written."""

from __future__ import annotations

import difflib
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.changes import Act, Change
from memtui.errors import Refused
from memtui.library import Library
from memtui.stores.gemini import detect, target_of
from memtui.stores.gemini.store import GeminiStore, apply_patch, parse_patch
from memtui.testing.fixtures import contents, open_library
from tests.samples import SAMPLES

NOTES = "tmp/quarterbell-books/memory"
TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "\n", "- c\n", "@@\n"]), max_size=9).map("".join)


@given(TEXTS, TEXTS, st.integers(0, 3))
def test_a_diff_of_two_texts_leads_from_one_to_the_other(old: str, new: str, around: int) -> None:
    lines = (text.splitlines(True) for text in (old, new))
    diff = "".join(difflib.unified_diff(*lines, "a/x.md", "b/x.md", n=around))
    if not diff:
        return
    (patch,) = parse_patch(diff)
    assert apply_patch(old, patch, "x.md") == new
    if old != new and patch.hunks[0].old:
        with pytest.raises(Refused):
            apply_patch("another\n" * 20, patch, "x.md")


def load(tmp_path: Path) -> tuple[Path, Library]:
    root = Path(shutil.copytree(SAMPLES / "gemini", tmp_path / "gemini"))
    library = Library.open([root], state=tmp_path / "state")
    library.load()
    return root, library


@pytest.mark.parametrize("act", [Act.ACCEPT, Act.DECLINE])
def test_a_patch_is_decided_on_and_the_decision_undone(tmp_path: Path, act: Act) -> None:
    root, library = load(tmp_path)
    before = contents(root)
    proposed = [m for m in library.snapshot.rows if m.status == "proposed"]
    assert len(proposed) == 2
    for memory in proposed:
        library.apply(library.plan([Change(act, memory.store, memory.ref)]))
        wanted = "active" if act is Act.ACCEPT else "retired"
        assert library.get(memory.ref).status == wanted
    assert not list(root.rglob("extraction.patch"))
    told = "Memos longer than 140 characters" in (root / NOTES / "MEMORY.md").read_text()
    assert told is (act is Act.ACCEPT)
    library.undo()
    library.undo()
    assert contents(root) == before


@pytest.mark.parametrize("name", ["/etc/passwd", "a/../../../../x.md", "a/.inbox/x.md", "a/x.json"])
def test_a_patch_of_another_file_is_refused(tmp_path: Path, name: str) -> None:
    root, _ = load(tmp_path)
    patch = root / NOTES / ".inbox/private/extraction.patch"
    patch.write_text(f"--- /dev/null\n+++ {name}\n@@ -0,0 +1 @@\n+- x\n")
    library = Library.open([root], state=tmp_path / "other")
    library.load()
    memory = next(m for m in library.snapshot.rows if m.content == patch.read_text())
    before = contents(root)
    with pytest.raises(Refused):
        library.plan([Change(Act.ACCEPT, memory.store, memory.ref)])
    assert contents(root) == before


def test_a_patch_that_no_longer_fits_is_refused(tmp_path: Path) -> None:
    root, _ = load(tmp_path)
    file = root / NOTES / "MEMORY.md"
    file.write_text(file.read_text().replace("An empty memo", "No memo"))
    library = Library.open([root], state=tmp_path / "other")
    library.load()
    memory = next(m for m in library.snapshot.rows if "quarterbell" in m.entity and m.type)
    with pytest.raises(Refused, match="does not fit"):
        library.plan([Change(Act.ACCEPT, memory.store, memory.ref)])


def test_other_folders_are_left_alone() -> None:
    for sample in SAMPLES.iterdir():
        assert sample.name == "gemini" or detect(sample) is None, sample.name


OLD = "a\nb\nc\nd\n"


@pytest.mark.parametrize(
    ("text", "hunks", "result"),
    [
        (OLD, "@@ -2 +2 @@\n-b\n+B\n", "a\nB\nc\nd\n"),
        (OLD, "@@ -2,1 +2,2 @@ heading\n b\n+x\n", "a\nb\nx\nc\nd\n"),
        (OLD, "@@ -4,0 +5 @@\n+e\n", "a\nb\nc\nd\ne\n"),
        (OLD, "@@ -0,0 +1 @@\n+x\n", "x\na\nb\nc\nd\n"),
        (OLD, "@@ -1,1 +1,0 @@\n-a\n@@ -4,1 +3,1 @@\n-d\n+D\n", "b\nc\nD\n"),
        ("a\n\nb\n", "@@ -1,3 +1,3 @@\n-a\n+A\n\n b\n", "A\n\nb\n"),
        ("a", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n", "b\n"),
        (
            "a\n",
            "@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n",
            "b",
        ),
        (
            "a\nb",
            "@@ -1,2 +1,2 @@\n-a\n+A\n b\n\\ No newline at end of file\n",
            "A\nb",
        ),
        ("- x\n", "@@ -1 +1 @@\n--- x\n+-- y\n", None),
    ],
)
def test_a_hunk_takes_the_place_of_its_lines(text: str, hunks: str, result: str | None) -> None:
    patch = parse_patch(f"prose before\n--- a/x.md\told\n+++ b/x.md\n{hunks}")[0]
    assert (patch.old, patch.new) == ("a/x.md", "b/x.md")
    if result is None:
        with pytest.raises(Refused, match="does not fit"):
            apply_patch(text, patch, "x.md")
    else:
        assert apply_patch(text, patch, "x.md") == result


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "not a unified diff"),
        ("--- a\n", "not a unified diff"),
        ("--- a\n+++ b\n", "not a unified diff"),
        ("--- a\n--- b\n@@ -1 +1 @@\n-a\n+b\n", "not a unified diff"),
        ("--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n--- c\n+++ d\n", "not a unified diff"),
        ("--- a\n+++ b\n@@ x @@\n", "malformed: line 3 of the patch|line 3 of the patch"),
        ("--- a\n+++ b\n@@ -1,2 +1 @@\n-a\n+b\n", "line 5 of the patch|as long as"),
        ("--- a\n+++ b\n@@ -1 +1 @@\n-a\n", "as long as"),
        ("--- a\n+++ b\n@@ -1 +1,2 @@\n-a\n+b\n*c\n", "as long as"),
        ("--- a\n+++ b\n@@ -1,0 +1 @@\n-a\n+b\n", "as long as"),
    ],
)
def test_what_is_no_patch_is_refused(text: str, fault: str) -> None:
    with pytest.raises(Refused, match=fault):
        parse_patch(text)


@pytest.mark.parametrize(
    ("text", "hunks"),
    [
        (OLD, "@@ -2 +2 @@\n-a\n+A\n"),
        (OLD, "@@ -5 +5 @@\n-e\n+E\n"),
        (OLD, "@@ -5,0 +6 @@\n+e\n"),
        (OLD, "@@ -3 +3 @@\n-c\n+C\n@@ -1 +1 @@\n-a\n+A\n"),
        ("a", "@@ -1 +1 @@\n-a\n+b\n"),
        ("a", "@@ -1,0 +2 @@\n+b\n"),
        (None, "@@ -1 +1 @@\n-a\n+A\n"),
    ],
)
def test_a_patch_of_other_lines_does_not_fit(text: str | None, hunks: str) -> None:
    (patch,) = parse_patch(f"--- a/x.md\n+++ b/x.md\n{hunks}")
    with pytest.raises(Refused, match=r"does not fit|as the patch expects"):
        apply_patch(text, patch, "x.md")


def test_a_file_is_made_and_removed() -> None:
    (made,) = parse_patch("--- /dev/null\n+++ b/x.md\n@@ -0,0 +1,2 @@\n+- a\n+- b\n")
    assert made.added == "- a\n- b\n"
    assert apply_patch(None, made, "x.md") == "- a\n- b\n"
    with pytest.raises(Refused, match="as the patch expects"):
        apply_patch("- a\n", made, "x.md")
    (gone,) = parse_patch("--- a/x.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n")
    assert apply_patch("a\n", gone, "x.md") is None
    assert apply_patch("a\nb\n", gone, "x.md") == "b\n"
    (emptied,) = parse_patch("--- a/x.md\n+++ b/x.md\n@@ -1 +0,0 @@\n-a\n")
    assert apply_patch("a\n", emptied, "x.md") == ""


def test_a_patch_of_several_files_is_read_file_by_file() -> None:
    one = "--- a/x.md\n+++ b/x.md\n@@ -1 +1 @@\n-a\n+b\n"
    first, second = parse_patch(one + one.replace("x.md", "y.md"))
    assert (first.new, second.new) == ("b/x.md", "b/y.md")


def test_a_session_is_given_the_notes_of_its_project(tmp_path: Path) -> None:
    root, library = load(tmp_path)
    other = root / "tmp" / "other" / "memory" / "MEMORY.md"
    other.parent.mkdir(parents=True)
    other.write_text("- a\n")
    (store,) = library.stores

    def given(entity: str) -> dict[str, str]:
        return {
            text.title: text.note for text in store.session_start(library, entity, library.now())
        }

    every, own = "given to every session", "given to sessions of this project"
    assert given("other") == {"GEMINI.md": every, "tmp/other/memory/MEMORY.md": own}
    of_all = given("")
    assert of_all.keys() > given("other").keys()
    assert f"{NOTES}/MEMORY.md" in of_all
    assert not [path for path in of_all if path.endswith(".patch")]
    assert set(of_all.values()) == {every, own}


@pytest.mark.parametrize(
    ("named", "patch", "target"),
    [
        ("GEMINI.md", "tmp/p/memory/.inbox/global/extraction.patch", "GEMINI.md"),
        ("b/GEMINI.md", "tmp/p/memory/.inbox/global/extraction.patch", "GEMINI.md"),
        ("/r/GEMINI.md", "tmp/p/memory/.inbox/global/extraction.patch", "GEMINI.md"),
        ("x.md", "tmp/p/memory/.inbox/global/extraction.patch", ""),
        ("x.md", "tmp/p/memory/.inbox/private/extraction.patch", "tmp/p/memory/x.md"),
        ("a/x.md", "tmp/p/memory/.inbox/private/extraction.patch", "tmp/p/memory/x.md"),
        (
            "/r/tmp/p/memory/x.md",
            "tmp/p/memory/.inbox/private/extraction.patch",
            "tmp/p/memory/x.md",
        ),
        ("tmp/p/memory/x.md", "tmp/p/memory/.inbox/private/extraction.patch", "tmp/p/memory/x.md"),
        ("/r/tmp/q/memory/x.md", "tmp/p/memory/.inbox/private/extraction.patch", ""),
        ("/r/GEMINI.md", "tmp/p/memory/.inbox/private/extraction.patch", ""),
        ("sub/x.md", "tmp/p/memory/.inbox/private/extraction.patch", ""),
        (".hidden.md", "tmp/p/memory/.inbox/private/extraction.patch", ""),
        ("x.txt", "tmp/p/memory/.inbox/private/extraction.patch", ""),
    ],
)
def test_a_patch_may_change_the_notes_beside_it(named: str, patch: str, target: str) -> None:
    assert target_of(named, patch, Path("/r")) == target


def test_a_project_is_called_by_its_folder_wherever_gemini_names_it(tmp_path: Path) -> None:
    projects = tmp_path / "tmp"
    for folder in ("loft-1", "perch", "unknown"):
        (projects / folder).mkdir(parents=True)
    (projects / "perch" / ".project_root").write_text("/home/mira/src/Perch\n")
    (tmp_path / "projects.json").write_text('{"projects": {"/home/mira/src/loft": "loft-1"}}')
    store = GeminiStore(tmp_path, "gemini")
    names = [store.entity_levels(folder) for folder in ("loft-1", "perch", "unknown", "global")]
    assert names == [("loft",), ("Perch",), ("unknown",), ("global",)]


@pytest.mark.parametrize("project", ["nowhere", "..", "perch/memory"])
def test_a_note_goes_to_no_project_that_gemini_does_not_have(tmp_path: Path, project: str) -> None:
    (tmp_path / "tmp" / "perch" / "memory").mkdir(parents=True)
    (tmp_path / "GEMINI.md").write_text("## Gemini Added Memories\n- Bees swarm in May\n")
    library = open_library(tmp_path)
    fields = {"content": "Owls hunt at night", "entity": project}
    with pytest.raises(Refused, match="no project of this name"):
        library.plan([Change(Act.ADD, library.stores[0].label, fields=fields)])
