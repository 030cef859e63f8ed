"""Estimate how many tokens of a language model a text takes, without the model's own files."""

from __future__ import annotations

import math
import re

_PIECES = re.compile(
    r"(?P<word>[A-Za-z]+)|(?P<number>[0-9]+)|(?P<blank>\s+)"
    r"|(?P<mark>[\x21-\x7e])|(?P<other>[^\x00-\x7f]+)|."
)


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text; 0 for the empty text."""
    return math.ceil(len(text) / 4)
