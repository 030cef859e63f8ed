"""A merge rewrites the references to what goes, or names them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.errors import Refused
from memtui.testing.fixtures import memories, open_library


def _fact(id: str, o: str) -> dict[str, object]:
    return {"id": id, "s": "api", "p": "listens on", "o": o, "time": "2026-11-01", "source_ids": []}


def test_episodes_and_schema_name_the_fact_that_stays(tmp_path: Path) -> None:
    store = tmp_path / "simple"
    store.mkdir()
    episode = {"id": "ep_1", "title": "Ports", "summary": "Ports moved", "facts": ["fact_b", "x"]}
    rule = {"id": "sch_1", "kind": "policy", "text": "One port", "status": "confirmed"}
    rule |= {"evidence": ["fact_a", "fact_b"], "version": 1}
    (store / "facts.json").write_text(json.dumps([_fact("fact_a", "1"), _fact("fact_b", "2")]))
    (store / "episodes.json").write_text(json.dumps([episode | {"start": "2026-11-01T10:00:00"}]))
    (store / "schema.json").write_text(json.dumps([rule]))
    library = open_library(store, tmp_path / "state")
    label = library.stores[0].label
    link = {"relation": "about", "target": "fact_b"}
    library.apply(library.plan([Change(Act.LINK, label, f"{label}:ep_1", link)]))
    before = {path.name: path.read_text() for path in store.glob("*.json")}

    change = Change(Act.MERGE, label, f"{label}:fact_a", {"others": ["fact_b"]})
    planned = library.plan([change])
    assert "2 references to what goes lead to fact_a now" in planned.reason
    library.apply(planned)

    (episode,) = json.loads((store / "episodes.json").read_text())
    (rule,) = json.loads((store / "schema.json").read_text())
    assert episode["facts"] == ["fact_a", "x"]
    assert rule["evidence"] == ["fact_a"]
    targets = {link.target for link in library.get(f"{label}:ep_1").links}
    assert targets == {"fact_a", "x"}
    library.undo()
    assert {path.name: path.read_text() for path in store.glob("*.json")} == before


def test_a_fact_does_not_take_the_place_of_one_that_has_followed_it(tmp_path: Path) -> None:
    """Each would be superseded by the other, and no search would find either."""
    store = tmp_path / "simple"
    store.mkdir()
    facts = [_fact("fact_a", "1"), _fact("fact_other", "one port")]
    for name, records in (("facts", facts), ("episodes", []), ("schema", [])):
        (store / f"{name}.json").write_text(json.dumps(records))
    library = open_library(store, tmp_path / "state")
    label = library.stores[0].label
    first = last = f"{label}:fact_a"
    followers = []
    for port in "23":
        text = {"content": f"api | listens on | {port}"}
        planned = library.plan([Change(Act.SUPERSEDE, label, last, text)])
        library.apply(planned)
        last = planned.refs[0]
        followers.append(library.get(last).id)
    for id in followers:
        with pytest.raises(Refused, match="has taken its place already") as error:
            library.plan([Change(Act.MERGE, label, first, {"others": [id]})])
        assert error.value.do == f"merge it into {id} instead"


def test_a_fact_whose_follower_is_gone_can_be_merged(tmp_path: Path) -> None:
    store = tmp_path / "simple"
    store.mkdir()
    facts = [_fact("fact_a", "1"), _fact("fact_b", "2")]
    for name, records in (("facts", facts), ("episodes", []), ("schema", [])):
        (store / f"{name}.json").write_text(json.dumps(records))
    library = open_library(store, tmp_path / "state")
    label = library.stores[0].label
    text = {"content": "api | listens on | 3"}
    library.apply(library.plan([Change(Act.SUPERSEDE, label, f"{label}:fact_a", text)]))
    records = json.loads((store / "facts.json").read_text())
    kept = [each for each in records if each["id"] in ("fact_a", "fact_b")]
    assert len(kept) < len(records)
    (store / "facts.json").write_text(json.dumps(kept))
    library.refresh()
    assert library.get(f"{label}:fact_a").superseded_by, "its follower is named still"
    change = Change(Act.MERGE, label, f"{label}:fact_a", {"others": ["fact_b"]})
    assert library.plan([change]).has_edits


def test_a_change_of_a_store_that_is_not_open_is_refused(tmp_path: Path) -> None:
    store = tmp_path / "simple"
    store.mkdir()
    for name, records in (("facts", [_fact("fact_a", "1")]), ("episodes", []), ("schema", [])):
        (store / f"{name}.json").write_text(json.dumps(records))
    library = open_library(store, tmp_path / "state")
    with pytest.raises(Refused, match="no open store is called 'elsewhere'"):
        library.plan([Change(Act.ADD, "elsewhere", "", {"content": "api | listens on | 3"})])


def test_links_in_the_sidecar_lead_to_what_stays(tmp_path: Path) -> None:
    (tmp_path / ".hermes" / "memories").mkdir(parents=True)
    file = tmp_path / ".hermes" / "memories" / "MEMORY.md"
    file.write_text("The port is 8123\n§\nPort: 8123\n§\nDeploys wait for the port")
    library = open_library(tmp_path / ".hermes", tmp_path / "state")
    one, two, three = memories(library).values()
    link = {"relation": "about", "target": two.id}
    library.apply(library.plan([Change(Act.LINK, three.store, three.ref, link)]))

    library.apply(library.plan([Change(Act.MERGE, one.store, one.ref, {"others": [two.id]})]))

    assert [link.target for link in library.get(three.ref).links] == [one.id]
    library.undo()
    assert [link.target for link in library.get(three.ref).links] == [two.id]
