"""A mask hides at least three quarters of a secret, and changes nothing else of a text."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui import text
from memtui.changes import FileDiff, mask_diff
from memtui.insight.comparison import diff_words
from memtui.text import secrets
from tests.secrets_for_tests import PLANTED, PRIVATE_KEY, TOKEN, is_shown
from tests.unit.upkeep.labelled_secrets import secrets as labelled_secrets

WORDS = st.sampled_from(
    [
        *PLANTED.values(),
        "the ledger is in cents",
        "password:",
        "token",
        '{"api_key": "',
        "hunter2-Xy9",
        "\n",
        " ",
        "•••",
        "***",
        "https://u:",
        "@h.org/",
        "\\n",
        'passphrase \\"',
    ]
)


@pytest.fixture(autouse=True)
def masked() -> Iterator[None]:
    yield
    text.reveal_secrets(False)


def test_at_most_a_quarter_is_shown_and_nothing_of_a_short_one() -> None:
    for length in range(1, 200):
        secret = "".join(random.Random(length).choices("abcXYZ0189", k=length))
        for masked in (secrets.mask_secret(secret), secrets._dots(secret)):
            shown = masked.replace("…", "").replace(secrets.DOT, "")
            assert len(shown) <= length / 4
            assert not shown or length >= 12


def test_every_labelled_secret_is_masked() -> None:
    for _, secret, line in labelled_secrets():
        assert secret not in text.visible(line), line


@pytest.mark.parametrize("secret", PLANTED)
def test_a_secret_is_masked_however_it_is_shown(secret: str) -> None:
    line = PLANTED[secret]
    for shown in (
        text.visible(line),
        text.one_line(line),
        text.cut_line(line, 60),
        text.column(line, 60),
        text.mask_secrets(line),
    ):
        assert not is_shown(secret, shown)
    text.reveal_secrets(True)
    assert secret in text.visible(line)
    with text.masked_always():
        assert not is_shown(secret, text.visible(line))


@given(st.lists(WORDS, max_size=12).map("".join))
def test_a_mask_keeps_length_and_lines_and_is_final(words: str) -> None:
    masked = text.mask_secrets(words)
    assert len(masked) == len(words)
    assert [at for at, c in enumerate(masked) if c == "\n"] == [
        at for at, c in enumerate(words) if c == "\n"
    ]
    assert text.mask_secrets(masked) == masked
    assert text.visible(text.visible(words)) == text.visible(words)
    for before, after in zip(words, masked, strict=True):
        assert after in (before, secrets.DOT)


@given(st.lists(WORDS, max_size=8).map("".join))
def test_looking_only_where_a_hint_is_loses_nothing(words: str) -> None:
    if any(secrets.find_secrets(words)):
        assert secrets.has_secret(words)


def test_a_long_text_is_masked_everywhere() -> None:
    plain = "The ledger is in cents and is closed on Fridays.\n" * 300
    whole = plain.join(["", *PLANTED.values(), ""])
    masked = text.mask_secrets(whole)
    assert not any(is_shown(secret, masked) for secret in PLANTED)
    assert masked.count("\n") == whole.count("\n")
    assert plain in masked


def test_a_value_beside_the_name_of_a_secret_is_masked() -> None:
    record = {"password": "qX7!mZ", "note": "qX7 is a car", "in": [{"api_key": TOKEN}]}
    masked = text.mask_record(record)
    assert masked["password"] == "••••••"
    assert masked["note"] == record["note"]
    assert not is_shown(TOKEN, str(masked))


def test_a_diff_of_another_secret_says_that_it_changes() -> None:
    before, after = "a\npassword: qX7!mZ\nb", "a\npassword: wP4?kT\nb"
    shown = mask_diff(FileDiff("f", before, after))
    assert shown.before != shown.after
    assert "qX7" not in f"{shown}"
    pieces = diff_words(before, after)
    assert {kind for kind, _ in pieces} == {"same", "gone", "new"}
    assert not any(word in piece for word in ("qX7", "wP4") for _, piece in pieces)


def test_an_excerpt_of_a_private_key_is_masked() -> None:
    line = PRIVATE_KEY.split("\n")[2]
    passage = text.find_passage(PRIVATE_KEY, ["AAAAEbm9uZQ"])
    assert passage is not None
    assert line[4:20] not in text.excerpt(PRIVATE_KEY, passage, ["AAAAEbm9uZQ"], 80)
