"""Hand-labelled cases of each finding: memories that should be found, and tempting ones that not.

Small and of our own invention: good for comparing two versions of a rule, not for advertising it.
The stores are named by the labels of the sample stores, whose rules are applied.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from memtui.model import Link, Memory
from memtui.upkeep.proposals import ProposalKind as Kind

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
FACTS, EVENTS, OBSERVATIONS, TRIPLES = "agent-memory", "ambient", "engram", "simple-memory"


@dataclass(frozen=True, slots=True)
class LabelledCase:
    """Memories that look like one finding, and whether they are one."""

    kind: Kind
    is_true: bool
    memories: tuple[Memory, ...]
    why: str = ""


def memories(
    *texts: str, store: str = FACTS, kind: str = "fact", days: int = 30, **fields: Any
) -> tuple[Memory, ...]:
    """One memory per text, each `days` younger than the one before; the last is a day old."""
    fields.setdefault("entity", "people/ann")
    made = []
    for at, content in enumerate(texts):
        created = NOW - timedelta(days=1 + days * (len(texts) - 1 - at))
        id = f"{store}-{at}"
        each = {
            name: value[at] if isinstance(value, list) else value for name, value in fields.items()
        }
        given: dict[str, Any] = {"created": created, **each}
        ref = f"{store}:{id}"
        made.append(Memory(ref=ref, id=id, store=store, kind=kind, content=content, **given))
    return tuple(made)


def _pairs(kind: Kind, is_true: bool, *pairs: tuple[str, str], **fields: Any) -> list[LabelledCase]:
    return [LabelledCase(kind, is_true, memories(*pair, **fields)) for pair in pairs]


def _triple(*objects: object, subject: object = "Ann", predicate: str = "lives_in") -> LabelledCase:
    subjects = subject if isinstance(subject, list) else [subject] * len(objects)
    extra = [{"s": s, "p": predicate, "o": o} for s, o in zip(subjects, objects, strict=True)]
    texts = [f"{s} {predicate} {o}" for s, o in zip(subjects, objects, strict=True)]
    found = memories(*texts, store=TRIPLES, extra=extra)
    return LabelledCase(Kind.CONFLICT, True, found)


def _not(case: LabelledCase) -> LabelledCase:
    return LabelledCase(case.kind, False, case.memories)


DUPLICATES = [
    *_pairs(
        Kind.DUPLICATE,
        True,
        ("Ann works at Lumen Systems in Porto", "Ann works at Lumen Systems in Porto now"),
        ("The deploy runs every Tuesday at noon", "The deploy runs every Tuesday, at noon."),
        ("Bob prefers short commit messages in English", "Bob prefers short English commit messages"),  # noqa: E501
        ("The staging database lives in Frankfurt", "the staging database lives in Frankfurt"),
        ("Ann reviews the pull requests of the gateway team each morning",
         "Each morning Ann reviews the pull requests of the gateway team"),
        ("猫は朝に窓のそばで眠るのが好きです", "猫は朝、窓のそばで眠るのが好きです"),
    ),
    *_pairs(
        Kind.DUPLICATE,
        False,
        ("Ann sleep_hours_avg 6.7", "Ann sleep_hours_avg 7.6"),
        ("The gateway build took 12 minutes on Monday", "The gateway build took 21 minutes on Monday"),  # noqa: E501
        ("Upgrade of the ledger to version 1.2 is done", "Upgrade of the ledger to version 2.1 is done"),  # noqa: E501
        ("Ann does not eat fish on Fridays", "Ann does eat fish on Fridays"),
        ("The cache must be flushed before each deploy", "The cache must never be flushed before each deploy"),  # noqa: E501
        ("The gateway team can deploy on Fridays", "The gateway team can't deploy on Fridays"),
        ("Ann prefers tea over coffee in the morning", "Ann prefers coffee over tea in the morning"),  # noqa: E501
        ("The gateway calls the ledger over gRPC", "The ledger calls the gateway over gRPC"),
        ("Enable the feature flag for the new search page", "Disable the feature flag for the new search page"),  # noqa: E501
        ("The north tower bell was recast in spring", "The south tower bell was recast in spring"),
    ),
]  # fmt: skip
CLUSTERS = [
    *(
        LabelledCase(
            Kind.CLUSTER,
            True,
            memories(
                one, other, store=OBSERVATIONS, kind="observation", entity=["shop/a", "shop/b"],
                extra={"project": "shop", "scope": "project"},
            ),
        )
        for one, other in (
            ("The payment worker retries failed charges with exponential backoff and a jitter",
             "The payment worker retries failed charges with exponential backoff, and jitter"),
            ("Sessions are stored in Redis with a sliding expiry and renewed by the gateway",
             "Sessions are stored in Redis with sliding expiry, renewed by the gateway"),
        )
    ),
    *(
        LabelledCase(
            Kind.CLUSTER,
            False,
            memories(
                "The payment worker retries failed charges with exponential backoff and a jitter",
                "The payment worker retries failed charges with exponential backoff, and jitter",
                store=OBSERVATIONS, kind="observation", entity=["shop/a", "shop/b"], extra=extra,
            ),
            why,
        )
        for why, extra in (
            ("other projects", [{"project": "shop"}, {"project": "blog"}]),
            ("other scopes", [{"project": "shop", "scope": s} for s in ("project", "personal")]),
            ("other topic keys", [{"project": "shop", "topic_key": k} for k in ("pay", "retry")]),
        )
    ),
    LabelledCase(
        Kind.CLUSTER,
        False,
        memories(
            "The payment worker retries failed charges with exponential backoff and a jitter",
            "The payment worker never retries failed charges with exponential backoff and a jitter",
            store=OBSERVATIONS, kind="observation", entity=["shop/a", "shop/b"],
            extra={"project": "shop"},
        ),
        "a negation",
    ),
]  # fmt: skip
CONTRADICTIONS = [
    *_pairs(
        Kind.CONFLICT,
        True,
        ("Ann lives in Braga with two cats", "Ann lives in Porto near the river"),
        ("Ann works at Lumen Systems", "Since May Ann works at the Tide Institute"),
    ),
    *_pairs(
        Kind.CONFLICT,
        False,
        ("Ann lives in Braga with two cats", "Ann likes Porto and the river"),
        ("Ann lives in Braga with two cats", "Ann lives in Braga with two cats now"),
    ),
    _triple("Halle", "Leipzig"),
    _triple("no", "yes, twice this week", predicate="coffee_after_15h"),
    _not(_triple("6.7", "7.6", predicate="sleep_hours")),
    _not(_triple("72 kg", "71 kg", predicate="weight")),
    _not(_triple("Halle", "halle ")),
    _not(_triple("Halle", "Leipzig", subject=["Ann", "Bob"])),
]
HELD_BACK: list[tuple[Kind, bool, str, str]] = [
    (Kind.DUPLICATE, True, "Backups are kept for thirty days in Frankfurt",
     "In Frankfurt backups are kept for thirty days"),
    (Kind.DUPLICATE, True, "Mei wants reviews before noon", "Mei likes reviews before noon"),
    (Kind.DUPLICATE, True, "Log files are stored in the archive bucket",
     "The archive bucket stores log files"),
    (Kind.DUPLICATE, True, "The release manager signs each tag",
     "Each tag is signed by the release manager"),
    (Kind.DUPLICATE, True, "Releases are cut from the main branch on Thursdays",
     "On Thursdays releases are cut from the main branch"),
    (Kind.DUPLICATE, True, "Feature flags must be documented in the wiki",
     "Document every feature flag in the wiki"),
    (Kind.DUPLICATE, False, "Backups are kept for thirty days in Frankfurt",
     "Backups are kept for thirty days in Dublin"),
    (Kind.DUPLICATE, False, "Mei reviews Ann's branches", "Ann reviews Mei's branches"),
    (Kind.DUPLICATE, False, "The gateway depends on the ledger",
     "The ledger depends on the gateway"),
    (Kind.DUPLICATE, False, "Log files are stored in the archive bucket",
     "Log files are never stored in the archive bucket"),
    (Kind.DUPLICATE, False, "Tag releases after the deploy", "Deploy after the release tag"),
    (Kind.DUPLICATE, False, "Use tabs in Go files", "Use tabs in Python files"),
]  # fmt: skip
"""Paraphrases that were written after the rule and are only counted."""
SUPERSEDED = [
    LabelledCase(Kind.SUPERSEDED, is_true, memories(*pair, store=EVENTS, kind="event",
        type=types, entity="shop/main"))
    for is_true, types, pair in (
        (True, "decision", ("Use exponential backoff with jitter for retries of the payment worker",
            "Use exponential backoff with full jitter for retries of the payment worker queue")),
        (True, "decision", ("Store sessions in Redis with a sliding expiry of one day",
            "Store sessions in Redis with a sliding expiry of one hour")),
        (False, "decision", ("Use exponential backoff with jitter for retries of the payment worker",  # noqa: E501
            "Render invoices as PDF on the server, not in the browser")),
        (False, "discovery", ("Use exponential backoff with jitter for retries of the payment worker",  # noqa: E501
            "Use exponential backoff with full jitter for retries of the payment worker queue")),
    )
]  # fmt: skip


def _events(count: int, importance: str, entity: str) -> tuple[Memory, ...]:
    texts = [f"Looked at ticket {number} of the backlog" for number in range(count)]
    return memories(
        *texts, store=EVENTS, kind="event", importance=importance, entity=entity, days=0
    )


COMPACTIONS = [
    LabelledCase(Kind.COMPACTION, True, _events(41, "low", "shop")),
    LabelledCase(Kind.COMPACTION, True, _events(81, "low", "shop/main")),
    LabelledCase(Kind.COMPACTION, False, _events(41, "high", "shop"), "high ones never"),
    LabelledCase(Kind.COMPACTION, False, _events(40, "low", "shop"), "not past the limit"),
    LabelledCase(Kind.COMPACTION, False, _events(41, "low", "shop/main"), "a branch may hold 80"),
]


def _expiring(active_days: int, archived: bool) -> tuple[Memory, ...]:
    expires = (NOW - timedelta(days=active_days - 90)).isoformat()
    extra = {"expires": expires, "archived": archived}
    return memories(
        "Looked at the backlog", store=EVENTS, kind="event", extra=extra, entity="shop/x"
    )


EXPIRIES = [
    LabelledCase(Kind.EXPIRY, True, _expiring(91, False)),
    LabelledCase(Kind.EXPIRY, True, _expiring(8, True)),
    LabelledCase(Kind.EXPIRY, False, _expiring(89, False), "still active"),
    LabelledCase(Kind.EXPIRY, False, _expiring(6, True), "archived this week"),
    LabelledCase(Kind.EXPIRY, False, memories("Looked at the backlog", store=EVENTS, kind="event"),
        "no date"),
]  # fmt: skip


def _pattern(*texts: str, item: str) -> tuple[Memory, ...]:
    (schema,) = memories(item, store="schema-x", kind="schema", entity="health")
    return (
        *memories(*texts, store=TRIPLES, entity="health"),
        Memory(ref=f"{TRIPLES}:schema_1", id="schema_1", store=TRIPLES, kind="schema",
            content=schema.content, entity="health", created=NOW),
    )  # fmt: skip


TIRED = "Ann sleeps badly after late coffee"
PATTERNS = [
    LabelledCase(Kind.PATTERN, True, _pattern(*[TIRED] * 4, item="Ann runs on Sundays")),
    LabelledCase(Kind.PATTERN, False, _pattern(*[TIRED] * 3, item="Ann runs on Sundays"), "thrice"),
    LabelledCase(Kind.PATTERN, False, _pattern(*[TIRED] * 4, item=TIRED), "known already"),
    LabelledCase(Kind.PATTERN, False, memories(*[TIRED] * 4, store=FACTS), "no schema there"),
]


def _summary(age: int, facts: int, **fields: Any) -> tuple[Memory, ...]:
    made = NOW - timedelta(days=age)
    note = Memory(ref="agent-memory:summary", id="summary", store=FACTS, kind="note", type="summary",  # noqa: E501
        content="Ann works in Porto.", entity="people/ann", created=made)  # fmt: skip
    return (note, *memories(*[f"Ann met Bob {n} times" for n in range(facts)], days=1, **fields))


STALE = [
    LabelledCase(Kind.STALE_SUMMARY, True, _summary(20, 4)),
    LabelledCase(Kind.STALE_SUMMARY, True, _summary(9, 3)),
    LabelledCase(Kind.STALE_SUMMARY, False, _summary(0, 3), "the summary is newer"),
    LabelledCase(Kind.STALE_SUMMARY, False, _summary(20, 3, entity="people/bob"), "other entity"),
    LabelledCase(Kind.STALE_SUMMARY, False, _summary(20, 3, status="superseded"), "not current"),
    LabelledCase(Kind.STALE_SUMMARY, False, _summary(3, 2), "the weekly run is not due yet"),
]
LONG = "Ann wrote the migration of the ledger by hand. " * 12
HISTORIES = [
    LabelledCase(Kind.LONG_HISTORY, True, memories(LONG, "x", days=300, status="superseded")),
    LabelledCase(Kind.LONG_HISTORY, True, memories(LONG, "x", days=200, status="retired")),
    LabelledCase(Kind.LONG_HISTORY, False, memories(LONG, "x", days=300), "still current"),
    LabelledCase(
        Kind.LONG_HISTORY, False, memories(LONG, "x", days=100, status="superseded"), "new"
    ),
    LabelledCase(Kind.LONG_HISTORY, False, memories("Short", "x", days=300, status="superseded")),
    LabelledCase(
        Kind.LONG_HISTORY,
        False,
        memories(LONG, "x", days=300, status="retired", store=TRIPLES),
        "its program keeps what is done",
    ),
]


def _schema(evidence: str, status: str = "active", links: int = 1) -> tuple[Memory, ...]:
    facts = memories("Ann drank coffee at five", store=TRIPLES, status=evidence)
    named = tuple(Link("evidence", fact.id) for fact in facts)[:links]
    item = Memory(ref=f"{TRIPLES}:schema_1", id="schema_1", store=TRIPLES, kind="schema",
        content=TIRED, status=status, links=named, entity="health")  # fmt: skip
    return (*facts, item)


SCHEMAS = [
    LabelledCase(Kind.OUTDATED_SCHEMA, True, _schema("superseded")),
    LabelledCase(Kind.OUTDATED_SCHEMA, True, _schema("retired")),
    LabelledCase(Kind.OUTDATED_SCHEMA, False, _schema("active")),
    LabelledCase(Kind.OUTDATED_SCHEMA, False, _schema("superseded", "retired"), "retired itself"),
    LabelledCase(Kind.OUTDATED_SCHEMA, False, _schema("superseded", links=0), "no evidence named"),
]


def _branch(remote: str, name: str) -> tuple[Memory, ...]:
    return memories("Use jitter", store=EVENTS, kind="event", entity=f"shop/{name}",
        extra={"remote": remote})  # fmt: skip


MERGED = {"git@example.org:shop.git": frozenset({"feat/pay"})}
"""Address of a clone's remote -> its merged branches."""
BRANCHES = [
    LabelledCase(Kind.MERGED_BRANCH, True, _branch("git@example.org:shop.git", "feat/pay")),
    LabelledCase(Kind.MERGED_BRANCH, False, _branch("git@example.org:shop.git", "feat/payout")),
    LabelledCase(Kind.MERGED_BRANCH, False, _branch("git@example.org:blog.git", "feat/pay")),
]
CASES: list[LabelledCase] = [
    *DUPLICATES,
    *CLUSTERS,
    *CONTRADICTIONS,
    *SUPERSEDED,
    *COMPACTIONS,
    *EXPIRIES,
    *PATTERNS,
    *STALE,
    *HISTORIES,
    *SCHEMAS,
    *BRANCHES,
]

HIDDEN_TRUE = ["Ann likes\u200b tea", "user\u202egnp.exe", "a\u2060b", "tea\u200d", "\u001b[31mred"]
HIDDEN_FALSE = [
    "می\u200cخواهم کتاب بخوانم",
    "क्\u200dष और श्री",
    "The family 👨\u200d👩\u200d👧 came by",
    "🏳\ufe0f\u200d🌈 at the parade",
    "line one\r\n\tline two",
    "naïve café",
]
