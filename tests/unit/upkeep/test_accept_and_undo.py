"""Accepting proposals and undoing it leaves the store as it was, for each finding and format."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memtui.changes import Act, Change
from memtui.config import ReviewSettings
from memtui.errors import MemtuiError
from memtui.library import Library
from memtui.library.review import ReviewQueue
from memtui.upkeep.proposals import Proposal, ProposalKind
from tests.long_run import count
from tests.unit.stores.json_stores.opened import files_below

from .test_planted_text import SAMPLES
from .test_precision import clone_with_a_merged_branch

LOW = ReviewSettings(project_events=3, branch_events=3, idle_days=1, pattern_repeats=2)
"""Limits under which the sample stores has more to tidy."""
KEY = "ghp_" + "a1B2c3D4e5F6" * 3
PLANTED = (
    "The payment worker retries failed charges with exponential backoff and a jitter",
    "The payment worker retries failed charges with exponential backoff, and jitter",
    f"The mirror of the shop is pushed with the token {KEY} each night",
    "The gateway of the shop\u200b renews the session tokens every hour",
)
REVISIONS = frozenset({"engram", "conport"})
"""Formats in which undoing leaves other bytes: there the memories are compared."""
FOUND: dict[str, frozenset[ProposalKind]] = {
    "agent-memory": frozenset({ProposalKind.DUPLICATE, ProposalKind.SECRET, ProposalKind.PLANTED}),
    "ambient": frozenset({ProposalKind.EXPIRY, ProposalKind.COMPACTION, ProposalKind.SECRET}),
    "engram": frozenset({ProposalKind.SECRET, ProposalKind.PLANTED}),
    "simple-memory": frozenset({ProposalKind.CONFLICT, ProposalKind.SECRET}),
    "workspace": frozenset(),
    "markdown-folder": frozenset({ProposalKind.SECRET}),
    "claude-code": frozenset({ProposalKind.SECRET}),
    "codex": frozenset({ProposalKind.SECRET}),
    "gemini": frozenset({ProposalKind.SECRET}),
    "hermes": frozenset({ProposalKind.SECRET}),
    "conport": frozenset({ProposalKind.SECRET}),
    "beads": frozenset({ProposalKind.SECRET}),
    "mcp-memory": frozenset({ProposalKind.SECRET}),
    "openclaw": frozenset({ProposalKind.SECRET}),
    "test-tower/agent-memory": frozenset(
        {
            ProposalKind.DUPLICATE,
            ProposalKind.CONFLICT,
            ProposalKind.PLANTED,
            ProposalKind.LONG_HISTORY,
        }
    ),
    "test-tower/ambient": frozenset(
        {ProposalKind.SUPERSEDED, ProposalKind.MERGED_BRANCH, ProposalKind.COMPACTION}
    ),
    "test-tower/engram": frozenset({ProposalKind.CLUSTER}),
    "test-tower/simple-memory": frozenset(
        {ProposalKind.PATTERN, ProposalKind.DUPLICATE, ProposalKind.OUTDATED_SCHEMA}
    ),
}
"""Folder of the sample stores -> findings with changes that it must have."""


@dataclass
class OpenedCopy:
    """A copy of a sample store with planted memories, and what can be accepted in it."""

    name: str
    root: Path
    library: Library
    queue: ReviewQueue
    proposals: tuple[Proposal, ...]

    def state(self) -> object:
        """Every byte outside memtui's own folder, and the memories as they are read."""
        has_revisions = self.library.stores[0].format in REVISIONS
        found = {} if has_revisions else files_below(self.root)
        return {name: data for name, data in found.items() if ".memtui" not in name}, {
            memory.ref: (memory.title, memory.content, memory.status, memory.type, memory.entity)
            for store in self.library.stores
            for memory in self.library.memories(store.label)
        }


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=[pytest.mark.slow] if name.startswith("test-tower/") else [])
        for name in FOUND
    ],
)
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> OpenedCopy:
    folder = tmp_path_factory.mktemp(request.param.replace("/", "-"))
    root = folder / "store"
    shutil.copytree(SAMPLES / request.param, root)
    clones = [clone_with_a_merged_branch(folder)] if request.param == "test-tower/ambient" else []
    library = Library.open([root], cache=None, state=folder / "state")
    library.load()
    if not request.param.startswith("test-tower/"):
        plant(library)
    queue = ReviewQueue(library, LOW, clones)
    proposals = tuple(one for one in queue.scan().proposals if one.changes)
    return OpenedCopy(request.param, root, library, queue, proposals)


def plant(library: Library) -> None:
    """Add memories with something to tidy to the first entity that takes any."""
    label = library.stores[0].label
    for entity in dict.fromkeys(memory.entity for memory in library.memories(label)):
        added = 0
        for content in PLANTED:
            fields = {"content": content, "entity": entity, "title": content[:20]}
            try:
                planned = library.plan([Change(Act.ADD, label, "", fields, force=True)])
                if planned.has_edits:
                    library.apply(planned)
                    added += 1
            except MemtuiError:
                continue  # a format that holds no such text is reviewed without it
        if added:
            break
    library.refresh()


def test_each_format_has_its_findings(opened: OpenedCopy, figures: Callable[[str], None]) -> None:
    kinds = {one.kind for one in opened.proposals}
    assert kinds >= FOUND[opened.name]
    figures(f"accept and undo, {opened.name}: {', '.join(sorted(kinds)) or 'nothing to accept'}")


def one_of_each(opened: OpenedCopy) -> Iterator[list[Proposal]]:
    yield from ([one] for one in {one.kind: one for one in opened.proposals}.values())


def accept_and_undo(opened: OpenedCopy, chosen: list[Proposal]) -> bool:
    """Whether they could be accepted together; the store is the same afterwards."""
    before = opened.state()
    try:
        planned = opened.queue.plan(chosen)
        opened.library.apply(planned)
    except MemtuiError:
        assert opened.state() == before
        return False
    opened.library.refresh()
    assert opened.state() != before, chosen
    opened.library.undo()
    opened.library.refresh()
    assert opened.state() == before, chosen
    return True


def test_one_of_each_kind(opened: OpenedCopy) -> None:
    for chosen in one_of_each(opened):
        assert accept_and_undo(opened, chosen), chosen


def test_all_of_them_together(opened: OpenedCopy) -> None:
    """What one archives, the others leave alone."""
    if opened.proposals:
        accept_and_undo(opened, list(opened.proposals))


def test_what_is_archived_is_not_changed_as_well(opened: OpenedCopy) -> None:
    for archiving in [one for one in opened.proposals if one.kind is ProposalKind.MERGED_BRANCH]:
        same = [one for one in opened.proposals if set(one.refs) & set(archiving.refs)]
        assert accept_and_undo(opened, same), same


@settings(
    max_examples=count(2, 5),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_any_of_them_together(opened: OpenedCopy, data: st.DataObject) -> None:
    if opened.proposals:
        last = len(opened.proposals) - 1
        numbers = data.draw(st.sets(st.integers(0, last), min_size=1, max_size=4))
        accept_and_undo(opened, [opened.proposals[number] for number in sorted(numbers)])


def open_copy(tmp_path: Path, name: str) -> tuple[Library, ReviewQueue]:
    root = Path(shutil.copytree(SAMPLES / name, tmp_path / "copy"))
    library = Library.open([root], state=tmp_path / "state")
    library.load()
    return library, ReviewQueue(library)


def test_accepting_a_pattern_writes_its_evidence(tmp_path: Path) -> None:
    library, queue = open_copy(tmp_path, "test-tower/simple-memory")
    (pattern,) = queue.scan([ProposalKind.PATTERN]).proposals
    known = set(library.snapshot.slot_of)
    library.apply(queue.plan([pattern]))
    (added,) = set(library.snapshot.slot_of) - known
    named = {f"simple-memory:{link.target}" for link in library.get(added).links}
    assert named == set(pattern.refs)


def test_merging_repeated_lines_of_a_file_leaves_the_first_of_each(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    (root / "memory").mkdir(parents=True)
    for name in ("AGENTS.md", "SOUL.md", "MEMORY.md"):
        (root / name).write_text(f"# {name}\n")
    words = ("gateway", "ledger", "mirror", "archive")
    lines = [f"- The nightly build of the {word} passed on all machines" for word in words] * 2
    log = root / "memory" / "builds.md"
    log.write_text("# Builds\n\n" + "\n".join(lines) + "\n")
    library = Library.open([root], state=tmp_path / "state")
    library.load()
    queue = ReviewQueue(library)
    (one,) = queue.scan([ProposalKind.DUPLICATE]).proposals
    assert one.title == "builds.md: 4 lines repeat 4 others"
    library.apply(queue.plan([one]))
    assert log.read_text() == "# Builds\n\n" + "\n".join(lines[:4]) + "\n"
    library.undo()
    assert log.read_text().count("nightly") == 8
