"""Find memories that instruct the agent instead of stating something: planted instructions.

A memory states facts; these phrases tell an agent what to do, unseen by the person. Measured
elsewhere, single trigger words are wrong as often as right, so each phrase names a verb and its
object. Forms that have a spelling of their own, and phrases of English, are expressions here; what
words mean together, in nine languages, is in `instruction_meanings`. A finding helps a person who
reviews memories and gives its reasons. It blocks nothing, and a memory without findings is not
thereby safe.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Collection, Iterator
from functools import cache

from memtui.upkeep.filtered_pattern import ExpressionFilter, fold
from memtui.upkeep.instruction_meanings import reader

_PERSON = r"(?:the |any |a )?(?:user|human|person|reviewer|owner|operator|anyone|anybody|team)s?\b"
_EARLIER = (
    r"(?:previous|prior|earlier|former|above|existing|original|safety|system|all|any|your|these)\b"
)
_RULES = (
    r"(?:instructions?|rules?|guidelines?|prompts?|polic(?:y|ies)|directives?|restrictions?"
    r"|guardrails?|constraints?|orders?)\b"
)
_SECRETS = (
    r"(?:api[ _-]?keys?|keys?|secrets?|tokens?|passwords?|credentials?|cookies?|\.env|ssh|log"
    r"|conversation|chat|message|mail|files?|folder|database|contents?|lists?|spreadsheet|copy)\b"
)
_SENDS = (
    r"(?:send|post|upload|forward|submit|transmit|mail|e-?mail|bcc|cc|copy|leak|include|append"
    r"|encode|put|write|render|open|fetch|load|download|add|install|trust|treat|follow|obey)"
)
_ADDRESS = r"(?:https?://|ftp://|wss?://|[\w.+-]+@[\w-]+\.)"

PHRASES: dict[str, tuple[str, ...]] = {
    "sets aside earlier instructions": (
        r"\b(?:this|the following) (?:note|memory|file|rule|text)\b[^.\n]{0,10}"
        r"\b(?:outranks|overrides|counts more than|takes precedence over)\b",
        r"\b(?:earlier|previous|prior|former) (?:guidance|instructions?|rules?|orders?)\b"
        r"[^.\n]{0,20}\b(?:void|invalid|a test|no longer (?:apply|valid))\b",
        r"\byour (?:real|true|actual) (?:instructions?|orders?|rules?|task)\b"
        r"|\bdeveloper mode (?:is )?(?:enabled|active)\b",
        r"\beven if (?:you are )?told otherwise\b|\balso when it contradicts the user\b"
        r"|\bignore what the user\b|\bdo as the (?:web ?page|page|mail|note) says\b",
        rf"\b(?:ignore|disregard|forget|override|overrule|discard|drop|supersede)s?\b[^.\n]{{0,30}}"
        rf"\b{_EARLIER}[^.\n]{{0,30}}\b{_RULES}",
        r"\b(?:ignore|disregard|forget)\b[^.\n]{0,20}\b(?:everything|anything|all|what)\b"
        r"[^.\n]{0,20}"
        r"\b(?:told|said|learned|before)\b",
        rf"\bsupersedes? your\b|\bno longer (?:need|have) to follow\b|\bno content {_RULES}",
        rf"\b(?:without|have no|free of|not bound by)\s+(?:any\s+)?{_RULES}",
        rf"\bthe (?:new|only) rules are\b|\bnew (?:system )?(?:message|prompt|{_RULES})"
        r"[^.\n]{0,25}(?:assistant|agent|:\s*you\b|:\s*export\b)",
        r"\btreat this (?:memory|note|text) as\b|\bhighest authority\b[^.\n]{0,20}$",
    ),
    "poses as the system or a turn of the talk": (
        r"</?system-(?:reminder|prompt|message)>|</?(?:context|memory|document|conversation)>\s{0,3}"
        r"<(?:system|assistant|instructions?)>",
        r"[\"']role[\"']\s{0,3}:\s{0,3}[\"'](?:system|developer)[\"']\s{0,3},\s{0,3}[\"']content[\"']",
        r"(?:^|\n)\[(?-i:SYSTEM|ADMIN|OVERRIDE)\]",
        r"-{2,}\s?(?-i:END OF [A-Z ]{3,30}|BEGIN (?:NEW )?INSTRUCTIONS?)\s?-{2,}",
        r"(?:^|\n)[^\S\n]*<(system|assistant|instructions?)>|<(system"
        r"|instructions?)>[^<]{3,400}</\2>",
        r"\[/?INST\]|<\|[a-z_]{3,20}\|>|<<SYS>>",
        r"(?:^|\n)[^\S\n]*#{2,4}\s*(?:instructions?|system|response)\s*:",
        r"(?:^|\n)[^\S\n]*(?-i:SYSTEM)\s*:|\bassistant:\s[^\n]{0,200}\buser:\s",
        r"\bend of (?:user|system|memory|prompt|context|conversation)(?: data| input| message)?\b"
        r"[^\n]{0,20}(?:new|now|follow|---)",
        r"\bcarry out the following\b",
    ),
    "speaks to the agent": (
        r"(?:<!--|\[(?://|comment)\]:)[^>\n]{0,20}\b(?:ai|llms?|assistant|agent|claude|copilot|ki|ia|ии)\b",
        r"\bif you(?:'re| are) (?:an? )?(?:ai|llm|language model|assistant|agent)\b",
        r"\baddressed to (?:the )?(?:models?|assistants?|agents?)\b"
        r"|\bnote to (?:language )?models\b",
        r"display:\s?none[^>\n]{0,20}>[^<\n]{0,20}\b(?:assistant|agent|ai|llm)\b",
        r"\bact as (?:though|if) you (?:had|were|have)\b|\byour owner wants you to\b",
        r"\b(?:print|repeat|reply with|show|output)\b[^.\n]{0,20}\b(?:hidden|full|system)\b"
        r"[^.\n]{0,10}\b(?:context|prompt|instructions?)\b",
        r"\bthe assistant shall\b"
        r"|\b(?:next|any) agent\b[^.\n]{0,25}\b(?:should|must|is required to|has to)\b",
        r"\b(?:dear|attention|hey|hello|note (?:to|for)(?: the)?|message (?:to|for)(?: the)?)[, ]+"
        r"(?:ai|assistant|agent|language model|llm|chatbot)\b",
        r"\bas an? (?:ai|assistant|agent|language model|llm)\b[^.\n]{0,30}\byou\b",
        r"\bfrom now on,? you\b|\byou are (?:now )?(?:dan\b|in \w+ mode|an? unrestricted|root\b)",
        r"\bact as (?:an? )?(?:root|admin|unrestricted|jailbroken)",
        r"\bpretend (?:that )?you\b|\b(?:developer|god|jailbreak) mode is on\b",
        r"\breveal\b[^.\n]{0,30}\b(?:prompt|instructions)\b|\bprint the contents of\b",
        r"\bdeny that you\b|\byour instructions\b[^.\n]{0,20}\bdeny\b",
    ),
    "asks for secrecy": (
        r"\b(?:do not|don't|never)\b[^.\n]{0,12}\b(?:bring up|mention|reveal|quote)\b[^.\n]{0,12}"
        r"\b(?:this|the) (?:memory|note|rule|entry|file)\b",
        r"\bkeep\b[^.\n]{0,20}\b(?:rule|note|instruction|this)s?\b[^.\n]{0,12}\bto yourself\b",
        r"\b(?:do not|don't) tell any(?:body|one), but\b|\bno need to (?:say|mention) (?:so|it"
        r"|why)\b",
        r"\bwithout (?:a |any )?(?:remark|comment|mentioning it)\s*(?:[.;]|$)",
        r"\bdo not say why\b|\bchange the subject\b|\blet nobody (?:know|see|notice)\b",
        r"\b(?:make sure|ensure|so) (?:that )?(?:the )?(?:user|human|reviewer)s? (?:does|do"
        r"|will) not "
        r"(?:notice|see|learn|know|find out)\b",
        r"\b(?:do not|don't|never|must not|mustn't|should not|not to)\s+(?:ever\s+)?"
        r"(?:mention|tell|reveal|inform|disclose|report|show|say)\b[^.\n]{0,40}"
        rf"\b(?:to |by |from )?(?:{_PERSON}|nobody\b)",
        rf"\bwithout (?:informing|telling|notifying|asking|alerting) {_PERSON}",
        rf"\bhide (?:this|it|that|these)\b[^.\n]{{0,20}}\bfrom {_PERSON}|\bhide\b"
        rf"[^.\n]{{0,20}}\bhuman\b",
        r"\bkeep (?:this|it) (?:between us|secret from|hidden from)\b|\bsecret order\b",
        r"\b(?:silently|secretly|quietly) (?:add|append|send|insert|delete|copy|upload|include"
        r"|change"
        r"|forward|write|install|run)\b",
        r"\bsay nothing about\b|\b(?:do not|don't) report (?:them|it|this)\b",
    ),
    "grants itself permission": (
        r"\b(?:user|owner|admin\w*|team|developer|operator|person)\s+(?:has |have |had )?"
        r"(?:already |explicitly |fully )?(?:authori[sz]ed|permitted|allowed|approved|consented)\s+"
        r"(?:you|all|any|every|the agent|the assistant)\b",
        r"\b(?:user|owner|admin\w*|team)\s+(?:has |have )?(?:already )?(?:given|gave|granted)\s+"
        r"(?:you |the agent )?(?:full |blanket )?(?:permission|consent|access)\b",
        r"\bapproved in advance\b|\bstanding (?:consent|permission|approval)\b"
        r"|\bpermission granted\b",
        r"\byou (?:are|have been|were)\s+(?:now |already )?(?:allowed|authori[sz]ed|permitted"
        r"|cleared)"
        r"\s+to\b",
        r"\byou (?:already )?have (?:\w+ )?(?:permission|consent|authority|authori[sz]ation) to\b",
        r"\byou need not ask\b|\bthe agent may (?:disable|delete|skip|bypass)\b",
    ),
    "goes round the person": (
        r"\byou may (?:skip|bypass|ignore)\b|(?:^|[.;]\s)(?:approve|grant) (?:any|every|all)\b",
        r"--no-verify\b[^.\n]{0,30}\ball\b"
        r"|(?:^|[.;]\s)(?:push|commit) (?:directly|straight) to (?:main|master)\b",
        r"\bmark (?:all|every|any)\b[^.\n]{0,40}\bas (?:false positives?|safe|resolved|approved)\b",
        r"\b(?:leave out|omit|drop)\b[^.\n]{0,40}\bfrom all (?:reports|summaries|answers)\b"
        r"|\bwhen summari[sz]ing\b[^.\n]{0,40}\b(?:omit|leave out)\b",
        r"\b(?:never|do not|don't|stop|no longer)\b[^.\n]{0,12}\b(?:ask|asking|show|showing|warn"
        r"|warning"
        r"|prompt|confirm)\b[^.\n]{0,40}\b(?:user|confirmation|diffs?|permission|secrets"
        r"|approval)\b",
        r"\b(?:run|do|execute|apply|delete|push|install|approve|accept|use)\b[^.\n]{0,60}"
        r"\b(?:without (?:asking|confirmation|reading|reviewing|checking)|and don't ask)\b",
        r"\bskip (?:every|all|any) (?:confirmation|check|question)|\bauto-?approve any\b",
        r"\banswer [\"'“]?yes[\"'”]? when(?:ever)? a tool\b",
        r"\bapprove (?:all|every)\b[^.\n]{0,40}\b(?:from|by)\b",
        r"\bas if the user had\b|\bskip the tests and push\b",
    ),
    "runs what comes from the net": (
        r"\b(?:curl|wget|iwr|irm|fetch|invoke-webrequest)\b[^|\n]{0,200}\|\s*(?:sudo\s+)?"
        r"(?:(?:ba|z|da|k)?sh|iex|python\d?|perl|node)\b",
        r"\b(?:bash|sh|source|zsh)\s+<\(\s*(?:curl|wget)|\$\(\s*(?:curl|wget)\b|`(?:curl|wget)\b",
        r"\bexec\([^\n]{0,80}(?:urlopen|requests\.)",
        r"\bpip3? install\b[^\n]{0,60}(?:--(?:extra-)?index-url|-i)\s+http"
        r"|\b(?:pip3?|npm|yarn|pnpm) (?:install|add|i) (?:-\S+ )*(?:git\+)?https?://",
        r"\badd\b[^\n]{0,10}\b(?:curl|wget)\b[^\n]{0,80}\bhook",
    ),
    "breaks a lock": (
        r"--dangerously-skip-permissions\b|\bBash\(\*\)|\bbypassPermissions\b",
        r"/dev/tcp/\d|\bn(?:c|cat)\s(?:-\w{1,4}\s){0,3}-e\s|\bpowershell\b[^\n]{0,40}\s-e(?:nc|ncodedcommand)?\s",
        r"\bopen the firewall for\b|\bdisable (?:the )?certificate checks?\b",
        r"\brm\s+-[rf]{1,2}\s+(?:~|/(?!tmp)|\$HOME)|\bchmod\s+(?:-R\s+)?777\b|\bNOPASSWD\b",
        r"\badd\b[^.\n]{0,20}\bkey to authorized_keys\b",
        r"\b(?:disable|turn off|switch off|bypass|deactivate)\b[^.\n]{0,20}\b(?:virus|antivirus"
        r"|logging"
        r"|sandbox|two-factor|2fa|mfa|firewall|safety|certificates?|guardrails?)\b",
        r"\b(?:do not|don't|never|stop)\s+(?:verify|check"
        r"|validate)(?:ing)? (?:the )?certificates?\b",
        r"\bsecurity warnings? (?:are|is|must)\b[^.\n]{0,20}\b(?:left out|ignored|dropped"
        r"|hidden)\b",
    ),
    "carries something away": (
        r"!\[[^\]\n]{0,60}\]\(https?://[^)\n]{0,200}(?:\{\{|\$\{|%7b)",
        r"(?:\.env|\.aws|\.ssh|id_rsa|secrets?)\b[^\n]{0,40}\|\s?(?:nc|ncat|netcat|curl)\b"
        r"|\bcurl\b[^\n]{0,60}(?:-d|-F|--data\S{0,8}|-T)\s?\S{0,8}@?\S{0,20}(?:\.env|\.aws|\.ssh|id_rsa)",
        r"\b(?:read|copy|paste)\b[^.\n]{0,30}(?:~/\.(?:aws|ssh)\b|\.env\b)[^\n]{0,40}"
        r"\b(?:paste|send|post|copy)\b",
        r"\bencode\b[^.\n]{0,40}\bas base64\b[^.\n]{0,40}\b(?:append|send|post|add)\b",
        r"\b(?:password|key|token|secret)\b[^.\n]{0,40}\bsend a copy\b",
        rf"\b{_SENDS}\b[^.\n]{{0,60}}\b{_SECRETS}[^\n]{{0,60}}\b(?:query parameter"
        rf"|image address)\b",
        rf"\b{_SENDS}\b[^.\n]{{0,40}}\b(?:all|any|every|your|the user's)\b[^.\n]{{0,20}}"
        rf"\b(?:api[ _-]?keys?"
        rf"|secrets?|tokens?|passwords?|credentials?|cookies?)[^\n]{{0,60}}{_ADDRESS}",
        r"\bask the user for (?:the|a|his|her|their) (?:password|token|key|code)\b"
        r"|\bmakes? the user share\b|\boutput the session cookie\b",
    ),
    "keeps itself alive": (
        r"\b(?:rewrite|delete|overwrite|change) (?:any|all|every|each) memor(?:y|ies)\b",
        r"\bat the top of your memory\b|\bnever question this (?:file|note|memory)\b",
        r"\b(?:copied?|copy|store|save|repeat|append|write|add|include)\b[^.\n]{0,40}"
        r"\b(?:into|to|in) (?:every|each|any|all) (?:new )?(?:memor(?:y|ies)|notes?|commit"
        r"|answers?)\b",
        r"\bwhenever you (?:save|store|consolidate|write|summari[sz]e)\b",
        r"\bdelete all memories\b|\bremove the memory that\b"
        r"|\bnever (?:delete|remove|restore) (?:it|this)\b",
    ),
    "steers the answers": (
        r"\bif asked (?:who|why|what|whether|about)\b[^.\n]{0,60}\b(?:answer|say|reply|claim)\b",
        r"\banswer every question about\b|\bstart (?:each|every) answer with\b"
        r"|\bnever (?:suggest|recommend|name) (?:a|any) (?:competitor|alternative)\b",
        r"(?:^|[.;:]\s)claim that\b|\binstead of the real (?:figures|numbers|values|results)\b"
        r"|\breport that (?:it|all) was (?:empty|fine)\b",
        r"\btell the user\b[^.\n]{0,60}\b(?:no matter|whatever)\b"
        r"|\bto the user that you (?:are unable|cannot|can't)\b",
        r"\b(?:when(?:ever)?|if|each time) (?:the user|somebody|someone|anybody|anyone|asked"
        r"|people)\b"
        r"[^.\n]{0,60}\b(?:say|reply|answer|recommend|respond|claim|tell|you must)\b",
        r"\byou (?:must|should|have to|are required to|shall)\s+(?:always\s+"
        r"|never\s+)?(?:recommend|rate"
        r"|approve|add|tell|say|answer|delete|send|praise|prefer|not tell|name)\b",
        r"\balways (?:prefer|recommend|praise|name|rate) (?:the )?(?:vendor|product|company|hotel)",
        r"\bwhatever the truth\b|\byou answer every\b|\banswer in a way that\b",
        r"\bthe account in this (?:memory|note)\b|\bnever name another\b"
        r"|\b(?:lower|raise|change)\b[^.\n]{0,12}\bevery quote\b|\bapprove files\b",
    ),
}

TO_A_NEW_ADDRESS = "names an address that stands nowhere else"
"""Reported only after a verb that sends, fetches or trusts; of many addresses in documents it is
said that one should follow or open them."""
SENDING = (
    r"(?:^|[.,;:!?]\s+|\b(?:and|then|must|always|first|please|you)\s+)"
    rf"(?!follow\b|open\b|install\b)(?:{_SENDS})\b[^\n]{{0,100}}?"
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
    return re.sub(r"\w+", lambda word: _spell_in_latin(word[0]), shown)


def _spell_in_latin(word: str) -> str:
    """A word in which Latin letters stand beside others that look like them; others as they are."""
    return word.translate(_LATIN) if re.search("[A-Za-z]", word) else word


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
