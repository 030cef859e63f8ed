"""Find memories that instruct the agent instead of stating something: planted instructions.

A memory states facts; these phrases tell an agent what to do, unseen by the person. Measured
elsewhere, single trigger words are wrong as often as right, so each phrase names a verb and its
object. Forms that have a spelling of their own, and phrases of English, are expressions in
`instruction_phrases.toml`; what words mean together, in nine languages, is in
`instruction_meanings`. A finding helps a person who reviews memories and gives its reasons. It
blocks nothing, and a memory without findings is not thereby safe.
"""

from __future__ import annotations

import base64
import binascii
import re
import tomllib
import unicodedata
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

from memtui.text.filtered_pattern import ExpressionFilter, fold
from memtui.upkeep.instruction_meanings import reader

_LISTED = tomllib.loads(Path(__file__).with_name("instruction_phrases.toml").read_text("utf-8"))
_PARTS: dict[str, str] = _LISTED["parts"]
_PART = re.compile(r"\{([A-Z]+)\}")
PHRASES = {
    reason: tuple(_PART.sub(lambda named: _PARTS[named[1]], phrase) for phrase in phrases)
    for reason, phrases in _LISTED["reasons"].items()
}
"""Why a text may instruct an agent -> expressions, one of which it matches."""

TO_A_NEW_ADDRESS = "names an address that stands nowhere else"
"""Reported only after a verb that sends, fetches or trusts; of many addresses in documents it is
said that one should follow or open them."""
SENDING = (
    r"(?:^|[.,;:!?]\s+|\b(?:and|then|must|always|first|please|you)\s+)"
    rf"(?!follow\b|open\b|install\b)(?:{_PARTS['SENDS']})\b[^\n]{{0,100}}?"
)


IN_TAGS = "hides words in characters that are not shown"
IN_BASE64 = "encoded in base64"

_PATTERNS = tuple((phrase, reason) for reason, phrases in PHRASES.items() for phrase in phrases)
_FILTER = ExpressionFilter([phrase for phrase, _ in _PATTERNS])
_SENDING = re.compile(SENDING, re.IGNORECASE)
_HOST = re.compile(
    r"(?:\b(?:https?|ftp|wss?)://(?:[^\s/@]{0,64}@)?"
    r"|(?<=[\w.+-])@)([\w-]{1,63}(?:\.[\w-]{1,63}){0,9})"
)
_SPACED = re.compile(r"(?<!\S)(?:\w {1,3}){8,400}\w(?!\S)")
"""Words whose letters stand apart; two blanks or more end a word."""
_BETWEEN_LETTERS = re.compile(r"(?<=\S) (?=\S)")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}")
_LATIN = str.maketrans(
    "аАВеЕЅѕіІјЈкКМНоОрРсСТуУхХԁԛԝһҺΑΒΕΖΗΙΚΜΝΟΡΤΥΧονρυ",
    "aABeESsiIjJkKMHoOpPcCTyYxXdqwhHABEZHIKMNOPTYXovpu",
)
"""Cyrillic and Greek letters that look like Latin ones."""
_WORD_WITH_LATIN = re.compile(r"\b(?=\w*[A-Za-z])\w+")
_LOOKS_LATIN = re.compile("[" + "".join(map(chr, _LATIN)) + "]")
_LOCAL = frozenset({"localhost", "127.0.0.1"})


def find_domains(text: str) -> set[str]:
    """The domains of all addresses in the text: `https://a.b.example/x` gives `b.example`."""
    return {_domain(found[1]) for found in _HOST.finditer(text)} - _LOCAL


def _domain(host: str) -> str:
    host = host.lower()
    return host if host.replace(".", "").isdigit() else ".".join(host.split(".")[-2:])


def find_suspicions(text: str, known: Collection[str] | None = None) -> tuple[str, ...]:
    """Find the reasons why a text may instruct the agent.

    Args:
        text: The title and content of a memory.
        known: Domains that several memories name; None: addresses are not checked.
    """
    found: dict[str, str] = {}
    for reason, words in _reasons(text, known):
        found[reason] = found.get(reason) or words
    return tuple(f"{reason} ({words})" if words else reason for reason, words in found.items())


def _reasons(text: str, known: Collection[str] | None) -> Iterator[tuple[str, str]]:
    """Each reason with the words that count, where words count."""
    unhidden, spelled = _normalize(text), _decode_tags(text)
    for reason, words in reader().read(unhidden):
        yield reason, " … ".join(words)
    for at in _FILTER.candidates(fold(unhidden)):
        phrase, reason = _PATTERNS[at]
        if _compiled(phrase).search(unhidden):
            yield reason, ""
    if spelled:
        yield IN_TAGS, ""
    if known is not None and _sends_elsewhere(unhidden, known):
        yield TO_A_NEW_ADDRESS, ""
    for coded in _BASE64.finditer(text):
        decoded = _decode_base64(coded[0])
        if decoded and any(_reasons(decoded, None)):
            yield IN_BASE64, ""


@cache
def _compiled(phrase: str) -> re.Pattern[str]:
    """Compiled when first needed: all of them take 30 ms."""
    return re.compile(phrase, re.IGNORECASE)


def _sends_elsewhere(text: str, known: Collection[str]) -> bool:
    new = [found for found in _HOST.finditer(text) if _domain(found[1]) not in {*known, *_LOCAL}]
    return any(_SENDING.search(text[max(0, found.start() - 160) : found.start()]) for found in new)


def _normalize(text: str) -> str:
    """Normalize a text as a model reads it: forms folded, look-alikes as Latin, invisibles gone."""
    if _SPACED.search(text):
        text = _SPACED.sub(lambda found: _BETWEEN_LETTERS.sub("", found[0]), text)
    if text.isascii():
        return text
    shown = unicodedata.normalize("NFKC", text)
    hidden = {ord(c): None for c in set(shown) if unicodedata.category(c) in ("Cf", "Mn", "Cs")}
    if hidden:
        shown = shown.translate(hidden)
    if not _LOOKS_LATIN.search(shown):
        return shown
    return _WORD_WITH_LATIN.sub(lambda word: word[0].translate(_LATIN), shown)


def _decode_tags(text: str) -> str:
    """Decode words in tag characters or variation selectors, which no terminal shows."""
    if max(text, default="") < "\U000e0020":
        return ""
    tags = "".join(chr(ord(c) - 0xE0000) for c in text if 0xE0020 <= ord(c) <= 0xE007E)
    bytes_ = [ord(c) - 0xE0100 + 16 for c in text if 0xE0100 <= ord(c) <= 0xE01EF]
    return tags + bytes(bytes_).decode("utf-8", "ignore")


def _decode_base64(coded: str) -> str:
    try:
        return base64.b64decode(coded + "=" * (-len(coded) % 4), validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return ""
