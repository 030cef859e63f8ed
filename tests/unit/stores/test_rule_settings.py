"""The constants of a store's rules can be set in config.toml, and nonsense is said to be so."""

from __future__ import annotations

from typing import Any

import pytest

from memtui.errors import ConfigError
from memtui.stores.agent_memory.rules import FactRules as FactRules
from memtui.stores.ambient.records import EventRules as EventRules
from memtui.stores.format import overridden


def test_values_take_the_place_of_constants() -> None:
    rules = overridden(FactRules(), {"shortest": 3, "similar": 1, "transient": ["soon"]})
    assert (rules.shortest, rules.similar, rules.transient) == (3, 1.0, ("soon",))
    assert rules.anchors == FactRules().anchors
    assert overridden(EventRules(), {"stop_words": ["the"]}).stop_words == {"the"}


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ({"shotest": 3}, "no constant 'shotest'"),
        ({"shortest": "3"}, "a number"),
        ({"shortest": 2.5}, "a whole number"),
        ({"shortest": True}, "a number"),
        ({"similar": -1}, "negative"),
        ({"anchors": "works at"}, "a list of texts"),
        ({"anchors": [1]}, "a list of texts"),
    ],
)
def test_nonsense_is_named(table: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        overridden(FactRules(), table, "stores.agent-memory")
