"""Find planted text: words that no terminal shows, the marks by which a text passes for the prompt
of an agent, and a sentence that asks an agent for harm.

No list of words says what an instruction is: such lists were wrong in two of three cases. A
sentence is found only if it names both whom it addresses, the agent or its successor, and a harm:
to send or reveal a secret, to hide something from the person, to run what is fetched. A memory
without a finding is not thereby safe. Who first said what a memory says, such as a web page that an
agent read, is found from sessions: what a page said first is found if it asks an agent for any act
(`memtui.library.learned_requests`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

from memtui.model import Memory
from memtui.text.filtered_pattern import fold, may_match, words_needed

INSTRUCTION_FILES = frozenset(
    {"AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", "SOUL.md", "TOOLS.md"}
)
"""Files that people write to instruct agents: only what is hidden in them is a finding."""

_OF_RULES = re.compile(
    r"/\.(?:cursor|roo|windsurf|kiro|clinerules|openhands|junie|specify|github|kilocode|continue)/"
    r"|/\.claude/(?:rules|agents|commands|skills)/"
    r"|/\.(?:cursorrules|windsurfrules|clinerules|goosehints)$|\.instructions\.md$"
)
"""Files of rules for agents, as those of `INSTRUCTION_FILES`."""


def is_of_rules(memory: Memory) -> bool:
    """Whether a memory is in a file that people write to instruct agents."""
    file = memory.origin.file
    return file.rpartition("/")[2] in INSTRUCTION_FILES or _OF_RULES.search(file) is not None


IN_TAGS = "hides words in characters that are not shown"
REORDERED = "has characters that show a line in another order than agents read it"
POSES = "poses as the system or a turn of the talk"
ASKS_FOR_HARM = "asks an agent to send, reveal, hide or run something"
UNSEEN = frozenset({IN_TAGS, REORDERED})
"""Reasons that hold in a file of instructions too."""

MARKER = re.compile(
    r"</?system-(?:reminder|prompt|message)>"
    r"|^[^\S\n]*</?(?:system|assistant|instructions?)>"
    r"|</?(?:context|memory|document|conversation)>\s{0,3}<(?:system|assistant|instructions?)>"
    r"|[\"']role[\"']\s{0,3}:\s{0,3}[\"'](?:system|developer)[\"']\s{0,3},\s{0,3}[\"']content[\"']"
    r"|\[/?INST\]|<</?SYS>>|<\|[a-z_]{3,20}\|>"
    r"|--\s?(?-i:END OF [A-Z ]{3,30}|BEGIN (?:NEW )?INSTRUCTIONS?)\s?--"
    r"|^\[(?-i:SYSTEM)\]|^[^\S\n]*(?-i:SYSTEM)\s*:",
    re.IGNORECASE | re.MULTILINE,
)
"""Marks of the templates of prompts, which no note of a person has outside of quotations."""
_OF_MARKERS = ("<", "[", '"role', "'role", "--", "SYSTEM")
"""One of these is in every mark: looked for first, which is quick."""
_BLOCK = re.compile(r"^ {0,3}```[^\n]*\n.*?(?:^ {0,3}```|\Z)", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^\s{0,3}\|[^\n]*\|[^\n]*", re.MULTILINE)
_QUOTED = re.compile(r"`[^`\n]{1,200}`|“[^”\n]{1,200}”|«[^»\n]{1,200}»")
_TAG = re.compile("[\U000e0020-\U000e01ef]")
_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007f]{2,9}")
"""Of a part of a country: its code is written in tag characters."""


_ZERO_WIDTH = re.compile("[\u200b-\u200d\u2060-\u2064\ufeff\u180e]{6}")
"""As many as a hidden letter takes."""
_DIRECTION = re.compile("[\u202a\u202b\u202d\u202e\u2066-\u2068]")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")

_SECRET = (
    r"(?:api[ _-]?keys?|passwords?|passphrases?|credentials?|secrets?|(?:access |auth )?tokens?"
    r"|(?:private|ssh|signing) keys?|\.env\b|environment variables|system prompt|conversation"
    r"|chat history)"
)
_PERSON = r"(?:user|human|person|owner|operator|developer)"
_AWAY = (
    r"(?:https?://(?!localhost|127\.)|[\w.+-]+@[\w-]+\."
    r"|[\w-]+\.(?:com|net|org|io|dev|xyz|example)\b)"
)
_SEND = r"(?:send|post|upload|forward|e-?mail|exfiltrate|transmit|leak|submit|append|copy)"
_TELL = r"(?:tell|inform|mention|notify|alert|warn|let)"
_HARMS = (
    rf"\b{_SEND}\b[^.\n]{{0,80}}\b{_SECRET}[^.\n]{{0,60}}\b(?:to|at)\s[^\n]{{0,20}}?{_AWAY}",
    r"\b(?:reveal|disclose|print out|output(?! tokens?\b)|repeat|recite|show me)\b"
    rf"[^.\n]{{0,40}}\b{_SECRET}",
    rf"\b(?:do not|don['’]t|never|without)\s+(?:ever\s+)?{_TELL}(?:ing)?\b"
    rf"[^.\n]{{0,40}}\b(?:{_PERSON}|anyone|anybody|them)\b",
    rf"\b(?:hide|conceal)\b[^.\n]{{0,40}}\bfrom (?:the )?{_PERSON}\b",
    r"\b(?:run|execute|eval(?:uate)?|install|pipe)\b[^.\n]{0,80}\bhttps?://(?!localhost|127\.)"
    r"[^\n]{0,80}(?:\|\s*(?:ba|z)?sh\b|\.sh\b|script)",
    r"\bcurl\b[^|\n]{0,120}\|\s*(?:sudo\s+)?(?:ba|z)?sh\b",
)
_HARM = re.compile("|".join(_HARMS), re.IGNORECASE)
_words_needed = cache(words_needed)


def _may_match(patterns: Sequence[str], text: str) -> bool:
    """Whether a text has the words that one of the patterns needs: this is quick."""
    folded = fold(text)
    return any(may_match(_words_needed(pattern), folded) for pattern in patterns)


_AGENTS = r"(?:agents?|assistants?|AI|LLMs?|language model|Claude|Codex|Gemini|Copilot|ChatGPT|GPT)"
_FORGET = (
    r"\b(?:ignore|disregard|forget|override)\s+(?:(?:all|any|your|the)\s+){0,3}"
    r"(?:previous|prior|above|earlier|preceding|other|system)\s+"
    r"(?:instructions?|rules|messages|prompts?|guidelines)\b"
)
_TO_AN_AGENT = re.compile(
    rf"{_FORGET}|\b{_AGENTS}(?:\s+\w+){{0,4}}[,:]?\s+"
    r"(?:must|shall|should|please|always|will|needs? to|has to|have to|you)\b"
    r"|\b(?:to|for|dear|hey|attention|note to|instructions? for)\s+"
    rf"(?:(?:the|any|all|every|future|next|an?)\s+){{0,3}}(?:{_AGENTS}|model|sessions?)\b"
    r"|\b(?:you are|as) (?:an? )?(?:AI|assistant|agent|language model)\b"
    r"|\b(?:next|future|each|every|new) (?:agent|session|assistant)s?\b[^.\n]{0,30}"
    r"\b(?:must|shall|should|will)\b",
    re.IGNORECASE,
)
_ORDER = r"(?:must|shall|should|please|needs? to|has to|have to)\s+(?!not\b|never\b|be\b)\w"
_REQUESTS = (
    _FORGET,
    rf"\b{_AGENTS}(?:\s+\w+){{0,4}}[,:]?\s+{_ORDER}",
    r"\b(?:dear|hey|attention|(?:note|message) (?:to|for)|instructions? for)\s+"
    rf"(?:(?:the|any|all|every|future|next)\s+){{0,3}}(?:{_AGENTS}|model|sessions)\b",
    rf"\b(?:next|future|each|every|new) (?:agent|session|assistant)s?\b[^.\n]{{0,30}}\b{_ORDER}",
    r"\bin (?:all|every|each) (?:future |new |later )?(?:sessions?|conversations?|repl(?:y|ies)"
    r"|answers?|responses?)\b",
)
_REQUEST = re.compile("|".join(_REQUESTS), re.IGNORECASE)
"""What asks an agent for some act, harmful or not."""
_TOLD = re.compile(
    r"\b(?:injection|inject(?:ed|s)?|attack\w*|attempt\w*|malicious|phishing|suspicious|jailbreak\w*"
    r"|blocked|refused|rejected|detect\w*|reported|vulnerab\w*|example|e\.g\.|such as|if a|if an?y"
    r"|contain(?:s|ed)?|protect\w*|prevent\w*|guard\w*|warns? the)\b"
    r"|\b(?:says?|said|asked|wrote|reads?)\s*[:\"“]",
    re.IGNORECASE,
)
"""In a sentence that tells of an attack, or of what others say."""


def find_suspicions(text: str) -> tuple[str, ...]:
    """The reasons why a text, title and content of a memory, was made to mislead an agent.

    What is quoted, code in a block and the rows of a table tell about something: the marks in them
    are no reason.
    """
    found: tuple[str, ...] = ()
    shown = text
    if not text.isascii():
        if _TAG.search(_FLAG.sub("", text)) or _ZERO_WIDTH.search(text):
            found = (IN_TAGS,)
        if _DIRECTION.search(text) and not _RIGHT_TO_LEFT.search(text):
            found = (*found, REORDERED)
        shown = _without_unseen(text)
    is_marked = any(map(shown.__contains__, _OF_MARKERS))
    is_harm = _may_match(_HARMS, shown)
    if not (is_marked or is_harm):
        return found
    told = _QUOTED.sub(" ", _ROW.sub("", _BLOCK.sub("", shown)))
    if is_marked and MARKER.search(told):
        found = (*found, POSES)
    if is_harm and _asks_for_harm(told):
        found = (*found, ASKS_FOR_HARM)
    return found


def asks_an_agent(text: str) -> bool:
    """Whether a text asks an agent for an act: a person may, a page that an agent read may not.

    Quotations, code and tables tell about something, and a sentence may tell of an attack.
    """
    if not _may_match(_REQUESTS, text):
        return False
    told = _QUOTED.sub("`", _ROW.sub("", _BLOCK.sub("", text)))
    return any(
        not _TOLD.search(told, max(0, found.start() - 60), found.end() + 60)
        for found in _REQUEST.finditer(told)
    )


_DENIED = re.compile(r"\b(?:never|not|don['’]t)\s+(?:\w+\s+)?$")


def _asks_for_harm(text: str) -> bool:
    """Whether a paragraph addresses an agent and asks it for harm, and does not tell of one that
    did."""
    for paragraph in text.split("\n\n"):
        for harm in _HARM.finditer(paragraph):
            around = paragraph[max(0, harm.start() - 200) : harm.end() + 200]
            sentence = paragraph[max(0, harm.start() - 60) : harm.end()]
            is_denied = _DENIED.search(paragraph[: harm.start()])
            if _TO_AN_AGENT.search(around) and not _TOLD.search(sentence) and not is_denied:
                return True
    return False


def _without_unseen(text: str) -> str:
    """The text as a model reads it: full-width forms as plain ones, without unseen characters."""
    folded = unicodedata.normalize("NFKC", text)
    unseen = {each for each in set(folded) if unicodedata.category(each) in ("Cf", "Cs")}
    return "".join(each for each in folded if each not in unseen) if unseen else folded
