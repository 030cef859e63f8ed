"""A model small enough to reason about, in files laid out as the package wordllama lays out its.

The package `tokenizers`, which reads the real one, is not a dependency of the tests: a stand-in
with its three methods is laid beside, so that child processes find both on PYTHONPATH.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np

SIZE = 8
GROUPS = (
    "car automobile vehicle",
    "login signin authentication",
    "tide sounding harbour",
    "bread flour oven",
    "the a of and in on is for memory",
)
"""Words of one group mean the same; each group has its own direction."""
WORDS = {word: number for number, group in enumerate(GROUPS) for word in group.split()}
VOCABULARY = {word: at + 1 for at, word in enumerate(WORDS)}

_TOKENIZERS = """
import json, re

class Encoding:
    def __init__(self, ids):
        self.ids = ids

class Tokenizer:
    @classmethod
    def from_file(cls, path):
        self = cls()
        self.vocabulary = json.load(open(path))
        return self

    def encode(self, text, add_special_tokens=True):
        return self.encode_batch([text], add_special_tokens)[0]

    def encode_batch(self, texts, add_special_tokens=True):
        assert not add_special_tokens
        for text in texts:
            text.encode("utf-8")  # as strict as the real one
        known = self.vocabulary
        words = (re.findall("[a-z]+", text.lower()) for text in texts)
        return [Encoding([known[w] for w in found if w in known]) for found in words]
"""


def table() -> np.ndarray[tuple[int, int], np.dtype[np.float16]]:
    rows = np.zeros((len(VOCABULARY) + 1, SIZE), np.float16)
    for word, at in VOCABULARY.items():
        rows[at, WORDS[word]] = 1
        rows[at, 5 + at % 3] = 0.125
    return rows


def install(site: Path) -> Path:
    """Write both packages into a folder for sys.path."""
    weights = site / "wordllama" / "weights" / "tiny_256.safetensors"
    tokenizer = site / "wordllama" / "tokenizers" / "tiny.json"
    for file in (weights, tokenizer):
        file.parent.mkdir(parents=True)
    (site / "wordllama" / "__init__.py").write_text("raise RuntimeError('must not be imported')")
    (site / "tokenizers").mkdir()
    (site / "tokenizers" / "__init__.py").write_text(_TOKENIZERS)
    tokenizer.write_text(json.dumps(VOCABULARY))
    numbers = table()
    entry = {"dtype": "F16", "shape": list(numbers.shape), "data_offsets": [0, numbers.nbytes]}
    header = json.dumps({"embedding.weight": entry}).encode()
    weights.write_bytes(struct.pack("<Q", len(header)) + header + numbers.tobytes())
    return site
