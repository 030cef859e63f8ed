"""Findings as SARIF 2.1.0, which code hosts and editors show beside the lines of a file.

Source of the format: https://docs.oasis-open.org/sarif/sarif/v2.1.0/
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from memtui import __version__
from memtui.upkeep.proposals import RULES, Proposal, ProposalKind

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def to_sarif(
    findings: Sequence[Proposal], folder: Path, errors: Collection[ProposalKind]
) -> dict[str, Any]:
    """Make the SARIF log of one run.

    Args:
        findings: What was found.
        folder: Files below it are named relative to it, as a code host expects of a checkout.
        errors: Kinds with the level `error`; the others are warnings.
    """
    kinds = sorted({finding.kind for finding in findings})
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "memtui",
                        "version": __version__,
                        "rules": [
                            {
                                "id": str(kind),
                                "shortDescription": {"text": RULES[kind].about},
                            }
                            for kind in kinds
                        ],
                    }
                },
                "results": [_result(finding, folder, errors) for finding in findings],
            }
        ],
    }


def _result(finding: Proposal, folder: Path, errors: Collection[ProposalKind]) -> dict[str, Any]:
    uri = _uri(finding.file, folder)
    what = finding.message or finding.title  # a title may name stores as they are open together
    identity = "\0".join((finding.kind, uri, *finding.refs, what))
    digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()
    location: dict[str, Any] = {"artifactLocation": {"uri": uri}}
    if finding.line:
        location["region"] = {"startLine": finding.line}
    return {
        "ruleId": str(finding.kind),
        "level": "error" if finding.kind in errors else "warning",
        "message": {"text": finding.title},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"memtui/v1": digest[:32]},
    }


def _uri(file: str, folder: Path) -> str:
    path, root = Path(file), folder.resolve()
    for base in (folder, root):
        if path.is_relative_to(base):
            return quote(str(path.relative_to(base)), errors="surrogateescape")
    return f"file://{quote(str(path), errors='surrogateescape')}"
