"""docs/keys.md, generated from the table of actions.

python -m tests.keys_page > docs/keys.md
"""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter

from memtui.tui import actions, key_bindings
from memtui.tui.actions import ANYWHERE, EVERYWHERE, MOVING, SEARCH, Action
from memtui.tui.layout import Pane

WHERE = {
    ANYWHERE: "everywhere",
    EVERYWHERE: "everywhere, dialogs included",
    SEARCH: "search line",
    MOVING: "every list",
    Pane.MEMORIES: "list",
}


def _where(action: Action) -> str:
    scopes = [WHERE.get(scope, str(scope)) for scope in action.scopes]
    return "every pane" if len(scopes) == len(Pane) else ", ".join(scopes)


def page() -> str:
    """Return the page as Markdown: the keys of every action, where they work, and its name."""
    lines = [
        "# Keys",
        "",
        "Generated from the program; `?` in memtui lists the keys of the pane or page you are in,",
        "and what has no key here is in the list of all commands (`:`). Other keys can be set in",
        '`config.toml` under `[keys]`, by the name of the action: `"filter.type" = "T"`.',
    ]
    for group, found in groupby(actions.ACTIONS, attrgetter("group")):
        lines += ["", f"## {group}", "", "| key | does | where | name |", "|---|---|---|---|"]
        for action in found:
            keys = " ".join(f"`{key_bindings.show_key(key)}`" for key in action.keys).replace(
                "|", "\\|"
            )
            lines.append(f"| {keys} | {action.tooltip} | {_where(action)} | {action.id} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
