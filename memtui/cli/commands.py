"""The commands by name, known without importing any of them."""

from __future__ import annotations

COMMANDS = {
    "demo": ("memtui.cli.screen:demo", "Open a throw-away copy of the sample data."),
    "open": ("memtui.cli.screen:open_", "Open the screen on these stores (the default)."),
    "stores": ("memtui.cli.reading:stores", "List the stores found, and what is unreadable."),
    "list": ("memtui.cli.reading:list_", "List memories, newest first."),
    "search": ("memtui.cli.reading:search", "Find memories by text and filters."),
    "similar": ("memtui.cli.embedding:similar", "Find memories that are like one."),
    "embed": ("memtui.cli.embedding:embed", "Make the vectors for search by meaning."),
    "show": ("memtui.cli.reading:show", "Show everything about one memory."),
    "stats": ("memtui.cli.reading:stats", "Count memories by type, importance, status, store."),
    "add": ("memtui.cli.writing:add", "Add a memory by the store's own rules."),
    "edit": ("memtui.cli.writing:edit", "Change a memory's text, type, importance, entity, tags."),
    "supersede": ("memtui.cli.writing:supersede", "Write the successor of a memory."),
    "retire": ("memtui.cli.writing:retire", "Take a memory out of use."),
    "restore": ("memtui.cli.writing:restore", "Bring a memory back."),
    "delete": ("memtui.cli.writing:delete", "Remove a memory from its store."),
    "merge": ("memtui.cli.writing:merge", "Merge memories into one."),
    "accept": ("memtui.cli.writing:accept", "Accept a proposal."),
    "decline": ("memtui.cli.writing:decline", "Decline a proposal."),
    "rate": ("memtui.cli.writing:rate", "Rate a memory from 1 to 5."),
    "review": ("memtui.cli.writing:review", "Mark a memory as reviewed today."),
    "pin": ("memtui.cli.writing:pin", "Pin a memory, or unpin it."),
    "link": ("memtui.cli.writing:link", "Link a memory to another."),
    "unlink": ("memtui.cli.writing:unlink", "Take a link away."),
    "history": ("memtui.cli.journal:history", "Show what a memory replaced, and what replaced it."),
    "undo": ("memtui.cli.journal:undo", "Take back the last change."),
    "redo": ("memtui.cli.journal:redo", "Do it again."),
    "log": ("memtui.cli.journal:log", "Show what memtui changed."),
    "export": ("memtui.cli.transfer:export", "Write memories to a file: bundle, jsonl, csv..."),
    "import": ("memtui.cli.transfer:import_", "Read memories from a file, by a plan."),
    "verify": ("memtui.cli.transfer:verify", "Check that an export file is whole."),
    "config": ("memtui.cli.settings:config", "Print the settings file, explained."),
    "check": ("memtui.cli.checking:check", "Look for faults: unreadable files, odd ids, secrets."),
}
"""Name -> where the command is and one line about it; a command is imported when it is used."""
