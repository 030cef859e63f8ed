"""The page holds what the query shows, and nothing that its text could do."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from datetime import UTC, date, datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.insight.timeline import Bar, Timeline
from memtui.report.contents import ChangeNote, Entry, Fact, Program, Project, Report, Waiting
from memtui.report.page import render
from memtui.testing import hostile_values
from memtui.text import visible

ATTACKS = (
    "<script>document.title = 'taken'</script>",
    "</style><img src=x onerror=\"document.title = 'taken'\">",
    '" onmouseover="document.title = \'taken\'" x="',
    "<a href=\"javascript:document.title = 'taken'\">read</a>",
    "[read](javascript:alert(1)) `<b>` ![x](https://nowhere.example/x.png)",
    "data:text/html;base64,PHNjcmlwdD4=",
    "<!--",
    "</p></article></main><iframe src=//nowhere.example>",
    "<svg/onload=document.title='taken'>",
    "&lt;script&gt; &#x202e;",
)
HOSTILE = [
    *ATTACKS,
    *(
        value
        for group in ("CONTROLS", "HIDDEN", "MARKUP", "HONEST")
        for value in getattr(hostile_values, group).values()
    ),
]
ELEMENTS = frozenset(
    """
    html head meta title style body a header h1 p span nav ul li main section div h2 h3 h4
    small table tbody tr th td svg rect text article details summary dl dt dd code del ins
    footer
    """.split()  # noqa: SIM905
)
UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
LINK = re.compile(r"#(m\d+|p\d+|changes|review|memories)")


def page(words: str) -> str:
    """A page that has these words in every place where a store's text stands."""
    fact = Fact(words, words, "ref")
    entry = Entry("ref", words, words, (words,), True, words, (fact, Fact(words, words)), 7)
    past = Entry("", words, "", (words,), False, "", (), 0)
    return "".join(
        render(
            Report(
                words,
                words,
                datetime(2026, 11, 27, 12, tzinfo=UTC),
                2,
                3,
                (Program(words, words, (Project(words, (entry, past)),)),),
                ((words, ((words, 2), ("other", 1))),),
                Timeline("week", (Bar(date(2026, 11, 16), 1), Bar(date(2026, 11, 23), 2)), 1),
                datetime(2026, 11, 20, tzinfo=UTC),
                (ChangeNote("changed", words, words, (("gone", words), ("new", words))),),
                ((words, (Waiting(words, words),)),),
                (words,),
            )
        )
    )


class Reader(HTMLParser):
    """Collects the elements of a page, its links, and the text that a person reads."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        pytest.fail(f"a comment: {data}")


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    return reader


def assert_harmless(text: str) -> Reader:
    found = read(text)
    assert {tag for tag, _ in found.elements} <= ELEMENTS
    for tag, attributes in found.elements:
        assert not [
            name for name in attributes if name.startswith("on") or name in ("src", "style")
        ]
        if "href" in attributes:
            assert tag == "a"
            assert LINK.fullmatch(attributes["href"] or "")
    policy = next(a["content"] for t, a in found.elements if t == "meta" and "content" in a)
    assert (policy or "").startswith("default-src 'none'; style-src 'sha256-")
    return found


@pytest.mark.parametrize("words", HOSTILE)
def test_no_text_of_a_store_becomes_markup_or_is_lost(words: str) -> None:
    found = assert_harmless(page(words))
    plain = [element for element, _ in read(page("words")).elements if element != "code"]
    assert [element for element, _ in found.elements if element != "code"] == plain
    shown = "".join(found.texts).replace("`", "")
    assert shown.count(visible(words).replace("`", "")) >= 15
    assert not re.search(
        "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]", shown
    )


@given(st.text())
def test_any_text_is_harmless(words: str) -> None:
    assert_harmless(page(words))


@pytest.mark.slow
def test_a_browser_runs_nothing_of_it(tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no browser is installed")
    file = tmp_path / "page.html"
    file.write_text(page(" ".join(ATTACKS)), "utf-8", "replace")
    shown = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", file.as_uri()],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
    ).stdout
    title = re.search("<title>(.*?)</title>", shown, re.DOTALL)
    assert title is not None
    assert html.unescape(title[1]).startswith("<script>")
    assert "<iframe" not in shown
