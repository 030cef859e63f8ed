"""The command palette: every allowed action, by its description."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

from memtui.tui import key_bindings
from memtui.tui.actions import ACTIONS, Action

if TYPE_CHECKING:
    from memtui.tui.app_interface import AppInterface
    from memtui.tui.screens.panes import ActionScreen


class ActionPalette(Provider):
    """What can be done at this moment, with the key that does it."""

    def _offers(self) -> Iterator[tuple[Action, str, str]]:
        screen = cast("ActionScreen", self.screen)
        keys = cast("AppInterface", self.app).key_overrides
        for action in ACTIONS:
            if action.palette and not screen.refusal(action.id):
                shown = key_bindings.show_keys(action, keys)
                yield action, action.tooltip, f"{action.label}  {shown}"

    async def discover(self) -> Hits:
        for action, words, help in self._offers():
            yield DiscoveryHit(words, self._carry_out(action), help=help)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for action, words, help in self._offers():
            if (score := matcher.match(f"{words} {action.label}")) > 0:
                yield Hit(score, matcher.highlight(words), self._carry_out(action), help=help)

    def _carry_out(self, action: Action) -> partial[None]:
        return partial(cast("ActionScreen", self.screen).action_act, action.id)
