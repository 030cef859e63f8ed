"""The sessions of agents: the transcripts that programs keep beside their memory, only read.

A module for each program makes one stream of messages of whatever it writes; `programs` finds them.
No word is read before a person turns a program on (`[sessions]` in the settings).
"""

from memtui.sessions.message import Call, Kind, Message, Place, Reading, Role, Session
from memtui.sessions.programs import PROGRAMS, find_program, find_sessions, survey
