"""Evaluate filters over what is in no column by reading the memories: texts, links, patterns.

The masks of the last queries are kept while the rows stay the same.

A regular expression is matched in a child process, which is killed at a time limit: Python's `re`
may take exponential time for a pattern such as `(a+)+$`, holds the interpreter lock meanwhile and
cannot be interrupted. The package `regex` has a time limit too, but its matching holds the lock as
well, and it would be one more compiled dependency.
"""

from __future__ import annotations

import fnmatch
import json
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from memtui.model import Memory
from memtui.progress import Cancelled, IsCancelled, never, stoppable
from memtui.query import REGEX, Condition
from memtui.search import analysis
from memtui.search.array_types import Mask, to_mask
from memtui.search.documents import searched_text, to_document

if TYPE_CHECKING:
    import subprocess

_MAX_CACHED = 16
"""Masks that are cached."""
_TEXTS: Mapping[str, Callable[[Memory], tuple[str, ...]]] = {
    "title": lambda memory: (memory.title or memory.headline,),
    "content": lambda memory: (searched_text(memory),),
    "file": lambda memory: (memory.origin.file, *(place.file for place in memory.also)),
    "source": lambda memory: (memory.source,),
}

_cached: tuple[object, dict[Condition, Mask]] = (None, {})
"""The rows of the last query, and masks over them, which the next letters need too: to look for
secrets in 33,000 memories takes seconds. Assigned as a whole, for any thread."""


class RowsRead(NamedTuple):
    """What was read for the filters of one query."""

    masks: Mapping[Condition, Mask]
    """The slots with one of the values, whether the condition is negated or not."""
    remarks: Sequence[str]
    """What the person should know about the result."""


def read_conditions(
    conditions: Iterable[Condition],
    rows: Sequence[Memory],
    alive: Mask,
    slot_of: Mapping[str, int],
    linked: Mapping[str, Iterable[str] | None],
    cancelled: IsCancelled = never,
) -> RowsRead:
    """Read the memories for conditions over what is in no column.

    Args:
        alive: For each slot whether its memory is alive.
        slot_of: Ref -> slot of all living memories.
        linked: Value of a `linked:` filter -> the refs of the memories linked to or from what it
            means; None: nothing has that name. `has:outdated` -> the refs of those.

    Raises:
        Cancelled: `cancelled` became true.
    """
    global _cached
    of, known = _cached
    if of is not rows:
        known = {}
    reader = _Reader(rows, alive, slot_of, linked, cancelled, [])
    masks: dict[Condition, Mask] = {}
    for part in conditions:
        mask = known.get(part) if "outdated" not in part.values else None
        if mask is None or len(mask) != len(alive):
            mask = to_mask(list(reader.find(part)), len(alive))
        masks[part] = mask
    if not reader.remarks:
        _cached = (rows, {**dict(list(known.items())[-_MAX_CACHED:]), **masks})
    return RowsRead(masks, reader.remarks)


class _Reader(NamedTuple):
    """Reads the memories of one table."""

    rows: Sequence[Memory]
    alive: Mask
    slot_of: Mapping[str, int]
    linked: Mapping[str, Iterable[str] | None]
    cancelled: IsCancelled
    remarks: list[str]

    def find(self, part: Condition) -> Iterator[int]:
        """The slots with one of the values. Raises Cancelled."""
        if part.field == REGEX:
            return self._find_regex(part.values[0])
        if part.field in ("id", "ref"):
            return self._find_ids(part)
        if part.field == "confidence":
            return self._living(lambda memory: _in_ranges(memory, part))
        if part.field in _TEXTS:
            return self._find_texts(part)
        if part.field == "linked":
            return self._find_linked_to(part)
        return self._find_flags(part)

    def _living(self, passes: Callable[[Memory], bool] = bool) -> Iterator[int]:
        """The living slots whose memory passes. Raises Cancelled."""
        for slot in stoppable(range(len(self.alive)), self.cancelled):
            if self.alive[slot] and passes(self.rows[slot]):
                yield slot

    def _find_texts(self, part: Condition) -> Iterator[int]:
        texts_of = _TEXTS[part.field]
        matchers = [_compile_text(value) for value in part.values]

        def passes(memory: Memory) -> bool:
            folded = [analysis.fold_text(text) for text in texts_of(memory)]
            return any(matcher(text) is not None for matcher in matchers for text in folded)

        return self._living(passes)

    def _find_ids(self, part: Condition) -> Iterator[int]:
        if part.field == "ref":
            yield from (self.slot_of[ref] for ref in part.values if ref in self.slot_of)
            return
        for ref, slot in self.slot_of.items():
            folded = ref.casefold()
            names = (folded, folded.partition(":")[2])
            if any(n.startswith(value) for value in part.values for n in names):
                yield slot

    def _find_flags(self, part: Condition) -> Iterator[int]:
        for value in part.values:
            match value:
                case "links":
                    yield from self._living(lambda memory: bool(memory.links))
                case "history":
                    yield from self._living(
                        lambda memory: bool(memory.supersedes or memory.superseded_by)
                    )
                case "secret":
                    yield from self._living(self._holds_secret)
                case "linked":
                    yield from self._find_linked()
                case "outdated":
                    refs = self.linked["has:outdated"] or ()
                    yield from (self.slot_of[ref] for ref in refs if ref in self.slot_of)
                case "marked":
                    self.remarks.append("is:marked is for the screen, where space marks")

    def _holds_secret(self, memory: Memory) -> bool:
        from memtui.text.secrets import find_secrets  # 20 ms, for `has:secret`

        texts = filter(None, to_document(memory).fields())
        return any(next(find_secrets(text), None) is not None for text in texts)

    def _find_linked(self) -> Iterator[int]:
        """Memories with a link or a version, and those that such a link or version names."""
        for slot in self._living():
            memory = self.rows[slot]
            targets = {link.target for link in memory.links}
            targets.update(memory.supersedes, memory.superseded_by)
            if targets:
                yield slot
            for target in targets:
                other = self.slot_of.get(f"{memory.store}:{target}", -1)
                if other >= 0:
                    yield other

    def _find_linked_to(self, part: Condition) -> Iterator[int]:
        for value in part.values:
            refs = self.linked[value]
            if refs is None:
                self.remarks.append(f"no memory and no entity is called {value!r}")
            for ref in refs or ():
                if ref in self.slot_of:
                    yield self.slot_of[ref]

    def _find_regex(self, pattern: str) -> Iterator[int]:
        slots = list(self._living())
        memories = (self.rows[slot] for slot in slots)
        texts = ("\n".join(filter(None, (m.title, searched_text(m)))) for m in memories)
        found = scan(pattern, texts, self.cancelled)
        if not found.is_complete:
            self.remarks.append(f"/{pattern}/ was stopped after {CPU_LIMIT} s; there may be more")
        return (slots[number] for number in found.numbers)


def _in_ranges(memory: Memory, part: Condition) -> bool:
    value = memory.confidence
    return value is not None and any(one.low <= value < one.high for one in part.ranges)


def _compile_text(value: str) -> Callable[[str], object]:
    """A search for a value in folded text; `*` stands for any text, `?` for one character."""
    folded = analysis.fold_text(value)
    if "*" in folded or "?" in folded:
        return re.compile(fnmatch.translate(f"*{folded.replace('[', '[[]')}*")).match
    return re.compile(re.escape(folded)).search


CPU_LIMIT = 2
"""Seconds of computing for all texts of a query; 33,000 short ones take a tenth of one."""
TIME_LIMIT = 10.0
"""Seconds after which the child is killed even if other programs had the processor."""
_LOOK = 0.02
"""Seconds between two checks of `cancelled`."""
_CHILD = f"""
import json, re, resource, sys, warnings
resource.setrlimit(resource.RLIMIT_CPU, ({CPU_LIMIT}, {CPU_LIMIT}))
warnings.simplefilter("ignore")
lines = sys.stdin.buffer
search = re.compile(json.loads(lines.readline()), re.IGNORECASE | re.MULTILINE).search
for number, line in enumerate(lines):
    if search(json.loads(line)):
        print(number, flush=True)
print("end", flush=True)
"""


class RegexHits(Struct, frozen=True):
    """The texts in which a pattern was found."""

    numbers: tuple[int, ...]
    """Numbers of the texts, ascending."""
    is_complete: bool
    """False if the time was up, or no child could be started."""


def scan(
    pattern: str,
    texts: Iterable[str],
    cancelled: IsCancelled = never,
    time_limit: float = TIME_LIMIT,
) -> RegexHits:
    """Return the texts with a match, ignoring case; `^` and `$` match at lines.

    Args:
        pattern: A valid pattern of Python's `re`.
        texts: The texts, one item each.
        time_limit: Seconds after which the child is killed.

    Raises:
        Cancelled: `cancelled` became true.
    """
    import subprocess

    from memtui import child_processes

    command = [sys.executable, "-I", "-S", "-c", _CHILD]
    with TemporaryFile() as given:
        given.writelines(f"{json.dumps(text)}\n".encode("ascii") for text in (pattern, *texts))
        given.seek(0)
        try:
            child = subprocess.Popen(
                command, stdin=given, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        except (OSError, ValueError):
            return RegexHits((), is_complete=False)
    with child, child_processes.noted(child):
        try:
            output = _wait(child, cancelled, time.monotonic() + time_limit)
        finally:
            child.kill()
    lines = output.decode("ascii", "replace").split("\n")[:-1]
    complete = bool(lines) and lines[-1] == "end"
    return RegexHits(tuple(int(line) for line in lines if line.isdecimal()), complete)


def _wait(child: subprocess.Popen[bytes], cancelled: IsCancelled, deadline: float) -> bytes:
    """What the child printed until it ended or the deadline. Raises Cancelled."""
    import subprocess

    while True:
        try:
            return child.communicate(timeout=_LOOK)[0]
        except subprocess.TimeoutExpired:
            if cancelled():
                raise Cancelled from None
            if time.monotonic() > deadline:
                child.kill()
                return child.communicate()[0]
