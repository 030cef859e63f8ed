"""Find credentials in text by the shapes their issuers give them.

Anchored patterns only: measured elsewhere, entropy rules call every plain sentence a secret. A
secret is always shown masked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_PATTERNS = {
    "AWS access key": r"\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b",
    "GitHub token": r"\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})\b",
    "GitLab token": r"\bgl(?:pat|dt|rt|oas|cbt|ptt|ft|soat|agent|imt)-[A-Za-z0-9_-]{20,}",
    "Slack token": r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
    "Slack webhook": r"https://hooks\.slack\.com/services/T\w{6,}/B\w{6,}/\w{20,}",
    "Stripe key": r"\b[rs]k_(?:live|test)_[0-9A-Za-z]{20,}",
    "OpenAI key": r"\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]*T3BlbkFJ[A-Za-z0-9_-]{16,}"
    r"|\bsk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{32,}|\bsk-[A-Za-z0-9]{40,}\b",
    "Anthropic key": r"\bsk-ant-[A-Za-z0-9_-]{20,}",
    "Google key": r"\bAIza[0-9A-Za-z_-]{35}\b",
    "Google OAuth secret": r"\bGOCSPX-[A-Za-z0-9_-]{28}\b",
    "npm token": r"\bnpm_[A-Za-z0-9]{36}\b",
    "PyPI token": r"\bpypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,}",
    "Hugging Face token": r"\bhf_[A-Za-z0-9]{34,}\b",
    "SendGrid key": r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}\b",
    "Twilio key": r"\bSK[0-9a-f]{32}\b",
    "DigitalOcean token": r"\bdo[opr]_v1_[0-9a-f]{64}\b",
    "Azure storage key": r"\bAccountKey=[A-Za-z0-9+/]{86}==",
    "Telegram bot token": r"\b\d{8,10}:AA[A-Za-z0-9_-]{33}\b",
    "Discord token": r"\b[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}\b",
    "Shopify token": r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}\b",
    "Mailgun key": r"\bkey-[0-9a-f]{32}\b",
    "Databricks token": r"\bdapi[0-9a-f]{32}\b",
    "Linear key": r"\blin_api_[A-Za-z0-9]{40}\b",
    "Notion token": r"\b(?:secret|ntn)_[A-Za-z0-9]{43,}\b",
    "Vault token": r"\bhv[bsr]\.[A-Za-z0-9_-]{24,}",
    "age key": r"\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b",
    "JSON web token": r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    "private key": r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----",
    "password in a URL": r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{1,64}:[^\s/:@]{3,128}@[\w.-]+",
    "password": r"(?i:\b(?:password|passwd|pwd|secret|api[_-]?key|access[_-]?token)"
    r"\s*[=:]\s*[\"']?(?=\S*\d)(?=\S*[a-z])[^\s\"'<>{}\[\]]{8,64})",
}

_ANY = re.compile("|".join(f"(?P<p{n}>{p})" for n, p in enumerate(_PATTERNS.values())))
_NAMES = tuple(_PATTERNS)
_HEAD, _TAIL = 4, 2
"""Characters of a masked secret that stay readable."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A stretch of text that looks like a credential."""

    what: str
    start: int
    end: int
    masked: str


def mask(text: str) -> str:
    """`ghp_…R8`: enough to recognise it, not enough to use it."""
    return f"{text[:_HEAD]}…{text[-_TAIL:]}"


def find_secrets(text: str) -> Iterator[Secret]:
    """Every credential in the text, from left to right, not overlapping."""
    for found in _ANY.finditer(text):
        name = _NAMES[int((found.lastgroup or "p0")[1:])]
        yield Secret(name, found.start(), found.end(), mask(found[0]))
