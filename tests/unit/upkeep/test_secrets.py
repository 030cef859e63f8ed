"""Credentials are found and shown masked; what only looks like one is left alone (T23)."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from itertools import pairwise

import pytest
from msgspec.structs import replace

from memtui.changes import FileDiff, mask_diff
from memtui.model import Memory
from memtui.text.secrets import find_secrets
from memtui.upkeep.checks import check_text
from tests.growth import assert_straight

from .labelled_secrets import HONEST, REPORTED, TUNING, UPPER, measured_lines, secrets

FOUND, FALSE = 0.95, 0.01
"""At least, and at most, of the labelled lines."""


def test_the_labelled_lines(figures: Callable[[str], None]) -> None:
    labelled = secrets()
    missed = [
        line
        for _, secret, line in labelled
        if not any(_covers(line[s.start : s.end], secret) for s in find_secrets(line))
    ]
    false = [line for line in HONEST if list(find_secrets(line))]
    assert len(labelled) >= 60
    assert len(HONEST) >= 200
    assert len(labelled) - len(missed) >= FOUND * len(labelled), missed
    assert len(false) <= FALSE * len(HONEST), false
    figures(
        f"T23 secrets: {len(labelled) - len(missed)} of {len(labelled)} found,"
        f" {len(false)} of {len(HONEST)} honest lines named"
    )


@pytest.mark.parametrize("half", [TUNING, REPORTED])
def test_lines_by_another_hand(half: str, figures: Callable[[str], None]) -> None:
    """Half of them was never used for tuning: it is only counted."""
    lines = measured_lines(half)
    with_secrets = [text for is_secret, _, text in lines if is_secret]
    honest = [text for is_secret, _, text in lines if not is_secret]
    found = sum(any(find_secrets(text)) for text in with_secrets)
    false = sum(any(find_secrets(text)) for text in honest)
    assert found >= 0.9 * len(with_secrets)
    assert false <= 0.03 * len(honest)
    figures(
        f"secrets, {half}: {found} of {len(with_secrets)} found, "
        f"{false} of {len(honest)} honest lines named"
    )


def _covers(found: str, secret: str) -> bool:
    return secret in found or found in secret


def test_none_is_shown_whole() -> None:
    for _, secret, line in secrets():
        for found in find_secrets(line):
            assert len(found.masked) <= 7
            assert secret not in found.masked


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "JSON"])
def test_no_diff_shows_one(as_json: bool) -> None:
    """Neither in the lines that change nor in those around them."""
    rows = [(secret, line) for _, secret, line in secrets() if list(find_secrets(line))]
    key = "-----BEGIN OPENSSH PRIVATE KEY-----\n" + "b3BlbnNzaC1rZXktdjE\n" * 30
    rows.append(("b3BlbnNzaC1rZXktdjE", key + "-----END OPENSSH PRIVATE KEY-----"))
    for secret, line in rows:
        texts = [json.dumps(line) if as_json else line, "one", "two"]
        diff = FileDiff("f", "\n".join(texts), "\n".join([*texts[:2], "three"]))
        for shown in (diff, replace(diff, after=None), replace(diff, before=None)):
            masked = mask_diff(shown)
            assert secret not in f"{masked.before} {masked.after}"
            assert (masked.before is None, masked.after is None) == (
                shown.before is None,
                shown.after is None,
            )
            assert masked.before != masked.after


def test_a_change_within_a_secret_is_still_seen() -> None:
    before, after = (f"token: {'ghp_' + 'a1B2c3D4e5F6' * 2}{each}a1B2c3D4e5F6" for each in "xy")
    masked = mask_diff(FileDiff("f", before, after))
    assert masked.before != masked.after


def test_each_is_found_once_and_where_it_stands() -> None:
    rows = [line for _, _, line in secrets()]
    whole = " ;\n".join(rows)
    spans = [(found.start, found.end) for found in find_secrets(whole)]
    assert len(spans) >= FOUND * len(rows)
    assert spans == sorted(spans)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))


@pytest.mark.parametrize(
    ("begin", "piece", "end"),
    [
        ("", "a", ""),
        ("", "password: ", ""),
        ("https://", "a:", ""),
        ("", "ghp_", ""),
        ("", "\u200d", ""),
        ("eyJ", "a", "."),
    ],
    ids=["one letter", "names only", "colons", "beginnings", "joiners", "half a token"],
)
def test_no_text_takes_long(begin: str, piece: str, end: str) -> None:
    assert_straight(
        lambda size: list(find_secrets(begin + piece * (size // len(piece)) + end)), 100_000
    )


def test_the_kind_is_named() -> None:
    key = "AKIA" + "".join(random.Random(5).choices(UPPER, k=16))
    (found,) = find_secrets(f"the nightly job logs in with {key}, then leaves")
    assert (found.what, found.masked) == ("AWS access key", f"AKIA…{key[-1]}")


def test_the_name_of_a_function_is_no_random_value() -> None:
    rules = {
        text: check_text(Memory("s:1", "1", "s", "fact", content=text)).secret_rule
        for text in (
            "PublicToken = Convert.ToBase64String(bytes)",
            "PublicToken = Qx7vLm2ZpR9tKw4s",
        )
    }
    assert list(rules.values()) == ["named-secret", "random-secret"]
