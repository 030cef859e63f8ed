"""An exported page holds what was chosen, and nothing that its text could do."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from memtui.bundle.exporting import export_memories
from memtui.bundle.html_page import MAX_TEXT, encode_html
from memtui.library import Library
from memtui.model import Link, Memory
from memtui.query import Query
from memtui.testing import hostile_values
from memtui.text import reveal_secrets, visible
from tests.samples import SAMPLES
from tests.secrets_for_tests import TOKEN, is_shown

ATTACKS = (
    "<script>document.title = 'taken'</script>",
    "</style><img src=x onerror=\"document.title = 'taken'\">",
    '" onmouseover="document.title = \'taken\'" x="',
    "<a href=\"javascript:document.title = 'taken'\">read</a>",
    "[read](javascript:alert(1)) `<b>` ![x](https://nowhere.example/x.png)",
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
ELEMENTS = {
    *("html", "head", "meta", "title", "style", "body", "h1", "section", "h2", "article", "h3"),
    *("p", "a", "footer"),
}
UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def memory(id: str, words: str, **values: Any) -> Memory:
    return Memory(
        ref=f"notes:{id}",
        id=id,
        store="notes",
        kind="note",
        content=f"{words} and more\nof {words}",
        title=words,
        entity=words,
        type=words,
        source=words,
        tags=(words,),
        links=(Link(relation=words, target=words),),
        created=datetime(2026, 11, 20, tzinfo=UTC),
        **values,
    )


def page(words: str) -> str:
    """A page that has these words in every place where a store's text stands."""
    past = memory("b", words, status="superseded", superseded_by=("a",))
    return "".join(encode_html([memory("a", words, supersedes=("b",)), past]))


class Reader(HTMLParser):
    """Collects the elements of a page, and the text that a person reads."""

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


def read_harmless(text: str) -> Reader:
    """Read a page, and check that it loads and runs nothing."""
    found = Reader()
    found.feed(text)
    found.close()
    assert {tag for tag, _ in found.elements} <= ELEMENTS
    ids = {attributes.get("id") for _, attributes in found.elements}
    for tag, attributes in found.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "src"]
        if "href" in attributes:
            assert tag == "a"
            assert (attributes["href"] or "").removeprefix("#") in ids
    policy = next(a["content"] for t, a in found.elements if t == "meta" and "content" in a)
    assert (policy or "").startswith("default-src 'none'; style-src 'sha256-")
    return found


@pytest.mark.parametrize("words", HOSTILE)
def test_no_text_of_a_store_becomes_markup_or_is_lost(words: str) -> None:
    found = read_harmless(page(words))
    shown = "".join(found.texts)
    assert shown.count(visible(words).strip("\n").splitlines()[0].strip()) >= 6
    assert not UNSEEN.search(shown)


@given(st.text())
def test_any_text_is_harmless(words: str) -> None:
    read_harmless(page(words))


def test_links_lead_to_memories_of_the_page() -> None:
    targets = [a["href"] for tag, a in read_harmless(page("words")).elements if tag == "a"]
    assert targets == ["#m1", "#m0"]


def test_what_is_known_of_a_memory_stands_below_it() -> None:
    plain = memory("a", "words", importance="high")
    text = "".join(encode_html([plain, replace(plain, ref="notes:b", id="b", pinned=True)]))
    about = [each for each in read_harmless(text).texts if each.startswith("words · high")]
    rest = "2026-11-20 00:00 · from words · tags: words"
    assert about == [
        f"words · high · active · {rest}",
        f"words · high · active · pinned · {rest}",
    ]


def test_a_long_text_is_cut_and_counted() -> None:
    long = replace(memory("a", "words"), content="<b>long line " * 90_000)
    text = "".join(encode_html([long]))
    assert len(text) < 60 * MAX_TEXT
    assert "more characters" in "".join(read_harmless(text).texts)


def test_secrets_are_masked_even_while_they_are_shown() -> None:
    long = memory("a", f"{'x' * (MAX_TEXT - 20)} {TOKEN}")
    reveal_secrets(True)
    try:
        text = "".join(encode_html([memory("b", f"the token is {TOKEN}"), long]))
    finally:
        reveal_secrets(False)
    assert not is_shown(TOKEN, text)
    assert TOKEN[:12] not in text


def test_the_page_holds_what_was_chosen() -> None:
    library = Library.open([SAMPLES / "serena"])
    library.load()
    chosen = library.memories_of(library.find(Query()))
    exported = export_memories(library, "html", chosen)
    found = read_harmless(b"".join(exported.pieces).decode("utf-8"))
    assert sum(tag == "article" for tag, _ in found.elements) == len(chosen) > 0
