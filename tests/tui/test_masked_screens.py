"""No screen shows a secret unless it is asked to, and no key writes a mask into a store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from memtui import text
from memtui.library import Library
from tests.long_run import share
from tests.secrets_for_tests import PLANTED, TOKEN, files_with, is_shown, masks_in, shown

from . import gallery as galleries
from .gallery import SCENES, Scene, gallery, leave, rest
from .stage import NOW, Stage, fact, stage, write_store

EDITING = {"FormScreen", "ProposalTextScreen"}
"""They show the true text: it is what is saved."""
SIZE = (160, 45)


@pytest.fixture(autouse=True)
def masked() -> Iterator[None]:
    yield
    text.reveal_secrets(False)


@pytest.fixture
def secret_gallery(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library of the gallery, each of its texts with a secret."""
    secrets = list(PLANTED.values())
    for name in ("ONE", "OTHER"):
        facts = {
            entity: [
                {**each, "content": f"{each['content']}. {secrets[at % len(secrets)]}"}
                for at, each in enumerate(items)
            ]
            for entity, items in getattr(galleries, name).items()
        }
        monkeypatch.setattr(galleries, name, facts)
    broken = galleries.BROKEN.replace("half written", "\n".join(secrets))
    monkeypatch.setattr(galleries, "BROKEN", broken)


PARTS = 3


@pytest.mark.slow
@pytest.mark.usefixtures("secret_gallery")
@pytest.mark.parametrize("part", range(PARTS))
async def test_no_screen_shows_one(part: int) -> None:
    async with gallery(SIZE) as on:
        for number, scene in enumerate(SCENES[part::PARTS]):
            await _open(scene, on)
            if scene.dialog not in EDITING:
                moves = share((["j", "="], ["G", "."]), number, 2)
                await _look(on, scene.name, [[], *moves])
            await leave(on)


async def _open(scene: Scene, on: Stage) -> None:
    await scene.open(on)
    await on.settle()


async def _look(on: Stage, name: str, moves: Sequence[Sequence[str]]) -> None:
    for keys in moves:
        await on.press(*keys)
        await rest(on)
        assert not shown(on.text()), (name, keys, on.text())


@pytest.mark.slow
@pytest.mark.usefixtures("secret_gallery")
async def test_a_key_shows_them_in_list_and_detail() -> None:
    async with gallery(SIZE) as on:
        await on.press("2")
        seen: set[str] = set()
        for _ in range(12):
            await _look_at(on, seen)
            await on.press("j")
        assert len(seen) >= len(PLANTED) - 1
        assert not shown(on.text())


async def _look_at(on: Stage, seen: set[str]) -> None:
    assert not shown(on.text()), on.text()
    await on.press("!")
    seen |= {secret for secret in PLANTED if is_shown(secret, on.text())}
    await on.press("!")


FACTS = {
    "people/alice": [
        fact(1, f"Alice reads the mail. {PLANTED['qX7!mZ']}", "2026-03-02", "preference"),
        fact(2, f"Alice has a key. {PLANTED[TOKEN]}", "2026-05-10", "person"),
        fact(3, "Alice prefers tea", "2026-06-12", "person"),
    ]
}


def _open_library(root: Path, state: Path, cache: Path | None = None) -> Library:
    return Library.open([root], cache=cache, state=state, now=lambda: NOW)


@pytest.mark.slow
async def test_a_form_saves_the_true_text(tmp_path: Path) -> None:
    root = write_store(tmp_path / "store", FACTS)
    async with stage(root, SIZE, state=tmp_path / "state") as on:
        on.browse.set_text("mail")
        await on.settle()
        await on.press("e")
        assert is_shown("qX7!mZ", on.text())
        await on.type("Oh. ")
        await on.press("ctrl+s")
        await on.settle()
        assert "Oh. Alice reads" in on.text()
        assert not shown(on.text())
        for keys in ("p", "d", "u"):
            await on.press(keys)
            await on.settle()
    assert files_with(root, "Oh. Alice reads the mail. The staging password: qX7!mZ")
    assert not masks_in(root)
    assert not masks_in(tmp_path / "state" / "kept")


@pytest.mark.slow
async def test_a_merge_keeps_the_secrets_of_both(tmp_path: Path) -> None:
    root = write_store(tmp_path / "store", FACTS)
    async with stage(root, SIZE, state=tmp_path / "state") as on:
        on.browse.set_text("Alice")
        await on.settle()
        await on.press("*", "&")
        await on.settle()
        await on.press("enter")
        await on.settle()
    assert files_with(root, "qX7!mZ")
    assert files_with(root, TOKEN)
    assert not masks_in(root)


@pytest.mark.slow
async def test_what_is_kept_for_the_next_start_is_masked(tmp_path: Path) -> None:
    root, state, cache = write_store(tmp_path / "store", FACTS), tmp_path / "s", tmp_path / "c"
    for reveals in (False, True):
        async with stage(
            root,
            SIZE,
            state=state,
            cache=cache,
            open_library=lambda: _open_library(root, state, cache),
        ) as on:
            await on.ready()
            await on.press("j")
            if reveals:
                await on.press("!")
                assert shown(on.text())
            on.app.leave()
    assert files_with(cache, "Alice")
    for secret in PLANTED:
        assert not files_with(cache, secret)
        in_state = files_with(state, secret)  # a copy of the file as it last was valid is whole
        assert all(path.is_relative_to(state / "kept") for path in in_state)


@pytest.mark.slow
async def test_the_first_frame_shows_none(tmp_path: Path) -> None:
    root, state, cache = write_store(tmp_path / "store", FACTS), tmp_path / "s", tmp_path / "c"
    for _ in range(2):
        async with stage(
            root,
            SIZE,
            state=state,
            cache=cache,
            open_library=lambda: _open_library(root, state, cache),
        ) as on:
            assert not shown(on.text())
            await on.ready()
            assert not shown(on.text())
            on.app.leave()


@pytest.mark.slow
async def test_a_copy_is_as_the_screen_shows_it(tmp_path: Path) -> None:
    root = write_store(tmp_path / "store", FACTS)
    async with stage(root, SIZE, state=tmp_path / "state", toasts=True) as on:
        on.browse.set_text("mail")
        await on.settle()
        await on.press("y")
        assert not is_shown("qX7!mZ", on.app.clipboard)
        assert "Alice reads the mail" in on.app.clipboard
        await on.sees("masked")
        await on.press("Y")
        assert is_shown("qX7!mZ", on.app.clipboard)
        await on.press("!", "y")
        assert is_shown("qX7!mZ", on.app.clipboard)


@pytest.mark.slow
async def test_removing_one_offers_to_erase_it_from_memtui(tmp_path: Path) -> None:
    root, state = write_store(tmp_path / "store", FACTS), tmp_path / "state"
    async with stage(root, SIZE, state=state) as on:
        on.browse.set_text("mail")
        await on.settle()
        await on.press("e")
        await on.type("Oh. ")
        await on.press("ctrl+s")
        await on.settle()
        assert files_with(state, "qX7!mZ")
        await on.press("V")
        await on.sees("Secret")
        await on.press("A")
        await on.sees("REDACTED")
        await on.press("y")
        await on.sees("Erase the secret")
        await on.press("y")
        await on.until(lambda: not files_with(state, "qX7!mZ"), "the secret is gone")
    assert not files_with(tmp_path, "qX7!mZ")
    assert not masks_in(root)
