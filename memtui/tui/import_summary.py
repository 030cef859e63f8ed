"""What an import, or a copy to another store, would come to, as lines for a person."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from memtui import text
from memtui.tui.widgets.outcome import OutcomeLine, Tone

if TYPE_CHECKING:
    from memtui.bundle.import_plan import ImportPlan, StoreImport
    from memtui.bundle.restoring import Restoration

LISTED = 100
"""Memories named one by one in each group."""


def told(plan: ImportPlan) -> list[OutcomeLine]:
    """Counts by store, what is lost, then memory by memory."""
    said: list[OutcomeLine] = []
    for part in plan.imports:
        said += _part(part)
    if plan.lost:
        said.append(OutcomeLine("", Tone.PLAIN))
        said.append(OutcomeLine("", Tone.WARNING, "Cannot be carried over"))
        said += [
            OutcomeLine(f"{name}  (of {_memories(count)})", Tone.WARNING, "  –")
            for name, count in plan.lost.items()
        ]
    for part in plan.imports:
        said += _listed("New", Tone.GOOD, (_named(item.memory.headline) for item in part.new))
        said += _listed(
            "In conflict, so they are left out",
            Tone.WARNING,
            (f"{_named(c.memory.headline)}: {', '.join(c.differs)}" for c in part.conflicts),
        )
        said += _listed(
            "No place for them",
            Tone.WARNING,
            (f"{_named(r.memory.headline)}: {r.why}" for r in part.refused),
        )
    warnings = plan.warnings
    said += _listed("Warnings", Tone.WARNING, iter(warnings))
    return said


def made(plan: Restoration) -> list[OutcomeLine]:
    """What would be made in an empty folder."""
    said = []
    for placed in plan.stores:
        count = _memories(len(placed.store.memories))
        where = text.one_line(str(placed.root))
        said.append(
            OutcomeLine(f"with {count} in {where}", Tone.GOOD, f"makes {placed.store.format}")
        )
    said.append(OutcomeLine(f"{text.number(plan.files)} files, as they were exported", Tone.QUIET))
    return said


def _part(part: StoreImport) -> list[OutcomeLine]:
    counts = [f"{text.number(len(part.new))} new"]
    if part.same:
        counts.append(f"{text.number(len(part.same))} the same")
    if part.conflicts:
        counts.append(f"{text.number(len(part.conflicts))} in conflict")
    if part.refused:
        counts.append(f"{text.number(len(part.refused))} without a place")
    head = f"{part.source} → {part.target}"
    said = [OutcomeLine(", ".join(counts), Tone.GOOD if part.new else Tone.PLAIN, head)]
    if part.reason:
        said.append(OutcomeLine(part.reason, Tone.QUIET))
    return said


def _listed(heading: str, tone: Tone, rows: Iterable[str]) -> list[OutcomeLine]:
    every = list(rows)
    if not every:
        return []
    said = [
        OutcomeLine("", Tone.PLAIN),
        OutcomeLine("", tone, f"{heading} ({text.number(len(every))})"),
    ]
    said += [OutcomeLine(row, Tone.PLAIN, "  –") for row in every[:LISTED]]
    if len(every) > LISTED:
        said.append(OutcomeLine(f"    and {text.number(len(every) - LISTED)} more", Tone.QUIET))
    return said


def _named(headline: str) -> str:
    return text.cut(text.one_line(headline, 400), 60)


def _memories(count: int) -> str:
    return f"{text.number(count)} memor{'y' if count == 1 else 'ies'}"
