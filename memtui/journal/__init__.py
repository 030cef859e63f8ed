"""What memtui changed, kept across restarts: undo, redo, log, and what to believe after a crash."""

from memtui.journal.action import JournalAction, State, Write
from memtui.journal.edit_history import EditHistory
from memtui.journal.journal import Journal, Recording

__all__ = ["EditHistory", "Journal", "JournalAction", "Recording", "State", "StoreEdits", "Write"]
