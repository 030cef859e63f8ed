"""What `stores --explain` says of a home with every format, and of what only resembles one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from memtui.cli.main import run
from memtui.stores import registry
from tests.formats import EVERY_FORMAT
from tests.samples import SAMPLES

LINKED = "---\npermalink: {}\n---\nText.\n"
NEAR_MISSES = {
    "a blog": {"blog/_config.yml": "", "blog/post.md": LINKED.format("post")},
    "pages of Jekyll": {"pages/about.md": LINKED.format("/about/")},
    "a docs site": {"handbook/mkdocs.yml": "", "handbook/a.md": LINKED.format("a")},
    "a folder of documents": {"docs/a.md": LINKED.format("a")},
    "an Obsidian vault without agents": {"vault/.obsidian/app.json": "{}", "vault/a.md": "a\n"},
    "npm packages with AGENTS.md": {"node_modules/x/AGENTS.md": "- a\n"},
    "templates of a memory bank": {
        "templates/activeContext.md": "a\n",
        "templates/progress.md": "a\n",
    },
    "one file of a memory bank": {"bank/progress.md": "a\n"},
    "a MEMORY.md of nobody": {"novel/MEMORY.md": "It was dark.\n"},
    "a soul without memory": {"person/SOUL.md": "a\n", "person/USER.md": "a\n"},
    "a JSON schema": {"schemas/schema.json": "{}"},
    "a memory.jsonl of another kind": {"log/memory.jsonl": '{"rss": 100}\n'},
    "a summary alone": {"sums/memory_summary.md": "v1\n"},
    "an ABOUT.md": {"club/ABOUT.md": "We are.\n"},
    "plain notes": {"notes/a.md": "a\n"},
}
SILENT = {"pages of Jekyll", "plain notes"}
"""Not even a candidate: nothing there is a sign of any format."""


@pytest.mark.slow
def test_a_home_with_every_format_and_what_resembles_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    for known in EVERY_FORMAT:
        shutil.copytree(SAMPLES / known.name, home / known.name)
    for files in NEAR_MISSES.values():
        for name, text in files.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(text)
    found = registry.explain(home, home, {})
    taken = {each.format.name for each in found if each.is_taken}
    assert taken == {known.name for known in EVERY_FORMAT}
    for each in found:
        top = each.candidate.root.relative_to(home).parts[0]
        assert each.candidate.found, each
        assert bool(each.candidate.missing) is not each.is_taken, each
        assert not each.is_taken or top in taken, each
    said = {each.candidate.root.relative_to(home).parts[0] for each in found}
    for name, files in NEAR_MISSES.items():
        top = next(iter(files)).partition("/")[0]
        assert (top in said) is (name not in SILENT), name

    monkeypatch.chdir(home)
    monkeypatch.setenv("HOME", str(home))
    assert run(["stores", "--explain", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["places"]) >= len(found)
