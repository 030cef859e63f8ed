"""Whoosh reads its files with pickle; here is what keeps a forged file from running anything.

Every place in whoosh 2.7.4 that unpickles is given a loader that knows three classes and nothing
else. The loader of formats before 2.7 is taken away. The rest of the defence is elsewhere: the
index lies only in memtui's own private folder, and its files are compared with their sums first.
"""

from __future__ import annotations

import io
import pickle
from types import SimpleNamespace
from typing import IO, Any

ALLOWED = frozenset(
    {
        ("whoosh.codec.whoosh3", "W3Segment"),
        ("whoosh.codec.whoosh3", "W3Codec"),
        ("collections", "defaultdict"),
        ("builtins", "int"),
        ("builtins", "set"),
    }
)
"""What an index of ours holds. The schema is passed in, so its pickle is never read."""


class _Restricted(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if (module_name, global_name) not in ALLOWED:
            raise pickle.UnpicklingError(f"the index asks for {module_name}.{global_name}")
        return super().find_class(module_name, global_name)


def load(file: IO[bytes]) -> Any:
    """`pickle.load` for the classes of an index only. Raises UnpicklingError."""
    return _Restricted(file).load()


def loads(data: bytes) -> Any:
    """`pickle.loads` for the classes of an index only. Raises UnpicklingError."""
    return _Restricted(io.BytesIO(data)).load()


def _dumps(value: Any, protocol: int = 4) -> bytes:
    """Bytes as bytes: protocol 2, which Whoosh asks for, writes them as a call of a function."""
    return pickle.dumps(value, max(protocol, 4))


def _refuse(*_: Any, **__: Any) -> Any:
    raise pickle.UnpicklingError("an index of an older Whoosh")


def guard() -> None:
    """Put the restricted loader everywhere in Whoosh. Doing it again changes nothing."""
    from whoosh import columns, formats, index, legacy
    from whoosh.codec import whoosh3
    from whoosh.filedb import structfile
    from whoosh.util import loading

    structfile.load_pickle = load
    whoosh3.loads = loads
    whoosh3.dumps = _dumps
    columns.loads = loads
    formats.loads = loads
    index.pickle = SimpleNamespace(
        loads=loads, dumps=pickle.dumps, PicklingError=pickle.PicklingError
    )
    index.toc_loaders = {}
    legacy.RenamingUnpickler = _refuse
    loading.RenamingUnpickler = _refuse
