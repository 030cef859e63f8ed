"""Find memories that ask an agent for an act and that a web page, an issue or the like said first.

What a person or the agent itself said, and what a tool read in a file, is no finding. Sessions are
read only where a memory asks for an act, and not again until one of these memories changes.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from memtui.model import Memory
from memtui.progress import IsCancelled, never
from memtui.search.mentions import LISTED_BYTES, candidates, find_speakers
from memtui.sessions.programs import chosen_sessions, programs_on
from memtui.text import masked_always
from memtui.upkeep.checks import propose_learned
from memtui.upkeep.proposal_scan import ScannedGroup
from memtui.upkeep.proposals import fingerprint

GROUP = "learned-request"
"""Key of what was found among the groups of a scan."""
NOTHING_LEARNED = ScannedGroup("", ())
"""Before the first scan."""


def scan_learned(
    asking: Iterable[Memory], known: ScannedGroup, cancelled: IsCancelled = never
) -> ScannedGroup:
    """Look up in the sessions that may be read who said first what these memories say.

    Args:
        asking: Memories that ask an agent for an act.
        known: What an earlier scan found.
        cancelled: Asked between messages.

    Raises:
        Cancelled: It was stopped.
    """
    memories = list(asking)
    programs = programs_on() if memories else ()
    stamp = f"{fingerprint(memories)} {' '.join(programs)}"
    if not programs:
        return ScannedGroup(stamp, ())
    if known.fingerprint == stamp:
        return known
    bare = [replace(memory, title="") for memory in memories]  # which its agent made up
    sessions = candidates(bare, chosen_sessions().sessions, LISTED_BYTES)
    speakers = find_speakers(bare, sessions, cancelled)
    with masked_always():  # it is kept in a cache
        found = tuple(
            propose_learned(memory, speaker.describe())
            for memory in memories
            if (speaker := speakers.get(memory.ref)) is not None and speaker.is_outside
        )
    return ScannedGroup(stamp, found)
