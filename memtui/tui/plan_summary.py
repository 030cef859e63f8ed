"""What a planned change, import or restore would do, as lines to show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from memtui import text
from memtui.changes import Outcome
from memtui.errors import MemtuiError
from memtui.library.planning import Planned
from memtui.model import Memory
from memtui.tui.diff_lines import DiffLine
from memtui.tui.widgets.outcome import OutcomeLine, Tone

if TYPE_CHECKING:
    from memtui.bundle.import_plan import ImportPlan, StoreImport
    from memtui.bundle.restoring import Restoration

MAX_LISTED = 200
"""Warnings and memories listed one by one."""
_GOOD = frozenset({Outcome.ADDED, Outcome.DONE})


def describe_plan(planned: Planned, get: Callable[[str], Memory]) -> tuple[OutcomeLine, ...]:
    """Outcome and reason of a plan, what it supersedes, and its warnings."""
    lines = [*_outcome(planned)]
    lines += [
        OutcomeLine(_headline(ref, get), Tone.WARNING, "supersedes:")
        for ref in planned.supersedes[:MAX_LISTED]
    ]
    lines += _count_more(len(planned.supersedes))
    lines += [OutcomeLine(warning, Tone.WARNING, "!") for warning in planned.warnings[:MAX_LISTED]]
    lines += _count_more(len(planned.warnings))
    return tuple(lines)


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
    lines = [OutcomeLine(_count_memories(len(refs)), Tone.GOOD, "changes")]
    lines += [
        OutcomeLine(f"{_count_memories(count)}: {why}", Tone.WARNING, "left out")
        for why, count in left_out.items()
    ]
    return tuple(lines)


def describe_targets(planned: Planned, get: Callable[[str], Memory]) -> tuple[OutcomeLine, ...]:
    """The memories that a plan changes, one per line."""
    changes = [change for plan in planned.plans for change in plan.changes]
    refs = list(dict.fromkeys(change.ref for change in changes if change.ref))
    lines = [OutcomeLine(_headline(ref, get), Tone.QUIET, "–") for ref in refs[:MAX_LISTED]]
    return (*lines, *_count_more(len(refs)))


def _count_more(count: int) -> list[OutcomeLine]:
    return [OutcomeLine(f"and {count - MAX_LISTED} more", Tone.QUIET)] if count > MAX_LISTED else []


def _headline(ref: str, get: Callable[[str], Memory]) -> str:
    try:
        return get(ref).headline[:400]
    except MemtuiError:
        return ref


def describe_files(planned: Planned, lines: Sequence[DiffLine]) -> tuple[OutcomeLine, ...]:
    """The first file that would change, and how many more."""
    files = [line.words for line in lines if line.kind == "file"]
    if not files or not planned.has_edits:
        return ()
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    return (OutcomeLine(f"{files[0]}{more}", Tone.QUIET, "changes"),)


def describe_failure(error: MemtuiError) -> OutcomeLine:
    """The error that prevents a plan or a save."""
    return OutcomeLine(str(error), Tone.BAD, "error:")


MAX_PER_GROUP = 100
"""Memories listed one by one in each group of an import."""


def describe_import(plan: ImportPlan) -> list[OutcomeLine]:
    """Counts per store, fields lost, then the memories one by one."""
    lines: list[OutcomeLine] = []
    for part in plan.imports:
        lines += _describe_store(part)
    if plan.lost:
        lines.append(OutcomeLine("", Tone.PLAIN))
        lines.append(OutcomeLine("", Tone.WARNING, "Fields lost"))
        lines += [
            OutcomeLine(f"{name}  (of {_count_memories(count)})", Tone.WARNING, "  –")
            for name, count in plan.lost.items()
        ]
    for part in plan.imports:
        lines += _list_group(
            "New", Tone.GOOD, (_shorten(item.memory.headline) for item in part.new)
        )
        lines += _list_group(
            "Skipped (conflict)",
            Tone.WARNING,
            (f"{_shorten(c.memory.headline)}: {', '.join(c.differs)}" for c in part.conflicts),
        )
        lines += _list_group(
            "Rejected",
            Tone.WARNING,
            (f"{_shorten(r.memory.headline)}: {r.why}" for r in part.refused),
        )
    warnings = plan.warnings
    lines += _list_group("Warnings", Tone.WARNING, iter(warnings))
    return lines


def describe_restore(plan: Restoration) -> list[OutcomeLine]:
    """The stores that restoring into a new folder would create."""
    lines = []
    for placed in plan.stores:
        count = _count_memories(len(placed.store.memories))
        where = text.one_line(str(placed.root))
        lines.append(
            OutcomeLine(f"{count} in {where}", Tone.GOOD, f"creates {placed.store.format}:")
        )
    lines.append(
        OutcomeLine(f"{text.counted(plan.files, 'file')}, as exported, byte for byte", Tone.QUIET)
    )
    return lines


def _describe_store(part: StoreImport) -> list[OutcomeLine]:
    counts = [f"{text.number(len(part.new))} new"]
    if part.same:
        counts.append(f"{text.number(len(part.same))} unchanged")
    if part.conflicts:
        counts.append(f"{text.number(len(part.conflicts))} conflicting")
    if part.refused:
        counts.append(f"{text.number(len(part.refused))} rejected")
    head = f"{part.source} → {part.target}"
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


def _shorten(headline: str) -> str:
    return text.cut(text.one_line(headline, 400), 60)


def _count_memories(count: int) -> str:
    return text.counted(count, "memory")
