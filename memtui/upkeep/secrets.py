"""Find credentials in text by the formats of their issuers, or by a name before them.

Only anchored patterns are used: measured elsewhere, entropy rules report plain sentences. A secret
is always shown masked. Placeholders (`ghp_xxxx`, `${TOKEN}`, a path in a vault) are not reported.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from memtui.dataclass import dataclass
from memtui.upkeep.filtered_pattern import ExpressionFilter, fold

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
_OF = (
    r"(?:\s(?:of|for|to|on|du|de|del|della|do|da|für|fürs|vom|von|der|от|для|на|к)\s"
    r"[^\n=:]{1,40}?)?"
)
_IS = (
    r"\s*(?::=|=>|[=:：])\s*|\s?(?:は|是|为|為)\s?"
    r"|(?:,?\s+|')(?:is|was|are|to|=|it's|ist|war|lautet|es|est|è|é|это|—|-|s)\s*:?\s+"
)
_VALUE = r"\"[^\"\n]{6,80}\"|'[^'\n]{6,80}'|`[^`\n]{6,80}`|[^\s\"'`<>{}\[\]()\u3000-\u9fff]{6,128}"

NAMED = (
    r"\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s/:@\"'`<>]{0,64}:(?P<inurl>[^\s/:@\"'`]{3,128})@[\w\[.-]+",
    r"(?i:\bauthorization\b\W{1,4}(?:bearer|basic|token)\s+)(?P<header>[A-Za-z0-9._~+/=-]{12,})",
    r"(?i:\bbearer\s+)(?P<bearer>[A-Za-z0-9._~+/=-]{20,})",
    rf"(?i:(?:{_WORDS})(?![a-zA-Z])[\"'`*]*{_OF}(?:{_IS}))(?P<given>{_VALUE})",
    rf"(?i:(?<![a-z])(?:{_WORDS})\s)(?P<bare>[^\s\"'`<>{{}}\[\]()]{{8,128}})",
    r"\b[A-Z][A-Z0-9_]{0,60}_(?:KEY|TOKEN|SECRET|PASS|AUTH)\s?[=:]\s?[\"']?"
    r"(?P<variable>[^\s\"'`<>{}()]{16,256})",
    r"\b(?:sshpass\s+-p|redis-cli(?:\s+-h\s\S{1,80})?\s+(?:-a|--pass)|mysql(?:dump)?\s[^\n|;]{0,80}?-p"
    r"|login\s[^\n|;]{0,80}?-p|--(?:password|token|api-key|auth)[ =])\s?"
    r"(?P<option>[^\s\"'`<>-][^\s\"'`<>]{5,128})",
    r"(?:\b(?:curl|https?|wget)\b[^\n|;]{0,80}?\s-u\s|--user[ =]"
    r"|(?i:\bbasic[ -]?auth\b\s?[:=]?\s?))"
    r"[\"']?[\w.@+-]{1,64}:(?P<pair>[^\s\"'`<>@]{6,128})",
    r"(?i:\blogin\b)\(\s?[\"'][^\"'\n]{1,64}[\"'],\s?[\"'](?P<call>[^\"'\n]{6,128})[\"']",
    r"(?i:\blog[io]n\b[^\n]{0,60}?[:=]\s)[\w.@+-]{2,64}\s/\s(?P<slash>[^\s\"'`<>]{6,128})",
)
"""Values after a name for a secret: a password in a URL, a header, an option of a command, a
password. The group is the value, which must look like a secret."""


_BEGINNING = re.compile(r"(^|\|)\\b")
_START = r"(?:\b|(?<=\\[nrt]))"
"""A word also begins after an escaped end of line, as in the diff of a JSON file."""


def _issued_pattern() -> re.Pattern[str]:
    """All patterns of `ISSUED`; those that begin with a word are tried only where one begins."""
    words, others = [], []
    for number, pattern in enumerate(ISSUED.values()):
        if pattern.startswith(r"\b"):
            without = _BEGINNING.sub(r"\1", pattern)
            words.append(f"(?P<p{number}>{without})")
        else:
            others.append(f"(?P<p{number}>{pattern})")
    return re.compile("|".join([f"{_START}(?:{'|'.join(words)})", *others]))


_ISSUED = _issued_pattern()
_LONG = re.compile(rf"[^\s,;()\"'`]{{{MIN_CHARS},}}")
_KEY = re.compile(PRIVATE_KEY)
_ELLIPSIS = re.compile(r"\.{3}|…")
_ISSUED_NAMES = tuple(ISSUED)
_NAMED_FILTER = ExpressionFilter(NAMED)
_NAMED_AS = {
    "inurl": "password in a URL",
    "header": "authorization header",
    "bearer": "authorization header",
}
"""Group of a pattern -> what it finds; any other group finds a password."""
_LOOSE = frozenset({"inurl", "header"})
"""Groups whose place alone says that a value is a secret."""
_HEAD, _TAIL = 4, 2
"""Characters of a masked secret that stay readable."""

_MIN_DIFFERENT = 4
"""Different characters that a random value has at least."""
_ISSUED_PLACEHOLDER = re.compile(
    r"(?i)x{5}|0{8}|\*{3}|\.{3}|…|example|your|redacted|placeholder|1234567|abcdefg"
)
"""Placeholders in the format of an issued secret."""
_PLACEHOLDER = re.compile(
    r"(?i)x{4}|\*{3}|\.{3}|…|<|^\$\w|\$[{(]|\{\{|%\(|example|sample|dummy|placeholder"
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
_NO_SECRET = re.compile(r"\d{4}-\d\d-\d\d.*|v?\d+(?:\.\d+)+|[\d.,:/-]+(?:[a-z]{1,4})?")
"""Dates, versions, numbers with a unit."""
_PLAIN_WORDS = re.compile(r"[A-Za-z]+(?:[-_ ][A-Za-z]+)*\d?")
"""Words; one digit may follow."""
_CHANGE_OF_CASE = re.compile("[a-z][A-Z]")
_CHANGES = 5
"""Least changes from small to capital letter in random letters; more than names have."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A range of text that looks like a credential."""

    what: str
    start: int
    end: int
    masked: str


def mask_secret(text: str) -> str:
    """`ghp_…R8`: enough to recognise it, not enough to use it."""
    return f"{text[:_HEAD]}…{text[-_TAIL:]}"


def mask_secrets(text: str, mask: str = "") -> tuple[str, int]:
    """The text with every credential masked, or replaced by `mask`; and how many there were."""
    found = list(find_secrets(text))
    for secret in reversed(found):
        text = f"{text[: secret.start]}{mask or secret.masked}{text[secret.end :]}"
    return text, len(found)


def find_secrets(text: str) -> Iterator[Secret]:
    """Every credential in the text, from left to right, not overlapping."""
    known = list(_find_issued(text))
    named = [
        s for s in _find_named(text) if not any(s.start < k.end and k.start < s.end for k in known)
    ]
    yield from sorted([*known, *named], key=lambda secret: secret.start)


def _find_issued(text: str) -> Iterator[Secret]:
    """Only long words are searched; most texts have none, which is fast to find out."""
    for word in _LONG.finditer(text):
        for found in _ISSUED.finditer(text, *word.span()):
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
            yield Secret("private key", *found.span(), mask_secret(found[0]))


@cache
def _named(numbers: tuple[int, ...]) -> re.Pattern[str]:
    return re.compile("|".join(NAMED[at] for at in numbers))


def _find_named(text: str) -> Iterator[Secret]:
    numbers = _NAMED_FILTER.candidates(fold(text))
    if not numbers:
        return
    for found in _named(tuple(numbers)).finditer(text):
        group = found.lastgroup or ""
        value = found[group]
        if _is_secret(value, strict=group not in _LOOSE, is_bare=group == "bare"):
            bare = value.strip("\"'`")
            start = found.start(group) + value.index(bare)
            yield Secret(
                _NAMED_AS.get(group, "password"), start, start + len(bare), mask_secret(bare)
            )


def _is_secret(value: str, *, strict: bool, is_bare: bool) -> bool:
    """Whether a value in the place of a secret looks like one.

    Args:
        value: The value, perhaps in quotes.
        strict: The place alone does not say so.
        is_bare: Nothing stands between the name and the value, so that it may be any next word.
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
