"""The table of acts in docs/stores.md is what the formats do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import acts_page


@pytest.mark.slow
def test_the_table_of_acts_is_what_the_formats_do(tmp_path: Path) -> None:
    text = acts_page.PAGE.read_text(encoding="utf-8")
    assert text == acts_page.page(text, tmp_path), "python -m tests.acts_page writes it anew"
