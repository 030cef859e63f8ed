"""What the profiles share: changes by the person's rules, and answers in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from memtui.changes import Change
from memtui.errors import MemtuiError, Refused
from memtui.library import Library
from memtui.mcp.call import Call, Reply
from memtui.mcp.framing import cut_text, shown
from memtui.mcp.tools import Tool, make


class Said(Reply):
    """An answer in words."""

    text: str


class Made(NamedTuple):
    """What became of changes."""

    text: str
    refs: tuple[str, ...] = ()
    """Of the memories that were written."""


def said(text: str) -> Said:
    return {"text": shown(cut_text(text)[0])}


def store_label(library: Library, format: str) -> str:
    """The label of the store that is written to: the one of this format, else the only one."""
    own = [store.label for store in library.stores if store.format == format]
    labels = own or [store.label for store in library.stores]
    if len(labels) != 1:
        raise Refused("several stores are open", do="start memtui mcp with one --store")
    return labels[0]


def make_all(call: Call, changes: Iterable[Change], why: str, done: str) -> Made:
    """Make or propose these changes, and say what became of them: `done` if all were made.

    Raises Refused where every one of them was refused.
    """
    outcomes: Counter[str] = Counter()
    reasons: dict[str, None] = {}
    refs: list[str] = []
    for change in changes:
        try:
            result = make(call, change, why)
        except MemtuiError as error:
            outcomes["refused"] += 1
            reasons[str(error)] = None
        else:
            outcomes[result["status"]] += 1
            if result["status"] == "done":
                refs += result["refs"]
            else:
                reasons[result["reason"]] = None
    if not outcomes:
        return Made("There is nothing to do.")
    if set(outcomes) == {"done"}:
        return Made(done, tuple(refs))
    if set(outcomes) == {"refused"}:
        raise Refused("; ".join(reasons))
    counts = ", ".join(f"{number} {status}" for status, number in outcomes.items())
    return Made(f"{counts}: {'; '.join(reasons)}", tuple(refs))


def carry_out(call: Call, changes: Iterable[Change], why: str, done: str) -> Said:
    """As `make_all`, as an answer."""
    return said(make_all(call, changes, why, done).text)


def title_of(function: Callable[..., Any]) -> str:
    return function.__name__.replace("_", " ").title()


def reading(*functions: Callable[..., Any]) -> tuple[Tool, ...]:
    """The tools of functions that change nothing."""
    return tuple(Tool(each, title_of(each), reads=True) for each in functions)


def storing(
    *functions: Callable[..., Any], replaces: bool = False, repeatable: bool = False
) -> tuple[Tool, ...]:
    """The tools of functions that change stores."""
    return tuple(
        Tool(each, title_of(each), writes=True, replaces=replaces, repeatable=repeatable)
        for each in functions
    )
