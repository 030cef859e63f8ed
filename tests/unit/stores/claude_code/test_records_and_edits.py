"""What lines of MEMORY.md, topic files and instructions become, and how each is edited."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memtui.changes import Act, Change
from memtui.errors import MemtuiError, Refused
from memtui.library import Library
from memtui.model import Link, Memory
from memtui.stores.claude_code import rules

LABEL = "claude-code"
FOLDER = "projects/-src-mill/memory"
INDEX = """---
note: x
---
# Stones
- [Rye](project_rye.md) — ground coarse
- [Gone](./gone%20away.md)
- A plain item
  of two lines

A paragraph with [Rye](project_rye.md).
"""
NEWER = """---
name: rye
description: how rye is ground
metadata:
  node_type: memory
  type: project
  modified: 2026-11-01T10:00:00Z
  originSessionId: abc-1
---

Coarse, see [[wheat]] and [oats](feedback_oats.md).
"""
OLDER = "---\nname: Oats\ntype: feedback\n---\n# Heading\n\nNever wet.\n"
BARE = "# Wheat\n\nFine.\n"
FILES = {
    f"{FOLDER}/MEMORY.md": INDEX,
    f"{FOLDER}/project_rye.md": NEWER,
    f"{FOLDER}/feedback_oats.md": OLDER,
    f"{FOLDER}/wheat.md": BARE,
    f"{FOLDER}/numbered.md": "---\nname: 7\n---\nSeven.\n",
    "projects/-src-mill/abc-1.jsonl": "{}\n",
    "CLAUDE.md": "# Rules\n\nRead @more.md\n",
    "more.md": "More.\n",
    "agents/x.md": "",
}


@pytest.fixture
def library(tmp_path: Path) -> Library:
    root = tmp_path / "store" / ".claude"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    opened = Library.open([root], state=tmp_path / "state")
    opened.load()
    return opened


def of(library: Library, id: str) -> Memory:
    return library.get(f"{LABEL}:{id}")


def topic(library: Library, name: str) -> Memory:
    return of(library, f"{FOLDER}/{name}")


def text(library: Library, name: str) -> str:
    return (library.stores[0].root / name).read_text()


def do(library: Library, act: Act, id: str, **fields: Any) -> tuple[str, ...]:
    planned = library.plan([Change(act, LABEL, f"{LABEL}:{id}", fields)])
    library.apply(planned)
    return tuple(planned.warnings)


def test_each_item_of_the_index_says_what_it_is(library: Library) -> None:
    items = [m for m in library.memories(LABEL) if m.id.startswith(f"{FOLDER}/MEMORY.md#")]
    assert [(m.kind, m.type, m.title, m.origin.line) for m in items] == [
        ("note", "index", "Gone", 6),
        ("fact", "", "", 7),
        ("note", "", "", 10),
    ]
    assert [m.links for m in items] == [
        (Link("indexes", f"{FOLDER}/gone away.md"),),
        (),
        (),
    ]
    assert [m.extra.get("missing_file") for m in items] == ["gone away.md", None, None]
    assert {m.extra["section"] for m in items} == {"Stones"}
    assert {m.extra["load_limit"] for m in items} == {
        f"7 of 200 lines, {len(INDEX.partition('# ')[2]) + 2} of 25,000 UTF-16 units"
    }
    assert items[1].content == "A plain item\nof two lines"


def test_a_topic_file_says_its_frontmatter(library: Library) -> None:
    rye = topic(library, "project_rye.md")
    assert (rye.title, rye.type, rye.importance, rye.source) == (
        "Rye — ground coarse",
        "project",
        "medium",
        "session abc-1",
    )
    assert rye.updated is not None
    assert rye.updated.isoformat() == "2026-11-01T10:00:00+00:00"
    assert "updated_from" not in rye.extra
    assert rye.extra["transcript"].endswith("/projects/-src-mill/abc-1.jsonl")
    assert rye.extra["frontmatter"] == "newer"
    assert {link.target for link in rye.links} == {
        f"{FOLDER}/wheat.md",
        f"{FOLDER}/feedback_oats.md",
    }
    oats = topic(library, "feedback_oats.md")
    assert (oats.title, oats.type, oats.importance, oats.source) == ("Oats", "feedback", "low", "")
    assert (oats.extra["frontmatter"], oats.extra["indexed"]) == ("older", False)
    assert oats.extra["updated_from"] == "file time"
    wheat = topic(library, "wheat.md")
    assert (wheat.title, wheat.type) == ("Wheat", "")
    assert "frontmatter" not in wheat.extra
    assert topic(library, "numbered.md").title == "7"


def test_a_title_is_written_where_it_is_read(library: Library) -> None:
    do(library, Act.EDIT, f"{FOLDER}/feedback_oats.md", title="Oat")
    assert text(library, f"{FOLDER}/feedback_oats.md") == OLDER.replace("Oats", "Oat")
    do(library, Act.EDIT, f"{FOLDER}/wheat.md", title="White wheat", content="# Wheat\n\nFiner.\n")
    assert text(library, f"{FOLDER}/wheat.md") == "# White wheat\n\nFiner.\n"
    assert topic(library, "wheat.md").title == "White wheat"


@pytest.mark.parametrize(
    ("act", "id", "fields", "fault"),
    [
        (Act.EDIT, f"{FOLDER}/project_rye.md", {"title": " "}, "one line that says"),
        (Act.EDIT, "CLAUDE.md", {"title": "x"}, "the title is the file's name"),
        (Act.EDIT, "CLAUDE.md", {"type": "x"}, "an instruction file has no type"),
        (Act.RETYPE, "CLAUDE.md", {"type": "x"}, "an instruction file has no type"),
        (Act.RETYPE, f"{FOLDER}/wheat.md", {"type": "x"}, "no frontmatter"),
        (Act.RETYPE, f"{FOLDER}/MEMORY.md#gone away.md", {"type": "x"}, "has no type"),
        (Act.EDIT, f"{FOLDER}/MEMORY.md#gone away.md", {"title": "x"}, "title cannot be"),
        (Act.EDIT, f"{FOLDER}/feedback_oats.md", {"type": "two words"}, "a word such as user"),
        (Act.EDIT, f"{FOLDER}/feedback_oats.md", {"importance": "high"}, "importance cannot be"),
        (Act.RETIRE, f"{FOLDER}/wheat.md", {}, "delete it"),
        (Act.SUPERSEDE, f"{FOLDER}/wheat.md", {"content": "x"}, "edited in place"),
        (Act.MERGE, f"{FOLDER}/wheat.md", {}, "edit one of them"),
    ],
)
def test_what_cannot_be_edited_says_why(
    library: Library, act: Act, id: str, fields: dict[str, Any], fault: str
) -> None:
    with pytest.raises(MemtuiError, match=fault):
        do(library, act, id, **fields)


def test_an_edited_item_keeps_its_id_until_its_file_does(library: Library) -> None:
    id = f"{FOLDER}/MEMORY.md#gone away.md"
    do(library, Act.EDIT, id, content="[Gone](./gone%20away.md) — ground fine")
    assert of(library, id).content.endswith("fine")
    assert not (library.stores[0].root / ".memtui" / "sidecar.jsonl").exists()
    do(library, Act.EDIT, id, content="Rye is ground")
    assert of(library, id).content == "Rye is ground"
    assert of(library, id).kind == "fact"
    assert text(library, f"{FOLDER}/MEMORY.md") == INDEX.replace(
        "[Gone](./gone%20away.md)", "Rye is ground"
    )


def test_a_newer_topic_is_renamed_in_its_line(library: Library) -> None:
    """Its `name` is what links use and stays."""
    do(library, Act.EDIT, f"{FOLDER}/project_rye.md", title="Rye — ground fine")
    assert text(library, f"{FOLDER}/MEMORY.md") == INDEX.replace("coarse", "fine")
    assert text(library, f"{FOLDER}/project_rye.md") == NEWER
    assert topic(library, "project_rye.md").extra["name"] == "rye"


def test_a_change_of_the_imports_concerns_the_imported_files(library: Library) -> None:
    ref = f"{LABEL}:CLAUDE.md"

    def concerned(content: str) -> set[str]:
        change = Change(Act.EDIT, LABEL, ref, {"content": content})
        return set(library.plan([change]).refs) - {ref}

    assert concerned("# Rules\n\nRead nothing\n") == {f"{LABEL}:more.md"}
    assert concerned("# Other rules\n\nRead @more.md\n") == set()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (NEWER, NEWER.replace("type: project", "type: user")),
        (OLDER, OLDER.replace("type: feedback", "type: user")),
        (
            NEWER.replace("\n", "\r\n"),
            NEWER.replace("type: project", "type: user").replace("\n", "\r\n"),
        ),
    ],
)
def test_a_type_is_replaced_where_it_stands(before: str, after: str) -> None:
    assert rules.with_type(before, "user") == after


@pytest.mark.parametrize(
    "text",
    [BARE, "---\nmetadata:\n  node_type: memory\n---\n", "---\nmetadata:\n  type: [a]\n---\n"],
)
def test_a_type_that_stands_nowhere_is_not_replaced(text: str) -> None:
    with pytest.raises(Refused):
        rules.with_type(text, "user")


def test_a_new_topic_is_laid_out_as_claude_does() -> None:
    newer = rules.new_topic("a-b", "A b", "about", "user", "Text", newer=True)
    assert newer == (
        "---\nname: a-b\ndescription: about\nmetadata: \n  node_type: memory\n  type: user\n"
        "---\n\nText\n"
    )
    older = rules.new_topic("a-b", "A b", "about", "user", "---\nText\n", newer=False)
    assert older == "---\nname: A b\ndescription: about\ntype: user\n---\n\n\n---\nText\n"


@pytest.mark.parametrize(
    ("title", "hook", "line"),
    [
        ("A", "b", "[A](f.md) — b"),
        ("A [b]\nc", "", "[A b c](f.md)"),
        ("[]", "one\n two", "[f.md](f.md) — one two"),
    ],
)
def test_a_line_of_the_index(title: str, hook: str, line: str) -> None:
    assert rules.index_line(title, "f.md", hook) == line


def test_only_a_name_in_double_brackets_may_lead_to_a_topic_that_is_not_written_yet(
    library: Library,
) -> None:
    do(library, Act.EDIT, f"{FOLDER}/wheat.md", content="See [[barley]] and [rice](rice.md).\n")
    library.refresh()
    (found,) = (one for one in library.check() if one.kind == "broken-link")
    assert found.reason.startswith("gone away.md, rice.md: ")


def test_lines_of_the_index_name_files_by_any_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With brackets, with a heading behind `#`, and outside of the folder, from home too."""
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".claude" / FOLDER
    folder.mkdir(parents=True)
    for name in (folder / "a(b).md", folder / "one.md", tmp_path / "shared.md"):
        name.write_text("text\n")
    lines = ["[A](a(b).md) — in brackets", "[One](one.md#part)", "[S](~/shared.md)"]
    lines += [f"[S]({tmp_path}/shared.md)", "[Gone](/none/gone.md)", "[G](~/gone.md)"]
    (folder / "MEMORY.md").write_text("".join(f"- {line}\n" for line in lines))
    library = Library.open([tmp_path / ".claude"], formats=[LABEL], state=tmp_path / ".state")
    library.load()
    found = {memory.origin.line: memory for memory in library.memories(LABEL) if memory.title}
    topics = [memory for memory in library.memories(LABEL) if memory.kind == "document"]
    assert {memory.title: memory.importance for memory in topics} == {
        "A — in brackets": "medium",
        "One": "medium",
    }
    gone = [memory.links[0].target for memory in found.values() if "missing_file" in memory.extra]
    assert gone == ["/none/gone.md", "~/gone.md"]
    [one] = [memory for memory in topics if memory.title == "One"]
    library.apply(library.plan([Change(Act.EDIT, LABEL, one.ref, {"title": "Two — new"})]))
    assert "- [Two](one.md#part) — new\n" in (folder / "MEMORY.md").read_text()
