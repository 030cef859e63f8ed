"""Sessions as each program writes them, invented: one person, one memory, one project."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

PROJECT = "/srv/shop"
SAID = "Please keep invoices in euro cents."
ANSWER = "Noted, amounts are integers of cents."
RESULT = "3 files changed"


def write_lines(path: Path, lines: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def _time(second: int) -> str:
    return f"2026-05-04T08:15:{second:02}.000Z"


def claude_line(kind: str, content: Any, uuid: str, second: int = 0, **more: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content, **more.pop("message", {})}
    return {
        "type": kind,
        "uuid": uuid,
        "parentUuid": None,
        "sessionId": "5c0f",
        "timestamp": _time(second),
        "cwd": PROJECT,
        "isSidechain": False,
        "message": message,
        **more,
    }


def claude(home: Path) -> Path:
    use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "git diff"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": RESULT}
    return write_lines(
        home / ".claude" / "projects" / "-srv-shop" / "5c0f.jsonl",
        [
            {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}},
            claude_line("user", "<system-reminder>be brief</system-reminder>", "u0", isMeta=True),
            claude_line("user", f"<ide_opened_file>a.py</ide_opened_file>{SAID}", "u1", 1),
            claude_line("assistant", [{"type": "text", "text": ANSWER}], "a1", 2),
            claude_line("assistant", "No answer.", "a0", 2, message={"model": "<synthetic>"}),
            claude_line("assistant", [use], "a2", 3),
            claude_line("user", [result], "u2", 4),
        ],
    )


def codex(home: Path) -> Path:
    def item(second: int, **payload: Any) -> dict[str, Any]:
        return {"timestamp": _time(second), "type": "response_item", "payload": payload}

    def message(role: str, text: str, second: int) -> dict[str, Any]:
        kind = "output_text" if role == "assistant" else "input_text"
        content = [{"type": kind, "text": text}]
        return item(second, type="message", role=role, content=content)

    name = "rollout-2026-05-04T08-15-00-0199.jsonl"
    return write_lines(
        home / ".codex" / "sessions" / "2026" / "05" / "04" / name,
        [
            {
                "timestamp": _time(0),
                "type": "session_meta",
                "payload": {"id": "0199", "cwd": PROJECT, "timestamp": _time(0)},
            },
            message("developer", "You are a coding agent.", 0),
            message("user", "<environment_context>sh</environment_context>", 0),
            {"timestamp": _time(1), "type": "turn_context", "payload": {"turn_id": "n1"}},
            message("user", SAID, 1),
            {
                "timestamp": _time(1),
                "type": "event_msg",
                "payload": {"type": "user_message", "message": SAID},
            },
            message("assistant", ANSWER, 2),
            {"timestamp": _time(2), "type": "token_usage_record", "payload": {"turn_id": "n1"}},
            item(
                3,
                type="function_call",
                name="shell",
                arguments='{"command": "git diff"}',
                call_id="t1",
            ),
            item(4, type="function_call_output", call_id="t1", output=RESULT),
        ],
    )


def openclaw_lines() -> list[Any]:
    def message(id: str, second: int, role: str, **message: Any) -> dict[str, Any]:
        content = {"role": role, **message}
        return {"type": "message", "id": id, "timestamp": _time(second), "message": content}

    def text(words: str) -> list[Any]:
        return [{"type": "text", "text": words}]

    call = {"type": "toolCall", "id": "t1", "name": "bash", "arguments": {"command": "git diff"}}
    return [
        {"type": "session", "id": "oc1", "cwd": PROJECT, "timestamp": _time(0)},
        message("m1", 1, "user", content=text(SAID)),
        message("m2", 2, "assistant", content=[*text(ANSWER), call]),
        message("m3", 4, "toolResult", content=text(RESULT), toolCallId="t1"),
    ]


def openclaw(home: Path) -> Path:
    path = home / ".openclaw" / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
    path.parent.mkdir(parents=True)
    with sqlite3.connect(path) as database:
        database.executescript(
            "PRAGMA journal_mode = WAL;"
            "CREATE TABLE session_windows (session_id TEXT PRIMARY KEY, session_key TEXT,"
            " previous_session_id TEXT, created_at INTEGER, updated_at INTEGER,"
            " transcript_updated_at INTEGER, spawned_by TEXT);"
            "CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT,"
            " created_at INTEGER, event_zstd BLOB, PRIMARY KEY (session_id, seq));"
        )
        database.execute(
            "INSERT INTO session_windows VALUES"
            " ('oc1', 'agent:main:main', NULL, 1777882500000, 0, 1777882504000, NULL)"
        )
        for number, line in enumerate(openclaw_lines()):
            database.execute(
                "INSERT INTO transcript_events VALUES ('oc1', ?, ?, 1777882500000, NULL)",
                (number, json.dumps(line)),
            )
    database.close()
    return path


def gemini(home: Path) -> Path:
    folder = home / ".gemini" / "tmp" / "shop"
    call = {
        "id": "t1",
        "name": "run_shell_command",
        "args": {"command": "git diff"},
        "result": [{"functionResponse": {"response": {"output": RESULT}}}],
    }
    path = write_lines(
        folder / "chats" / "session-2026-05-04T08-15-g1.jsonl",
        [
            {"sessionId": "g1", "startTime": _time(0), "kind": "main"},
            {"id": "m0", "type": "user", "timestamp": _time(0), "content": [{"text": "Wrong."}]},
            {"$rewindTo": "m0"},
            {"id": "m1", "type": "user", "timestamp": _time(1), "content": [{"text": SAID}]},
            {"id": "m2", "type": "gemini", "timestamp": _time(2), "content": "Not"},
            {
                "id": "m2",
                "type": "gemini",
                "timestamp": _time(2),
                "content": [{"text": ANSWER}],
                "toolCalls": [call],
            },
            {"$set": {"lastUpdated": _time(5)}},
        ],
    )
    (folder / ".project_root").write_text(PROJECT, "utf-8")
    return path


def copilot(home: Path) -> Path:
    def event(kind: str, second: int, **data: Any) -> dict[str, Any]:
        return {"type": kind, "id": f"e{second}", "timestamp": _time(second), "data": data}

    return write_lines(
        home / ".copilot" / "session-state" / "cp1" / "events.jsonl",
        [
            event("session.start", 0, sessionId="cp1", context={"cwd": PROJECT}),
            event("user.message", 1, content=SAID),
            event("assistant.message", 2, content=ANSWER),
            event(
                "tool.execution_start",
                3,
                toolCallId="t1",
                toolName="bash",
                arguments={"command": "git diff"},
            ),
            event("tool.execution_complete", 4, toolCallId="t1", result={"content": RESULT}),
        ],
    )


def qwen(home: Path) -> Path:
    def line(kind: str, part: dict[str, Any], second: int) -> dict[str, Any]:
        return {
            "type": kind,
            "uuid": f"q{second}",
            "timestamp": _time(second),
            "cwd": PROJECT,
            "message": {"parts": [part]},
        }

    return write_lines(
        home / ".qwen" / "projects" / "srv-shop" / "chats" / "qw1.jsonl",
        [
            line("user", {"text": SAID}, 1),
            line("assistant", {"text": "thinking", "thought": True}, 2),
            line("assistant", {"text": ANSWER}, 2),
            line(
                "assistant",
                {"functionCall": {"id": "t1", "name": "shell", "args": {"command": "git diff"}}},
                3,
            ),
            line(
                "tool_result",
                {"functionResponse": {"id": "t1", "response": {"output": RESULT}}},
                4,
            ),
        ],
    )


def cline(home: Path) -> Path:
    storage = home / ".config" / "Code" / "User" / "globalStorage" / "saoudrizwan.claude-dev"
    path = storage / "tasks" / "1777882500000" / "api_conversation_history.json"
    folder = f"# Current Working Directory ({PROJECT}) Files\n"
    details = f"<environment_details>{folder}</environment_details>"
    use = {
        "type": "tool_use",
        "id": "t1",
        "name": "execute_command",
        "input": {"command": "git diff"},
    }
    history = [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": f"<task>\n{SAID}\n</task>"},
                {"type": "text", "text": details},
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": ANSWER}, use]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": RESULT}],
        },
    ]
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(history), "utf-8")
    return path


def cline_cli(home: Path) -> Path:
    """A session of Cline's command line, which keeps it in another place than its extension."""
    folder = home / ".cline" / "data" / "sessions" / "1777882500000_ab1cd"
    text = {"type": "text", "text": f'<user_input mode="act">{SAID}</user_input>'}
    nudge = {"type": "text", "text": "[SYSTEM] The run is not complete."}
    error = {"type": "text", "text": "No connection."}
    messages = [
        {"id": "c1", "role": "user", "content": [text], "ts": 1777882501000},
        {"id": "c2", "role": "user", "content": [nudge], "ts": 1777882501100},
        {
            "id": "c3",
            "role": "assistant",
            "content": [error],
            "metadata": {"displayRole": "error"},
        },
        {"id": "c4", "role": "assistant", "content": [{"type": "text", "text": ANSWER}]},
    ]
    path = folder / f"{folder.name}.messages.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"version": 1, "messages": messages}), "utf-8")
    head = {"cwd": PROJECT, "started_at": _time(0), "metadata": {"title": "Cents"}}
    path.with_name(f"{folder.name}.json").write_text(json.dumps(head), "utf-8")
    return path


def hermes(home: Path) -> Path:
    path = home / ".hermes" / "state.db"
    path.parent.mkdir(parents=True)
    calls = [{"id": "t1", "function": {"name": "terminal", "arguments": '{"command": "git diff"}'}}]
    with sqlite3.connect(path) as database:
        database.executescript(
            "PRAGMA journal_mode = WAL;"
            "CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, title TEXT, cwd TEXT,"
            " parent_session_id TEXT, started_at REAL, ended_at REAL);"
            "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT,"
            " content TEXT, tool_call_id TEXT, tool_calls TEXT, timestamp REAL);"
        )
        database.execute(
            "INSERT INTO sessions VALUES ('h1', 'cli', NULL, ?, NULL, 1777882500.0, NULL)",
            (PROJECT,),
        )
        database.executemany(
            "INSERT INTO messages (session_id, role, content, tool_call_id, tool_calls, timestamp)"
            " VALUES ('h1', ?, ?, ?, ?, ?)",
            [
                ("user", "Review the conversation above and save.", None, None, 1777882500.0),
                ("user", SAID, None, None, 1777882501.0),
                ("assistant", ANSWER, None, json.dumps(calls), 1777882502.0),
                ("tool", RESULT, "t1", None, 1777882504.0),
            ],
        )
    database.close()
    return path


def opencode(home: Path) -> Path:
    path = home / ".local" / "share" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True)
    tool = {
        "type": "tool",
        "tool": "bash",
        "callID": "t1",
        "state": {"status": "completed", "input": {"command": "git diff"}, "output": RESULT},
    }
    with sqlite3.connect(path) as database:
        database.executescript(
            "PRAGMA journal_mode = WAL;"
            "CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT,"
            " title TEXT, time_created INTEGER, time_updated INTEGER);"
            "CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, data TEXT);"
            "CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT,"
            " time_created INTEGER, data TEXT);"
        )
        database.execute(
            "INSERT INTO session VALUES ('o1', NULL, ?, '', 1777882500000, 1777882504000)",
            (PROJECT,),
        )
        for message, role, parts in (
            ("m1", "user", [{"type": "text", "text": SAID}]),
            ("m2", "assistant", [{"type": "text", "text": ANSWER}, tool]),
        ):
            data = json.dumps({"role": role, "time": {"created": 1777882501000}})
            database.execute("INSERT INTO message VALUES (?, 'o1', ?)", (message, data))
            for number, part in enumerate(parts):
                database.execute(
                    "INSERT INTO part VALUES (?, ?, 'o1', 1777882501000, ?)",
                    (f"{message}p{number}", message, json.dumps(part)),
                )
    database.close()
    return path


def opencode_2(home: Path, name: str = "opencode.db") -> Path:
    """A session of OpenCode 2, in a database that may hold those of OpenCode 1."""
    path = home / ".local" / "share" / "opencode" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    state = {"status": "completed", "input": {"command": "git diff"}}
    state |= {"content": [{"type": "text", "text": RESULT}], "structured": {}}
    answer = [{"type": "reasoning", "id": "r1", "text": "Cents it is."}]
    answer += [{"type": "text", "id": "x1", "text": ANSWER}]
    answer += [{"type": "tool", "id": "t1", "name": "bash", "state": state}]
    rows: list[tuple[str, dict[str, object]]] = [
        ("model-switched", {"model": {"id": "m"}}),
        ("user", {"text": SAID}),
        ("synthetic", {"text": "The file was opened."}),
        ("assistant", {"agent": "build", "content": answer}),
    ]
    with sqlite3.connect(path) as database:
        database.executescript(
            "PRAGMA journal_mode = WAL;"
            "CREATE TABLE session_v2 (id TEXT PRIMARY KEY, parent_id TEXT, fork_session_id TEXT,"
            " directory TEXT, title TEXT, time_created INTEGER, time_updated INTEGER);"
            "CREATE TABLE session_message (id TEXT PRIMARY KEY, session_id TEXT, type TEXT,"
            " seq INTEGER, time_created INTEGER, time_updated INTEGER, data TEXT);"
        )
        database.execute(
            "INSERT INTO session_v2 VALUES ('n1', NULL, NULL, ?, NULL, 1777882500000,"
            " 1777882504000)",
            (PROJECT,),
        )
        for number, (kind, data) in enumerate(rows):
            time = 1777882500000 + number * 1000
            told = json.dumps(data | {"time": {"created": time}})
            database.execute(
                "INSERT INTO session_message VALUES (?, 'n1', ?, ?, ?, ?, ?)",
                (f"e{9 - number}", kind, number, time, time, told),
            )
    database.close()
    return path


def gptme(home: Path) -> Path:
    folder = home / ".local" / "share" / "gptme" / "logs" / "2026-05-04-shop"
    folder.mkdir(parents=True)
    (folder / "workspace").symlink_to(PROJECT)
    return write_lines(
        folder / "conversation.jsonl",
        [
            {"role": "system", "content": "You are gptme.", "timestamp": _time(0), "hide": True},
            {"role": "user", "content": SAID, "timestamp": _time(1)},
            {"role": "user", "content": "<system>Go on.</system>", "timestamp": _time(1)},
            {"role": "assistant", "content": ANSWER, "timestamp": _time(2)},
            {"role": "system", "content": RESULT, "timestamp": _time(4)},
        ],
    )


def pi(home: Path) -> Path:
    folder = home / ".pi" / "agent" / "sessions" / "--srv-shop--"
    return write_lines(folder / "2026-05-04_pi1.jsonl", openclaw_lines())


ROWS = {
    "opencode.db": ("part", "data"),
    "state.db": ("messages", "content"),
    "openclaw-agent.sqlite": ("transcript_events", "event_json"),
}
"""Name of a database -> the table of what was said, and the column with the text."""


STAMPS = {
    "opencode.db": [("session", "time_updated")],
    "openclaw-agent.sqlite": [("session_windows", "transcript_updated_at")],
}
"""Name of a database -> where it says that a session has changed."""


def growing(file: Path) -> Iterator[None]:
    """Write a session again as its program does, with a stop after each message; in a database
    rows are changed, too."""
    if file.suffix == ".json":
        history = json.loads(file.read_text("utf-8"))
        for count in range(1, len(history) + 1):
            file.write_text(json.dumps(history[:count]), "utf-8")
            yield
    elif file.suffix == ".jsonl":
        lines = file.read_text("utf-8").splitlines(keepends=True)
        file.write_text("", "utf-8")
        for line in lines:
            with file.open("a", encoding="utf-8") as end:
                end.write(line)
            yield
    else:
        table, column = ROWS[file.name]
        with closing(sqlite3.connect(file, isolation_level=None)) as program:
            rows = program.execute(f"SELECT * FROM {table}").fetchall()
            program.execute(f"DELETE FROM {table}")
            marks = ", ".join("?" * len(rows[0]))
            renamed = f"UPDATE {table} SET {column} = replace({column}, 'invoices', 'expenses')"
            for row in rows:
                for change, given in (
                    (f"INSERT INTO {table} VALUES ({marks})", row),
                    (renamed, ()),
                ):
                    program.execute(change, given)
                    for sessions, time in STAMPS.get(file.name, ()):
                        program.execute(f"UPDATE {sessions} SET {time} = {time} + 1")
                    yield
            program.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            yield


_MEANINGS = frozenset(
    {"type", "role", "kind", "status", "tool", "timestamp", "startTime", "$rewindTo"}
)
"""Fields whose text says what a line is, or when it was written."""
_COLUMNS = {
    "sessions": ("source", "title", "cwd"),
    "messages": ("content", "tool_calls"),
    "session": ("directory", "title"),
    "part": ("data",),
    "transcript_events": ("event_json",),
}
"""Table of a database -> its columns with texts of the program, in JSON or not."""


def change_texts(file: Path, change: Callable[[str], str]) -> None:
    """Change each text in a session, but for those that say what a line is, and ids."""

    def changed(_: int, value: Any, field: str) -> Any:
        is_id = field.casefold().endswith(("id", "uuid"))
        is_text = isinstance(value, str) and field not in _MEANINGS and not is_id
        return change(value) if is_text else value

    _change(file, changed)


HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e"


def write_hostile(home: Path) -> None:
    """A session of every program with escape sequences in every field, and in the file's name."""
    for write in WRITERS.values():
        file = write(home)
        change_texts(file, lambda text: f"{text} {HOSTILE}")
        if file.suffix == ".jsonl":
            with file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps({"type": HOSTILE, "role": HOSTILE}) + "\n")
        if file.stem in ("5c0f", "qw1", "2026-05-04_pi1"):
            file.rename(file.with_stem(f"{file.stem}{HOSTILE}"))


def change_values(file: Path, new: Any, is_changed: Callable[[int], bool]) -> None:
    """Put this in place of some of the values of a session, which are numbered."""
    _change(file, lambda at, value, _: new if is_changed(at) else value)


def _change(file: Path, change: Callable[[int, Any, str], Any]) -> None:
    count = -1

    def walk(value: Any, field: str) -> Any:
        nonlocal count
        if isinstance(value, dict):
            value = {key: walk(each, key) for key, each in value.items()}
        elif isinstance(value, list):
            value = [walk(each, field) for each in value]
        count += 1
        return change(count, value, field)

    if file.name not in ROWS:
        is_lines = file.suffix == ".jsonl"
        texts = file.read_text("utf-8").splitlines() if is_lines else [file.read_text("utf-8")]
        changed = [json.dumps(walk(json.loads(text), "line")) for text in texts]
        file.write_text("".join(f"{text}\n" for text in changed), "utf-8")
        return
    with closing(sqlite3.connect(file, isolation_level=None)) as program:
        for table, columns in _COLUMNS.items():
            known = {row[1] for row in program.execute(f"PRAGMA table_info({table})")}
            for column in columns if known else ():
                for id, value in program.execute(f"SELECT rowid, {column} FROM {table}").fetchall():
                    is_json = isinstance(value, str) and value[:1] in ("{", "[")
                    new = walk(json.loads(value) if is_json else value, column)
                    if not isinstance(new, str | None):
                        new = json.dumps(new)
                    told = new.encode("utf-8", "replace") if isinstance(new, str) else new
                    program.execute(
                        f"UPDATE {table} SET {column} = CAST(? AS TEXT) WHERE rowid = ?", (told, id)
                    )


WRITERS: Mapping[str, Callable[[Path], Path]] = {
    "claude": claude,
    "codex": codex,
    "openclaw": openclaw,
    "gemini": gemini,
    "copilot": copilot,
    "qwen": qwen,
    "cline": cline,
    "hermes": hermes,
    "opencode": opencode,
    "gptme": gptme,
    "pi": pi,
}
"""Name of a program -> writes one session below a home, and returns its file."""
WITHOUT_CALLS = frozenset({"gptme"})
