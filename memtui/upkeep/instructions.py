"""Find memories that speak to the agent instead of stating something: planted instructions.

A help for a person who looks through memories, never a verdict: each finding says why, nothing is
blocked by it, and no memory is called safe because nothing was found.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Collection, Iterator

from memtui.upkeep.instruction_signs import SENDING, SIGNS, TO_A_NEW_ADDRESS

IN_TAGS = "hides words in characters that are not shown"
IN_BASE64 = "encoded in base64"

_SIGNS = {reason: re.compile("|".join(phrases), re.IGNORECASE) for reason, phrases in SIGNS.items()}
_SENDING = re.compile(SENDING, re.IGNORECASE)
_HOST = re.compile(
    r"(?:\b(?:https?|ftp|wss?)://(?:[^\s/@]{0,64}@)?|(?<=[\w.+-])@)([\w-]{1,63}(?:\.[\w-]{1,63}){0,9})"
)
_BASE64 = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}")
_LATIN = str.maketrans(
    "аАВеЕЅѕіІјЈкКМНоОрРсСТуУхХԁԛԝһҺΑΒΕΖΗΙΚΜΝΟΡΤΥΧονρυ",
    "aABeESsiIjJkKMHoOpPcCTyYxXdqwhHABEZHIKMNOPTYXovpu",
)
"""Cyrillic and Greek letters that look like Latin ones."""
_LOCAL = frozenset({"localhost", "127.0.0.1"})


def domains(text: str) -> set[str]:
    """The domains of all addresses in the text: `https://a.b.example/x` gives `b.example`."""
    return {_domain(found[1]) for found in _HOST.finditer(text)} - _LOCAL


def _domain(host: str) -> str:
    host = host.lower()
    return host if host.replace(".", "").isdigit() else ".".join(host.split(".")[-2:])


def suspicions(text: str, known: Collection[str] | None = None) -> tuple[str, ...]:
    """Why this may be an instruction to the agent: no reason, or several.

    `known` are domains that other memories name too; without them no address is called new.
    """
    return tuple(dict.fromkeys(_reasons(text, known)))


def _reasons(text: str, known: Collection[str] | None) -> Iterator[str]:
    unhidden, spelled = _plain(text), _tags(text)
    yield from (reason for reason, phrases in _SIGNS.items() if phrases.search(unhidden))
    if spelled:
        yield IN_TAGS
    if known is not None and _sends_elsewhere(unhidden, known):
        yield TO_A_NEW_ADDRESS
    for coded in _BASE64.finditer(text):
        decoded = _decoded(coded[0])
        if decoded and any(_reasons(decoded, None)):
            yield IN_BASE64


def _sends_elsewhere(text: str, known: Collection[str]) -> bool:
    new = [found for found in _HOST.finditer(text) if _domain(found[1]) not in {*known, *_LOCAL}]
    return any(_SENDING.search(text[max(0, found.start() - 160) : found.start()]) for found in new)


def _plain(text: str) -> str:
    """As a model reads it: forms folded, look-alike letters as Latin, what takes no room gone."""
    if text.isascii():
        return text
    folded = unicodedata.normalize("NFKC", text)
    shown = "".join(c for c in folded if unicodedata.category(c) not in ("Cf", "Mn", "Cs"))
    return shown.translate(_LATIN) if re.search("[A-Za-z]", shown) else shown


def _tags(text: str) -> str:
    """Words spelled in tag characters or in variation selectors, which no terminal shows."""
    tags = "".join(chr(ord(c) - 0xE0000) for c in text if 0xE0020 <= ord(c) <= 0xE007E)
    bytes_ = [ord(c) - 0xE0100 + 16 for c in text if 0xE0100 <= ord(c) <= 0xE01EF]
    return tags + bytes(bytes_).decode("utf-8", "ignore")


def _decoded(coded: str) -> str:
    try:
        return base64.b64decode(coded + "=" * (-len(coded) % 4), validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return ""
