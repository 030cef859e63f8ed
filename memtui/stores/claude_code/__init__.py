"""Claude Code: auto memory of each project, memory of subagents, and CLAUDE.md files."""

from __future__ import annotations

from memtui.stores.claude_code.layout import configured_folders, detect
from memtui.stores.format import Format, TransferSupport, lazy_function

FORMAT = Format(
    name="claude-code",
    title="Claude Code: auto memory and CLAUDE.md",
    places=("$CLAUDE_CONFIG_DIR", "~/.claude"),
    detect=detect,
    open=lazy_function("memtui.stores.claude_code.store", "ClaudeCodeStore"),
    configured=configured_folders,
    upkeep=lazy_function("memtui.stores.claude_code.rules", "upkeep_rules"),
    transfer=TransferSupport(
        place_facts=lazy_function("memtui.stores.claude_code.store", "place_facts"),
        local_keys=("transcript",),
        convert=lazy_function("memtui.stores.claude_code.adding", "convert"),
    ),
)
