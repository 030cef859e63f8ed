"""The journal of memtui's changes, for undo, redo, the log and recovery after a crash."""

from memtui.journal.action import (
    ActionState,
    ActionStep,
    Author,
    EditHistory,
    JournalAction,
    Write,
)
from memtui.journal.journal import Journal, Recording, as_last_made
