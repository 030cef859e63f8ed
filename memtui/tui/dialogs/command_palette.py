"""The command palette: what can be done at this moment, one line each, the latest used first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from memtui.tui import key_bindings
from memtui.tui.actions import ACTIONS
from memtui.tui.dialogs.picker import Choice, Picker

MOST_RECENT = 20
"""Commands that are remembered as used."""


class CommandPalette(Picker):
    """Dismissed with the id of the chosen action."""

    def __init__(self, choices: Sequence[Choice]) -> None:
        super().__init__("Commands", choices, several=False, accept="run")


def command_choices(
    refusal: Callable[[str], str], overrides: Mapping[str, Sequence[str]], recent: Sequence[str]
) -> list[Choice]:
    """The actions without a `refusal` with their keys; those in `recent` first, in its order."""
    allowed = [action for action in ACTIONS if action.palette and not refusal(action.id)]
    rank = {name: at for at, name in enumerate(recent)}
    allowed.sort(key=lambda action: rank.get(action.id, len(rank)))
    return [
        Choice(
            action.id,
            action.tooltip,
            note=action.id,
            tail=key_bindings.show_keys(action, overrides),
        )
        for action in allowed
    ]


def with_recent(recent: Sequence[str], action_id: str) -> tuple[str, ...]:
    """`recent` with this action first."""
    return (action_id, *(name for name in recent if name != action_id))[:MOST_RECENT]
