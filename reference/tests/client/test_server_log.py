"""What a server writes for people reaches the log of the client, in bounded lines, and never the terminal."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import fastmcp
import mcp_types as mt
import pytest
from fastmcp.client.transports import StdioTransport
from hypothesis import given
from hypothesis import strategies as st
from support.mcp_servers import DYING, ESCAPES, stdio_command

from xmcp.chat.errors import CallFailed
from xmcp.client.hooks.log import EventLog
from xmcp.client.servers import server_log
from xmcp.client.servers.errors import ConnectFailed
from xmcp.client.servers.mcp_server import Server
from xmcp.client.servers.server_log import MAX_LINE, MAX_LINES, PERIOD, LineQuota, ServerLog, StderrLines
from xmcp.client.servers.targets import source
from xmcp.client.servers.telling_lines import telling_lines

BOUND = 60.0


class Lines:
    """A logger like structlog's that keeps what it gets."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, dict[str, Any]]] = []

    def __getattr__(self, level: str) -> Any:
        return lambda event, **fields: self.events.append((level, event, fields))

    def of(self, wanted: str) -> list[dict[str, Any]]:
        return [fields for _, event, fields in self.events if event == wanted]

    async def until_stderr_ends_with(self, text: str) -> None:
        """Wait: a thread reads stderr, and a program that FastMCP keeps alive does not end with its connection."""
        async with asyncio.timeout(BOUND):
            while not any(fields["text"].endswith(text) for fields in self.of("server_stderr")):  # noqa: ASYNC110
                await asyncio.sleep(0.01)


@asynccontextmanager
async def connected(target: Any, lines: Lines, timeout: float = BOUND) -> AsyncIterator[Server]:
    server = Server(source(target, timeout), None, timeout, EventLog(lines))
    try:
        await server.open()
        yield server
    finally:
        await asyncio.wait_for(server.close(), BOUND)


def harmless(text: str) -> bool:
    return text.isprintable()


# ---- on the way from a program to the log ----


def loud_target(how: str, path: Path) -> Any:
    """The server `loud` in each form in which an application names a program."""
    command, *arguments = stdio_command("loud")
    described = {"command": command, "args": arguments}
    if how == "script":
        script = path / "server.py"
        script.write_text(f"import runpy, sys\nsys.argv = {arguments!r}\nrunpy.run_path(sys.argv[0], None, '__main__')")
        return script
    return {
        "command": [command, *arguments],
        "transport": StdioTransport(command, arguments, keep_alive=False),
        "client": fastmcp.Client(StdioTransport(command, arguments, keep_alive=False)),
        "configuration": {"mcpServers": {"loud": described}},
    }[how]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["command", "script", "transport", "client", "configuration"])
async def test_what_a_program_writes_for_people_is_in_the_log_and_nothing_of_it_on_the_terminal(
    how: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lines = Lines()
    async with connected(loud_target(how, tmp_path), lines) as server:
        await server.execute_tool_call("talk", {})
        await lines.until_stderr_ends_with(" line 0")
    assert capfd.readouterr().err == ""
    (told, failed) = lines.of("server_log")
    assert (told["severity"], failed["severity"]) == ("info", "error")
    assert " told 0" in told["text"]
    assert told["logger"].startswith("\\x1b]0;owned")
    assert {fields["server"] for _, _, fields in lines.events} == {lines.events[0][2]["server"]}
    assert all(harmless(str(field)) for _, _, fields in lines.events for field in fields.values())


@pytest.mark.slow
async def test_programs_of_one_configuration_write_to_the_log_too(capfd: pytest.CaptureFixture[str]) -> None:
    command, *arguments = stdio_command("loud")
    both = {name: {"command": command, "args": arguments} for name in ("a", "b")}
    lines = Lines()
    async with connected({"mcpServers": both}, lines) as server:
        await server.execute_tool_call("b_talk", {})
        await lines.until_stderr_ends_with(" line 0")
    assert "\x1b" not in capfd.readouterr().err  # FastMCP's proxy itself logs there


@pytest.mark.slow
async def test_a_flood_of_stderr_and_notifications_is_cut_and_counted_and_stops_nobody() -> None:
    lines = Lines()
    async with connected(stdio_command("loud"), lines) as server:
        await server.execute_tool_call("talk", {"lines": 3 * MAX_LINES})
        await server.execute_tool_call("shout", {"megabytes": 8})
    left_out = {fields["source"]: 0 for fields in lines.of("server_log_left_out")}
    for fields in lines.of("server_log_left_out"):
        left_out[fields["source"]] += fields["lines"]
    assert len(lines.of("server_stderr")) + left_out["stderr"] >= 160_000 + 3 * MAX_LINES
    assert len(lines.of("server_log")) + left_out["notifications"] == 6 * MAX_LINES
    assert left_out["stderr"] > 150_000
    assert max(len(fields["text"]) for fields in lines.of("server_stderr")) < 12 * MAX_LINE


@pytest.mark.slow
async def test_a_program_never_waits_for_the_loop_that_should_read_its_stderr() -> None:
    log = ServerLog(EventLog(Lines()))
    stderr = log.child_stderr()
    program = [sys.executable, "-c", "import os\nfor _ in range(50): os.write(2, b'x' * 99_999 + b'\\n')"]
    subprocess.run(program, stderr=stderr, timeout=BOUND, check=True)  # blocks the loop  # noqa: ASYNC221
    log.close()
    log.drained(BOUND)
    assert "x" * 100 in log.telling_lines()


@pytest.mark.slow
async def test_a_program_that_ends_at_the_start_is_reported_with_the_last_it_wrote() -> None:
    with pytest.raises(ConnectFailed) as caught:
        async with connected([sys.executable, "-c", DYING], Lines()):
            pass
    reason = str(caught.value)
    assert reason.startswith("the program ended before it answered; its stderr says: Starting | ")
    assert "KeyError: DATABASE_URL of http://db/" in reason
    assert harmless(reason)


NODE = """\
listening on http://localhost:3000
file:///srv/server.mjs:12
function connect() { throw new Error("DATABASE_URL is not set"); }
                           ^

Error: DATABASE_URL is not set
    at connect (file:///srv/server.mjs:12:28)
    at async node:internal/modules/esm/loader:643:26

Node.js v24.19.0
"""
TRANSFORM = "Error: Transform failed with 1 error:\n/srv/server.ts:1:8: ERROR: Unexpected\n    at f (/srv/a.js:1:2)\n"
NPM = "npm error code E404\nnpm error 404 no-such\nnpm error 404 again\nnpm error A complete log of this is in x\n"
PYTHON = "Starting\nTraceback (most recent call last):\n  File 's.py', line 1\nModuleNotFoundError: No module named x\n"


@pytest.mark.parametrize(
    ("stderr", "told"),
    [
        (NODE, ["file:///srv/server.mjs:12", "Error: DATABASE_URL is not set"]),
        (TRANSFORM, ["Error: Transform failed with 1 error:", "/srv/server.ts:1:8: ERROR: Unexpected"]),
        (NPM, ["npm error 404 no-such"]),
        (PYTHON, PYTHON.splitlines()[1:]),
        ("panic: no database\n\ngoroutine 1 [running]:\nmain.main()\n\t/srv/main.go:6\n", ["panic: no database"]),
        (
            "Error: cold\n    at f (a.js:1)\nready, then killed\n",
            ["Error: cold", "    at f (a.js:1)", "ready, then killed"],
        ),
        ("", []),
    ],
)
def test_the_lines_that_are_quoted_are_those_of_the_error(stderr: str, told: list[str]) -> None:
    assert telling_lines(stderr.splitlines()) == told


@pytest.mark.slow
async def test_a_program_whose_stack_trace_is_long_is_reported_with_its_error() -> None:
    stack = "Error: DATABASE_URL is not set\n" + "    at connect (file:///srv/server.mjs:12:28)\n" * 100
    with pytest.raises(ConnectFailed, match=r"; its stderr says: Error: DATABASE_URL is not set$"):
        async with connected([sys.executable, "-c", f"import sys; sys.exit({stack!r})"], Lines()):
            pass


@pytest.mark.slow
async def test_a_program_that_ends_at_the_start_without_a_word_is_reported_with_what_to_do() -> None:
    with pytest.raises(ConnectFailed, match="wrote nothing to stderr; run its command in a terminal"):
        async with connected([sys.executable, "-c", "pass"], Lines()):
            pass


async def test_a_program_that_is_not_found_is_reported_with_what_to_do() -> None:
    # uvloop, in which gateways run, does not name what was not found.
    with pytest.raises(ConnectFailed, match=r"no such program.*PATH"):
        async with connected(["no-such-program-anywhere"], Lines()):
            pass


@pytest.mark.slow
async def test_a_program_that_does_not_answer_in_time_is_reported_with_the_last_it_wrote() -> None:
    waits = "import sys, time; print('waiting for the database', file=sys.stderr, flush=True); time.sleep(60)"
    with pytest.raises(ConnectFailed, match=r"no answer within 2 s; its stderr says: waiting for the database"):
        async with connected([sys.executable, "-c", waits], Lines(), timeout=2):
            pass


@pytest.mark.slow
async def test_a_file_that_the_application_chose_for_stderr_stays(tmp_path: Path) -> None:
    command, *arguments = stdio_command("loud")
    chosen = tmp_path / "stderr.txt"
    transport = StdioTransport(command, arguments, keep_alive=False, log_file=chosen)
    lines = Lines()
    async with connected(transport, lines) as server:
        await server.execute_tool_call("talk", {})
    assert "line 0" in chosen.read_text()
    assert lines.of("server_stderr") == []


# ---- lines ----


def lines_of(pieces: list[bytes], clock: Any = lambda: 0.0) -> tuple[list[str], int]:
    written: list[str] = []
    left_out: list[int] = []
    lines = StderrLines(LineQuota(clock), written.append, left_out.append)
    for piece in pieces:
        lines.take(piece)
    lines.end()
    return written, sum(left_out)


@given(st.lists(st.binary(max_size=30)), st.lists(st.integers(1, 7)))
def test_lines_are_the_same_however_the_pipe_cuts_them(given_lines: list[bytes], cuts: list[int]) -> None:
    whole = b"\n".join(given_lines)
    pieces, rest = [], whole
    for cut in cuts:
        pieces.append(rest[:cut])
        rest = rest[cut:]
    assert lines_of([*pieces, rest]) == lines_of([whole])


def test_a_line_above_the_limit_is_cut_and_says_how_much_is_missing() -> None:
    assert lines_of([b"a" * 700, b"b" * 700, b"c" * 10**6, b"\nnext"])[0] == [
        "a" * 700 + "b" * (MAX_LINE - 700) + f" … ({1_001_400 - MAX_LINE} bytes left out)",
        "next",
    ]


def test_lines_above_the_quota_are_counted_and_told_when_there_is_room_again() -> None:
    now = [0.0]
    told: list[Any] = []
    lines = StderrLines(LineQuota(lambda: now[0]), lambda _: told.append("line"), told.append)
    lines.take(b"x\n" * (MAX_LINES + 5) + b"half of one")
    assert told == ["line"] * MAX_LINES
    lines.take(b" more\n" * 10)
    assert told == ["line"] * MAX_LINES
    now[0] = PERIOD
    lines.take(b"again\n")
    assert told[MAX_LINES:] == [15, "line"]


def test_a_flood_that_is_left_out_costs_no_object_for_each_line() -> None:
    quota = LineQuota(lambda: 0.0)
    written: list[str] = []
    lines = StderrLines(quota, written.append, lambda _: None)
    for _ in range(200):
        lines.take(b"\n" * 65_536)
    lines.take(b"x\n" * 32_768)
    assert len(written) <= MAX_LINES


# ---- notifications ----


async def notify(lines: Lines, data: Any, **params: Any) -> dict[str, Any]:
    log = ServerLog(EventLog(lines))
    await log.notification(
        mt.LoggingMessageNotificationParams.model_validate({"level": "info", **params, "data": data})
    )
    return lines.of("server_log")[0]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("plain", "plain"),
        ({"msg": "of FastMCP", "extra": None}, "of FastMCP"),
        ({"msg": "é", "n": [1, None]}, '{"msg": "é", "n": [1, null]}'),
        (None, "null"),
        ("", ""),
    ],
)
async def test_a_notification_is_written_as_its_text_or_its_json(data: Any, text: str) -> None:
    assert (await notify(Lines(), data))["text"] == text


@pytest.mark.parametrize(
    ("severity", "level"), [("debug", "debug"), ("notice", "info"), ("warning", "warning"), ("emergency", "warning")]
)
async def test_an_error_of_a_server_is_a_warning_of_the_client(severity: Any, level: str) -> None:
    lines = Lines()
    await notify(lines, "x", level=severity, logger="db")
    ((written, _, fields),) = lines.events
    assert (written, fields["severity"], fields["logger"]) == (level, severity, "db")


async def test_of_a_large_notification_only_the_beginning_is_written_out() -> None:
    looked_at = 0

    class Counted(list[Any]):
        def __iter__(self) -> Any:
            nonlocal looked_at
            for member in list.__iter__(self):
                looked_at += 1
                yield member

    text = server_log.as_line(Counted(range(100_000)))
    assert len(text) < 2 * MAX_LINE
    assert looked_at < MAX_LINE
    assert (await notify(Lines(), "x" * 5000))["text"].endswith("… (4000 characters left out)")


# ---- loggers ----


def test_no_logger_gets_a_control_character(caplog: pytest.LogCaptureFixture) -> None:
    lines = Lines()
    EventLog(lines, {"server": ESCAPES}).info("server_lost", reason=ESCAPES + "\n")
    ((_, _, fields),) = lines.events
    assert fields == {"server": "\\x1b]0;owned\\x07\\x1b[2J\\u202e", "reason": "\\x1b]0;owned\\x07\\x1b[2J\\u202e\\n"}
    with caplog.at_level(logging.INFO, "xmcp"):
        EventLog(None, {"server": ESCAPES}).info("server_lost", text=ESCAPES + "é 日本", tools=3)
    (record,) = caplog.records
    assert harmless(record.getMessage())
    assert json.dumps(record.xmcp).count("\\\\x1b") == 4  # type: ignore[attr-defined]


async def test_a_reason_for_people_has_no_control_character() -> None:
    from xmcp.client.servers.errors import describe

    assert describe(RuntimeError(ESCAPES)) == "\\x1b]0;owned\\x07\\x1b[2J\\u202e"


# ---- what FastMCP and the SDK log about a server ----


async def test_a_warning_of_the_sdk_about_a_server_is_in_its_log_and_others_stay_where_they_were(
    caplog: pytest.LogCaptureFixture,
) -> None:
    import xmcp.client.servers.fastmcp_internals  # noqa: F401 - it adds the filters

    sdk, lines = logging.getLogger("mcp.client.stdio"), Lines()
    caplog.set_level(logging.DEBUG, "mcp.client.stdio")

    async def of_a_connection() -> None:
        server_log.CURRENT.set(ServerLog(EventLog(lines)))
        try:
            raise ValueError(f"{ESCAPES} is no JSON")
        except ValueError:
            sdk.exception("Failed to parse")
        for number in range(MAX_LINES):
            sdk.warning("again %s", number)
        sdk.debug("read %d bytes", 3)

    await asyncio.create_task(of_a_connection())
    sdk.warning("of somebody else")
    assert [record.getMessage() for record in caplog.records] == ["read 3 bytes", "of somebody else"]
    assert lines.of("server_sdk_log")[0] == {
        "logger": "mcp.client.stdio",
        "text": "Failed to parse: \\x1b]0;owned\\x07\\x1b[2J\\u202e is no JSON",
    }
    assert len(lines.of("server_sdk_log")) == MAX_LINES


async def test_the_sdks_complaint_about_an_answer_is_in_the_servers_log_whichever_task_made_the_request(
    peers: Any, line: Any, caplog: pytest.LogCaptureFixture
) -> None:
    lines = Lines()
    line.faults.append(peers.no_json)
    async with connected(line.url(), lines) as server:
        request = asyncio.create_task(server.execute_tool_call("add", {"a": 1, "b": 2}))
        with pytest.raises(CallFailed):
            await asyncio.wait_for(request, BOUND)
    assert [one["logger"] for one in lines.of("server_sdk_log")] == ["mcp.client.streamable_http"]
    assert not [record.name for record in caplog.records if record.name.startswith(("mcp", "fastmcp"))]


def test_a_fault_without_a_text_is_described_by_its_class_and_not_by_that_of_the_error_around_it() -> None:
    from xmcp.client.servers.errors import describe

    around = RuntimeError("Client failed to connect: ")
    around.__cause__ = ConnectionResetError()
    assert describe(around) == "ConnectionResetError"
    assert describe(RuntimeError("Client failed to connect: ")) == "RuntimeError"
