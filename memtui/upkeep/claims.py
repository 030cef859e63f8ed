"""Who says otherwise: memories that give one attribute of one thing another value.

A claim is what one sentence states: the port that a service listens on, the version of a runtime,
the package manager, a day or a time, a number with its unit, what something is named, what is used
and what it moved to. Claims are read from texts alone, so that they are kept with the other
findings in a text. Two claims are about one thing if their subjects are the same words, or if a
subject names only the project that the memory belongs to.

Not compared are sentences about the past, a plan, an example or what is not so; accounts of one day
or session; other environments, branches and persons; and a memory that gives both values itself.
Within one store only ports, versions, package managers and moves are: of the 57 times, numbers and
names that seemed to have two values within a store of a public repository, none had.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import combinations

from msgspec import Struct
from msgspec.structs import replace

from memtui.changes import Act, Change
from memtui.model import CURRENT, PROJECT_PATH, READ_BY, Memory
from memtui.stores.markdown.documents import numbered_lines
from memtui.text import cut_line, masked_always
from memtui.upkeep.dated_memories import PAGES, are_of_one_series, is_of_its_time
from memtui.upkeep.outdated import OF_A_LONGER_NAME
from memtui.upkeep.planted_text import is_of_rules
from memtui.upkeep.proposals import (
    NEVER,
    Proposal,
    ProposalKind,
    Saying,
    UpkeepContext,
    propose,
    rewritten_texts,
)
from memtui.upkeep.similarity import STEP, jaccard, stem

Words = tuple[str, ...]


class Claim(Struct, frozen=True, array_like=True):
    """What one sentence states of one thing."""

    attribute: str
    thing: Words
    """The words of the subject, each cut to its beginning, in order of the alphabet; (): the
    project or the entity that the memory belongs to."""
    value: str
    """In one form for all ways of writing it: `8081`, `1800 s`, `postgres`."""
    raw: str
    """As it is written."""
    line: int
    """0-based line of the content; -1: the title."""
    where: Words = ()
    """Environments that it is limited to."""
    left: str = ""
    """Of a move: what was used before."""
    is_move: bool = False


# ---- reading claims ------------------------------------------------------------------------------

_SENTENCE = re.compile(r"(?<=[.!?;])\s+(?=[A-Z`*\"“])|\s+[—–]\s+|(?<=;)\s+")
_LONGEST = 240
"""Characters of a sentence that is read; longer ones state several things."""
_NOT_NOW = re.compile(
    r"\b(?:was|were|had|used to|formerly|previously|earlier|old|legacy|until|ago|no longer|not"
    r"|never|without|avoid|except|unless|instead of|rather than|removed?|deprecated|planned|plan to"
    r"|will|would|should|could|might|may be|if|when|e\.g\.|for example|example|for instance|such as"
    r"|todo|propos\w+|consider\w*|future|later|idea|maybe|believes?|thinks?|thought|assum\w+"
    r"|claim\w*|asked|tried|fixed|bug|broke\w*|fails?|failed|wrong|either|or|vs\.?|versus"
    r"|yesterday|today|tomorrow|introduced|compatible|support(?:s|ed)?|tested|conflict\w*"
    r"|already in use)\b|n['’]t\b|[?❌✗✅→]|->|\[[ xX]\]|~~",
    re.IGNORECASE,
)
"""In a sentence that tells of another time, a plan, a fault, or of what somebody else says."""
_MARK = re.compile(r"^[\s>]*(?:[-*+]|\d{1,2}[.)]|#{1,6})?\s+")
_TOKEN = re.compile(r"[^\W_][\w.+#/-]*[^\W_]|[^\W_]")
_SMALL_WORDS = (
    "after every within maximum minimum max min most least lasts last expire expires expired per "
    "a an the of in on at to for and or is are by with as it its this that our your my their "
    "we you he she they his her all every each only also now just there here us be been has "
    "have had do does can must shall always currently default defaults set use uses using "
    "used run runs running listen listens serve serves served start starts started bind binds "
    "hosted host hosts available reachable live lives answer answers accessible access open "
    "visit go see via port ports url urls address version versions number value current new "
    "latest project app application service server system repo repository codebase local "
    "localhost locally development dev laptop laptops machine keep keeps kept store stored "
    "stores stay stays take takes retention retained"
)
_SMALL = frozenset(_SMALL_WORDS.split())
"""Words that do not say what a claim is about."""
_ENVIRONMENTS = {
    word: name
    for name, words in {
        "production": "production prod live pm2 vps deployed",
        "staging": "staging stage preprod preview",
        "test": "test tests testing e2e ci",
        "container": "docker compose container containers kubernetes k8s",
        "branch": "branch",
        "windows": "windows",
        "macos": "macos mac osx",
        "linux": "linux",
    }.items()
    for word in words.split()
}
_MAX_SUBJECT = 6
"""Words of a subject; what is longer is no subject."""
_CUT = 6
"""Letters of a word by which it is compared: `deploys`, `deployment`."""


def _words(text: str) -> frozenset[str]:
    """The words by which a subject is compared."""
    found = set()
    for token in _TOKEN.findall(text.casefold()):
        word = token.strip(".-/")
        if word and word not in _SMALL and word not in _ENVIRONMENTS:
            is_plain = word.isalpha()
            found.add(stem(word)[:_CUT] if is_plain else word)
    return frozenset(found)


def _where(text: str) -> Words:
    """The environments that a sentence names."""
    tokens = re.findall(r"[a-z0-9]+", text.casefold())
    return tuple(sorted({_ENVIRONMENTS[token] for token in tokens if token in _ENVIRONMENTS}))


_HOST = r"(?:https?://)?(?:localhost|127\.0\.0\.1|0\.0\.0\.0)"
_PORT = re.compile(
    rf"(?:\bports?\b\W{{0,4}}(?:(?:is|defaults? to|number)\s+)?[`*=:]*\s*|{_HOST}:"
    r"|\b(?:listens?|runs?|running|is|served|serves|are|api|server|backend|frontend) on\s+[`*:]*"
    r"|\bPORT[`*]*\s*(?:=|defaults? to|is)\s*)(?P<value>[1-9]\d{2,4})\b(?![\w%-]|[.:]\d)",
    re.IGNORECASE,
)
_BARE_YEAR = re.compile(r"on\s+[`*:]*(?:19|20)\d\d$", re.IGNORECASE)
_VERB = re.compile(
    r"\b(?:listens?|runs?|running|serves?|served|starts?|started|binds?|bound|is|are|available"
    r"|reachable|lives?|answers?|accessible|hosted|exposed|exposes|uses|at|on|defaults?|opens?)\b",
    re.IGNORECASE,
)

_RUNTIMES = (
    "node|python|java|go|ruby|php|rust|typescript|react|react native|next.js|vue|angular|svelte"
    "|django|flask|fastapi|rails|postgres|mysql|redis|mongodb|kotlin|swift|gradle|vite|tailwind"
    "|eslint|prisma|laravel|spring boot|nuxt|expo|electron|sqlalchemy|pydantic|elixir|.net|bun"
    "|deno|pnpm"
)
_SAME_NAME = {
    "node.js": "node", "nodejs": "node", "jdk": "java", "golang": "go", "postgresql": "postgres",
    "nextjs": "next.js", "tailwindcss": "tailwind", "tailwind css": "tailwind", "dotnet": ".net",
}  # fmt: skip
_ANY_RUNTIME = "|".join(
    map(re.escape, sorted((*_RUNTIMES.split("|"), *_SAME_NAME), key=len, reverse=True))
)
_VERSION = re.compile(
    rf"(?<![\w./@-])(?P<name>{_ANY_RUNTIME})"
    r"[`*]*(?:\s+(?:version\s+)?|\s*(?:==|>=|≥|@|:)\s*)[`*]*(?P<least>>=?\s*|≥\s*|\^)?[vV]?"
    r"(?P<value>\d{1,2}(?:\.\d{1,3}){0,2})(?P<more>\+|\.x\b)?(?![\w%/:-]|\.\d)",
    re.IGNORECASE,
)

_MANAGERS = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), "JavaScript package manager"),
    **dict.fromkeys(("pip", "poetry", "uv", "pdm", "pipenv", "conda"), "Python package manager"),
}
_NAMED_MANAGER = "|".join(_MANAGERS)
_RUN_MANAGERS = ("npm", "pnpm", "yarn", "bun", "uv", "poetry", "pip", "pipenv")
"""Those with which a command of a block of code begins."""
_COMMANDS = tuple(f"{name} " for name in _RUN_MANAGERS)
_OF_MANAGER = r"(?:run|dlx|exec|x|install|workspace|link|audit|registry|publish|list|ls)"
_MANAGED = re.compile(
    rf"\bpackage manager\b\W{{0,4}}(?:is\s+)?[`*]*(?P<is>{_NAMED_MANAGER})\b"
    rf"|\b(?:use|uses|using|prefer|managed (?:by|with)|via|installed with)\s+[`*]*"
    rf"(?P<uses>{_NAMED_MANAGER})\b(?![-/.\w])(?!\s+{_OF_MANAGER}\b)"
    rf"|\b(?P<installs>{_NAMED_MANAGER})\s+(?:install|ci|sync)(?=\s*(?:[`.,;:)]|$)|\s+(?:first|and)\b)"
    rf"|^[`$\s]*(?!pip\s+install\s+[^-\s])(?P<runs>{'|'.join(_RUN_MANAGERS)})"
    r"\s+(?:install|i|ci|add|sync|run|dev|test|build|start)\b(?!\s+-g\b|\s+--global)",
    re.IGNORECASE | re.MULTILINE,
)
_ABSENT_MANAGER = re.compile(
    rf"\b(?:not|never|don['’]t use|instead of|over|rather than|no)\s+[`*]*(?:{_NAMED_MANAGER})\b",
    re.IGNORECASE,
)

_UNITS = {
    **dict.fromkeys(("ms", "millisecond"), ("duration", 0.001)),
    **dict.fromkeys(("s", "sec", "second"), ("duration", 1)),
    **dict.fromkeys(("min", "minute"), ("duration", 60)),
    **dict.fromkeys(("h", "hr", "hrs", "hour"), ("duration", 3600)),
    "day": ("duration", 86400),
    "week": ("duration", 604800),
    "month": ("duration", 2_629_800),
    "year": ("duration", 31_557_600),
    "kb": ("size", 1e3),
    "mb": ("size", 1e6),
    "gb": ("size", 1e9),
    "tb": ("size", 1e12),
    "%": ("share", 1),
    "percent": ("share", 1),
}  # fmt: skip
_NAMED_UNIT = "|".join(
    f"{re.escape(unit)}s?" if len(unit) > 2 else re.escape(unit) for unit in _UNITS
)
_COUNTS = (
    "character|char|column|space|connection|worker|replica|retry|retrie|attempt|request|user|node"
)
_QUANTITY = re.compile(
    r"(?<![\w.,:/$#€-])(?P<number>\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?)\s?-?"
    rf"(?P<unit>{_NAMED_UNIT}|(?:{_COUNTS})s?)(?![\w/])",
    re.IGNORECASE,
)
_SETS = re.compile(
    r"\b(?:limit\w*|max(?:imum)?|min(?:imum)?|at most|time[ -]?outs?|times out|ttl|expir\w+"
    r"|retention|retain\w*|kept|keeps?|interval|every|after|within|window|budget|length|width|threshold"
    r"|capacity|quota|cap|poll\w*|delay|indent\w*|cached?|lifetime|valid|rotat\w+|backup\w*|lasts?"
    r"|pool|is|are|has|have)\b",
    re.IGNORECASE,
)
"""In a sentence that sets a number, and does not tell what was measured."""
_MEASURED = re.compile(
    r"\b(?:took|takes?|passed|failed|measured|coverage|about|around|approximately|roughly|approx"
    r"|up to|more than|less than|over|under|increase\w*|reduc\w+|improv\w+|faster|slower|saves?"
    r"|average|p\d\d|spent|added|estimate\w*|last|past|next|first|effort)\b|[~≈<>+→]|\d\s?[-–]\s?\d",
    re.IGNORECASE,
)
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_TIME = re.compile(
    rf"\b(?:on|every|each)\s+(?P<day>{_WEEKDAY})s?\b"
    r"|\bat\s+(?P<hour>\d{1,2})(?:[:.](?P<minute>\d\d))?\s?(?P<half>am|pm|h|utc)?\b(?![\w.:/%-])",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"^(?:the |our |its |my )?(?P<subject>[\w' `*/&-]{3,60}?)[*`]*\s*"
    r"(?:\s(?:is|are|is called|is named)\s|:[*`]*\s+|\s=\s)\s*(?:an? |the |called )?"
    r"[*`\"“]*(?P<value>[\w.+@/-]+(?: [\w.+-]+){0,2})[*`\"”]*\s*(?:[.;,(]|$)",
    re.IGNORECASE,
)
_HEAD_WORDS = (
    "database branch manager owner lead leader maintainer editor shell theme region language "
    "framework formatter linter contact deadline currency timezone locale license licence "
    "bucket queue broker domain registry runner hoster provider birthday accountant dentist "
    "doctor landlord boss partner city street orm cdn host hosting"
)
_HEADS = frozenset(stem(word)[:_CUT] for word in _HEAD_WORDS.split())
"""Words for what a thing has one of."""
_NO_NAME_WORDS = (
    "done open ready available enabled disabled required optional broken important true false "
    "yes no none empty unknown live clean green red up down stable working complete completed "
    "missing here there not now currently still always never used based designed configured "
    "supported shared managed handled stored located created defined set called small large "
    "big fast slow in on at to for with by from of very too also read only"
)
_NO_NAME = frozenset(_NO_NAME_WORDS.split())


_LABELS = frozenset(("license", "licence", "timezone", "deadline", "region", "locale", "currency"))
"""What a line of a page may be labelled with that names it for the whole project."""


def claims_of(title: str, content: str) -> tuple[Claim, ...]:
    """The claims in the text of a memory, each attribute of a thing once; what it gives two values
    is left out."""
    found: defaultdict[tuple[str, Words, Words], dict[str, Claim]] = defaultdict(dict)
    for claim in _read(title, content):
        key = claim.attribute, claim.thing, claim.where
        found[key].setdefault(claim.value, claim)
    return tuple(
        claim
        for values in found.values()
        for claim in values.values()
        if len(values) == 1 or claim.is_move
    )


_MOVE_WORDS = (
    "mov", "migrat", "switch", "chang", "port", "convert", "going back", "writ", "instead",
    "retire", "drop", "replac", "abandon", "phase", "decommission", "got rid",
)  # fmt: skip
_CHOICE_WORDS = (
    "chose", "picked", "selected", "settled", "decided", "went with", "going with", "use", "using",
    "adopted", "host", "deployed", "run", "built", "written", " is ", "manages", "handles",
    "serves",
)  # fmt: skip
"""One of these is in every sentence with such a claim: looked for first, which is quick."""
_MOST_LINES = 2_000


def _read(title: str, content: str) -> Iterator[Claim]:
    is_short = len(content) <= 2 * _LONGEST and "\n" not in content
    if title and title not in content:
        yield from _of_line(title, -1, is_statement=True)
    for number, line, is_code in numbered_lines(content):
        if number >= _MOST_LINES:
            break
        if is_code:
            if line[:40].lstrip("$ ").startswith(_COMMANDS) and not line.lstrip().startswith("#"):
                yield from _managers(line.strip("$ \t"), line, number)
        elif len(line) > 3:
            yield from _of_line(line, number, is_statement=is_short)


def _of_line(line: str, number: int, *, is_statement: bool) -> Iterator[Claim]:
    if line.lstrip().startswith("|") or len(line) > 4 * _LONGEST:
        return
    bare = _MARK.sub("", line, count=1) if line[:1] in "-*+> #0123456789\t" else line
    for sentence in _SENTENCE.split(bare):
        if len(sentence) > _LONGEST or "❌" in sentence:
            continue
        low = sentence.casefold()
        moves = is_statement and _has_one(low, _MOVE_WORDS)
        chooses = is_statement and _has_one(low, _CHOICE_WORDS)
        is_managed = _has_one(low, _MANAGERS)
        has_digit = _has_one(low, "0123456789")
        is_named = _has_one(low, (":", " is ", " are ", "="))
        has_day = is_statement and "day" in low
        if moves:
            yield from _moves(sentence, number)
        if is_managed:
            yield from _managers(sentence, sentence, number)
        found: list[Claim] = []
        if chooses and not moves:
            found += _choices(sentence, number)
        if has_digit:
            found += _ports(sentence, number)
            found += _versions(sentence, number)
            found += _quantities(sentence, number, is_statement=is_statement)
        if has_day or has_digit:
            found += _times(sentence, number)
        if is_named:
            found += _names(sentence, number, is_statement=is_statement)
        if found and not _NOT_NOW.search(sentence):  # the slowest question of all
            yield from found


def _has_one(text: str, words: Iterable[str]) -> bool:
    return any(map(text.__contains__, words))


_CLAUSE = re.compile(r"[,;(→]|:(?=\s)|\band\b|\bwhile\b")
_LEADS = re.compile(r"(?:\b(?:on|at|to|via|is|ports?|default)|[:=(>])[`*\s<]*$", re.IGNORECASE)
"""What comes before an address that something is said to listen on; not `GET localhost:8080`."""


def _subject(text: str) -> frozenset[str] | None:
    """The words of the last clause before a value; None if they are too many to be a subject."""
    parts = [part for part in _CLAUSE.split(text) if re.search(r"\w", part)]
    clause = parts[-1] if parts else ""
    if found := list(_VERB.finditer(clause)):
        clause = clause[: found[0].start()] or clause[found[-1].end() :]
    words = _words(clause)
    return words if len(words) <= _MAX_SUBJECT else None


def _ports(sentence: str, line: int) -> Iterator[Claim]:
    start = 0
    for found in _PORT.finditer(sentence):
        before, start = sentence[start : found.start("value")], found.end()
        if _BARE_YEAR.search(sentence[: found.end("value")]):
            continue
        lead = re.sub(rf"{_HOST}:$|`?PORT\W*$", " ", before)
        if re.match(_HOST, found[0]) and not _LEADS.search(sentence[: found.start()]):
            continue
        words = _subject(lead)
        if words is not None and not any("/" in word or "=" in word for word in words):
            yield Claim(
                "port",
                tuple(sorted(words)),
                found["value"],
                found["value"],
                line,
                _where(sentence),
            )


_SINCE = re.compile(r"\((?:v\.?)?$|\b(?:since|as of|from|in|until|before|after)\s+[`*]*$", re.I)
"""Before a version at which something came or went, or which is a remark."""


def _versions(sentence: str, line: int) -> Iterator[Claim]:
    for found in _VERSION.finditer(sentence):
        name = _SAME_NAME.get(found["name"].casefold(), found["name"].casefold())
        before = sentence[: found.start()]
        if found["value"] == "0" or _SINCE.search(before) or OF_A_LONGER_NAME.search(before):
            continue
        is_least = found["least"] or found["more"] == "+"
        value = f"{'>=' if is_least else ''}{found['value']}"
        yield Claim("version", (name,), value, found["value"], line, _where(sentence))


def _managers(text: str, sentence: str, line: int) -> Iterator[Claim]:
    if _MANAGED.search(text) is None:
        return
    if _ABSENT_MANAGER.search(sentence):
        text = _ABSENT_MANAGER.sub(" ", text)
    elif _NOT_NOW.search(sentence):
        return
    for found in _MANAGED.finditer(text):
        raw = found[found.lastgroup or 0]
        yield Claim(_MANAGERS[raw.casefold()], (), raw.casefold(), raw, line, ())


def _quantities(sentence: str, line: int, *, is_statement: bool) -> Iterator[Claim]:
    found = list(_QUANTITY.finditer(sentence))
    if is_statement and not found:
        yield from _counts(sentence, line)
    sets = is_statement or _SETS.search(sentence)
    if len(found) != 1 or not sets or _MEASURED.search(sentence):
        return
    (one,) = found
    unit = one["unit"].casefold()
    unit = unit[:-1] if len(unit) > 2 and unit.endswith("s") and unit != "ms" else unit
    attribute, factor = _UNITS.get(unit, (unit, 1))
    before, after = sentence[: one.start()], sentence[one.end() :]
    words = _words(re.sub(r"[`*_]", " ", f"{before} {after}"))
    if 1 <= len(words) <= _MAX_SUBJECT:
        number = float(one["number"].replace(",", "")) * factor
        yield Claim(attribute, tuple(sorted(words)), f"{number:g}", one[0], line, _where(sentence))


_COUNTED = re.compile(
    r"(?<![\w.,:/$#-])(\d{1,3}(?:,\d{3})+|\d+)\s+((?:[a-z][\w-]*\s+)?[a-z][\w-]{2,})"
)
_NEVER_COUNTED = re.compile(
    r"(?:pass|fail|point|degree|euro|dollar|item|step|time|test|error|message|unread|commit|line|token"
    r"|file|function|phase|part|point|minute|hour|second|day|week|month|year)",
)


_ONCE = re.compile(rf"\b(?:(?:19|20)\d\d|{_WEEKDAY})\b", re.I)


def _counts(sentence: str, line: int) -> Iterator[Claim]:
    """`Wendelau has 43 towers`: one counted noun in a short statement."""
    found = list(_COUNTED.finditer(sentence))
    if len(found) != 1 or _MEASURED.search(sentence) or _ONCE.search(sentence):
        return
    number, plural = found[0][1], found[0][2].split()[-1]
    noun = stem(plural)
    if not plural.endswith("s") or plural in ("belongs", "is", "was", "has", "needs", "runs"):
        return
    words = _words(f"{sentence[: found[0].start()]} {sentence[found[0].end() :]}") - {noun[:_CUT]}
    if not _NEVER_COUNTED.match(noun) and noun not in _SMALL and 1 <= len(words) <= _MAX_SUBJECT:
        yield Claim(
            f"number of {noun}", tuple(sorted(words)), number.replace(",", ""), number, line
        )


def _times(sentence: str, line: int) -> Iterator[Claim]:
    found = list(_TIME.finditer(sentence))
    if len(found) != 1 or len(sentence.split()) > 20:
        return
    (one,) = found
    if one["day"]:
        attribute, raw = "day", one["day"]
        value = raw.casefold()
    else:
        if not (one["minute"] or one["half"]):
            return
        hour = int(one["hour"]) + (12 if (one["half"] or "").casefold() == "pm" else 0)
        attribute, raw = "time", re.sub(r"^at\s+", "", one[0], flags=re.IGNORECASE)
        value = f"{hour}:{one['minute'] or '00'}"
    words = _words(f"{sentence[: one.start()]} {sentence[one.end() :]}")
    if 1 <= len(words) <= _MAX_SUBJECT:
        yield Claim(attribute, tuple(sorted(words)), value, raw, line, _where(sentence))


def _names(sentence: str, line: int, *, is_statement: bool) -> Iterator[Claim]:
    """`The staging database is Postgres`: what a thing has one of, and its name."""
    found = _NAMED.match(sentence)
    if found is None or any(map(str.isdigit, found["value"])):
        return
    words, value = _words(found["subject"]), found["value"].strip(".").casefold()
    first = value.split()[0] if value else "none"
    is_name = first not in _NO_NAME and not first.endswith(("ing", "ly"))
    head = found["subject"].split()[-1].strip("*`").casefold()
    if " of " in found["subject"].casefold():
        head = found["subject"].casefold().split(" of ")[0].split()[-1]
    is_head = stem(head)[:_CUT] in _HEADS
    if not is_statement and len(words) < 2 and head not in _LABELS:
        return
    is_said = is_statement and found["value"][:1].isupper() and len(words) >= 2
    if is_name and len(words) <= 4 and (is_head or is_said):
        attribute = stem(head) if is_head else "name"
        yield Claim(
            attribute,
            tuple(sorted(words)),
            value,
            found["value"].strip("."),
            line,
            _where(sentence),
        )


# Choices and moves

_CHOICE = re.compile(
    r"\b(?:chose|chosen|picked|selected|settled on|decided on|went with|going with|use|uses|using"
    r"|adopted|(?:host|hosted|deployed|runs?|built|written) (?:[\w-]+ ){0,3}(?:on|with|in))\s+"
    r"(?:the\s+|an?\s+)?(?P<what>[\w.+#/-]{2,40})"
    r"|\b(?:our|the) (?:[\w-]+ ){1,4}is (?P<named>[\w.+#/-]{2,40})\b"
    r"(?! (?:in|on|with|by|to|at)\b)"
    r"|(?:^|[.;] )(?P<tool>[A-Z][\w.+#-]{2,40}) (?:manages|handles|serves|is used|is our)\b",
    re.IGNORECASE,
)
_MOVE = re.compile(
    r"\b(?:moved?|migrated|switched|changed|ported|converted|going back|re-?written)\s+(?:away\s+)?"
    r"(?:from\s+(?:the\s+)?(?P<away>[\w.+#/-]{2,40})\s+)?(?:over\s+)?(?:to|in|with)\s+"
    r"(?P<article>the\s+|an?\s+)?(?P<what>[\w.+#/-]{2,40})"
    r"|\b(?:(?:move|migration|switch) (?:away )?from|instead of) (?P<left>[\w.+#/-]{2,40})"
    r"|\b(?P<passed>[\w.+#/-]{2,40}) (?:was|were|is|has been|got) (?:finally )?"
    r"(?:retired|dropped|replaced|removed|abandoned|phased out|decommissioned)\b"
    r"(?! (?:from|in the|by the))"
    r"|\b(?:replaced|dropped|abandoned|removed|got rid of)\s+(?:the\s+)?(?P<gone>[\w.+#/-]{2,40})",
    re.IGNORECASE,
)
_STAYS = re.compile(
    r"\b(?:not|never|\w+n['’]t) (?:\w+ )?(?:move|migrate|switch|replace|drop)|\bconsider"
    r"|\bstayed\b",
    re.IGNORECASE,
)
_COMMON_WORDS = (
    "it this that them one same new old own their the an all any no not in on at to only "
    "current done ready open live now here there up"
)
_COMMON = frozenset(_COMMON_WORDS.split())


def _moves(sentence: str, line: int) -> Iterator[Claim]:
    """What is used, and what was used before: `moved from Vim to Helix`."""
    moves = [] if _STAYS.search(sentence) else list(_MOVE.finditer(sentence))
    for found in moves:
        left = found["away"] or found["gone"] or found["left"] or found["passed"]
        into = found["what"] or ""
        name = _name(left)
        if name in _COMMON:
            name, left = "", ""
        if into and (found["article"] or not _is_product(into)):
            into = ""
        subject = _words(sentence[: found.start()]) - _AUXILIARY
        after = sentence[found.end() :]
        if after.lstrip().startswith(("as ", "for ")):
            subject |= _words(after)
        if name or (into and subject):
            yield Claim(
                "use", tuple(sorted(subject)), _name(into), into, line, _where(sentence),
                left=name, is_move=True,
            )  # fmt: skip
    if not moves and not _NOT_NOW.search(sentence):
        yield from _choices(sentence, line)


def _choices(sentence: str, line: int) -> Iterator[Claim]:
    for found in _CHOICE.finditer(sentence):
        raw = found["what"] or found["named"] or found["tool"]
        if len(raw) > 2 and _name(raw) not in _COMMON and not raw.isdigit():
            words = _words(f"{sentence[: found.start()]} {sentence[found.end() :]}")
            if found["named"]:
                words |= _words(found[0])
            yield Claim("use", tuple(sorted(words - {_name(raw)})), _name(raw), raw, line,
                        _where(sentence))  # fmt: skip


def _is_product(raw: str) -> bool:
    """Whether a word is the name of a tool, by its capital letter."""
    return raw[:1].isupper() and _name(raw) not in _COMMON and len(raw) > 2 and "/" not in raw


_AUXILIARY = frozenset({"hav", "has", "had", "been", "now", "we", "team", "our", "they", "just"})


def _name(what: str | None) -> str:
    return (what or "").casefold().strip(".")


# ---- comparing claims ----------------------------------------------------------------------------

_FOLDERS = frozenset({"memory-bank", "memory", "memories", "docs", "notes"})
_OF_PAGES = frozenset({"port", "version", *_MANAGERS.values(), *map(stem, _LABELS)})
"""What a page may state of its project without naming it."""
_OF_ONE_STORE = frozenset({"port", "version", "use", *_MANAGERS.values()})
"""What is also compared within a store."""
_MOST_OF_ONE = 60
"""Claims about one thing that are compared."""
_ALIKE = 0.6
"""Jaccard of the words of two subjects from which they are one."""
_ALIKE_OF_COUNT = 0.3
_MAX_TEXT = 160


class _Said(Struct, frozen=True, eq=False):
    """A claim of a memory, with what its thing is called in full."""

    memory: Memory
    claim: Claim
    thing: frozenset[str]
    scopes: frozenset[str]
    names: frozenset[str]
    """Words of the thing that name one thing in the world: with a capital or a sign within."""
    programs: frozenset[str]
    """The programs that read it: of a file of instructions those that load it, else its store."""


_NO_SCOPE_WORDS = (
    "projects project people person summary src code work home general memory memories "
    "entities knowledge notes docs global daily areas resources topics services service main "
    "bug decision feature fix preference user team"
)
_NO_SCOPE = frozenset(_NO_SCOPE_WORDS.split())


def _scopes_of(memory: Memory) -> frozenset[str]:
    """What a memory belongs to, by the names that its stores give it: its project, its entity."""
    parts = memory.entity.casefold().split("/")
    found = {parts[-1]} if memory.kind in PAGES else {parts[0], parts[-1]}
    found -= _NO_SCOPE
    project = memory.extra.get(PROJECT_PATH)
    if isinstance(project, str) and project:
        found.add(project.rstrip("/").rpartition("/")[2].casefold())
    found.discard("")
    if _is_page(memory) or not found:
        found.add(_folder_of(memory.origin.file.rpartition("/")[0]))
    return frozenset(found - {""})


def _is_page(memory: Memory) -> bool:
    """Whether a memory is a page, which states many things in passing."""
    return memory.kind in PAGES or is_of_rules(memory)


@lru_cache(maxsize=4096)
def _folder_of(folder: str) -> str:
    """The name of the project that a folder of memories lies in."""
    parts = folder.split("/")
    for at, part in enumerate(parts):
        if at and (part.startswith(".") or part in _FOLDERS):
            return parts[at - 1].casefold()
    return parts[-1].casefold()


def _said(memory: Memory, claim: Claim) -> _Said:
    scopes = _scopes_of(memory)
    thing = frozenset(claim.thing)
    for scope in scopes if thing else ():
        parts = {scope[:_CUT] if scope.isalpha() else scope, *(
            stem(part)[:_CUT] for part in re.split(r"[-_. ]", scope))}  # fmt: skip
        if thing <= parts and claim.attribute not in ("version", "use"):
            thing = frozenset({scope})
            break
    names = frozenset(word for word in thing if not word.isalpha())
    readers = memory.extra.get(READ_BY) or (memory.store,)
    return _Said(memory, claim, thing, scopes, names, frozenset(map(str, readers)))


def find_conflicts(
    memories: Sequence[Memory], claims: Sequence[Sequence[Claim]], context: UpkeepContext
) -> Iterator[Proposal]:
    """The things of which current memories of any program give one attribute several values.

    Args:
        memories: Of all open stores and of every status.
        claims: Those of each memory's text.
        context: What each store can do, and the step that reports and stops.
    """
    index: defaultdict[tuple[str, str], list[_Said]] = defaultdict(list)
    for said in _compared(memories, claims):
        for name in sorted(_keys(said)):  # the same findings in every process
            index[said.claim.attribute, name].append(said)
    clusters: list[tuple[str, list[_Said]]] = []
    for done, ((attribute, _), group) in enumerate(index.items(), 1):
        if done % STEP == 0:
            context.step(done, len(index))
        if len({one.claim.value for one in group}) > 1 or any(one.claim.is_move for one in group):
            clusters += [(attribute, found) for found in _clusters(group[:_MOST_OF_ONE])]
    seen: defaultdict[tuple[str, frozenset[str]], set[str]] = defaultdict(set)
    for attribute, cluster in sorted(clusters, key=lambda each: -len(each[1])):
        refs = {one.memory.ref for one in cluster}
        known = seen[attribute, frozenset(one.claim.value for one in cluster)]
        if known.isdisjoint(refs):
            yield _propose(attribute, cluster, context)
        known |= refs


def _compared(memories: Sequence[Memory], claims: Sequence[Sequence[Claim]]) -> Iterator[_Said]:
    """The claims that hold now, and are made on purpose."""
    stated = [
        (memory, claim)
        for memory, found in zip(memories, claims, strict=True)
        if found and memory.status in CURRENT and not is_of_its_time(memory)
        for claim in found
    ]
    latest: dict[tuple[object, ...], Memory] = {}
    """The newest memory of a store about one thing: an event before it tells what was so."""
    for memory, claim in stated:
        before = latest.get(about := _about(memory, claim), memory)
        latest[about] = max(before, memory, key=lambda one: one.when or NEVER)
    for memory, claim in stated:
        attribute = claim.attribute
        if "branch" in claim.where and (attribute != "branch" or "switch" in claim.thing):
            continue
        is_past = memory.kind == "event" and latest[_about(memory, claim)] is not memory
        if is_past and attribute != "use":
            continue
        if _is_page(memory) and (
            attribute.startswith(("use", "name", "number of"))
            or not (attribute in _OF_PAGES or len(claim.thing) > 1)
        ):
            continue
        yield _said(memory, claim)


def _keys(said: _Said) -> frozenset[str]:
    """Two claims about one thing have one of these in common."""
    claim = said.claim
    if claim.attribute in _MANAGERS.values():
        return said.scopes
    keys = said.thing or said.scopes
    return (keys | {claim.value, claim.left}) - {""} if claim.attribute == "use" else keys


def _about(memory: Memory, claim: Claim) -> tuple[object, ...]:
    return memory.store, memory.entity.partition("/")[0], claim.attribute, claim.thing


def _clusters(group: Sequence[_Said]) -> Iterator[list[_Said]]:
    """Claims about one thing, of which some differ."""
    left = list(group)
    while len(left) > 1:
        first, *others = left
        same = [one for one in others if _is_one_thing(first, one)]
        against = [one for one in same if _differ(first, one)]
        if against:
            ids = {first.memory.ref}
            cluster = [first]
            for one in same:
                if one.memory.ref not in ids and all(
                    _is_one_thing(one, other)
                    for other in (first, *against)
                    if other.memory.ref != one.memory.ref and first.claim.attribute != "use"
                ):
                    ids.add(one.memory.ref)
                    cluster.append(one)
            if any(_differ(one, other) for one, other in combinations(cluster, 2)):
                yield cluster
        taken = {id(first), *(map(id, same) if against else ())}
        left = [one for one in left if id(one) not in taken]


def _is_one_thing(one: _Said, other: _Said) -> bool:
    a, b = one.claim, other.claim
    if one.memory.ref == other.memory.ref or a.where != b.where:
        return False
    if one.memory.origin.file == other.memory.origin.file and _is_page(one.memory):
        return False
    if one.memory.id in other.memory.superseded_by or other.memory.id in one.memory.superseded_by:
        return False
    if are_of_one_series(one.memory, other.memory):
        return False
    if a.attribute not in _OF_ONE_STORE and one.memory.store == other.memory.store:
        return False
    shares_scope = not one.scopes.isdisjoint(other.scopes)
    if a.attribute == "use":
        return _is_one_matter(one, other, shares_scope=shares_scope)
    if a.attribute in ("version", *_MANAGERS.values()):
        return shares_scope and one.thing == other.thing
    if not one.thing or not other.thing:
        named, bare = (other, one) if other.thing else (one, other)
        return shares_scope if not named.thing else named.thing <= bare.scopes
    if one.names ^ other.names:
        return False
    if one.thing == other.thing:
        return shares_scope or len(one.thing) > 1 or bool(one.names)
    least = _ALIKE_OF_COUNT if a.attribute.startswith("number of") else _ALIKE
    return jaccard(one.thing, other.thing) >= least and (shares_scope or len(one.thing) > 1)


def _is_one_matter(one: _Said, other: _Said, *, shares_scope: bool) -> bool:
    """A choice and a move: the move leaves what was chosen, or goes elsewhere with its subject."""
    if one.claim.is_move == other.claim.is_move:
        return False
    move, choice = (one, other) if one.claim.is_move else (other, one)
    older, newer = choice.memory.when or NEVER, move.memory.when or NEVER
    if older > newer or choice.claim.value == move.claim.value:
        return False
    shared = move.thing & choice.thing
    if move.claim.left:
        return move.claim.left == choice.claim.value and (shares_scope or bool(shared))
    subject = move.thing
    return (
        bool(move.claim.value and subject)
        and _is_product(choice.claim.raw)
        and choice.claim.value not in subject
        and len(shared) * 2 >= len(subject)
        and (shares_scope or len(shared) > 1)
    )


def _differ(one: _Said, other: _Said) -> bool:
    a, b = one.claim, other.claim
    if a.value == b.value:
        return False
    if a.attribute == "version":
        return _exclude(a.value, b.value)
    if a.attribute == "use":
        return True
    words, other_words = set(a.value.split()), set(b.value.split())
    return words.isdisjoint(other_words)


def _exclude(one: str, other: str) -> bool:
    """Whether two versions cannot both hold: `3.11` and `3.11.4` can, so can `18+` and `20`."""
    numbers = [[int(part) for part in text.lstrip(">=").split(".")] for text in (one, other)]
    size = min(map(len, numbers))
    first, second = numbers[0][:size], numbers[1][:size]
    if first == second:
        return False
    if one.startswith(">=") and other.startswith(">="):
        return False
    if one.startswith(">="):
        return second < first
    if other.startswith(">="):
        return first < second
    return True


def _propose(attribute: str, cluster: Sequence[_Said], context: UpkeepContext) -> Proposal:
    """One finding: the newest first."""
    ordered = sorted(
        cluster, key=lambda one: (one.memory.when or NEVER, one.memory.ref), reverse=True
    )
    values: dict[str, tuple[str, dict[str, None]]] = {}
    """Value -> how it is written, and the names of the stores that say it."""
    for one in ordered:
        shown = one.claim.raw or f"not {one.claim.left}"
        _, names = values.setdefault(one.claim.value or one.claim.left, (shown, {}))
        names[context.name_of(one.memory.store)] = None
    thing = max((" ".join(sorted(one.thing)) for one in ordered), key=len)
    if attribute == "use" or attribute.startswith("number of") or not thing:
        subject = f"{attribute}{f' ({thing})' if thing else ''}"
    else:
        subject = f"{attribute} of {thing}"
    said = "; ".join(f"{shown} ({', '.join(names)})" for shown, names in values.values())
    with masked_always():
        message = cut_line(subject, 60)
        title = f"{message}: {cut_line(said, 160)}"
        says = tuple(
            Saying(one.memory.ref, one.claim.raw, cut_line(_line(one), _MAX_TEXT), one.claim.line)
            for one in ordered
        )
    is_of_two = any(
        one.programs.isdisjoint(other.programs) and _differ(one, other)
        for one, other in combinations(ordered, 2)
    )
    found = propose(
        ProposalKind.CONFLICT,
        [one.memory for one in ordered],
        title,
        "agents read either; choose the value that holds",
        rule=_rule(ordered, is_of_two=is_of_two),
        also=message,
    )
    return replace(found, says=says)


def _rule(ordered: Sequence[_Said], *, is_of_two: bool) -> str:
    """Which rule of `MEASURED` found it: what several programs read, of a thing that is named."""
    attribute = ordered[0].claim.attribute
    if not is_of_two:
        return "said-by-one"
    if attribute == "port" and any(one.claim.thing for one in ordered):
        return "port-of-a-thing"
    if attribute == "version" or attribute in _MANAGERS.values():
        return attribute.rpartition(" ")[2]
    return "other-value"


def _line(one: _Said) -> str:
    if one.claim.line < 0:
        return one.memory.title
    return one.memory.content.split("\n")[one.claim.line].strip()


# ---- make them agree -----------------------------------------------------------------------------


def agree(
    proposal: Proposal, value: str, memories: Mapping[str, Memory], context: UpkeepContext
) -> tuple[Change, ...]:
    """The changes after which all memories of a conflict give this value, each in its own words.

    Args:
        proposal: A finding of `find_conflicts`.
        value: What they shall say.
        memories: Those of the finding, by ref.
        context: What each store can do; a program that lets nobody else write is asked by a
            successor, and memories of stores that cannot do that either stay.
    """
    changes: list[Change] = []
    for said in proposal.says:
        memory = memories.get(said.ref)
        if memory is None or not said.value or said.value.casefold() == value.casefold():
            continue
        if said.line < 0:
            fields = {"title": replace_word(memory.title, said.value, value)}
        else:
            lines = memory.content.split("\n")
            lines[said.line] = replace_word(lines[said.line], said.value, value)
            fields = {"content": "\n".join(lines)}
        changes += _edit_or_ask(memory, fields, context.can)
    return tuple(changes)


def _edit_or_ask(
    memory: Memory, fields: Mapping[str, str], can: Callable[[Act, Memory], bool]
) -> Iterator[Change]:
    """The edit of a memory, or the successor that asks its program for it; none if neither can."""
    if can(Act.EDIT, memory):
        yield Change(Act.EDIT, memory.store, memory.ref, fields)
    elif can(Act.SUPERSEDE, memory):
        whole = {"content": memory.content, **fields}
        yield Change(Act.SUPERSEDE, memory.store, memory.ref, whole)


def replace_word(text: str, old: str, new: str) -> str:
    """The text with every occurrence of a word or value as a whole replaced."""
    pattern = rf"(?<![\w.]){re.escape(old)}(?![\w]|\.\d)"
    return re.sub(pattern, lambda _: new, text, flags=re.IGNORECASE)


def changes_of_words(
    memories: Iterable[Memory], old: str, new: str, can: Callable[[Act, Memory], bool]
) -> Iterator[Change]:
    """The change of each memory that has a word or value, with another in its place.

    Args:
        memories: Those that are looked at.
        old: The word or value, as a whole and in any case.
        new: What stands there afterwards.
        can: Whether the store can do an act on a memory.
    """
    for memory in memories:
        if fields := rewritten_texts(memory, partial(replace_word, old=old, new=new)):
            yield from _edit_or_ask(memory, fields, can)
