"""docs/keys.md, made from the registry of actions.

python -m tests.keys_page > docs/keys.md
"""

from __future__ import annotations

from memtui.tui import actions, key_bindings
from memtui.tui.actions import ANYWHERE, EVERYWHERE, MOVING, SEARCH, Action

TITLES = {
    ANYWHERE: "Anywhere",
    EVERYWHERE: "In every dialog too",
    "memories": "On a memory, in the list or the detail",
    "detail": "In the detail",
    "entities": "In the entities",
    "timeline": "In the timeline",
    "statistics": "In the statistics",
    SEARCH: "In the search line",
    MOVING: "Moving in every list",
}


def _title(action: Action) -> str:
    scopes = [str(scope) for scope in action.scopes]
    return next((TITLES[name] for name in TITLES if name in scopes), "In a pane")


def page() -> str:
    """All keys as Markdown, with the names under which config.toml can give others."""
    chapters: dict[str, list[Action]] = {title: [] for title in TITLES.values()}
    for action in actions.ACTIONS:
        chapters.setdefault(_title(action), []).append(action)
    lines = [
        "# Keys",
        "",
        "`?` in memtui shows those that work where you are. Each can be given another key in",
        '`config.toml`, under `[keys]`, by its name: `"filter.type" = "T"`.',
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
