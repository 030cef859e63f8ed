"""The state of the screen that decides whether an action is allowed, and the reasons why not."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class ActionContext(NamedTuple):
    """What an action may ask about the moment it is pressed in. Values only."""

    has_memory: bool = False
    """The cursor of the list stands on a memory."""
    marked: int = 0
    filtered: bool = False
    searching: bool = False
    """There are words in the search line."""
    ranked: bool = False
    """The list is ordered by relevance, and the cursor stands on a hit."""
    fresh: int = 0
    """Memories that are new since the last look."""
    targets: int = 0
    """References in the detail that can be followed."""
    zoomed: bool = False
    can_go_back: bool = False
    can_go_forward: bool = False
    timeline: str = "bars"
    """What the timeline shows: bars, calendar or growth."""
    past: str = ""
    """Why nothing can be written: the stores are shown as of a time. Empty at present."""
    refused: Callable[[str], str] = lambda _: "nothing can be changed now"
    """Why the action with this id, which changes something, cannot be done; empty when it can."""


Allowed = Callable[[ActionContext], str]


def always(_: ActionContext) -> str:
    return ""


def opened(now: ActionContext) -> str:
    return now.refused("queue")


def memory(now: ActionContext) -> str:
    return "" if now.has_memory else "no memory is selected"


def present_memory(now: ActionContext) -> str:
    return now.past or memory(now)


def present(now: ActionContext) -> str:
    return now.past


def filters(now: ActionContext) -> str:
    return "" if now.filtered else "no filter is set"


def fresh(now: ActionContext) -> str:
    return "" if now.fresh else "nothing is new since you last looked"


def ranked(now: ActionContext) -> str:
    return "" if now.ranked else "only a hit of a search, best match first, has reasons to show"


def targets(now: ActionContext) -> str:
    return "" if now.targets else "this memory refers to no other"


def back(now: ActionContext) -> str:
    return "" if now.can_go_back else "there is nowhere to go back to"


def forward(now: ActionContext) -> str:
    return "" if now.can_go_forward else "there is nowhere to go forward to"


def match(now: ActionContext) -> str:
    if not now.has_memory:
        return "no memory is selected"
    return "" if now.searching else "nothing is searched for"


def bars(now: ActionContext) -> str:
    return "" if now.timeline == "bars" else f"the timeline shows the {now.timeline}, without bars"


def days(now: ActionContext) -> str:
    return "" if now.timeline != "growth" else "the timeline shows the growth, without bars or days"


def pair(now: ActionContext) -> str:
    is_pair = now.marked == 2 or (now.marked == 1 and now.has_memory)
    return "" if is_pair else "mark two memories to compare them"
