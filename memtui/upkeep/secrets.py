"""Find credentials in text by the formats of their issuers, or by a name before them.

Only anchored patterns are used: measured elsewhere, entropy rules report plain sentences. A secret
is always shown masked. Placeholders (`ghp_xxxx`, `${TOKEN}`, a path in a vault) are not reported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache

from memtui.dataclass import dataclass
from memtui.upkeep.filtered_pattern import ExpressionFilter, fold

_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"

ISSUED = {
    "AWS access key": r"\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b",
    "GitHub token": r"\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})\b",
    "GitLab token": r"\bgl(?:pat|dt|rt|oas|cbt|ptt|ft|soat|agent|imt)-[A-Za-z0-9_-]{20,}",
    "Slack token": r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"
    r"|\bxapp-\d-[A-Z0-9]{1,32}-\d{1,32}-[a-z0-9]{20,}",
    "Slack webhook": r"https://hooks\.slack\.com/(?:services|workflows)/T\w{6,}/\w{6,}/[\w/]{20,}",
    "Discord webhook": r"https://(?:\w+\.)?discord(?:app)?\.com/api/webhooks/\d{17,20}/[\w-]{60,}",
    "Stripe key": r"\b(?:[rs]k_(?:live|test)_[0-9A-Za-z]{20,}|whsec_[A-Za-z0-9]{32,})",
    "Anthropic key": r"\bsk-ant-[A-Za-z0-9_-]{20,}",
    "OpenRouter key": r"\bsk-or-v1-[0-9a-f]{64}\b",
    "OpenAI key": r"\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{0,256}T3BlbkFJ[A-Za-z0-9_-]{16,}"
    r"|\bsk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{32,}|\bsk-[A-Za-z0-9]{40,}\b",
    "Groq key": r"\bgsk_[A-Za-z0-9]{52}\b",
    "xAI key": r"\bxai-[A-Za-z0-9]{80}\b",
    "Replicate token": r"\br8_[A-Za-z0-9]{37}\b",
    "Perplexity key": r"\bpplx-[A-Za-z0-9]{48,}\b",
    "Google key": r"\bAIza[0-9A-Za-z_-]{35}(?![\w-])",
    "Google OAuth secret": r"\bGOCSPX-[A-Za-z0-9_-]{28}(?![\w-])",
    "Google OAuth token": r"\bya29\.[A-Za-z0-9_-]{30,}|\b1//0[A-Za-z0-9_-]{30,}",
    "npm token": r"\bnpm_[A-Za-z0-9]{36}\b",
    "PyPI token": r"\bpypi-AgEI[A-Za-z0-9_-]{50,}",
    "RubyGems key": r"\brubygems_[0-9a-f]{48}\b",
    "crates.io token": r"\bcio[A-Za-z0-9]{32}\b",
    "Docker token": r"\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{27,}",
    "Hugging Face token": r"\b(?:hf_|api_org_)[A-Za-z0-9]{34,}\b",
    "SendGrid key": r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}(?![\w-])",
    "Twilio key": r"\bSK[0-9a-f]{32}\b",
    "DigitalOcean token": r"\bdo[opr]_v1_[0-9a-f]{64}\b",
    "Heroku key": rf"\bHRKU-(?:{_UUID}|[A-Za-z0-9_-]{{58,}})",
    "Fly.io token": r"\bfm\d[a-z]?_[A-Za-z0-9+/=,_-]{60,}",
    "Netlify token": r"\bnfp_[A-Za-z0-9]{36,}\b",
    "Supabase key": r"\bsb(?:p|_secret)_[A-Za-z0-9_]{30,}\b",
    "PlanetScale password": r"\bpscale_(?:pw|tkn|oauth)_[A-Za-z0-9_.-]{32,}",
    "Azure storage key": r"\bAccountKey=[A-Za-z0-9+/]{86}==",
    "Azure client secret": r"(?<![\w~.-])[A-Za-z0-9_~.]{3}8Q~[A-Za-z0-9_~.-]{31,34}(?![\w~-])",
    "Telegram bot token": r"\b\d{8,10}:AA[A-Za-z0-9_-]{33}(?![\w-])",
    "Discord token": r"\b[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}\b",
    "Shopify token": r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}\b",
    "Square token": r"\bsq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,43}(?![\w-])",
    "Mailgun key": r"\bkey-[0-9a-f]{32}\b",
    "Mailchimp key": r"\b[0-9a-f]{32}-us\d{1,2}\b",
    "Databricks token": r"\bdapi[0-9a-f]{32}\b",
    "Linear key": r"\blin_(?:api|oauth)_[A-Za-z0-9]{40,}\b",
    "Notion token": r"\b(?:secret_[A-Za-z0-9]{43}|ntn_[A-Za-z0-9]{43,})\b",
    "Airtable token": r"\bpat[A-Za-z0-9]{14}\.[0-9a-f]{64}\b",
    "Atlassian token": r"\bAT(?:ATT|CTT)3[A-Za-z0-9_=-]{50,}",
    "Figma token": r"\bfig[dou]_[A-Za-z0-9_-]{38,}",
    "Grafana token": r"\bgl(?:c|sa)_[A-Za-z0-9+/=_]{32,}",
    "New Relic key": r"\bNRAK-[A-Z0-9]{27}\b",
    "Sentry token": r"\bsntry[su]_[A-Za-z0-9+/=_]{40,}",
    "Postman key": r"\bPMAK-[0-9a-f]{24}-[0-9a-f]{34}\b",
    "Pulumi token": r"\bpul-[0-9a-f]{40}\b",
    "Terraform token": r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,}",
    "Doppler token": r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{40,}",
    "1Password token": r"\bops_eyJ[A-Za-z0-9_-]{60,}|\bA3-[A-Z0-9]{6}-(?:[A-Z0-9]{5,11}-?){4,5}\b",
    "Vault token": r"\bhv[bsr]\.[A-Za-z0-9_-]{24,}",
    "age key": r"\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b",
    "JSON web token": r"\beyJ[A-Za-z0-9_-]{10,1000}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    "private key": r"\b(?:LS0tLS1CRUdJTi)[A-Za-z0-9+/]{0,30}"
    r"(?:UFJJVkFURSBLRV|BSSVZBVEUgS0VZ|QUklWQVRFIEtFW)"
    r"[A-Za-z0-9+/=]{20,}|\bPuTTY-User-Key-File-\d:",
}
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
_START = r"\1(?:\\b|(?<=\\\\[nrt]))"
"""A word also begins after an escaped end of line, as in the diff of a JSON file."""
_ISSUED = re.compile(
    "|".join(
        f"(?P<p{n}>{_BEGINNING.sub(_START, pattern)})" for n, pattern in enumerate(ISSUED.values())
    )
)
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
