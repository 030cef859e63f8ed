"""What is wrong in texts and files by itself: secrets, planted text, broken links, damage.

Every check yields proposals, with a change where there is an exact remedy.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePath
from typing import Any

from msgspec import Struct, convert, to_builtins
from msgspec.structs import replace

from memtui.changes import Act, Change, texts_of
from memtui.model import CURRENT, FRONTMATTER_FAULT, Link, Memory
from memtui.progress import Cancelled, IsCancelled, Progress, Report, never, silent
from memtui.stores.base import Remark, Unreadable
from memtui.stores.markdown.documents import FENCED
from memtui.stores.sidecar import is_kept
from memtui.stores.values import UNADDRESSABLE
from memtui.text import and_more, counted, hidden_count, without_hidden
from memtui.text.secrets import PASSWORD, Secret, find_secrets, has_secret, replace_secrets
from memtui.upkeep.claims import Claim, claims_of, find_conflicts
from memtui.upkeep.instructed import check_instructed
from memtui.upkeep.outdated import Outdated
from memtui.upkeep.planted_text import (
    UNSEEN,
    asks_an_agent,
    find_suspicions,
    is_of_rules,
)
from memtui.upkeep.proposals import (
    MEASURED,
    RULES,
    Proposal,
    ProposalKind,
    UpkeepContext,
    headline_of,
    propose,
    rewritten_texts,
)


def _of_memory(
    kind: ProposalKind,
    memory: Memory,
    message: str,
    reason: str,
    changes: Sequence[Change] = (),
    rule: str = "",
) -> Proposal:
    title = f"{message}: {headline_of(memory)}"
    return propose(kind, [memory], title, reason, changes, rule=rule, also=message)


def file_proposal(
    kind: ProposalKind, file: str, message: str, line: int | None = None, store: str = ""
) -> Proposal:
    """A finding in a file that holds no memory which could be named."""
    text = "\0".join((kind, file, message)).encode("utf-8", "surrogatepass")
    id = hashlib.blake2b(text, digest_size=6).hexdigest()
    title = f"{'/'.join(PurePath(file).parts[-2:])}: {message}"
    return Proposal(
        id, kind, store, title, RULES[kind].about, file=file, line=line, message=message
    )


# ---- ids and references --------------------------------------------------------------------------


def check_duplicate_ids(memories: Sequence[Memory]) -> Iterator[Proposal]:
    """Different memories of a store with the same id; one memory in two places is not reported.

    An id that comes again within a file is read as `id#2`, and `extra` keeps it as it stands
    (`stores.values`).
    """
    kind, reason = ProposalKind.DUPLICATE_ID, "an id names one memory; agents get either"
    first_of_id: dict[tuple[str, str], Memory] = {}
    for memory in memories:
        first = first_of_id.setdefault((memory.store, memory.id), memory)
        if first is not memory:
            message = f"id {memory.id} is also in {first.origin.file}"
            yield _of_memory(kind, memory, message, reason)
    for memory in memories:
        id = str(memory.extra.get("id", ""))
        if UNADDRESSABLE in memory.extra and memory.id != id and (memory.store, id) in first_of_id:
            other = first_of_id[memory.store, id].origin.file
            where = "twice in this file" if other == memory.origin.file else f"also in {other}"
            yield _of_memory(kind, memory, f"id {id} is {where}", reason)


def check_links(
    memories: Sequence[Memory],
    context: UpkeepContext,
    exists: Callable[[str], bool] = lambda _path: False,
) -> Iterator[Proposal]:
    """References to a memory, an entity or a file that is not in the store, those to one target or
    to files of one folder together.

    Left out are memories that only memtui keeps, links that a format allows to lead to what does
    not exist yet, templates and documents about a format, placeholders, plain words in the place of
    an entity, and files that exist though the store does not read them.
    """
    ids: defaultdict[str, set[str]] = defaultdict(set)
    for memory in memories:
        ids[memory.store].add(memory.id)
        for entity in (memory.entity, *memory.also_entities):
            ids[memory.store].update((entity, *entity.split("/")))
        ids[memory.store].add(str(memory.extra.get("sync_id", "")))
    refs = {memory.ref for memory in memories}
    """A link in the sidecar may lead to another store."""
    missing: defaultdict[tuple[str, str], dict[str, Memory]] = defaultdict(dict)
    relations: dict[tuple[str, str], str] = {}
    for memory in memories:
        if is_kept(memory):
            continue
        known, rules = ids[memory.store], context.rules_of(memory.store)
        targets = [("supersedes", target) for target in memory.supersedes if target not in known]
        if memory.links and not _ABOUT_A_FORM.search(memory.origin.file.rpartition("/")[2]):
            targets += [
                (link.relation, link.target)
                for link in memory.links
                if link.target not in known
                and link.target not in refs
                and _names_something(link)
                and not rules.is_forward(link)
            ]
        for relation, target in targets:
            if "." in target and any(map(exists, _paths_above(memory.origin.file, target))):
                continue  # a file that the store does not read
            missing[memory.store, target][memory.ref] = memory
            relations.setdefault((memory.store, target), f"{relation} {target}")
    folders = Counter((store, _folder(target)) for store, target in missing)
    grouped: defaultdict[tuple[str, str], dict[str, set[str]]] = defaultdict(dict)
    found: dict[str, Memory] = {}
    for (store, target), within in missing.items():
        folder = _folder(target)
        is_one = not folder or folders[store, folder] < _MIN_FILES
        where = relations[store, target] if is_one else f"{folder}/"
        for ref, memory in within.items():
            found[ref] = memory
            grouped[store, where].setdefault(ref, set()).add(target)
    for (_, where), by_ref in grouped.items():
        names = sorted({target for targets_of_one in by_ref.values() for target in targets_of_one})
        what = counted(len(names), "missing file") if where.endswith("/") else "not found"
        message = f"{where}: {what}"
        if len(by_ref) > 1:
            message += f", named by {counted(len(by_ref), 'memory')}"
        named = ", ".join(name.rpartition("/")[2] for name in names[:_MAX_NAMED])
        yield propose(
            ProposalKind.BROKEN_LINK,
            [found[ref] for ref in by_ref],
            message if len(by_ref) > 1 else f"{message}: {headline_of(found[next(iter(by_ref))])}",
            f"{named}{and_more(len(names) - _MAX_NAMED)}: correct it, or restore what it names",
            rule="broken-link",
            also=message,
        )


def _paths_above(file: str, target: str) -> Iterator[str]:
    """Where a path leads from the folder of a file, and from those above it."""
    for folder in list(PurePath(file).parents)[:_MOST_FOLDERS]:
        yield str(folder / target)


_MOST_FOLDERS = 6


def _folder(target: str) -> str:
    return target.rpartition("/")[0]


def _names_something(link: Link) -> bool:
    """Whether the target of a link names one thing, and is no placeholder and no plain words."""
    target = link.target
    if target.startswith("external:") or _STANDS_FOR_A_NAME.search(target):
        return False
    is_path = "/" in target or "." in target or "_" in target or "-" in target
    return is_path or any(char.isupper() or char.isdigit() for char in target)


_ABOUT_A_FORM = re.compile(
    r"(?<![a-z])(?:templates?|examples?|samples?|formats?|schemas?|skeleton|guide|conventions?"
    r"|how[-_ ]?to|readme|memory_maintenance)(?![a-z]).*\.md$",
    re.IGNORECASE,
)
"""In the name of a file: its links show how a link is written."""
_STANDS_FOR_A_NAME = re.compile(
    r"[<>{}$*]|\.\.\.|…|(?<![a-z])(?:foo|bar|example|placeholder|some|file|filename|name|link|page"
    r"|title|note|target|topic)(?:\.md)?$|path/to|your[-_ ]|\b(?:YYYY|XXX|NNN)\b|wikilink",
    re.IGNORECASE,
)
"""In the target of a link that leads nowhere on purpose."""
_MIN_FILES = 2
"""Missing files of one folder that are one finding."""
_MAX_NAMED = 4
"""Maximum number of missing files named in a reason."""
_MOST_ORPHANS = 10
"""By how many more files an index may leave out than it names."""


def check_orphaned_files(memories: Sequence[Memory]) -> Iterator[Proposal]:
    """Documents that the index of their folder does not name, so that no agent is led to them.

    Folders without an index are left alone, and those of which it leaves out far more than it
    names: it leads to its files in another way. Index lines without a file are broken links.
    """
    named: Counter[str] = Counter()
    for memory in memories:
        if isinstance(is_named := memory.extra.get("indexed"), bool):
            named[os.path.dirname(memory.origin.file)] += 1 if is_named else -1
    for memory in memories:
        is_orphan = memory.extra.get("indexed") is False and memory.status in CURRENT
        if is_orphan and named[os.path.dirname(memory.origin.file)] >= -_MOST_ORPHANS:
            message = "the index does not name this file"
            yield _of_memory(ProposalKind.ORPHAN, memory, message, RULES[ProposalKind.ORPHAN].about)


# ---- texts ---------------------------------------------------------------------------------------


class CheckedText(Struct, frozen=True, array_like=True):
    """What was found in the text of one memory, independent of other memories."""

    secrets: tuple[str, ...] = ()
    secret_rule: str = ""
    """Which rule found them: of several, the one that is most often right."""
    hidden: int = 0
    reasons: tuple[str, ...] = ()
    """Why it may be planted."""
    claims: tuple[Claim, ...] = ()
    """What it states, to be compared with others; () if the memory is not in use."""
    is_request: bool = False
    """It asks an agent for an act."""


def check_text(memory: Memory, *, is_clean: bool = False) -> CheckedText:
    """Look for secrets, planted text, hidden characters and claims in the text of a memory.

    `is_clean`: its texts were searched for secrets before, and have none.
    """
    found = _check_dangers(memory.title, memory.content, is_clean=is_clean)
    return replace(
        found,
        claims=claims_of(memory.title, memory.content) if memory.status in CURRENT else (),
        is_request=asks_an_agent(memory.content),
    )


def _check_dangers(title: str, content: str, *, is_clean: bool = False) -> CheckedText:
    """Secrets and what may be planted by itself."""
    secrets, rules = [], set()
    for text in () if is_clean else (title, content):
        for secret in find_secrets(text):
            if not secret.is_doubtful:
                secrets.append(f"{secret.what}: {secret.masked}")
                rules.add(_secret_rule(secret, text))
    return CheckedText(
        tuple(secrets),
        next((rule for rule in _SECRET_RULES if rule in rules), ""),
        hidden_count(title) + hidden_count(content),
        find_suspicions(f"{title}\n{content}"),
    )


_SECRET_RULES = ("issued-secret", "random-secret", "named-secret")
"""Those most often right come first."""
_RANDOM = re.compile(
    r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d).{12,}|(?=(?:\D*\d){3})[A-Z0-9]{16,}|[0-9a-f]{32,}"
)
"""A value that no person made up as a name or a default, such as `promanage123`."""


def _secret_rule(secret: Secret, text: str) -> str:
    if secret.what != PASSWORD:
        return "issued-secret"
    is_called = text.startswith("(", secret.end)  # the name of a function
    is_random = _RANDOM.fullmatch(text, secret.start, secret.end) and not is_called
    return "random-secret" if is_random else "named-secret"


_known_dangers = lru_cache(maxsize=4096)(_check_dangers)
"""A search, and a list as it is drawn, show the same texts again and again."""


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
            text = f"{memory.title}\0{memory.content}\0{memory.status in CURRENT}"
            encoded = text.encode("utf-8", "surrogatepass")
            digest = hashlib.blake2b(encoded, digest_size=_DIGEST).digest()
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
                digest.hex(): to_builtins(_without_secrets(text))
                for digest, text in known.items()
                if text != NOTHING_FOUND
            },
        }

    def remember(self, record: Mapping[str, Any]) -> None:
        """Take over what an earlier process knew. Raises KeyError, TypeError or ValueError."""
        digests = base64.b64decode(record["plain"])
        found = [digests[at : at + _DIGEST] for at in range(0, len(digests), _DIGEST)]
        earlier = dict.fromkeys(found, NOTHING_FOUND)
        for digest, text in record["found"].items():
            earlier[bytes.fromhex(digest)] = convert(text, CheckedText)
        self._earlier = earlier


def _without_secrets(text: CheckedText) -> CheckedText:
    """The same without the claims whose value is a secret, which no cache may hold."""
    return replace(text, claims=tuple(one for one in text.claims if not has_secret(one.raw)))


TEXTS_PER_STOP = 16
"""Number of texts between two checks for cancellation."""
_DIGEST = 16
NOTHING_FOUND = CheckedText()
"""Marks a text without findings."""
REDACTED = "[REDACTED]"
"""Replaces a secret; Engram writes the same for text marked private."""


def check_texts(
    memories: Sequence[Memory], texts: Sequence[CheckedText], context: UpkeepContext
) -> Iterator[Proposal]:
    """Secrets and planted text in these texts, in the order of the memories.

    A secret is one wherever it is stored; planted text harms only where an agent reads it.
    """
    hidden: defaultdict[str, list[tuple[Memory, Proposal]]] = defaultdict(list)
    for memory, text in zip(memories, texts, strict=True):
        if text.secrets:
            yield _of_memory(
                ProposalKind.SECRET,
                memory,
                "; ".join(text.secrets),
                f"accepting puts {REDACTED} in its place; change the secret itself too",
                _rewritten(memory, context, lambda value: replace_secrets(value, REDACTED)[0]),
                text.secret_rule,
            )
        reasons = _reasons(memory, text)
        if (reasons or text.hidden) and context.is_read(memory):
            is_said = not UNSEEN.isdisjoint(reasons)
            count = (counted(text.hidden, "hidden character"),) * (text.hidden > 0 and not is_said)
            found = _of_memory(
                ProposalKind.PLANTED,
                memory,
                "; ".join((*reasons, *count)),
                "accepting removes the characters that cannot be seen"
                if text.hidden
                else "a memory states facts; read it before an agent does",
                _rewritten(memory, context, without_hidden) if text.hidden else (),
                _planted_rule(reasons),
            )
            if reasons:
                yield found
            else:
                hidden[memory.origin.file].append((memory, found))
    for file, within in hidden.items():
        if len(within) <= _MAX_OF_FILE:
            yield from (found for _, found in within)
            continue
        message = f"{os.path.basename(file)}: hidden characters in {counted(len(within), 'memory')}"
        changes = [change for _, found in within for change in found.changes]
        members = [memory for memory, _ in within]
        reason = within[0][1].reason
        rule = within[0][1].rule
        yield propose(
            ProposalKind.PLANTED, members, message, reason, changes, rule=rule, also=message
        )


def asking_memories(
    memories: Sequence[Memory], texts: Sequence[CheckedText], context: UpkeepContext
) -> Iterator[Memory]:
    """The memories that ask an agent for an act and are not found without knowing their origin."""
    for memory, text in zip(memories, texts, strict=True):
        is_asking = text.is_request and not text.reasons and context.is_read(memory)
        if is_asking and not (is_of_rules(memory) or memory.type == PROMPT):
            yield memory


def propose_learned(memory: Memory, said_by: str) -> Proposal:
    """The finding in a memory that asks an agent for an act, which another than the person said
    first."""
    message = "asks an agent for an act, and came from outside"
    return _of_memory(ProposalKind.PLANTED, memory, message, said_by, rule="learned-request")


def _planted_rule(reasons: Sequence[str]) -> str:
    """The rule that found it; words that are not shown leave no doubt."""
    if not UNSEEN.isdisjoint(reasons):
        return ""
    return "prompt-text" if reasons else "other-hidden-characters"


_MAX_OF_FILE = 3
"""Memories of one file with hidden characters that are proposals of their own; more mostly have
one cause, such as a program that wrote its colours."""


def _rewritten(
    memory: Memory, context: UpkeepContext, clean: Callable[[str], str]
) -> tuple[Change, ...]:
    """The edit after which title and content are clean; () if nothing would be left."""
    fields = rewritten_texts(memory, clean)
    is_empty = not fields.get("content", memory.content).strip()
    if not fields or is_empty or not context.can(Act.EDIT, memory):
        return ()
    return (Change(Act.EDIT, memory.store, memory.ref, fields),)


PROMPT = "prompt"
"""Type of what the person said to an agent, as Engram and claude-mem keep it."""


def _reasons(memory: Memory, text: CheckedText) -> tuple[str, ...]:
    """Why a memory may be planted; a file of rules or a kept prompt, which the person wrote to
    instruct agents, only by what is hidden in it."""
    if is_of_rules(memory) or memory.type == PROMPT:
        return tuple(reason for reason in text.reasons if reason in UNSEEN)
    return text.reasons


_CONFLICT_MARK = re.compile(r"^(?:<{7}|>{7})(?: |$)", re.MULTILINE)
_REST = (
    r"(?:the )?(?:rest|remainder) of (?:the |this )?(?:\w+ ){0,2}?"
    r"(?:file|content|code|document|text|list)"
)
_PLACEHOLDER = re.compile(
    rf"^[^\w\n]*(?:{_REST}\b[^\n]{{0,60}}\b(?:unchanged|same|omitted|as is|as before)"
    rf"|(?<=[\[(<]){_REST}\b[^\n]{{0,60}}"
    r"|(?<=[.…] )(?:existing|previous|remaining|other) \w+(?: \w+)?)[^\w\n]*$",
    re.MULTILINE | re.IGNORECASE,
)
"""A line that an agent wrote in place of text that it did not write again."""


def check_damage(memories: Sequence[Memory]) -> Iterator[Proposal]:
    """Files in which text was lost or doubled: by marks of a merge, by placeholders, by a rule that
    is there twice below one heading; and files with frontmatter that is no valid YAML."""
    marked: dict[str, list[Proposal]] = {}
    faults: set[tuple[str, str]] = set()
    first_of_text: dict[tuple[str, str, object], int] = {}
    for memory in memories:
        if is_kept(memory):  # its file no longer has it
            continue
        file, first = memory.origin.file, memory.origin.line or 1
        fault = memory.extra.get(FRONTMATTER_FAULT)
        if isinstance(fault, str) and (file, fault) not in faults:
            faults.add((file, fault))
            number = re.match(r"line (\d+)", fault)
            line = int(number[1]) if number else 1
            yield _damage(memory, f"its frontmatter is no valid YAML: {fault}", line)
        text = memory.content
        if memory.kind != "document" and memory.status in CURRENT and is_of_rules(memory):
            key = file, text.strip(), memory.extra.get("section")
            if (other := first_of_text.setdefault(key, first)) != first:
                yield _damage(memory, f"the same text as in line {other}", first)
        for match in _PLACEHOLDER.finditer(FENCED.sub(_blank, text) if "```" in text else text):
            line = first + text.count("\n", 0, match.start())
            yield _damage(memory, f"a placeholder for lost text: {match[0].strip()}", line)
        if "<<<<<<<" in text or ">>>>>>>" in text:
            message = "marks of a merge: text may be lost or doubled"
            for match in _CONFLICT_MARK.finditer(FENCED.sub(_blank, text)):
                line = first + text.count("\n", 0, match.start())
                marked.setdefault(file, []).append(_damage(memory, message, line))
    for within in marked.values():
        lines = ", ".join(str(each.line) for each in within[:_MAX_NAMED])
        yield replace(within[0], message=f"{within[0].message}; lines {lines}")


def _damage(memory: Memory, message: str, line: int) -> Proposal:
    reason = RULES[ProposalKind.DAMAGED].about
    return replace(_of_memory(ProposalKind.DAMAGED, memory, message, reason), line=line)


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def check_outdated(found: Iterable[tuple[Memory, Sequence[Outdated]]]) -> Iterator[Proposal]:
    """What memories name and their project no longer has, one finding a memory."""
    for memory, claims in found:
        first = claims[0]
        message = "; ".join(each.message for each in claims)
        reason = f"“{first.text[:_MAX_QUOTE]}”: correct it, or retire it"
        rule = max((each.rule for each in claims), key=lambda name: MEASURED[name].is_enough)
        one = _of_memory(ProposalKind.OUTDATED, memory, message, reason, rule=rule)
        line = memory.origin.line
        if line and memory.kind != "document":  # whose text begins after its frontmatter
            line += first.line - 1
        yield replace(one, line=line)


_MAX_QUOTE = 160
"""Maximum number of characters of a line that is quoted in a reason."""


def check_all(
    memories: Sequence[Memory],
    texts: Sequence[CheckedText],
    unreadable: Iterable[tuple[str, Unreadable]],
    context: UpkeepContext,
    outdated: Iterable[tuple[Memory, Sequence[Outdated]]] = (),
    remarks: Iterable[tuple[str, Remark]] = (),
    exists: Callable[[str], bool] = lambda _path: False,
) -> Iterator[Proposal]:
    """Run all checks.

    Args:
        memories: Of all open stores and of every status.
        texts: What `check_text` says of each of them.
        unreadable: The files that cannot be read, each with the label of its store.
        context: What each store can do, and the rules of its format.
        outdated: The memories that name what their project no longer has.
        remarks: What the stores say of themselves, each with the label of its store.
        exists: Whether there is a file at a path.
    """
    for label, item in unreadable:
        yield file_proposal(ProposalKind.UNREADABLE, item.file, item.reason, store=label)
    for label, remark in remarks:
        yield file_proposal(ProposalKind.REMARK, remark.path, remark.text, store=label)
    yield from check_texts(memories, texts, context)
    yield from find_conflicts(memories, [text.claims for text in texts], context)
    yield from check_outdated(outdated)
    yield from check_instructed(memories, context)
    yield from check_links(memories, context, exists)
    yield from check_duplicate_ids(memories)
    yield from check_orphaned_files(memories)
    yield from check_damage(memories)


def find_dangers(memory: Memory) -> list[str]:
    """What to know before a text is believed or published: secrets, planted text."""
    text = _known_dangers(memory.title, memory.content)
    return [
        *(f"secret: {message}" for message in text.secrets),
        *(f"planted text: {reason}" for reason in _reasons(memory, text)),
        *[counted(text.hidden, "hidden character")] * bool(text.hidden),
    ]


def dangers_of_change(change: Change) -> list[str]:
    """What a person should see before a change is made, of the texts that it writes."""
    content = "\n".join(texts_of(change))
    return find_dangers(Memory(ref="", id="", store="", kind="fact", content=content))


def dangers_of(proposal: Proposal) -> list[str]:
    """Why accepting a proposal needs a question of its own; [] if nothing speaks against it.

    They are the secrets, planted text and hidden characters in what it writes, and in the reason
    that an agent gives.
    """
    reason = {"reason": proposal.reason} if proposal.agent else {}
    told = Change(Act.ADD, proposal.store, "", reason)
    found = (danger for each in (*proposal.changes, told) for danger in dangers_of_change(each))
    return list(dict.fromkeys(found))
