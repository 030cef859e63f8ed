"""What the tree of entities shows, and what each of its branches filters by."""

from __future__ import annotations

from memtui.tui.widgets.entity_tree import SLASH, KnownPaths, Target, make_paths, shown

COUNTS = {("cc", "home/a/mill"): 2, ("cc", ""): 1, ("ab", "mill/main"): 3, ("mc", "a/b"): 1}
NAMES = {"cc": "Claude Code", "ab": "Ambient", "mc": "MCP memory"}


def levels(label: str, entity: str) -> tuple[str, ...]:
    by_store = {"cc": (entity.rpartition("/")[2],), "mc": (entity,)}
    return by_store.get(label, tuple(entity.split("/")))


def test_the_first_level_is_the_program() -> None:
    paths = make_paths(COUNTS, {}, levels, NAMES.__getitem__)
    assert paths.counts == {
        "Claude Code/mill": 2,
        "Claude Code": 1,
        "Ambient/mill/main": 3,
        f"MCP memory/a{SLASH}b": 1,
    }
    assert paths.target("Claude Code/mill") == Target("cc", ("home/a/mill",))
    assert paths.target("Ambient") == Target("ab")
    assert paths.target("Ambient/mill") == Target("ab", ("mill",))
    assert paths.target(f"MCP memory/a{SLASH}b") == Target("mc", ("a/b",))
    assert paths.target("") == Target()
    assert shown(f"a{SLASH}b") == "a/b"


def test_a_flat_tree_joins_what_programs_know_of_one_project() -> None:
    paths = make_paths({**COUNTS, ("ab", "mill"): 1}, {}, levels, None)
    assert paths.counts["mill"] == 3
    assert paths.target("mill") == Target("", ("home/a/mill", "mill"))
    assert paths.target(f"a{SLASH}b") == Target("", ("a/b",))


def test_paths_that_are_known_give_the_same_counts_for_each_search() -> None:
    known = KnownPaths({}, {}, {})
    for counts in (COUNTS, dict(list(COUNTS.items())[:1]), {}, COUNTS):
        kept = make_paths(counts, {}, levels, NAMES.__getitem__, known)
        fresh = make_paths(counts, {}, levels, NAMES.__getitem__)
        assert kept.counts == fresh.counts
        assert all(kept.target(path) == fresh.target(path) for path in fresh.counts)
