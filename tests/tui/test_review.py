"""The review queue on the screen, over real stores."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from memtui import child_processes
from memtui.changes import Act, Change
from memtui.config import LanguageModel, Settings
from memtui.journal import Author
from memtui.library import Library
from memtui.library import review as library_review
from memtui.library.agent_proposals import AgentProposals, make_proposal
from memtui.library.review import ReviewQueue
from memtui.library.review_files import Queue
from memtui.model import Memory
from memtui.progress import Cancelled, IsCancelled, Progress
from memtui.query import TimeCondition
from memtui.testing.fixtures import contents
from memtui.tui import review as controllers_review
from memtui.tui.dialogs.diff import ConflictScreen, DiffScreen
from memtui.tui.review import (
    ProposalDetail,
    ProposalTextScreen,
    ReviewScreen,
    SendScreen,
    proposal_lines,
)
from memtui.tui.unreadable import UnreadablePage
from memtui.upkeep.proposals import RULES, ProposalKind, badges_of, propose

from .sample_stage import changing
from .stage import NOW, Stage, compare, fact, stage, write_store

FACTS = {
    "people/alice": [
        fact(1, "Alice works at Lumen Systems in the Porto office", "2026-01-02"),
        fact(2, "Alice works at Lumen Systems in the Porto office now", "2026-03-02"),
        fact(3, "Alice lives in Braga with two cats", "2026-02-10", "person"),
        fact(4, "Alice lives in Porto near the river", "2026-06-12", "person"),
    ],
    "shop": [
        fact(5, "We chose Postgres for the ledger of the shop", "2026-02-14", "decision"),
        fact(6, "The ledger of the shop moved from Postgres to SQLite", "2026-05-14", "decision"),
        fact(7, "The [bold]sign[/bold] says\u202e hello", "2026-05-15", "fact"),
    ],
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_store(tmp_path / "home", FACTS)


@pytest.fixture
async def on(root: Path, tmp_path: Path) -> AsyncIterator[Stage]:
    async with stage(root, (120, 35), state=tmp_path / "state", toasts=True) as running:
        await running.press("V")
        await review(running)
        yield running


async def review(on: Stage) -> ReviewScreen:
    """The review screen on top, with nothing left to find out."""
    scan = on.browse.editing.review
    await on.until(
        lambda: isinstance(on.app.screen, ReviewScreen) and not scan.is_scanning,
        "the review screen comes to rest",
    )
    screen = on.app.screen
    assert isinstance(screen, ReviewScreen)
    return screen


def titles(on: Stage) -> list[str]:
    controller = on.browse.editing.review
    assert controller.queue is not None
    return [one.title for one in controller.queue.proposals]


async def unfold(on: Stage) -> None:
    """Open the housekeeping."""
    screen = await review(on)
    screen._list.go(next(at for at, row in enumerate(screen._list.rows) if row.store))
    await on.press("enter")
    await review(on)


async def select(on: Stage, words: str) -> None:
    """Put the cursor on a finding, with the hints shown."""
    screen = await review(on)
    if not screen._shows_hints:
        await on.press("t")
    rows = screen._list.rows
    at = next(i for i, row in enumerate(rows) if row.proposal and words in row.proposal.title)
    screen._list.go(at)
    await on.settle()


@pytest.mark.slow
async def test_the_status_line_counts_what_waits_and_leads_to_it(root: Path) -> None:
    async with stage(root, (80, 24)) as on:
        await on.sees("1 disagree")
        before = contents(root)
        await on.press("V")
        await review(on)
        assert "Who says otherwise" in on.text()
        assert "Duplicates" not in on.text(), "a hint"
        await on.press("t")
        assert "Duplicates" in on.text()
        assert contents(root) == before
        await on.press("escape")
        await on.sees("1 disagree")


@pytest.mark.parametrize("by", ["an agent", "another program"])
async def test_what_comes_during_the_first_scan_is_found(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    begun, may_end, scan = threading.Event(), threading.Event(), ReviewQueue.scan

    def scan_late(*given: Any) -> Queue:
        found = scan(*given)
        begun.set()
        may_end.wait()
        return found

    monkeypatch.setattr(ReviewQueue, "scan", scan_late)
    monkeypatch.setattr(controllers_review, "RESCAN_AFTER", 0.01)
    monkeypatch.setattr(controllers_review, "LOOK_EVERY", 0.01)
    opened = lambda: Library.open([root], state=tmp_path / "state", now=lambda: NOW)  # noqa: E731
    async with stage(root, open_library=opened) as on:
        try:
            await on.until(begun.is_set, "the scan begins", is_working=True)
            library = on.browse.worker.library
            assert library is not None
            if by == "an agent":
                change = Change(
                    Act.RETIRE, library.stores[0].label, next(iter(library.snapshot.slot_of))
                )
                made = make_proposal(Author("codex", "1", "s"), change, "it is stale", library)
                AgentProposals(tmp_path / "state").add(made, ReviewQueue(library).decisions)
            else:
                text = "We chose Postgres for the ledger of the shop again"
                added = fact(8, text, "2026-02-15", "decision")
                write_store(tmp_path / "home", {"shop": [*FACTS["shop"], added]})
                await refreshed(on)
            await asyncio.sleep(0.1)  # it is noticed now
        finally:
            may_end.set()
        expected = "it is stale" if by == "an agent" else "again"
        await on.until(
            lambda: expected in str(on.browse.editing.review.queue), f"{expected} is found"
        )


async def test_what_is_found_while_the_dialog_opens_is_shown(root: Path) -> None:
    """A scan after a change ended between `V` and the widgets of the dialog: a fault."""
    async with stage(root, (80, 24)) as on:
        await on.still()
        controller = on.browse.editing.review
        controller._open()
        controller._show(controller.queue)
        controller._scanned(controller.queue)
        controller._dialog.if_open(controller._dialog.show_queue)(controller.queue)
        await review(on)
        assert on.app.fault is None
        assert "Who says otherwise" in on.text()


@pytest.mark.slow
async def test_a_memory_with_a_finding_has_a_sign_that_leads_to_it(root: Path) -> None:
    async with stage(root, (120, 35)) as on:
        await on.still()
        memories = on.browse.memories
        rows = [
            at for at in range(memories.line_count()) if memories._rows[int(memories.slots[at])]
        ]
        of = {memories._rows[int(memories.slots[at])].content: at for at in rows}
        memories.go(of["Alice lives in Braga with two cats"])
        shown = await on.still()
        signed = [line for line in shown.split("\n") if "◇ !" in line or "! Who says" in line]
        assert any("Braga" in line for line in signed)
        assert "! Who says otherwise: both" in shown
        await on.press("V")
        screen = await review(on)
        row = screen._list.current
        assert row is not None
        assert row.proposal is not None
        assert on.browse.detail.memory is not None
        assert on.browse.detail.memory.ref in row.proposal.refs


async def test_hidden_characters_are_named_once(root: Path) -> None:
    async with stage(root, (120, 35)) as on:
        on.browse.set_text("hello")
        await on.sees("◇ !")
        assert on.text().count("hidden character") == 1


async def test_what_an_entity_lacks_is_no_sign_on_its_memories() -> None:
    (one, *_) = memories_of_a_branch = [
        Memory(ref=f"s:{n}", id=str(n), store="s", kind="event", content="x") for n in range(2)
    ]
    compaction = propose(ProposalKind.COMPACTION, memories_of_a_branch, "drop 2", "83 events")
    secret = propose(ProposalKind.SECRET, [one], "password: ab…c: x", "why", also="password: ab…c")
    assert badges_of([compaction, secret]) == {"s:0": ["Secrets: password: ab…c"]}


@pytest.mark.slow
async def test_accept_writes_and_undo_gives_the_same_bytes(
    on: Stage, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(root)
    await select(on, "Alice works")
    await on.press("a")
    await review(on)
    assert contents(root) != before
    assert not [title for title in titles(on) if "Alice works" in title]
    monkeypatch.setattr(controllers_review, "RESCAN_AFTER", 3600.0)
    await on.press("u")
    await review(on)
    assert contents(root) == before
    assert "2 hints" in on.text(), "the count too, at once"
    assert [title for title in titles(on) if "Alice works" in title]


@pytest.mark.slow
async def test_what_is_scanned_while_the_past_is_shown_can_be_accepted(
    on: Stage, root: Path
) -> None:
    before, worker, scan = contents(root), on.browse.worker, on.browse.editing.review
    await on.press("escape")
    on.app.acts.start(on.browse.insight.go_to(TimeCondition("2026-11-01", NOW)))
    await on.until(lambda: worker.past is not None, "the past is shown")
    scan.use_settings()
    await on.until(lambda: not scan.is_scanning, "the scan ends")
    on.browse.insight.leave_past()
    await on.press("V")
    await review(on)
    await select(on, "Alice works")
    await on.press("a")
    await on.until(lambda: contents(root) != before, "it is accepted")


@pytest.mark.slow
async def test_undo_and_redo_on_the_list_scan_at_once_what_was_accepted(
    on: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    await select(on, "lives in")
    await on.press("a")
    await review(on)
    await on.until(lambda: "1 disagrees" not in on.text(), "it is not counted")
    monkeypatch.setattr(controllers_review, "RESCAN_AFTER", 3600.0)
    await on.press("escape", "u")
    await on.sees("1 disagrees")
    await on.press("ctrl+r")
    await on.until(lambda: "1 disagrees" not in on.text(), "it is not counted again")


@pytest.mark.slow
async def test_a_small_screen_names_the_key_that_shows_the_proposal(on: Stage) -> None:
    await select(on, "Alice works")
    await on.resize(40, 12)
    await on.sees("space whole")
    await on.press("space")
    await on.sees("space queue")
    await on.resize(80, 24)
    await on.sees("a accept")
    assert "1 finding\n" not in on.text(), "the queue gives the proposal its room"
    await on.press("space")
    await on.sees("Who says otherwise")


@pytest.mark.slow
async def test_a_group_is_accepted_after_a_preview(on: Stage, root: Path) -> None:
    before = contents(root)
    await select(on, "lives in")
    await on.press("A")
    assert isinstance(on.app.screen, DiffScreen)
    await on.press("escape")
    await review(on)
    assert contents(root) == before
    await on.press("A", "enter")
    await review(on)
    assert contents(root) != before
    assert not [title for title in titles(on) if "lives in" in title]


@pytest.mark.slow
async def test_a_declined_finding_stays_away_and_is_counted(on: Stage) -> None:
    await select(on, "lives in")
    await on.press("x")
    await review(on)
    await on.press("f5")
    await review(on)
    assert not [title for title in titles(on) if "lives in" in title]
    assert "1 declined" in on.text()
    await select(on, "Alice works")
    await on.press("s")
    await review(on)
    assert "1 snoozed" in on.text()


@pytest.fixture
async def proposed(root: Path, tmp_path: Path) -> AsyncIterator[Stage]:
    """The review of three proposals of an agent; the second writes a token, the third hides."""
    async with stage(root, (120, 35), state=tmp_path / "state", toasts=True) as running:
        library = running.browse.worker.library
        assert library is not None
        label = library.stores[0].label
        for content in ("oat milk", f"the key ghp_{'A1b2C3d4E5f6' * 3}", "hid\u200bden milk"):
            change = Change(
                Act.ADD, label, "", {"content": f"Alice likes {content}", "entity": "people/alice"}
            )
            made = make_proposal(Author("codex", "1", "s"), change, "she said so", library)
            AgentProposals(tmp_path / "state").add(made, ReviewQueue(library).decisions)
        await running.press("V")
        await running.sees("Proposed by agents")
        await review(running)
        yield running


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "warning"), [("the key", "secret: "), ("milk", "1 hidden character")]
)
async def test_what_memtui_warns_of_is_not_accepted_by_one_key(
    proposed: Stage, root: Path, words: str, warning: str
) -> None:
    before = contents(root)
    screen = await review(proposed)
    at = next(
        number
        for number, row in enumerate(screen._list.rows)
        if row.proposal and words in row.proposal.title and "oat" not in row.proposal.title
    )
    screen._list.go(at)
    await proposed.settle()
    shown = proposed.text()
    assert f"! {warning}" in shown
    assert any("  ! add:" in line for line in shown.splitlines())
    await proposed.press("a")
    assert isinstance(proposed.app.screen, DiffScreen)
    assert warning in proposed.text()
    await proposed.press("a", "escape")
    assert contents(root) == before
    await proposed.press("a", "enter")
    await review(proposed)
    assert contents(root) != before


@pytest.mark.slow
async def test_what_is_harmless_is_accepted_by_one_key(proposed: Stage, root: Path) -> None:
    before = contents(root)
    await select(proposed, "oat milk")
    await proposed.press("a")
    await review(proposed)
    assert contents(root) != before


@pytest.mark.slow
@pytest.mark.parametrize(("key", "word"), [("x", "decline"), ("s", "snooze")])
async def test_a_group_is_put_aside_after_a_question(proposed: Stage, key: str, word: str) -> None:
    count = len(titles(proposed))
    screen = await review(proposed)
    screen._list.go(next(at for at, row in enumerate(screen._list.rows) if row.group == "agent"))
    await proposed.press(key)
    assert f"{word.capitalize()} 3 findings?" in proposed.text()
    assert "oat milk" in proposed.text()
    await proposed.press("escape")
    await review(proposed)
    assert len(titles(proposed)) == count
    await proposed.press(key, "y")
    await review(proposed)
    assert len(titles(proposed)) == count - 3


@pytest.mark.slow
async def test_the_cursor_stays_in_the_group_and_is_never_on_a_heading(proposed: Stage) -> None:
    def current() -> str:
        assert isinstance(proposed.app.screen, ReviewScreen)
        row = proposed.app.screen._list.current
        assert row is not None
        assert row.proposal is not None, "a heading"
        return row.proposal.title

    agents = [title for title in titles(proposed) if "likes" in title]
    others = [title for title in titles(proposed) if title not in agents]
    await select(proposed, agents[1])
    await proposed.press("x")
    await review(proposed)
    assert current() == agents[2], "the next of its group"
    await proposed.press("x")
    await review(proposed)
    assert current() == agents[0], "the one before, where none follows"
    await proposed.press("x")
    await review(proposed)
    assert current() == others[-1], "the nearest, where none is left"
    await select(proposed, others[-1])
    await proposed.press("x")
    await review(proposed)
    assert current() in others


@pytest.mark.slow
async def test_undo_opens_again_what_was_declined_last(on: Stage, root: Path) -> None:
    await select(on, "Alice works")
    await on.press("a")
    await review(on)
    accepted = contents(root)
    await select(on, "lives in")
    await on.press("x")
    await on.press("u")
    await review(on)
    assert [title for title in titles(on) if "lives in" in title]
    assert contents(root) == accepted, "not the older change"
    await on.press("u")
    await review(on)
    assert contents(root) != accepted


def test_findings_of_one_kind_are_one_line_of_the_memory() -> None:
    memory = Memory(ref="s:1", id="1", store="s", kind="event", content="x")
    found = [propose(ProposalKind.BROKEN_LINK, [memory], f"{at}: x", "", also=at) for at in "ab"]
    assert badges_of(found) == {"s:1": ["Broken links: a; b"]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dates", "lengths", "kept", "why"),
    [
        (("2026-01-02", "2026-03-02"), (" now", ""), 2, "the newest text stays"),
        (("2026-03-02", "2026-01-02"), ("", " now"), 1, "the newest text stays"),
        (("2026-03-02", "2026-03-02"), ("", " now"), 2, "the longest text stays"),
        (("2026-03-02", "2026-03-02"), (" now", ""), 1, "the longest text stays"),
    ],
)
async def test_of_two_that_say_the_same_the_better_text_stays_and_is_named(
    tmp_path: Path, dates: tuple[str, str], lengths: tuple[str, str], kept: int, why: str
) -> None:
    words = "Alice works at Lumen Systems in the Porto office"
    facts = [
        fact(number, f"{words}{more}", date)
        for number, (date, more) in enumerate(zip(dates, lengths, strict=True), start=1)
    ]
    root = write_store(tmp_path / "home", {"people/alice": facts})
    async with stage(root, state=tmp_path / "state") as on:
        await on.press("V")
        await select(on, "Alice works")
        assert why in " ".join(on.text().split())
        await on.press("a")
        await review(on)
        library = on.browse.worker.library
        assert library is not None
        (active,) = [m for m in library.memories("agent-memory") if m.status == "active"]
        assert active.content == facts[kept - 1]["content"]


async def test_the_source_of_a_rule_is_named_once(root: Path) -> None:
    memory = Memory(ref="s:1", id="1", store="s", kind="event", content="x")
    source = RULES[ProposalKind.EXPIRY].source
    async with stage(root) as on:
        for reason in (f"archived for more than 7 days ({source})", "archived"):
            found = propose(ProposalKind.EXPIRY, [memory], "remove", reason)
            lines = proposal_lines(found, ProposalDetail(), on.app.palette, 200)
            assert str(lines).count(source) == 1


@pytest.mark.slow
async def test_the_text_is_edited_before_it_is_accepted(on: Stage, root: Path) -> None:
    await select(on, "Alice works")
    await on.press("e")
    await on.press("end")
    await on.type(" since May")
    await on.press("ctrl+s")
    assert isinstance(on.app.screen, DiffScreen)
    assert "since May" in on.text()
    await on.press("enter")
    await review(on)
    assert b"now since May" in b"".join(contents(root).values())


@pytest.mark.slow
async def test_an_edited_text_is_kept_until_it_is_accepted(on: Stage, root: Path) -> None:
    """Also when another program changes the memory meanwhile, and when the preview is left."""
    await select(on, "Alice works")
    await on.press("e", "end")
    await on.type(" since May")
    on.browse.worker.end_watching()  # the change is not read before the text is saved
    on.browse.worker.refresh()
    await on.settle()
    file = root / "entities/people-alice/items.json"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("office now", "head office now"), encoding="utf-8")
    await on.press("ctrl+s")
    assert isinstance(on.app.screen, ConflictScreen)
    await on.press("t")
    assert isinstance(on.app.screen, ProposalTextScreen)
    await on.press("escape")
    assert "Discard changes?" in on.text()
    await on.press("escape")
    scan = on.browse.editing.review
    scan.scan()
    await on.until(lambda: not scan.is_scanning, "the scan ends")
    await on.press("ctrl+s")
    assert isinstance(on.app.screen, DiffScreen)
    assert "head" in on.text()
    await on.press("escape")
    assert isinstance(on.app.screen, ProposalTextScreen)
    await on.press("ctrl+s", "enter")
    await review(on)
    assert b"now since May" in b"".join(contents(root).values())


@pytest.mark.slow
async def test_an_edited_text_outlives_the_program(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "state" / "drafts"
    async with stage(root, (120, 35), state=tmp_path / "state", toasts=True) as on:
        await on.press("V")
        await select(on, "Alice works")
        await on.press("e", "end")
        await on.type(" since May")
        assert len(list(folder.glob("form-*.json"))) == 1  # also if it is killed now
        on.app.exit()
    async with stage(root, (120, 35), state=tmp_path / "state", toasts=True) as on:
        await on.press("K")
        await on.sees("since May")
        await on.press("escape", "y")
        await on.settle()
        await on.press("V")
        await select(on, "Alice works")
        await on.press("e", "end")
        await on.type(" since June")
        await on.press("ctrl+s", "enter")
        await review(on)
    assert not list(folder.glob("form-*.json")), "it is saved"
    assert b"now since June" in b"".join(contents(root).values())


@pytest.mark.slow
async def test_the_cursor_stays_on_a_finding_whose_memory_changed(on: Stage, root: Path) -> None:
    await select(on, "ledger")
    file = root / "entities/shop/items.json"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("for the ledger", "for the old ledger"), encoding="utf-8")
    on.browse.editing.review.scan()
    screen = await review(on)
    row = screen._list.current
    assert row is not None
    assert row.proposal is not None
    assert "ledger" in row.proposal.title


@pytest.mark.slow
async def test_a_toast_leaves_the_keys_of_a_small_dialog_free(root: Path) -> None:
    async with stage(root, (40, 12), toasts=True) as on:
        await on.press("V")
        await review(on)
        keys = on.text().splitlines()[-2]
        on.app.report_refusal("something that is long enough for two lines of a small screen")
        await on.settle()
        assert "small screen" in on.text()
        assert on.text().splitlines()[-2] == keys


@pytest.mark.slow
async def test_edit_is_offered_where_a_text_is_written(tmp_path: Path) -> None:
    async with changing(tmp_path, "ambient", size=(120, 35)) as on:
        await on.press("V")
        screen = await review(on)
        await unfold(on)
        await on.press("t")
        rows = [at for at, row in enumerate(screen._list.rows) if row.proposal]
        offered = set()
        for at in rows:
            screen._list.go(at)
            await on.settle()
            is_offered = "edit" in dict(ReviewScreen.keys(screen)).values()
            offered.add(is_offered)
            await on.press("e")
            assert isinstance(on.app.screen, ProposalTextScreen) == is_offered
            if is_offered:
                await on.press("escape")
        assert offered == {True, False}


@pytest.mark.slow
async def test_enter_goes_to_one_of_the_memories(on: Stage) -> None:
    await select(on, "lives in")
    await on.press("enter", "down", "enter")
    await on.settle()
    assert on.app.screen is on.browse
    memory = on.browse.memories.memory
    assert memory is not None
    assert memory.content == "Alice lives in Braga with two cats"


@pytest.mark.slow
async def test_text_of_the_store_is_data(on: Stage) -> None:
    await select(on, "another order")
    assert "[bold]sign[/bold]" in on.text()
    assert "\u202e" not in on.text()
    assert on.app.backstop.hits == 0


@pytest.mark.slow
async def test_a_secret_is_masked_wherever_it_is_shown_and_edited_as_it_is(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    words = f"The mirror of the shop is pushed with the token {token} each night"
    facts = [fact(1, words, "2026-01-02"), fact(2, f"{words} at two", "2026-03-02")]
    root = write_store(tmp_path / "home", {"shop": facts})
    async with stage(root, (120, 35), state=tmp_path / "state") as on:
        await on.press("V")
        for title in ("GitHub token", "2 say"):
            await select(on, title)
            assert "ghp_…F6" in on.text()
            assert "a1B2c3D4" not in on.text()
            await on.press("A")
            assert "a1B2c3D4" not in on.text()
            if isinstance(on.app.screen, DiffScreen):
                await on.press("escape")
        await select(on, "2 say")
        await on.press("e")
        assert token in on.text()


@pytest.mark.slow
@pytest.mark.parametrize("left", [b"", b"[", b"\0" * 40], ids=["emptied", "cut off", "zeros"])
async def test_a_file_that_broke_leads_to_its_last_good_copy(
    on: Stage, root: Path, left: bytes
) -> None:
    await select(on, "Alice works")
    await on.press("a")  # what memtui writes over is kept as a copy
    await review(on)
    (items,) = [path for path in root.rglob("items.json") if "alice" in str(path)]
    items.write_bytes(left)
    await on.press("escape", "f5", "f5", "V")
    await review(on)
    await on.press("f5")
    await unfold(on)
    await select(on, "items.json: ")
    assert "memtui, or the file's own program, cannot read it" in on.text()
    await on.press("enter")
    assert isinstance(on.app.screen, UnreadablePage)
    assert "last good copy" in on.text()
    await on.press("r", "enter")  # the second confirms
    await on.settle()
    assert items.read_bytes() != left
    assert json.loads(items.read_bytes())


@pytest.fixture
async def outdated(tmp_path: Path) -> AsyncIterator[tuple[Stage, Path]]:
    """The review of a note with a version that its project no longer has, and the note."""
    notes = tmp_path / "shop" / ".serena" / "memories"
    notes.mkdir(parents=True)
    manifest = {"dependencies": {"react": "^18.2.0"}}
    (tmp_path / "shop" / "package.json").write_text(json.dumps(manifest))
    (notes / "front.md").write_text("# Front end\n\nWe use React 17 here.\n")
    (notes / "other.md").write_text("# Other\n\nThe bell rings at noon.\n")
    async with stage(notes, state=tmp_path / "state", toasts=True) as on:
        await on.press("V")
        await select(on, "React 17: now ^18.2.0")
        yield on, notes / "front.md"


@pytest.mark.slow
async def test_what_is_outdated_is_edited_in_the_queue(outdated: tuple[Stage, Path]) -> None:
    on, note = outdated
    await on.press("e", "ctrl+home", "down", "down", "end", *["backspace"] * len("17 here."))
    await on.type("18 here.")
    await on.press("ctrl+s")
    assert isinstance(on.app.screen, DiffScreen)
    await on.press("enter")
    await review(on)
    assert note.read_text() == "# Front end\n\nWe use React 18 here.\n"
    assert not titles(on)


@pytest.mark.slow
async def test_what_is_outdated_is_retired_in_the_queue(outdated: tuple[Stage, Path]) -> None:
    on, note = outdated
    library = on.browse.worker.library
    assert library is not None

    def status() -> str:
        return library.get(f"markdown-folder:{note.name}").status

    before = status()
    await on.press("d")
    assert isinstance(on.app.screen, DiffScreen)
    await on.press("enter")
    await review(on)
    await on.until(lambda: not titles(on), "nothing is outdated")
    assert (before, status()) == ("active", "retired")
    await on.press("u")
    await on.until(lambda: bool(titles(on)), "it is outdated again")
    assert status() == before


@pytest.mark.slow
async def test_groups_fold(on: Stage) -> None:
    await select(on, "lives in")
    await on.press("left")
    assert "▸ Who says otherwise" in on.text()
    await on.press("enter")
    assert "▾ Who says otherwise" in on.text()


@pytest.mark.slow
async def test_escape_stops_a_scan_and_keeps_what_was_found(
    on: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = titles(on)
    begun = _scan_without_end(monkeypatch)
    on._strike("f5")
    await on.until(begun.is_set, "the scan begins", is_working=True)
    on._strike("escape")
    screen = await review(on)
    assert screen.is_open
    assert titles(on) == before


@pytest.mark.slow
async def test_escape_leaves_while_a_scan_follows_an_accepted_proposal(
    on: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    await select(on, "Alice works")
    begun = _scan_without_end(monkeypatch)
    on._strike("a")
    await on.until(begun.is_set, "the scan begins", is_working=True)
    assert "esc back" in on.text()
    on._strike("escape")
    await on.until(lambda: on.app.screen is on.browse, "the queue closes", is_working=True)
    on.browse.editing.review.stop()


@pytest.mark.slow
async def test_a_stopped_first_scan_found_nothing_yet(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = _scan_without_end(monkeypatch)
    library = Library.open([root], cache=None, now=lambda: NOW)
    async with stage(root, (80, 24), open_library=lambda: library) as on:
        await on.until(begun.is_set, "the scan begins", is_working=True)
        begun.clear()
        on._strike("V")
        await on.until(begun.is_set, "the scan begins", is_working=True)
        assert "Looking for what is dangerous" in on.text()
        on._strike("escape")
        await review(on)
        assert "Not scanned yet." in on.text()


def _scan_without_end(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Scans end only when they are stopped; the event says that one has begun."""
    begun = threading.Event()

    def endless(_: ReviewQueue, kinds: object, report: object, cancelled: IsCancelled) -> None:
        report(Progress("review", 1, 100))  # type: ignore[operator]
        begun.set()
        while not cancelled():
            threading.Event().wait(0.005)
        raise Cancelled

    monkeypatch.setattr(ReviewQueue, "scan", endless)
    return begun


@pytest.fixture
async def aside(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Stage]:
    """As `on`, with scans by a process of its own."""
    monkeypatch.setattr(library_review, "SCANNED_HERE", 0)
    monkeypatch.setattr(controllers_review, "RESCAN_AFTER", 3600.0)  # only when a test asks for it

    def opened() -> Library:
        cache, state = tmp_path / "cache", tmp_path / "state"
        return Library.open([root], cache=cache, state=state, now=lambda: NOW)

    async with stage(root, toasts=True, open_library=opened) as running:
        await running.ready()
        await running.press("V")
        await review(running)
        yield running


async def refreshed(on: Stage) -> None:
    """What another program has changed is read, also while a scan runs."""
    library = on.browse.worker.library
    assert library is not None
    before = library.snapshot
    on.browse.worker.refresh()
    await on.until(lambda: library.snapshot is not before, "the change is seen", is_working=True)


class Held(set[subprocess.Popen[bytes]]):
    """Child processes that stop as they begin: none ends before the test has looked at it."""

    def add(self, child: subprocess.Popen[bytes]) -> None:
        child.send_signal(signal.SIGSTOP)
        super().add(child)


async def scanner(on: Stage) -> int:
    """The process of a scan that is asked for, stopped as it begins."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(child_processes, "_running", held := Held())
        on._strike("f5")
        await on.until(lambda: held, "a process scans", is_working=True)
    child_processes._running.update(held)
    return next(iter(held)).pid


@pytest.mark.slow
async def test_a_change_during_a_scan_is_found_by_the_next(aside: Stage, root: Path) -> None:
    assert [title for title in titles(aside) if "Alice works" in title]
    await select(aside, "Alice works")
    (items,) = [path for path in root.rglob("items.json") if "alice" in str(path)]
    before = json.loads(items.read_text())
    items.write_text(json.dumps([{**before[0], "content": "Alice has left Lumen"}, *before[1:]]))
    await refreshed(aside)
    process = await scanner(aside)
    items.write_text(json.dumps([*before, fact(9, before[3]["content"] + " today", "2026-11-01")]))
    await refreshed(aside)
    os.kill(process, signal.SIGCONT)
    await review(aside)
    aside._strike("f5")
    await review(aside)
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    assert {"Alice works", "near the river"} <= {
        words
        for words in ("Alice works", "near the river")
        for title in titles(aside)
        if words in title
    }


@pytest.mark.slow
async def test_a_scan_that_dies_is_told_and_costs_nothing(aside: Stage, root: Path) -> None:
    before = titles(aside)
    (items,) = [path for path in root.rglob("items.json") if "shop" in str(path)]
    items.write_text(items.read_text().replace("hello", "hallo"))
    await refreshed(aside)
    os.kill(await scanner(aside), signal.SIGKILL)
    await review(aside)
    assert len(titles(aside)) == len(before)
    assert any("ended early" in toast.message for toast in aside.app._notifications)
    await aside.press("f5")
    await review(aside)
    assert [title for title in titles(aside) if "hallo" in title]


async def test_other_settings_find_anew(root: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    async with stage(root, config_file=config) as on:
        await on.settle()
        assert [title for title in titles(on) if "Alice works" in title]
        config.write_text('[review.findings]\noff = ["duplicate"]\n')
        assert not on.app.reload_settings()
        await on.settle()
        assert titles(on)
        assert not [title for title in titles(on) if "Alice works" in title]


async def test_nothing_to_review_says_what_would_be_listed(tmp_path: Path) -> None:
    root = write_store(tmp_path / "home", {"bob": [fact(1, "Bob mends clocks", "2026-11-01")]})
    async with stage(root, (80, 24)) as on:
        await on.press("V")
        await review(on)
        assert "Nothing to review." in on.text()


@pytest.mark.slow
async def test_what_a_model_would_be_sent_is_shown_first(root: Path, tmp_path: Path) -> None:
    model = LanguageModel(url="http://127.0.0.1:9/v1", model="small")
    settings = Settings(theme="dusk", language_model=model)
    state = tmp_path / "state"
    async with stage(root, settings=settings, state=state, toasts=True) as on:
        await on.press("V")
        await select(on, "Alice works")
        await on.press("m")
        assert isinstance(on.app.screen, SendScreen)
        assert "small at http://127.0.0.1:9/v1" in on.text()
        before = contents(root)
        await on.press("enter")
        await review(on)
        assert contents(root) == before
        assert any("No changes:" in toast.message for toast in on.app._notifications)


@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), (160, 45)], ids=lambda s: f"{s[0]}x{s[1]}")
async def test_looks(root: Path, size: tuple[int, int]) -> None:
    async with stage(root, size) as on:
        await on.press("V")
        await select(on, "lives in")
        await on.still()
        box = on.app.screen.query_one(".box").region
        strips = on.app.screen._compositor.render_strips()[box.y : box.bottom]
        lines = [strip.crop(box.x, box.right).text.rstrip() for strip in strips]
        compare(f"review-{size[0]}x{size[1]}", "\n".join(lines))


@pytest.mark.slow
async def test_never_here_leaves_the_pattern_out_and_writes_it_into_the_settings(on: Stage) -> None:
    screen = await review(on)
    kinds = {one.kind for one in screen._proposals}
    row = screen._list.current
    assert row is not None
    assert row.proposal is not None
    gone = row.proposal.kind
    await on.press("N")
    await on.until(lambda: gone not in {one.kind for one in screen._proposals}, "the pattern to go")
    (entry,) = on.app.settings.review.off
    assert entry.startswith(f"{gone}@{row.proposal.store}")
    assert {one.kind for one in screen._proposals} == kinds - {gone}


PORTS = {
    "shop-api": [
        fact(1, "shop-api listens on port 8081", "2026-03-02"),
        fact(2, "shop-api listens on http://localhost:8080.", "2026-05-02"),
        fact(3, "Port 8081 is open on the firewall of the office", "2026-04-02"),
    ]
}


@pytest.mark.slow
async def test_who_says_otherwise_is_a_key_on_a_row_and_all_agree_in_one_step(
    tmp_path: Path,
) -> None:
    said = PORTS["shop-api"]
    root = tmp_path / "both"
    stores = [
        write_store(root / "one", {"shop-api": [said[0], said[2]]}),
        write_store(root / "other", {"shop-api": [said[1]]}),
    ]
    before = contents(root)
    opened = lambda: Library.open(stores, state=tmp_path / "state", now=lambda: NOW)  # noqa: E731
    state = tmp_path / "state"
    async with stage(root, state=state, toasts=True, open_library=opened) as on:
        await on.sees("1 disagree")
        await on.press("%")
        screen = await review(on)
        row = screen._list.current
        assert row is not None
        assert row.proposal is not None
        assert row.proposal.message == "port of shop-api"
        await on.sees("8080 agent-memory · other, since 2026-05-02")
        await on.press("%")
        assert "which holds?" in on.text()
        await on.press("enter")
        assert isinstance(on.app.screen, DiffScreen)
        assert contents(root) == before
        await on.press("enter")
        await review(on)
        files = sorted(root.rglob("items.json"))
        facts = [one for file in files for one in json.loads(file.read_text())]
        assert len({re.findall(r"\d{4}", one["content"])[0] for one in facts}) == 1
        assert not titles(on)
        await on.press("u")
        await review(on)
        assert contents(root) == before


@pytest.mark.slow
async def test_a_word_is_replaced_in_all_marked_memories(tmp_path: Path) -> None:
    root = write_store(tmp_path / "home", PORTS)
    async with stage(root, (120, 35), state=tmp_path / "state", toasts=True) as on:
        await on.press("*", "~")
        await on.type("8081")
        await on.press("enter")
        await on.type("9000")
        await on.press("enter")
        assert isinstance(on.app.screen, DiffScreen)
        await on.press("enter")
        await on.sees("Saved 2 memories")
        text = (root / "entities/shop-api/items.json").read_text()
        assert ("8081" not in text, text.count("9000"), text.count("8080")) == (True, 2, 1)


async def test_the_keys_that_do_not_fit_are_listed(on: Stage) -> None:
    await on.resize(80, 24)
    await on.ready()
    assert "never here" not in on.text()
    await on.press("question_mark")
    await on.sees("N      never here")
    await on.press("question_mark")
    assert "never here" not in on.text(), "closed by the same key"
    assert isinstance(on.app.screen, ReviewScreen)
