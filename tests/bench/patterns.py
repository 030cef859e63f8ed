"""How the time of every regular expression in memtui grows with the text it is given.

python -m tests.bench.patterns [NAME...] prints the patterns whose time for some text grows faster
than the text. Attacked are all patterns in the modules, and those written in calls of `re`, with
runs of one character, of two, and with beginnings of what the pattern matches, repeated and
followed by runs.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import pkgutil
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from re import _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

import memtui

ROOT = Path(memtui.__file__).parent
RUNS = "aZ0f =:;,.-_/\\\"'`<>[](){}@#*+~|&%$!?^\n\t\ré\u0430\u4e00\u200b"
MOST = 32
"""Beginnings and own characters of a pattern that are tried."""
FIRST, LAST = 1 << 12, 1 << 16
"""Characters of the shortest text and of the longest one."""
SUSPECT = 0.006
"""Seconds for the shortest text from which longer ones are tried."""
FASTER = 2.8
"""Growth of the time with each doubling of the text that is more than linear."""
ANCHORED = {"match", "fullmatch"}


class Found(NamedTuple):
    name: str
    pattern: re.Pattern[Any]
    methods: frozenset[str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only patterns whose name contains one of these")
    wanted = parser.parse_args().names
    patterns = [p for p in inventory() if not wanted or any(name in p.name for name in wanted)]
    slow = 0
    for found in patterns:
        worst = attack(found)
        if worst is not None:
            slow += 1
            print(f"{found.name}  {' '.join(sorted(found.methods))}  {worst}", flush=True)
    print(f"{len(patterns)} patterns, {slow} of them not linear")


def inventory() -> list[Found]:
    """Every pattern of memtui that is compiled when its modules are imported, or written in a
    call."""
    found: dict[tuple[Any, int], Found] = {}
    sources = {path: path.read_text("utf-8") for path in ROOT.rglob("*.py")}
    every = "\n".join(sources.values())
    for info in pkgutil.walk_packages([str(ROOT)], "memtui."):
        if info.name.startswith("memtui.testing") or info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        for name, value in list(vars(module).items()):
            for at, pattern in patterns_in(value, set()):
                methods = frozenset(re.findall(rf"\b{name}\.(\w+)\(", every)) or {"search"}
                where = f"{info.name.removeprefix('memtui.')}:{name}{at}"
                key = pattern.pattern, pattern.flags
                found.setdefault(key, Found(where, pattern, frozenset(methods)))
    for path, source in sources.items():
        for call in ast.walk(ast.parse(source)):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
                continue
            module_name = call.func.value
            if not (isinstance(module_name, ast.Name) and module_name.id == "re" and call.args):
                continue
            text = call.args[0]
            if isinstance(text, ast.Constant) and call.func.attr not in ("compile", "escape"):
                pattern = re.compile(text.value)
                where = f"{path.relative_to(ROOT)}:{call.lineno}"
                key = pattern.pattern, pattern.flags
                found.setdefault(key, Found(where, pattern, frozenset({call.func.attr})))
    return list(found.values())


def patterns_in(value: object, seen: set[int], depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The patterns in a value of a module, with where they are in it."""
    if isinstance(value, re.Pattern):
        yield "", value
        return
    if depth > 3 or id(value) in seen or isinstance(value, type):
        return
    seen.add(id(value))
    inner: Iterable[tuple[object, object]]
    if isinstance(value, Mapping):
        inner = value.items()
    elif isinstance(value, list | tuple | frozenset | set):
        inner = enumerate(value)
    elif type(value).__module__.startswith("memtui."):
        names = getattr(value, "__dict__", None) or getattr(value, "__slots__", ())
        inner = [(name, getattr(value, str(name), None)) for name in names]
    else:
        return
    for key, item in inner:
        for at, pattern in patterns_in(item, seen, depth + 1):
            yield f"[{str(key)[:20]}]{at}", pattern


def attack(found: Found) -> str | None:
    """The worst text of a pattern, with its times; None if all are linear."""
    worst: tuple[float, str] | None = None
    for name, make in attacks(found.pattern):
        spent = run(found, make(FIRST))
        if spent < SUSPECT:
            continue
        times, size = [spent], FIRST
        while size < LAST and times[-1] < 1.5:
            size *= 2
            times.append(run(found, make(size)))
        growth = (times[-1] / times[0]) ** (1 / max(1, len(times) - 1))
        if growth > FASTER and (worst is None or times[-1] / size**2 > worst[0]):
            listed = " ".join(f"{one:.3f}" for one in times)
            worst = times[-1] / size**2, f"{name}: {listed} s from {FIRST} to {size} characters"
    return worst[1] if worst else None


def attacks(pattern: re.Pattern[Any]) -> Iterator[tuple[str, Any]]:
    begun = beginnings(pattern)
    own = sorted({char for text in begun for char in text})[:MOST]
    runs = list(dict.fromkeys([*own, *RUNS]))
    few = list(dict.fromkeys([*own[: MOST // 2], *"a0 .-\n"]))

    def repeated(text: str, tail: str = "") -> Any:
        return lambda size: text * (size // max(1, len(text))) + tail

    def run_after(text: str, run: str) -> Any:
        return lambda size: text + run * (size // max(1, len(run)))

    for char in runs:
        yield f"{char!r} repeated", repeated(char, "\x01")
        yield f"{char!r} repeated, a line end", repeated(char, "\n")
    for one in few:
        for two in few:
            if one != two:
                yield f"{one + two!r} repeated", repeated(one + two)
    for text in begun:
        yield f"{text!r} repeated", repeated(text)
        yield f"{text!r} and a line end repeated", repeated(f"{text}\n")
        for char in few:
            yield f"{text!r}, then {char!r} repeated", run_after(text, char)
            yield f"{text + char!r} repeated", repeated(text + char)


def beginnings(pattern: re.Pattern[Any]) -> list[str]:
    """Beginnings of texts that the pattern matches."""
    texts: dict[str, None] = {}
    for choice in range(4):
        sample = example(_parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG), choice)[:60]
        texts.update((sample[:end], None) for end in range(1, len(sample) + 1))
    return list(texts)[:MOST]


def example(parsed: Any, choice: int) -> str:
    """A text that a parsed pattern may match; `choice` picks one of its alternatives."""
    text = ""
    for code, value in parsed:
        name = str(code)
        if name == "LITERAL":
            text += chr(value)
        elif name == "NOT_LITERAL" or name == "ANY":
            text += "a"
        elif name == "IN":
            text += member(value, choice)
        elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            least, most, inner = value
            text += example(inner, choice) * max(least, min(2, most))
        elif name == "SUBPATTERN":
            text += example(value[3], choice)
        elif name == "ATOMIC_GROUP":
            text += example(value, choice)
        elif name == "BRANCH":
            branches = value[1]
            text += example(branches[choice % len(branches)], choice)
    return text


def member(listed: Any, choice: int) -> str:
    """A character of a class."""
    characters = []
    for code, value in listed:
        name = str(code)
        if name == "LITERAL":
            characters.append(chr(value))
        elif name == "RANGE":
            characters.append(chr(value[0]))
        elif name == "CATEGORY":
            kinds = {"DIGIT": "0", "SPACE": " ", "WORD": "a"}
            kind = str(value).removeprefix("CATEGORY_").removeprefix("UNI_")
            characters.append(kinds.get(kind, "-"))
        elif name == "NEGATE":
            return next((c for c in "a0 -." if not re.match(as_class(listed), c)), "\u0394")
    return characters[choice % len(characters)] if characters else "a"


def as_class(listed: Any) -> str:
    """The class of a negated one without its negation, as far as ASCII goes."""
    inside = ""
    for code, value in listed:
        name = str(code)
        if name == "LITERAL":
            inside += re.escape(chr(value))
        elif name == "RANGE":
            inside += f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
        elif name == "CATEGORY":
            kind = str(value).removeprefix("CATEGORY_")
            inside += {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}.get(kind, "")
    return f"[{inside}]" if inside else "(?!)"


def run(found: Found, text: str) -> float:
    """Seconds of processor time that a pattern takes for a text, in the way memtui uses it."""
    pattern = found.pattern
    data: Any = text
    if isinstance(pattern.pattern, bytes):
        data = text.encode("utf-8", "surrogatepass")
    started = time.process_time()
    if found.methods <= ANCHORED:
        pattern.match(data)
    else:
        for _ in pattern.finditer(data):
            pass
    return time.process_time() - started


if __name__ == "__main__":
    main()
