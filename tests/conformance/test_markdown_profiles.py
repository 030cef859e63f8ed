"""The profiles of Markdown folders pass the suite of their format."""

from __future__ import annotations

from pathlib import Path

from memtui.stores.format import Format
from memtui.stores.markdown_folder import FORMAT
from memtui.testing import StoreConformance
from memtui.testing.act_tests import ActTests
from memtui.testing.hostile_text_tests import HostileTextTests
from tests.conformance.test_formats import SHARE
from tests.samples import SAMPLES


class _Profile(StoreConformance, ActTests, HostileTextTests):
    format = FORMAT
    sample_store: Path

    def share(self, known: Format, texts: list[str]) -> list[str]:
        at = [profile.__name__ for profile in _Profile.__subclasses__()].index(type(self).__name__)
        return texts[at % SHARE :: SHARE]


class TestSerena(_Profile):
    sample_store = SAMPLES / "serena"

    # Its folder is named by its program, so the sample cannot lie under another name; its files
    # have no frontmatter, so no keys.
    test_the_store_is_recognised_from_the_folder_it_lies_in = None  # type: ignore[assignment]
    test_an_unknown_key_is_shown = None  # type: ignore[assignment]


LOGS = {"LEARNINGS": "LRN", "ERRORS": "ERR", "FEATURE_REQUESTS": "FEAT"}


class TestLearnings(StoreConformance, ActTests):
    format = FORMAT
    sample_store = SAMPLES

    def copy_sample(self, known: Format, place: Path) -> Path:
        """A folder with logs of invented entries."""
        folder = place / ".learnings"
        folder.mkdir(parents=True)
        for name, mark in LOGS.items():
            entries = (
                f"## [{mark}-202611{day:02}-001] correction\n\n"
                f"**Logged**: 2026-11-{day:02}T09:00:00Z\n**Priority**: low\n\n"
                f"### Summary\nBell {day} of {name.lower()} rings late\n\n"
                f"### Metadata\n- Tags: bells, day{day}\n\n---\n\n"
                for day in range(1, 29)
            )
            (folder / f"{name}.md").write_text(f"# {name}\n\n---\n\n" + "".join(entries))
        return place

    # Its folder is named by its program; its files have no frontmatter.
    test_the_store_is_recognised_from_the_folder_it_lies_in = None  # type: ignore[assignment]
    test_an_unknown_key_is_shown = None  # type: ignore[assignment]


class TestMemfs(_Profile):
    sample_store = SAMPLES / "memfs"


class TestVault(_Profile):
    sample_store = SAMPLES / "vault"
