"""How text is cut into words."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.search import analysis


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Deploying the API", ["deploying", "the", "api"]),
        ("getUserById", ["get", "user", "by", "id"]),
        ("HTTPServer IDs", ["http", "server", "ids"]),
        ("snake_case __init__", ["snake", "case", "init"]),
        ("docker-compose.yml", ["docker", "compose", "yml"]),
        ("v2.7.4 and 3.11", ["2.7.4", "and", "3.11"]),
        ("3.11.7-rc1", ["3.11.7", "rc1"]),
        ("don't, Alice's, l’été", ["dont", "alice", "l", "ete"]),
        ("Zürich Straße Ørsted Łódź", ["zurich", "strasse", "orsted", "lodz"]),
        ("cafe\u0301 ﬁne exam\u00adple", ["cafe", "fine", "example"]),
        ("C++ and C# but issue#5", ["c++", "and", "c#", "but", "issue", "5"]),
        ("東京都", ["東京", "京都", "都"]),
        ("Python入門", ["python", "入門", "門"]),
        ("हिन्दी", ["हिन्दी"]),
        ("alice@example.com", ["alice", "example", "com"]),
        ("src/memory/store.ts", ["src", "memory", "store", "ts"]),
        ("", []),
        ("--- !!! ___", []),
    ],
)
def test_list_words(text: str, words: list[str]) -> None:
    assert analysis.list_words(text) == words


@pytest.mark.parametrize(
    "name", ["getUserById", "get_user_by_id", "get-user-by-id", "get.user.by.id", "GetUserById"]
)
def test_names_are_found_in_every_way_of_writing(name: str) -> None:
    assert "getuserbyid" in analysis.list_tokens(name)


def test_parts_of_a_file_name_written_together() -> None:
    assert {"storets", "agentstorets"} <= set(analysis.list_tokens("agent-store.ts"))


def test_forms_share_a_stem_and_its_head() -> None:
    assert len({analysis.stem(word) for word in ("deploy", "deploys", "deployed")}) == 1
    for word in ("happily", "flies", "relational", "organization", "sensibility"):
        assert word.startswith(analysis.prefix_of_stem(analysis.stem(word)))


def test_long_junk_is_cut() -> None:
    assert analysis.list_tokens("a" * 5000) == ["a" * analysis.MAX_WORD_CHARS]


@given(st.text())
def test_any_text_gives_folded_words(text: str) -> None:
    for word in analysis.list_tokens(text):
        assert word
        assert len(word) <= analysis.MAX_WORD_CHARS
        assert word == word.casefold() or not word.isascii()


@given(st.text())
def test_ascii_path_agrees_with_the_general_one(text: str) -> None:
    plain = text.encode("ascii", "ignore").decode()
    general = [w for c in re.findall(analysis._CHUNK, plain) for w in analysis.split_chunk(c).parts]
    assert analysis.list_words(plain) == general


def test_a_huge_text_is_cut_in_pieces_without_cutting_a_word() -> None:
    text = "Ünlike the don't-care get_user_by_id C++ 2.4.1\n" * 10_000
    pieces = list(analysis.split_blocks(text))
    assert len(pieces) > 5
    assert max(map(len, pieces)) < analysis.BLOCK_CHARS + 50
    cut = [chunk for piece in pieces for chunk in analysis.find_chunks(piece)]
    assert (cut == analysis.find_chunks(text)) is True, "other chunks than of the whole"
    assert list(analysis.split_blocks("x" * 200_000)) == ["x" * 200_000], "one word is one piece"


@given(st.text(max_size=40) | st.lists(st.sampled_from(
    ["a", "Zu", "\u0308", "é", " ", "東京", "ﬁ", "\u00ad", "ø", "я", "-", "각", "\u05b0", "ſ"]
)).map("".join))  # fmt: skip
def test_a_text_is_folded_by_run_as_it_is_as_a_whole(text: str) -> None:
    plain = unicodedata.normalize("NFKD", text.translate(analysis._LETTERS))
    whole = unicodedata.normalize("NFC", re.sub(analysis._FOLDED_MARK, "", plain)).casefold()
    assert analysis.fold_text(text) == whole


@given(st.lists(st.text("ab1Zé.", max_size=3), max_size=4).map("-".join))
def test_names_with_dashes_are_split_as_any_text(name: str) -> None:
    general = [w for c in analysis.find_chunks(name) for w in analysis.split_chunk(c).parts]
    assert analysis.list_words(name) == general
