"""Memories whose text is also in a file of instructions that the same program loads.

An agent is then given one statement twice, and a correction of one leaves the other
(anthropics/claude-code#38402). A memory is found where each of its lines and sentences begins and
ends as one of the file does, so that "use tabs" is not found in "never use tabs".
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec import Struct

from memtui.changes import Act, Change
from memtui.model import CURRENT, PROJECT_PATH, READ_BY, SCOPE, Memory
from memtui.upkeep.dated_memories import PAGES, is_dated_file
from memtui.upkeep.planted_text import is_of_rules
from memtui.upkeep.proposals import Proposal, ProposalKind, UpkeepContext, headline_of, propose

ALWAYS = "always"
"""Scope of a file that its programs are given for everything."""
FEWEST_WORDS = 4
"""Words of a memory from which on it is more than a heading or a label."""
_END = re.compile(r"\n+|(?<=[.!?;])\s+")
_MARKS = re.compile(r"^(?:\s*(?:[-*+>#]+|\d+[.)])\s+)+|[\s.;!]+$")
_EMPHASIS = re.compile(r"[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}")
_SPACE = re.compile(r"\s+")


def statements_of(text: str) -> list[str]:
    """The lines and sentences of a text, without the marks of Markdown, in lower case."""
    parts = _END.split(_EMPHASIS.sub("", text))
    found = (_SPACE.sub(" ", _MARKS.sub("", part)).strip().casefold() for part in parts)
    return [part for part in found if part]


_PLAIN = str.maketrans("", "", "*_`")


def _beginning(text: str) -> str:
    """The first letters of a text or statement, by which most memories are told apart quickly."""
    return text[:80].translate(_PLAIN).lstrip(" \t\n-+#>0123456789.)")[:6].casefold()


class _InstructionFile(Struct):
    """A file that programs are given at every start, and all that it says."""

    path: str
    folder: str
    """The project that it is of; the home folder of a program, whose sessions are all given it."""
    readers: Collection[str]
    says: dict[str, Memory]
    """Statement -> the memory of the file that it is in."""

    def is_given_with(self, memory: Memory) -> bool:
        """Whether a session that may have this memory is given the file too."""
        if os.path.basename(self.folder).startswith("."):  # as ~/.claude: for all projects
            return True
        named = (memory.extra.get(PROJECT_PATH), memory.extra.get("cwd"), memory.origin.file)
        below = f"{self.folder}/"
        return any(isinstance(path, str) and f"{path}/".startswith(below) for path in named)


def _files_of(memories: Iterable[Memory], context: UpkeepContext) -> list[_InstructionFile]:
    files: dict[str, _InstructionFile] = {}
    is_rules: dict[str, bool] = {}
    for memory in memories:
        readers, path = memory.extra.get(READ_BY), memory.origin.file
        if readers is None:
            if path not in is_rules:
                is_rules[path] = is_of_rules(memory)
            if is_rules[path]:  # read by the store of its program
                readers = (context.program_of(memory.store),)
        below = f"/{memory.id.partition('#')[0]}"
        if not readers or memory.extra.get(SCOPE, ALWAYS) != ALWAYS or not path.endswith(below):
            continue
        file = _InstructionFile(path, path.removesuffix(below), readers, {})
        file = files.setdefault(path, file)
        for statement in statements_of(memory.content):
            file.says.setdefault(statement, memory)
    return list(files.values())


def check_instructed(memories: Sequence[Memory], context: UpkeepContext) -> Iterator[Proposal]:
    """Memories that a file of instructions repeats; accepting removes the memory."""
    files = _files_of(memories, context)
    beginnings = {_beginning(statement) for file in files for statement in file.says}
    for memory in memories if files else ():
        if _beginning(memory.content) not in beginnings or memory.status not in CURRENT:
            continue
        if READ_BY in memory.extra or is_of_rules(memory) or is_dated_file(memory):
            continue
        statements = statements_of(memory.content)
        is_label = statements[-1:] and statements[-1].endswith((":", "："))
        if is_label or sum(len(each.split()) for each in statements) < FEWEST_WORDS:
            continue
        program = context.program_of(memory.store)
        for file in files:
            is_loaded = program in file.readers and file.is_given_with(memory)
            if is_loaded and all(each in file.says for each in statements):
                yield _propose(memory, file.says[statements[0]], file.path, program, context)
                break


def _propose(
    memory: Memory, other: Memory, path: str, program: str, context: UpkeepContext
) -> Proposal:
    act = next((act for act in (Act.DELETE, Act.RETIRE) if context.can(act, memory)), None)
    changes = [Change(act, memory.store, memory.ref)] if act else []
    message = f"already in {os.path.basename(path)}"
    done = {Act.DELETE: "accepting deletes the memory", Act.RETIRE: "accepting retires the memory"}
    reason = f"{program} loads {path} too; {done[act] if act else 'one of them is enough'}"
    title = f"{message}: {headline_of(memory)}"
    is_line = memory.kind not in PAGES and memory.origin.file.endswith(".md")
    rule = "instructed-line" if is_line else "instructed-memory"
    return propose(
        ProposalKind.DUPLICATE, [other, memory], title, reason, changes, rule=rule, also=message
    )
