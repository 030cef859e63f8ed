"""What a change means for the program, for every act on every format.

The expectations are written from what each format's document says its program reads, and when; they
are not taken from the code. A record is named by a pattern of its id.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import pytest

from memtui.changes import Act, Change, Effect, Outcome, Plan, effects_of
from memtui.library import Library
from memtui.library.opening import detect_store, open_stores
from memtui.library.review import ACCEPTED
from memtui.model import Memory
from memtui.stores.format import Format
from memtui.testing.acting import BEFOREHAND, allowed, first_plan
from memtui.testing.fixtures import memories, open_library, sample
from tests.formats import FORMATS

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
"""The clock of the stores; the newest note of agent-memory's sample is seven days old then."""
MOST = 4
"""Memories of one kind of record that each act is planned on."""


class Reads(NamedTuple):
    """What the program does with the records of this kind when they change."""

    pattern: str
    new: str
    """After an edit: `Claude Code reads the new text from its next session`, without the head."""
    gone: str
    """After it was deleted."""
    retired: str = ""
    """After it was retired; empty: as after it was deleted."""
    old: str = ""
    """What is added about the memory that was superseded."""


def loaded(pattern: str, **more: str) -> Reads:
    """Loaded when a session starts; a running one keeps what it has."""
    when = "from its next session"
    return Reads(pattern, when, f"no longer reads it {when}", **more)


def asked_for(pattern: str, when: str, **more: str) -> Reads:
    """Read from the disk for each request, so that nothing finds it once it is gone."""
    return Reads(pattern, when, "no longer reads it", **more)


def indexed(pattern: str, **more: str) -> Reads:
    when = "once its index is up to date"
    return Reads(pattern, when, f"no longer reads it {when}", **more)


def unread(pattern: str) -> Reads:
    return Reads(pattern, "", "does not read it")


HIDDEN = "Only memtui hides this; {} still reads it"
STILL_READ = ", and still reads the old one, which only memtui hides"

CLOSED = "{} reads the new status at its next import"
IS_DONE = "{} reads the new status at once"

EXPECTED: dict[str, tuple[str, list[Reads]]] = {
    # retrieve-memory.sh reads facts, summaries and the notes of today and six days back at each
    # query; MEMORY.md is the layer that is read without one.
    "agent-memory": (
        "agent-memory",
        [
            loaded("MEMORY.md"),
            *(asked_for(f"2026-11-{day}.md", "at its next search") for day in range(21, 28)),
            unread("20*.md"),
            asked_for("*", "at its next search"),
        ],
    ),
    # "The daemon keeps no cache; it re-reads on every request". Archived branches are not read.
    "ambient": ("Ambient", [asked_for("*", "at once")]),
    # SQLite, asked by every call. "A supersedes verdict changes only memory_relations; the
    # superseded row is not hidden anywhere."
    "engram": ("Engram", [asked_for("*", "at once", old=STILL_READ)]),
    # No program exists; the format itself has `outdated` for schema items, and no word for facts
    # and episodes that are no longer current.
    "simple-memory": (
        "Simple Memory",
        [
            asked_for("sch_*", "when it next opens the file"),
            asked_for("*", "when it next opens the file", retired=HIDDEN, old=STILL_READ),
        ],
    ),
    # The core documents are in the prompt, all others are found by the TF-IDF index, which is built
    # from time to time.
    "workspace": (
        "gptme",
        [
            *(loaded(f"{name}.md") for name in ("ABOUT", "SOUL", "GOALS", "TASKS", "ARCHITECTURE")),
            *(loaded(f"{name}.md") for name in ("WORKFLOW", "TOOLS")),
            indexed("*"),
        ],
    ),
    # "MEMORY.md: index, loaded at every session start"; "topic files, read on demand"; "a running
    # session keeps its loaded copy until the next start".
    "claude-code": (
        "Claude Code",
        [
            loaded("*MEMORY.md#*"),
            *(loaded(name) for name in ("*CLAUDE*.md", "*rules/*", "docs/*")),
            asked_for("*", "when it next opens the file"),
        ],
    ),
    # Its agents' instructions say what they open: nothing is known to be loaded.
    "project-memory": ("Replit Agent", [asked_for("*", "when it next opens the file")]),
    # docs/users/features/memory.md: MEMORY.md is in the prompt, topic files are opened.
    "qwen": (
        "Qwen Code",
        [loaded("*MEMORY.md#*"), asked_for("*", "when it next opens the file")],
    ),
    # block/goose, memory/mod.rs: each call of the extension reads the files of a project.
    "goose": ("goose", [asked_for("*", "at once")]),
    # docs/how-it-works.md: a hook compares each write with the cerebrum.
    "openwolf": (
        "OpenWolf",
        [asked_for("cerebrum*", "at once"), asked_for("*", "when it next opens the file")],
    ),
    # README: the hook gives a new session all but rotated archives.
    "claude-remember": (
        "Claude Remember",
        [asked_for("archive-*", "when it next opens the file"), loaded("*")],
    ),
    # "The Milvus vector index is a derived cache"; the files are watched.
    "memsearch": (
        "memsearch",
        [indexed("memory/*"), asked_for("*", "when it next opens the file")],
    ),
    # memoryContextPrompt.tsx: the notes of the person are in each request, others are opened.
    "vscode-copilot": (
        "VS Code Copilot",
        [asked_for("globalStorage/*", "at once"), asked_for("*", "when it next opens the file")],
    ),
    # An MCP server that asks SQLite for every call. It hides nothing that is DONE.
    "conport": ("ConPort", [asked_for("*", "at once", retired=IS_DONE)]),
    # Since 0.56 bd has a database of its own; `bd import` takes what is new or has a later
    # `updated_at`, and removes nothing.
    "beads": (
        "Beads",
        [Reads("*", "at its next import", "keeps it where it has imported it already", CLOSED)],
    ),
    # "The server re-reads the file for every call (so edits show at once)".
    "mcp-memory": ("MCP memory", [asked_for("*", "at once")]),
    # "Create one small ad-hoc note saying what to add, change or forget."
    "codex": ("Codex", [Reads("*", "", "")]),
    "gemini": ("Gemini CLI", [loaded("*")]),
    # "A running session holds a frozen snapshot; edits show at the next start. Say so."
    "hermes": ("Hermes", [loaded("*")]),
    # MEMORY.md and the bootstrap files are loaded, and the logs of today and yesterday; "its index
    # is derived from the files". DREAMS.md is not given.
    "openclaw": (
        "OpenClaw",
        [
            loaded("MEMORY.md#*"),
            asked_for("DREAMS.md", "when it next opens the file"),
            indexed("memory/*"),
            loaded("*"),
        ],
    ),
    # Each file has programs of its own, see `INSTRUCTIONS`.
    "project-instructions": ("Instructions", [Reads("*", "", "")]),
    # basic-memory: "the index is derived from the files, which are watched".
    "markdown-folder": ("basic-memory", [indexed("*")]),
}

ON_REQUEST = ("at once", "no longer reads it")
AT_START = ("from its next session", "no longer reads it from its next session")
INSTRUCTIONS = {
    "AGENTS.md": ("Each of Codex, Cursor and 12 others", *AT_START),
    "CLAUDE.md": ("Claude Code", *AT_START),
    "GEMINI.md": ("Gemini CLI", *AT_START),
    # "The instructions in the file are available for use by Copilot as soon as you save the file."
    ".github/*": ("GitHub Copilot", *ON_REQUEST),
    # "Applied rule contents are included at the start of the model context."
    ".cursor/*": ("Cursor", *ON_REQUEST),
    ".windsurf*": ("Windsurf", *ON_REQUEST),
    ".kiro/*": ("Kiro", *ON_REQUEST),
    ".roo/*": ("Roo Code", *ON_REQUEST),
    ".clinerules/*": ("Cline", *AT_START),
    ".goosehints": ("goose", *AT_START),
    ".junie/*": ("Junie", *AT_START),
    # The commands of Spec Kit open the constitution.
    ".specify/*": ("Spec Kit", "when it next opens the file", "no longer reads it"),
    ".openhands/*": ("OpenHands", *AT_START),
}
"""File -> the programs that read it, when they read a new text, and what is said of a deletion."""

OWN_WORDS = {
    Act.ADD: "reads it {}",
    Act.EDIT: "reads the new text {}",
    Act.SUPERSEDE: "reads the new text {}",
    Act.RESTORE: "reads it again {}",
    Act.TAG: "reads the new tags {}",
    Act.LINK: "reads the link {}",
    Act.RETYPE: "reads the new type {}",
    Act.MERGE: "reads one in place of all {}",
    Act.ACCEPT: "reads it {}",
    Act.PIN: "sees the pin {}",
    Act.REVIEW: "sees that it was reviewed {}",
}
GONE = {
    Act.UNPIN: "no longer sees the pin",
    Act.UNLINK: "no longer reads the link",
    Act.DECLINE: "no longer offers it",
    Act.ARCHIVE: "no longer reads the branch",
}
ASKED = "Codex is asked by a note and decides itself"
NOT_ASKED = "Codex is no longer asked; it may have read the note"


INDEXED_FILES = ("claude-code", "qwen")
"""Formats in which a new file has a line in an index that is loaded."""


def _wanted(format: str, act: Act, id: str, *, is_archived: bool) -> str:
    """What a person should be told, if the act changes more than memtui's own sidecar."""
    program, kinds = EXPECTED[format]
    record = next(kind for kind in kinds if fnmatch(id, kind.pattern))
    if format == "project-instructions":
        program, record = _instructions(id)
    if act is Act.ADD and format in INDEXED_FILES:
        record = loaded("")  # its line in the index is loaded, the file when it is needed
    if act is Act.RETYPE and format == "workspace":
        record = indexed("")  # the map of types is used when the index is built
    if act is Act.HIDE:
        return HIDDEN.format(program)
    if format == "codex":
        return NOT_ASKED if act in (Act.DELETE, Act.RESTORE) else ASKED
    if record.gone.startswith("does not") or is_archived:
        return f"{program} does not read it"
    if act is Act.DECLINE and format == "gemini":
        return f"{program} no longer offers it in its inbox"
    if act in (Act.RETIRE, Act.RESTORE) and record.retired in (CLOSED, IS_DONE):
        return record.retired.format(program)
    if act is Act.RETIRE and record.retired:
        return record.retired.format(program)
    if act in (Act.RETIRE, Act.DELETE):
        return f"{program} {record.gone}"
    if act in GONE:
        when = f" {record.new}" if record.retired == CLOSED else ""
        return f"{program} {GONE[act]}{when}"
    if act not in OWN_WORDS:
        return ""
    said = f"{program} {OWN_WORDS[act].format(record.new)}"
    return said + (record.old if act is Act.SUPERSEDE else "")


def _instructions(id: str) -> tuple[str, Reads]:
    """Who reads the file of a rule, and when."""
    file = id.partition("#")[0]
    pattern, (program, new, gone) = next(
        (pattern, said) for pattern, said in INSTRUCTIONS.items() if fnmatch(file, pattern)
    )
    return program, Reads(pattern, new, gone)


def _planned(library: Library, act: Act) -> Iterator[tuple[Memory, str, str]]:
    for among in allowed(library, act).values():
        for memory in among[:: max(1, len(among) // MOST)]:
            try:
                change, planned, _ = first_plan(library, act, [memory])
            except LookupError:
                continue
            if not (effect := next(iter(planned.effects), "")):
                assert planned.outcome in (Outcome.DEDUPE, Outcome.REJECTED), change
                continue
            new = planned.refs[0].partition(":")[2]
            yield memory, new if act is Act.ADD else memory.id, effect


@pytest.mark.slow
@pytest.mark.parametrize("known", FORMATS, ids=[known.name for known in FORMATS])
def test_every_act_says_what_the_program_reads(known: Format, tmp_path: Path) -> None:
    stores = open_stores([detect_store(sample(known, tmp_path / known.name))])
    for store in stores:
        store.now = lambda: NOW  # type: ignore[attr-defined]
    library = Library(stores, state=tmp_path / "state")
    library.load()
    if known.name not in EXPECTED:
        assert all(store.reads is None for store in stores), "what its program reads is not known"
        return
    seen = set()
    for act in Act:
        if act in BEFOREHAND and (can := allowed(library, BEFOREHAND[act])):
            for among in can.values():
                try:
                    library.apply(first_plan(library, BEFOREHAND[act], among)[1])
                except LookupError:
                    continue
        for memory, id, effect in _planned(library, act):
            seen.add(act)
            program = EXPECTED[known.name][0]
            if known.name == "project-instructions":
                program = _instructions(id)[0]
            inside = f"e{program[1:]}" if program.startswith("Each of") else program
            only_here = {
                f"Only memtui keeps this; nothing changes for {inside}",
                f"Only memtui has this; {inside} does not read it",
            }
            is_archived = act not in (Act.ADD, Act.SUPERSEDE) and bool(memory.extra.get("archived"))
            wanted = _wanted(known.name, act, id, is_archived=is_archived)
            over = "Over Claude Code's 200 lines", "Claude Code did not load this line"
            if act is Act.DELETE and memory.extra.get("line_loaded"):
                wanted = f"{program} {loaded('').gone}"  # its line in MEMORY.md goes too
            if act is Act.RESTORE and effect.startswith("Only memtui hid this"):
                assert _hides(known.name, memory), (act, memory.id)
            elif not effect.startswith(over) or known.name != "claude-code":
                is_own = act in (Act.ADD, Act.EDIT, Act.DELETE) and not memory.extra.get("kept")
                possible = {wanted} if is_own else {wanted, *only_here}
                assert effect in possible, (act, memory.id)
    assert {Act.ADD, Act.EDIT, Act.DELETE, Act.PIN} <= seen | {Act.ADD}


def _hides(format: str, memory: Memory) -> bool:
    _, kinds = EXPECTED[format]
    return any(kind.retired == HIDDEN for kind in kinds if fnmatch(memory.id, kind.pattern))


# ---- what is not loaded --------------------------------------------------------------------------


def _claude(place: Path, lines: int) -> tuple[Library, Path]:
    index = place / "projects" / "-srv-shop" / "memory" / "MEMORY.md"
    index.parent.mkdir(parents=True)
    index.write_text("".join(f"- Fact number {number}\n" for number in range(1, lines + 1)))
    return open_library(place, place.parent / "state"), index


def _effect(library: Library, act: Act, text: str, **fields: str) -> str:
    memory = next(one for one in memories(library).values() if one.content == text)
    return library.plan([Change(act, memory.store, memory.ref, fields)]).effects[0]


def test_a_line_beyond_what_claude_loads(tmp_path: Path) -> None:
    """It loads 200 lines of MEMORY.md."""
    library, _ = _claude(tmp_path / ".claude", 201)

    over = "Over Claude Code's 200 lines: this line will not be loaded"
    assert _effect(library, Act.EDIT, "Fact number 201", content="new") == over
    gone = "Claude Code did not load this line, which is over its 200 lines"
    assert _effect(library, Act.DELETE, "Fact number 201") == gone
    inside = "Claude Code reads the new text from its next session"
    assert _effect(library, Act.EDIT, "Fact number 200", content="new") == inside


def test_a_new_memory_whose_line_is_beyond_the_limit(tmp_path: Path) -> None:
    library, index = _claude(tmp_path / ".claude", 200)
    store = library.stores[0].label
    fields = {"content": "Deploys wait for the staging check", "entity": "/srv/shop"}
    entity = next(iter(memories(library).values())).entity

    planned = library.plan([Change(Act.ADD, store, "", fields | {"entity": entity})])

    assert planned.effects == ("Over Claude Code's 200 lines: this line will not be loaded",)
    assert index.read_text().count("\n") == 200


@pytest.mark.slow
def test_a_line_beyond_the_size_that_claude_loads(tmp_path: Path) -> None:
    """Or 25,000 UTF-16 units, whichever comes first."""
    library, index = _claude(tmp_path / ".claude", 3)
    index.write_text(f"- {'x' * 24_990}\n- Fact behind it\n")
    library.refresh()

    over = "Over Claude Code's 25,000 UTF-16 units: this line will not be loaded"
    assert _effect(library, Act.EDIT, "Fact behind it", content="A fact behind it") == over


def test_undo_says_what_it_means(tmp_path: Path) -> None:
    library, _ = _claude(tmp_path / ".claude", 3)
    memory = next(iter(memories(library).values()))
    library.apply(library.plan([Change(Act.DELETE, memory.store, memory.ref)]))

    assert library.undo().effects == ("Claude Code reads it again from its next session",)
    assert library.redo().effects == ("Claude Code no longer reads it from its next session",)

    library.undo()
    library.apply(
        library.plan([Change(Act.EDIT, memory.store, memory.ref, {"content": "Another fact"})])
    )
    assert library.undo().effects == ("Claude Code reads the former text from its next session",)

    library.apply(library.plan([Change(Act.PIN, memory.store, memory.ref)]))
    kept = "Only memtui keeps this; nothing changes for Claude Code"
    assert library.undo().effects == (kept,)


def test_undo_of_an_accepted_finding_says_that_the_text_is_read(tmp_path: Path) -> None:
    """Its action is called `review`, as marking a memory as reviewed is."""
    library, _ = _claude(tmp_path / ".claude", 3)
    memory = next(iter(memories(library).values()))
    change = Change(Act.EDIT, memory.store, memory.ref, {"content": "without the token"})
    library.apply(library.plan([change], f"{ACCEPTED}token in a line"))
    assert library.undo().effects == (
        "Claude Code no longer reads the change from its next session",
    )


def test_undo_of_a_copy_leaves_nothing_to_read(tmp_path: Path) -> None:
    (ambient,) = (known for known in FORMATS if known.name == "ambient")
    library = open_library(sample(ambient, tmp_path / "ambient"), tmp_path / "state")
    store, entity = library.stores[0].label, next(iter(memories(library).values())).entity
    for count, undone in (1, "the change"), (2, "the changes"):
        new = [{"content": f"Copy {n} of {count}", "entity": entity} for n in range(count)]
        adds = [Change(Act.ADD, store, "", fields) for fields in new]
        library.apply(library.plan(adds, f"copy {count} memories" if count > 1 else "copy one"))
        assert library.undo().effects == (f"Ambient no longer reads {undone}",)
    assert library.redo().effects == ("Ambient reads the changes at once",)


def test_what_two_programs_read_is_said_of_each(tmp_path: Path) -> None:
    (tmp_path / ".hermes" / "memories").mkdir(parents=True)
    (tmp_path / ".hermes" / "memories" / "MEMORY.md").write_text("The port is 8123")
    (tmp_path / "memory.jsonl").write_text(
        '{"type":"entity","name":"shop","entityType":"project","observations":["Uses uv"]}'
    )
    library = Library.open([tmp_path / ".hermes", tmp_path / "memory.jsonl"])
    library.load()
    facts = list(memories(library).values())
    assert len(facts) == 2

    planned = library.plan([Change(Act.RETIRE, one.store, one.ref) for one in facts])

    assert set(planned.effects) == {
        "Hermes no longer reads it from its next session",
        "MCP memory no longer reads it",
    }


def test_several_effects_say_of_how_many_memories_they_are_true() -> None:
    reads, hides = Effect("X no longer reads {it|them}"), Effect("X still reads {it|them}", True)
    one = Change(Act.RETIRE, "x", "x:1")
    plans = [Plan((one, one), effect=reads), Plan((one,), effect=hides)]
    assert effects_of(plans) == {"X no longer reads them (2)": False, "X still reads it (1)": True}
    assert effects_of(plans[:1]) == {"X no longer reads them": False}, "it is said of all"
