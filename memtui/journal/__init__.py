"""What memtui changed, kept across restarts: undo, redo, log, and what to believe after a crash."""

from memtui.journal.action import Action, Part, State, Write
from memtui.journal.journal import Journal, Recording
from memtui.journal.trails import Trail

__all__ = ["Action", "Journal", "Part", "Recording", "State", "Trail", "Write"]
