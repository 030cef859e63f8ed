"""Hand-made labels of the sample stores: what each finding should name there, and what not.

A label names memories by their refs, or a file by the end of its path. Every proposal that a scan
of the sample stores makes has its label here, so that a new wrong one is seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from memtui.upkeep.proposals import ProposalKind as Kind

STORY, TOWER = "story", "test tower"
"""The sample stores of the tests; those in `test-tower`."""


@dataclass(frozen=True, slots=True)
class SampleLabel:
    """Memories of the sample stores that look like one finding, and whether they are one."""

    kind: Kind
    is_true: bool
    stores: str
    names: tuple[str, ...]
    """Beginnings of refs without the ids' later parts, or `file:` and the end of a path."""


FACT, EVENT, ROW, TRIPLE = "agent-memory:", "ambient:", "engram:", "simple-memory:"
CLAUDE = "claude-code:projects/-home-marit-src-"

_TRUE: dict[str, dict[Kind, list[str]]] = {
    TOWER: {
        Kind.UNREADABLE: ["file:loaner-van/items.json"],
        Kind.SECRET: [f"{FACT}2546b0cf"],
        Kind.DUPLICATE: [
            f"{FACT}1cfbc275 {FACT}ad461558",
            f"{TRIPLE}fact_t10 {TRIPLE}fact_t11 {TRIPLE}fact_t12",
            f"{TRIPLE}fact_t13 {TRIPLE}fact_t14",
        ],
        Kind.CONFLICT: [
            f"{FACT}23bd426f {FACT}be226461",
            "agent-memory-2:00000001 agent-memory-3:00000001",
            f"{FACT}91b804c2 {ROW}10",
            f"{FACT}f5402905 {ROW}10",
            f"{FACT}abdabadb {FACT}34897f60",
            f"{TRIPLE}fact_t01 {TRIPLE}fact_t02",
        ],
        Kind.SUPERSEDED: [f"{EVENT}e62a763c {EVENT}fc511a4d"],
        Kind.CLUSTER: [f"{ROW}1 {ROW}2"],
        Kind.COMPACTION: [f"{EVENT}c95b4f35"],
        Kind.MERGED_BRANCH: [f"{EVENT}8c8a2845"],
        Kind.EXPIRY: [f"{EVENT}5e5d7f4c"],
        Kind.PATTERN: [f"{TRIPLE}fact_t10 {TRIPLE}fact_t12 {TRIPLE}ep_t1 {TRIPLE}ep_t2"],
        Kind.STALE_SUMMARY: [f"{FACT}entities/runa-holt/summary.md"],
        Kind.LONG_HISTORY: [f"{FACT}091cdb40"],
        Kind.OUTDATED_SCHEMA: [f"{TRIPLE}sch_t2"],
        Kind.PLANTED: [f"{FACT}2d165415"],
        Kind.DUPLICATE_ID: [f"{TRIPLE}fact_t20#2"],
        Kind.BROKEN_LINK: [f"{FACT}23bd426f", f"{TRIPLE}fact_t21"],
        Kind.OUTDATED: ["markdown-folder:build.md"],
        Kind.OVERWRITTEN: ["file:timo-brandt/items.json"],
    },
    STORY: {
        Kind.CONFLICT: [
            f"{TRIPLE}fact_1a3 {TRIPLE}fact_1a0",
            f"{TRIPLE}fact_1ce {TRIPLE}fact_1cb",
            f"{TRIPLE}fact_21e {TRIPLE}fact_21b",
        ],
        Kind.EXPIRY: [
            f"{EVENT}{id}"
            for id in (
                *("39901e66", "f4643392", "0d00c817", "05588745"),
                *("c6ecbbb7", "78aa6b04", "6c1d2c56", "3c91d00d"),
            )
        ],
        Kind.PLANTED: [
            *(f"{FACT}1af1725f", f"{FACT}78441f80", f"{EVENT}01ea03f3", f"{EVENT}70b2cce9"),
            *(f"{EVENT}60ad649f", f"{ROW}76", f"{ROW}86", "beads:towerd-vy16"),
            *("claude-mem:observations/12", "conport:custom_data/12"),
        ],
        Kind.BROKEN_LINK: [
            f"{FACT}b1ae7721",
            f"{CLAUDE}towerd/memory/MEMORY.md#project_october_replay.md",
            "mcp-memory:entity-aa66aef492",
            "mcp-memory:entity-bb5bb9b0e1",
            f"{TRIPLE}ep_112",
            "conport:decisions/6",
            f"{TRIPLE}sch_20",
        ],
        Kind.ORPHAN: [
            f"{CLAUDE}chime-control/memory/feedback_amber_not_red.md",
            f"{CLAUDE}towerd/memory/reference_hammer_tables.md",
        ],
        Kind.DAMAGED: ["workspace:journal/2026-08-25.md"],
        Kind.UNUSED: [f"{FACT}a504f1a1"],
    },
}
_FALSE: dict[str, dict[Kind, list[str]]] = {
    TOWER: {
        Kind.UNREADABLE: ["file:rope-works/items.json"],
        Kind.SECRET: [f"{FACT}a15dd444", f"{FACT}ed77ac6d"],
        Kind.DUPLICATE: [
            f"{FACT}91b804c2 {FACT}f5402905",
            f"{FACT}53c37f65 {FACT}c2a91a9a",
            f"{TRIPLE}fact_t05 {TRIPLE}fact_t07",
            f"{EVENT}e62a763c {EVENT}fc511a4d",
            f"{ROW}7 {ROW}8",
        ],
        Kind.CONFLICT: [
            f"{FACT}8fca3978 {FACT}b6d87cab",
            f"{TRIPLE}fact_t04 {TRIPLE}fact_t03",
            f"{TRIPLE}fact_t05 {TRIPLE}fact_t06",
            f"{FACT}aebee86e",
            f"{FACT}9983798b {FACT}c2a0ec0f",
            "agent-memory-2:00000002 agent-memory-3:00000002",
        ],
        Kind.SUPERSEDED: [f"{EVENT}ec8830fb", f"{EVENT}2b73ac8d"],
        Kind.CLUSTER: [f"{ROW}3 {ROW}4", f"{ROW}5 {ROW}6", f"{ROW}7 {ROW}8"],
        Kind.COMPACTION: [f"{EVENT}b8c64291", f"{EVENT}8528e089"],
        Kind.MERGED_BRANCH: [f"{EVENT}7ddcbf99", f"{EVENT}011632c9"],
        Kind.EXPIRY: [f"{EVENT}50b9e4eb", f"{EVENT}8c8a2845"],
        Kind.PATTERN: [f"{TRIPLE}fact_t13 {TRIPLE}fact_t14"],
        Kind.STALE_SUMMARY: [f"{FACT}entities/test-tower/summary.md"],
        Kind.LONG_HISTORY: [f"{FACT}7c67230b", f"{FACT}dd4c7c52"],
        Kind.OUTDATED_SCHEMA: [f"{TRIPLE}sch_t1", f"{TRIPLE}sch_t3"],
        Kind.PLANTED: [f"{FACT}451d77db"],
        Kind.DUPLICATE_ID: [f"{TRIPLE}fact_t10", f"{ROW}1"],
        Kind.BROKEN_LINK: [f"{FACT}7c67230b", f"{TRIPLE}fact_t22"],
        Kind.OUTDATED: ["markdown-folder:ring.md"],
        Kind.OVERWRITTEN: ["file:runa-holt/items.json"],
    },
    STORY: {
        Kind.BROKEN_LINK: ["markdown-folder:bells/lourenço.md"],
        Kind.DUPLICATE_ID: ["markdown-folder:bells/lourenço.md#6045953453"],
        Kind.ORPHAN: [f"{CLAUDE}towerd/memory/feedback_"],
        Kind.UNUSED: [f"{FACT}41fc1ac1"],
    },
}


def _labels() -> Iterator[SampleLabel]:
    for is_true, table in ((True, _TRUE), (False, _FALSE)):
        for stores, kinds in table.items():
            for kind, lines in kinds.items():
                for line in lines:
                    yield SampleLabel(kind, is_true, stores, tuple(line.split(" ")))


LABELS = tuple(_labels())
