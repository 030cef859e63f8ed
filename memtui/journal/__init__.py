"""What memtui changed, kept across restarts: undo, redo, log, and what to believe after a crash."""

from memtui.journal.action import ActionPart, ActionState, JournalAction, Write
from memtui.journal.edit_history import EditHistory
from memtui.journal.journal import Journal, Recording

__all__ = [
    "ActionPart",
    "ActionState",
    "EditHistory",
    "Journal",
    "JournalAction",
    "Recording",
    "Write",
]
