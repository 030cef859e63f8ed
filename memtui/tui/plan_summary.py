"""What a plan comes to, as lines for a person."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memtui import text
from memtui.changes import Outcome
from memtui.errors import MemtuiError
from memtui.library.planning import Planned
from memtui.model import Memory
from memtui.stores.base import WritableStore
from memtui.tui.diff_lines import DiffLine
from memtui.tui.widgets.outcome import OutcomeLine, Tone

MOST = 200
"""Warnings and memories named one by one."""
_GOOD = frozenset({Outcome.ADDED, Outcome.DONE})


def told(planned: Planned, get: Callable[[str], Memory]) -> tuple[OutcomeLine, ...]:
    """Outcome and reason, what it replaces, what to be warned of."""
    said = [*_outcome(planned)]
    said += [
        OutcomeLine(_headline(ref, get), Tone.WARNING, "no longer current:")
        for ref in planned.supersedes[:MOST]
    ]
    said += _rest(len(planned.supersedes))
    said += [OutcomeLine(warning, Tone.WARNING, "!") for warning in planned.warnings[:MOST]]
    said += _rest(len(planned.warnings))
    return tuple(said)


def _outcome(planned: Planned) -> list[OutcomeLine]:
    outcome, reason = planned.outcome, planned.reason
    if outcome is Outcome.NOTHING and not planned.has_edits:
        return [OutcomeLine(reason or "nothing would change", Tone.QUIET)]
    if outcome is Outcome.DONE:
        return [OutcomeLine(reason, Tone.QUIET)] if reason else []
    tone = Tone.GOOD if outcome in _GOOD else Tone.WARNING
    if outcome is Outcome.REJECTED:
        tone = Tone.BAD
    return [OutcomeLine(reason, tone, str(outcome))]


def named(planned: Planned, get: Callable[[str], Memory]) -> tuple[OutcomeLine, ...]:
    """The memories that an act on several is about, one by one."""
    refs = [change.ref for plan in planned.plans for change in plan.changes if change.ref]
    said = [OutcomeLine(_headline(ref, get), Tone.QUIET, "–") for ref in refs[:MOST]]
    return (*said, *_rest(len(refs)))


def _rest(count: int) -> list[OutcomeLine]:
    return [OutcomeLine(f"and {count - MOST} more", Tone.QUIET)] if count > MOST else []


def _headline(ref: str, get: Callable[[str], Memory]) -> str:
    try:
        return get(ref).headline[:400]
    except MemtuiError:
        return ref


def places(
    planned: Planned, lines: Sequence[DiffLine], stores: Sequence[WritableStore]
) -> tuple[OutcomeLine, ...]:
    """Which files would change, as they are called in their store."""
    files = [line.words for line in lines if line.kind == "file"]
    roots = sorted((f"{text.file_name(str(store.root))}/" for store in stores), key=len)
    for root in reversed(roots):
        files = [file.removeprefix(root) for file in files]
    if not files or not planned.has_edits:
        return ()
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    return (OutcomeLine(f"{files[0]}{more}", Tone.QUIET, "changes"),)


def failure(error: MemtuiError) -> OutcomeLine:
    """Why it cannot be saved."""
    return OutcomeLine(str(error), Tone.BAD, "not possible:")
