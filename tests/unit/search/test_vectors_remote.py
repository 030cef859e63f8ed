"""Vectors from a server: what is sent, what is believed, and how long is waited."""

from __future__ import annotations

import json
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from memtui import json_server
from memtui.config import Embedding
from memtui.errors import ConfigError, EmbeddingError
from memtui.progress import Cancelled
from memtui.search import embedding
from memtui.search.embedding import EmbeddingServer

Answer = Callable[[str, dict[str, Any]], tuple[int, bytes]]


class QuietServer(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Whoever asked has gone: no reason to print anything."""


@dataclass
class Server:
    """A server on loopback that answers as it is told."""

    answer: Answer
    url: str = ""
    asked: list[tuple[str, dict[str, str], dict[str, Any]]] = field(default_factory=list)


@pytest.fixture
def serve() -> Iterator[Callable[[Answer], Server]]:
    running: list[ThreadingHTTPServer] = []

    def start(answer: Answer) -> Server:
        told = Server(answer)

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                told.asked.append((self.path, dict(self.headers), body))
                status, text = told.answer(self.path, body)
                self.send_response(status)
                if status in (301, 302, 307):
                    self.send_header("Location", text.decode())
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, format: str, *args: object) -> None:
                """Says nothing."""

        server = QuietServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        running.append(server)
        told.url = f"http://127.0.0.1:{server.server_port}"
        return told

    yield start
    for server in running:
        server.shutdown()
        server.server_close()


def vector(text: str) -> list[float]:
    return [float(len(text)), 1.0, 0.0]


def openai(path: str, body: dict[str, Any]) -> tuple[int, bytes]:
    data = [{"index": at, "embedding": vector(text)} for at, text in enumerate(body["input"])]
    return 200, json.dumps({"data": data[::-1]}).encode()  # in any order


Serve = Callable[[Answer], Server]


def test_ollama_is_asked_as_openai_is(serve: Serve) -> None:
    server = serve(openai)
    rows = EmbeddingServer(Embedding("ollama", server.url, "small")).embed(
        ["abc", "", "half \ud800"]
    )
    assert rows.shape == (3, 3)
    assert rows[0].tolist() == pytest.approx([3 / 10**0.5, 1 / 10**0.5, 0])
    ((path, headers, body),) = server.asked
    assert path == "/v1/embeddings"
    assert body == {"model": "small", "input": ["abc", " ", "half ?"]}
    assert "Authorization" not in headers


def test_openai_is_asked_with_the_key_from_the_environment(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(openai)
    choice = Embedding("openai", f"{server.url}/v1/", "ada", key_variable="MEMTUI_TEST_KEY")
    with pytest.raises(EmbeddingError, match="MEMTUI_TEST_KEY"):
        EmbeddingServer(choice).embed(["a"])
    monkeypatch.setenv("MEMTUI_TEST_KEY", "secret")
    rows = EmbeddingServer(choice).embed(["a", "abcdef"])
    assert rows[1][0] > rows[0][0]
    ((path, headers, _),) = server.asked
    assert path == "/v1/embeddings"
    assert headers["Authorization"] == "Bearer secret"


def test_many_texts_are_sent_in_batches_and_can_be_called_off(serve: Serve) -> None:
    server = serve(openai)
    texts = ["x" * (n + 1) for n in range(2 * embedding.BATCH_TEXTS + 1)]
    rows = EmbeddingServer(Embedding("ollama", server.url, "m")).embed(texts)
    assert len(rows) == len(texts)
    assert [len(body["input"]) for _, _, body in server.asked] == [
        embedding.BATCH_TEXTS,
        embedding.BATCH_TEXTS,
        1,
    ]
    with pytest.raises(Cancelled):
        EmbeddingServer(Embedding("ollama", server.url, "m")).embed(
            texts, cancelled=lambda: len(server.asked) > 3
        )


@pytest.mark.parametrize(
    ("status", "text", "why"),
    [
        (500, b"model \x1b[31mnot found", "status 500: model"),
        (200, b"not json", "not JSON"),
        (200, b"[" * 100_000, "not JSON"),
        (200, b"{}", "without vectors"),
        (
            200,
            b'{"data": [{"index": 0, "embedding": [1, 2]}, {"index": 1, "embedding": [3]}]}',
            "without vectors",
        ),
        (200, b'{"data": [{"index": 0, "embedding": ["a"]}]}', "without vectors"),
        (
            200,
            b'{"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [2]}]}',
            "for 1 texts",
        ),
        (200, b'{"data": [{"index": 0, "embedding": []}]}', "for 1 texts"),
    ],
)
def test_an_odd_answer_is_an_error_in_one_clean_line(
    serve: Serve, status: int, text: bytes, why: str
) -> None:
    server = serve(lambda path, body: (status, text))
    with pytest.raises(EmbeddingError, match=why) as raised:
        EmbeddingServer(Embedding("ollama", server.url, "m")).embed(["a"])
    assert "\x1b" not in str(raised.value)


def test_numbers_that_are_none_become_zero(serve: Serve) -> None:
    server = serve(
        lambda path, body: (200, b'{"data": [{"index": 0, "embedding": [NaN, 1, Infinity]}]}')
    )
    assert EmbeddingServer(Embedding("ollama", server.url, "m")).embed(["a"]).tolist() == [
        [0, 1, 0]
    ]


def test_too_long_an_answer_is_not_read(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_server, "MAX_RESPONSE_BYTES", 100)
    server = serve(lambda path, body: (200, b" " * 200))
    with pytest.raises(EmbeddingError, match="too long"):
        EmbeddingServer(Embedding("ollama", server.url, "m")).embed(["a"])


def test_texts_do_not_follow_a_redirection(serve: Serve) -> None:
    elsewhere = serve(openai)
    server = serve(lambda path, body: (307, f"{elsewhere.url}/embeddings".encode()))
    with pytest.raises(EmbeddingError, match="307"):
        EmbeddingServer(Embedding("ollama", server.url, "m")).embed(["a"])
    assert elsewhere.asked == []


def test_a_server_that_never_answers_is_left(serve: Serve) -> None:
    ended = threading.Event()

    def hang(path: str, body: dict[str, Any]) -> tuple[int, bytes]:
        ended.wait(30)
        return 200, b"{}"

    server = serve(hang)
    with pytest.raises(EmbeddingError, match="no answer"):
        EmbeddingServer(Embedding("ollama", server.url, "m"), time_limit=0.1).embed(["a"])
    ended.set()


def test_nobody_there_is_an_error() -> None:
    with pytest.raises(EmbeddingError, match="no answer"):
        EmbeddingServer(Embedding("ollama", "http://127.0.0.1:1", "m")).embed(["a"])


@pytest.mark.parametrize(
    "choice",
    [
        Embedding("openai", "", "m"),
        Embedding("ollama", "file:///etc/passwd", "m"),
        Embedding("ollama", "http://localhost:1", ""),
    ],
)
def test_a_choice_that_lacks_something_is_said(choice: Embedding) -> None:
    with pytest.raises(ConfigError, match=r"search\.embedding"):
        EmbeddingServer(choice)


def test_a_login_in_the_address_is_sent_and_never_shown(serve: Serve) -> None:
    server = serve(lambda path, body: (500, b"out of order"))
    url = server.url.replace("://", "://ada:s3cr%40t@")
    endpoint = EmbeddingServer(Embedding("ollama", url, "small"))
    assert "s3cr" not in endpoint.name
    with pytest.raises(EmbeddingError) as failed:
        endpoint.embed(["abc"])
    assert "s3cr" not in str(failed.value)
    ((_, headers, _),) = server.asked
    assert headers["Authorization"] == "Basic " + b64encode(b"ada:s3cr@t").decode()


def test_a_server_that_cannot_be_reached_does_not_show_the_login() -> None:
    endpoint = EmbeddingServer(Embedding("ollama", "http://ada:s3cret@127.0.0.1:1", "small"))
    with pytest.raises(EmbeddingError) as failed:
        endpoint.embed(["abc"])
    assert "s3cret" not in str(failed.value)
