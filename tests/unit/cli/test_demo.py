"""`memtui demo`: the story of the sample data, with its dates counted back from now."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memtui import paths, query
from memtui.cli.demo_story import (
    PROGRAMS,
    STORY,
    Shift,
    copy_story,
    shift_dates,
    turn_on_sessions,
)
from memtui.library import Library
from memtui.library.review import ReviewQueue
from memtui.paths import bundled_folder
from memtui.sessions.programs import chosen_sessions
from memtui.stores import registry
from memtui.tui.session_search import find_learned

SAMPLE_DATA = bundled_folder("sample-data")
END = datetime.fromisoformat(json.loads((SAMPLE_DATA / STORY).read_text("utf-8"))["end"])
NOT_COPIED = (STORY, "README.md", ".gitattributes")
BY = Shift(timedelta(days=40, hours=3), 40)


@pytest.fixture(params=["UTC", "America/Los_Angeles", "Asia/Tokyo"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


def open_story(place: Path, now: datetime) -> Library:
    copy_story(SAMPLE_DATA, place, now)
    roots = [root for _, root in registry.detect_within(place)]
    library = Library.open(roots, cache=None, now=lambda: now)
    library.load()
    return library


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("on 2026-11-20 and 2026-01-31", "on 2026-12-30 and 2026-03-12"),
        ("2026-11-20T22:30:00.125Z", "2026-12-31T01:30:00.125Z"),
        ("2026-11-20 15:12:00", "2026-12-30 18:12:00"),
        ("2026-11-12T08-40-11-Hx2q.md", "2026-12-22T11-40-11-Hx2q.md"),
        ("sessions/2026/11/12/rollout-2026-11-12T08-40-11-x", None),
        ('"timestamp": 1795119600000,', '"timestamp": 1798586400000,'),
        (
            "reverted in October, ends in December 2026",
            "reverted in November, ends in January 2027",
        ),
        ("2026-13-45, 2025-06, 019b1d42-7a10-7f35, 4000 0000, ADR 0014, maybe", "="),
    ],
)
def test_what_a_date_becomes(before: str, after: str | None) -> None:
    expected = before if after == "=" else after
    if expected is None:
        expected = "sessions/2026/12/22/rollout-2026-12-22T11-40-11-x"
    assert shift_dates(before, BY) == expected


def test_the_story_names_every_file_of_the_sample_data() -> None:
    named = json.loads((SAMPLE_DATA / STORY).read_text("utf-8"))["files"]
    found = [path.relative_to(SAMPLE_DATA) for path in SAMPLE_DATA.rglob("*") if path.is_file()]
    assert sorted(named) == sorted(str(path) for path in found if str(path) not in NOT_COPIED)


def test_at_its_own_end_the_story_is_copied_byte_for_byte(tmp_path: Path) -> None:
    copy_story(SAMPLE_DATA, tmp_path / "copy", END)
    for path in SAMPLE_DATA.rglob("*"):
        name = str(path.relative_to(SAMPLE_DATA))
        if path.is_file() and name not in NOT_COPIED and path.suffix != ".db":
            assert (tmp_path / "copy" / name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    "at", ["2027-03-28T01:10:00", "2026-12-31T23:40:00", "2028-02-29T12:00:00"]
)
def test_today_and_this_week_find_something(tmp_path: Path, zone: str, at: str) -> None:
    now = datetime.fromisoformat(at).replace(tzinfo=UTC)
    library = open_story(tmp_path / "copy", now)
    week = library.find(query.parse_query("since:7d", now)).total
    assert 60 < week < library.snapshot.count / 2
    assert library.find(query.parse_query("since:24h", now)).total >= 8
    times = [memory.updated or memory.created for memory in library.snapshot.rows]
    assert max(each for each in times if each) <= now + timedelta(days=1)
    assert not [state.unreadable for state in library.snapshot.stores if state.unreadable]


@pytest.mark.slow
def test_the_laptop_has_what_the_page_says(tmp_path: Path) -> None:
    library = open_story(tmp_path / "copy", END)
    page = (SAMPLE_DATA.parent / "docs" / "getting-started.md").read_text("utf-8")
    stores = len(library.stores)
    assert (
        f"{library.snapshot.count} memories of one developer's laptop, in {stores} stores" in page
    )
    kinds = {finding.kind for finding in library.check()}
    assert kinds == {"secret", "planted-text", "conflict"}


@pytest.mark.slow
def test_the_review_of_the_laptop_says_who_still_believes_in_the_old_port(tmp_path: Path) -> None:
    library = open_story(tmp_path / "copy", END)
    found = ReviewQueue(library).scan().proposals
    port = next(one for one in found if one.message == "port of shop-api")
    assert not port.is_hint
    stores = {value: set() for value in ("8080", "8081")}
    for each in port.says:
        stores[each.value].add(each.ref.partition(":")[0])
    assert stores["8080"] == {"codex"}
    assert stores["8081"] >= {"ambient", "agent-memory", "claude-code", "mcp-memory"}
    assert {one.kind for one in found[: found.index(port)]} == {"secret", "planted-text"}


@pytest.mark.slow
def test_its_sessions_taught_its_memories_in_each_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the person's own settings are copied, not changed."""
    own = tmp_path / "own"
    own.mkdir()
    (own / "config.toml").write_text('theme = "dawn"\n')
    monkeypatch.setenv(paths.CONFIG_VARIABLE, str(own))
    monkeypatch.setenv(paths.STATE_VARIABLE, str(tmp_path / "state"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"):
        monkeypatch.setenv(name, "")
    story = tmp_path / "laptop"
    library = open_story(story, datetime.now(UTC))
    turn_on_sessions(story, tmp_path)
    assert (own / "config.toml").read_text() == 'theme = "dawn"\n'
    assert 'theme = "dawn"' in paths.config_file().read_text()
    found = chosen_sessions()
    assert not found.unreadable
    assert len(found.sessions) >= 6
    assert {each.program for each in found.sessions} == set(PROGRAMS)
    for headline, kind in (
        ("Deploys", "written here"),
        ("Noor's finance contact", "written here"),
        ("Customers and carts on Drizzle", "recorded"),
        ("truncate in parallel", "looks like"),
    ):
        memory = next(
            memory
            for store in library.stores
            for memory in library.memories(store.label)
            if memory.headline.startswith(headline)
        )
        assert f": {kind}" in find_learned(memory, found.sessions, lambda: False).words, headline
