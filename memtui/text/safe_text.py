"""Make untrusted text safe to display: escape control and invisible characters, mask secrets.

Controls become their pictures (ESC is ␛), C1 controls and lone surrogates �, and invisible
characters (bidi marks, zero width, tag characters, blank letters) a `·`. Emoji sequences stay
whole. `mask_urls` hides the passwords and keys that people put into URLs.
"""

from __future__ import annotations

import re
from functools import lru_cache

from memtui.text.cells import GLUE, SEQUENCE, cut, has_glue, pad
from memtui.text.secrets import mask_secrets

LOST = "�"
"""Replaces C1 controls, surrogates, unassigned, private use and noncharacters."""
HIDDEN = "·"
"""Replaces a character that has no width or looks like a blank."""
TAB = "    "
"""Replaces a tab: terminals and Textual disagree on its width."""
BREAK = "⏎"
"""Replaces a line break in a single line."""

# str.isprintable() is true for these although a reader sees nothing (Unicode: default ignorable
# code points and blank letters), so the fast path has to search for them.
_INVISIBLE = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0000-\U000e0fff"
)
_SUSPECT = re.compile(f"[{_INVISIBLE}\U0001f3fb-\U0001f3ff]")
# Compiled with their first use, by `re`: this, `_NEWER`, `_GLUE_OR_SEQUENCE` and `_JOINERS`.
_HIDDEN_ONE = (
    f"[{_INVISIBLE}\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u200b-\u200f\u2028-\u202e"
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
_NEWER = (
    "[\U0001f6d8\U0001f6dc\U0001fa75-\U0001fa77\U0001fa87-\U0001fa8a\U0001fa8e\U0001fa8f"
    "\U0001faad-\U0001faaf\U0001fabb-\U0001fabf\U0001fac6\U0001fac8\U0001facd-\U0001facf"
    "\U0001fada-\U0001fadc\U0001fadf\U0001fae8-\U0001faea\U0001faef\U0001faf7\U0001faf8"
    "\U00020000-\U0002fffd\U00030000-\U0003fffd]"
)


_CACHED_BELOW = 0x20000
"""Code points below this one are cached; a text with every character must not fill the memory."""


class _Replacements(dict[int, str]):
    """What is shown for each code point, computed once for each that occurs."""

    def __missing__(self, code: int) -> str:
        shown = _replacement(chr(code))
        if code < _CACHED_BELOW:
            self[code] = shown
        return shown


def _replacement(char: str) -> str:
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
        return char  # depends on its neighbours: see `visible`
    if re.match(_HIDDEN_ONE, char):
        return HIDDEN
    if char.isprintable() or char in _SPACES or re.match(_NEWER, char):
        return char
    return LOST


_REPLACEMENTS = _Replacements()


_GLUE_OR_SEQUENCE = f"(?P<kept>{SEQUENCE})|[{''.join(sorted(GLUE))}]"


def _is_plain(text: str) -> bool:
    """Whether every character is shown as it is: the fast path, 0.1 µs for a line of ASCII."""
    return text.isprintable() and (text.isascii() or not _SUSPECT.search(text))


def visible(text: str) -> str:
    """Return the text as it is shown: `escaped`, and with secrets masked. Idempotent."""
    return escaped(mask_secrets(text))


def escaped(text: str) -> str:
    """Return the text with every character visible and without effect on the terminal.

    Newlines stay, CR LF counts as one, tabs become four spaces. Idempotent; never raises.
    """
    if _is_plain(text):
        return text
    shown = text.replace("\r\n", "\n").translate(_REPLACEMENTS)
    if has_glue(shown):
        shown = re.sub(_GLUE_OR_SEQUENCE, lambda found: found["kept"] or HIDDEN, shown)
    return shown


_JOINED_SCRIPTS = (
    "\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufefc"  # Arabic, Persian
    "\u0700-\u074f\u0900-\u0dff\u1000-\u109f\u1780-\u17ff\u1800-\u18af"  # Syriac, Indic, Khmer
)


_JOINERS = f"(?<=[{_JOINED_SCRIPTS}])[\u200c\u200d](?=[{_JOINED_SCRIPTS}]|$|\\s)"
"""Joiners within a word of a script that is written with them (Unicode, section 23.2)."""


@lru_cache(maxsize=_CACHED_BELOW)
def _is_shown(char: str) -> bool:
    """Whether a character is shown as it is, whatever stands beside it; or for a byte that is not
    UTF-8, which `LOST` shows and which is text of another encoding."""
    is_byte = "\udc80" <= char <= "\udcff"
    return char in "\t\n" or is_byte or (char not in GLUE and _REPLACEMENTS[ord(char)] == char)


def hidden_count(text: str) -> int:
    """Count the characters that are invisible or would act on the terminal.

    Joiners that the script of their word or an emoji needs are not counted.
    """
    if _is_plain(text.replace("\n", "").replace("\t", "")):
        return 0
    unusual = [char for char in set(text) if not _is_shown(char)]
    text = re.sub(_JOINERS, "", text.replace("\r\n", "\n"))
    count = sum(text.count(char) for char in unusual if _REPLACEMENTS[ord(char)] != char)
    if has_glue(text):
        shown = text.translate(_REPLACEMENTS)
        count += sum(match["kept"] is None for match in re.finditer(_GLUE_OR_SEQUENCE, shown))
    return count


def has_hidden(text: str) -> bool:
    """Whether `hidden_count(text) > 0`; fast for ordinary text."""
    return not _is_plain(text) and hidden_count(text) > 0


_TERMINAL_SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
"""A control sequence of ECMA-48, 5.4."""


def without_hidden(text: str) -> str:
    """Return the text without the characters that `hidden_count` counts; tabs and breaks stay.

    Of a terminal's sequence, such as one that sets a colour, all of it goes.
    """
    if not has_hidden(text):
        return text
    text = _TERMINAL_SEQUENCE.sub("", text)
    needed = {at for joiner in re.finditer(_JOINERS, text) for at in range(*joiner.span())}
    for match in re.finditer(_GLUE_OR_SEQUENCE, text):
        if match["kept"]:
            needed.update(range(*match.span()))
    return "".join(
        char
        for at, char in enumerate(text)
        if at in needed or (char == "\r" and text[at + 1 : at + 2] == "\n") or _is_shown(char)
    )


_SPACE = re.compile(r"\s{2,}|\n")
"""Matches each run of blanks once: `\\s*\\n\\s*` would scan a long one from each place."""
_BLANKS = re.compile(r"[ \u00a0]{2,}")


def one_line(text: str, most: int | None = None) -> str:
    """Return the visible text on one line: breaks as ` ⏎ `, runs of blanks as one.

    `most` characters are read only, since a list row needs no more of a long text.
    """
    if most is not None and len(text) > most:
        text = mask_secrets(text[: most + _SECRET_REACH])[:most]
    else:
        text = mask_secrets(text)
    return escaped_line(text)


def escaped_line(text: str) -> str:
    """As `one_line`, with secrets as they are: for a document that the person keeps."""
    if _is_plain(text):
        return _BLANKS.sub(" ", text).strip() if "  " in text else text.strip()
    return _SPACE.sub(_join_run, escaped(text).strip())


_SECRET_REACH = 300
"""How far beyond a cut the text is read, in characters, to recognise a secret that it divides."""
MAX_READ = 400
"""How much of a text is enough for a line of the screen, in characters."""


def cut_line(text: str, cells: int) -> str:
    """Return the visible text on one line, cut to at most so many cells; a long one is not read
    whole."""
    return cut(one_line(text, max(MAX_READ, 4 * cells)), cells)


def column(text: str, cells: int) -> str:
    """Return the visible text on one line, cut or padded to exactly so many cells."""
    return pad(cut_line(text, cells), cells)


def _join_run(run: re.Match[str]) -> str:
    return f" {BREAK} " if "\n" in run[0] else _BLANKS.sub(" ", run[0])


def file_name(path: str) -> str:
    """Return a path on one line; bytes that are not UTF-8 appear as `\\xff`."""
    path = mask_secrets(path)
    if path.isascii() and path.isprintable():
        return path
    named = "".join(
        f"\\x{ord(char) - 0xDC00:02x}" if "\udc80" <= char <= "\udcff" else char for char in path
    )
    return visible(named).replace("\n", "␊")


def without_lone_surrogates(text: str) -> str:
    """Return the text with U+FFFD for lone surrogates, so that it can be encoded as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


MASK = "***"
_LOGIN = re.compile(r"(?<=://)(?P<user>[^\s/?#:@]*)(?P<rest>[^\s/?#]*)@")
_KEY = re.compile(
    r"(?P<name>[?&](?:[\w-]*(?:key|token|secret|password|passwd|pwd|signature)|sig|auth)=)[^\s&#]+",
    re.IGNORECASE,
)


def mask_urls(text: str) -> str:
    """Return the text with the logins and keys of all URLs replaced by `***`."""
    if "://" not in text:
        return text
    return _KEY.sub(rf"\g<name>{MASK}", _LOGIN.sub(_mask_login, text))


def _mask_login(match: re.Match[str]) -> str:
    # A login without a colon is a token as often as a name.
    return f"{match['user']}:{MASK}@" if match["rest"].startswith(":") else f"{MASK}@"
