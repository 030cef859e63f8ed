"""What a format does for each act, as one value: the whole of its planning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from memtui.changes import Act, Change, Plan
from memtui.model import Memory
from memtui.stores.plan_context import PlanContext

AnyContext = TypeVar("AnyContext", bound=PlanContext)

ActHandler = Callable[[Change, Memory, AnyContext], Plan]
"""Plans one act on a memory that exists. Raises Refused, Conflict or RefError."""


def _always(_act: Act, _memory: Memory) -> str:
    return ""


def _no_tags(_memory: Memory) -> Iterable[str]:
    return ()


@dataclass(frozen=True, slots=True)
class ActionSupport(Generic[AnyContext]):
    """How a format does what it can, and why it cannot do the rest.

    The acts that lie beside any store (`sidecar_acts.BESIDE`) need not be named here.
    """

    editable: frozenset[str]
    """The fields that EDIT can change."""
    add: Callable[[Change, AnyContext], Plan]
    """Plans an ADD. Raises Refused."""
    handlers: Mapping[Act, ActHandler[AnyContext]]
    unsupported: Mapping[Act, str]
    """Why the format has no way to do an act."""
    shard_of: Callable[[Memory], str]
    """Key of the shard that holds a memory."""
    not_on: Callable[[Act, Memory], str] = _always
    """Why an act that the format has cannot be done on this memory; empty when it can."""
    native_tags: Callable[[Memory], Iterable[str]] = _no_tags
    """Tags that the files themselves give, so that they are not kept twice."""
