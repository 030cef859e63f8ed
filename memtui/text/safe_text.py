"""Nothing in a memory may act on the terminal or hide from the reader: show it as a sign.

Controls become their pictures (ESC is ␛), C1 controls and lone surrogates �, and what takes no
room (bidi marks, zero width, tag characters, blank letters) a `·`. Emoji sequences stay whole.
"""

from __future__ import annotations

import re

from memtui.text.cells import KEPT_BELOW
from memtui.text.emoji import GLUE, SEQUENCE, has_glue

LOST = "�"
"""Stands for what has no picture: C1, surrogates, unassigned, private use, noncharacters."""
HIDDEN = "·"
"""Stands for a character that would take no room or look like a blank."""
TAB = "    "
"""A tab has no width that a terminal and Textual agree on."""
BREAK = "⏎"
"""Stands for a line break where there is only one line."""

# str.isprintable() calls these printable although a reader sees nothing (Unicode: default
# ignorable code points and blank letters), so the fast path has to look for them.
_UNSEEN = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0000-\U000e0fff"
)
_SUSPECT = re.compile(f"[{_UNSEEN}\U0001f3fb-\U0001f3ff]")
_UNSEEN_ONE = re.compile(f"[{_UNSEEN}]")
_FORMAT = re.compile(
    "[\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\ufeff\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001345f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a]"
)
# Spaces of other widths are not "printable" for Python, yet they are what they look like.
_SPACES = frozenset(
    "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u202f\u205f\u3000"
)
# Assigned or reserved for wide characters after Unicode 14, which is what Python 3.11 knows:
# newer emoji, and the two planes of CJK ideographs.
_NEWER = re.compile(
    "[\U0001f6d8\U0001f6dc\U0001fa75-\U0001fa77\U0001fa87-\U0001fa8a\U0001fa8e\U0001fa8f"
    "\U0001faad-\U0001faaf\U0001fabb-\U0001fabf\U0001fac6\U0001fac8\U0001facd-\U0001facf"
    "\U0001fada-\U0001fadc\U0001fadf\U0001fae8-\U0001faea\U0001faef\U0001faf7\U0001faf8"
    "\U00020000-\U0002fffd\U00030000-\U0003fffd]"
)


class _Signs(dict[int, str]):
    """Code point -> what is shown for it; worked out once for each code point that is met."""

    def __missing__(self, code: int) -> str:
        sign = _sign(chr(code))
        if code < KEPT_BELOW:
            self[code] = sign
        return sign


def _sign(char: str) -> str:
    code = ord(char)
    if char == "\n":
        return char
    if char == "\t":
        return TAB
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if char in GLUE:
        return char  # judged with its neighbours, in _glue
    if _UNSEEN_ONE.match(char) or _FORMAT.match(char):
        return HIDDEN
    if char.isprintable() or char in _SPACES or _NEWER.match(char):
        return char
    return LOST


_SIGNS = _Signs()
_GLUE_OR_SEQUENCE = re.compile(f"(?P<kept>{SEQUENCE})|[{''.join(sorted(GLUE))}]")


def _glue(match: re.Match[str]) -> str:
    return match["kept"] or HIDDEN


def _is_plain(text: str) -> bool:
    """Every character is shown as it is: the fast path, about 0.1 µs for a line of ASCII."""
    return text.isprintable() and (text.isascii() or not _SUSPECT.search(text))


def visible(text: str) -> str:
    """The text as it may be shown: each character acts on nothing and can be seen.

    Newlines stay, CR LF counts as one, tabs become four spaces. Idempotent; never raises.
    """
    if _is_plain(text):
        return text
    shown = text.replace("\r\n", "\n").translate(_SIGNS)
    if has_glue(shown):
        shown = _GLUE_OR_SEQUENCE.sub(_glue, shown)
    return shown


_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def hidden_count(text: str) -> int:
    """How many characters of the text a reader would not have seen, or would have seen act."""
    if _is_plain(text):
        return 0
    text = text.replace("\r\n", "\n")
    if text.isascii():
        return len(_CONTROLS.findall(text))
    count = sum(_SIGNS[ord(char)] != char for char in text) - text.count("\t")
    if has_glue(text):
        shown = text.translate(_SIGNS)
        count += sum(match["kept"] is None for match in _GLUE_OR_SEQUENCE.finditer(shown))
    return count


def has_hidden(text: str) -> bool:
    """`hidden_count(text) > 0`, as fast as can be for ordinary text."""
    return not _is_plain(text) and hidden_count(text) > 0


_SPACE = re.compile(r"\s{2,}|\n")
"""Each run of blanks is taken once: `\\s*\\n\\s*` would look through a long one from each place."""
_BLANKS = re.compile(r"[ \u00a0]{2,}")


def one_line(text: str, most: int | None = None) -> str:
    """The visible text on one line: breaks as ` ⏎ `, runs of blanks as one.

    `most` looks at the first so many characters only: a list row needs no more of a long text.
    """
    if most is not None and len(text) > most:
        text = text[:most]
    if _is_plain(text):
        return _BLANKS.sub(" ", text).strip() if "  " in text else text.strip()
    return _SPACE.sub(_joint, visible(text).strip())


def _joint(run: re.Match[str]) -> str:
    return f" {BREAK} " if "\n" in run[0] else _BLANKS.sub(" ", run[0])


def file_name(path: str) -> str:
    """A path on one line; bytes of a name that are not UTF-8 appear as `\\xff`."""
    if path.isascii() and path.isprintable():
        return path
    named = "".join(
        f"\\x{ord(char) - 0xDC00:02x}" if "\udc80" <= char <= "\udcff" else char for char in path
    )
    return visible(named).replace("\n", "␊")


# Letters of the two alphabets that look like a Latin one in most fonts (Unicode confusables).
_CYRILLIC = "аАВеЕЅѕіІјЈкКМНоОрРсСТуУхХԁԛԝһҺӏ"
_GREEK = "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧοναιρυ"
_ALIKE = re.compile(f"[{_CYRILLIC}{_GREEK}]")
_WORD = re.compile(r"[^\W\d_]{3,}")
_LATIN = re.compile("[A-Za-z]")


def mixed_scripts(text: str) -> tuple[str, ...]:
    """The words of a visible text in which letters of two alphabets pose as one, each once.

    A badge to look twice, not a verdict: words in one alphabet are never named.
    """
    if text.isascii() or not _ALIKE.search(text):
        return ()
    words = (word for word in _WORD.findall(text) if _ALIKE.search(word) and _LATIN.search(word))
    return tuple(dict.fromkeys(words))


def without_lone_surrogates(words: str) -> str:
    """The text with every half of a character as U+FFFD: it can be encoded as UTF-8."""
    try:
        words.encode()
    except UnicodeEncodeError:
        return words.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return words


MASK = "***"
_LOGIN = re.compile(r"(?<=://)(?P<user>[^\s/?#:@]*)(?P<rest>[^\s/?#]*)@")
_KEY = re.compile(
    r"(?P<name>[?&](?:[\w-]*(?:key|token|secret|password|passwd|pwd|signature)|sig|auth)=)[^\s&#]+",
    re.IGNORECASE,
)


def mask_urls(words: str) -> str:
    """The text, with the logins and keys of all URLs in it replaced by `***`."""
    if "://" not in words:
        return words
    return _KEY.sub(rf"\g<name>{MASK}", _LOGIN.sub(_hide, words))


def _hide(match: re.Match[str]) -> str:
    # A login without a colon is a token as often as a name.
    return f"{match['user']}:{MASK}@" if match["rest"].startswith(":") else f"{MASK}@"
