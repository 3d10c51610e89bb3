"""`xmcp serve` finds the user's server, explains in one line why it cannot, and really serves it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastmcp import Client, FastMCP
from mcp import MCPError

from xmcp.cli.serve import _GRACE
from xmcp.cli.target import load_server
from xmcp.server.transports import GRACE

pytestmark = pytest.mark.slow

PLAIN = "from fastmcp import FastMCP\nmcp = FastMCP('plain')\n@mcp.tool\ndef double(x: int) -> int:\n    return 2 * x\n"
OURS = "from xmcp import XMCP\nmcp = XMCP('ours')\n@mcp.tool\ndef double(x: int) -> int:\n    return 2 * x\n"
RESTING = """
import asyncio, sys
@mcp.tool
async def rest(seconds: float) -> str:
    print("begun", file=sys.stderr, flush=True)
    await asyncio.sleep(seconds)
    return "rested"
"""
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
TWO = "from fastmcp import FastMCP\nfirst, second, data = FastMCP('1'), FastMCP('2'), {}\n"


@pytest.mark.parametrize("target", ["server.py", "server.py:mcp", "server", "server:mcp", "./server.py"])
def test_a_server_is_found_by_file_and_by_module(workplace: Path, target: str) -> None:
    (workplace / "server.py").write_text(PLAIN)
    assert load_server(target).name == "plain"


def test_a_server_in_a_package_is_found(workplace: Path) -> None:
    (workplace / "shop").mkdir()
    (workplace / "shop" / "tools.py").write_text(PLAIN)
    assert load_server("shop.tools:mcp").name == "plain"


def test_a_file_may_import_its_neighbours(workplace: Path) -> None:
    (workplace / "deep").mkdir()
    (workplace / "deep" / "neighbour.py").write_text("NAME = 'found'\n")
    (workplace / "deep" / "server.py").write_text("import neighbour\n" + PLAIN.replace("'plain'", "neighbour.NAME"))
    assert load_server("deep/server.py").name == "found"


def test_a_file_named_like_a_module_leaves_that_module_alone(workplace: Path) -> None:
    import json

    (workplace / "json.py").write_text(PLAIN)
    assert load_server("json.py").name == "plain"
    assert sys.modules["json"] is json


@pytest.mark.parametrize("extra", ["app = mcp", "other = FastMCP('other')"])
def test_without_an_attribute_the_only_server_or_the_usual_name_is_taken(workplace: Path, extra: str) -> None:
    (workplace / "server.py").write_text(f"{PLAIN}\n{extra}\n")
    assert load_server("server.py").name == "plain"


def test_a_server_may_be_an_attribute_of_an_attribute(workplace: Path) -> None:
    (workplace / "server.py").write_text(PLAIN + "class Shop:\n    tools = mcp\n")
    assert load_server("server.py:Shop.tools").name == "plain"


@pytest.mark.parametrize("target", ["used.py", "used.py:plain", "used.py:used"])
def test_what_use_xmcp_returned_is_no_server_of_its_own(workplace: Path, target: str) -> None:
    (workplace / "used.py").write_text(PLAIN + "plain = mcp\nfrom xmcp import use_xmcp\nused = use_xmcp(plain)\n")
    server = load_server(target)
    assert (type(server).__name__, server.name) == ("FastMCP", "plain")


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("nowhere:mcp", "there is no module 'nowhere'"),
        ("nowhere.deep:mcp", "there is no module 'nowhere'"),
        ("nowhere.py", "there is no file 'nowhere.py'"),
        ("two.py", "several: write two.py:NAME with one of first, second"),
        ("two.py:third", "two.py has no attribute 'third'; servers in it: first, second"),
        ("two.py:data", "two.py:data is a dict, not an XMCP or FastMCP server; servers in it: first, second"),
        ("empty.py", "it has none"),
        ("fastmcp.json", "'fastmcp.json' is not a Python file"),
        ("", "name a server as package.module:attribute or file.py:attribute"),
    ],
)
def test_a_target_that_is_no_server_is_wrong_use(
    workplace: Path, failing: Callable[..., tuple[int, str]], target: str, words: str
) -> None:
    (workplace / "two.py").write_text(TWO)
    (workplace / "empty.py").write_text("")
    (workplace / "fastmcp.json").write_text("{}")
    code, line = failing("serve", target, "--transport", "stdio")
    assert code == 2
    assert words in line


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import os\nimport nowhere\n", "ModuleNotFoundError: No module named 'nowhere' (broken.py, line 2)"),
        ("\nx = 1 +\n", "SyntaxError: invalid syntax (broken.py, line 2)"),
        ("import json\njson.loads('x')\n", "line 1 column 1 (char 0) (broken.py, line 2)"),
        ("import sys\nsys.exit(4)\n", "it ended the process while it was imported: 4 (broken.py, line 2)"),
        ("def f():\n    raise ValueError('no')\nf()\n", "ValueError: no (broken.py, line 2)"),
    ],
)
@pytest.mark.parametrize("target", ["broken.py", "broken:mcp"])
def test_an_error_in_the_authors_module_names_its_own_line(
    workplace: Path, failing: Callable[..., tuple[int, str]], target: str, source: str, words: str
) -> None:
    (workplace / "broken.py").write_text(source)
    code, line = failing("serve", target)
    assert code == 1
    assert line.startswith("Error: importing broken")
    assert line.endswith(words)


@pytest.mark.parametrize(
    "call", ["mcp.serve()", "mcp.serve('stdio', port=1)", "mcp.run('http', port=1, uvicorn_config={'x': 's3cret'})"]
)
def test_a_file_that_serves_its_server_when_imported_is_a_server(
    workplace: Path, call: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (workplace / "server.py").write_text(f"{OURS}other = XMCP('other')\nfor mcp in [other]:\n    {call}\nAFTER = 1\n")
    server = load_server("server.py")
    assert server.name == "other"  # the one that the file serves
    said = capsys.readouterr().err
    assert ("the options of this command count instead" in said) == ("port=1" in said) == ("port" in call)
    assert "s3cret" not in said
    assert sys.modules["server"].AFTER == 1


def test_a_plain_fastmcp_file_may_run_its_server_when_imported(workplace: Path) -> None:
    (workplace / "one.py").write_text(f"{PLAIN}mcp.run()\n")
    (workplace / "two.py").write_text(f"{PLAIN}import asyncio\nasyncio.run(mcp.run_async('stdio'))\n")
    methods = {name: vars(FastMCP).get(name) for name in ("run", "run_async", "run_stdio_async", "run_http_async")}
    assert [load_server(target).name for target in ("one.py", "two.py")] == ["plain", "plain"]
    assert methods == {name: vars(FastMCP).get(name) for name in methods}


def test_a_named_server_counts_more_than_the_one_that_the_file_serves(workplace: Path) -> None:
    (workplace / "server.py").write_text(f"{OURS}other = XMCP('other')\nother.serve()\n")
    assert load_server("server.py:mcp").name == "ours"


def test_a_port_in_use_is_said(workplace: Path, failing: Callable[..., tuple[int, str]]) -> None:
    (workplace / "server.py").write_text(PLAIN)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, line = failing("serve", "server.py", "--port", str(port))
    assert code == 1
    assert f"Port {port} on 127.0.0.1 is in use" in line


@pytest.mark.parametrize("option", [["--port", "80"], ["--host", "0.0.0.0"], ["--path", "/x"], ["--allowed-host", "x"]])
def test_an_option_that_would_do_nothing_is_refused(failing: Callable[..., tuple[int, str]], option: list[str]) -> None:
    code, line = failing("serve", "server.py", "--transport", "stdio", *option)
    assert code == 2
    assert f"{option[0]} cannot be used with --transport stdio" in line


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_grace_that_is_no_number_is_refused(failing: Callable[..., tuple[int, str]], transport: str) -> None:
    code, line = failing("serve", "server.py", "--transport", transport, "--grace", "nan")
    assert code == 2
    assert "Invalid value for '--grace': 'nan' is no number." in line


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--allowed-host", "https://tools.example"),
        ("--allowed-host", ""),
        ("--allowed-origin", "app.example"),
        ("--allowed-origin", "https://app.example/page"),
    ],
)
def test_a_name_that_no_request_can_have_is_refused(
    failing: Callable[..., tuple[int, str]], option: str, value: str
) -> None:
    code, line = failing("serve", "server.py", option, value)
    assert code == 2
    assert option in line
    assert f"not {value!r}" in line


@pytest.fixture
def serving(workplace: Path) -> Iterator[Callable[..., tuple[subprocess.Popen[str], str]]]:
    """Start `xmcp serve` on a free port; return the process and the URL it says."""
    started: list[subprocess.Popen[str]] = []

    def start(source: str, *options: str) -> tuple[subprocess.Popen[str], str]:
        (workplace / "server.py").write_text(source)
        command = [sys.executable, "-m", "xmcp", "serve", "server.py", "--port", "0", *options]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=workplace, start_new_session=True)
        started.append(process)
        assert process.stderr is not None
        for line in process.stderr:
            if found := re.search(r"http://\S+", line):
                return process, found[0]
        raise AssertionError("the server said no URL")

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("source", "options", "path"),
    [
        (OURS, ["--grace", "0"], "/mcp"),
        (PLAIN, ["--path", "/tools"], "/tools"),
        (PLAIN, ["--transport", "sse"], "/sse"),
    ],
)
async def test_a_server_is_served_over_the_network_until_interrupted(
    serving: Callable[..., tuple[subprocess.Popen[str], str]], source: str, options: list[str], path: str
) -> None:
    process, url = serving(source, *options)
    assert url.endswith(path)
    async with Client(url) as client:
        result = await client.call_tool("double", {"x": 21})
    assert result.data == 42
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0
    assert err == ""


async def test_a_plain_fastmcp_server_is_served_over_stdio(workplace: Path) -> None:
    (workplace / "server.py").write_text(PLAIN)
    config: dict[str, Any] = {
        "command": sys.executable,
        "args": ["-m", "xmcp", "serve", "server.py", "--transport", "stdio"],
        "cwd": str(workplace),
        "keep_alive": False,
    }
    async with Client({"mcpServers": {"only": config}}) as client:
        assert (await client.call_tool("double", {"x": 21})).data == 42


def test_a_served_object_is_the_authors_own(workplace: Path) -> None:
    (workplace / "server.py").write_text(PLAIN)
    assert type(load_server("server.py")) is FastMCP


async def test_the_first_seeds_quick_start_is_served_where_it_is_asked(
    serving: Callable[..., tuple[subprocess.Popen[str], str]],
) -> None:
    _, url = serving(f"{OURS}mcp.serve()\n")
    assert ":3333" not in url
    async with Client(url) as client:
        assert (await client.call_tool("double", {"x": 21})).data == 42


async def test_stdout_of_a_stdio_server_has_messages_only(workplace: Path) -> None:
    noise = "print('printed', flush=True)\nimport os\nos.system('echo started')\n"
    (workplace / "server.py").write_text(f"{noise}{OURS}mcp.serve()\nprint('after')\n")
    command = [sys.executable, "-m", "xmcp", "serve", "server.py", "--transport", "stdio", "--grace", "20"]
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call"}
    params = {"name": "double", "arguments": {"x": 21}, "_meta": ENVELOPE}
    done = await asyncio.to_thread(
        subprocess.run,
        command,
        input=json.dumps({**call, "params": params}) + "\n",
        capture_output=True,
        text=True,
        cwd=workplace,
        timeout=300,
    )
    assert [json.loads(line)["result"]["structuredContent"] for line in done.stdout.splitlines()] == [{"result": 42}]
    assert sorted(done.stderr.split()) == ["after", "printed", "started"]


@pytest.mark.parametrize(("log_format", "level"), [("json", "warning"), ("text", "warning"), ("text", "error")])
def test_the_log_of_a_stdio_server_has_the_form_and_the_level_that_were_asked_for(
    workplace: Path, log_format: str, level: str
) -> None:
    (workplace / "server.py").write_text(OURS)
    command = [sys.executable, "-m", "xmcp", "serve", "server.py", "--transport", "stdio", "--log-level", level]
    request = {"jsonrpc": "2.0", "id": 7, "method": "tools/call"}
    params = {"name": "double", "arguments": {"x": "many", "and": 2}, "_meta": ENVELOPE}
    done = subprocess.run(
        [*command, "--log-format", log_format, "--grace", "20"],
        input=json.dumps({**request, "params": params}) + "\n",
        capture_output=True,
        text=True,
        cwd=workplace,
        timeout=300,
    )
    lines = done.stderr.splitlines()
    if level == "error":
        assert lines == []
    elif log_format == "json":
        assert [json.loads(line)["level"] for line in lines] == ["warning"]
    else:
        (line,) = lines  # neither cut nor broken at 80 columns
        assert " WARNING fastmcp" in line
        assert line.endswith("}")


async def test_a_name_that_a_proxy_passes_on_can_be_allowed(
    serving: Callable[..., tuple[subprocess.Popen[str], str]],
) -> None:
    _, url = serving(OURS, "--allowed-host", "tools.example", "--allowed-origin", "https://app.example")
    headers = {"Accept": "application/json, text/event-stream"}
    async with httpx2.AsyncClient() as http:
        allowed = {**headers, "Host": "tools.example", "Origin": "https://app.example"}
        assert (await http.post(url, json=INITIALIZE, headers=allowed)).status_code == 200
        refused = await http.post(url, json=INITIALIZE, headers={**headers, "Host": "evil.example"})
        assert (refused.status_code, "--allowed-host" in refused.text) == (421, True)


@pytest.mark.parametrize("options", [[], ["--workers", "2"], ["--reload"]], ids=["alone", "workers", "reload"])
@pytest.mark.parametrize("to_all", [False, True], ids=["to the command", "to all its processes"])
async def test_sigterm_lets_calls_finish_in_every_process(
    serving: Callable[..., tuple[subprocess.Popen[str], str]], options: list[str], to_all: bool
) -> None:
    process, url = serving(f"{OURS}{RESTING}", *options)
    async with Client(url, mode="legacy", timeout=300) as client:
        await client.list_tools()
        call = asyncio.create_task(client.call_tool_mcp("rest", {"seconds": 3}))
        assert process.stderr is not None
        assert await asyncio.to_thread(process.stderr.readline) == "begun\n"
        if to_all:  # as a service manager does
            os.killpg(process.pid, signal.SIGTERM)
        else:
            process.send_signal(signal.SIGTERM)
        assert "rested" in (await call).content[0].text
    assert await asyncio.to_thread(process.wait, 30) == 0


@pytest.mark.parametrize("options", [["--workers", "2"], ["--reload"]], ids=["workers", "reload"])
async def test_a_second_signal_ends_every_process_at_once(
    serving: Callable[..., tuple[subprocess.Popen[str], str]], options: list[str]
) -> None:
    process, url = serving(f"{OURS}{RESTING}", "--grace", "100", *options)
    with suppress(MCPError, RuntimeError, httpx2.HTTPError, ExceptionGroup):
        async with Client(url, timeout=300) as client:
            call = asyncio.create_task(client.call_tool_mcp("rest", {"seconds": 90}))
            assert process.stderr is not None
            assert await asyncio.to_thread(process.stderr.readline) == "begun\n"
            process.send_signal(signal.SIGTERM)
            await asyncio.sleep(1.5)  # uvicorn's supervisors look every half second
            process.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(process.wait, 30) == 0
            await call
    assert process.poll() == 0


def test_the_command_and_the_server_have_the_same_grace() -> None:
    assert _GRACE == GRACE


@pytest.mark.parametrize("options", [[], ["--workers", "2"]], ids=["alone", "workers"])
async def test_debug_sends_the_text_of_exceptions_from_every_process(
    serving: Callable[..., tuple[subprocess.Popen[str], str]], options: list[str]
) -> None:
    crashing = "@mcp.tool\ndef crash() -> None:\n    raise LookupError('row 7')\n"
    _, url = serving(f"{OURS}{crashing}", "--debug", *options)
    async with Client(url, timeout=300) as client:
        answer = await client.call_tool_mcp("crash", {})
    assert answer.content[0].text.startswith("INTERNAL: LookupError: row 7 (error id")
