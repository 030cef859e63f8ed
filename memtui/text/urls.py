"""Addresses as they may be shown: without the passwords and keys that people put into them."""

from __future__ import annotations

import re

MASK = "***"
_LOGIN = re.compile(r"(?<=://)(?P<user>[^\s/?#:@]*)(?P<rest>[^\s/?#]*)@")
_KEY = re.compile(
    r"(?P<name>[?&](?:[\w-]*(?:key|token|secret|password|passwd|pwd|signature)|sig|auth)=)[^\s&#]+",
    re.IGNORECASE,
)


def masked(words: str) -> str:
    """The text, with the logins and keys of all URLs in it replaced by `***`."""
    if "://" not in words:
        return words
    return _KEY.sub(rf"\g<name>{MASK}", _LOGIN.sub(_hide, words))


def _hide(match: re.Match[str]) -> str:
    # A login without a colon is a token as often as a name.
    return f"{match['user']}:{MASK}@" if match["rest"].startswith(":") else f"{MASK}@"
