"""Find memories that instruct the agent instead of stating something: planted instructions.

A memory states facts; these phrases tell an agent what to do, unseen by the person. Measured
elsewhere, single trigger words are wrong as often as right, so each phrase names a verb and its
object. Forms that have a spelling of their own, and phrases of English, are expressions in
`instruction_phrases.toml`. A finding helps a person who reviews memories and gives its reasons. It
blocks nothing, and a memory without findings is not thereby safe.

Sentences are also found by what their words mean, in nine languages: `instruction_words.toml` says
which words mean what (`tell`, `user`, `secrets`) and which meanings make an instruction when they
stand close together in a sentence that tells somebody to do something. A sentence is read once,
each of its words is looked up once, and a word that was looked up is remembered.

What is quoted, code in a block and the rows of a table tell about something; they tell nobody to do
it.
"""

from __future__ import annotations

import base64
import binascii
import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, reduce
from itertools import pairwise
from operator import or_
from pathlib import Path
from typing import Any

from msgspec import Struct

from memtui.text.filtered_pattern import ExpressionFilter, WordBits, fold

WORDS = Path(__file__).with_name("instruction_words.toml")
_ADDRESS = re.compile(
    r"(?:https?|ftp|wss?)://[^\s\"'<>)]+|[\w.+-]{1,64}@[\w-]{1,63}\.[\w.-]{2,190}"
)
_ADDRESS_MARK = "\u0001"
"""Replaces an address, so that its words do not count."""
_SECRET_FILE = re.compile(
    r"(?:~|\$HOME)?/?(?<!\w)\.(?:ssh|aws|env|netrc|npmrc|pypirc|gnupg|kube)\b[\w/.-]{0,80}"
)
_NAMES_SECRET_FILE = re.compile(r"\.(?:ssh|aws|env|netrc|npmrc|pypirc|gnupg|kube)\b")
"""Quick: says whether `_SECRET_FILE` is worth trying."""
_SECRET_FILE_MARK = "\u0002"
_MARKS = {_ADDRESS_MARK: "an address", _SECRET_FILE_MARK: "a file of secrets"}
"""Mark -> what a reason calls it."""
_SENTENCE = re.compile(r"[.!?;…](?=\s)|[。！？；!?](?=[^\s\w])|[。！？]+|\s[—–|=]\s|→")
_EAST_ASIAN = "\u3040-\u30ff\u3400-\u9fff"
_WORD = re.compile(rf"[{_EAST_ASIAN}]+|[^\W{_EAST_ASIAN}]+(?:-[^\W{_EAST_ASIAN}]+)*|[\u0001\u0002]")
_IS_EAST_ASIAN = re.compile(rf"[{_EAST_ASIAN}]")
_KANA = re.compile("[\u3040-\u30ff]")
_BEFORE_EAST_ASIAN = "\u303f"
_BLANKED = {
    code: " "
    for code in range(128)
    if not (chr(code).isalnum() or chr(code) in f"-_{_ADDRESS_MARK}{_SECRET_FILE_MARK}")
}
"""Makes words that `split` finds of a line of ASCII."""
_LONGEST = 60
"""Maximum number of words examined together; longer sentences are read in overlapping pieces."""
_REMEMBERED = 100_000
_STARTS_PHRASE, _HAS_CHARACTERS = 1, 2
"""Bits of a word with which a phrase may begin, and of Chinese and Japanese, where several words
stand without a blank between them."""
_SEVERAL = _STARTS_PHRASE | _HAS_CHARACTERS
_CHARS_OF_WORD = 2
"""Chinese and Japanese characters that count as one word of distance."""
_BLOCK = re.compile(r"^ {0,3}```[^\n]*\n.*?(?:^ {0,3}```|\Z)", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^\s{0,3}\|[^\n]*\|[^\n]*", re.MULTILINE)
_QUOTED = re.compile(
    r"""\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|«[^»\n]{1,200}»|`[^`\n]{1,200}`|'(?<!\w')[^'\n]{1,200}'(?!\w)"""
)
"""Each branch begins with its sign, for which `re` can look quickly."""
_IMAGE = re.compile(r"!\[[^\]\n]{0,400}\]\([^)\s]{0,2000}\)")
_TOLD_IN_QUOTES = frozenset(
    {"sets aside earlier instructions", "speaks to the agent", "asks for secrecy"}
)
"""Reasons whose phrases are often quoted by those who warn of them."""
_CLAUSE_END = re.compile(r"[,;:—–•→>*#=]|(?:^|\s)-+\s")
"""Between two words: the second begins a clause."""
_REACH = 3
"""Words before those that count among which the verb of an order may stand."""
_ORDER_WORDS = 9
"""Words after `you must` that may hold the verb."""
_HARMLESS_IF_NEGATED = frozenset(
    {"carries something away", "runs what comes from the net", "tells to decode and obey"}
)


class MeaningRule(Struct, frozen=True):
    """Meanings that make an instruction when they stand within so many words."""

    reason: str
    groups: tuple[int, ...]
    """At least one meaning of each group must be present; the bits of a group are its meanings."""
    within: int


class _Place(Struct, frozen=True):
    """A word with a meaning."""

    at: float
    meanings: int
    word: str
    number: int
    """Of the word in its sentence."""


class _Phrase(Struct, frozen=True):
    rest: tuple[str, ...]
    bits: int


class _Listed:
    """Words and beginnings of words with the bits of their meanings."""

    def __init__(self) -> None:
        self._whole: dict[str, int] = {}
        self._beginnings: dict[str, list[tuple[str, int]]] = {}
        """First two letters -> beginnings."""

    def add(self, word: str, bit: int) -> None:
        """Add a word; `word*` stands for every word that begins so."""
        if word.endswith("*"):
            self._beginnings.setdefault(word[:2], []).append((word[:-1], bit))
        else:
            self._whole[word] = self._whole.get(word, 0) | bit

    def bits_of(self, word: str) -> int:
        """The meanings of a word."""
        if word[0] > _BEFORE_EAST_ASIAN and _IS_EAST_ASIAN.match(word):
            return _HAS_CHARACTERS
        bits = self._whole.get(word, 0)
        for beginning, bit in self._beginnings.get(word[:2], ()):
            if word.startswith(beginning):
                bits |= bit
        return bits


class Reader:
    """The words and rules of a file, ready to read texts with."""

    def __init__(
        self,
        words: dict[str, str],
        reasons: dict[str, list[str]],
        orders: Mapping[str, str],
        also: Callable[[str], int],
    ) -> None:
        """Take over the parts of a file.

        Args:
            words: The words of each meaning.
            reasons: The rules of each reason.
            orders: What makes a sentence an order.
            also: Bits that `words` gives above the meanings of a word.
        """
        self._orders = Orders(orders)
        self._bit = {name: 4 << number for number, name in enumerate(words)}
        self.width = len(words) + 2
        """Bits of a word."""
        self._all_meanings = (1 << self.width) - 1 & ~_SEVERAL
        self._listed, self._possibly = _Listed(), _Listed()
        self._characters: dict[str, list[tuple[str, int]]] = {}
        self._phrases: dict[str, list[_Phrase]] = {}
        for name, listed in words.items():
            for word in listed.split():
                self._add(word, self._bit[name])
        self._meanings = WordBits(self._listed.bits_of)
        self.words = WordBits(lambda word: self._bits_of(word) | also(word) << self.width)
        """Word -> the meanings that it may have, and what `also` says of it."""
        self._starting: dict[str, list[_Phrase]] = {}
        self._known: dict[int, list[MeaningRule]] = {}
        self._rules = [self._rule(reason, one) for reason, each in reasons.items() for one in each]

    def _add(self, word: str, bit: int) -> None:
        if _IS_EAST_ASIAN.match(word):
            self._characters.setdefault(word[0], []).append((word, bit))
        elif "_" in word:
            start, *rest = phrase = word.replace("'", " ").replace("_", " ").split()
            self._listed.add(start, _STARTS_PHRASE)
            self._phrases.setdefault(start, []).append(_Phrase(tuple(rest), bit))
            self._possibly.add(max(phrase, key=len), bit)
        else:
            self._listed.add(word, bit)
            self._possibly.add(word, bit)

    def _rule(self, reason: str, text: str) -> MeaningRule:
        *groups, within = text.split()
        bits = (sum(self._bit[name] for name in set(group.split("|"))) for group in groups)
        return MeaningRule(reason, tuple(bits), int(within.removeprefix("~")))

    def _bits_of(self, word: str) -> int:
        """The meanings that a word may have: its own, and those of its characters and of the
        phrases whose longest word it is."""
        bits = self._possibly.bits_of(word)
        if bits & _HAS_CHARACTERS:
            each = (bit for one in word for _, bit in self._characters.get(one, ()))
            bits = reduce(or_, each, bits)
        return bits

    def may_instruct(self, line: str, bits: int) -> bool:
        """Whether `read` may find a reason in a line; quick, and no for nearly every line.

        Args:
            line: As `read` takes it.
            bits: What `words` gives for its words.
        """
        if "@" in line or "://" in line:
            bits |= self._meanings[_ADDRESS_MARK]
        if _NAMES_SECRET_FILE.search(line):
            bits |= self._meanings[_SECRET_FILE_MARK]
        return bool(self._possible(self._meant(bits)))

    def _meant(self, bits: int) -> int:
        """The meanings among the bits of words."""
        return bits & self._all_meanings

    def read(self, line: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Find the reasons why a line of a text may instruct an agent.

        Args:
            line: As a model reads it, without characters that are not shown.

        Yields:
            A reason and the words that count, once for each reason and sentence.
        """
        for sentence in _SENTENCE.split(_words_that_count(line)):
            if not self._possible(self._meant(self.words.join(split_words(sentence)))):
                continue
            words = list(_WORD.finditer(sentence))
            for start in range(0, max(1, len(words) - _LONGEST // 2), _LONGEST // 2):
                yield from self._read_words(sentence, words[start : start + _LONGEST])

    def _read_words(
        self, sentence: str, found: list[re.Match[str]]
    ) -> Iterator[tuple[str, tuple[str, ...]]]:
        words = [each[0] for each in found]
        bits = list(map(self._meanings.__getitem__, words))
        present = reduce(or_, bits, 0)
        if not present:
            return
        places: list[_Place] = []
        if present & _SEVERAL:
            places = list(self._places(words, bits))
            present = reduce(or_, (place.meanings for place in places), 0)
        orders: Mapping[int, bool] | None = None
        for rule in self._possible(present):
            places = places or list(self._places(words, bits))
            counted = _closest(rule, places)
            if counted:
                if orders is None:
                    orders = self._orders.find(words, _clause_starts(sentence, found))
                if _is_ordered(rule.reason, counted, orders):
                    yield rule.reason, tuple(_MARKS.get(one.word, one.word) for one in counted)

    def _possible(self, present: int) -> list[MeaningRule]:
        """The rules of which all meanings are among these."""
        if present not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            found = self._known[present] = []
            for rule in self._rules:
                for group in rule.groups:
                    if not present & group:
                        break
                else:
                    found.append(rule)
        return self._known[present]

    def _phrases_from(self, word: str) -> list[_Phrase]:
        """The phrases that may begin with this word."""
        if word not in self._starting:
            if len(self._starting) >= _REMEMBERED:
                self._starting.clear()
            self._starting[word] = [
                phrase
                for start, phrases in self._phrases.items()
                if start == word or (start[-1] == "*" and word.startswith(start[:-1]))
                for phrase in phrases
            ]
        return self._starting[word]

    def _places(self, words: list[str], bits: list[int]) -> Iterator[_Place]:
        at = 0.0
        for number, (word, meanings) in enumerate(zip(words, bits, strict=True)):
            at += 1
            if not meanings:
                continue
            if meanings & _STARTS_PHRASE:
                for phrase in self._phrases_from(word):
                    if _goes_on(words, number + 1, phrase.rest):
                        counted = words[number : number + 1 + len(phrase.rest)]
                        yield _Place(at, phrase.bits, " ".join(counted), number)
            if meanings & _HAS_CHARACTERS:
                for offset, character in enumerate(word):
                    for listed, bit in self._characters.get(character, ()):
                        if word.startswith(listed, offset):
                            yield _Place(at + offset / _CHARS_OF_WORD, bit, listed, number)
                at += len(word) / _CHARS_OF_WORD
            elif meanings & ~_SEVERAL:
                yield _Place(at, meanings & ~_SEVERAL, word, number)


def _words_that_count(line: str) -> str:
    """The line in lower case without what is quoted and without images, with marks in place of
    addresses and files of secrets."""
    line = _QUOTED.sub(" ", line)
    if "![" in line:
        line = _IMAGE.sub(" ", line)
    if "@" in line or "://" in line:
        line = _ADDRESS.sub(_mark_address, line)
    if _NAMES_SECRET_FILE.search(line):
        line = _SECRET_FILE.sub(f" {_SECRET_FILE_MARK} ", line)
    return with_whole_words(line.lower())


def with_whole_words(lower: str) -> str:
    """A text in lower case with `not` as a word of its own, and without apostrophes."""
    return lower.replace("’", "'").replace("n't", " not").replace("'", " ")


def split_words(line: str) -> list[str]:
    """The words of a line in lower case."""
    if line.isascii():
        words = line.translate(_BLANKED)
        if "-" not in words:
            return words.split()
        words = words.strip(" -")
        if not ("--" in words or " -" in words or "- " in words):
            return words.split()
    return _WORD.findall(line)


def _mark_address(found: re.Match[str]) -> str:
    host = _HOST.search(found[0])
    return " " if host is not None and host[1].lower() in _LOCAL else f" {_ADDRESS_MARK} "


def _goes_on(words: Sequence[str], at: int, rest: tuple[str, ...]) -> bool:
    for number, one in enumerate(rest, at):
        if number >= len(words):
            return False
        if words[number] != one and not (one[-1] == "*" and words[number].startswith(one[:-1])):
            return False
    return True


def _closest(rule: MeaningRule, places: list[_Place]) -> tuple[_Place, ...]:
    """The words of the first window that holds all groups; none: they stand too far apart.

    A word counts for one group only.
    """
    latest: list[_Place | None] = [None] * len(rule.groups)
    for place in places:
        for number, group in enumerate(rule.groups):
            if place.meanings & group:
                latest[number] = place
        found = [one for one in latest if one is not None]
        if (
            len(found) == len(latest)
            and max(one.at for one in found) - min(one.at for one in found) <= rule.within
            and len({(one.at, one.word) for one in found}) == len(found)
        ):
            return tuple(sorted(found, key=lambda one: one.at))
    return ()


# ---- orders: what tells somebody to do something ------------------------------------------------


class Orders:
    """Finds the verbs of a sentence that tell somebody to do something.

    In English: a verb in its base form at the beginning of a clause, after `do not`, `never` or
    `must not`, or after `you must` and the like. In other languages, whose forms the lists of words
    tell apart: any word at the beginning of a clause. Chinese and Japanese have neither, so each of
    their words counts, unless a Chinese particle says that it reports something.
    """

    def __init__(self, listed: Mapping[str, str]) -> None:
        self._words = {
            name: frozenset(word.replace("_", " ") for word in words.split())
            for name, words in listed.items()
        }

    def find(self, words: Sequence[str], starts: Sequence[bool]) -> Mapping[int, bool]:
        """The number of each such word, and whether the order is negated."""
        listed = self._words
        english = sum(word in listed["english"] for word in words)
        is_english = english >= sum(word in listed["not_english"] for word in words)
        found: dict[int, bool] = {}
        is_open = False
        asks = self._asks(words)
        for number, word in enumerate(words):
            if _IS_EAST_ASIAN.match(word):
                if asks and not self._reports(word):
                    found[number] = False
                continue
            is_linked = word in listed["links"]
            is_open = is_open or starts[number] or is_linked
            if is_linked or word in listed["openers"]:
                continue
            negation = " ".join(words[max(0, number - 2) : number])
            is_negated = negation.endswith("never") or negation in ("do not", "must not")
            if negation == "do not" and number > 2 and words[number - 3] in listed["subjects"]:
                is_negated = False  # `if you do not use …` states something
            begins = is_open and (not is_english or self._is_verb(words, number, starts))
            if begins or (is_negated and word in listed["verbs"]):
                found[number] = is_negated
            is_open = False
        if is_english:
            for number in range(len(words)):
                found |= dict.fromkeys(self._obliged(words, number), False)
        return found

    def _asks(self, words: Sequence[str]) -> bool:
        """Whether Chinese words ask for something; Japanese, which has kana, is not read so."""
        text = "".join(words)
        return bool(_KANA.search(text)) or any(word in text for word in self._words["asks"])

    def _reports(self, run: str) -> bool:
        """Whether Chinese words tell what was done, or what the user wants, and ask for nothing."""
        listed = self._words
        tells = run.startswith("用户") or any(word in run for word in listed["reports"])
        return tells and not any(word in run for word in listed["asks"])

    def _is_verb(self, words: Sequence[str], number: int, starts: Sequence[bool]) -> bool:
        """Whether a word at the beginning of a clause is a verb; many are nouns as well."""
        listed, word = self._words, words[number]
        if word not in listed["verbs"]:
            return False
        is_linked = number > 0 and words[number - 1] in listed["links"]
        if not is_linked and word not in listed["nouns_too"]:
            return True
        follows = number + 1 < len(words) and not starts[number + 1]
        return follows and words[number + 1] in listed["objects"]

    def _obliged(self, words: Sequence[str], number: int) -> Iterator[int]:
        """The verbs after `you must`; every word after `the user must not`."""
        listed, word = self._words, words[number]
        after = " ".join(words[number + 1 : number + 4])
        near = range(number + 1, min(number + _ORDER_WORDS, len(words)))
        if word in listed["addressees"] and after.startswith(tuple(listed["obligations"])):
            yield from (each for each in near if words[each] in listed["verbs"])
        elif word in listed["people"] and after.startswith(("must not", "should not", "need not")):
            yield from (number, *near)


def _clause_starts(sentence: str, found: Sequence[re.Match[str]]) -> list[bool]:
    ends = [0, *(each.end() for each in found)]
    return [
        end == 0 or bool(_CLAUSE_END.search(sentence, end, each.start()))
        for end, each in zip(ends, found, strict=False)
    ]


def _is_ordered(reason: str, counted: Sequence[_Place], orders: Mapping[int, bool]) -> bool:
    """Whether an order stands among the words that count, or shortly before them."""
    reach = range(counted[0].number - _REACH, counted[-1].number + 1)
    return any(
        number in reach and not (is_negated and reason in _HARMLESS_IF_NEGATED)
        for number, is_negated in orders.items()
    )


@cache
def reader() -> Reader:
    """The reader of the shipped words."""
    listed: dict[str, Any] = tomllib.loads(WORDS.read_text("utf-8"))
    return Reader(listed["words"], listed["reasons"], listed["orders"], _FILTER.bits_of)


_LISTED = tomllib.loads(Path(__file__).with_name("instruction_phrases.toml").read_text("utf-8"))
_PARTS: dict[str, str] = _LISTED["parts"]
_PART = re.compile(r"\{([A-Z]+)\}")
PHRASES = {
    reason: tuple(_PART.sub(lambda named: _PARTS[named[1]], phrase) for phrase in phrases)
    for reason, phrases in _LISTED["reasons"].items()
}
"""Why a text may instruct an agent -> expressions, one of which it matches."""

IN_TAGS = "hides words in characters that are not shown"
IN_BASE64 = "encoded in base64"
HIDDEN = (IN_TAGS, IN_BASE64)
INSTRUCTION_FILES = frozenset(_LISTED["files"])
"""Files that people write to instruct agents: only what is hidden in them is a finding."""

_PATTERNS = tuple((phrase, reason) for reason, phrases in PHRASES.items() for phrase in phrases)
_FILTER = ExpressionFilter([phrase for phrase, _ in _PATTERNS])
_HOST = re.compile(
    r"(?:\b(?:https?|ftp|wss?)://(?:[^\s/@]{0,64}@)?"
    r"|(?<=[\w.+-])@)([\w-]{1,63}(?:\.[\w-]{1,63}){0,9})"
)
_SPACED = re.compile(r"(?<!\S)(?:\w {1,3}){8,400}\w(?!\S)")
"""Words whose letters stand apart; two blanks or more end a word."""
_MAY_BE_SPACED = re.compile(r" \w {1,3}\w {1,3}\w ")
"""Quick, since it begins with a blank."""
_BETWEEN_LETTERS = re.compile(r"(?<=\S) (?=\S)")
_TAG = re.compile("[\U000e0020-\U000e01ef]")
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{24,}={0,2}")
_LATIN = str.maketrans(
    "аАВеЕЅѕіІјЈкКМНоОрРсСТуУхХԁԛԝһҺΑΒΕΖΗΙΚΜΝΟΡΤΥΧονρυ",
    "aABeESsiIjJkKMHoOpPcCTyYxXdqwhHABEZHIKMNOPTYXovpu",
)
"""Cyrillic and Greek letters that look like Latin ones."""
_WORD_WITH_LATIN = re.compile(r"\b(?=\w*[A-Za-z])\w+")
_LOOKS_LATIN = frozenset(map(chr, _LATIN))
_LOCAL = frozenset({"localhost", "127.0.0.1"})


_LONG = 4000
"""Characters above which one reason is none, and within which two must stand."""


def find_suspicions(text: str) -> tuple[str, ...]:
    """Find the reasons why a text, title and content of a memory, may instruct the agent.

    A long text, such as a page that was clipped, says one such thing by chance: two that stand near
    each other are needed, unless it is hidden.
    """
    found: dict[str, str] = {}
    places: list[tuple[int, str]] = []
    for at, reason, words in _reasons(text):
        found[reason] = found.get(reason) or words
        places.append((at, reason))
    if len(text) > _LONG and found.keys().isdisjoint(HIDDEN) and not _stand_together(places):
        return ()
    return tuple(f"{reason} ({words})" if words else reason for reason, words in found.items())


def _stand_together(places: list[tuple[int, str]]) -> bool:
    """Whether two different reasons stand near each other."""
    return any(
        reason != next_reason and following - at <= _LONG
        for (at, reason), (following, next_reason) in pairwise(sorted(places))
    )


def _reasons(text: str) -> Iterator[tuple[int, str, str]]:
    """The offset of a line, a reason, and the words that count, where words count."""
    unhidden, spelled = _ROW.sub("", _BLOCK.sub("", _normalize(text))), _decode_tags(text)
    matched: list[tuple[int, int]] = []
    at = 0
    for line in unhidden.split("\n"):
        found = (_find_in_short_line if len(line) <= _SHORT else _find_in_line)(line)
        if found is not None:
            yield from ((at, *each) for each in found[0])
            matched += ((number, at) for number in found[1])
        at += len(line) + 1
    for number, place in sorted(matched):
        yield place, _PATTERNS[number][1], ""
    if spelled:
        yield 0, IN_TAGS, ""
    for coded in _BASE64.finditer(text):
        decoded = _decode_base64(coded[0])
        if decoded and any(_reasons(decoded)):
            yield coded.start(), IN_BASE64, ""


_Found = tuple[tuple[tuple[str, str], ...], tuple[int, ...]]


def _find_in_line(line: str) -> _Found | None:
    """The reasons with the words that count, and the numbers of the phrases that match."""
    folded = fold(line)
    lower = with_whole_words(folded if line.isascii() else line.lower())
    words = split_words(lower)
    known = reader()
    bits = known.words.join(words)
    found = tuple(known.read(line)) if bits and known.may_instruct(line, bits) else ()
    if lower != folded:
        bits |= known.words.join(split_words(folded))
    numbers = _FILTER.candidates(folded, bits >> known.width)
    if numbers:
        told = _QUOTED.sub(" ", line)
        numbers = [
            at
            for at in numbers
            if _FILTER.matches(at, told if _PATTERNS[at][1] in _TOLD_IN_QUOTES else line)
        ]
    if not (found or numbers):
        return None
    return tuple((reason, " … ".join(words)) for reason, words in found), tuple(numbers)


_SHORT = 200
"""Characters of a line that may come again: headings, fields, links."""
_find_in_short_line = lru_cache(maxsize=1 << 16)(_find_in_line)


def _normalize(text: str) -> str:
    """Normalize a text as a model reads it: forms folded, look-alikes as Latin, invisibles gone."""
    if _MAY_BE_SPACED.search(text) and _SPACED.search(text):
        text = _SPACED.sub(lambda found: _BETWEEN_LETTERS.sub("", found[0]), text)
    if text.isascii():
        return text
    shown = unicodedata.normalize("NFKC", text)
    characters = set(shown)
    for character in characters:
        if unicodedata.category(character) in ("Cf", "Mn", "Cs"):
            shown = shown.replace(character, "")
    if _LOOKS_LATIN.isdisjoint(characters):
        return shown
    return _WORD_WITH_LATIN.sub(lambda word: word[0].translate(_LATIN), shown)


def _decode_tags(text: str) -> str:
    """Decode words in tag characters or variation selectors, which no terminal shows."""
    if text.isascii() or not _TAG.search(text):
        return ""
    tags = "".join(chr(ord(c) - 0xE0000) for c in text if 0xE0020 <= ord(c) <= 0xE007E)
    bytes_ = [ord(c) - 0xE0100 + 16 for c in text if 0xE0100 <= ord(c) <= 0xE01EF]
    return tags + bytes(bytes_).decode("utf-8", "ignore")


def _decode_base64(coded: str) -> str:
    try:
        return base64.b64decode(coded + "=" * (-len(coded) % 4), validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return ""
