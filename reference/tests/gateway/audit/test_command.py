"""`xmcp audit`: runs are listed, shown and replayed in a terminal, and nothing that a tool wrote acts on it."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Text
from support.audited_runs import Told
from support.scripted_model import ScriptedModel
from support.scripted_server import ScriptedServer
from support.terminal import Terminal

from xmcp.chat.completions import Completion, ToolCall
from xmcp.chat.errors import ProviderError
from xmcp.chat.usage import Usage
from xmcp.cli import run as run_command
from xmcp.client import AIClient
from xmcp.gateway.audit import AuditError, AuditLog, AuditMiddleware, RunOutcome, RunStart
from xmcp.gateway.audit.database import address_of, sqlite_connection
from xmcp.gateway.audit.reading import reading
from xmcp.gateway.audit.schema import migrate
from xmcp.gateway.audit.tables import METADATA
from xmcp.gateway.ids import now_ms
from xmcp.wire import ErrorInfo, ToolResponse

EVIL = "\x1b]0;owned\x07\x1b[2J\u202egone\r[bold red]rich[/]"


async def recorded(database: str) -> None:
    """Record four runs: one with tools, its continuation, one that failed, one that never ended."""
    used = Usage(1200, 34, None, None)
    call = ToolCall("c1", "sales", json.dumps({"region": "EMEA"}))
    bad = ToolCall("c2", "refund", json.dumps({"order": EVIL}))
    model = ScriptedModel(
        Completion("I look.", (call, bad), "tool_calls", used, "gpt-4o"),
        Completion(f"42 units. {EVIL}", usage=used, model="gpt-4o"),
        Completion("You are welcome.", usage=used, model="gpt-4o"),
        ProviderError("the key is not valid", category="auth", provider="scripted"),
        name="scripted",
    )
    rows = "\n".join(f"row {n}: {n * 7}" for n in range(100))
    server = ScriptedServer(
        {"sales": ToolResponse("sales", f"{EVIL}\n{rows}"), "refund": ErrorInfo("CONFLICT", f"no {EVIL}")},
        "crm",
        sales={"annotations": {"readOnlyHint": True}},
    )
    log = await AuditLog.open(database)
    now = now_ms()

    def start(name: str, tenant: str, session: str, ago: int) -> RunStart:
        return RunStart(
            id=name, tenant=tenant, session=session, surface="chat", model="assistant", started_at=now - ago * 3_600_000
        )

    async with AIClient(
        [server], llm_provider=model, middleware=[AuditMiddleware(log)], price=lambda *_: 0.0035
    ) as client:
        with log.running(start("run_a1", "acme", "s1", 30)):
            log.take("run_a1", Told("run.started", 1))
            history = (await client.chat("How did EMEA do?", []))["history"]
        with log.running(start("run_a2", "acme", "s1", 20)):
            await client.chat("Thanks!", history)
        with pytest.raises(ProviderError), log.running(start("run_b1", "other", "s9", 2)):
            await client.chat("Hello?", [])
    log.begin(start("run_c1", "acme", "s2" * 50, 1))
    await log.aclose()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    database = str(tmp_path_factory.mktemp("store") / "audit.db")
    asyncio.run(recorded(database))
    return database


def told(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    code = run_command(["audit", *args])
    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    return out


def test_runs_are_listed_the_newest_first_and_filtered(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = told(capsys, store)
    places = [out.index(f"  {name}  ") for name in ("run_c1", "run_b1", "run_a2", "run_a1")]
    assert places == sorted(places)
    first = next(line for line in out.splitlines() if "2 tool calls" in line)
    assert "finished" in first
    assert "2 model + 2 tool calls, 2,468 tokens" in first
    assert "  run_a1  $0.007  tenant acme\n" in out
    assert "AUTH_REQUIRED" in out

    def ids(*args: str) -> list[str]:
        listed = told(capsys, store, *args)
        return [line.split()[0] for line in listed.splitlines() if line.startswith("  run_")]

    assert ids("--failed") == ["run_b1"]
    assert ids("--tenant", "other") == ["run_b1"]
    assert ids("--conversation", "s1") == ["run_a2", "run_a1"]
    assert ids("--since", "150m") == ["run_c1", "run_b1"]
    assert ids("--since", "1d", "--tenant", "acme") == ["run_c1", "run_a2"]
    assert ids("--limit", "1") == ["run_c1"]
    assert ids("--since", "2999-01-01") == []
    assert "No such runs" in told(capsys, store, "--tenant", "nobody")
    runs = json.loads(told(capsys, store, "--tenant", "acme", "--json", "-"))["runs"]
    assert [(run["id"], run["status"], run["cost_micros"]) for run in runs] == [
        ("run_c1", "running", None),
        ("run_a2", "finished", 3500),
        ("run_a1", "finished", 7000),
    ]


def test_one_run_is_shown_with_its_calls_errors_usage_and_cost(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = told(capsys, store, "show", "run_a1")
    for said in (
        "Run run_a1  finished",
        "(session s1)",
        "tenant        acme",
        "tokens        2,400 in, 68 out",
        "cost          $0.007",
        "Model calls: 2",
        "1. scripted gpt-4o",
        "tool_calls",
        "4 messages",
        "Tool calls: 2",
        "crm: sales  ok",
        '{"region":"EMEA"}',
        "crm: refund  error",
        "may change something",
        "CONFLICT: no ",
        "events        1",
    ):
        assert said in out, said
    assert "AUTH_REQUIRED" in told(capsys, store, "show", "run_b1")
    found = json.loads(told(capsys, store, "show", "run_a1", "--json", "-"))
    assert found["usage"]["input_tokens"] == 2400
    assert [call["tool"] for call in found["tool_calls"]] == ["sales", "refund"]
    assert found["model_calls"][0]["usage"]["output_tokens"] == 34


def test_a_conversation_is_replayed_step_by_step(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = told(capsys, store, "replay", "s1")
    assert out.count("Call ") == 3
    assert out.count("How did EMEA do?") == 1
    assert "as before: 1 message\n" in out
    assert "as before: 4 messages\n" in out
    assert "→ calls\n    sales({" in out
    assert "→ answer\n    You are welcome." in out
    assert "row 5: 35" in out
    assert "row 99: 693" not in out
    assert "more characters (--full)" in out
    assert "row 99: 693" in told(capsys, store, "replay", "run_a1", "--full")
    calls = json.loads(told(capsys, store, "replay", "s1", "--json", "-"))["model_calls"]
    assert [len(call["messages"]) for call in calls] == [1, 4, 6]
    assert calls[0]["messages"] == [{"role": "user", "content": "How did EMEA do?"}]
    assert {tool["function"]["name"] for tool in calls[0]["tools"]} == {"sales", "refund"}
    assert "No model call is recorded" in told(capsys, store, "replay", "run_c1")
    assert "no answer: AUTH_REQUIRED" in told(capsys, store, "replay", "run_b1")


@pytest.mark.parametrize("args", [[], ["show", "run_a1"], ["replay", "s1"], ["replay", "s1", "--full"]])
def test_what_tools_wrote_is_data_in_a_terminal_of_80_columns(store: str, args: list[str]) -> None:
    command = [sys.executable, "-m", "xmcp", "audit", store, *args]
    piped = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    with Terminal(command, {"TERM": "xterm-256color"}, columns=80) as terminal:
        assert terminal.end() == 0
        text, title = terminal.text, terminal.screen.title
    assert title == ""
    assert text.startswith(("2026", "Run run_a1", "Conversation"))
    assert "\u202e" not in text
    if not args:
        assert len(text.splitlines()) == len(piped.splitlines()), "no line is broken in two"
        assert "…" in text, "a line that is cut says so"
    if args:
        assert ("\\x1b[2J" if args[0] == "replay" else "\\u001b[2J") in text
        assert "[bold red]rich[/]" in text


def test_a_pipe_gets_whole_lines_and_no_control_characters(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    for args in (["show", "run_a1"], ["replay", "s1", "--full"]):
        out = told(capsys, store, *args)
        assert all(line.isprintable() for line in out.split("\n"))


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["{none}"], 3, "There is no file"),
        (["{text}"], 3, "cannot be used as a SQLite database: file is not a database"),
        (["{folder}"], 3, "cannot be used as a SQLite database"),
        (["{other}"], 3, "has no audit tables"),
        (["{newer}"], 3, "version 9999 of the audit tables, which this xmcp does not know"),
        (["{newer}", "show", "x"], 3, "version 9999"),
        (["postgresql://ann:s3cret@127.0.0.1:1/x"], 3, "postgresql://127.0.0.1:1/x cannot be used"),
        (["mysql://ann:s3cret@host/x"], 3, "'mysql' is no database for the audit store"),
        (["{store}", "show", "nope"], 2, "There is no run 'nope'"),
        (["{store}", "show", "run_a"], 2, "'run_a' can be one of these: run_a2, run_a1."),
        (["{store}", "replay", "\x1b[2Jnope"], 2, "There is no conversation '\\x1b[2Jnope'"),
        (["{store}", "--since", "yesterday"], 2, "'yesterday' is no time: write 30m, 12h, 7d"),
        (["{store}", "--limit", "0"], 2, "0 is not in the range"),
        (["{store}", "sow"], 2, "No such command 'sow'"),
    ],
)
def test_what_cannot_be_read_is_told_without_a_traceback_and_without_a_password(
    args: list[str], code: int, said: str, store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = {name: tmp_path / name for name in ("none", "text", "folder", "other", "newer")}
    paths["text"].write_text("not a database" * 100)
    paths["folder"].mkdir()
    with sqlite3.connect(paths["other"]) as connection:
        connection.execute("CREATE TABLE t (x)")
    migrate(address_of(paths["newer"]))
    with sqlite3.connect(paths["newer"]) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(SystemExit) as ended:
        raise SystemExit(run_command(["audit", *(arg.format(store=store, **paths) for arg in args)]))
    out, err = capsys.readouterr()
    assert (ended.value.code, said in err) == (code, True), err
    assert "Traceback" not in out + err
    assert "s3cret" not in out + err
    assert not paths["none"].exists()


ESCAPES = "char(27) || ']0;owned' || char(7) || char(155) || '31m'"


@pytest.fixture
def changed(store: str, tmp_path: Path) -> Any:
    """Return a function that runs SQL on a copy of the store, and returns its path."""

    def change(sql: str) -> str:
        with sqlite3.connect(store) as one, sqlite3.connect(tmp_path / "changed.db") as other:
            one.backup(other)
            other.executescript(sql)
        return str(tmp_path / "changed.db")

    return change


@pytest.mark.parametrize("args", [[], ["show", "run_a1"], ["replay", "s1"]])
def test_every_text_of_a_database_is_data_in_a_terminal(
    args: list[str], changed: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = ("runs", "model_requests", "tool_invocations", "usage")
    kept = {"id", "run_id", "call_id", "conversation_id", "session", "messages_hash", "tools_hash", "answer"}
    sql = "".join(
        f"UPDATE {name} SET {column.name} = {ESCAPES};"
        for name in tables
        for column in METADATA.tables[name].columns
        if isinstance(column.type, Text) and column.name not in kept
    )
    out = told(capsys, changed(sql), *args)
    assert all(line.isprintable() for line in out.split("\n"))
    assert "\\x1b]0;owned" in out


@pytest.mark.parametrize(
    ("sql", "args", "table"),
    [
        ("UPDATE runs SET started_at = 'yesterday'", [], "runs"),
        ("UPDATE runs SET started_at = 9000000000000000000", [], "runs"),
        ("UPDATE runs SET tenant = x'ff00'", [], "runs"),
        ("UPDATE usage SET input_tokens = 'abc'", ["show", "run_a1"], "usage"),
        ("UPDATE tool_invocations SET arguments = 5.5, tool = x'00'", ["show", "run_a1"], "tool_invocations"),
        ("UPDATE model_requests SET turn = 'x'", ["replay", "s1"], "model_requests"),
        ("UPDATE contents SET content = '{nope'", ["replay", "s1"], "contents"),
        ("UPDATE contents SET content = '{nope'", ["replay", "s1", "--json", "-"], "contents"),
        ("UPDATE contents SET content = x'ff'", ["replay", "s1"], "contents"),
        ("UPDATE model_requests SET answer = '[1]'", ["replay", "s1"], "model_requests"),
        ("UPDATE contents SET content = replace(hex(zeroblob(50000)), '0', '[')", ["replay", "s1"], "contents"),
    ],
)
def test_a_row_that_is_no_record_is_told_with_its_table(
    sql: str, args: list[str], table: str, changed: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="3"):
        run_command(["audit", changed(sql), *args])
    assert f"The table {table} has a row that is no record" in capsys.readouterr().err


def test_a_message_of_another_shape_is_shown_as_far_as_it_goes(
    changed: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shapes = ["5", '[5, {"function": 5}]', "[{}]"]
    for shape in shapes:
        sql = f'UPDATE contents SET content = \'{{"role": [1], "tool_calls": {shape}}}\';'
        sql += f'UPDATE model_requests SET answer = \'{{"text": 5, "tool_calls": {shape}}}\' WHERE answer NOT NULL'
        assert "Call 1 of run" in told(capsys, changed(sql), "replay", "s1")


def test_a_database_whose_tables_are_not_tables_is_not_read(changed: Any, capsys: pytest.CaptureFixture[str]) -> None:
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
    moved = "CREATE TABLE was AS SELECT * FROM runs; DROP TABLE runs"
    database = changed(f"{moved}; CREATE VIEW runs AS {endless} SELECT was.* FROM n, was")
    with pytest.raises(SystemExit, match="3"):
        run_command(["audit", database])
    assert "has no audit table runs" in capsys.readouterr().err


def test_reading_ends_after_its_time_and_a_pause_between_does_not_count(
    changed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xmcp.gateway.audit.database.READ_SECONDS", 0.3)
    address = address_of(changed("CREATE TABLE t (x)"))
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
    with closing(sqlite_connection(address, read_only=True)) as connection:
        time.sleep(0.4)
        assert connection.execute("SELECT count(*) FROM runs").fetchone() == (4,)
    with pytest.raises(AuditError, match=r"reading it takes longer than 0\.3 s"), reading(address) as connection:
        connection.exec_driver_sql(endless)


def test_a_store_on_postgresql_is_read_too(postgres_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    asyncio.run(recorded(postgres_url))
    assert "run_a1" in told(capsys, postgres_url, "--conversation", "s1")
    assert "CONFLICT" in told(capsys, postgres_url, "show", "run_a1")
    assert "You are welcome." in told(capsys, postgres_url, "replay", "s1")


def test_what_was_lost_while_a_run_went_on_and_a_call_without_an_end_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = str(tmp_path / "audit.db")

    async def record() -> None:
        log = await AuditLog.open(database)
        log.begin(RunStart(id="r"))

        class Broken:
            def rows(self, _: Any) -> Any:
                raise ZeroDivisionError

        log.put(Broken(), 1)
        await log.flush()
        log.end("r", RunOutcome("interrupted"))
        await log.aclose()

    asyncio.run(record())
    with sqlite3.connect(database) as connection:
        connection.execute(
            "INSERT INTO tool_invocations (run_id, attempt, call_id, turn, tool, read_only, status, intent_at) "
            "VALUES ('r', 1, 'c', 1, 'pay', 0, 'intent', 5)"
        )
    out = told(capsys, database, "show", "r")
    assert "pay  outcome unknown" in out
    assert "Records that were lost" in out
    assert "1 (failed)" in out
