"""Vectors: the static model, its files in the cache, and making them only once."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest

from memtui.config import Embedding
from memtui.errors import EmbeddingError
from memtui.model import Memory
from memtui.progress import Cancelled, IsCancelled, never
from memtui.search import columns, embedding, saved_rows, vectors
from memtui.search.array_types import Floats
from memtui.search.embedding import PieceCounts
from memtui.search.index.index_worker import build_index
from tests.unit.search.carrier_for_tests import GROUPS


def memory(number: int, content: str, **values: str) -> Memory:
    return Memory(f"s:{number}", str(number), "s", "fact", content=content, **values)  # type: ignore[arg-type]


def generation(home: Path, memories: Sequence[Memory]) -> Path:
    home.mkdir(exist_ok=True)
    shard = saved_rows.SavedShard("all", "stamp", len(memories), (), True)
    return saved_rows.save(home, [shard], memories, columns.build(memories))


def words(*names: str) -> list[Memory]:
    return [memory(number, name) for number, name in enumerate(names)]


class Noting:
    """An embedder that notes what it was asked: the vector counts the letters of a text."""

    remote = False

    def __init__(self, name: str = "letters", size: int = 4) -> None:
        self.name, self.size = name, size
        self.asked: list[str] = []

    def counts(self, texts: Iterable[str]) -> PieceCounts | None:
        return np.array([len(list(texts))], np.int32)

    def embed(
        self, texts: Sequence[str], counts: PieceCounts | None, cancelled: IsCancelled = never
    ) -> Floats:
        if cancelled():
            raise Cancelled
        self.asked += texts
        return embedding.normalize_rows(
            np.array([[len(text), *range(1, self.size)] for text in texts], np.float32)
        )


def run(folder: Path, embedder: embedding.Embedder) -> tuple[int, int]:
    return vectors.embed_missing(folder, embedder, lambda _: None)


# The static model


def test_without_the_package_there_is_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "WEIGHTS_PACKAGE", "memtui_no_such_package")
    assert vectors.choose_embedder(Embedding()) is None


def test_the_carrier_is_found_and_never_imported(carrier: Path) -> None:
    model = vectors.choose_embedder(Embedding())
    assert model is not None
    car, automobile, bread = model.embed(["car", "Automobile", "bread"], None)
    assert float(car @ automobile) > 0.9 > 0.2 > float(car @ bread)
    assert "wordllama" not in sys.modules


def test_common_words_count_little(carrier: Path) -> None:
    model = vectors.choose_embedder(Embedding())
    assert model is not None
    counts = model.counts(["the memory of a harbour"] * 50 + ["car", "bread"])
    plain, weighted = (model.embed(["the memory of a car"], c)[0] for c in (None, counts))
    car = model.embed(["car"], None)[0]
    assert float(weighted @ car) > float(plain @ car)


def test_texts_without_words_and_half_characters_have_a_row(carrier: Path) -> None:
    model = vectors.choose_embedder(Embedding())
    assert model is not None
    rows = model.embed(["", "car \ud800", "東京"], None)
    assert rows.shape == (3, 8)
    assert np.linalg.norm(rows, axis=1).tolist() == pytest.approx([0, 1, 0])


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"\xff" * 20,
        b"\x02\0\0\0\0\0\0\0{}",
        b'\x4d\0\0\0\0\0\0\0{"t":{"dtype":"F16","shape":[900,8],"data_offsets":[0,64]}}          ',
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path: Path, damage: bytes) -> None:
    file = tmp_path / "x.safetensors"
    file.write_bytes(damage)
    with pytest.raises(ValueError, match=r"safetensors|tables|header|JSON|Expecting|mmap"):
        embedding.read_table(file)


# Making


def test_an_unchanged_memory_is_never_embedded_twice(tmp_path: Path) -> None:
    model = Noting()
    first = generation(tmp_path / "home", words("one", "two", "three"))
    assert run(first, model) == (3, 3)
    second = generation(tmp_path / "home", words("three", "one", "four"))
    assert run(second, model) == (1, 3)
    assert model.asked == ["one", "two", "three", "four"]
    assert run(second, model) == (0, 3)


def test_the_same_text_has_one_vector_and_each_slot_its_own(tmp_path: Path) -> None:
    home = tmp_path / "home"
    folder = generation(home, words("twice", "once", "twice"))
    assert run(folder, Noting()) == (2, 2)
    state = vectors.load_vector_index([home], "letters")
    state = vectors.extend_index(state, words("twice", "once", "twice"), Noting())
    near = state.compute_cosines([state.vector_of(0)], 4)  # type: ignore[list-item]
    assert near[0] == near[2] == pytest.approx(1, abs=1e-3)
    assert near[1] < 1
    assert near[3] == 0  # a slot that came since


def test_what_was_made_stays_when_it_is_called_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "BATCH", 4)
    folder = generation(tmp_path / "home", words(*(f"memory {n}" for n in range(10))))
    model = Noting()
    with pytest.raises(Cancelled):
        vectors.embed_missing(folder, model, lambda *_: None, lambda: len(model.asked) >= 8)
    assert len(model.asked) == 8
    assert run(folder, model) == (2, 10)
    assert sorted(model.asked) == sorted(f"memory {n}" for n in range(10))


def test_half_written_rows_are_cut_off(tmp_path: Path) -> None:
    home = tmp_path / "home"
    folder = generation(home, words("one", "two"))
    model = Noting()
    run(folder, model)
    (numbers,) = home.glob("vectors-*.f16")
    with numbers.open("ab") as stream:
        stream.write(b"\1\2\3\4\5\6\7\10\11")  # a row and a half without a key
    assert run(generation(home, words("one", "two", "six")), model) == (1, 3)
    held = vectors.load(home, "letters")
    assert held is not None
    fresh = Noting().embed(["six"], None)[0]
    (at,) = vectors.find_rows(held.keys, vectors.hash_texts(["six"]))
    assert held.rows[at].tolist() == pytest.approx(fresh.tolist(), abs=1e-3)


def test_another_model_begins_anew(tmp_path: Path) -> None:
    home = tmp_path / "home"
    folder = generation(home, words("one", "two"))
    run(folder, Noting("letters"))
    assert vectors.load(home, "other") is None
    assert run(folder, Noting("other", size=6)) == (2, 2)
    assert vectors.load(home, "letters") is None
    assert len(list(home.glob("vectors-*.f16"))) == 1


def test_a_server_that_changes_its_model_under_the_same_name(tmp_path: Path) -> None:
    home = tmp_path / "home"
    run(generation(home, words("one", "two")), Noting(size=4))
    assert run(generation(home, words("one", "two", "three")), Noting(size=6)) == (1, 3)
    held = vectors.load(home, "letters")
    assert held is not None
    assert held.rows.shape == (1, 6)


def test_rows_of_no_text_are_let_go(tmp_path: Path) -> None:
    home = tmp_path / "home"
    model = Noting()
    run(generation(home, words(*(f"memory {n}" for n in range(9)))), model)
    run(generation(home, words("memory 1", "memory 2")), model)
    held = vectors.load(home, "letters")
    assert held is not None
    assert len(held.keys) == 2
    assert len(model.asked) == 9


def test_when_memories_grew_by_half_all_are_embedded_again(tmp_path: Path) -> None:
    home = tmp_path / "home"
    model = Noting()
    run(generation(home, words("one", "two")), model)
    assert run(generation(home, words("one", "two", "three")), model) == (1, 3)
    assert run(generation(home, words("one", "two", "three", "four")), model) == (4, 4)


def test_one_process_at_a_time(tmp_path: Path) -> None:
    folder = generation(tmp_path / "home", words("one"))
    with vectors.locked(folder.parent), pytest.raises(EmbeddingError, match="another memtui"):
        run(folder, Noting())


@pytest.mark.parametrize("file", ["vectors.json", "vectors-*.f16", "vectors-*.keys"])
def test_damaged_files_are_no_vectors_and_are_made_again(tmp_path: Path, file: str) -> None:
    home = tmp_path / "home"
    folder = generation(home, words("one", "two"))
    run(folder, Noting())
    (damaged,) = home.glob(file)
    damaged.write_bytes(b"{")
    vectors.load_vector_index([home], "letters")
    assert run(folder, Noting()) == (2, 2)


def test_nothing_is_ever_unpickled(tmp_path: Path) -> None:
    home = tmp_path / "home"
    run(generation(home, words("one")), Noting())
    (counts,) = home.glob("vectors-*.npy")
    np.save(counts, np.array([os.getcwd], object), allow_pickle=True)
    assert vectors.load(home, "letters") is None


def test_a_generation_leaves_the_vectors_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    run(generation(home, words("one")), Noting())
    generation(home, words("two"))
    assert vectors.load(home, "letters") is not None


@pytest.mark.slow
def test_a_child_process_makes_them_too(tmp_path: Path, carrier: Path) -> None:
    texts = [word for group in GROUPS for word in group.split()]
    folder = generation(tmp_path / "home", words(*texts))
    told: list[tuple[int, int]] = []
    assert build_index(
        "vectors", folder, lambda progress: told.append((progress.done, progress.total))
    )
    assert told[-1] == (len(texts), len(texts))
    held = vectors.load(folder.parent, "sif:tiny_256")
    assert held is not None
    assert len(held.keys) == len(texts)
