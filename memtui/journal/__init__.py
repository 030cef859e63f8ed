"""What memtui changed, kept across restarts: undo, redo, log, and what to believe after a crash."""

from memtui.journal.action import ActionPart, JournalAction, State, Write
from memtui.journal.edit_history import EditHistory
from memtui.journal.journal import Journal, Recording

__all__ = ["ActionPart", "EditHistory", "Journal", "JournalAction", "Recording", "State", "Write"]
