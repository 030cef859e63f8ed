"""Find credentials in text by the formats of their issuers, or by a name before them; mask them.

Only anchored patterns are used: measured elsewhere, entropy rules report plain sentences.
Placeholders (`ghp_xxxx`, `${TOKEN}`, a path in a vault) are not reported.

A secret is shown masked unless the person asks for it. `memtui.text.visible`, through which all
text is shown, masks; where a text is cut, wrapped or compared before it gets there, it is masked
before that, since a part of a secret is not recognised. A mask has the length and the line breaks
of what it hides, so that positions in the text stay true.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from itertools import compress
from pathlib import Path
from typing import Any

from msgspec import Struct

from memtui.text.filtered_pattern import (
    ExpressionFilter,
    find_all,
    fold,
    may_match,
    min_chars,
    words_needed,
)

ISSUED: dict[str, str] = tomllib.loads(
    Path(__file__).with_name("secret_formats.toml").read_text("utf-8")
)
"""Issuer -> pattern. None matches a blank, or less than MIN_CHARS characters."""
MIN_CHARS = 15
_KEY_NAME = r"(?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?"
PRIVATE_KEY = (
    rf"-----BEGIN {_KEY_NAME}-----"
    rf"(?:[^-]{{0,20000}}-----END {_KEY_NAME}-----|(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]{{8,}})*)"
)
"""Up to its end, or over the lines of letters that follow; `\\n` is a line's end within JSON."""

_WORDS = (
    r"pass(?:word|wd|phrase|code)?|pwd?|credentials?|secret(?:[_ -]?(?:access)?[_ -]?key)?"
    r"|api[_ -]?(?:key|token|secret)"
    r"|(?:access|account|auth|bearer|fernet|refresh|deploy|signing|storage)[_ -]?(?:token|key)"
    r"|client[_ -]?secret|encryption[_ -]?key|private[_ -]?key|token"
    r"|passwort|kennwort|clave|mot de passe|palavra-passe|senha|parola d'ordine|"
    + "|".join(
        f"{name}|{re.escape(json.dumps(name)[1:-1])}"  # a diff of a JSON file may hold it escaped
        for name in ("schlüssel", "contraseña", "пароль", "パスワード", "暗証番号", "密码", "密碼")
    )
)
"""Names of a secret, in the languages whose instructions are known as well."""
_FIRST = r"(?=[abcdefkmprst\u017f\u212aпパ暗密\\])"
"""The folded beginning of each name; rules out most places in a text."""
_OF = (
    r"(?:\s(?:of|for|to|on|du|de|del|della|do|da|für|fürs|vom|von|der|от|для|на|к)\s"
    r"[^\n=:*]{1,40}?)?"
)
_IS = (
    r"\s*(?::=|=>|[=:：])\s*|\s?(?:は|是|为|為)\s?"
    r"|(?:,?[^\S\n]+|')(?:is|was|are|to|=|it's|ist|war|lautet|es|est|è|é|это|—|-|s)\s*:?\s+"
)
_VALUE = r"\"[^\"\n]{6,80}\"|'[^'\n]{6,80}'|`[^`\n]{6,80}`|[^\s\"'`<>{}\[\]()\u3000-\u9fff]{6,128}"

NAMED = (
    r"\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s/:@\"'`<>]{0,64}:(?P<inurl>[^\s/:@\"'`]{3,128})@[\w\[.-]+",
    r"(?i:\bauthorization\b\W{1,4}(?:bearer|basic|token)\s+)(?P<header>[A-Za-z0-9._~+/=-]{12,})",
    r"(?i:\bbearer\s+)(?P<bearer>[A-Za-z0-9._~+/=-]{20,})",
    rf"(?i:{_FIRST}(?:{_WORDS})(?![a-zA-Z])[\"'`*]*{_OF}(?:{_IS}))(?P<given>{_VALUE})",
    rf"(?i:{_FIRST}(?<![a-z])(?:{_WORDS})\s)(?P<bare>[^\s\"'`<>{{}}\[\]()]{{8,128}})",
    r"\b[A-Z][A-Z0-9_]{0,60}_(?:KEY|TOKEN|SECRET|PASS|AUTH)\s?[=:]\s?[\"']?"
    r"(?P<variable>[^\s\"'`<>{}()]{16,256})",
    r"\b(?:sshpass\s+-p|redis-cli(?:\s+-h\s\S{1,80})?\s+(?:-a|--pass)|mysql(?:dump)?\s[^\n|;]{0,80}?-p"
    r"|login\s(?:[^\n|;]{0,80}?\s)?-p|--(?:password|token|api-key|auth)[ =])\s?"
    r"(?P<option>[^\s\"'`<>-][^\s\"'`<>]{5,128})",
    r"\b(?:curl|https?|wget)\b[^\n|;]{0,80}?\s-u "
    r"[\"']?[\w.@+-]{1,64}:(?P<curl>[^\s\"'`<>@]{6,128})",
    r"(?:--user[ =]|(?i:\bbasic[ -]?auth\b\s?[:=]?\s?))"
    r"[\"']?[\w.@+-]{1,64}:(?P<pair>[^\s\"'`<>@]{6,128})",
    r"(?i:\blogin\b)\(\s?[\"'][^\"'\n]{1,64}[\"'],\s?[\"'](?P<call>[^\"'\n]{6,128})[\"']",
    r"(?i:\blog[io]n\b[^\n]{0,60}?[:=]\s)[\w.@+-]{2,64}\s/\s(?P<slash>[^\s\"'`<>]{6,128})",
)
"""Values after a name for a secret: a password in a URL, a header, an option of a command, a
password. The group is the value, which must look like a secret."""


_BEGINNING = re.compile(r"(^|\|)\\b")
_START = r"(?:\b|(?<=\\[nrt]))"
"""A word also begins after an escaped end of line, as in the diff of a JSON file."""
_PATTERNS = tuple(ISSUED.values())
_ISSUED_FILTER = ExpressionFilter(tuple(ISSUED.values()))
_ISSUED_CHARS = tuple(map(min_chars, ISSUED.values()))
_LONG = re.compile(rf"[^\s,;()\"'`]{{{MIN_CHARS},}}")
_KEY = re.compile(PRIVATE_KEY)
_MIN_KEY = 80
"""Characters of the shortest private key with its head."""
_ELLIPSIS = re.compile(r"\.{3}|…")
_ISSUED_NAMES = tuple(ISSUED)
_NEEDED = tuple(map(words_needed, NAMED))
"""The words that a match of each pattern needs."""
PASSWORD = "password"
_NAMED_AS = {
    "inurl": "password in a URL",
    "header": "authorization header",
    "bearer": "authorization header",
}
"""Group of a pattern -> what it finds; any other group finds a `PASSWORD`."""
_LOOSE = frozenset({"inurl", "header"})
"""Groups whose place alone says that a value is a secret."""
_SHOWN = 6
"""Maximum number of characters of a masked secret that stay readable; a third are at its end."""
_SHOWN_FROM = 12
"""Shorter secrets are masked completely."""
_SHARE = 4
"""At most one character in this many stays readable."""
DOT = "\u2022"
"""Stands for each hidden character."""
_SHORTEST = 8
"""A shorter text has no room for a name and a secret."""
_CACHED_CHARS = 2_400
"""Longest text whose masked form is cached: what a list needs of a text, which is drawn again and
again."""

_CUT = re.compile(
    r"(?<=\.\.\.)|(?<=…)"
    r"|[\"'`]?[ \t]?[\[(]?[ \t]?(?:\.{3}|…|\*{3}|(?i:truncated|redacted|masked|abbreviated)\b)"
)
"""Where a value ends, or after it: it is not whole."""
_PASSES = re.compile(r"pass\W", re.IGNORECASE)
_WORD_BEFORE = re.compile(
    r"(?<![A-Za-z])(?!(?:db|user|root|admin|login|wi-?fi) $)[A-Za-z]+ ?$", re.IGNORECASE
)
"""`All tests pass: …`, `bypass: …`."""
_NO_NAME_AFTER = ("#?", " 1", "\n1", "[1")
"""Before a word that names no secret: `1Password`, and what WordPress puts into the address of an
embedded page."""
_MIN_DIFFERENT = 4
"""Minimum number of different characters in a random value."""
_ISSUED_PLACEHOLDER = re.compile(
    r"(?i)x{5}|0{8}|\*{3}|\.{3}|…|\u2022{3}|example|your|redacted|placeholder|1234567|abcdefg"
)
"""Placeholders in the format of an issued secret."""
_PLACEHOLDER = re.compile(
    r"(?i)x{4}|-x{3}$|^&|\*{3}|\.{3}|…|\u2022{3}|<|^\$\w|\$[{(]|\{\{|%\(|example|sample|dummy|placeholder"
    r"|change[-_ ]?me|redacted|removed|your[-_ ]|12345|abcdef|foobar|todo|fake|none\b|null\b"
)
"""Placeholders for a secret of any format."""
_SOURCE = re.compile(
    r"(?i)(?:os\.|process\.|sys\.|self\.|env[.:(]|secrets?[./:]|vault[:/]|op://|arn:|ssm:|keyring|file:)"
    r"|^(?:/|\./|~/|https?:|[A-Z]:\\)"
    r"|(?-i:^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$|^[a-z][a-z0-9]*(?:_[a-z0-9]+)+$)|\.[a-z]{2,4}$"
)
"""Sources of a secret instead of the secret: a variable, a path, a URL, a call."""
_CALL = re.compile(r"[\w.]+\(")
_COMMON_WORDS = frozenset(
    {"password", "pass", "passwd", "secret", "pwd", "token", "user", "changeme"}
)
_NO_SECRET = re.compile(
    r"\d{4}-\d\d-\d\d.*|v?\d+(?:\.\d+)+|(?:[\w.+*/-]{1,20}=)?[\d.,:/-]+(?:[a-z]{1,4})?|~:text=.*"
)
"""Dates, versions, numbers with a unit, equations (`tests pass: 23+7=30`), links to a passage."""
_PLAIN_WORDS = re.compile(r"[A-Za-z]+(?:[-_ ][A-Za-z]+)*\d?")
"""Words; one digit may follow."""
_CHANGE_OF_CASE = re.compile("[a-z][A-Z]")
_CHANGES = 5
"""Minimum number of changes from small to capital letters in random letters; names have fewer."""


class Secret(Struct, frozen=True):
    """A range of text that looks like a credential."""

    what: str
    start: int
    end: int
    masked: str
    is_doubtful: bool = False
    """Whether it is cut short, stands for one in an example, is the default of a local database, or
    follows a word and `pass`: it is masked, but no finding."""


def mask_secret(text: str) -> str:
    """Return a secret as messages name it: `ghp_…R8`, or `…` if it is short."""
    head, tail = _count_shown(text)
    return f"{text[:head]}…{text[len(text) - tail :]}"


def _count_shown(secret: str) -> tuple[int, int]:
    """How many characters stay readable at the beginning and at the end of a secret."""
    shown = min(_SHOWN, len(secret) // _SHARE) if len(secret) >= _SHOWN_FROM else 0
    return shown - shown // 3, shown // 3


def replace_secrets(text: str, replacement: str = "") -> tuple[str, int]:
    """Return the text with each secret replaced, by default by what `mask_secret` returns; and how
    many there were."""
    found = list(find_secrets(text))
    for secret in reversed(found):
        text = f"{text[: secret.start]}{replacement or secret.masked}{text[secret.end :]}"
    return text, len(found)


_is_revealed = False
_always = ContextVar("always", default=False)
"""True where secrets stay masked whatever the screen shows; other threads are not affected."""


def reveal_secrets(is_revealed: bool) -> None:
    """Show secrets from now on in this process, or mask them again."""
    global _is_revealed
    _is_revealed = is_revealed


def are_secrets_revealed() -> bool:
    """Whether the person has asked to see secrets."""
    return _is_revealed and not _always.get()


@contextmanager
def masked_always() -> Iterator[None]:
    """Mask secrets in this block, whatever the person sees; for what is written to a cache."""
    token = _always.set(True)
    try:
        yield
    finally:
        _always.reset(token)


def mask_secrets(text: str) -> str:
    """Return the text as it is shown: each secret masked, unless secrets are revealed.

    It has the length and the line breaks of the text. Idempotent.
    """
    if len(text) < _SHORTEST or are_secrets_revealed():
        return text
    return _mask_cached(text) if len(text) <= _CACHED_CHARS else _mask_long(text)


def has_mask_of(text: str, before: str) -> bool:
    """Whether a text has the mask of a secret of `before` in place of the secret."""
    if DOT not in text:
        return False
    return any(_dots(each) in text and each not in text for each in list_secrets(before))


def is_mask_of(masked: str, text: str) -> bool:
    """Whether a text is another one, as it is or with parts of it masked.

    What surrounds a text decides what is masked in it, so the two are compared, and nothing is
    masked again.
    """
    if masked == text:
        return True
    pairs = zip(masked, text, strict=False)
    is_possible = DOT in masked and len(masked) == len(text)
    return is_possible and all(a in (b, DOT) for a, b in pairs)


def mask_value(name: str, value: str) -> str:
    """Return a value as it is shown beside its name, which may say that it is a secret."""
    if not names_secret(name):
        return mask_secrets(value)
    return mask_secrets(f"{name}: {value}")[len(name) + 2 :]


@lru_cache(maxsize=4096)
def names_secret(name: str) -> bool:
    """Whether a field of this name holds a secret."""
    return _NAME.search(name) is not None


def mask_record(value: Any, name: str = "") -> Any:
    """Return a JSON value with the secrets of all its texts masked, unless they are revealed."""
    if isinstance(value, str):
        return mask_value(name, value)
    if isinstance(value, Mapping):
        return {mask_secrets(key): mask_record(item, key) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [mask_record(item, name) for item in value]
    return value


_NAME = re.compile(rf"(?i:(?:{_WORDS})\s*$)|_(?:KEY|TOKEN|SECRET|PASS|AUTH)$")


def list_secrets(text: str) -> list[str]:
    """Return the secrets in a text."""
    return [text[start:end] for start, end in _find_ranges(text)]


def has_secret(text: str) -> bool:
    """Whether there is a secret in the text; fast where there is none."""
    if len(text) < _SHORTEST:
        return False
    return any(True for find in (_find_issued, _find_named) for _ in find(text))


def mask_all_secrets(text: str) -> str:
    """Return the text with each secret masked, whatever the person sees; none of it stays in
    memory."""
    while True:  # what was too far from a name may come into its reach
        masked = text
        for start, end in _find_ranges(text):
            masked = masked[:start] + _dots(text[start:end]) + masked[end:]
        if masked == text:
            return text
        text = masked


_mask_cached = lru_cache(maxsize=2048)(mask_all_secrets)
_mask_long = lru_cache(maxsize=8)(mask_all_secrets)


def _find_ranges(text: str) -> list[tuple[int, int]]:
    """Where the secrets are; a quote that JSON escapes counts as a quote."""
    if '\\"' not in text:
        return [(secret.start, secret.end) for secret in find_secrets(text)]
    offsets = [at for at, char in enumerate(text) if char != "\\" or text[at + 1 : at + 2] != '"']
    found = find_secrets("".join(map(text.__getitem__, offsets)))
    return [(offsets[secret.start], offsets[secret.end - 1] + 1) for secret in found]


def _dots(secret: str) -> str:
    head, tail = _count_shown(secret)
    end = len(secret) - tail
    return secret[:head] + re.sub(r"[^\n]", DOT, secret[head:end]) + secret[end:]


_HINTS = (
    "pass", "pw", "credential", "secret", "token", "key", "kennwort", "clave", "senha", "parola",
    "schl", "contrase", "пароль", "パスワード", "暗証番号", "密码", "密碼", "\\u", "@", "bearer",
    "authorization", "_auth", "mysql", "redis", "login", "logon", "--auth", "--user", "basic",
    "-u ", "-----begin", "putty-user",
)  # fmt: skip
"""In lower case. Every text with a secret that follows a name contains one of these; the rare `@`
stands for a URL with a password, and `-u` for `curl -u`, as pages are full of links."""


def find_secrets(text: str) -> Iterator[Secret]:
    """Every credential in the text, from left to right, not overlapping."""
    if len(text) < _SHORTEST:
        return
    known = list(_find_issued(text))
    named = [
        s for s in _find_named(text) if not any(s.start < k.end and k.start < s.end for k in known)
    ]
    yield from sorted([*known, *named], key=lambda secret: secret.start)


def _find_issued(text: str) -> Iterator[Secret]:
    """Only long words are searched, for what they may be; most texts have none."""
    long_words = [word for word in text.split() if len(word) >= MIN_CHARS]
    longest = max(map(len, long_words), default=0)
    possible = _ISSUED_FILTER.candidates(fold(" ".join(long_words))) if long_words else ()
    numbers = [at for at in possible if _ISSUED_CHARS[at] <= longest]
    pattern = _issued(tuple(numbers))
    for word in _LONG.finditer(text) if numbers else ():
        for found in pattern.finditer(text, *word.span()):
            whole = found[0]
            if (
                not _ISSUED_PLACEHOLDER.search(whole)
                and len(set(whole[8:] or whole)) >= _MIN_DIFFERENT
            ):
                name = _ISSUED_NAMES[int((found.lastgroup or "p0")[1:])]
                yield Secret(name, *found.span(), mask_secret(whole))
    if "-----BEGIN" in text:
        for found in _KEY.finditer(text):
            if _ELLIPSIS.search(found[0]):
                continue
            is_head = len(found[0]) < _MIN_KEY  # a text that tells of the head of a key
            yield Secret("private key", *found.span(), mask_secret(found[0]), is_head)


@lru_cache(maxsize=512)
def _issued(numbers: tuple[int, ...]) -> re.Pattern[str]:
    """The patterns of these issuers; none: what matches nothing.

    Those that begin with a word are tried only where one begins.
    """
    words, others = [], []
    for at in numbers:
        group = f"(?P<p{at}>%s)"
        if _PATTERNS[at].startswith(r"\b"):
            words.append(group % _BEGINNING.sub(r"\1", _PATTERNS[at]))
        else:
            others.append(group % _PATTERNS[at])
    starting = [f"{_START}(?:{'|'.join(words)})"] if words else []
    return re.compile("|".join([*starting, *others]) or "(?!)")


def _named(folded: str) -> re.Pattern[str]:
    """The patterns that may match in a text, which `fold` gives."""
    return _joined(tuple(may_match(words, folded) for words in _NEEDED))


@cache
def _joined(chosen: tuple[bool, ...]) -> re.Pattern[str]:
    return re.compile("|".join(compress(NAMED, chosen)) or "(?!)")


_BEFORE_HINT, _BEHIND_HINT = 240, 520
"""Characters read before the start of a hint and after it: more than any pattern needs."""


def _find_near_hints(text: str, folded: str) -> Iterator[re.Match[str]]:
    """The matches of the patterns that may match near each hint: a long text has few hints."""
    if len(folded) != len(text):  # where is not known
        yield from _named(folded).finditer(text)
        return
    near: list[tuple[int, int]] = []
    hints = [hint for hint in _HINTS if hint in folded]
    for at in sorted(at for hint in hints for at in find_all(folded, hint)):
        start, end = max(0, at - _BEFORE_HINT), at + _BEHIND_HINT
        if near and start <= near[-1][1]:
            start = near.pop()[0]
        near.append((start, end))
    for start, end in near:
        yield from _named(folded[start:end]).finditer(text, start, end)


def _find_named(text: str) -> Iterator[Secret]:
    for found in _find_near_hints(text, fold(text)):
        group = found.lastgroup or ""
        value = found[group]
        if _is_secret(value, strict=group not in _LOOSE, is_bare=group == "bare"):
            bare = value.strip("\"'`")
            start = found.start(group) + value.index(bare)
            end = start + len(bare)
            what, is_doubtful = _NAMED_AS.get(group, PASSWORD), _is_doubtful(text, found, end)
            yield Secret(what, start, end, mask_secret(bare), is_doubtful)


def _is_doubtful(text: str, found: re.Match[str], end: int) -> bool:
    before = max(0, found.start() - 20), found.start()
    if text.endswith(_NO_NAME_AFTER, 0, found.start()):
        return True
    if _EXAMPLE.search(found[found.lastgroup or 0].strip("\"'`")):
        return True
    if found.lastgroup == "inurl" and _LOCAL.search(found[0]):
        return True
    passes = _PASSES.match(found[0]) and _WORD_BEFORE.search(text, *before)
    return passes is not None or _CUT.match(text, end) is not None


_EXAMPLE = re.compile(
    r"^[\[<{].*[\]>}]$|^\\u003c|^[\^~=]*\d+(?:\.\d+)+$|[^\x00-\x7f]|^[A-Z_]{3,}\.\w+"
    r"|\.(?:cs|ts|tsx|js|py|go|java|rb|rs|md)\b|^[a-z][a-z0-9]{0,11}:[A-Za-z_*:-]+$"
    r"|(?i:pass(?:word|wort)|secret[-_\d]|example|change[-_]?me|change-in|dummy|placeholder"
    r"|testing|your[-_]|sample)",
)
"""In a value that stands for a secret in an example, or is a version, a file or a name of code."""
_LOCAL = re.compile(
    r"@(?:localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0|[a-z][a-z0-9_-]*)(?![\w.-])", re.IGNORECASE
)
"""The host of an address on the same machine, or of a service beside it: its default password."""


def _is_secret(value: str, *, strict: bool, is_bare: bool) -> bool:
    """Whether a value in the place of a secret, perhaps in quotes, looks like one.

    `strict`: the place alone does not say so. `is_bare`: nothing stands between the name and the
    value, so that it may be any next word.
    """
    quoted = value[0] in "\"'`"
    bare = value.strip("\"'`").rstrip(".,;:!?")
    if bare.lower() in _COMMON_WORDS or _PLACEHOLDER.search(bare) or _SOURCE.search(bare):
        return False
    if _NO_SECRET.fullmatch(bare) or (not quoted and _CALL.match(bare)):
        return False
    if not strict:
        return True
    kinds = sum(bool(re.search(kind, bare)) for kind in ("[a-z]", "[A-Z]", r"\d", r"[^\w\s]"))
    if quoted and " " in bare:  # a pass phrase: several words, nothing else
        return bool(re.fullmatch(r"[a-z]+(?: [a-z]+){3,}", bare))
    if is_bare and kinds < 3 and len(bare) < 16:  # 16: shorter words have digits: `utf8mb4_bin`
        return False
    is_random = len(_CHANGE_OF_CASE.findall(bare)) >= _CHANGES
    is_plain = _PLAIN_WORDS.fullmatch(bare) and not is_random
    return kinds >= 2 and not is_plain and any(c.isdigit() for c in bare)
