"""What a change means for the program that owns a store, as one sentence for people.

The sentence follows from the edits of a plan and from what the format says of its program: when it
reads a changed file (`Store.read_time`), how much of it is loaded (`Store.as_loaded`), and whether
a superseded memory is still read. An edit of the sidecar means nothing to any program.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from memtui.changes import TEXTS, Act, Edit, Effect, Kind, Outcome, Plan, count_common
from memtui.stores.base import UNITS, LoadedText, ReadTime, Store
from memtui.text import number

_PHRASES: dict[Act | None, tuple[str, str]] = {
    Act.ADD: ("reads {it|them}", "no longer reads {it|them}"),
    Act.EDIT: ("reads the new {text|texts}", "reads the former {text|texts}"),
    Act.SUPERSEDE: ("reads the new text", "reads the former text"),
    Act.RETIRE: ("no longer reads {it|them}", "reads {it|them} again"),
    Act.RESTORE: ("reads {it|them} again", "no longer reads {it|them}"),
    Act.DELETE: ("no longer reads {it|them}", "reads {it|them} again"),
    Act.PIN: ("sees the {pin|pins}", "no longer sees the {pin|pins}"),
    Act.UNPIN: ("no longer sees the {pin|pins}", "sees the {pin|pins} again"),
    Act.TAG: ("reads the new tags", "reads the former tags"),
    Act.LINK: ("reads the link", "no longer reads the link"),
    Act.UNLINK: ("no longer reads the link", "reads the link again"),
    Act.RETYPE: ("reads the new type", "reads the former type"),
    Act.MERGE: ("reads one in place of all", "reads all of them again"),
    Act.REVIEW: ("sees that {it was|they were} reviewed", "sees the former review {date|dates}"),
    Act.ACCEPT: ("reads {it|them}", "no longer reads {it|them}"),
    Act.DECLINE: ("no longer offers {it|them}", "offers {it|them} again"),
    Act.ARCHIVE: ("no longer reads the branch", "reads the branch again"),
    None: ("reads the {change|changes}", "no longer reads the {change|changes}"),
}
"""What the program does after an act, and after it is undone."""

_STATUS = "reads the new {status|statuses}", "reads the former {status|statuses}"
"""The same where what is retired is still read."""

IT = "{it|them}"
_ENDING = "no longer "
_NO_NAME = ("each of ", "no program ")
"""How a reader begins that is no name: with a capital at the start of a sentence."""
_SOON = frozenset({ReadTime.OPENED, ReadTime.SEARCHED, ReadTime.AT_ONCE})
"""Times that are not worth naming where something is no longer read."""
_HIDING = ("retired", "superseded")


def plan_effect(plan: Plan, store: Store, program: str) -> Effect | None:
    """The effect of a plan, see `describe_effect`; None where nothing changes."""
    if not plan.changes or plan.outcome in (Outcome.DEDUPE, Outcome.REJECTED):
        return None
    change = plan.changes[0]
    is_other_field = change.act is Act.EDIT and "content" not in change.fields
    act = None if is_other_field else change.act
    found = describe_effect(act, plan.edits, store, program)
    if found is None or not plan.supersedes:
        return found
    if change.act not in (Act.ADD, Act.SUPERSEDE, Act.LINK):
        return found
    is_read = store.reads_superseded or any(_hides(edit) for edit in plan.edits)
    if not is_read or any(_time(edit, store) is ReadTime.ASKED for edit in plan.edits):
        return found
    return Effect(f"{found.form}, and still reads the old one, which only memtui hides", True)


def describe_effect(
    act: Act | None,
    edits: Sequence[Edit],
    store: Store,
    program: str,
    *,
    is_undo: bool = False,
) -> Effect | None:
    """Say what these edits of one store mean for its program.

    Args:
        act: what they do, or what they undo; None: something else.
        edits: those that are made, inverted already if they undo something.
        store: the store, which knows how its program reads.
        program: its name.
        is_undo: whether they undo an act.

    Returns:
        One sentence without a full stop; None without edits, or where the store does not know.
    """
    program = next((reader for edit in edits if (reader := _reader(edit, store))), program)
    found = _describe(act, edits, store, program, is_undo=is_undo)
    if found is not None and found.form.startswith(_NO_NAME):
        return Effect(f"{found.form[0].upper()}{found.form[1:]}", found.is_warning)
    return found


def _describe(
    act: Act | None, edits: Sequence[Edit], store: Store, program: str, *, is_undo: bool
) -> Effect | None:
    native = [edit for edit in edits if edit.kind is not Kind.SIDECAR]
    if not native:
        return _in_sidecar(edits, program)
    if act is Act.REVIEW and not all(map(_is_review, native)):
        act = None  # a finding of the review was accepted, which changed texts
    phrase = _PHRASES.get(act, _PHRASES[None])[is_undo]
    if act in (Act.RETIRE, Act.RESTORE) and store.reads_retired:
        phrase = _STATUS[is_undo]
    if cut := _beyond_limit(native, store, program, ends=phrase.startswith(_ENDING)):
        return cut
    times = [time for edit in native if (time := _time(edit, store)) is not None]
    if not times:
        return None
    if ReadTime.ASKED in times:
        is_asked = any(edit.after is not None for edit in native)
        asked = f"{program} is asked by a note and decides itself"
        ended = f"{program} is no longer asked; it may have read the note"
        return Effect(asked if is_asked else ended)
    time = min(times, key=list(ReadTime).index)
    if time is ReadTime.NEVER:
        return Effect(f"{program} does not read {IT}")
    if time is ReadTime.IMPORTED and act is (Act.ADD if is_undo else Act.DELETE):
        return Effect(f"{program} keeps {IT} where it has imported {IT} already")
    if phrase.startswith(_ENDING) and time in _SOON:
        return Effect(f"{program} {phrase}")
    return Effect(f"{program} {phrase} {time}")


def _is_review(edit: Edit) -> bool:
    """Whether all that a row changes is when its memory is due for review."""
    before, after = edit.before or {}, edit.after or {}
    return (
        edit.kind is Kind.ROW
        and "review_after" in before
        and before.keys()
        == after.keys()
        <= {
            "review_after",
            "updated_at",
        }
    )


def _in_sidecar(edits: Sequence[Edit], program: str) -> Effect | None:
    if not edits:
        return None
    this, it = "{this|these}", IT
    if any(_hides(edit) for edit in edits):
        return Effect(f"Only memtui hides {this}; {program} still reads {it}", True)
    if any(_hides(edit, shows=True) for edit in edits):
        return Effect(f"Only memtui hid {this}; {program} has read {it} all the time")
    if any("kept" in {**(edit.before or {}), **(edit.after or {})} for edit in edits):
        return Effect(f"Only memtui has {this}; {program} does not read {it}")
    return Effect(f"Only memtui keeps {this}; nothing changes for {program}")


def _hides(edit: Edit, *, shows: bool = False) -> bool:
    """Whether memtui begins to hide a memory that stays in its file; or ceases to."""
    if edit.kind is not Kind.SIDECAR:
        return False
    before, after = edit.before or {}, edit.after or {}
    if shows:
        before, after = after, before
    status = after.get("status")
    return status in _HIDING and status != before.get("status") and "kept" not in after


def _time(edit: Edit, store: Store) -> ReadTime | None:
    if edit.kind is Kind.SIDECAR:
        return None
    return store.read_time(_relative(edit, store))


def _reader(edit: Edit, store: Store) -> str:
    """The program that reads the file of an edit, see `Store.reader`."""
    if edit.kind is not Kind.SIDECAR:
        return store.reader(_relative(edit, store))
    return store.reader(str({**(edit.before or {}), **(edit.after or {})}.get("shard") or ""))


def _relative(edit: Edit, store: Store) -> str:
    return os.path.relpath(edit.path, store.root).replace(os.sep, "/")


# ---- what is not loaded --------------------------------------------------------------------------


def _beyond_limit(
    edits: Iterable[Edit], store: Store, program: str, *, ends: bool
) -> Effect | None:
    """The effect of a change of lines that are not loaded; None if they are, or have no limit."""
    for edit in edits:
        text = edit.before if ends else edit.after
        if edit.kind not in TEXTS or not isinstance(text, str):
            continue
        loaded = store.as_loaded(_relative(edit, store), text)
        cut = loaded.cut_line if loaded is not None else None
        if loaded is None or cut is None or _first_change(edit) < cut:
            continue
        limit = _limit_words(loaded)
        if ends:
            lines = "{this line, which is|these lines, which are}"
            return Effect(f"{program} did not load {lines} over its {limit}")
        lines = "{this line|these lines}"
        return Effect(f"Over {program}'s {limit}: {lines} will not be loaded", True)
    return None


def _first_change(edit: Edit) -> int:
    """1-based number of the first line that differs."""
    before, after = ((text or "").split("\n") for text in (edit.before, edit.after))
    return 1 + count_common(before, after)


def _limit_words(loaded: LoadedText) -> str:
    """The limit that cuts the text: `200 lines`."""
    limit = loaded.limit
    if limit.lines is not None and loaded.text.count("\n", 0, loaded.cut) >= limit.lines:
        return f"{number(limit.lines)} lines"
    if limit.units is not None:
        return f"{number(limit.units)} {UNITS}"
    return f"{number(limit.characters or 0)} characters"
