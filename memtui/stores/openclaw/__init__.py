"""OpenClaw (before: Clawdbot, Moltbot): the workspace of an agent."""

from __future__ import annotations

from memtui.stores.format import Format, TransferSupport, lazy_function
from memtui.stores.openclaw.layout import agent_workspaces, detect

FORMAT = Format(
    name="openclaw",
    title="OpenClaw: MEMORY.md, daily logs and notes of a workspace",
    places=("$OPENCLAW_WORKSPACE_DIR", "~/.openclaw/workspace", "~/clawd"),
    detect=detect,
    open=lazy_function("memtui.stores.openclaw.store", "OpenClawStore"),
    configured=agent_workspaces,
    transfer=TransferSupport(
        belongings=("memory/.dreams/*", "memory/audit/*"),
        convert=lazy_function("memtui.stores.openclaw.editing", "convert"),
    ),
)
