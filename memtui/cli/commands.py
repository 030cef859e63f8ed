"""The table of commands: where each is defined, and its line in `memtui --help`.

Commands that do what a key of the screen does have their line in the table of actions. Neither
imports click, so that `memtui PATH` starts the screen without it.
"""

from functools import cache
from inspect import cleandoc

OF_ACTION = ""
"""In place of a line of help: the table of actions has it."""
COMMANDS = {
    "demo": ("store_commands:demo", "Try memtui on a temporary copy of the sample data."),
    "open": ("store_commands:open_", "Open the screen on these stores (the default)."),
    "stores": ("store_commands:stores", "List stores and their unreadable files."),
    "status": ("status_command:status", "Say in a line what waits for you; for prompts."),
    "list": ("read_commands:list_", "List memories, newest first."),
    "search": ("read_commands:search", "Search memories by text and filters."),
    "similar": ("read_commands:similar", "Find similar memories."),
    "show": ("read_commands:show", "Show a memory with all its fields."),
    "history": ("time_commands:history", "Show all versions of a memory; restore a former text."),
    "context": ("context_commands:context", "Show what an agent would be given for a task."),
    "hot": ("context_commands:hot", "List the most used memories."),
    "links": ("link_commands:links", "List the links of a memory or entity."),
    "traverse": ("link_commands:traverse", "Follow links; draw or export what they reach."),
    "diff": ("time_commands:diff", "Show what changed between two times."),
    "watch": ("watch_command:watch", "Keep what agents change and delete, as it happens."),
    "stats": ("read_commands:stats", "Count memories by type, importance, status, store."),
    "add": ("change_commands:add", OF_ACTION),
    "edit": ("change_commands:edit", OF_ACTION),
    "replace": ("change_commands:replace", OF_ACTION),
    "supersede": ("change_commands:supersede", OF_ACTION),
    "retire": ("change_commands:retire", OF_ACTION),
    "restore": ("change_commands:restore", OF_ACTION),
    "delete": ("change_commands:delete", OF_ACTION),
    "merge": ("change_commands:merge", OF_ACTION),
    "accept": ("change_commands:accept", OF_ACTION),
    "decline": ("change_commands:decline", OF_ACTION),
    "rate": ("change_commands:rate", OF_ACTION),
    "mark-reviewed": ("change_commands:mark_reviewed", OF_ACTION),
    "pin": ("change_commands:pin", OF_ACTION),
    "promote": ("change_commands:promote", OF_ACTION),
    "link": ("change_commands:link", OF_ACTION),
    "unlink": ("change_commands:unlink", "Remove a link."),
    "review": ("review_commands:review", "List what to look at; accept, agree or decline."),
    "check": ("review_commands:check", "The review's findings for CI: exit code, SARIF."),
    "extract": ("review_commands:extract", "Extract facts from a file with a language model."),
    "sessions": ("session_commands:sessions", "List and show the sessions of agents."),
    "origin": ("session_commands:origin", "Show the sessions that taught a memory."),
    "mcp": ("mcp_commands:mcp", "Serve stores to agents, who read and propose changes."),
    "undo": ("journal_commands:undo", OF_ACTION),
    "redo": ("journal_commands:redo", OF_ACTION),
    "log": ("journal_commands:log", "Show the changes made with memtui."),
    "serve": ("serve_command:serve", "Show the screen in a browser."),
    "team": ("team_commands:team", "Set up a team's memory in Postgres; its log and undo."),
    "export": ("transfer_commands:export", "Export memories to a file."),
    "import": ("transfer_commands:import_", "Import memories; --dry-run shows the plan."),
    "verify": ("transfer_commands:verify", "Check that an export file is intact."),
    "embed": ("store_commands:embed", "Compute embeddings for semantic search."),
    "config": ("store_commands:config", "Print config.toml with every setting explained."),
}
"""Name -> module and function within `memtui.cli`, one line of help or `OF_ACTION`."""

SECTIONS = {
    "store_commands": "Stores",
    "status_command": "Status",
    "read_commands": "Reading",
    "context_commands": "Context",
    "link_commands": "Links",
    "time_commands": "History",
    "watch_command": "Watching",
    "change_commands": "Changing",
    "review_commands": "Review",
    "session_commands": "Sessions",
    "mcp_commands": "Agents",
    "journal_commands": "Undo and log",
    "serve_command": "In a browser",
    "team_commands": "A team's memory",
    "transfer_commands": "Export and import",
}
"""Module -> heading of its commands in `memtui --help` and in docs/commands.md."""


@cache
def _help_of_actions() -> dict[str, str]:
    from memtui.tui.actions import ACTIONS  # a plain command needs it not

    return {action.command: action.command_help for action in ACTIONS if action.command}


def short_help(name: str) -> str:
    """The line of a command in `memtui --help`."""
    return COMMANDS[name][1] or _help_of_actions()[name]


def long_help(name: str, details: str | None) -> str:
    """The text of `memtui NAME --help`.

    `details`, the help of its function, is the whole text, or for the command of an action only
    what adds to the action's own line.
    """
    text = cleandoc(details or "")
    if COMMANDS[name][1] or text.startswith(short_help(name)):
        return text
    return f"{short_help(name)}\n\n{text}".rstrip()


def commands_in(module: str) -> list[str]:
    """Names of the commands that a module defines, in the order of the table."""
    return [name for name, (place, _) in COMMANDS.items() if place.startswith(f"{module}:")]
