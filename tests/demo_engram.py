"""Builds the one binary file of the demo: `python -m tests.demo_engram` writes the Engram database.

The rows are those of the story in sample-data/README.md; the tables are those of Engram's schema of
July 2026, as the sample store of the tests has them.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from memtui.paths import bundled_folder
from tests.samples import SAMPLES

SESSIONS = {
    "shop-api-drizzle-1": ("shop-api", "2026-09-14 07:30:00", "2026-09-14 15:10:00"),
    "shop-api-revert": ("shop-api", "2026-10-06 12:50:00", "2026-10-06 16:30:00"),
    "shop-api-outage": ("shop-api", "2026-10-30 15:45:00", "2026-10-30 18:20:00"),
    "shop-api-drizzle-2": ("shop-api", "2026-11-09 08:00:00", "2026-11-09 15:55:00"),
    "shop-api-port": ("shop-api", "2026-11-18 08:05:00", "2026-11-19 16:20:00"),
    "shop-api-checkout": ("shop-api", "2026-11-20 14:50:00", None),
    "storefront-pay": ("storefront", "2026-11-12 08:30:00", "2026-11-12 11:20:00"),
    "storefront-kronor": ("storefront", "2026-11-03 13:10:00", "2026-11-03 15:15:00"),
    "invoices-close": ("invoices", "2026-11-02 07:40:00", "2026-11-02 09:30:00"),
}
"""Session -> project, start and end."""


class Row(NamedTuple):
    """An observation, without what follows from it."""

    session: str
    time: str
    type: str
    title: str
    content: str
    topic: str | None = None
    revisions: int = 1
    duplicates: int = 1
    pinned: bool = False
    updated: str = ""
    deleted: str | None = None
    review_after: str | None = None
    scope: str = "project"


ROWS = (
    Row(
        "shop-api-drizzle-1",
        "2026-09-14 09:20:00",
        "discovery",
        "Prisma's engine costs 1.2 s of cold start",
        "**What**: a new pod answers after 3.1 s, 1.2 s of it is the query engine\n"
        "**Where**: `time node dist/server.js`, ten runs\n"
        "**Learned**: 90 MB of the image are the engine too",
        topic="discovery/prisma-cold-start",
    ),
    Row(
        "shop-api-drizzle-1",
        "2026-09-14 14:05:00",
        "decision",
        "Queries move to Drizzle, with one pool",
        "**What**: Drizzle, one `pg.Pool` of ten clients in src/db/pool.ts, statement timeout 5 s\n"
        "**Why**: cold start and memory; the load test of November shows no waiting client\n"
        "**Learned**: the revert of October was about pools, not about Drizzle",
        topic="decision/query-layer",
        revisions=3,
        pinned=True,
        updated="2026-11-09 15:48:00",
        review_after="2027-05-09 15:48:00",
    ),
    Row(
        "shop-api-drizzle-1",
        "2026-09-14 14:40:00",
        "pattern",
        "One file of queries a commit",
        "**What**: port a file, delete its Prisma twin in the same commit\n"
        "**Why**: Priya reads commit by commit, and both halves fit on a screen",
        topic="pattern/query-port",
    ),
    Row(
        "shop-api-revert",
        "2026-10-06 13:20:00",
        "bugfix",
        "Pool runs dry: every request opened its own",
        "**What**: 55 minutes after the deploy all requests waited for a client\n"
        "**Why**: the request plugin called `new Pool()`\n"
        "**Where**: src/plugins/db.ts\n"
        "**Learned**: `select count(*) from pg_stat_activity` belongs to the load test",
        topic="bug/pool-exhaustion",
    ),
    Row(
        "shop-api-revert",
        "2026-10-06 16:15:00",
        "decision",
        "Stay on Prisma",
        "**What**: Drizzle is reverted on staging, the branch is given up\n"
        "**Why**: nobody could say by evening why the pool ran dry",
        updated="2026-10-06 16:15:00",
    ),
    Row(
        "shop-api-revert",
        "2026-10-06 16:25:00",
        "learning",
        "A revert is not a decision about the tool",
        "Write down what failed before you write down what you stay with. In October the first "
        "was missing, and the second was believed for a month.",
    ),
    Row(
        "shop-api-outage",
        "2026-10-30 15:58:00",
        "bugfix",
        "Adding a column with a default locked orders",
        "**What**: `alter table orders add column channel text not null default 'web'` waited for "
        "a report and everything waited for it\n"
        "**Fix**: lock_timeout of 2 s in migrations, defaults are filled in batches\n"
        "**Where**: migrations/0087_channel.sql",
        topic="bug/migration-lock",
    ),
    Row(
        "shop-api-outage",
        "2026-10-30 17:40:00",
        "policy",
        "No production deploys after Thursday 16:00",
        "**What**: `make deploy ENV=production` refuses from Thursday 16:00 to Monday 8:00\n"
        "**Why**: 52 minutes on a Friday, with nobody at a desk\n"
        "**How**: Lena confirms an exception in writing",
        topic="policy/deploy-window",
        revisions=2,
        pinned=True,
        updated="2026-11-05 13:20:00",
        review_after="2027-11-05 13:20:00",
    ),
    Row(
        "shop-api-outage",
        "2026-10-30 18:05:00",
        "session_summary",
        "Session summary: shop-api",
        "## Goal\nBring orders back\n\n## Accomplished\n- killed the migration after 44 minutes\n"
        "- wrote a lock timeout into the migration runner\n\n"
        "## Next Steps\n- a rule for Fridays\n- alert on waiting locks",
    ),
    Row(
        "shop-api-drizzle-2",
        "2026-11-09 10:30:00",
        "discovery",
        "Ten clients are enough for 400 requests a second",
        "**What**: 20 minutes at 400 requests a second, at most 8 of 10 clients busy\n"
        "**Where**: k6/orders.js against staging",
        topic="discovery/pool-size",
    ),
    Row(
        "shop-api-drizzle-2",
        "2026-11-09 13:10:00",
        "config",
        "Statement timeout 5 s, lock timeout 2 s",
        "**What**: set on the pool for requests, and for migrations in the runner\n"
        "**Where**: src/db/pool.ts, scripts/migrate.ts",
        topic="config/timeouts",
    ),
    Row(
        "shop-api-drizzle-2",
        "2026-11-09 15:30:00",
        "architecture",
        "Two query layers live side by side until orders and reports are ported",
        "**What**: prisma.ts and pool.ts, new queries in Drizzle only\n"
        "**Why**: one switch failed in October; small steps can be reviewed\n"
        "**Where**: src/db, docs/adr/0014",
        topic="architecture/query-layers",
    ),
    Row(
        "shop-api-port",
        "2026-11-18 09:15:00",
        "pattern",
        "Money comes out of the database as int8 cents",
        "**What**: `(amount * 100)::int8` in the query, bigint in TypeScript\n"
        "**Why**: numeric arrives as a string and 0.1 + 0.2 is waiting in every sum",
        topic="pattern/money",
    ),
    Row(
        "shop-api-port",
        "2026-11-18 11:40:00",
        "bugfix",
        "total_cents can only be updated to DEFAULT",
        "**What**: insert of an order failed after the port\n"
        "**Why**: a generated column was part of the insert type\n"
        "**Where**: src/db/schema.ts",
        topic="bug/generated-column",
    ),
    Row(
        "shop-api-port",
        "2026-11-18 14:00:00",
        "discovery",
        "reserved_until has no time zone",
        "**What**: the sweeper compares a timestamp without zone with now()\n"
        "**Why**: written in 2024, before timestamptz was the rule\n"
        "**Learned**: right by accident while the server runs in UTC",
        topic="discovery/reserved-until",
    ),
    Row(
        "shop-api-port",
        "2026-11-18 15:20:00",
        "preference",
        "Noor wants the SQL visible in reports",
        "Four reports with window functions stay `sql` templates; a builder would hide the plan.",
        review_after="2027-02-18 15:20:00",
    ),
    Row(
        "shop-api-port",
        "2026-11-19 09:05:00",
        "bugfix",
        "Health check of the agent went to Keycloak",
        "**What**: GET localhost:8080/healthz answered 200 with a login page\n"
        "**Why**: the API is on 8081 since June\n"
        "**Learned**: check the content type, not the status",
        topic="bug/wrong-port",
    ),
    Row(
        "shop-api-port",
        "2026-11-19 11:50:00",
        "passive",
        "truncate in parallel test files deletes other tests' rows",
        "truncate in parallel test files deletes other tests' rows, run them with "
        "--no-file-parallelism",
        duplicates=3,
        updated="2026-11-20 15:10:00",
    ),
    Row(
        "shop-api-port",
        "2026-11-19 16:10:00",
        "session_summary",
        "Session summary: shop-api",
        "## Goal\nPort carts, customers and the sweeper\n\n"
        "## Accomplished\n- carts and customers on Drizzle\n- orders: 9 of 14 queries\n\n"
        "## Next Steps\n- the sweeper needs a clock of its own\n- timestamptz for reserved_until",
    ),
    Row(
        "shop-api-checkout",
        "2026-11-20 15:12:00",
        "discovery",
        "The flaky checkout test fails at full minutes only",
        "**What**: 3 failures in 120 runs, all between :59.8 and :00.2\n"
        "**Where**: test/db/checkout.test.ts\n"
        "**Learned**: it compares minutes, the sweeper compares instants",
        topic="discovery/flaky-checkout",
    ),
    Row(
        "shop-api-checkout",
        "2026-11-20 15:40:00",
        "decision",
        "The sweeper takes its time as an argument",
        "**What**: `sweep(now)` instead of now() in SQL\n"
        "**Why**: a test can stop the clock, and the database's zone no longer matters",
        topic="decision/sweeper-clock",
        review_after="2027-05-20 15:40:00",
    ),
    Row(
        "shop-api-drizzle-1",
        "2026-09-14 10:00:00",
        "config",
        "Tests use port 5433",
        "**What**: compose publishes Postgres on 5433\n**Why**: 5432 is the laptop's own",
        topic="config/postgres-port",
    ),
    Row(
        "shop-api-drizzle-1",
        "2026-09-14 08:10:00",
        "preference",
        "No summaries at the end of an answer",
        "The diff says what was done.",
        scope="personal",
        review_after="2026-11-14 08:10:00",
    ),
    Row(
        "shop-api-revert",
        "2026-10-06 14:30:00",
        "manual",
        "Try a pool of 200",
        "raise max to 200 and see",
        deleted="2026-10-06 15:05:00",
        updated="2026-10-06 15:05:00",
    ),
    Row(
        "storefront-pay",
        "2026-11-12 09:10:00",
        "bugfix",
        "Two orders from one double click on Pay",
        "**What**: the second click came before React had rendered the disabled button\n"
        "**Fix**: disabled on pointerdown, and the idempotency key is made with the cart\n"
        "**Where**: src/checkout/PayButton.tsx",
        topic="bug/double-pay",
    ),
    Row(
        "storefront-pay",
        "2026-11-12 10:05:00",
        "policy",
        "Playwright runs without retries",
        "**What**: --retries=0 in CI and on laptops\n**Why**: a retry hid the double click for "
        "three weeks",
        topic="policy/e2e-retries",
        review_after="2027-11-12 10:05:00",
    ),
    Row(
        "storefront-pay",
        "2026-11-12 11:15:00",
        "session_summary",
        "Session summary: storefront",
        "## Goal\nWhy did Maja's order exist twice\n\n"
        "## Accomplished\n- found, fixed, tested at 390 px\n\n"
        "## Next Steps\n- ask Tomás about the other forms",
    ),
    Row(
        "storefront-kronor",
        "2026-11-03 14:55:00",
        "discovery",
        "Intl puts a no-break space before kr",
        "**What**: U+00A0, so `toBe('120 kr')` fails and the diff shows no difference\n"
        "**Where**: src/lib/formatMoney.test.ts",
        topic="discovery/kronor",
    ),
    Row(
        "storefront-kronor",
        "2026-11-03 15:05:00",
        "decision",
        "Prices are rounded by the API only",
        "**What**: the page formats, it never rounds\n**Why**: two roundings differ by a krona",
        topic="decision/rounding",
        review_after="2027-05-03 15:05:00",
    ),
    Row(
        "invoices-close",
        "2026-11-02 08:20:00",
        "bugfix",
        "Export for Ruth without BOM",
        "**What**: Excel showed `GieÃŸerstraÃŸe`\n**Fix**: utf-8-sig\n"
        "**Where**: invoices/export.py",
        topic="bug/export-bom",
    ),
    Row(
        "invoices-close",
        "2026-11-02 09:00:00",
        "pattern",
        "Decimal until the last line",
        "**What**: quantise when a number is printed, not before\n"
        "**Why**: the VAT of a line and the VAT of the sum differ by a cent",
        topic="pattern/decimal",
    ),
    Row(
        "invoices-close",
        "2026-11-02 09:25:00",
        "learning",
        "uv run finds the environment by itself",
        "No activate, no requirements.txt: `uv run invoices close` in the folder is enough.",
    ),
)

PROMPTS = (
    ("shop-api-drizzle-1", "2026-09-14 07:31:00", "measure what prisma costs us at start"),
    ("shop-api-revert", "2026-10-06 12:52:00", "staging hangs since an hour, find out why"),
    ("shop-api-outage", "2026-10-30 15:46:00", "orders is locked, what holds it"),
    ("shop-api-drizzle-2", "2026-11-09 08:02:00", "drizzle again, one pool, prove it under load"),
    ("shop-api-port", "2026-11-18 08:06:00", "port the next file of queries"),
    ("shop-api-checkout", "2026-11-20 14:51:00", "checkout test again. no longer timeouts please"),
    ("storefront-pay", "2026-11-12 08:31:00", "Maja ordered twice with one card, how"),
    ("invoices-close", "2026-11-02 07:41:00", "close the month, ruth waits"),
)

RELATIONS = (
    (1, 4, "supersedes", "the pool was the reason, the tool was not", 0.91, "judged"),
    (1, 0, "related", "the measurement behind the decision", 0.78, "judged"),
    (9, 1, "related", "the load test that the decision names", 0.84, "judged"),
    (14, 20, "related", "both are about the clock of the sweeper", None, "pending"),
    (17, 19, "not_conflict", "two different reasons for a red test", 0.66, "judged"),
)
"""Source and target by their place in ROWS, relation, reason, confidence, status."""


_OF_FTS = re.compile(r"CREATE TABLE '\w+_fts_")
"""Tables that SQLite makes itself for a virtual one."""


def _sync_id(kind: str, text: str) -> str:
    return f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _schema() -> Iterator[str]:
    """The statements that make Engram's tables, in the order in which they were made."""
    sample = f"file:{SAMPLES / 'engram' / 'engram.db'}?mode=ro&immutable=1"
    with closing(sqlite3.connect(sample, uri=True)) as database:
        for name, sql in database.execute("SELECT name, sql FROM sqlite_master ORDER BY rowid"):
            if sql and not name.startswith("sqlite_") and not _OF_FTS.match(sql):
                yield sql


def build(file: Path) -> None:
    """Write the database to this file, in place of what is there."""
    file.unlink(missing_ok=True)
    with closing(sqlite3.connect(file)) as database:
        statements = list(_schema())
        for statement in sorted(statements, key=lambda sql: "VIRTUAL" not in sql):
            if "VIRTUAL" not in statement and "TRIGGER" not in statement:
                database.execute(statement)
        for statement in statements:
            if "VIRTUAL" in statement or "TRIGGER" in statement:
                database.execute(statement)
        for session, (project, start, end) in SESSIONS.items():
            database.execute(
                "INSERT INTO sessions VALUES (?, ?, ?, ?, ?, NULL)",
                (session, project, f"/home/noor/src/{project}", start, end),
            )
        for row in ROWS:
            database.execute(
                "INSERT INTO observations (sync_id, session_id, type, title, content, tool_name, "
                "project, scope, topic_key, normalized_hash, revision_count, duplicate_count, "
                "last_seen_at, pinned, created_at, updated_at, deleted_at, review_after) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    _sync_id("obs", row.title + row.time),
                    row.session,
                    row.type,
                    row.title,
                    row.content,
                    "subagent-stop" if row.type == "passive" else "mem_save",
                    SESSIONS[row.session][0],
                    row.scope,
                    row.topic,
                    hashlib.sha256(" ".join(row.content.lower().split()).encode()).hexdigest(),
                    row.revisions,
                    row.duplicates,
                    row.updated or row.time,
                    row.pinned,
                    row.time,
                    row.updated or row.time,
                    row.deleted,
                    row.review_after,
                ),
            )
        for session, time, text in PROMPTS:
            database.execute(
                "INSERT INTO user_prompts (sync_id, session_id, content, project, created_at) "
                "VALUES (?, ?, ?, ?, ?)",
                (_sync_id("prompt", text), session, text, SESSIONS[session][0], time),
            )
        for source, target, relation, reason, confidence, status in RELATIONS:
            ids = [_sync_id("obs", ROWS[at].title + ROWS[at].time) for at in (source, target)]
            time = max(ROWS[source].updated or ROWS[source].time, ROWS[target].time)
            by = ("agent:claude-code", "agent", "claude-haiku-4-5")
            database.execute(
                "INSERT INTO memory_relations (sync_id, source_id, target_id, relation, reason, "
                "confidence, judgment_status, marked_by_actor, marked_by_kind, marked_by_model, "
                "created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    _sync_id("rel", "".join(ids)),
                    *ids,
                    relation if status == "judged" else "pending",
                    reason,
                    confidence,
                    status,
                    *(by if status == "judged" else (None, None, None)),
                    time,
                    time,
                ),
            )
        database.commit()
        database.execute("VACUUM")
        database.execute("PRAGMA journal_mode = WAL")


if __name__ == "__main__":
    build(bundled_folder("sample-data") / "engram" / "engram.db")
