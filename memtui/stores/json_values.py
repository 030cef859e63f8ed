"""Values as a store's files have them: what is not of the kind that is asked for says nothing."""

from __future__ import annotations

import json
from typing import Any, TypeGuard


def text_of(value: object) -> str:
    """A value as text: a text itself, nothing for null, the JSON of anything else."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False)


def texts_of(value: object) -> tuple[str, ...]:
    """The texts in a list."""
    return tuple(item for item in list_of(value) if isinstance(item, str))


def lower_word(value: object) -> str:
    """A text without the blanks around it, in lower case."""
    return value.strip().lower() if isinstance(value, str) else ""


def list_of(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def is_number(value: object) -> TypeGuard[int | float]:
    """JSON's numbers only; to Python true is a number too."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def whole_number(value: object, otherwise: int = 0) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise
