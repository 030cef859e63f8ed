"""The table of commands: where each is defined, and its line in `memtui --help`.

Commands that do what a key of the screen does have their line in the table of actions. Neither
imports click, so that `memtui PATH` starts the screen without it.
"""

from inspect import cleandoc

from memtui.tui.actions import ACTIONS

_HELP = {action.command: action.command_help for action in ACTIONS if action.command}
COMMANDS = {
    "demo": ("store_commands:demo", "Try memtui on a temporary copy of the sample data."),
    "open": ("store_commands:open_", "Open the screen on these stores (the default)."),
    "stores": ("store_commands:stores", "List stores and their unreadable files."),
    "check": ("store_commands:check", "Find unreadable files, secrets, dangling references."),
    "list": ("read_commands:list_", "List memories, newest first."),
    "search": ("read_commands:search", "Search memories by text and filters."),
    "similar": ("read_commands:similar", "Find similar memories."),
    "show": ("read_commands:show", "Show a memory with all its fields."),
    "history": ("time_commands:history", "Show all versions of a memory; restore a former text."),
    "context": ("context_commands:context", "Show what an agent would be given for a task."),
    "hot": ("context_commands:hot", "List the most used memories."),
    "links": ("link_commands:links", "List the links of a memory or entity."),
    "traverse": ("link_commands:traverse", "Follow links; draw or export what they reach."),
    "compare": ("store_commands:compare", "Compare what two stores hold."),
    "diff": ("time_commands:diff", "Show what changed between two times."),
    "stats": ("read_commands:stats", "Count memories by type, importance, status, store."),
    "add": ("change_commands:add", _HELP["add"]),
    "edit": ("change_commands:edit", _HELP["edit"]),
    "supersede": ("change_commands:supersede", _HELP["supersede"]),
    "retire": ("change_commands:retire", _HELP["retire"]),
    "restore": ("change_commands:restore", _HELP["restore"]),
    "delete": ("change_commands:delete", _HELP["delete"]),
    "merge": ("change_commands:merge", _HELP["merge"]),
    "accept": ("change_commands:accept", _HELP["accept"]),
    "decline": ("change_commands:decline", _HELP["decline"]),
    "rate": ("change_commands:rate", _HELP["rate"]),
    "mark-reviewed": ("change_commands:mark_reviewed", _HELP["mark-reviewed"]),
    "pin": ("change_commands:pin", _HELP["pin"]),
    "link": ("change_commands:link", _HELP["link"]),
    "unlink": ("change_commands:unlink", "Remove a link."),
    "review": ("review_commands:review", "List what could be tidied; accept or decline it."),
    "consolidate": ("review_commands:consolidate", "Merge memories that say much the same."),
    "compact": ("review_commands:compact", "Drop old events past the limit of a branch."),
    "extract": ("review_commands:extract", "Extract facts from a file with a language model."),
    "undo": ("journal_commands:undo", _HELP["undo"]),
    "redo": ("journal_commands:redo", _HELP["redo"]),
    "log": ("journal_commands:log", "Show the changes made with memtui."),
    "export": ("transfer_commands:export", "Export memories to a file."),
    "import": ("transfer_commands:import_", "Import memories; --dry-run shows the plan."),
    "verify": ("transfer_commands:verify", "Check that an export file is intact."),
    "embed": ("store_commands:embed", "Compute embeddings for semantic search."),
    "config": ("store_commands:config", "Print config.toml with every setting explained."),
}
"""Name -> module and function within `memtui.cli`, one line of help."""

SECTIONS = {
    "store_commands": "Stores",
    "read_commands": "Reading",
    "context_commands": "Context",
    "link_commands": "Links",
    "time_commands": "History",
    "change_commands": "Changing",
    "review_commands": "Review",
    "journal_commands": "Undo and log",
    "transfer_commands": "Export and import",
}
"""Module -> heading of its commands in `memtui --help` and in docs/commands.md."""


def long_help(name: str, details: str | None) -> str:
    """The text of `memtui NAME --help`.

    Args:
        name: The command.
        details: The help of its function. What an action does is said by the table of actions, so
            there it only adds to it; for other commands it is the whole text.
    """
    text = cleandoc(details or "")
    if name not in _HELP or text.startswith(_HELP[name]):
        return text
    return f"{_HELP[name]}\n\n{text}".rstrip()


def commands_in(module: str) -> list[str]:
    """Names of the commands that a module defines, in the order of the table."""
    return [name for name, (place, _) in COMMANDS.items() if place.startswith(f"{module}:")]
