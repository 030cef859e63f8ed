"""Search by meaning over open stores: optional, never waited for, kept up with changes."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from memtui.changes import Act, Change
from memtui.config import Embedding, HistorySettings
from memtui.errors import EmbeddingError, RefError, Refused
from memtui.library import Library
from memtui.library.past_library import library_at
from memtui.library.text_looks import keep_texts
from memtui.query import parse_query
from memtui.search import embedding, vectors
from tests.unit.library.stores_for_tests import agent_memory, fact, write_facts

NOW = datetime(2026, 3, 30, tzinfo=UTC)
TEXTS = [
    "car in the harbour",
    "automobile for bread",
    "vehicle",
    "login of the memory",
    "flour for the oven",
]
QUERIES = [
    "car",
    "login car",
    '"the oven"',
    "~car",
    "auto",
    "-car bread",
    "car sort:new",
    "zzz",
    "",
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return agent_memory(tmp_path / "memory", {"things": TEXTS})


def library(home: Path, cache: Path | None, choice: Embedding | None = None) -> Library:
    made = Library.open(
        [home], cache=cache, now=lambda: NOW, embedding=choice or Embedding("static")
    )
    made.load()
    made.index()
    return made


def contents(library: Library, line: str, *, typing: bool = False) -> list[str]:
    found = library.find(parse_query(line, NOW, typing=typing))
    return [library.snapshot.rows[slot].content for slot in found.slots]


@pytest.mark.slow
def test_what_means_the_same_is_found_once_there_are_vectors(
    home: Path, tmp_path: Path, carrier: Path
) -> None:
    one = library(home, tmp_path / "cache")
    assert contents(one, "vehicle") == ["vehicle"]
    (done,) = one.embed()
    assert (done.made, done.texts) == (5, 5)
    assert contents(one, "vehicle")[0] == "vehicle"
    assert set(contents(one, "vehicle")) == set(TEXTS[:3])
    assert contents(one, "~vehicle")[0] == "vehicle"
    assert "flour for the oven" not in contents(one, "~vehicle")
    found = one.find(parse_query("vehicle", NOW))
    assert found.scores is not None
    for position in range(found.total):
        parts = one.explain(found, position)
        assert "meaning" in {part.name for part in parts}
        assert sum(part.value for part in parts) == pytest.approx(found.scores[position])


def test_each_hit_says_which_of_its_words_are_near(
    home: Path, tmp_path: Path, carrier: Path
) -> None:
    one = library(home, tmp_path / "cache")
    one.embed()
    found = one.find(parse_query("~vehicle", NOW))
    near = {
        found.rows[slot].content: one.near_words(found, at) for at, slot in enumerate(found.slots)
    }
    assert near["car in the harbour"][0][0] == "car"
    assert near["automobile for bread"][0][0] == "automobile"
    assert near["automobile for bread"][0][1] > 0.9
    plain = one.find(parse_query("zzz", NOW))
    assert not plain.total


def test_what_nothing_is_near_to_finds_nothing_and_says_so(
    home: Path, tmp_path: Path, carrier: Path
) -> None:
    one = library(home, tmp_path / "cache")
    one.embed()
    found = one.find(parse_query("~authentication -login", NOW))
    assert not found.total
    assert "near enough in meaning" in found.hint


def test_the_next_start_takes_them_from_the_cache(
    home: Path, tmp_path: Path, carrier: Path
) -> None:
    library(home, tmp_path / "cache").embed()
    again = library(home, tmp_path / "cache")
    assert set(contents(again, "automobile")) == set(TEXTS[:3])
    assert again.embed()[0].made == 0


def test_a_changed_memory_is_near_at_once(home: Path, tmp_path: Path, carrier: Path) -> None:
    one = library(home, tmp_path / "cache")
    one.embed()
    write_facts(home, "more", [fact(99, "signin")])
    assert one.refresh()
    assert "signin" in contents(one, "~authentication")
    assert one.embed()[0].made == 1


def test_a_changed_memory_is_searched_once_it_has_its_vector(
    home: Path, tmp_path: Path, carrier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list or a pack of context made before would lack it until the next change."""
    one = library(home, tmp_path / "cache")
    one.embed()
    extend, found = vectors.extend_index, list[list[str]]()

    def extend_after_a_search(*given: Any) -> Any:
        found.append(contents(one, "authentication signin"))
        return extend(*given)

    monkeypatch.setattr(vectors, "extend_index", extend_after_a_search)
    write_facts(home, "more", [fact(99, "signin")])
    assert one.refresh()
    assert len(found) == 1
    assert "signin" not in found[0]
    assert "signin" in contents(one, "~authentication")


@pytest.mark.slow
def test_the_past_keeps_the_vectors_of_its_own_rows(
    home: Path, tmp_path: Path, carrier: Path
) -> None:
    """A row with a former text got the vector of whatever came into its slot later."""
    cache = tmp_path / "cache"
    one = Library.open([home], cache=cache, state=tmp_path / "state", embedding=Embedding("static"))
    one.load()
    one.index()
    one.embed()
    keep_texts(one, HistorySettings())
    flour = next(memory for memory in one.memories("agent-memory") if "flour" in memory.content)
    then = datetime.now(UTC)
    time.sleep(0.02)
    change = Change(Act.EDIT, flour.store, flour.ref, {"content": "sounding of the tide"})
    one.apply(one.plan([change]))
    keep_texts(one, HistorySettings())
    past = library_at(one, then)
    assert contents(past, "flour") == [flour.content]
    assert "~ asks for meaning" in past.find(parse_query("~bread", NOW)).hint
    crowd = [fact(number, f"automobile {number}") for number in range(100, 120)]
    for step in range(80):
        write_facts(home, "more", [fact(99, f"vehicle {step}"), *crowd])
        assert one.refresh()
    assert contents(past, "flour") == [flour.content]
    assert past.similar(flour.ref).how == "words"


def test_the_past_writes_no_cache(home: Path, tmp_path: Path, carrier: Path) -> None:
    """Rows and columns of the past in the cache would be shown as the present at the next start."""
    cache = tmp_path / "cache"
    one = Library.open([home], cache=cache, state=tmp_path / "state", embedding=Embedding("static"))
    one.load()
    one.index()
    one.save_index()
    write_facts(home, "later", [fact(99, "signin", createdAt="2026-04-01T10:00:00Z")])
    one.refresh()
    past = library_at(one, NOW)
    before = {path: path.read_bytes() for path in cache.rglob("*") if path.is_file()}
    past.save_index()
    with suppress(Refused):
        past.embed()
    assert {path: path.read_bytes() for path in cache.rglob("*") if path.is_file()} == before
    assert len(contents(library(home, cache), "")) == len(TEXTS) + 1


@pytest.mark.slow
def test_vectors_follow_changes(home: Path, tmp_path: Path, carrier: Path) -> None:
    """After many changes no text has two vectors, and each still has its own."""
    one = library(home, tmp_path / "cache")
    one.embed()
    before = len(one.semantic.state.parts[0].rows)
    crowd = [fact(number, f"flour {number}") for number in range(100, 160)]
    for step in range(40):
        write_facts(home, "more", [fact(99, f"signin {step}"), *crowd])
        assert one.refresh()
    assert "signin 39" in contents(one, "~authentication")
    assert set(contents(one, "automobile")) == set(TEXTS[:3])
    parts = one.semantic.state.parts
    assert len(parts) <= 6
    assert sum(len(part.rows) for part in parts) < before + len(crowd) + 40 + 1
    assert len(one.semantic.state.row_of) == len(one.snapshot.rows)


def test_without_a_model_everything_is_as_if_meaning_did_not_exist(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "WEIGHTS_PACKAGE", "memtui_no_such_package")
    without = library(home, tmp_path / "cache")
    off = library(home, tmp_path / "cache", Embedding("off"))
    assert not without.can_embed
    for line in QUERIES:
        one, other = without.find(parse_query(line, NOW)), off.find(parse_query(line, NOW))
        assert (list(one.slots), one.scores, one.facets, one.hint) == (
            list(other.slots), other.scores, other.facets, other.hint,
        )  # fmt: skip
        for position in range(one.total):
            parts = without.explain(one, position)
            assert parts == off.explain(other, position)
            assert "meaning" not in {part.name for part in parts}
    with pytest.raises(EmbeddingError, match="no model"):
        without.embed()


def test_meaning_without_vectors_looks_for_the_word_and_says_so(home: Path) -> None:
    one = library(home, None, Embedding("off"))
    found = one.find(parse_query("~car", NOW))
    assert found.total == 1
    assert "memtui embed" in found.hint


def test_a_damaged_model_leaves_text(home: Path, tmp_path: Path, carrier: Path) -> None:
    one = library(home, tmp_path / "cache")
    one.embed()
    (weights,) = carrier.glob("wordllama/weights/*")
    weights.write_bytes(b"no table")
    again = library(home, tmp_path / "cache")
    assert contents(again, "vehicle") == ["vehicle"]


def test_more_like_this_by_vectors(home: Path, tmp_path: Path, carrier: Path) -> None:
    one = library(home, tmp_path / "cache")
    one.embed()
    vehicle = one.snapshot.rows[one.find(parse_query("vehicle", NOW)).slots[0]]
    like = one.similar(vehicle.ref, 2)
    assert like.how == "vectors"
    assert {one.snapshot.rows[slot].content for slot in like.slots} == set(TEXTS[:2])
    assert like.scores == sorted(like.scores, reverse=True)
    assert vehicle.content not in [one.snapshot.rows[slot].content for slot in like.slots]


def test_more_like_this_by_the_rarest_words(tmp_path: Path) -> None:
    texts = [
        "gyokuro wants water at sixty degrees",
        "water for gyokuro is cooled in cups",
        "the water is cold",
        "rooibos forgives",
        "cups are blue",
        "kettles are loud",
    ]
    one = library(agent_memory(tmp_path / "m", {"tea": texts}), None, Embedding("off"))
    first = one.snapshot.rows[one.find(parse_query("sixty", NOW)).slots[0]]
    like = one.similar(first.ref)
    assert like.how == "words"
    assert like.words[0] == "gyokuro"
    assert [one.snapshot.rows[slot].content for slot in like.slots] == [texts[1], texts[2]]
    with pytest.raises(RefError):
        one.similar("memory:none")


# A server


class QuietServer(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Whoever asked has gone: no reason to print anything."""


Serve = Callable[[threading.Event | None], tuple[str, list[list[str]]]]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Vectors by the first letter; waits for the event when it is asked for one text."""
    running: list[ThreadingHTTPServer] = []

    def start(gate: threading.Event | None) -> tuple[str, list[list[str]]]:
        asked: list[list[str]] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
                asked.append(texts)
                if gate is not None and len(texts) == 1:
                    gate.wait(30)
                rows = [[float(text[:1] in "cav"), float("login" in text), 0.1] for text in texts]
                data = [{"index": at, "embedding": row} for at, row in enumerate(rows)]
                answer = json.dumps({"data": data}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: object) -> None:
                """Says nothing."""

        server = QuietServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        running.append(server)
        return f"http://127.0.0.1:{server.server_port}", asked

    yield start
    for server in running:
        server.shutdown()
        server.server_close()


def test_a_search_never_waits_for_a_server(home: Path, tmp_path: Path, serve: Serve) -> None:
    gate = threading.Event()
    url, asked = serve(gate)
    one = library(home, tmp_path / "cache", Embedding("ollama", url, "m"))
    assert one.embed()[0].made == 5
    sent = len(asked)
    assert contents(one, "vehicle") == ["vehicle"]
    assert contents(one, "~vehicle") == ["vehicle"]
    assert len(asked) == sent  # and tells it nothing
    query = parse_query("vehicle", NOW)
    assert not one.embed_query(query, lambda: len(asked) > sent)  # called off while it is asked
    gate.set()
    assert one.embed_query(parse_query("car", NOW))
    assert set(contents(one, "car")) == set(TEXTS[:3])
    assert not one.embed_query(parse_query("car", NOW))  # it is known


def test_a_server_that_is_gone_leaves_text(home: Path, tmp_path: Path, serve: Serve) -> None:
    url, _ = serve(None)
    library(home, tmp_path / "cache", Embedding("ollama", url, "m")).embed()
    gone = Embedding("ollama", "http://127.0.0.1:1", "m")
    one = library(home, tmp_path / "cache", gone)
    assert not one.embed_query(parse_query("car", NOW))
    assert contents(one, "car") == ["car in the harbour"]
    with pytest.raises(EmbeddingError, match="no answer"):
        one.embed()
    assert contents(one, "car") == ["car in the harbour"]


def test_among_equally_similar_memories_the_newest_are_shown_whatever_was_read_last(
    tmp_path: Path,
) -> None:
    words = {slug: ["gyokuro is poured"] * 3 for slug in ("a", "b", "c")}
    home = agent_memory(tmp_path / "m", words | {"z": ["rooibos forgives"] * 90})

    def similar(one: Library) -> list[str]:
        like = one.similar(ref, 5)
        return [like.rows[slot].ref for slot in like.slots]

    one = library(home, None, Embedding("off"))
    ref = one.snapshot.rows[one.find(parse_query("gyokuro", NOW)).slots[0]].ref
    before = similar(one)
    assert len(before) == 5
    file = home / "entities" / "a" / "items.json"
    file.write_text(file.read_text().replace('"conversation"', '"chat"'))
    assert one.refresh()
    one.index()
    assert similar(one) == before == similar(library(home, None, Embedding("off")))
