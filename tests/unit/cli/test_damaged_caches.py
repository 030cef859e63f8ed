"""Whatever stands in a file of the cache, the commands say what the stores hold."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.long_run import share
from tests.unit.library.stores_for_tests import agent_memory


def damaged(data: bytes, chance: random.Random) -> Iterator[bytes]:
    yield b""
    yield data[: len(data) // 2]
    yield b"[]\n"
    yield b"{}\n"
    yield bytes(len(data))
    for _ in range(4):
        at = chance.randrange(max(1, len(data)))
        yield data[:at] + bytes([data[at] ^ 1] if at < len(data) else [49]) + data[at + 1 :]


@pytest.mark.slow
def test_a_damaged_cache_is_made_again(
    call: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = agent_memory(
        tmp_path / "memory",
        {"alice": ["Alice leads the tide team [[bo]]", "Alice works here"], "bo": ["Bo left"]},
    )
    commands = (["list", "--all"], ["search", "alice"], ["links", "people/bo"], ["review"])

    def answers() -> list[tuple[int, str]]:
        found = []
        for command in commands:
            capsys.readouterr()
            code = call(*command, "--json", "--store", home)
            # A score sinks with every second.
            out = re.sub(r'"score": [0-9.e-]+', "", capsys.readouterr().out)
            found.append((code, out))
        return found

    expected = answers()
    assert [code for code, _ in expected] == [0, 0, 0, 0]
    good = tmp_path / "good"
    shutil.copytree(tmp_path / "cache", good)
    chance = random.Random(1)
    files = sorted(path for path in good.rglob("*") if path.is_file())
    for place, file in enumerate(files):
        data = file.read_bytes()
        for number, bad in enumerate(share([*damaged(data, chance), None], place, 6)):
            shutil.rmtree(tmp_path / "cache")
            shutil.copytree(good, tmp_path / "cache")
            broken = tmp_path / "cache" / file.relative_to(good)
            if bad is None:
                broken.unlink()
                broken.mkdir()
            else:
                broken.write_bytes(bad)
            assert answers() == expected, (file.name, number)
