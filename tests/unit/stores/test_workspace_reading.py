"""Reading a workspace: every document once, typed as its owner types it, and nothing in the way."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memtui.model import Link, Memory
from memtui.stores.workspace import LOG_PATH, MAP_PATH

from .workspaces import TYPES, detected, make, opened, put, put_log, put_map


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make(tmp_path)


def memory(root: Path, path: str) -> Memory:
    return opened(root).by_id(path)


def written(root: Path, path: str, text: str | bytes) -> Memory:
    put(root, path, text)
    return memory(root, path)


# ---- which folder, which files ------------------------------------------------------------------


@pytest.mark.parametrize("inside", ["", "state/ambient-memory", MAP_PATH])
def test_a_workspace_is_found_by_its_type_map(root: Path, inside: str) -> None:
    assert detected(root / inside) == root


def test_a_workspace_is_found_from_the_folder_around_it(tmp_path: Path) -> None:
    root = make(tmp_path).rename(tmp_path / "workspace")
    assert detected(tmp_path) == root


def test_without_a_map_only_a_layout_of_its_own_makes_a_workspace(root: Path) -> None:
    (root / MAP_PATH).unlink()
    assert detected(root) == root
    (root / "ABOUT.md").unlink()
    assert detected(root) is None


def test_every_document_is_one_memory(root: Path) -> None:
    found = [m.id for m in opened(root).memories]
    on_disk = [str(path.relative_to(root)) for path in root.rglob("*.md")]
    assert sorted(found) == sorted(on_disk)
    assert len(found) == len(set(found))


@pytest.mark.parametrize(
    "path",
    [
        ".git/notes.md",
        ".memtui/x.md",
        "node_modules/a/README.md",
        "knowledge/.hidden.md",
        "knowledge/plain.txt",
        "state/ambient-memory/tfidf-index.pkl",
    ],
)
def test_what_is_hidden_or_no_document_is_left_out(root: Path, path: str) -> None:
    before = len(opened(root).memories)
    put(root, path, "cos\nsystem\n(S'touch pwned'\ntR.")
    after = opened(root)
    assert len(after.memories) == before
    assert after.unreadable == []


# ---- fields -------------------------------------------------------------------------------------


def test_a_document_says_what_it_says(root: Path) -> None:
    found = memory(root, "knowledge/lantern.md")
    assert (found.kind, found.title, found.content) == ("document", "Lantern", "Brass.\n")
    assert (found.entity, found.tags) == ("knowledge", ("light", "oil"))
    assert found.origin.file == str(root / "knowledge/lantern.md")
    assert found.origin.line == 6


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: From the head\n---\n# Heading\n", "From the head"),
        ("---\nname: a-skill\n---\n# Heading\n", "a-skill"),
        ("Words first.\n\n## Second level\n", "Second level"),
        ("A line above\n===\n\n# Other\n", "A line above"),
        ("```\n# a comment\n```\n# Heading #\n", "Heading"),
        ("# Rule\n\nCoil.\n", "doc"),
        ("no heading at all\n", "doc"),
        ("", "doc"),
    ],
)
def test_the_title_is_the_best_name_there_is(root: Path, text: str, title: str) -> None:
    assert written(root, "knowledge/doc.md", text).title == title


def test_headings_and_links_leave_code_out(root: Path) -> None:
    text = (
        "# One\n\n```sh\n[[ -f x.md ]]\n# no heading\n```\n"
        "`[[code]]` [lamp](designs/lamp.md#lens) [up](../GOALS.md) [web](https://x.org/a.md)\n"
        "[out](../../etc/passwd.md) [[lantern|the lamp]] [[nowhere]] ![pic](a.png)\n## Two\n"
    )
    found = written(root, "knowledge/doc.md", text)
    assert found.extra["headings"] == ["# One", "## Two"]
    assert found.links == (
        Link("links_to", "knowledge/designs/lamp.md"),
        Link("links_to", "GOALS.md"),
        Link("mentions", "knowledge/lantern.md"),
        Link("mentions", "nowhere"),
    )


def test_a_wikilink_that_two_documents_could_be_stays_as_it_is_written(root: Path) -> None:
    put(root, "people/lamp.md", "# Lamp\n")
    assert Link("mentions", "lamp") in written(root, "people/doc.md", "[[lamp]]\n").links


@pytest.mark.parametrize(
    ("path", "text", "created", "how"),
    [
        (
            "a.md",
            "---\ncreated: 2026-03-04T05:06:07+02:00\n---\n",
            "2026-03-04T03:06:07",
            "created",
        ),
        ("a.md", "---\ndate: 2026-03-04\n---\n", "2026-03-04T00:00:00", "date"),
        ("a.md", "---\ncreated: soon\ndate: 2026-03-04\n---\n", "2026-03-04T00:00:00", "date"),
        ("journal/2026-03-04-a.md", "x\n", "2026-03-04T00:00:00", "file name"),
        ("journal/2026-03-04/a.md", "x\n", "2026-03-04T00:00:00", "file name"),
        ("journal/2026-13-44-a.md", "x\n", "2026-01-02T03:04:05", "file time"),
        ("a.md", "---\ndate: 9999-99-99\n---\n", "2026-01-02T03:04:05", "file time"),
    ],
)
def test_created_is_the_best_date_there_is(
    root: Path, path: str, text: str, created: str, how: str
) -> None:
    changed = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC).timestamp()
    os.utime(put(root, path, text), (changed, changed))
    found = memory(root, path)
    assert found.when == datetime.fromisoformat(created).replace(tzinfo=UTC)
    assert found.is_dated_by_file == (how == "file time")
    assert str(found.extra["created_from"]).endswith(how)


def test_a_dated_entry_belongs_to_its_day_and_others_to_their_last_change(root: Path) -> None:
    assert memory(root, "journal/2026-11-02-fog.md").updated is None
    changed = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    os.utime(root / "GOALS.md", (changed.timestamp(), changed.timestamp()))
    assert memory(root, "GOALS.md").updated == changed
    stated = written(root, "a.md", "---\nupdated: 2026-05-06\n---\nx\n")
    assert stated.updated == datetime(2026, 5, 6, tzinfo=UTC)


@pytest.mark.parametrize(
    ("path", "fields", "status"),
    [
        ("tasks/a.md", "state: done", "retired"),
        ("tasks/archive/a.md", "state: Cancelled", "retired"),
        ("tasks/a.md", "state: expired", "retired"),
        ("tasks/a.md", "state: waiting", "active"),
        ("tasks/a.md", "state: dreaming", "active"),
        ("tasks/a.md", "title: none", "active"),
        ("lessons/a.md", "status: archived", "retired"),
        ("contrib/lessons/b/a.md", "status: deprecated", "retired"),
        ("lessons/a.md", "status: automated", "active"),
        ("knowledge/a.md", "status: archived", "active"),
        ("knowledge/a.md", "state: done", "active"),
    ],
)
def test_only_tasks_and_lessons_have_a_state(
    root: Path, path: str, fields: str, status: str
) -> None:
    found = written(root, path, f"---\n{fields}\n---\n# A\n")
    assert found.status == status
    key, _, word = fields.partition(": ")
    assert key == "title" or found.extra[key] == word


@pytest.mark.parametrize(
    ("path", "text", "importance"),
    [
        ("tasks/a.md", "---\npriority: high\n---\n", "high"),
        ("tasks/a.md", "---\npriority: low # later\n---\n", "low"),
        ("tasks/a.md", "---\npriority: someday\n---\n", "medium"),
        ("SOUL.md", "x\n", "high"),
        ("knowledge/SOUL.md", "x\n", "medium"),
        ("tasks/archive/a.md", "x\n", "low"),
        ("lessons/a.md", "---\nstatus: archived\n---\n", "low"),
    ],
)
def test_importance_follows_the_stated_rule(
    root: Path, path: str, text: str, importance: str
) -> None:
    assert written(root, path, text).importance == importance


# ---- frontmatter fails open, bytes are tolerated ------------------------------------------------


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("---\ntitle: [broken\n---\nBody\n", "Body\n"),
        ("---\nnot closed\nBody\n", "---\nnot closed\nBody\n"),
        ("---\n- a\n- list\n---\nBody\n", "Body\n"),
        ("--- \ntitle: x\n---\nBody\n", "--- \ntitle: x\n---\nBody\n"),
        ("---\ntitle: x\n---", ""),
        ("\n---\ntitle: x\n---\nBody\n", "---\ntitle: x\n---\nBody\n"),
        ("---\na: &a [1]\nb: *a\n!!python/object:os.system x: y\n---\nBody\n", "Body\n"),
    ],
)
def test_odd_frontmatter_never_hides_a_document(root: Path, text: str, content: str) -> None:
    found = opened_with(root, "knowledge/odd.md", text)
    assert found.content == content


def opened_with(root: Path, path: str, text: str | bytes) -> Memory:
    put(root, path, text)
    store = opened(root)
    assert store.unreadable == []
    return store.by_id(path)


def test_crlf_and_byte_order_mark_do_not_show_but_are_told(root: Path) -> None:
    found = opened_with(root, "a.md", b"\xef\xbb\xbf---\r\ntitle: T\r\n---\r\n\r\nOne\r\nTwo\r\n")
    assert (found.title, found.content) == ("T", "One\nTwo\n")
    assert found.extra["line_endings"] == "crlf"
    assert found.extra["byte_order_mark"] is True


def test_bytes_that_are_not_utf8_are_shown_as_they_are(root: Path) -> None:
    assert opened_with(root, "a.md", b"# caf\xe9\n").content == "# caf\udce9\n"


def test_frontmatter_keys_survive_in_extra_and_cannot_pose_as_ours(root: Path) -> None:
    text = (
        "---\ndepends: [b]\nheadings: mine\nmatch:\n  keywords: [x]\nwhen: 2026-01-01\n---\n# H\n"
    )
    extra = opened_with(root, "a.md", text).extra
    assert extra["depends"] == ["b"]
    assert extra["match"] == {"keywords": ["x"]}
    assert extra["when"] == "2026-01-01"
    assert (extra["headings"], extra["frontmatter.headings"]) == (["# H"], "mine")


def test_files_that_are_no_documents_are_named_and_stop_nothing(root: Path, tmp_path: Path) -> None:
    count = len(opened(root).memories)
    os.mkfifo(root / "knowledge/pipe.md")
    (root / "knowledge/out.md").symlink_to(put(tmp_path, "secret.md", "secret"))
    (root / "knowledge/nowhere.md").symlink_to(root / "missing.md")
    store = opened(root)
    assert len(store.memories) == count
    assert {Path(bad.file).name for bad in store.unreadable} == {"pipe.md", "out.md", "nowhere.md"}
    assert all(bad.reason for bad in store.unreadable)


def test_a_link_to_a_document_inside_is_a_document(root: Path) -> None:
    (root / "CLAUDE.md").symlink_to(root / "ABOUT.md")
    assert memory(root, "CLAUDE.md").title == "About Pip"


def test_a_name_that_is_not_utf8_is_a_document_like_others(root: Path) -> None:
    name = os.fsdecode(b"caf\xe9.md")
    assert opened_with(root, name, "# Coffee\n").title == "Coffee"


# ---- types --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "text", "wanted"),
    [
        ("ABOUT.md", "x", "identity"),
        ("knowledge/designs/lamp.md", "x", "project"),
        ("knowledge/designs/old/lamp.md", "x", ""),
        ("tasks/a.md", "---\npriority: HIGH\n---\n", "goal"),
        ("tasks/a.md", "---\nstate: Active\n---\n", "goal"),
        ("tasks/a.md", "---\ntags: [Style, infra]\n---\n", "preference"),
        ("tasks/a.md", "---\ntags: odd, infra\n---\n", "project"),
        ("tasks/a.md", "---\ntags: [odd]\n---\n", ""),
        ("tasks/sub/a.md", "---\npriority: high\n---\n", "goal"),
        ("notes/tasks/a.md", "---\npriority: high\n---\n", ""),
    ],
)
def test_a_type_comes_from_path_then_pattern_then_task_rules(
    root: Path, path: str, text: str, wanted: str
) -> None:
    assert written(root, path, text).type == wanted


def test_the_first_pattern_of_the_file_wins_and_other_words_fall_through(root: Path) -> None:
    put_map(
        root,
        {
            "exact_paths": {"GOALS.md": "decision"},
            "glob_paths": {"GO*.md": "habit", "*.md": "preference", "GOALS.*": "goal"},
        },
    )
    goals = memory(root, "GOALS.md")
    assert (goals.type, goals.extra["ignored_type"]) == ("preference", "decision")


def test_the_default_of_the_task_rules_is_for_tasks_only(root: Path) -> None:
    put_map(root, {"task_rules": {"default": "project"}})
    assert memory(root, "tasks/paint.md").type == "project"
    assert memory(root, "README.md").type == ""


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"exact_paths": ', "\x00\x00", '{"a": 1}}', "[" * 100_000]
)
def test_a_broken_map_leaves_every_document_untyped_and_is_named(root: Path, text: str) -> None:
    put(root, MAP_PATH, text)
    store = opened(root)
    assert {m.type for m in store.memories} == {""}
    assert [Path(bad.file).name for bad in store.unreadable] == ["memory-type-map.json"]


def test_a_part_of_the_map_that_is_no_object_costs_only_its_own_rules(root: Path) -> None:
    put_map(root, {**TYPES, "glob_paths": ["*.md"]})
    store = opened(root)
    assert store.by_id("ABOUT.md").type == "identity"
    assert "glob_paths" in store.unreadable[0].reason


# ---- usage --------------------------------------------------------------------------------------


def injection(*paths: str, given: int, time: str = "2026-11-01T00:00:00Z") -> str:
    hits = ", ".join(f'{{"path": "{path}", "type": "core", "score": 0.2}}' for path in paths)
    return f'{{"ts": "{time}", "query": "who", "num_injected": {given}, "hits": [{hits}]}}\n'


def test_usage_counts_what_was_found_and_what_was_given(root: Path) -> None:
    put_log(
        root,
        injection("GOALS.md", "ABOUT.md", given=1)
        + injection("ABOUT.md", "gone.md", given=2, time="2026-11-02T00:00:00Z"),
    )
    store = opened(root)
    assert store.by_id("ABOUT.md").extra["injections"] == {
        "found": 2,
        "injected": 1,
        "last": "2026-11-02T00:00:00Z",
        "query": "who",
    }
    assert store.by_id("GOALS.md").extra["injections"]["injected"] == 1
    assert "injections" not in store.by_id("README.md").extra
    assert store.unreadable == []


def test_a_last_line_that_is_cut_is_no_fault_and_others_are_named(root: Path) -> None:
    good = injection("GOALS.md", given=1)
    put_log(root, good + good[:40])
    assert opened(root).unreadable == []
    put_log(root, good + good[:40] + "\n[1]\n" + good + good[:20])
    store = opened(root)
    assert store.by_id("GOALS.md").extra["injections"]["found"] == 2
    assert store.unreadable[0].reason.startswith("2 lines")
    assert "2, 3" in store.unreadable[0].reason


@pytest.mark.parametrize(
    "line", ['{"hits": {"path": 1}}', '{"hits": [1, {"path": []}], "num_injected": "x"}', "{}"]
)
def test_odd_lines_of_the_log_count_for_nothing(root: Path, line: str) -> None:
    put_log(root, f"{line}\n{line}\n")
    assert opened(root).unreadable == []


# ---- what is read again -------------------------------------------------------------------------


def changed_shards(root: Path, change: str, text: str) -> set[str]:
    store = opened(root).store
    before = {shard.key: shard.stamp for shard in store.scan().shards}
    put(root, change, text)
    return {shard.key for shard in store.scan().shards if before.get(shard.key) != shard.stamp}


def test_only_what_changed_is_read_again(root: Path) -> None:
    assert changed_shards(root, "GOALS.md", "# Other goals\n") == {"GOALS.md"}
    assert changed_shards(root, "new.md", "# New\n") == {"new.md"}
    assert changed_shards(root, LOG_PATH, injection("ABOUT.md", given=1)) == {"ABOUT.md"}


def test_a_new_rule_costs_the_documents_it_types_and_the_tasks(root: Path) -> None:
    types = {**TYPES, "exact_paths": {**TYPES["exact_paths"], "README.md": "project"}}
    before = opened(root)
    shards = {shard.key: shard.stamp for shard in before.store.scan().shards}
    put_map(root, types)
    after = before.store.scan().shards
    assert {s.key for s in after if shards[s.key] != s.stamp} == {"README.md", "tasks/paint.md"}
