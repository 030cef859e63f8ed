"""Passwords and keys in addresses are not shown."""

from __future__ import annotations

import pytest

from memtui.errors import EmbeddingError
from memtui.text import mask_urls


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("http://ada:s3cret@host:80/api", "http://ada:***@host:80/api"),
        ("http://ada:s3@cret@host/", "http://ada:***@host/"),
        ("https://t0ken@host", "https://***@host"),
        ("http://:pw@host", "http://:***@host"),
        (
            "GET http://host/x?model=a&api_key=abc&y=1 failed",
            "GET http://host/x?model=a&api_key=***&y=1 failed",
        ),
        ("http://host/a@b?q=1", "http://host/a@b?q=1"),
        ("two: http://a:b@c and ftp://d:e@f", "two: http://a:***@c and ftp://d:***@f"),
        ("ada@example.org wrote to me", "ada@example.org wrote to me"),
    ],
)
def test_a_password_in_an_address_is_masked(words: str, shown: str) -> None:
    assert mask_urls(words) == shown
    assert mask_urls(shown) == shown


def test_no_error_shows_a_password() -> None:
    error = EmbeddingError(
        "no answer", where="http://ada:s3cret@host/api", do="see http://a:s3cret@b"
    )
    assert "s3cret" not in str(error)
