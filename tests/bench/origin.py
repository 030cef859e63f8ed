"""How often a memory is led to the session that taught it, and to one that did not.

python -m tests.bench.origin [--all]

Two hundred memories are distilled from invented coding sessions. `data/origin_facts.txt` says how
a fact is said, and how a memory keeps it, in other words. Around it lie turns about the same
subject, the same fact of another thing in another session, and agents that repeat the memory later.
A quarter of the memories has no time of its own but that of a file that was checked out long after.

The first fifty facts, of which two memories each are made, were used to choose the limits of
`memtui.search.mentions`. The last twenty-five, with four memories each, are held back: they were
written when the limits were fixed. Each memory is asked for twice: with all sessions, and with
those that taught it deleted, where any answer is a false claim. `--all` prints what went wrong.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from memtui.model import FILE_TIME, FILE_TIME_KEY, PROJECT_PATH, Memory, Place
from memtui.search.mentions import find_mentions, is_same_project
from memtui.sessions import Session, find_sessions
from memtui.sessions.origin import Strength

FACTS = Path(__file__).parent / "data" / "origin_facts.txt"
SEED = 20261127
PROJECTS = 5
SESSIONS = 40
"""Sessions of each project."""
START = datetime(2026, 1, 5, 9, tzinfo=UTC)
CHECKED_OUT = START + timedelta(days=900)
SLOTS = {
    "unit": "cents,pence,rappen,groszy,centavos,kopecks,fils",
    "service": "billing,ledger,courier,atlas,harbor,quotes,pantry,signal,turnstile,almanac,beacon",
    "tool": "vault,celery,freezegun,nomad,huey,rabbit,esbuild,pgbouncer,mitmproxy,launchpad,dagger",
    "other": "sidekiq,resque,gearman,beanstalk,kafka,zeromq",
    "file": "tests/test_due.py,src/rates.ts,app/menu.rb,lib/stamp.go,Makefile,web/cart.vue",
    "branch": "release,trunk,stable,hotfix,develop",
    "person": "Ines,Tomas,Yuki,Farid,Oluwaseun,Marta,Piotr,Anouk,Devika,Henrik,Salma",
    "ticket": "PAY-118,OPS-77,WEB-902,CORE-31,SHIP-450,DATA-6",
    "city": "Bergen,Lyon,Graz,Porto,Nagoya,Leeds,Tartu,Cork,Malmo",
    "month": "February,March,April,June,August,September,October,November",
    "weekday": "Monday,Tuesday,Wednesday,Thursday,Saturday",
    "column": "due_at,locale,tax_code,parcel_id,tenant,voided,fee",
    "language": "Python,Kotlin,Ruby,Go,Rust,Elixir,TypeScript",
    "language2": "Polish,German,Portuguese,Japanese",
    "version": "10.2,11.0,4.17,2.31,3.8",
    "flag": "compact,strict,eager,lenient,mirror",
    "target": "schema,contract,manifest,openapi",
}
CHATTER = (
    "run the tests again",
    "looks good, go on",
    "why does {file} import {tool} twice?",
    "can you rename {column} to something clearer",
    "open a pull request against {branch}",
    "what does {service} do with {column}?",
    "{person} asked whether {service} is ready",
    "the build in {city} is red",
    "please add a test for {column} in {file}",
    "revert the last change in {file}, I was wrong",
    "how do I start {service} with {tool} on my machine?",
    "port {port} is taken here, kill it",
    "is {tool} {version} out yet?",
    "add a retry to the call of {service}",
    "write the release notes for {month}",
    "explain {file} to me",
    "{person} is in {city} this {weekday}",
    "does {language} have a better way to do this?",
)
REPLIES = (
    "I renamed it and ran the tests, all of them pass.",
    "{file} has two branches that are never taken. I removed one and kept the other.",
    "Done. {service} starts with {tool} now, and {column} is read once.",
    "The failure is in {file}: the fixture returns an empty list.",
    "I opened the pull request against {branch} and asked {person} to look at it.",
    "{service} writes {column} when an order is closed, and reads it on {weekday} for the report.",
    "There are three callers of {service}; only the one in {file} checks {column}.",
    "Understood.",
    "Good, I will do it that way from now on.",
    "{tool} {version} needs {language}, so I left it as it is.",
)
OUTPUT = (
    "{file}:{port}: warning: {column} is unused",
    "PASSED {file}::test_{column}",
    "INFO {service} listening on {port}",
    "{person} committed to {branch}: fix {column} in {service}",
    "{tool} {version} installed",
    "GET /{service}/{column} 200 {port} ms",
)


class Fact(NamedTuple):
    """One block of the file of facts."""

    said: tuple[tuple[str, str], ...]
    """(p, a or t) and the sentence."""
    kept: tuple[str, ...]
    near: str
    is_held_back: bool


class Case(NamedTuple):
    """A memory, and where it came from."""

    memory: Memory
    said: tuple[str, ...]
    """The sentences that say it."""
    sessions: frozenset[str]
    """The sessions in which one of them was said, those left out where the agent repeats it."""
    is_held_back: bool


class Turn(NamedTuple):
    """What is said in a session: by whom (p, a, t), and the text."""

    by: str
    text: str


_Values = dict[str, str]
"""What the names of a sentence stand for."""


class _Taught(NamedTuple):
    session: str
    text: str
    values: _Values


def read_facts() -> list[Fact]:
    """The blocks of the file."""
    facts = []
    is_held_back = False
    for block in re.split(r"\n\s*\n", FACTS.read_text("utf-8").strip()):
        is_held_back = is_held_back or block == "#held back"
        if block.startswith("#"):
            continue
        lines = [line.partition(": ") for line in block.splitlines()]
        said = tuple((name, words) for name, _, words in lines if name in "pat")
        kept = tuple(words for name, _, words in lines if name == "k")
        near = next(words for name, _, words in lines if name == "n")
        facts.append(Fact(said, kept, near, is_held_back))
    return facts


class Maker:
    """Writes the sessions of a few projects, and distils memories from them."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._chance = random.Random(SEED)
        self._facts = read_facts()
        self._turns: dict[tuple[int, int], list[Turn]] = {
            (project, number): [] for project in range(PROJECTS) for number in range(SESSIONS)
        }
        self._taught: defaultdict[tuple[int, int], list[_Taught]] = defaultdict(list)
        """Project and number of the fact -> where somebody said it, of what."""
        self._made: list[tuple[Memory, int, int, _Values]] = []

    def make(self) -> list[Case]:
        """Write everything; returns the memories."""
        for number, fact in enumerate(self._facts):
            for kept in fact.kept * (1 + fact.is_held_back):
                self._make_case(number, fact, kept)
        for (project, number), turns in self._turns.items():
            self._write(project, number, turns)
        return [self._case(*made) for made in self._made]

    def _case(self, memory: Memory, project: int, number: int, named: _Values) -> Case:
        same = [
            each
            for each in self._taught[project, number]
            if all(each.values[name] == value for name, value in named.items())
        ]
        sessions = frozenset(each.session for each in same)
        held = self._facts[number].is_held_back
        return Case(memory, tuple(each.text for each in same), sessions, held)

    def _fill(self) -> _Values:
        values = {name: self._chance.choice(all.split(",")) for name, all in SLOTS.items()}
        return {**values, "port": str(self._chance.randint(1100, 9900))}

    def _make_case(self, number: int, fact: Fact, kept: str) -> None:
        chance, values = self._chance, self._fill()
        project = chance.randrange(PROJECTS)
        own = chance.randrange(2, SESSIONS - 6)
        by, words = chance.choice(fact.said)
        self._teach(project, own, number, Turn(by, words.format(**values)), values)
        others = [each for each in range(SESSIONS) if each != own]
        if chance.random() < 0.6:
            self._put(project, chance.choice(others), "p", fact.near.format(**values))
        if chance.random() < 0.6:  # the same of another thing, some of its names the same
            same = chance.sample(sorted(values), len(values) // 3)
            other = {**self._fill(), **{name: values[name] for name in same}}
            by, words = chance.choice(fact.said)
            turn = Turn(by, words.format(**other))
            self._teach(project, chance.choice(others), number, turn, other)
        memory = self._memory(number, kept.format(**values), project, own)
        if chance.random() < 0.5:  # the agent tells the memory again
            again = memory.content
            if chance.random() < 0.3:
                again = chance.choice(fact.said)[1].format(**values)
            lead = chance.choice(("As I remember: ", "My memory says: ", ""))
            self._put(project, chance.randrange(own + 1, SESSIONS), "a", lead + again)
        named = {name: values[name] for name in re.findall(r"{(\w+)}", kept)}
        self._made.append((memory, project, number, named))

    def _teach(self, project: int, session: int, number: int, turn: Turn, values: _Values) -> None:
        self._put(project, session, *turn)
        taught = _Taught(_id(project, session), turn.text, values)
        self._taught[project, number].append(taught)

    def _put(self, project: int, session: int, by: str, text: str) -> None:
        self._turns[project, session].append(Turn(by, text))

    def _memory(self, number: int, content: str, project: int, own: int) -> Memory:
        ended = _started(own) + timedelta(hours=5)
        times: dict[str, Any] = {"created": ended}
        extra: dict[str, Any] = {PROJECT_PATH: _cwd(project)}
        if self._chance.random() < 0.25:
            times, extra[FILE_TIME_KEY] = {"updated": CHECKED_OUT}, FILE_TIME
        id = f"{number}-{len(self._made)}"
        file = f"{_cwd(project)}/memory/{id}.md"
        return Memory(
            f"s:{id}", id, "s", "fact", content=content, origin=Place(file), extra=extra, **times
        )

    def _write(self, project: int, number: int, turns: list[Turn]) -> None:
        chance = self._chance
        lines: list[dict[str, Any]] = []

        def add(kind: str, content: Any) -> None:
            at = len(lines)
            lines.append(
                {
                    "type": kind,
                    "uuid": f"{_id(project, number)}-{at}",
                    "timestamp": (_started(number) + timedelta(minutes=2 * at)).isoformat(),
                    "cwd": _cwd(project),
                    "message": {"role": kind, "content": content},
                }
            )

        def chat(options: tuple[str, ...]) -> str:
            return chance.choice(options).format(**self._fill())

        def say(turn: Turn | None) -> None:
            by, text = turn or Turn("", "")
            asked = text if by == "p" else chat(CHATTER)
            if by == "p" and chance.random() < 0.5:
                asked = f"{chat(CHATTER)}. {asked}. {chat(CHATTER)}"
            add("user", asked)
            if by == "t" or chance.random() < 0.4:
                page = [chat(OUTPUT) for _ in range(chance.randint(2, 30))]
                if by == "t":
                    page.insert(chance.randrange(len(page)), text)
                use = {"type": "tool_use", "id": f"t{len(lines)}", "name": "Bash", "input": {}}
                add("assistant", [use])
                result = {"type": "tool_result", "tool_use_id": use["id"]}
                add("user", [{**result, "content": "\n".join(page)}])
            reply = chat(REPLIES)
            if by == "a":
                reply = f"{reply}\n\n{text}" if chance.random() < 0.5 else text
            add("assistant", [{"type": "text", "text": reply}])

        chance.shuffle(turns)
        for turn in turns:
            for _ in range(chance.randrange(4)):
                say(None)
            say(turn)
        say(None)
        file = self._home / ".claude" / "projects" / f"p{project}" / f"{_id(project, number)}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def _id(project: int, number: int) -> str:
    return f"{project}a{number:03}"


def _cwd(project: int) -> str:
    return f"/srv/project{project}"


def _started(number: int) -> datetime:
    return START + timedelta(days=2 * number)


class Outcome(NamedTuple):
    """What a memory was led to."""

    case: Case
    found: str
    """strong, likely, or nothing."""
    is_right: bool
    claimed: str
    """The same with its session deleted."""
    text: str


def judge(cases: list[Case], sessions: list[Session]) -> Iterator[Outcome]:
    """Look for each memory, with its session and without it."""
    for case in cases:
        within = [each for each in sessions if is_same_project(case.memory, each)]
        origin = find_mentions([(case.memory, within)])[0]
        text = origin.words.text if origin and origin.words else ""
        is_right = (
            origin is not None
            and origin.session.id in case.sessions
            and any(said in text for said in case.said)
        )
        others = [each for each in within if each.id not in case.sessions]
        gone = find_mentions([(case.memory, others)])[0]
        found = str(origin.strength) if origin else "nothing"
        claimed = str(gone.strength) if gone else "nothing"
        yield Outcome(case, found, is_right, claimed, text)


def outcomes(folder: Path) -> list[Outcome]:
    """Write the sessions below a folder, and judge all memories."""
    cases = Maker(folder).make()
    return list(judge(cases, find_sessions(["claude"], [], folder, {}).sessions))


def figures(half: list[Outcome], strength: str) -> tuple[int, int, int]:
    """Memories with a mention of this strength, those of them that are right, and false claims
    where the session is gone."""
    named = [each for each in half if each.found == strength]
    claims = sum(each.claimed == strength for each in half)
    return len(named), sum(each.is_right for each in named), claims


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true", help="print what went wrong (first half)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        judged = outcomes(Path(folder))
    print(f"{'half':<10} {'strength':<8} {'shown':>6} {'right':>12} {'claims, origin gone':>22}")
    for name, is_held_back in (("tuned", False), ("held back", True)):
        half = [each for each in judged if each.case.is_held_back is is_held_back]
        for strength in map(str, Strength):
            shown, right, claims = figures(half, strength)
            share = right / shown if shown else 0.0
            print(
                f"{name:<10} {strength:<8} {shown:>6} {right:>6} = {share:.2f}"
                f" {claims:>10} of {len(half)} = {claims / len(half):.3f}"
            )
        print(f"{name:<10} {'nothing':<8} {Counter(each.found for each in half)['nothing']:>6}")
    for each in judged if arguments.all else ():
        if each.case.is_held_back:
            continue
        is_wrong = each.found != "nothing" and not each.is_right
        if is_wrong or each.claimed != "nothing":
            print(f"\n{each.found} right={each.is_right}, gone: {each.claimed}")
            print(f"  kept  {each.case.memory.content}\n  said  {each.case.said}")
            print(f"  found {each.text[:200]!r}")


if __name__ == "__main__":
    main()
