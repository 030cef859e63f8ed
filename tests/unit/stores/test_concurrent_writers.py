"""An agent writes the file between planning and saving, during a save, and after it.

The agents here imitate how Hermes and MCP's memory server write: Hermes under its lock, the server
by reading the whole graph and renaming a new file over it, without any lock.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.errors import Refused
from memtui.files import save_hooks
from memtui.library import Library
from memtui.library.reverted_edits import plan_reapply
from memtui.model import Memory
from tests.samples import SAMPLES


class Hermes:
    """The memory tool of Hermes: lock, read, append an entry, rename."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / ".hermes"
        self.file = self.root / "memories" / "MEMORY.md"
        self.file.parent.mkdir(parents=True)
        self.file.write_text("first\n§\nsecond")
        self.fields = {"entity": "memory"}

    def texts(self) -> list[str]:
        return self.file.read_text().split("\n§\n")

    def add(self, text: str) -> None:
        with open(f"{self.file}.lock", "a+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            rename(self.file, "\n§\n".join([*self.texts(), text]))


class MemoryServer:
    """MCP's memory server; an agent adds all observations to one entity."""

    def __init__(self, folder: Path) -> None:
        self.root = self.file = folder / "memory.jsonl"
        self.save(["first", "second"])
        self.fields = {"entity": "Altenau"}

    def texts(self) -> list[str]:
        found: list[str] = json.loads(self.file.read_text())["observations"]
        return found

    def save(self, texts: list[str]) -> None:
        value = {"type": "entity", "name": "Altenau", "entityType": "tower", "observations": texts}
        rename(self.file, json.dumps(value, separators=(",", ":")))

    def add(self, text: str) -> None:
        self.save([*self.texts(), text])


def rename(path: Path, text: str) -> None:
    temporary = path.with_name(f"{path.name}.theirs")
    temporary.write_text(text)
    os.replace(temporary, path)


Agent = Hermes | MemoryServer


@pytest.fixture(params=[Hermes, MemoryServer])
def agent(request: pytest.FixtureRequest, tmp_path: Path) -> Agent:
    made: Agent = request.param(tmp_path)
    return made


def opened(agent: Agent, tmp_path: Path) -> Library:
    library = Library.open([agent.root], state=tmp_path / "state")
    library.load()
    return library


def memory(library: Library, text: str) -> Memory:
    library.refresh()
    every = library.memories(library.stores[0].label)
    return next(m for m in every if m.content == text and m.status == "active")


def change(library: Library, agent: Agent, act: Act, text: str = "", new: str = "") -> Change:
    ref = memory(library, text).ref if text else ""
    fields = {**agent.fields, "content": new} if act is Act.ADD else {"content": new}
    return Change(act, library.stores[0].label, ref, fields if new else {})


def test_what_the_agent_adds_after_planning_is_kept(agent: Agent, tmp_path: Path) -> None:
    library = opened(agent, tmp_path)
    acts = [(Act.ADD, "", "ours"), (Act.EDIT, "second", "changed"), (Act.DELETE, "first", "")]
    for number, (act, text, new) in enumerate(acts):
        planned = library.plan([change(library, agent, act, text, new)])
        agent.add(f"theirs {number}")
        library.apply(planned)
    assert sorted(agent.texts()) == ["changed", "ours", "theirs 0", "theirs 1", "theirs 2"]
    for number in (3, 4, 5):
        agent.add(f"theirs {number}")
        library.undo()
    kept = [f"theirs {number}" for number in range(6)]
    assert sorted(agent.texts()) == ["first", "second", *kept]
    for number in (6, 7, 8):
        agent.add(f"theirs {number}")
        library.redo()
    assert sorted(agent.texts()) == ["changed", "ours", *kept, "theirs 6", "theirs 7", "theirs 8"]


def test_many_planned_changes_are_merged_at_once(agent: Agent, tmp_path: Path) -> None:
    library = opened(agent, tmp_path)
    planned = library.plan([change(library, agent, Act.ADD, "", f"ours {n}") for n in range(20)])
    agent.add("theirs")
    library.apply(planned)
    assert sorted(agent.texts()) == sorted(
        ["first", "second", "theirs", *(f"ours {n}" for n in range(20))]
    )


def test_the_limit_of_hermes_holds_for_what_it_has_written_since(tmp_path: Path) -> None:
    hermes = Hermes(tmp_path)
    library = opened(hermes, tmp_path)
    planned = library.plan([change(library, hermes, Act.ADD, "", "o" * 1200)])
    hermes.add("t" * 1200)
    with pytest.raises(Refused, match="characters"):
        library.apply(planned)
    assert hermes.texts() == ["first", "second", "t" * 1200]


def test_hermes_waits_while_memtui_merges(
    tmp_path: Path, at: Callable[[dict[tuple[str, int], Callable[[], None]]], None]
) -> None:
    """Reading, merging and writing are all under Hermes's lock."""
    hermes = Hermes(tmp_path)
    library = opened(hermes, tmp_path)
    planned = library.plan([change(library, hermes, Act.ADD, "", "ours")])
    hermes.add("theirs 1")
    thread = threading.Thread(target=hermes.add, args=("theirs 2",))
    at({("intent", 1): thread.start, ("exchange", 1): lambda: thread.join(0.05)})
    library.apply(planned)
    thread.join()
    assert hermes.texts() == ["first", "second", "ours", "theirs 1", "theirs 2"]


# ---- the server, which knows no lock -------------------------------------------------------------


@pytest.fixture
def at() -> Iterator[Callable[[dict[tuple[str, int], Callable[[], None]]], None]]:
    """Do something at the n-th pass of a point of the save."""

    def install(steps: dict[tuple[str, int], Callable[[], None]]) -> None:
        passed: dict[str, int] = {}

        def hook(point: str) -> None:
            passed[point] = passed.get(point, 0) + 1
            steps.get((point, passed[point]), lambda: None)()

        save_hooks.install(hook)

    yield install
    save_hooks.install(None)


def test_a_write_of_the_server_is_kept_that_it_drops_itself_during_a_save(
    tmp_path: Path, at: Callable[[dict[tuple[str, int], Callable[[], None]]], None]
) -> None:
    """It reads the file in the moment in which its own last write is not merged yet."""
    server = MemoryServer(tmp_path)
    library = opened(server, tmp_path)
    planned = library.plan([change(library, server, Act.ADD, "", "ours")])
    read: list[str] = []
    at(
        {
            ("exchange", 1): lambda: server.add("theirs 1"),
            ("look", 1): lambda: read.extend(server.texts()),
            ("look", 2): lambda: server.save([*read, "theirs 2"]),
        }
    )
    library.apply(planned)
    assert read == ["first", "second", "ours"]
    assert sorted(server.texts()) == ["first", "ours", "second", "theirs 1", "theirs 2"]


def test_a_write_to_one_entity_is_kept_that_the_server_drops_by_writing_another(
    tmp_path: Path, at: Callable[[dict[tuple[str, int], Callable[[], None]]], None]
) -> None:
    file = tmp_path / "memory.jsonl"
    rename(file, graph(A=["a"], B=["b"], C=["c"]))
    library = Library.open([file], state=tmp_path / "state")
    fields = {"entity": "A", "content": "ours"}
    planned = library.plan([Change(Act.ADD, library.stores[0].label, "", fields)])
    at(
        {
            ("exchange", 1): lambda: rename(file, graph(A=["a"], B=["b", "theirs 1"], C=["c"])),
            ("look", 2): lambda: rename(file, graph(A=["a", "ours"], B=["b"], C=["c", "theirs 2"])),
        }
    )
    library.apply(planned)
    assert file.read_text() == graph(A=["a", "ours"], B=["b", "theirs 1"], C=["c", "theirs 2"])


def graph(**observations: list[str]) -> str:
    head = '{"type":"entity","name":'
    lines = [
        f'{head}"{name}","entityType":"thing","observations":{json.dumps(texts)}}}'
        for name, texts in observations.items()
    ]
    return "\n".join(lines).replace('", "', '","')


def facts(*ids: str) -> str:
    each = {"content": "a fact of the tower", "status": "active", "supersedes": None}
    return json.dumps([{"id": id, **each} for id in ids], indent=2) + "\n"


@pytest.mark.parametrize("flags", [os.O_WRONLY, os.O_WRONLY | os.O_TRUNC], ids=["slow", "emptied"])
@pytest.mark.parametrize(
    ("name", "text_of"),
    [("entities/altenau/items.json", facts), ("memory.jsonl", lambda *ids: graph(A=list(ids)))],
    ids=["agent-memory", "mcp-memory"],
)
def test_what_a_program_adds_by_a_file_that_it_had_opened_before_the_save_is_added(
    tmp_path: Path,
    at: Callable[[dict[tuple[str, int], Callable[[], None]]], None],
    name: str,
    text_of: Callable[..., str],
    flags: int,
) -> None:
    """It writes in place, into what is a backup by then."""
    file = tmp_path / "store" / name
    file.parent.mkdir(parents=True)
    file.write_text(text_of("a", "b"))
    root = file if name.endswith(".jsonl") else tmp_path / "store"
    library = Library.open([root], state=tmp_path / "state")
    library.load()
    label = library.stores[0].label
    first = next(iter(library.memories(label)))
    fields = {"entity": first.entity, "content": "what memtui adds"}
    planned = library.plan([Change(Act.ADD, label, "", fields, force=True)])
    opened_files: list[int] = []
    at({("exchange", 1): lambda: opened_files.append(os.open(file, flags))})
    library.apply(planned)
    assert "theirs" not in file.read_text()
    os.write(opened_files[0], text_of("a", "b", "theirs").encode())
    os.close(opened_files[0])
    assert library.find_reverted(0) == []
    library.refresh()
    found = list(library.memories(label))
    assert "what memtui adds" in [memory.content for memory in found]
    assert len(found) == 4
    assert not library.unreadable(label)


def test_every_change_is_told_that_the_server_writes_over(tmp_path: Path) -> None:
    server = MemoryServer(tmp_path)
    library = opened(server, tmp_path)
    actions = []
    read = server.texts()
    for number in range(5):
        planned = library.plan([change(library, server, Act.ADD, "", f"ours {number}")])
        actions.append(library.apply(planned).id)
        server.add(f"theirs {number}")
        library.refresh()
    for act, text, new in ((Act.EDIT, "second", "changed"), (Act.DELETE, "first", "")):
        actions.append(library.apply(library.plan([change(library, server, act, text, new)])).id)
        server.add(f"theirs after {act}")
    assert library.find_reverted(0) == []
    server.save([*read, "theirs from its first reading"])
    found = library.find_reverted(0)
    assert sorted(each.action.id for each in found) == actions
    added = {each.action.id for each in found if each.added}
    assert added == set(actions[:5])
    library.apply(plan_reapply(found))
    assert sorted(server.texts()) == sorted(
        [*(f"ours {n}" for n in range(5)), "changed", "theirs from its first reading"]
    )
    assert library.find_reverted(0) == []


WORDS = (
    "the lighthouse keeper prefers green tea",
    "deploy with blue containers only",
    "dentist appointments are on mondays",
    "never restart the sundial server",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("format", "file", "agents_line"),
    [
        ("gemini", "GEMINI.md", "- agent {}\n"),
        ("openclaw", "MEMORY.md", "- agent {}\n"),
        ("hermes", "memories/MEMORY.md", "\n§\nagent {}"),
    ],
)
def test_every_change_of_a_list_is_told_that_an_agent_writes_over(
    tmp_path: Path, format: str, file: str, agents_line: str
) -> None:
    root = tmp_path / format
    shutil.copytree(SAMPLES / format, root)
    library = Library.open([root], state=tmp_path / "state")
    library.load()
    label = library.stores[0].label
    memories = library.memories(label)
    path = root / file
    like = next(m for m in memories if m.origin.file == str(path) and m.kind == "fact")
    read = path.read_text()
    actions = []
    for number, words in enumerate(WORDS):
        fields = {"content": words, "entity": like.entity, "type": like.type}
        actions.append(library.apply(library.plan([Change(Act.ADD, label, "", fields)])).id)
        path.write_text(path.read_text() + agents_line.format(number))
        library.refresh()
    deleted = Change(Act.DELETE, label, memory(library, WORDS[1]).ref)
    library.apply(library.plan([deleted]))
    assert library.find_reverted(0) == []
    path.write_text(read)
    found = library.find_reverted(0)
    assert [each.action.id for each in found] == [actions[3], actions[2], actions[0]]
    library.apply(plan_reapply(found))
    assert [words in path.read_text() for words in WORDS] == [True, False, True, True]
    assert library.find_reverted(0) == []


def test_a_change_that_was_undone_or_deleted_again_is_not_told(tmp_path: Path) -> None:
    server = MemoryServer(tmp_path)
    library = opened(server, tmp_path)
    library.apply(library.plan([change(library, server, Act.ADD, "", "undone")]))
    library.undo()
    library.apply(library.plan([change(library, server, Act.ADD, "", "deleted")]))
    server.add("theirs")
    library.apply(library.plan([change(library, server, Act.DELETE, "deleted")]))
    server.add("theirs too")
    assert library.find_reverted(0) == []
