"""Words that look like others: Cyrillic or Greek letters among Latin ones (`pаypal`)."""

from __future__ import annotations

import re

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
