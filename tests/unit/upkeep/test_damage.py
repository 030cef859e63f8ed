"""What agents and merges left in files: marks, placeholders, doubled rules, bad frontmatter."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.library import Library
from memtui.upkeep.proposals import Proposal

LEFT = """# Rules

- Use pnpm
<<<<<<< HEAD
- Node 22
=======
- Node 24
>>>>>>> feature

[Rest of the existing file content remains unchanged...]

- Use pnpm
"""


def opened(root: Path, **files: str) -> Library:
    for name, text in files.items():
        (root / f"{name.replace('__', '/')}.md").parent.mkdir(parents=True, exist_ok=True)
        (root / f"{name.replace('__', '/')}.md").write_text(text)
    library = Library.open([root], state=root / ".state")
    library.load()
    return library


def damage(library: Library) -> list[Proposal]:
    return [found for found in library.check() if found.kind == "damaged"]


def test_what_a_merge_and_an_agent_left_in_a_file_is_named_with_its_line(tmp_path: Path) -> None:
    library = opened(tmp_path, CLAUDE=LEFT)
    assert [(found.line, found.message) for found in damage(library)] == [
        (
            10,
            "a placeholder for lost text: [Rest of the existing file content remains unchanged...]",
        ),
        (12, "the same text as in line 3"),
        (4, "marks of a merge: text may be lost or doubled; lines 4, 8"),
    ]
    (mark,) = (m for m in library.snapshot.rows if m.content == "<<<<<<< HEAD")
    library.apply(library.plan([Change(Act.DELETE, mark.store, mark.ref, {})]))
    assert (tmp_path / "CLAUDE.md").read_text() == LEFT.replace("<<<<<<< HEAD\n", "")


def test_what_was_retired_from_a_file_is_no_damage_of_it(tmp_path: Path) -> None:
    library = opened(tmp_path, CLAUDE="# Rules\n\n- <<<<<<< HEAD\n")
    assert len(damage(library)) == 1
    library.apply(library.plan([Change(Act.RETIRE, m.store, m.ref) for m in library.snapshot.rows]))
    assert damage(library) == []


@pytest.mark.parametrize(
    "text",
    [
        "... rest of the file remains the same ...",
        "<!-- rest of file unchanged -->\nx",
        "// ... existing code ...",
        "(The remainder of the document stays the same)",
        "… remaining entries …",
        "[rest of the content here]",
    ],
)
def test_a_placeholder_is_found(tmp_path: Path, text: str) -> None:
    (found,) = damage(
        opened(tmp_path, **{".serena__memories__a": f"Before.\n\n{text}\n\nAfter.\n"})
    )
    assert found.line == 3


@pytest.mark.parametrize(
    "text",
    [
        "The rest of the file is read in one go.",
        "Keep the rest of the document as short as this.",
        "```\n<<<<<<< HEAD\n```",
        "<<<<<< six",
        "He left the existing code.",
        "Twice.\n\nTwice.",
    ],
)
def test_ordinary_text_is_no_damage(tmp_path: Path, text: str) -> None:
    assert damage(opened(tmp_path, **{".serena__memories__a": f"{text}\n"})) == []


def test_a_line_may_come_twice_in_what_is_no_file_of_rules(tmp_path: Path) -> None:
    text = "# Batch\n\n**Bells:**\n\n- Two of the old ones\n\n**Ropes:**\n\n- Two of the old ones\n"
    library = opened(tmp_path, AGENTS="# Rules\n", SOUL="Ring.\n", USER="Runa.\n", MEMORY=text)
    assert [memory.content for memory in library.snapshot.rows].count("Two of the old ones") == 2
    assert damage(library) == []


BROKEN = """---
name: `naming`
description: rules: short and plain
metadata:
\tnode_type: memory
\ttype: feedback
\tmodified: 2026-10-27T09:05:10Z
---
Names are short.
"""


def test_frontmatter_that_is_no_yaml_is_read_by_line_and_named(tmp_path: Path) -> None:
    name = ".claude__memory__naming"
    library = opened(tmp_path, **{name: BROKEN, ".claude__memory__MEMORY": "- [N](naming.md)\n"})
    (topic,) = (m for m in library.snapshot.rows if m.kind == "document")
    assert (topic.type, topic.extra["name"]) == ("feedback", "`naming`")
    assert topic.extra["description"] == "rules: short and plain"
    assert topic.updated is not None
    assert topic.updated.isoformat() == "2026-10-27T09:05:10+00:00"
    (found,) = damage(library)
    assert found.line == 2
    assert found.message.startswith("its frontmatter is no valid YAML: line 2: ")
    edit = Change(Act.EDIT, topic.store, topic.ref, {"content": "Names are plain.\n"})
    library.apply(library.plan([edit]))
    after = (tmp_path / ".claude/memory/naming.md").read_text()
    assert after == BROKEN.replace("short.\n", "plain.\n")


def test_a_time_without_a_zone_is_local_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        front = "---\ntitle: T\ncreated: 2026-07-01 09:00\nmodified: 2026-07-02\n---\nText.\n"
        names = ("memory-bank__progress", "memory-bank__projectbrief")
        library = opened(tmp_path, **dict.fromkeys(names, front))
        note = library.snapshot.rows[0]
        assert note.created is not None
        assert note.created.isoformat() == "2026-07-01T13:00:00+00:00"
        assert note.extra["times_without_zone"] == ["created"]
        assert note.dated_by == "its own time, local as it names no zone"
    finally:
        monkeypatch.undo()
        time.tzset()
