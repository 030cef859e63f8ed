"""The table of commands: where each is defined, and its line in `memtui --help`.

It imports nothing, so that `memtui PATH` starts the screen without click.
"""

COMMANDS = {
    "demo": ("store_commands:demo", "Try memtui on a temporary copy of the sample data."),
    "open": ("store_commands:open_", "Open the screen on these stores (the default)."),
    "stores": ("store_commands:stores", "List stores and their unreadable files."),
    "check": ("store_commands:check", "Find unreadable files, secrets, dangling references."),
    "list": ("read_commands:list_", "List memories, newest first."),
    "search": ("read_commands:search", "Search memories by text and filters."),
    "similar": ("read_commands:similar", "Find similar memories."),
    "show": ("read_commands:show", "Show a memory with all its fields."),
    "history": ("read_commands:history", "Show the earlier and later versions of a memory."),
    "stats": ("read_commands:stats", "Count memories by type, importance, status, store."),
    "add": ("change_commands:add", "Add a memory by the rules of its store."),
    "edit": ("change_commands:edit", "Edit a memory's text, type, importance, entity or tags."),
    "supersede": ("change_commands:supersede", "Supersede a memory with a new version."),
    "retire": ("change_commands:retire", "Take a memory out of use."),
    "restore": ("change_commands:restore", "Restore a retired, superseded or deleted memory."),
    "delete": ("change_commands:delete", "Delete a memory from its store."),
    "merge": ("change_commands:merge", "Merge memories into one."),
    "accept": ("change_commands:accept", "Accept a proposal."),
    "decline": ("change_commands:decline", "Decline a proposal."),
    "rate": ("change_commands:rate", "Rate a memory from 1 to 5."),
    "review": ("change_commands:review", "Mark a memory as reviewed today."),
    "pin": ("change_commands:pin", "Pin or unpin a memory."),
    "link": ("change_commands:link", "Link a memory to another memory or to an entity."),
    "unlink": ("change_commands:unlink", "Remove a link."),
    "undo": ("journal_commands:undo", "Undo the last change."),
    "redo": ("journal_commands:redo", "Redo the last undone change."),
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
    "change_commands": "Changing",
    "journal_commands": "Undo and log",
    "transfer_commands": "Export and import",
}
"""Module -> heading of its commands in `memtui --help` and in docs/commands.md."""


def commands_in(module: str) -> list[str]:
    """Names of the commands that a module defines, in the order of the table."""
    return [name for name, (place, _) in COMMANDS.items() if place.startswith(f"{module}:")]
