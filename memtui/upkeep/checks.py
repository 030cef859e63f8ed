"""The checks of `memtui check`, and what they find as proposals, with a change where there is an
exact remedy."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from pathlib import PurePath
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from memtui.changes import Act, Change
from memtui.errors import RefError
from memtui.model import CURRENT, Memory
from memtui.progress import Cancelled, IsCancelled, Progress, Report, never, silent
from memtui.stores.base import Unreadable
from memtui.stores.format import GENERAL_RULES, UpkeepRules
from memtui.stores.values import UNADDRESSABLE
from memtui.text import and_more, counted, hidden_count, without_hidden
from memtui.text.secrets import find_secrets, replace_secrets
from memtui.upkeep.instructions import (
    HIDDEN,
    INSTRUCTION_FILES,
    find_suspicions,
)
from memtui.upkeep.outdated import Outdated
from memtui.upkeep.proposals import (
    Proposal,
    ProposalKind,
    UpkeepContext,
    headline_of,
    propose,
)


class FindingKind(StrEnum):
    """The kinds of finding; `ProposalKind` has the same names, but for `CONFLICT`."""

    OVERWRITTEN = "overwritten change"
    UNREADABLE = "unreadable"
    DUPLICATE_ID = "duplicate id"
    DANGLING = "dangling reference"
    SECRET = "secret"
    INSTRUCTION = "instruction"
    HIDDEN = "hidden characters"
    ORPHAN = "not in the index"
    OUTDATED = "outdated"
    CONFLICT = "conflict"
    """One of `CONFLICTS`; found only where it is asked for, since memories are compared for it."""

    @property
    def word(self) -> str:
        """As options and rules name it: `duplicate-id`."""
        return self.replace(" ", "-")


CONFLICTS = (ProposalKind.CONTRADICTION, ProposalKind.DISAGREE, ProposalKind.OPPOSED)
"""The kinds of proposal that say that two current memories cannot both be true."""


class Finding(Struct, frozen=True):
    """One thing a person should look at."""

    kind: FindingKind
    file: str
    line: int | None
    ref: str
    """The ref of the memory; empty for a whole file."""
    message: str
    """May contain text of the store: show it through `visible`."""
    target: str = ""
    """What a dangling reference names."""
    quote: str = ""
    """The line of the memory that says what is outdated."""


def _at(kind: FindingKind, memory: Memory, message: str, target: str = "") -> Finding:
    return Finding(kind, memory.origin.file, memory.origin.line, memory.ref, message, target)


def check_duplicate_ids(memories: Sequence[Memory]) -> Iterator[Finding]:
    """Different memories of a store with the same id; one memory in two places is not reported.

    An id that comes again within a file is read as `id#2`, and `extra` keeps it as it stands
    (`stores.values`).
    """
    first_of_id: dict[tuple[str, str], Memory] = {}
    for memory in memories:
        first = first_of_id.setdefault((memory.store, memory.id), memory)
        if first is not memory:
            other = first.origin.file
            yield _at(FindingKind.DUPLICATE_ID, memory, f"id {memory.id} is also in {other}")
    for memory in memories:
        id = str(memory.extra.get("id", ""))
        if UNADDRESSABLE in memory.extra and memory.id != id and (memory.store, id) in first_of_id:
            other = first_of_id[memory.store, id].origin.file
            where = "twice in this file" if other == memory.origin.file else f"also in {other}"
            yield _at(FindingKind.DUPLICATE_ID, memory, f"id {id} is {where}")


def check_dangling_references(
    memories: Sequence[Memory], rules: Mapping[str, UpkeepRules]
) -> Iterator[Finding]:
    """References to a memory, and links to a memory or entity, that are not in the store.

    Links that a format allows to lead to what does not exist yet are left out.
    """
    ids: defaultdict[str, set[str]] = defaultdict(set)
    for memory in memories:
        ids[memory.store].add(memory.id)
        for entity in (memory.entity, *memory.also_entities):
            ids[memory.store].update((entity, *entity.split("/")))
        ids[memory.store].add(str(memory.extra.get("sync_id", "")))
    refs = {memory.ref for memory in memories}
    """A link in the sidecar may lead to another store."""
    for memory in memories:
        known = ids[memory.store]
        is_forward = rules.get(memory.store, GENERAL_RULES).is_forward
        for target in memory.supersedes:
            if target not in known:
                yield _at(FindingKind.DANGLING, memory, f"supersedes {target} (not found)")
        links = () if _ABOUT_A_FORM.search(memory.origin.file.rpartition("/")[2]) else memory.links
        for link in links:
            if _STANDS_FOR_A_NAME.search(link.target):
                continue
            if link.target not in known and link.target not in refs and not is_forward(link):
                message = f"{link.relation} {link.target} (not found)"
                yield _at(FindingKind.DANGLING, memory, message, target=link.target)


_OF_RULES = re.compile(
    r"/\.(?:cursor|roo|windsurf|kiro|clinerules|openhands|junie|specify|github|kilocode|continue)/"
    r"|/\.(?:cursorrules|windsurfrules|clinerules|goosehints)$|\.instructions\.md$"
)
"""Files of rules for agents, as those of `INSTRUCTION_FILES`."""
PROMPT = "prompt"
"""Type of what the person said to an agent, as Engram and claude-mem keep it."""
_ABOUT_A_FORM = re.compile(
    r"(?<![a-z])(?:templates?|examples?|samples?|formats?|schemas?|skeleton)(?![a-z]).*\.md$",
    re.IGNORECASE,
)
"""In the name of a file: its links show how a link is written."""
_STANDS_FOR_A_NAME = re.compile(
    r"[<>{}$*]|\.\.\.|…|\b(?:YYYY|XXX|NNN|foo|bar|example|placeholder)\b|path/to|your[-_]"
)
"""In the target of a link that leads nowhere on purpose."""


_MOST_ORPHANS = 10
"""By how many more files an index may leave out than it names."""


def check_orphaned_files(memories: Sequence[Memory]) -> Iterator[Finding]:
    """Documents that the index of their folder does not name, so that no agent is led to them.

    Folders without an index are left alone, and those of which it leaves out far more than it
    names: it leads to its files in another way. Index lines without a file are dangling references.
    """
    named: Counter[str] = Counter()
    for memory in memories:
        if isinstance(is_named := memory.extra.get("indexed"), bool):
            named[os.path.dirname(memory.origin.file)] += 1 if is_named else -1
    for memory in memories:
        is_orphan = memory.extra.get("indexed") is False and memory.status in CURRENT
        if is_orphan and named[os.path.dirname(memory.origin.file)] >= -_MOST_ORPHANS:
            yield _at(FindingKind.ORPHAN, memory, "the index does not name this file")


class CheckedText(Struct, frozen=True):
    """What was found in the text of one memory, independent of other memories."""

    secrets: tuple[str, ...]
    hidden: int
    reasons: tuple[str, ...]
    """Why it may be a planted instruction."""


def check_text(memory: Memory, *, is_clean: bool = False) -> CheckedText:
    """Look for secrets, instructions and hidden characters in the text of a memory.

    `is_clean`: its texts were searched for secrets before, and have none.
    """
    whole = f"{memory.title}\n{memory.content}"
    return CheckedText(
        tuple(
            f"{secret.what}: {secret.masked}"
            for text in (() if is_clean else (memory.title, memory.content))
            for secret in find_secrets(text)
            if not secret.is_doubtful
        ),
        hidden_count(memory.title) + hidden_count(memory.content),
        find_suspicions(whole),
    )


class TextChecks:
    """Checked texts by the number of their row and by their digest: a text is read once only."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[bytes, CheckedText]] = {}
        self._earlier: Mapping[bytes, CheckedText] = {}

    def of(
        self,
        rows: Mapping[int, Memory],
        report: Report = silent,
        cancelled: IsCancelled = never,
        clean: Collection[int] = (),
    ) -> list[CheckedText]:
        """The checked text of each row; those of other rows are forgotten.

        `clean`: the numbers of rows that are known to have no secret.

        Raises:
            Cancelled: It was stopped; what was checked is kept.
        """
        self._known = {serial: one for serial, one in self._known.items() if serial in rows}
        for number, (serial, memory) in enumerate(rows.items()):
            if serial in self._known:
                continue
            if number % TEXTS_PER_STOP == 0:
                if cancelled():
                    raise Cancelled
                report(Progress("check texts", number, len(rows)))
            text = f"{memory.title}\0{memory.content}".encode("utf-8", "surrogatepass")
            digest = hashlib.blake2b(text, digest_size=_DIGEST).digest()
            self._known[serial] = (
                digest,
                self._earlier.get(digest) or check_text(memory, is_clean=serial in clean),
            )
        return [self._known[serial][1] for serial in rows]

    def to_record(self) -> dict[str, Any]:
        """The checked texts as JSON for the cache: digests of plain texts, findings of others."""
        known = dict(self._known.values())
        plain = sorted(digest for digest, text in known.items() if text == NOTHING_FOUND)
        return {
            "plain": base64.b64encode(b"".join(plain)).decode("ascii"),
            "found": {
                digest.hex(): [text.secrets, text.hidden, text.reasons]
                for digest, text in known.items()
                if text != NOTHING_FOUND
            },
        }

    def remember(self, record: Mapping[str, Any]) -> None:
        """Take over what an earlier process knew. Raises KeyError, TypeError or ValueError."""
        digests = base64.b64decode(record["plain"])
        found = [digests[at : at + _DIGEST] for at in range(0, len(digests), _DIGEST)]
        earlier = dict.fromkeys(found, NOTHING_FOUND)
        for digest, (secrets, hidden, reasons) in record["found"].items():
            earlier[bytes.fromhex(digest)] = CheckedText(
                tuple(map(str, secrets)),
                int(hidden),
                tuple(map(str, reasons)),
            )
        self._earlier = earlier


TEXTS_PER_STOP = 16
"""Number of texts between two checks for cancellation."""
_DIGEST = 16
NOTHING_FOUND = CheckedText((), 0, ())
"""Marks a text without findings."""


def check_texts(memories: Sequence[Memory], texts: Sequence[CheckedText]) -> Iterator[Finding]:
    """Secrets and planted instructions in these texts, in the order of the memories."""
    pairs = list(zip(memories, texts, strict=True))
    for memory, text in pairs:
        for message in text.secrets:
            yield _at(FindingKind.SECRET, memory, message)
    for memory, text in pairs:
        reasons = text.reasons
        if _instructs_by_itself(memory):
            reasons = tuple(reason for reason in reasons if reason in HIDDEN)
        if reasons:
            yield _at(FindingKind.INSTRUCTION, memory, "; ".join(reasons))


def _instructs_by_itself(memory: Memory) -> bool:
    """Whether the person wrote it to instruct agents: a file of rules, or a kept prompt."""
    file = memory.origin.file
    is_rule = os.path.basename(file) in INSTRUCTION_FILES or _OF_RULES.search(file)
    return bool(is_rule) or memory.type == PROMPT


def check_outdated(
    found: Iterable[tuple[Memory, Sequence[Outdated]]],
) -> Iterator[Finding]:
    """What memories name and their project no longer has, one finding a memory."""
    for memory, claims in found:
        first = claims[0]
        at = _at(FindingKind.OUTDATED, memory, "; ".join(each.message for each in claims))
        line = memory.origin.line
        if line and memory.kind != "document":  # whose text begins after its frontmatter
            line += first.line - 1
        yield replace(at, line=line, quote=first.text)


def check_all(
    memories: Sequence[Memory],
    texts: Sequence[CheckedText],
    unreadable: Iterable[Unreadable],
    rules: Mapping[str, UpkeepRules],
    outdated: Iterable[tuple[Memory, Sequence[Outdated]]] = (),
) -> Iterator[Finding]:
    """Run all checks, the most serious first.

    Args:
        memories: Of all open stores and of every status.
        texts: What `check_text` says of each of them.
        unreadable: The files that cannot be read.
        rules: What the format of each store says, by the store's label.
        outdated: The memories that name what their project no longer has.
    """
    for item in unreadable:
        yield Finding(FindingKind.UNREADABLE, item.file, None, "", item.reason)
    yield from check_texts(memories, texts)
    yield from check_duplicate_ids(memories)
    for memory, text in zip(memories, texts, strict=True):
        if text.hidden:  # escapes, zero-width, bidi
            yield _at(FindingKind.HIDDEN, memory, counted(text.hidden, "hidden character"))
    yield from check_dangling_references(memories, rules)
    yield from check_orphaned_files(memories)
    yield from check_outdated(outdated)


def findings_from(proposals: Iterable[Proposal]) -> Iterator[Finding]:
    """The proposals of the kinds of `CONFLICTS` as findings, at their first memory."""
    for one in proposals:
        message = f"{one.title}; with {', '.join(one.refs[1:])}"
        yield Finding(FindingKind.CONFLICT, one.file, one.line, one.refs[0], message)


REDACTED = "[REDACTED]"
"""Replaces a secret; Engram writes the same for text marked private."""


def proposals_from(
    findings: Iterable[Finding], get: Callable[[str], Memory], context: UpkeepContext
) -> Iterator[Proposal]:
    """Convert findings; those of one kind on one memory become one proposal.

    Dangling references to one target become one as well, and those to several files of one folder,
    and hidden characters in many memories of one file: they mostly have one cause, a folder that
    was not copied along, or moved, or a program that wrote its colours.

    Args:
        findings: As the checks give them.
        get: The memory of a ref. Raises RefError.
        context: What each store can do.
    """
    reported: set[tuple[FindingKind, str]] = set()
    hidden: defaultdict[str, list[Proposal]] = defaultdict(list)
    findings, targets = _apart(findings)
    for where, within in targets.items():
        yield from _propose_for_targets(where, within, get)
    for finding in findings:
        kind = ProposalKind[finding.kind.name]
        if not finding.ref:
            yield _propose_for_file(
                kind, finding.file, finding.line, finding.message, RULE_TEXT[kind]
            )
            continue
        if (finding.kind, finding.ref) in reported and finding.kind is not FindingKind.DANGLING:
            continue
        reported.add((finding.kind, finding.ref))
        try:
            memory = get(finding.ref)
        except RefError:
            continue
        changes = _remedy(finding, memory, context)
        quote = f"“{finding.quote[:_MAX_QUOTE]}”: " if finding.quote else ""
        proposal = propose(
            kind,
            [memory],
            f"{finding.message}: {headline_of(memory)}",
            f"{quote}{RULE_TEXT[kind]}",
            changes,
            also=finding.message,
        )
        if finding.kind is FindingKind.HIDDEN:
            hidden[finding.file].append(proposal)
        else:
            yield proposal
    for file, within_file in hidden.items():
        if len(within_file) <= _MAX_OF_FILE:
            yield from within_file
            continue
        memories = [get(each.refs[0]) for each in within_file]
        message = f"{os.path.basename(file)}: {counted(len(memories), 'memory')} with them"
        remedies = [change for each in within_file for change in each.changes]
        reason = RULE_TEXT[ProposalKind.HIDDEN]
        yield propose(ProposalKind.HIDDEN, memories, message, reason, remedies, also=message)


_MAX_OF_FILE = 3
"""Memories of one file with hidden characters that are proposals of their own."""


def _apart(findings: Iterable[Finding]) -> tuple[list[Finding], dict[str, list[Finding]]]:
    """Findings that stand alone; and those that several memories or files share, by the missing
    target, or by its folder if several of its files are missing."""
    alone: list[Finding] = []
    targets: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        (targets[finding.target] if finding.target else alone).append(finding)
    folders = Counter(target.rpartition("/")[0] for target in targets)
    found: defaultdict[str, list[Finding]] = defaultdict(list)
    for target, within in targets.items():
        folder = target.rpartition("/")[0]
        if folder and folders[folder] >= _MIN_FILES:
            found[f"{folder}/"] += within
        elif len(within) > 1:
            found[target] = within
        else:
            alone += within
    return alone, found


def _propose_for_targets(
    where: str, within: Iterable[Finding], get: Callable[[str], Memory]
) -> Iterator[Proposal]:
    by_store: defaultdict[str, dict[str, Memory]] = defaultdict(dict)
    targets: defaultdict[str, set[str]] = defaultdict(set)
    for finding in within:
        try:
            memory = get(finding.ref)
        except RefError:
            continue
        by_store[memory.store][memory.ref] = memory
        targets[memory.store].add(finding.target)
    for store, memories in by_store.items():
        names = sorted(targets[store])
        is_folder = where.endswith("/")
        missing = counted(len(names), "missing file") if is_folder else "not found"
        message = f"{where}: {missing}, named by {counted(len(memories), 'memory')}"
        shown = ", ".join(name.rpartition("/")[2] for name in names[:_MAX_NAMED])
        more = and_more(len(names) - _MAX_NAMED)
        yield propose(
            ProposalKind.DANGLING,
            list(memories.values()),
            message,
            f"{f'{shown}{more}: ' if is_folder else ''}{RULE_TEXT[ProposalKind.DANGLING]}",
            also=message,
        )


_MIN_FILES = 2
"""Number of missing files of one folder that become one hint."""
_MAX_QUOTE = 160
"""Maximum number of characters of a line that is quoted in a reason."""
_MAX_NAMED = 4
"""Maximum number of missing files named in a reason."""


RULE_TEXT = {
    ProposalKind.DUPLICATE_ID: "an id names one memory; agents that look it up get either",
    ProposalKind.DANGLING: "correct the reference, or restore what it names",
    ProposalKind.ORPHAN: "an agent that reads the index is not led to it",
    ProposalKind.OUTDATED: "correct it, or retire it: an agent would follow it",
    ProposalKind.SECRET: f"accepting puts {REDACTED} in its place; change the secret itself too",
    ProposalKind.INSTRUCTION: "a memory states facts; read it before an agent does",
    ProposalKind.HIDDEN: "accepting removes the characters that cannot be seen",
    ProposalKind.OVERWRITTEN: "another program has written over a change of yours",
    ProposalKind.UNREADABLE: "until that is mended, what it holds may be missing",
}


def _remedy(finding: Finding, memory: Memory, context: UpkeepContext) -> tuple[Change, ...]:
    if finding.kind not in (FindingKind.SECRET, FindingKind.HIDDEN):
        return ()
    if not context.can(Act.EDIT, memory):
        return ()
    fields = {}
    for name, text in (("title", memory.title), ("content", memory.content)):
        is_secret = finding.kind is FindingKind.SECRET
        clean = replace_secrets(text, REDACTED)[0] if is_secret else without_hidden(text)
        if clean != text:
            fields[name] = clean
    if not fields or not fields.get("content", memory.content).strip():
        return ()  # nothing would be left, which no store writes
    return (Change(Act.EDIT, memory.store, memory.ref, fields),)


def _propose_for_file(
    kind: ProposalKind, file: str, line: int | None, message: str, reason: str
) -> Proposal:
    """Make a hint on a file that holds no memory which could be named."""
    text = "\0".join((kind, file, message)).encode("utf-8", "surrogatepass")
    id = hashlib.blake2b(text, digest_size=6).hexdigest()
    name = "/".join(PurePath(file).parts[-2:])
    return Proposal(id, kind, "", f"{name}: {message}", reason, file=file, line=line)


def find_dangers(memory: Memory) -> list[str]:
    """What to know before a text is believed or published: secrets, planted instructions."""
    text = _checked(memory.title, memory.content)
    found = [f"{each.kind}: {each.message}" for each in check_texts([memory], [text])]
    return found + [f"{text.hidden} hidden characters"] * bool(text.hidden)


@lru_cache(maxsize=4096)
def _checked(title: str, content: str) -> CheckedText:
    """What is found in a text; a search shows the same memories again and again."""
    return check_text(Memory(ref="", id="", store="", kind="fact", title=title, content=content))
