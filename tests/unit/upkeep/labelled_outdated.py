"""Invented memories of an invented project, and whether they name what it no longer has.

Half of them was written before the rule and used to tune it; the other half is only counted.
"""

from __future__ import annotations

from memtui.files.project_index import Manifests, ProjectIndex

_FILES = """
README.md Makefile justfile package.json pyproject.toml docs docs/setup.md docs/deploy/aws.md src
src/api src/api/routes.ts src/api/auth/login.ts src/ringer src/ringer/queue.py src/web/app.tsx
tests tests/test_queue.py config config/bells.yaml scripts scripts/release.sh packages/core/index.ts
"""
PROJECT = ProjectIndex(
    root="/work/ringer",
    files=frozenset(_FILES.split()),
    is_complete=True,
    now=Manifests(
        {
            "package.json": frozenset({"build", "dev", "test:unit", "lint"}),
            "Makefile": frozenset({"all", "install", "check"}),
            "justfile": frozenset({"serve", "seed"}),
            "pyproject.toml": frozenset({"ring", "types"}),
            "Cargo.toml": frozenset({"ringer"}),
        },
        {
            "react": "^18.2.0",
            "vite": "~5.1.0",
            "fastapi": ">=0.110",
            "python": ">=3.11",
            "zod": "3.22.4",
            "redis": "^4.6.13",
            "uuid": "^11.1.0",
        },
    ),
    removed_commands=frozenset({("package.json", "e2e"), ("pyproject.toml", "chime")}),
    removed_packages=frozenset({"left-pad", "moment", "requests"}),
    moved={
        "src/api/login.ts": "src/api/auth/login.ts",
        "src/ringer/worker.py": "",
        "docs/setup-guide.md": "docs/setup.md",
        "config/towers.yaml": "",
        "openspec/tasks.md": "",
    },
)
TUNING: list[tuple[bool, str]] = [
    (True, "The login handler is in `src/api/login.ts`."),
    (True, "Jobs are taken by src/ringer/worker.py, one at a time"),
    (True, "Run the browser tests with `npm run e2e`"),
    (True, "Check everything: `make lint && make check`"),
    (True, "The front end uses React 17"),
    (True, "Dates are formatted with `moment`."),
    (True, "Seed the database: `just seed-db`"),
    (False, "The login handler is in `src/api/auth/login.ts`."),
    (False, "Look at auth/login.ts for the session cookie"),
    (False, "src/ringer/worker.py was removed in March"),
    (False, "Run the unit tests with `npm run test:unit`"),
    (False, "The front end uses React 18"),
    (False, "On the server: /opt/ringer/src/worker.py"),
    (False, "Put notes into path/to/notes.md"),
    (False, "See https://docs.example.org/src/api/login.ts"),
    (False, "Make sure that the queue is empty"),
    (False, "Python 3.12 is what CI runs"),
    (False, "We plan to add src/api/metrics.ts"),
]
AS_PEOPLE_WRITE: list[tuple[bool, str]] = [
    (True, "Run `pnpm e2e` before you push"),
    (True, "Run pnpm db:seed first"),
    (True, "If the types are wrong: `yarn typecheck`"),
    (True, "Add a bell, then `npm run e2e`"),
    (True, "`uv run chime` starts the ringer"),
    (True, "`cargo run -p belfry` rings once"),
    (True, "Before the release, look at src/ringer/worker.py"),
    (False, "`pnpm vitest` runs the unit tests"),
    (False, "`yarn add zod` if you need it"),
    (False, "`pnpm install`, then `pnpm build`"),
    (False, "`bun test` is quick"),
    (False, "`uv run pytest` runs the tests"),
    (False, "`cargo run -p ringer` rings twice"),
    (False, "`bun run scripts/release.sh`"),
    (False, "Redis 7 keeps the sessions"),
    (False, "Another repository has src/ringer/worker.py"),
    (False, "The state is in `run/ringer.db` and `logs/ringer.log`"),
    (False, "npm run is what starts scripts"),
    (False, "UUID v4 names each bell"),
    (False, "npm run dev: starts the front end"),
    (False, "Tested with React 17 and React 18"),
    (False, "Needs zod 3.20+"),
    (False, "Write `tasks.md` for each change"),
]
REPORTED: list[tuple[bool, str]] = [
    (True, "Towers are listed in config/towers.yaml"),
    (True, "New people start with `docs/setup-guide.md`."),
    (True, "`pnpm run storybook` opens the component gallery"),
    (True, "Type checks: `poe typecheck`"),
    (True, "Needs Python 3.9"),
    (True, "HTTP calls go through `requests`"),
    (True, "Bundled by vite@4.5"),
    (True, "`make deploy` ships the current branch"),
    (False, "Towers are listed in config/bells.yaml"),
    (False, "`bun run dev` starts the front end"),
    (False, "`poe types` checks the types"),
    (False, "`make install` comes first"),
    (False, "Upgraded from React 17 to React 18"),
    (False, "`~/.config/ringer/towers.yaml` has the personal settings"),
    (False, "FastAPI 0.115 is installed"),
    (False, "There are 3 towers and 17 bells"),
    (False, "config/towers.yaml no longer exists"),
    (False, "Names: `src/<module>/worker.py`"),
    (False, "zod 3.22 validates the requests of the API"),
    (False, "The queue is in ringer/queue.py"),
]
