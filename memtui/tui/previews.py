"""What a plan does, as lines; planning in a job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from memtui import text
from memtui.changes import Change, Outcome, Plan, effects_of
from memtui.errors import MemtuiError, RefError, Refused
from memtui.library.planning import Planned, name_below
from memtui.model import Memory
from memtui.progress import Progress, stoppable
from memtui.tui.diff_lines import DiffLine, diff_files
from memtui.tui.jobs import Job
from memtui.tui.widgets.text_window import OutcomeLine, Tone

if TYPE_CHECKING:
    from memtui.bundle.import_plan import ImportPlan, StoreImport
    from memtui.bundle.restoring import Restoration
    from memtui.library import Library


Find = Callable[[str], Memory | None]
"""`LibraryWorker.find_memory`."""


class Preview(Struct, frozen=True):
    """A plan and what it does to each file, ready to be shown."""

    planned: Planned
    lines: tuple[DiffLine, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Reason -> how many memories cannot have all that was asked for because of it."""


def preview(library: Library, changes: Sequence[Change], job: Job) -> Preview:
    """Plan these changes in a job, and compute their diffs. Raises what planning raises."""
    planned = library.plan(changes, "", job.report, job.is_cancelled)
    return preview_of(planned, library, job)


def preview_possible(library: Library, changes: Sequence[Change], job: Job) -> Preview:
    """Plan those of these changes that are possible, each field of an edit by itself if need be.

    Raises:
        Refused: none of them is possible.
        Cancelled: the job was stopped.
    """
    try:
        return preview(library, changes, job)
    except (Refused, RefError):
        pass
    possible: list[Change] = []
    refused: dict[tuple[str, str], None] = {}
    for change in stoppable(changes, job.is_cancelled):
        if not why_impossible(library, change):
            possible.append(change)
            continue
        fields: dict[str, object] = {}
        for name, value in change.fields.items() or [("", None)]:
            one = replace(change, fields={name: value} if name else {})
            if why := why_impossible(library, one):
                refused[why, change.ref] = None
            else:
                fields[name] = value
        if fields:
            possible.append(replace(change, fields=fields))
    left_out = Counter(why for why, _ in refused)
    if not possible:
        raise Refused("; ".join(left_out) or "nothing can be changed here")
    return replace(preview(library, possible, job), left_out=left_out)


def why_impossible(library: Library, change: Change) -> str:
    """Return why the change cannot be planned now; empty if it can."""
    try:
        library.plan([change])
    except Refused as error:
        return error.what
    except RefError:
        return "no longer there"
    return ""


def preview_of(planned: Planned, library: Library | None = None, job: Job | None = None) -> Preview:
    """Return a plan with its diffs; with a library the files are named from their stores."""
    progress = () if job is None else (job.report, job.is_cancelled)
    diffs = name_below(planned.diffs(*progress), library)
    return Preview(planned, tuple(diff_files(diffs)))


# ---- what a plan does, as lines ------------------------------------------------------------------

MAX_LISTED = 200
"""Warnings and memories listed one by one."""
_GOOD = frozenset({Outcome.ADDED, Outcome.DONE})


def describe_progress(progress: Progress) -> OutcomeLine:
    done, total = text.number(progress.done), text.number(progress.total)
    return OutcomeLine(f"{progress.what} {done} of {total}", Tone.QUIET)


def describe_plan(planned: Planned, find: Find) -> tuple[OutcomeLine, ...]:
    """What a plan means for the programs, its outcome and reason, what it supersedes, its
    warnings."""
    lines = [*describe_effects(planned.plans), *_outcome(planned)]
    lines += [
        OutcomeLine(_headline(ref, find), Tone.WARNING, "supersedes:")
        for ref in planned.supersedes[:MAX_LISTED]
    ]
    lines += _count_more(len(planned.supersedes))
    lines += [OutcomeLine(warning, Tone.WARNING, "!") for warning in planned.warnings[:MAX_LISTED]]
    lines += _count_more(len(planned.warnings))
    return tuple(lines)


def describe_effects(plans: Iterable[Plan]) -> list[OutcomeLine]:
    """What plans mean for the programs, a line each; a warning where nothing is as it may seem."""
    return [
        OutcomeLine(effect, Tone.WARNING if is_warning else Tone.GOOD, "→")
        for effect, is_warning in effects_of(plans).items()
    ]


def _outcome(planned: Planned) -> list[OutcomeLine]:
    outcome, reason = planned.outcome, planned.reason
    if outcome is Outcome.NOTHING and not planned.has_edits:
        return [OutcomeLine(reason or "no changes", Tone.QUIET)]
    if outcome is Outcome.DONE:
        return [OutcomeLine(reason, Tone.QUIET)] if reason else []
    tone = Tone.GOOD if outcome in _GOOD else Tone.WARNING
    if outcome is Outcome.REJECTED:
        tone = Tone.BAD
    return [OutcomeLine(reason, tone, str(outcome))]


def describe_count(planned: Planned, left_out: Mapping[str, int]) -> tuple[OutcomeLine, ...]:
    """Describe how many memories a plan changes, and what is left out and why."""
    refs = {change.ref for plan in planned.plans if plan.has_edits for change in plan.changes}
    lines = [OutcomeLine(text.counted(len(refs), "memory"), Tone.GOOD, "changes")]
    return (*lines, *describe_left_out(left_out, "left out for"))


def describe_left_out(reasons: Mapping[str, int], head: str = "left out:") -> list[OutcomeLine]:
    """How many memories something is not done for, a line for each reason."""
    return [
        OutcomeLine(
            f"{text.counted(count, 'memory')}: {why.partition(' · ')[0]}", Tone.WARNING, head
        )
        for why, count in reasons.items()
    ]


def describe_targets(planned: Planned, find: Find) -> tuple[OutcomeLine, ...]:
    """The memories that a plan changes, one per line."""
    refs = list(dict.fromkeys(change.ref for change in planned.changes if change.ref))
    lines = [OutcomeLine(_headline(ref, find), Tone.QUIET, "–") for ref in refs[:MAX_LISTED]]
    return (*lines, *_count_more(len(refs)))


def _count_more(count: int) -> list[OutcomeLine]:
    more = text.and_more(count - MAX_LISTED).strip()
    return [OutcomeLine(more, Tone.QUIET)] if more else []


def _headline(ref: str, find: Find) -> str:
    memory = find(ref)
    return memory.headline[: text.MAX_READ] if memory else ref


def describe_files(planned: Planned, lines: Sequence[DiffLine]) -> tuple[OutcomeLine, ...]:
    """The first file that would change, and how many more."""
    files = [line.words for line in lines if line.kind == "file"]
    if not files or not planned.has_edits:
        return ()
    return (OutcomeLine(f"{files[0]}{text.and_more(len(files) - 1)}", Tone.QUIET, "changes"),)


def describe_failure(error: MemtuiError) -> OutcomeLine:
    """The error that prevents a plan or a save."""
    return OutcomeLine(str(error), Tone.BAD, "error:")


MAX_PER_GROUP = 100
"""Memories listed one by one in each group of an import."""


def describe_import(plan: ImportPlan, name: Callable[[str], str]) -> list[OutcomeLine]:
    """Counts per store, fields lost, then the memories one by one, what needs a look first.

    `name` gives the name under which the store with a label is shown.
    """
    lines: list[OutcomeLine] = []
    for part in plan.imports:
        if part.is_published and part.new:
            count = text.counted(len(part.new), "memory")
            what = f"{count} to everybody who reads {name(part.target)}"
            lines.append(OutcomeLine(what, Tone.WARNING, "publishes"))
        for headline, dangers in part.dangers.items():
            lines.append(OutcomeLine(f"{headline}: {'; '.join(dangers)}", Tone.BAD, "!"))
    for part in plan.imports:
        lines += _describe_store(part, name)
    if plan.lost:
        only_one = sum(plan.counts.values()) == 1
        lines.append(OutcomeLine("", Tone.PLAIN))
        lines.append(OutcomeLine("", Tone.WARNING, "Fields lost"))
        lines += [
            OutcomeLine(
                name if only_one else f"{name}: {text.counted(count, 'memory')}",
                Tone.WARNING,
                "  –",
            )
            for name, count in (
                (key.removeprefix("extra.").replace("_", " "), count)
                for key, count in plan.lost.items()
            )
        ]
    for part in plan.imports:
        skipped = (
            f"{_named(c.memory)}: {'differs in ' * bool(c.existing)}{', '.join(c.differs)}"
            for c in part.conflicts
        )
        rejected = (f"{_named(r.memory)}: {r.why}" for r in part.refused)
        lines += _list_group("Skipped (conflict)", Tone.WARNING, skipped)
        lines += _list_group("Rejected", Tone.WARNING, rejected)
        lines += _list_group("New", Tone.GOOD, (_named(item.memory) for item in part.new))
    lines += _list_group("Warnings", Tone.WARNING, plan.warnings)
    return lines


def describe_restore(plan: Restoration) -> list[OutcomeLine]:
    """The stores that restoring into a new folder would create."""
    lines = []
    for placed in plan.stores:
        count = text.counted(len(placed.store.memories), "memory")
        where = text.one_line(str(placed.root))
        lines.append(
            OutcomeLine(f"{count} in {where}", Tone.GOOD, f"creates {placed.store.format}:")
        )
    lines.append(
        OutcomeLine(f"{text.counted(plan.files, 'file')}, as exported, byte for byte", Tone.QUIET)
    )
    return lines


def _describe_store(part: StoreImport, name: Callable[[str], str]) -> list[OutcomeLine]:
    counts = [f"{text.number(len(part.new))} new"]
    if part.same:
        counts.append(f"{text.number(len(part.same))} unchanged")
    if part.conflicts:
        counts.append(f"{text.number(len(part.conflicts))} conflicting")
    if part.refused:
        counts.append(f"{text.number(len(part.refused))} rejected")
    head = f"{name(part.source)} → {name(part.target)}"
    lines = [OutcomeLine(", ".join(counts), Tone.GOOD if part.new else Tone.PLAIN, head)]
    if part.reason:
        lines.append(OutcomeLine(part.reason, Tone.QUIET))
    return lines


def _list_group(heading: str, tone: Tone, rows: Iterable[str]) -> list[OutcomeLine]:
    every = list(rows)
    if not every:
        return []
    lines = [
        OutcomeLine("", Tone.PLAIN),
        OutcomeLine("", tone, f"{heading} ({text.number(len(every))})"),
    ]
    lines += [OutcomeLine(row, Tone.PLAIN, "  –") for row in every[:MAX_PER_GROUP]]
    if len(every) > MAX_PER_GROUP:
        lines.append(
            OutcomeLine(f"    and {text.number(len(every) - MAX_PER_GROUP)} more", Tone.QUIET)
        )
    return lines


def _named(memory: Memory) -> str:
    return text.cut_line(memory.headline or memory.id, 100)
