"""docs/keys.md, generated from the table of actions.

python -m tests.keys_page > docs/keys.md
"""

from __future__ import annotations

from memtui.tui import actions, key_bindings
from memtui.tui.actions import ANYWHERE, EVERYWHERE, MOVING, PACK, SEARCH, Action

TITLES = {
    ANYWHERE: "Everywhere",
    EVERYWHERE: "Everywhere, dialogs included",
    "memories": "List and detail",
    "detail": "Detail",
    "entities": "Entities",
    "timeline": "Timeline",
    "statistics": "Statistics",
    SEARCH: "Search line",
    PACK: "Context screen",
    MOVING: "Every list",
}


def _title(action: Action) -> str:
    scopes = [str(scope) for scope in action.scopes]
    return next((TITLES[name] for name in TITLES if name in scopes), "Every pane")


def page() -> str:
    """Return the page as Markdown: the keys of every action, and its name in config.toml."""
    chapters: dict[str, list[Action]] = {title: [] for title in TITLES.values()}
    for action in actions.ACTIONS:
        chapters.setdefault(_title(action), []).append(action)
    lines = [
        "# Keys",
        "",
        "Generated from the program; `?` in memtui lists the keys of the pane you are in. Other",
        "keys can be set in `config.toml` under `[keys]`, by the name of the action:",
        '`"filter.type" = "T"`.',
        "",
        "`n` and `N` go through the matches of a search while the detail shows any; otherwise they",
        "add a memory and compare two times. `insert` always adds a memory.",
    ]
    for title, found in chapters.items():
        if found:
            lines += ["", f"## {title}", "", "| key | does | name |", "|---|---|---|"]
        for action in found:
            keys = " ".join(f"`{key_bindings.show_key(key)}`" for key in action.keys).replace(
                "|", "\\|"
            )
            lines.append(f"| {keys} | {action.tooltip} | {action.id} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
