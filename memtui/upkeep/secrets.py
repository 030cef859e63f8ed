"""Find credentials in text by the shapes their issuers give them, or the name beside them.

A secret is always shown masked. What only holds the place of one (`ghp_xxxx`, `${TOKEN}`, a path
in a vault) is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memtui.upkeep.secret_shapes import ISSUED, NAMED, PRIVATE_KEY, SHORTEST

_ISSUED = re.compile("|".join(f"(?P<p{n}>{p})" for n, p in enumerate(ISSUED.values())))
_LONG = re.compile(rf"[^\s,;()\"'`]{{{SHORTEST},}}")
_KEY = re.compile(PRIVATE_KEY)
_ISSUED_NAMES = tuple(ISSUED)
_NAMED = re.compile("|".join(NAMED))
_NAMED_AS = {"inurl": "password in a URL", "header": "authorization header", "given": "password"}
"""The group of a pattern that holds the value alone -> what is found by it."""
_HEAD, _TAIL = 4, 2
"""Characters of a masked secret that stay readable."""

_FEWEST = 4
"""Different characters in a value that was drawn by chance, at the least."""
_BLANK = re.compile(r"(?i)x{5}|0{8}|\*{3}|\.{3}|…|your|redacted|placeholder|1234567|abcdefg")
"""What stands in the blank of a form that has the shape of an issued secret."""
_STANDS_IN = re.compile(
    r"(?i)x{4}|\*{3}|\.{3}|…|<|^\$\w|\$[{(]|\{\{|%\(|example|sample|dummy|placeholder"
    r"|change[-_ ]?me|redacted|removed|your[-_ ]|12345|abcdef|foobar|todo|fake|none\b|null\b"
)
"""Words and signs of a place that is kept for a secret."""
_ELSEWHERE = re.compile(
    r"(?i)(?:os\.|process\.|sys\.|self\.|env[.:(]|secrets?[./:]|vault[:/]|op://|arn:|ssm:|keyring|file:)"
    r"|^(?:/|\./|~/|https?:|[A-Z]:\\)|^[\w.]+\(|^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$|\.[a-z]{2,4}$"
)
"""Where a secret is to be got from: a variable, a path, an address, a call."""
_USUAL = frozenset({"password", "pass", "passwd", "secret", "pwd", "token", "user", "changeme"})
_NO_SECRET = re.compile(r"\d{4}-\d\d-\d\d.*|v?\d+(?:\.\d+)+|[\d.,:/-]+(?:[a-z]{1,4})?")
"""Dates, versions, numbers with a unit."""
_BASIC = re.compile(r"[A-Za-z]+(?:[-_ ][A-Za-z]+)*\d?")
"""Words; one figure may follow."""


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
    known = list(_issued(text))
    named = [s for s in _named(text) if not any(s.start < k.end and k.start < s.end for k in known)]
    yield from sorted([*known, *named], key=lambda secret: secret.start)


def _issued(text: str) -> Iterator[Secret]:
    """Looked for in long words alone: most texts have none, and that is quick to see."""
    for word in _LONG.finditer(text):
        for found in _ISSUED.finditer(text, *word.span()):
            whole = found[0]
            if not _BLANK.search(whole) and len(set(whole[8:] or whole)) >= _FEWEST:
                name = _ISSUED_NAMES[int((found.lastgroup or "p0")[1:])]
                yield Secret(name, *found.span(), mask(whole))
    if "-----BEGIN" in text:
        for found in _KEY.finditer(text):
            yield Secret("private key", *found.span(), mask(found[0]))


def _named(text: str) -> Iterator[Secret]:
    for found in _NAMED.finditer(text):
        group = found.lastgroup or ""
        value = found[group]
        if _is_secret(value, strict=group == "given"):
            yield Secret(_NAMED_AS[group], *found.span(), mask(value.strip("\"'`")))


def _is_secret(value: str, *, strict: bool) -> bool:
    """Whether what stands where a secret is expected looks like one."""
    quoted = value[0] in "\"'`"
    bare = value.strip("\"'`").rstrip(".,;:!?")
    if bare.lower() in _USUAL or _STANDS_IN.search(bare) or _ELSEWHERE.search(bare):
        return False
    if _NO_SECRET.fullmatch(bare):
        return False
    if not strict:
        return True
    kinds = sum(bool(re.search(kind, bare)) for kind in ("[a-z]", "[A-Z]", r"\d", r"[^\w\s]"))
    if quoted and " " in bare:  # a pass phrase: several words, nothing else
        return bool(re.fullmatch(r"[a-z]+(?: [a-z]+){3,}", bare))
    return kinds >= 2 and not _BASIC.fullmatch(bare) and any(c.isdigit() for c in bare)
