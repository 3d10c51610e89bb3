"""`xmcp serve` finds the user's server, explains in one line why it cannot, and really serves it."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client, FastMCP

from xmcp.cli.target import load_server

pytestmark = pytest.mark.slow

PLAIN = "from fastmcp import FastMCP\nmcp = FastMCP('plain')\n@mcp.tool\ndef double(x: int) -> int:\n    return 2 * x\n"
OURS = "from xmcp import XMCP\nmcp = XMCP('ours')\n@mcp.tool\ndef double(x: int) -> int:\n    return 2 * x\n"
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
        ("", "name a server as package.module:attribute or file.py:attribute"),
    ],
)
def test_a_target_that_is_no_server_is_wrong_use(
    workplace: Path, failing: Callable[..., tuple[int, str]], target: str, words: str
) -> None:
    (workplace / "two.py").write_text(TWO)
    (workplace / "empty.py").write_text("")
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


def test_a_port_in_use_is_said(workplace: Path, failing: Callable[..., tuple[int, str]]) -> None:
    (workplace / "server.py").write_text(PLAIN)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, line = failing("serve", "server.py", "--port", str(port))
    assert code == 1
    assert f"Port {port} on 127.0.0.1 is in use" in line


@pytest.mark.parametrize("option", [["--port", "80"], ["--host", "0.0.0.0"], ["--path", "/x"]])
def test_an_option_that_would_do_nothing_is_refused(failing: Callable[..., tuple[int, str]], option: list[str]) -> None:
    code, line = failing("serve", "server.py", "--transport", "stdio", *option)
    assert code == 2
    assert f"{option[0]} cannot be used with --transport stdio" in line


@pytest.fixture
def serving(workplace: Path) -> Iterator[Callable[..., tuple[subprocess.Popen[str], str]]]:
    """Start `xmcp serve` on a free port; return the process and the URL it says."""
    started: list[subprocess.Popen[str]] = []

    def start(source: str, *options: str) -> tuple[subprocess.Popen[str], str]:
        (workplace / "server.py").write_text(source)
        command = [sys.executable, "-m", "xmcp", "serve", "server.py", "--port", "0", *options]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=workplace)
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
    [(OURS, [], "/mcp"), (PLAIN, ["--path", "/tools"], "/tools"), (PLAIN, ["--transport", "sse"], "/sse")],
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
    _, err = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "Traceback" not in err


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
