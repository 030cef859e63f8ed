"""A person's rating from 1 to 5, and the importance it stands for."""

from __future__ import annotations

from memtui.stores.native import is_number

HIGH, MEDIUM = 4, 3
"""The lowest rating that means high, and that means medium."""

RATING_OF = {"high": 5, "medium": 3, "low": 1}
"""What is kept when a person chooses an importance that the store's format cannot hold."""


def rated(rating: object) -> str:
    """High, medium or low; empty when there is no rating."""
    if not is_number(rating) or rating != rating:
        return ""
    return "high" if rating >= HIGH else "medium" if rating >= MEDIUM else "low"
