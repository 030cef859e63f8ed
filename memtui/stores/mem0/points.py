"""Read the points of a local Qdrant, which are pickled, without running anything that they name.

`qdrant_client.local.persistence` stores `pickle.dumps(point)`. A pickle names classes and functions
that are called while it is loaded, so only the classes of a point are allowed, and each of them is
replaced by a plain object that keeps what it is given.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from typing import Any

_MODELS = "qdrant_client.http.models.models"
_ALLOWED = frozenset(
    {
        *((_MODELS, name) for name in ("PointStruct", "SparseVector", "Record")),
        ("qdrant_client.conversions.common_types", "PointStruct"),
    }
)


class _Plain:
    """Stands for a class of Qdrant's: keeps its state, does nothing."""

    def __setstate__(self, state: Any) -> None:
        values = state.get("__dict__") if isinstance(state, Mapping) else None
        self.values = values if isinstance(values, Mapping) else {}


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"a point does not hold a {module}.{name}")
        return _Plain

    def persistent_load(self, pid: Any) -> Any:  # noqa: ARG002
        raise pickle.UnpicklingError("a point does not refer to anything outside")


def point(data: object) -> tuple[str, dict[str, Any]]:
    """The id and the payload of a pickled point; ("", {}) if it is not one. Never raises."""
    if not isinstance(data, bytes):
        return "", {}
    try:
        found = _Reader(io.BytesIO(data)).load()
        id, values = found.values["id"], found.values["payload"]
        return str(id), {str(key): value for key, value in values.items()}
    except Exception:  # a hostile pickle may raise anything
        return "", {}
