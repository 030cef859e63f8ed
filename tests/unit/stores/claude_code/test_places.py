"""Claude Code's folders are recognised, others are not, and a project's path is never guessed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.library import Library
from memtui.stores import registry
from memtui.stores.claude_code import ProjectPaths, detect, slug_of
from tests.samples import SAMPLES

SLUG = "-home-ann-src-towerd-io"


def write(file: Path, text: str = "- x\n") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def config(home: Path) -> Path:
    write(home / ".claude" / "projects" / SLUG / "memory" / "MEMORY.md")
    return home / ".claude"


def opened(root: Path) -> Library:
    library = Library.open([root], formats=["claude-code"], state=root / ".state")
    library.load()
    return library


def test_settings_project_and_single_folder(tmp_path: Path) -> None:
    root = config(tmp_path)
    assert detect(tmp_path) == detect(root) == root
    assert detect(root / "projects" / SLUG) == root / "projects" / SLUG / "memory"
    repo = tmp_path / "repo"
    write(repo / ".claude" / "agent-memory" / "reviewer" / "MEMORY.md")
    assert detect(repo) == detect(repo / ".claude") == repo
    lone = write(tmp_path / "notes" / "MEMORY.md", "- [A](a.md) — b\n").parent
    assert detect(lone) is None, "the index leads nowhere"
    write(lone / "a.md")
    assert detect(lone) == lone


@pytest.mark.parametrize("is_repository", [False, True])
def test_the_home_folder_is_one_store_also_before_there_are_projects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_repository: bool
) -> None:
    """`~/.claude/CLAUDE.md` was in two stores there, and in none within a project."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    write(tmp_path / ".claude" / "CLAUDE.md")
    project = tmp_path / "src" / "shop"
    write(project / ".claude" / "CLAUDE.md")
    for folder in (tmp_path, project)[: 2 if is_repository else 0]:
        (folder / ".git").mkdir()
    at_home = {
        each.candidate.root for each in registry.explain(tmp_path, tmp_path) if each.is_taken
    }
    assert at_home == {tmp_path / ".claude"}
    found = {each.candidate.root for each in registry.explain(project, tmp_path) if each.is_taken}
    assert found >= {tmp_path / ".claude", project}


def test_a_repository_with_instructions_only(tmp_path: Path) -> None:
    write(tmp_path / "CLAUDE.md", "Read @docs/style.md\n")
    assert detect(tmp_path) is None, "any folder may hold such a file"
    (tmp_path / ".git").mkdir()
    write(tmp_path / "docs" / "style.md", "Plain words, see @deeper.md\n")
    write(tmp_path / "docs" / "deeper.md", "`@not/imported.md`\n")
    assert detect(tmp_path) is None, "its rules are read as instructions"
    library = opened(tmp_path)
    found = {memory.id for memory in library.memories("claude-code")}
    assert found == {"CLAUDE.md", "docs/style.md", "docs/deeper.md"}


def test_imports_in_a_circle_and_of_files_that_are_missing(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    write(tmp_path / "CLAUDE.md", "See @docs/a.md and @docs/none.md\n")
    write(tmp_path / "docs" / "a.md", "See @b.md\n")
    write(tmp_path / "docs" / "b.md", "Back to @../CLAUDE.md and @a.md\n")
    found = {memory.id: memory for memory in opened(tmp_path).memories("claude-code")}
    assert set(found) == {"CLAUDE.md", "docs/a.md", "docs/b.md"}
    assert found["CLAUDE.md"].extra["imports_missing"] == ["docs/none.md"]
    assert "imports_missing" not in found["docs/b.md"].extra


@pytest.mark.parametrize(
    "name", ["agent-memory", "ambient", "engram", "simple-memory", "workspace"]
)
def test_the_stores_of_other_programs_are_left_to_them(name: str) -> None:
    assert detect(SAMPLES / name) is None
    for folder in (SAMPLES / name).rglob("*"):
        assert not folder.is_dir() or detect(folder) is None


def test_the_folder_that_a_setting_names(tmp_path: Path) -> None:
    there = write(tmp_path / "elsewhere" / "MEMORY.md", "- [A](a.md)\n").parent
    write(there / "a.md")
    settings = {"autoMemoryDirectory": "~/elsewhere"}
    write(tmp_path / ".claude" / "settings.json", json.dumps(settings))
    work = tmp_path / "work"
    work.mkdir()
    assert [root for _, root in registry.discover(work, tmp_path, {})] == [there]
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / ".claude" / "settings.json").rename(tmp_path / "dotfiles" / "settings.json")
    (tmp_path / ".claude" / "settings.json").symlink_to(tmp_path / "dotfiles" / "settings.json")
    assert [root for _, root in registry.discover(work, tmp_path, {})] == [there]
    write(tmp_path / ".claude" / "settings.json", '{"autoMemoryDirectory": "relative"}')
    assert registry.discover(work, tmp_path, {}) == []


@pytest.mark.parametrize("program", [".claude", ".qwen"])
@pytest.mark.parametrize("link", ["projects", f"projects/{SLUG}", f"projects/{SLUG}/memory"])
def test_a_memory_folder_behind_a_link_is_a_store_of_its_own(
    tmp_path: Path, program: str, link: str
) -> None:
    """People keep the memory of a project in a synchronised folder, and a link in its place."""
    root, shared = tmp_path / program, tmp_path / "synced" / "folder"
    write(root / "projects" / SLUG / "memory" / "MEMORY.md", "- [A](a.md) — kept\n")
    topic = write(root / "projects" / SLUG / "memory" / "a.md", "old text\n")
    shared.parent.mkdir()
    (root / link).rename(shared)
    (root / link).symlink_to(shared)
    write(root / "projects" / "-home-ann-near" / "memory" / "MEMORY.md", "- near\n")
    found = registry.discover(tmp_path / "nowhere", tmp_path, {})
    assert found == registry.detect_within(tmp_path)
    assert topic.parent in [path for _, path in found]
    names, roots = zip(*((known.name, path) for known, path in found), strict=True)
    library = Library.open(roots, formats=names, state=tmp_path / ".state")
    library.load()
    assert not any(state.unreadable for state in library.snapshot.stores)
    [state] = [each for each in library.snapshot.stores if each.root == topic.parent]
    [memory] = [each for each in library.memories(state.label) if each.title == "A — kept"]
    assert memory.entity == SLUG
    change = Change(Act.EDIT, memory.store, memory.ref, {"content": "new"})
    library.apply(library.plan([change]))
    assert [each.read_text() for each in shared.rglob("a.md")] == ["new\n"]


def transcript(root: Path, *cwds: object) -> None:
    lines = [json.dumps({"type": "user", "cwd": cwd}) for cwd in cwds]
    write(root / "projects" / SLUG / "1.jsonl", "\n".join(lines))


def test_the_path_comes_from_the_transcripts(tmp_path: Path) -> None:
    root = config(tmp_path)
    transcript(root, "/somewhere/else", "/home/ann/src/towerd.io/deep/below")
    assert ProjectPaths(root).of(SLUG) == "/home/ann/src/towerd.io"


def test_else_from_the_settings_else_it_stays_the_slug(tmp_path: Path) -> None:
    root = config(tmp_path)
    transcript(root, "/somewhere/else", 7, None)
    assert ProjectPaths(root).entity(SLUG) == SLUG
    write(tmp_path / ".claude.json", json.dumps({"projects": {"/home/ann/src/towerd-io": {}}}))
    assert ProjectPaths(root).entity(SLUG) == "home/ann/src/towerd-io"
    assert opened(root).snapshot.rows[0].entity == "home/ann/src/towerd-io"


def test_imports_are_followed_five_files_deep(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    write(tmp_path / "CLAUDE.md", "@d/1.md\n")
    for number in range(1, 8):
        write(tmp_path / "d" / f"{number}.md", f"@{number + 1}.md\n")
    found = {memory.id for memory in opened(tmp_path).memories("claude-code")}
    assert found == {"CLAUDE.md", *(f"d/{number}.md" for number in range(1, 6))}


def test_projects_of_one_name_are_told_apart_by_the_folder_above(tmp_path: Path) -> None:
    root = tmp_path / ".claude"
    paths = ["/src/mill/api", "/src/tower/api", "/src/tower/bells"]
    for path in paths:
        slug = path.replace("/", "-")
        write(root / "projects" / slug / "memory" / "MEMORY.md")
        write(root / "projects" / slug / "a.jsonl", json.dumps({"cwd": path}) + "\n")
    library = opened(root)
    (store,) = library.stores
    entities = sorted({memory.entity for memory in library.memories(store.label)})
    assert entities == ["src/mill/api", "src/tower/api", "src/tower/bells"]
    assert [store.entity_levels(entity) for entity in entities] == [
        ("mill/api",),
        ("tower/api",),
        ("bells",),
    ]
    assert store.entity_levels("agents/reviewer") == ("agents", "reviewer")
    assert store.entity_levels("agents-local/x") == ("agents-local", "x")


def sessions(root: Path, slug: str, *cwds: str) -> None:
    for number, cwd in enumerate(cwds):
        write(root / "projects" / slug / f"{number}.jsonl", json.dumps({"cwd": cwd}) + "\n")


def test_topic_files_lie_in_folders_too(tmp_path: Path) -> None:
    root = config(tmp_path)
    memory = root / "projects" / SLUG / "memory"
    write(memory / "MEMORY.md", "- [Push](feedback/push.md) — with lease\n")
    write(memory / "feedback" / "push.md", "Never push by force, see [[calm]].\n")
    write(memory / "logs" / "2026" / "calm.md", "Calm.\n")
    write(memory / "team" / "MEMORY.md", "- [Window](window.md) — Tuesdays\n- Ask ann\n")
    write(memory / "team" / "window.md", "Deploy on Tuesdays.\n")
    library = opened(root)
    prefix = f"projects/{SLUG}/memory/"
    found = {m.id.removeprefix(prefix).partition("#")[0]: m for m in library.snapshot.rows}
    assert set(found) == {
        *("feedback/push.md", "logs/2026/calm.md", "team/MEMORY.md", "team/window.md")
    }
    push, window = found["feedback/push.md"], found["team/window.md"]
    assert (push.title, push.extra["indexed"]) == ("Push — with lease", True)
    assert [link.target for link in push.links] == [f"{prefix}logs/2026/calm.md"]
    assert (window.title, window.entity) == ("Window — Tuesdays", f"{SLUG} · team")
    assert library.stores[0].entity_levels(window.entity) == ("src-towerd-io", "team")
    assert {f.kind for f in library.check()} == {"not-in-index"}, "calm.md is named by no line"


@pytest.mark.parametrize("name", ["feedback/push.md", "team/window.md"])
def test_what_lies_in_a_folder_is_edited_and_deleted_with_its_line(
    tmp_path: Path, name: str
) -> None:
    root = config(tmp_path)
    memory = root / "projects" / SLUG / "memory"
    index = memory / ("team/MEMORY.md" if name.startswith("team") else "MEMORY.md")
    line = f"- [It](./{name.removeprefix('team/')}) — is\n- Other\n"
    write(index, line)
    write(memory / name, "Text.\n")
    library = opened(root)
    ref = f"claude-code:projects/{SLUG}/memory/{name}"
    for act, fields in ((Act.EDIT, {"title": "So — it goes"}), (Act.PIN, {}), (Act.DELETE, {})):
        library.apply(library.plan([Change(act, "claude-code", ref, fields)]))
        library.refresh()
        if act is Act.EDIT:
            assert index.read_text() == line.replace("[It]", "[So]").replace("— is", "— it goes")
        if act is Act.PIN:
            assert library.get(ref).pinned
    assert not (memory / name).exists()
    assert index.read_text() == "- Other\n"


INDEX_DIALECTS = """# Memory

| File | What |
|------|------|
| [rules](rules.md) | by hand |
| `style.md` | naming |

1. [Deploys](deploys.md) — Tuesdays
2. **[Team](./team.md)**: who is who

- lang.md - Polish
* [x] [Done](done.md) — finished
- [ ] [Space](<with space.md>) — brackets
- See `sub/deep.md`, please
"""


def test_an_index_names_its_files_in_many_ways(tmp_path: Path) -> None:
    memory = tmp_path / "projects" / SLUG / "memory"
    write(memory / "MEMORY.md", INDEX_DIALECTS)
    joined = {"deploys.md": "Deploys — Tuesdays", "team.md": "Team — who is who"}
    joined |= {"done.md": "Done — finished", "with space.md": "Space — brackets"}
    named = {"rules.md", "style.md", "lang.md", "sub/deep.md"}
    for name in (*joined, *named, "alone.md"):
        write(memory / name, "Text.\n")
    library = opened(tmp_path)
    topics = {Path(m.id).name: m for m in library.snapshot.rows if "#" not in m.id}
    assert {name: topics[name].title for name in joined} == joined
    for name in (*joined, *named):
        found = topics[name.rpartition("/")[2]]
        assert (found.extra["indexed"], found.importance) == (True, "medium")
    assert topics["alone.md"].extra["indexed"] is False


def test_a_name_in_either_form_of_its_letters_is_one_file(tmp_path: Path) -> None:
    memory = tmp_path / "projects" / SLUG / "memory"
    write(memory / "MEMORY.md", "- [Cafe\u0301](user_caf\u00e9.md) — oats\n")
    file = write(memory / "user_cafe\u0301.md", "Works from the cafe\u0301.\n")
    library = opened(tmp_path)
    (found,) = library.snapshot.rows
    assert found.extra["indexed"] is True
    assert library.check() == []
    library.apply(library.plan([Change(Act.DELETE, "claude-code", found.ref, {})]))
    assert not file.exists()
    assert (memory / "MEMORY.md").read_text() == "\n"


def test_an_empty_index_is_no_fault(tmp_path: Path) -> None:
    memory = tmp_path / "projects" / SLUG / "memory"
    write(memory / "MEMORY.md", "")
    write(memory / "a.md", "Text.\n")
    library = opened(tmp_path)
    assert [m.content for m in library.snapshot.rows] == ["Text.\n"]
    assert library.snapshot.stores[0].unreadable == ()
    fields = {"content": "More", "title": "B", "entity": library.snapshot.rows[0].entity}
    library.apply(library.plan([Change(Act.ADD, "claude-code", "", fields)]))
    assert "[B](project_b.md)" in (memory / "MEMORY.md").read_text()


def test_two_folders_that_share_a_store_are_named(tmp_path: Path) -> None:
    root = tmp_path / ".claude"
    write(root / "projects" / "-src-mill-api" / "memory" / "a.md")
    sessions(root, "-src-mill-api", "/src/mill/api", "/src/mill-api/docs")
    library = opened(root)
    (found,) = library.snapshot.rows
    assert set(found.extra["shared_by"]) == {"/src/mill/api", "/src/mill-api"}
    (finding,) = (f for f in library.check() if f.kind == "remark")
    assert finding.message.startswith("2 folders share this store: /src/mill")


@pytest.mark.parametrize(
    ("slugs", "cwd", "entity"),
    [
        (("-src-my_mill", "-src-my-mill"), "/src/my_mill", "src/my_mill"),
        (("C--Users-Ann-mill", "c--Users-Ann-mill"), "C:\\Users\\Ann\\mill", "C:/Users/Ann/mill"),
        (("c--users-ann-mill",), "c:\\Users\\Ann\\mill\\deep", "C:/Users/Ann/mill"),
    ],
)
def test_slugs_of_one_folder_are_one_project(
    tmp_path: Path, slugs: tuple[str, ...], cwd: str, entity: str
) -> None:
    root = tmp_path / ".claude"
    for slug in slugs:
        write(root / "projects" / slug / "memory" / "a.md")
        sessions(root, slug, cwd)
    library = opened(root)
    assert [m.entity for m in library.snapshot.rows] == [entity] * len(slugs)
    assert library.stores[0].entity_levels(entity) == (entity.rpartition("/")[2],)


def test_without_a_session_the_folders_that_exist_tell_the_project(tmp_path: Path) -> None:
    (tmp_path / "code" / "web-shop").mkdir(parents=True)
    (tmp_path / "code" / "blog").mkdir()
    root = tmp_path / ".claude"
    for name in ("web-shop", "blog", "gone"):
        write(root / "projects" / f"-home-ann-code-{name}" / "memory" / "a.md")
    library = opened(root)
    entities = {m.entity for m in library.snapshot.rows}
    assert entities == {"code/web-shop", "code/blog", "-home-ann-code-gone"}
    levels = {library.stores[0].entity_levels(entity)[0] for entity in entities}
    assert levels == {"web-shop", "blog", "code-gone"}
    (tmp_path / "code" / "web" / "shop").mkdir(parents=True)
    assert ProjectPaths(root).of("-home-ann-code-web-shop") == "", "two folders give it"


@pytest.mark.parametrize("place", ["mill-fix", "mill/.claude/worktrees/fix"])
def test_the_store_of_a_worktree_is_marked(tmp_path: Path, place: str) -> None:
    main, further = tmp_path / "mill", tmp_path / place
    main.mkdir()
    if place == "mill-fix":
        write(further / ".git", f"gitdir: {main}/.git/worktrees/mill-fix\n")
    root = tmp_path / ".claude"
    slug = slug_of(str(further))
    write(root / "projects" / slug / "memory" / "MEMORY.md")
    sessions(root, slug, str(further))
    library = opened(root)
    assert library.snapshot.rows[0].extra["worktree_of"] == str(main)
    (remark,) = library.stores[0].remarks()
    assert f"is a worktree of {main}, whose store is loaded" in remark.text
    assert library.stores[0].session_start(library, "", library.now()) == ()
