"""How often each finding is right on hand-labelled cases and on the sample stores."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path

import pytest
from msgspec import Struct
from msgspec.structs import replace

from memtui.changes import Act, Change
from memtui.library import Library
from memtui.library.review import ReviewQueue
from memtui.model import Link, Memory
from memtui.stores import registry
from memtui.stores.values import with_unique_ids
from memtui.text import hidden_count
from memtui.text.secrets import find_secrets
from memtui.upkeep.checks import (
    check_duplicate_ids,
    check_links,
    check_orphaned_files,
    check_text,
    check_texts,
)
from memtui.upkeep.outdated import find_outdated
from memtui.upkeep.planted_text import find_suspicions
from memtui.upkeep.proposal_scan import scan
from memtui.upkeep.proposals import (
    MEASURED,
    MIN_PRECISION,
    RULES,
    Proposal,
    ProposalKind,
    UpkeepContext,
)
from tests.unit.library.stores_for_tests import agent_memory

from . import labelled_outdated, labelled_secrets
from .labelled_findings import (
    CASES,
    HIDDEN_FALSE,
    HIDDEN_TRUE,
    MERGED,
    NOW,
    LabelledCase,
    memories,
)
from .sample_labels import LABELS, STORY, TOWER, SampleLabel
from .test_planted_text import HONEST, POSING, SAMPLES

REMOTE = "git@git.example.org:quarterbell/test-tower.git"
"""The remote of the test tower in the sample stores; a clone of it has one merged branch."""


@cache
def context() -> UpkeepContext:
    """The rules of the sample stores, which can do everything."""
    stores = ("agent-memory", "ambient", "engram", "simple-memory")
    queue = ReviewQueue(Library.open([SAMPLES / name for name in stores]))
    return replace(queue.context, can=lambda *_: True, now=NOW, merged=MERGED)


def is_found(case: LabelledCase) -> bool:
    groups = scan(case.memories, context(), {}, kinds=[case.kind])
    return any(group.proposals for group in groups.values())


class Measured(Struct, frozen=True):
    """Labelled cases of one finding: how many it names of the true and of the false ones."""

    true: int
    false: int
    right: int
    wrong: int

    def __str__(self) -> str:
        precision = f"{self.right / max(1, self.right + self.wrong):.0%}"
        return f"{self.true} / {self.false} | {precision}, {self.right / max(1, self.true):.0%}"


def measure(cases: Iterator[tuple[bool, bool]]) -> Measured:
    """Count pairs of whether a case is true, and whether it is named."""
    found = list(cases)
    return Measured(
        sum(is_true for is_true, _ in found),
        sum(not is_true for is_true, _ in found),
        sum(is_true and named for is_true, named in found),
        sum(named and not is_true for is_true, named in found),
    )


def texts_of(kind: ProposalKind) -> Iterator[tuple[bool, bool]]:
    """The labelled lines of a finding that reads one text; of those measured, the reported half."""
    named: Callable[[str], object]
    if kind is ProposalKind.SECRET:
        lines = labelled_secrets.measured_lines(labelled_secrets.REPORTED)
        true = [text for is_secret, _, text in lines if is_secret]
        false = [text for is_secret, _, text in lines if not is_secret]
        named = lambda text: list(find_secrets(text))  # noqa: E731
    elif kind is ProposalKind.PLANTED:
        true, false = [*POSING, *HIDDEN_TRUE], [*HONEST, *HIDDEN_FALSE]
        named = lambda text: find_suspicions(text) or hidden_count(text)  # noqa: E731
    elif kind is ProposalKind.OUTDATED:
        true = [text for is_true, text in labelled_outdated.REPORTED if is_true]
        false = [text for is_true, text in labelled_outdated.REPORTED if not is_true]
        named = lambda text: find_outdated(*memories(text), labelled_outdated.PROJECT)  # noqa: E731
    else:
        return
    yield from ((True, bool(named(text))) for text in true)
    yield from ((False, bool(named(text))) for text in false)


class ScannedSamples(Struct, frozen=True):
    """What a scan of copies of the sample stores proposes, by group of stores."""

    proposals: dict[str, tuple[Proposal, ...]]

    def label_of(self, stores: str, proposal: Proposal) -> SampleLabel | None:
        return next((one for one in LABELS if one.stores == stores and fits(one, proposal)), None)

    def names(self, label: SampleLabel) -> bool:
        """Whether it is found; what should not be found may be a hint."""
        return any(
            fits(label, one) and (label.is_true or not one.is_hint)
            for one in self.proposals[label.stores]
        )


def fits(label: SampleLabel, proposal: Proposal) -> bool:
    names = [*proposal.refs, f"file:{proposal.file}"]
    return label.kind is proposal.kind and all(
        any(_is_name(wanted, name) for name in names) for wanted in label.names
    )


def _is_name(wanted: str, name: str) -> bool:
    if wanted.startswith("file:"):
        return name.startswith("file:") and name.endswith(wanted[5:])
    return (
        name == wanted
        or (name.startswith(wanted) and not wanted[-1].isdecimal())
        or (name.startswith(f"{wanted}-"))
    )


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> ScannedSamples:
    folder = tmp_path_factory.mktemp("samples")
    copy = Path(shutil.copytree(SAMPLES, folder / "sample-data"))
    tower = copy / "test-tower"
    project = folder / "project"
    notes = project / ".serena" / "memories"
    notes.mkdir(parents=True)
    (notes / "build.md").write_text("# Build\n\nAlways call `npm run toll` first.\n")
    (notes / "ring.md").write_text("# Ring\n\nCall `npm run ring` in the tower.\n")
    towers = {
        "first": ["Wendelau has 43 towers", "Porto rang 12 bells on Sunday"],
        "second": ["The network of Wendelau counts 41 towers", "Porto rang 10 bells on Sunday"],
    }
    for name, texts in towers.items():
        agent_memory(folder / name, {"towers": texts})
    (project / "package.json").write_text('{"scripts": {"ring": "x", "dampen": "y"}}')
    library = Library.open(
        [
            *(root for _, root in registry.detect_within(tower)),
            notes,
            *(root for name in towers for _, root in registry.detect_within(folder / name)),
        ],
        state=folder / "state",
        now=lambda: NOW,
    )
    library.load()
    overwrite_one(library, tower / "agent-memory" / "memory" / "entities")
    clone = clone_with_a_merged_branch(folder)
    story = Library.open([root for _, root in registry.detect_within(copy)], now=lambda: NOW)
    story.load()
    return ScannedSamples(
        {
            TOWER: ReviewQueue(library, clones=[clone]).scan().proposals,
            STORY: ReviewQueue(story).scan().proposals,
        }
    )


def overwrite_one(library: Library, entities: Path) -> None:
    """Change a fact of two people; another program puts back one of the two files."""
    for slug, is_put_back in (("timo-brandt", True), ("runa-holt", False)):
        file = entities / slug / "items.json"
        before = file.read_bytes()
        memory = next(
            one for one in library.memories("agent-memory") if one.origin.file == str(file)
        )
        change = Change(
            Act.EDIT, "agent-memory", memory.ref, {"content": f"{memory.content}, always"}
        )
        library.apply(library.plan([change]))
        if is_put_back:
            file.write_bytes(before)
    library.refresh()


def clone_with_a_merged_branch(folder: Path) -> Path:
    clone = folder / "clone"
    clone.mkdir()
    author = ("-c", "user.name=Runa", "-c", "user.email=runa@example.org")
    for arguments in (
        ("init", "-b", "trunk"),
        ("commit", "--allow-empty", "-m", "one"),
        ("branch", "feat/hatch-sensor"),
        ("checkout", "-b", "feat/hatch-sensor-night"),
        ("commit", "--allow-empty", "-m", "two"),
        ("checkout", "trunk"),
        ("remote", "add", "origin", REMOTE),
    ):
        subprocess.run(["git", "-C", clone, *author, *arguments], check=True, capture_output=True)
    return clone


@pytest.mark.slow
def test_every_proposal_of_the_sample_data_is_labelled(samples: ScannedSamples) -> None:
    unlabelled = [
        (str(one.kind), one.title, one.refs)
        for stores, proposals in samples.proposals.items()
        for one in proposals
        if one.kind is not ProposalKind.AGENT and samples.label_of(stores, one) is None
    ]
    assert unlabelled == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [kind for kind in RULES if kind not in ("agent", "remark")], ids=str
)
def test_a_finding_is_right_on_the_labelled_cases(
    kind: ProposalKind, samples: ScannedSamples, figures: Callable[[str], None]
) -> None:
    labels = [one for one in LABELS if one.kind is kind]
    measured = measure(
        iter(
            [
                *((case.is_true, is_found(case)) for case in CASES if case.kind is kind),
                *texts_of(kind),
                *((one.is_true, samples.names(one)) for one in labels),
            ]
        )
    )
    figures(f"finding {kind}: true / false | precision, recall: {measured}")
    assert not labels or any(one.is_true and samples.names(one) for one in labels)
    assert measured.right >= MIN_PRECISION * (measured.right + measured.wrong)


@pytest.mark.slow
def test_a_finding_of_a_rule_that_is_often_wrong_is_a_hint_though_it_proposes_a_change(
    samples: ScannedSamples,
) -> None:
    every = [one for found in samples.proposals.values() for one in found]
    assert any(one.changes and one.is_hint for one in every)
    for one in every:
        assert one.is_hint is bool(one.rule and not MEASURED[one.rule].is_enough)


@pytest.mark.parametrize(
    ("given", "hints"),
    [
        (memories("The key is ghp_" + "a1B2c3D4e5F6" * 3), [False]),
        (memories("root password: rntfLLQF7195"), [False]),
        (memories("POSTGRES_PASSWORD: harbour123"), [True]),
        (memories("The word \u202egnp.exe\u202c is turned"), [False]),
        (memories("Ta\u200bg"), [True]),
    ],
    ids=["issued", "random", "made up", "turned around", "a joiner"],
)
def test_parts_of_a_kind_that_are_sure_are_no_hints(
    given: Sequence[Memory], hints: list[bool]
) -> None:
    texts = [check_text(one) for one in given]
    assert [one.is_hint for one in check_texts(given, texts, context())] == hints


def test_hidden_characters_spare_the_joiners_that_a_script_needs() -> None:
    assert [text for text in HIDDEN_TRUE if not hidden_count(text)] == []
    assert [text for text in HIDDEN_FALSE if hidden_count(text)] == []


def indexed(value: object) -> list[Memory]:
    """A topic file that an index names or does not name; None: there is no index."""
    return memories("About the tower", kind="document", extra={"indexed": value})


@pytest.mark.parametrize(
    ("check", "true", "false"),
    [
        (
            check_duplicate_ids,
            [replace(one, id="1") for one in memories("Ann", "Bob")],
            memories("Ann", "Bob"),
        ),
        (
            check_duplicate_ids,
            with_unique_ids([replace(one, id="1") for one in memories("A", "B")]),
            [replace(one, id=id) for one, id in zip(memories("A", "B"), ("1", "1#2"), strict=True)],
        ),
        (
            partial(check_links, context=UpkeepContext(NOW)),
            memories("Ann", links=(Link("met", "people/nobody"),)),
            memories("Ann", links=(Link("met", "people/ann"),)),
        ),
        (
            partial(check_links, context=UpkeepContext(NOW)),
            memories("Ann", supersedes=("gone",)),
            memories("Ann", "Bob", supersedes=("agent-memory-0",)),
        ),
        (check_orphaned_files, indexed(False), indexed(True) + indexed(None)),
    ],
    ids=[
        "duplicate id",
        "id twice in a file",
        "dangling link",
        "dangling supersedes",
        "orphaned file",
    ],
)
def test_checks_of_ids_find_the_true_case_only(
    check: Callable[[Sequence[Memory]], object],
    true: Sequence[Memory],
    false: Sequence[Memory],
) -> None:
    assert list(check(true))  # type: ignore[call-overload]
    assert not list(check(false))  # type: ignore[call-overload]
